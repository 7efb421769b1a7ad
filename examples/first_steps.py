"""Train a model, measure it, look closer and save it. It takes a few seconds on built-in queries.

Replace `make_queries` by `read_letor("train.txt")` or `RankingDataset.from_arrays(X, y, qid)`
to use your data. `first_steps.ipynb` compares methods and explains a ranking, as a notebook.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import localrank
from localrank.data import make_queries
from localrank.measures import NDCG, evaluate, parse_measure
from localrank.rankers import BestFeature, LambdaMART

queries, _ = make_queries(900, random_state=0)
print(queries)
train, valid, test = (queries.select(part) for part in np.split(np.arange(900), [500, 600]))

baseline = BestFeature().fit(train)
ranker = LambdaMART().fit(train, valid=valid)
print(f"\nbest feature: {train.feature_label(baseline.feature_)}; trees kept: {ranker.n_trees_}")

# One value per query and measure; ties are averaged, so no result depends on the order of lines.
measures = [NDCG(10), parse_measure("map"), parse_measure("mrr@10")]
for name, model in {"best feature": baseline, "LambdaMART": ranker}.items():
    values = evaluate(test, model.predict(test), measures)
    print(
        f"{name:14}",
        "  ".join(f"{measure} {column.mean():.4f}" for measure, column in values.items()),
    )

# On which queries does the simple baseline win?
difference = NDCG(10)(test, ranker.predict(test)) - NDCG(10)(test, baseline.predict(test))
print(f"the best feature wins on {np.mean(difference < 0):.0%} of the queries, among them", end=" ")
print(", ".join(str(query) for query in test.query_ids[np.argsort(difference)[:5]]))

# One file, read back without executing code.
with TemporaryDirectory() as folder:
    path = Path(folder, "model.localrank")
    ranker.save(path)
    assert np.array_equal(localrank.load(path).predict(test), ranker.predict(test))
    print(f"saved and loaded {path.name}, {path.stat().st_size / 1024:.0f} KiB")
