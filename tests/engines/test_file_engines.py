"""Exported files in the engines and libraries that they are for, against `predict`."""

import numpy as np
import pytest
from engines import file_engines
from tree_exports import KNOWS_MISSING, ZERO_FOR_MISSING, documents_at, exported, tree_model

from localrank.data import folds, make_queries
from localrank.export import Verification, XGBoostJSON, targets
from localrank.export.writing import exported_model
from localrank.formulas import Linear
from localrank.rankers import GBRT, LambdaMART, RankSVM


@pytest.fixture(scope="module")
def queries(benchmark_data):
    """Some of MQ2008 to train on and to rank."""
    if not (benchmark_data / "MQ2008").is_dir():
        pytest.skip("no MQ2008 in the benchmark data")
    first = next(iter(folds(benchmark_data / "MQ2008")))
    return first.train.select(np.arange(150)), first.test.select(np.arange(100))


@pytest.fixture(scope="module")
def trees(queries):
    return LambdaMART(100).fit(queries[0])


@pytest.fixture(scope="module")
def linear(queries):
    return RankSVM().fit(queries[0])


def random_exports(target, decisions):
    """Models of random trees, and documents at their thresholds."""
    rng = np.random.default_rng(7)
    models = [tree_model(rng, each) for each in decisions]
    return [
        (target.files(model), documents_at(rng, model.formula.trees.thresholds)) for model in models
    ]


def compared(ranker, dataset, scores):
    expected = dataset.in_query_order(ranker.predict(dataset))
    return Verification.of(dataset, expected, scores)


def check_ranks_alike(result):
    """Equal up to single precision: a list may only turn documents that it cannot tell apart."""
    assert result.largest_difference < 1e-6 * max(result.largest_score, 1.0)
    assert result.n_equal_lists >= 0.98 * result.n_lists


@pytest.fixture(scope="module")
def in_elastic(queries, trees):
    """Files, documents and the scores of Elasticsearch: MQ2008 first."""
    target = targets()["elastic"]()
    exports = [(target.files(exported_model(trees)), queries[1])]
    exports += random_exports(target, [KNOWS_MISSING, ZERO_FOR_MISSING] * 3)
    return [
        (*pair, scores)
        for pair, scores in zip(exports, file_engines.all_in_elastic(exports), strict=True)
    ]


@pytest.mark.slow
def test_elasticsearch_ranks_as_the_model(in_elastic, trees):
    _, dataset, scores = in_elastic[0]
    check_ranks_alike(compared(trees, dataset, scores))


@pytest.mark.slow
def test_elasticsearch_scores_as_emulated_to_the_last_bit(in_elastic):
    for files, dataset, scores in in_elastic:
        assert (scores == targets()["elastic"]().scores(files, dataset)).all()


@pytest.fixture(scope="module")
def in_ranklib(queries, trees, linear):
    """Files, documents and the scores of RankLib: MQ2008 by trees, by a linear model, others."""
    target = targets()["ranklib"]()
    exports = [(target.files(exported_model(each)), queries[1]) for each in (trees, linear)]
    exports += random_exports(target, [ZERO_FOR_MISSING] * 5)
    steep = exported(Linear(np.array([1e-9, 1e9, -3.0, 0.0, 0.1]), 3.0))
    exports.append((target.files(steep), documents_at(np.random.default_rng(8), np.ones(1))))
    return [
        (*pair, scores)
        for pair, scores in zip(exports, file_engines.all_in_ranklib(exports), strict=True)
    ]


@pytest.mark.slow
def test_ranklib_ranks_as_the_model(in_ranklib, trees, linear):
    for (_, dataset, scores), ranker in zip(in_ranklib, (trees, linear), strict=False):
        check_ranks_alike(compared(ranker, dataset, scores))


@pytest.mark.slow
def test_ranklib_scores_as_emulated_to_the_last_bit(in_ranklib):
    for files, dataset, scores in in_ranklib:
        assert (scores == targets()["ranklib"]().scores(files, dataset)).all()


@pytest.mark.parametrize("to", ["lightgbm", "treelite", "xgboost-json"])
def test_libraries_rank_as_the_model(to, queries, trees):
    rank = getattr(file_engines, f"rank_in_{to.removesuffix('-json')}")
    target, dataset = targets()[to](), queries[1]
    files = target.files(exported_model(trees))
    scores = rank(files, dataset)
    check_ranks_alike(compared(trees, dataset, scores))
    assert np.abs(scores - target.scores(files, dataset)).max() < 1e-15


@pytest.mark.parametrize("kind", ["trees", "linear"])
@pytest.mark.parametrize("to", ["elasticsearch-ltr", "opensearch-ltr"])
def test_the_plugins_arithmetic_ranks_as_the_model(to, kind, queries, request):
    ranker, target = request.getfixturevalue(kind), targets()[to]()
    scores = target.scores(target.files(exported_model(ranker)), queries[1])
    check_ranks_alike(compared(ranker, queries[1], scores))


@pytest.mark.parametrize("n_leaves", [7, 63])
def test_xgboost_scores_deep_trees_and_single_documents_as_emulated(n_leaves):
    # It reads trees otherwise where they are deep, and where documents are few.
    dataset, _ = make_queries(60)
    dataset = dataset.replaced(features=dataset.features.astype(np.float32))
    ranker = GBRT(3, n_leaves=n_leaves, min_leaf_documents=5).fit(dataset)
    files = XGBoostJSON().files(exported_model(ranker))
    expected = XGBoostJSON().scores(files, dataset)
    np.testing.assert_array_equal(file_engines.rank_in_xgboost(files, dataset), expected)
    booster = file_engines.xgboost_booster(files)
    single = [booster.inplace_predict(row[None])[0] for row in dataset.features[:50]]
    np.testing.assert_array_equal(single, expected[:50])
