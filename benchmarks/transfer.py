"""Fusing the lists of a collection without any judged query of its own, by models of others.

Run with `python benchmarks/transfer.py FOLDER --encoder ENCODER --keep KEPT`. FOLDER has
collections as `localrank reproduce hybrid` takes them. ENCODER is a folder of an encoder. KEPT
keeps the vectors of texts, which take the longest. Each model learns from all other collections.
Values are those of the whole search; differences are tested by paired t-tests over the queries,
corrected by Holm's rule for all tests of a measure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from measuring import SMALL, options, sized

from localrank._base.estimator import clone
from localrank.aggregation import ZScore
from localrank.data import Vectors, as_qrels, as_run, concatenate, pooled
from localrank.evaluation import paired_tests
from localrank.evaluation.significance import p_text
from localrank.experiments import Setting
from localrank.experiments._list_collections import ListCollection, list_collections
from localrank.fusion import Fusion, NeighbourColumns, ReciprocalRankFusion, lists_dataset
from localrank.fusion._list_columns import values_of_lists
from localrank.rankers import Ensemble, LambdaMART, Ranker, RankSVM
from localrank.text import Encoder

AVERAGE, MIXED = "average of z", "RankSVM with neighbours, and the average"
TREES = LambdaMART(n_trees=sized(300, 5), min_leaf_documents=sized(50, 5), n_jobs=1)
LARGEST = (2, 3, 4)
METHODS: dict[str, Ranker] = {
    AVERAGE: Fusion("equal"),
    "reciprocal rank fusion": ReciprocalRankFusion(),
    "tuned weights": Fusion(),
    "RankSVM with neighbours": NeighbourColumns(RankSVM()),
    MIXED: Ensemble([Fusion("equal"), NeighbourColumns(RankSVM())], aggregator=ZScore()),
    "LambdaMART with neighbours": NeighbourColumns(TREES),
    "LambdaMART with neighbours, and the average": Ensemble(
        [Fusion("equal"), NeighbourColumns(TREES)], aggregator=ZScore()
    ),
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="the collections")
    parser.add_argument("--encoder", type=Path, help="folder of an encoder")
    parser.add_argument("--keep", type=Path, help="where vectors are kept")
    given = parser.parse_args()
    if SMALL:
        known = [made_up("first", 1), made_up("second", 2)]
    elif given.folder is None or given.encoder is None:
        parser.error("give the folder of the collections, and --encoder")
    else:
        store = None if given.keep is None else given.keep / "results"
        setting = Setting(given.folder, quick=False, seeds=(0,), n_jobs=1, store=store)
        known = list_collections(setting, lambda: Encoder.of(given.encoder))
    known = [one for one in known if one.dataset.has_vectors]
    parts: dict[tuple[str, str], list[Any]] = {}
    for one in known:
        others = [other for other in known if {*other.query_ids}.isdisjoint(one.query_ids)]
        train = concatenate([other.dataset for other in of_different_queries(others)])
        print(f"{one.name}: {one.dataset.n_queries} queries, learned from {train.n_queries} others")
        for name, ranker in METHODS.items():
            scores = clone(ranker).fit(train).predict(one.dataset)
            for key, measure in one.measures().items():
                values = one.values(scores, measure)
                parts.setdefault((key, name), []).append(values)
                print(f"  {name}: {key} {values.mean():.4f}", flush=True)
        # Trees do not tell apart what lies beyond their training: as if z were cut off.
        z = values_of_lists(one.dataset, "z", one.dataset.feature_names)
        for most in LARGEST:
            scores = np.minimum(z, most).mean(axis=1)
            for key, measure in one.measures().items():
                mean = one.values(scores, measure).mean()
                print(f"  {AVERAGE}, z at most {most:g}: {key} {mean:.4f}")
    for key in known[0].measures():
        means = {name: np.concatenate(parts[key, name]) for name in METHODS}
        tests = paired_tests(
            {name: values for name, values in means.items() if name != AVERAGE}, means[AVERAGE]
        )
        print(f"all queries, {key}: {AVERAGE} {means[AVERAGE].mean():.4f}")
        for name, test in tests.items():
            print(f"  {name}: {test.mean_difference:+.4f} ({p_text(test.p)})")


def of_different_queries(collections: list[ListCollection]) -> list[ListCollection]:
    """Of several pairs of lists of the same queries, the first."""
    kept: list[ListCollection] = []
    for one in collections:
        if all({*other.query_ids}.isdisjoint(one.query_ids) for other in kept):
            kept.append(one)
    return kept


def made_up(name: str, seed: int) -> ListCollection:
    """Twelve queries of two lists, in which relevant documents are alike."""
    rng = np.random.default_rng(seed)
    lists: dict[str, dict[str, dict[str, float]]] = {"words": {}, "dense": {}}
    qrels: dict[str, dict[str, int]] = {}
    vectors: dict[str, Any] = {}
    for query in range(12):
        relevant = rng.random(20) < 0.3
        ids = [f"{name}-{query}-{document}" for document in range(20)]
        qrels[f"{name}-{query}"] = dict(zip(ids, relevant.astype(int).tolist(), strict=True))
        for of_list in lists.values():
            scores = relevant + rng.normal(size=20)
            of_list[f"{name}-{query}"] = dict(zip(ids, scores.tolist(), strict=True))
        at = relevant[:, None] * [1.0, 0.0] + 0.5 * rng.normal(size=(20, 2))
        vectors |= dict(zip(ids, at, strict=True))
    dataset = lists_dataset(lists, qrels, Vectors.of(vectors))
    runs = {one: as_run(run, one) for one, run in lists.items()}
    return ListCollection(name, "two lists", pooled(runs, as_qrels(qrels)), dataset)


if __name__ == "__main__":
    main()
