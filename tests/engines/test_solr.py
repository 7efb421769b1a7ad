"""A real Solr 8.11.4, in one JVM for all of these tests."""

import numpy as np
import pytest
from engines.solr_ranking import rankings_in_solr
from random_trees import random_documents, random_trees

from localrank.data import RankingDataset, read_letor
from localrank.export import ExportedModel
from localrank.export.solr import Solr
from localrank.export.writing import exported_model
from localrank.formulas import Linear, TreeSum
from localrank.rankers import GBRT, LambdaMART, RankSVM
from localrank.trees import Trees

RANKERS = {
    "lambdamart": LambdaMART(50),
    "gbrt": GBRT(50),
    "stumps": LambdaMART(100, n_leaves=2),
    "rank-svm": RankSVM(),
}


@pytest.fixture(scope="module")
def cases(benchmark_data):
    """Files, the dataset that Solr ranks, and the scores of the ranker."""
    train = read_letor(benchmark_data / "MQ2008" / "S1.txt.gz")
    test = read_letor(benchmark_data / "MQ2008" / "S5.txt.gz")
    test = test.taken(np.arange(40))
    result = {}
    for name, ranker in RANKERS.items():
        ranker.fit(train)
        scores = test.in_query_order(ranker.predict(test))
        result[name] = (Solr().files(exported_model(ranker)), test, scores)
    for name, formula, dataset in made_up():
        names = tuple(f"feature {number}" for number in range(dataset.n_features))
        files = Solr().files(ExportedModel(name, formula, names))
        result[name] = (files, dataset, formula.score(dataset))
    return result


def made_up():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 30, 20)
    trees = Trees(**(trees.__getstate__() | {"decisions": trees.decisions & np.uint8(2 | 8)}))
    rows = random_documents(rng, 300, np.float32, trees.thresholds)
    rows[np.isinf(rows)] = 1
    yield "random_trees", TreeSum(trees), dataset_of(rows)
    thresholds = 10.0 ** rng.uniform(-12, 6, 300) * rng.choice([-1, 1], 300)
    thresholds = np.concatenate([thresholds, [0.0, 1e-35, -1e-35, 1e-6, -1e-6, -32.0]])
    near = thresholds.astype(np.float32)
    values = np.concatenate([near, *(np.nextafter(near, np.float32(s)) for s in (-1e30, 1e30))])
    yield "thresholds", TreeSum(counting(thresholds)), dataset_of(values[:, None])
    yield "linear", Linear(np.array([0.1, -3.7, 0.0]), 2.5), dataset_of(rows[:, :3] % 100)


def dataset_of(rows):
    return RankingDataset.from_arrays(rows, qid=np.arange(len(rows)) // 100)


def counting(thresholds):
    """Stumps on one feature whose sum says how many thresholds are below a value."""
    n = len(thresholds)
    return Trees(
        n_features=1,
        leaf_offsets=2 * np.arange(n + 1),
        split_features=np.zeros(n, np.int32),
        thresholds=thresholds,
        decisions=np.zeros(n, np.uint8),
        left_children=np.full(n, ~0, np.int32),
        right_children=np.full(n, ~1, np.int32),
        gains=np.ones(n, np.float32),
        leaf_values=np.tile([0.0, 1.0], n),
        leaf_counts=np.ones(2 * n, np.int64),
    )


@pytest.fixture(scope="module")
def rankings(cases):
    given = [(files, dataset) for files, dataset, _ in cases.values()]
    return dict(zip(cases, rankings_in_solr(given, logged=3), strict=True))


NAMES = [*RANKERS, "random_trees", "thresholds", "linear"]


@pytest.mark.parametrize("name", NAMES)
def test_solr_computes_what_the_emulation_says_to_the_last_bit(name, cases, rankings):
    files, dataset, _ = cases[name]
    print(rankings[name].dense, rankings[name].sparse)
    assert np.array_equal(Solr().scores(files, dataset), rankings[name].scores)
