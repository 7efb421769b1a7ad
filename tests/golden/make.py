"""Makes the golden models: files with every class that a file may hold, and the scores each gives.

`python tests/golden/make.py NAME` adds those of new methods; without names it writes all, which is
for the time before a release: afterwards its files stay as they are (CONTRIBUTING.md, Deprecation).
`tests/test_golden.py` loads the files.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localrank import LocalRanker, fusion, rankers, recipes
from localrank.aggregation import MarkovChain, MedianRank, WeightedBorda
from localrank.data import RankingDataset, make_queries, read_table
from localrank.grouping import Agglomerative, KnownGroups
from localrank.rankers import L1MLR, MLR, RMLR, BestFeature, Ensemble, LambdaMART, RankSVM
from localrank.registry import declared, make_sample
from localrank.representations import (
    Gaussian,
    Mean,
    RelevantContrast,
    Scaled,
    Skew,
    TopContrast,
    Variance,
)
from localrank.selection import AllGroups, NearestCentroid, NearestQuery, SameCategory
from localrank.text import Analyzer, FeatureExtractor, TextRanker

FOLDER = Path(__file__).parent
# Categories of the training queries.
KINDS = {query: query % 3 for query in range(1, 21)}
CORPUS = [
    {"id": "rice", "title": "Rice", "body": "Rinse rice, then boil it in water.", "age": 3},
    {"id": "tea", "title": "Tea", "body": "Boil water for tea, green or black.", "age": 1},
    {"id": "fern", "title": "Ferns", "body": "Water ferns often, and rice never.", "age": 9},
    {"id": "bike", "title": "Bicycles", "body": "Oil the chain.", "age": 4},
]


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
    samples["divergence"] = LocalRanker(Gaussian(), Agglomerative(2), RankSVM(), AllGroups())
    samples["moments"] = LocalRanker(
        Scaled(Variance()), Agglomerative(2), RankSVM(), NearestQuery(representation=Skew())
    )
    members = [RankSVM(), BestFeature()]
    for aggregator in (MarkovChain(), MedianRank(), WeightedBorda()):
        samples[aggregator.declaration.name] = Ensemble(members, aggregator=aggregator)
    for name, classifier in {
        "forest": RandomForestClassifier(2, max_depth=2, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0),
        "neighbours": KNeighborsClassifier(3),
        "extra-trees": ExtraTreesClassifier(2, max_depth=2, random_state=0),
        "naive-bayes": GaussianNB(),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
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


def table() -> pd.DataFrame:
    """Documents with a column of categories and one that is left out."""
    i = np.arange(40)
    kinds = np.array([*"abca"])[i % 4]
    columns = {"qid": i // 4, "label": i % 3, "price": np.cos(i), "kind": kinds, "url": i}
    return pd.DataFrame(columns)


def fitted(name: str) -> Any:
    """A golden model, trained now."""
    dataset, _ = make_queries(20, n_documents=(3, 6), n_features=5, n_types=2, random_state=1)
    dataset = dataset.with_features(dataset.features)
    if name == "filled":
        features = np.where(np.arange(dataset.features.size) % 7, dataset.features.ravel(), np.nan)
        return RankSVM().fit(dataset.with_features(features.reshape(-1, 5)))
    if name == "columns":
        data = read_table(table(), ignore=["url"])
        return LambdaMART(n_trees=4, n_leaves=3, min_leaf_documents=1).fit(data)
    if name == "text-ranker":
        extractor = FeatureExtractor(["title", "body"], columns=["age"])
        queries = {"1": "boil rice", "2": "water ferns", "3": "green tea"}
        qrels = {"1": {"rice": 2, "bike": 0}, "2": {"fern": 1}, "3": {"tea": 2, "fern": 0}}
        return TextRanker(extractor, RankSVM()).fit(queries, qrels, CORPUS)
    if name == "index":
        extractor = FeatureExtractor(["title", "body"], analyzer=Analyzer(stopwords=["the", "it"]))
        return extractor.fit(CORPUS, folder=FOLDER / "index")
    return models()[name].fit(dataset)


def scores_of(name: str, model: Any) -> list[float]:
    """What a golden model gives for documents that never change."""
    if name == "columns":
        return model.predict(read_table(table(), ignore=["url"])).tolist()
    if name == "text-ranker":
        return model.rank("boil water for green ferns").scores.tolist()
    if name == "index":
        return model.list_of("boil water for green ferns").features.ravel().tolist()
    return model.predict(documents()).tolist()


def main() -> None:
    """Write the files of the methods named on the command line, or of all."""
    path = FOLDER / "scores.json"
    names = sys.argv[1:] or [*models(), "filled", "columns", "text-ranker", "index"]
    scores = json.loads(path.read_text()) if sys.argv[1:] else {}
    for name in names:
        model = fitted(name)
        if name != "index":
            model.save(FOLDER / f"{name}.localrank")
        scores[name] = scores_of(name, model)
    lines = [f"{json.dumps(name)}: {json.dumps(values)}" for name, values in scores.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
