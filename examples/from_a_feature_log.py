"""Train a model from the feature log of a search engine, with clicks as grades.

The example makes up a log in the format of Elasticsearch and OpenSearch with the learning-to-rank
plugin. For your engine, write its responses to such a file instead.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from localrank.data import read_feature_log
from localrank.export import export, verify
from localrank.measures import NDCG
from localrank.rankers import LambdaMART

rng = np.random.default_rng(0)


def response(features: np.ndarray) -> dict[str, object]:
    """Hits as the engine sends them. A feature that does not match has no value."""
    hits = []
    for number, (title, body, rating) in enumerate(features.tolist()):
        logged: list[dict[str, object]] = [
            {"name": "title", "value": title},
            {"name": "body", "value": body},
            {"name": "rating"} if np.isnan(rating) else {"name": "rating", "value": rating},
        ]
        hits.append({"_id": f"item-{number}", "fields": {"_ltrlog": [{"log": logged}]}})
    return {"took": 3, "hits": {"total": {"value": len(hits)}, "hits": hits}}


with TemporaryDirectory() as name:
    folder = Path(name)
    with (
        folder.joinpath("log.jsonl").open("w") as log,
        folder.joinpath("clicks.csv").open("w") as clicks,
    ):
        print("query,document,clicks,impressions", file=clicks)
        for query in range(200):
            features = rng.gamma(2, 2, (20, 3)).round(3)
            liked = 1 / (1 + np.exp(6 - features[:, 0] / 2 - features[:, 2] / 2))
            features[rng.random(20) < 0.2, 2] = np.nan
            print(json.dumps({"qid": f"query {query}", "response": response(features)}), file=log)
            for number, share in enumerate(liked):
                n_clicks = rng.binomial(100, share)
                print(f"query {query},item-{number},{n_clicks},100", file=clicks)

    # The grade of a document, 0 to 3, is the number of these click rates that it reaches.
    dataset = read_feature_log(
        folder / "log.jsonl", clicks=folder / "clicks.csv", rates=[0.1, 0.25, 0.5]
    )
    print(dataset)
    train, test = dataset.select(np.arange(150)), dataset.select(np.arange(150, 200))
    model = LambdaMART(n_trees=100).fit(train)
    engine = NDCG(10).mean(test, test.features[:, 0])
    print(f"\nNDCG@10 by the title alone: {engine:.3f}")
    print(f"NDCG@10 by the model:       {NDCG(10).mean(test, model.predict(test)):.3f}")

    # A later log may have its features in another order: they are matched by name.
    later = read_feature_log(folder / "log.jsonl", features=model.feature_names_in_)
    print(f"\nBest of {later.query_ids[0]}: {model.rank(later)['document'][:3].tolist()}")

    # Export the model to the engine, and check that it will rank the logged documents alike.
    files = export(model, "opensearch-ltr", folder / "shop", name="shop")
    print("Files for the engine:", ", ".join(sorted(path.name for path in files)))
    result = verify(model, "opensearch-ltr", folder / "shop", later)
    print(
        f"Lists that the engine ranks in the same order: {result.n_equal_lists} of {result.n_lists}"
    )
