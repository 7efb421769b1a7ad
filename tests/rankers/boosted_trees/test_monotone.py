import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrank import load
from localrank.data import RankingDataset
from localrank.local_ranker import LocalRanker
from localrank.rankers import (
    GBRT,
    CrossEntropyMART,
    Ensemble,
    LambdaMART,
    McRank,
    Quadratic,
    QueryCoordinates,
    RandomForest,
)
from localrank.recipes import global_ensemble, pca_queries
from localrank.registry import make_ranker

KINDS = [LambdaMART, CrossEntropyMART, GBRT, RandomForest]
NAMES = ["bm25", "price", "age", "noise"]
SMALL = {"n_trees": 30, "n_leaves": 15, "min_leaf_documents": 2, "feature_fraction": 1.0}


def made_up(missing=0.0, seed=0, names=True):
    """Labels that rise and fall with every feature, so that free trees break any constraint."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 4)).round(2)
    y = np.digitize(
        np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]) + rng.normal(size=600) / 4, [-1, 0, 1]
    )
    X[rng.random(X.shape) < missing] = np.nan
    return RankingDataset.from_arrays(
        X, y, np.repeat(np.arange(60), 10), feature_names=NAMES if names else None
    )


def named(rows):
    return pd.DataFrame(np.asarray(rows), columns=NAMES)


def steps(ranker, column, rows):
    """Changes of the scores of some documents as one feature rises and all others stay."""
    ladder = np.linspace(-5, 5, 41)
    X = np.repeat(rows, len(ladder), axis=0)
    X[:, column] = np.tile(ladder, len(rows))
    scores = ranker.predict(named(X), qid=np.zeros(len(X), int))
    return np.diff(scores.reshape(len(rows), -1), axis=1)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_follow_the_direction_of_a_constrained_feature(kind, missing):
    data = made_up(missing)
    rows = data.features[:100]
    free = kind(**SMALL).fit(data)
    assert (steps(free, 0, rows) < 0).any()
    assert (steps(free, 1, rows) > 0).any()
    ranker = kind(**SMALL, monotone={"bm25": 1, "price": -1}).fit(data)
    up, down = steps(ranker, 0, rows), steps(ranker, 1, rows)
    assert up.min() >= 0
    assert down.max() <= 0
    assert up.max() > 0
    assert down.min() < 0


@pytest.fixture(scope="module")
def constrained():
    return LambdaMART(**SMALL, monotone={"bm25": 1, "price": -1}).fit(made_up(0.2))


@given(
    document=st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=4, max_size=4),
    rise=st.floats(0, 1e6),
)
def test_no_document_loses_by_a_rise_of_a_feature_that_counts_for_it(constrained, document, rise):
    better = [document[0] + rise, document[1] - rise, *document[2:]]
    before, after = constrained.predict(named([document, better]), qid=[1, 1])
    assert after >= before


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_is_the_same_as_its_name(kind):
    by_name = kind(**SMALL, monotone={"price": -1}).fit(made_up())
    by_column = kind(**SMALL, monotone={1: -1}).fit(made_up(names=False))
    features = made_up().features
    np.testing.assert_array_equal(by_name.trees_.score(features), by_column.trees_.score(features))


def test_an_unknown_feature_is_named_with_the_nearest():
    ranker = LambdaMART(monotone={"prize": -1})
    with pytest.raises(ValueError, match=r"names an unknown feature 'prize'. Did you mean 'price'"):
        ranker.fit(made_up())


@pytest.mark.parametrize("feature", ["price", 4, -1])
def test_a_column_that_does_not_exist_is_refused(feature):
    with pytest.raises(ValueError, match=r"keys are each a column from 0 to 3. Got \{"):
        LambdaMART(monotone={feature: 1}).fit(made_up(names=False))


@pytest.mark.parametrize(
    "monotone", [{"price": 2}, {"price": 0}, {"price": "up"}, {"price": True}, {1.5: 1}, ["price"]]
)
def test_other_directions_are_refused(monotone):
    with pytest.raises(ValueError, match=r"'monotone' parameter of GBRT must be a dict from feat"):
        GBRT(monotone=monotone).fit(made_up())


def test_two_directions_of_one_feature_are_refused():
    with pytest.raises(ValueError, match="must be one direction for price"):
        GBRT(monotone={"price": 1, 1: -1}).fit(made_up())


@pytest.mark.parametrize("wrapper", [QueryCoordinates, Quadratic])
def test_constraints_are_refused_where_columns_are_made_of_features(wrapper):
    ranker = wrapper(Ensemble([LambdaMART(), GBRT(monotone={"price": -1})]))
    with pytest.raises(
        ValueError, match=f"parameter of GBRT must be None inside {wrapper.__name__}"
    ):
        ranker.fit(made_up())


def test_mc_rank_has_no_constraints():
    # A sum of trees that rises for each label says nothing about the expected gain.
    with pytest.raises(ValueError, match="Invalid parameter 'monotone' for estimator McRank"):
        McRank().set_params(monotone={"price": -1})


def test_parts_of_recipes_keep_the_constraint():
    ranker = global_ensemble(2, ranker=GBRT(**SMALL, monotone={"price": -1})).fit(made_up())
    assert all(steps(model, 1, made_up().features[:50]).max() <= 0 for model in ranker.rankers_)
    local = pca_queries(2, ranker=GBRT(**SMALL)).set_params(ranker__monotone={"price": -1})
    assert isinstance(local, LocalRanker)
    models = local.fit(made_up()).models_
    assert all(steps(model, 1, made_up().features[:50]).max() <= 0 for model in models)


def test_the_command_line_takes_names_with_directions():
    ranker = make_ranker("lambdamart", ["monotone=bm25:1,price:-1"], None, 0)
    assert ranker.monotone == {"bm25": 1, "price": -1}
    inner = ["ranker=gbrt", "ranker__monotone=c:d:+1", "n_models=2"]
    assert make_ranker("global-ensemble", inner, None, 0).rankers[0].monotone == {"c:d": 1}
    assert make_ranker("gbrt", ['monotone={"a, b": 1}'], None, 0).monotone == {"a, b": 1}


def test_a_file_keeps_the_constraint(constrained, tmp_path):
    constrained.save(tmp_path / "model.localrank")
    assert load(tmp_path / "model.localrank").monotone == {"bm25": 1, "price": -1}
