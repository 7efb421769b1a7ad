"""A real Solr 8.11.4, in one JVM for all of these tests."""

import json
from itertools import pairwise

import numpy as np
import pytest
from engines.solr_ranking import rankings_in_solr
from sklearn.base import clone
from trees.random_trees import N_FEATURES, random_documents, random_trees

from localrank.data import RankingDataset, read_feature_log, read_letor
from localrank.export import ExportedModel, Solr, Verification
from localrank.export.writing import exported_model
from localrank.formulas import Linear, TreeSum
from localrank.rankers import GBRT, LambdaMART, ListNet, RankBoost, RankSVM
from localrank.trees import Trees

pytestmark = pytest.mark.slow

RANKERS = {
    "lambdamart": LambdaMART(50),
    "gbrt": GBRT(50),
    "rank-boost": RankBoost(30),
    "rank-svm": RankSVM(),
    "list-net": ListNet(),
}
MADE_UP = ["random_trees", "thresholds", "linear"]


@pytest.fixture(scope="module")
def cases(request):
    """Files, the dataset that Solr ranks, and the scores of the model, by name."""
    result = {}
    for name, formula, dataset in made_up():
        names = tuple(f"feature {number}" for number in range(dataset.n_features))
        files = Solr().files(ExportedModel(name, formula, names))
        result[name] = (files, dataset, formula.score(dataset))
    try:
        folder = request.getfixturevalue("benchmark_data") / "MQ2008"
    except pytest.skip.Exception:
        return result
    train, test = (
        read_letor(folder / name, dtype=np.float32).taken(np.arange(n_queries))
        for name, n_queries in (("S1.txt.gz", 60), ("S5.txt.gz", 25))
    )
    for name, ranker in RANKERS.items():
        model = clone(ranker).fit(train)
        scores = test.in_query_order(model.predict(test))
        result[name] = (Solr().files(exported_model(model)), test, scores)
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
    return dict(zip(cases, rankings_in_solr(given, logged=5), strict=True))


@pytest.mark.parametrize("name", [*MADE_UP, *RANKERS])
def test_solr_computes_what_the_emulation_says_to_the_last_bit(name, cases, rankings):
    files, dataset, _ = case_of(name, cases)
    assert np.array_equal(Solr().scores(files, dataset), rankings[name].scores)


@pytest.mark.parametrize("name", RANKERS)
def test_solr_ranks_benchmark_lists_as_the_ranker_does(name, cases, rankings):
    _, dataset, scores = case_of(name, cases)
    result = Verification.of(dataset, scores, rankings[name].scores)
    assert result.largest_difference < 1e-5 * result.largest_score
    assert result.same_order or result.first_move.gap <= 2 * result.largest_difference
    assert result.n_equal_lists >= 0.95 * result.n_lists


@pytest.mark.parametrize("name", [*MADE_UP, *RANKERS])
def test_solr_ranks_by_score_and_leaves_equal_scores_in_their_order(name, cases, rankings):
    _, dataset, _ = case_of(name, cases)
    scores = rankings[name].scores
    expected = [
        begin + np.argsort(-scores[begin:end], kind="stable")
        for begin, end in pairwise(dataset.offsets)
    ]
    assert np.array_equal(rankings[name].order, np.concatenate(expected))


def test_every_threshold_decides_as_the_model_does(cases, rankings):
    _, _, n_below = cases["thresholds"]
    assert np.array_equal(rankings["thresholds"].scores, n_below)


def test_scores_may_be_negative(rankings):
    assert rankings["random_trees"].scores.min() < 0


@pytest.mark.parametrize(("form", "style"), [("dense", "solr"), ("sparse", "solr-sparse")])
def test_features_that_solr_logs_are_read_as_they_were(form, style, cases, rankings, tmp_path):
    _, dataset, _ = cases["random_trees"]
    ranking = rankings["random_trees"]
    response = json.loads(getattr(ranking, form))
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"qid": "first", "response": response}))
    names = [f"feature_{number}" for number in range(N_FEATURES)]
    log = read_feature_log(path, format=style, features=names)
    best = ranking.order[: log.n_documents]
    assert log.document_ids.tolist() == [f"0-{row}" for row in best]
    assert np.array_equal(np.float32(log.features), dataset.features[best], equal_nan=True)
    assert np.isnan(log.features).any()


def test_the_version_is_the_one_that_the_documentation_names(rankings):
    files = Solr().files(ExportedModel("model", Linear(np.ones(1)), ("f1",)))
    assert f"Tested with Solr {rankings['linear'].version}" in files["README.md"]


def case_of(name, cases):
    if name not in cases:
        pytest.skip("no benchmark data: set LOCALRANK_DATA to a folder with MQ2008 and others")
    return cases[name]
