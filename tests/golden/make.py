"""Makes the golden models: a file of every ranker and recipe, and the scores each gives.

Run with `python tests/golden/make.py` after a change of the format, which gets another number
then, and with names of new methods to make theirs alone; `tests/test_golden.py` loads the files.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from localrank import LocalRanker, fusion, rankers, recipes
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative, KnownGroups
from localrank.rankers import L1MLR, MLR, RMLR, RankSVM
from localrank.registry import declared, make_sample
from localrank.representations import Mean, RelevantContrast, TopContrast
from localrank.selection import NearestCentroid, SameCategory

FOLDER = Path(__file__).parent
# Categories of the training queries.
KINDS = {query: query % 3 for query in range(1, 21)}


def documents() -> RankingDataset:
    """Three queries that depend on no random numbers."""
    features = np.sin(np.arange(60.0)).reshape(12, 5)
    return RankingDataset(features, None, np.array([0, 2, 7, 12]), np.arange(3))


def models() -> dict:
    """Small models that hold every class which a file may hold."""
    parts = {**declared(rankers), **declared(fusion), **declared(recipes)}
    samples = {name: make_sample(part) for name, part in parts.items()}
    samples["lsh"] = recipes.local_rank(2, ranker=RankSVM(), index="lsh")
    samples["cells"] = recipes.query_neighbours(3).set_params(selector__index="cells")
    samples["known-groups"] = LocalRanker(
        Mean(), KnownGroups(KINDS), RankSVM(), SameCategory(KINDS, representation=Mean())
    )
    vectors = {query: np.cos(query + np.arange(5.0)) for query in range(21)}
    for name, kind in {"mlr": MLR, "r-mlr": RMLR, "l1-mlr": L1MLR}.items():
        samples[name] = kind(query_vectors=vectors)
    samples["contrast"] = LocalRanker(
        RelevantContrast(),
        Agglomerative(2),
        RankSVM(),
        NearestCentroid(representation=TopContrast(n=2)),
    )
    for name, classifier in {
        "forest": RandomForestClassifier(2, max_depth=2, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0),
        "neighbours": KNeighborsClassifier(3),
    }.items():
        adaptive = recipes.adaptive_training(2, ranker=RankSVM(), select="fusion")
        samples[name] = adaptive.set_params(selector__classifier=classifier)
    for model in samples.values():
        smaller = {"n_trees": 4, "n_rounds": 4, "n_metrics": 3, "n_nets": 2, "n_units": 4}
        known = model.get_params()
        model.set_params(
            **{name: smaller[key] for name in known if (key := name.split("__")[-1]) in smaller}
        )
    return samples


def main() -> None:
    """Write the files of the methods named on the command line, or of all."""
    dataset, _ = make_queries(20, n_documents=(3, 6), n_features=5, n_types=2, random_state=1)
    dataset = dataset.with_features(dataset.features)
    path, made = FOLDER / "scores.json", models()
    names = sys.argv[1:] or list(made)
    scores = json.loads(path.read_text()) if sys.argv[1:] else {}
    for name in names:
        model = made[name]
        model.fit(dataset).save(FOLDER / f"{name}.localrank")
        scores[name] = model.predict(documents()).tolist()
    lines = [f"{json.dumps(name)}: {json.dumps(values)}" for name, values in scores.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
