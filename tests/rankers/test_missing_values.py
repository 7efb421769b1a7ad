"""How rankers treat missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank.data import RankingDataset
from localrank.data import _filling as filling
from localrank.data._filling import Filling
from localrank.measures import AveragePrecision
from localrank.rankers import (
    BestFeature,
    Ensemble,
    LambdaMART,
    ListwiseLinear,
    Quadratic,
    RankBoost,
    RankSVM,
    SVMMap,
)
from localrank.rankers._inputs import accepts_missing

FILLING = [RankSVM(), SVMMap(), ListwiseLinear(), RankBoost(20)]


@pytest.fixture
def holed(queries):
    features = queries.features.copy()
    features[np.random.default_rng(1).random(queries.n_documents) < 0.3, 1] = np.nan
    features[queries.query_index % 4 == 0, 2] = np.nan
    return queries.with_features(features, queries.feature_names)


@pytest.fixture(scope="module")
def informative():
    """Relevant documents lack the first feature. Its values say nothing."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 3))
    labels = (np.arange(600) % 6 == 0).astype(float)
    features[labels > 0, 0] = np.nan
    return RankingDataset.from_arrays(features, labels, np.repeat(np.arange(50), 12))


@pytest.mark.parametrize("ranker", FILLING, ids=lambda ranker: type(ranker).__name__)
def test_what_is_missing_may_count_by_itself(ranker, informative):
    assert AveragePrecision().mean(informative, ranker.fit(informative).predict(informative)) == 1


def test_an_indicator_has_a_weight_of_its_own(informative):
    ranker = RankSVM().fit(informative)
    assert ranker.coef_.shape == (4,)
    assert ranker.n_features_in_ == 3
    assert ranker.coef_[3] > 10 * np.abs(ranker.coef_[:3]).max()


@pytest.mark.parametrize("ranker", FILLING, ids=lambda ranker: type(ranker).__name__)
def test_a_model_is_that_of_the_filled_data(ranker, holed):
    filled = Filling.learned(holed).filled(holed)
    scores = ranker.fit(holed).predict(holed)
    assert_allclose(ranker.fit(filled).predict(filled), scores, rtol=1e-6, atol=1e-9)


def test_features_filled_block_by_block_give_the_same_model(holed, monkeypatch):
    expected = [ranker.fit(holed).predict(holed) for ranker in FILLING[:3]]
    monkeypatch.setattr(filling, "SMALL_BYTES", 0)
    monkeypatch.setattr("localrank.data._sources.SMALL_BYTES", 0)
    for ranker, scores in zip(FILLING, expected, strict=False):
        assert_array_equal(ranker.fit(holed).predict(holed), scores)


def test_a_path_of_models_has_the_fillings_of_single_ones(holed):
    path = RankSVM().fit_path(holed, Cs=[0.1, 1.0])
    assert_allclose(
        path[0].predict(holed), RankSVM(C=0.1).fit(holed).predict(holed), rtol=1e-3, atol=1e-3
    )


def test_validation_queries_are_filled_by_what_training_taught(holed):
    train, valid = holed.select(np.arange(40)), holed.select(np.arange(40, 60))
    learned = Filling.learned(train)
    by_holes = RankBoost(50, patience=5).fit(train, valid=valid)
    by_hand = RankBoost(50, patience=5).fit(learned.filled(train), valid=learned.filled(valid))
    assert by_holes.n_rounds_ == by_hand.n_rounds_
    assert_allclose(by_holes.alphas_, by_hand.alphas_)


def test_one_part_that_refuses_makes_the_whole_refuse(queries, holed):
    ensemble = Ensemble([LambdaMART(5), Quadratic(RankSVM(missing="refuse"))])
    assert not accepts_missing(ensemble)
    with pytest.raises(ValueError, match="RankSVM was given missing='refuse', and f2 has"):
        ensemble.fit(holed)
    with pytest.raises(ValueError, match="RankSVM was given missing='refuse'"):
        ensemble.fit(queries).predict(holed)


@pytest.mark.parametrize("both_directions", [False, True])
def test_a_missing_value_ranks_lowest_in_both_directions(both_directions):
    sign = -1.0 if both_directions else 1.0
    X = sign * np.array([[3.0], [np.nan], [1.0], [2.0], [np.nan], [-5.0], [np.nan]])
    y, qid = [2, 0, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 2, 3]
    ranker = BestFeature(both_directions=both_directions).fit(X, y, qid=qid)
    assert ranker.direction_ == sign
    scores = ranker.predict(X, qid=qid)
    assert_array_equal(scores, [3, -1, 1, 2, -1, -5, 0])
    huge = 1e99 * X
    scores = ranker.predict(huge, qid=qid)
    assert np.isfinite(scores).all()
    assert scores[1] < scores[[0, 2, 3]].min()


def test_a_column_of_missing_values_is_no_best_feature(queries):
    features = queries.features.copy()
    best = BestFeature().fit(queries).feature_
    features[:, best] = np.nan
    assert BestFeature().fit(queries.with_features(features)).feature_ != best


def test_a_filling_of_other_features_is_refused(holed, tmp_path):
    ranker = RankSVM().fit(holed)
    ranker.filling_ = Filling(ranker.filling_.values[1:], ranker.filling_.indicators)
    ranker.save(tmp_path / "model.localrank")
    with pytest.raises(ValueError, match="filling_ of RankSVM must be a Filling of all features"):
        localrank.load(tmp_path / "model.localrank")


def test_weights_without_those_of_the_indicators_are_refused(holed, tmp_path):
    ranker = RankSVM().fit(holed)
    ranker.coef_, ranker.scale_ = ranker.coef_[:8], ranker.scale_[:8]
    ranker.save(tmp_path / "model.localrank")
    with pytest.raises(ValueError, match="of RankSVM must be finite numbers of shape"):
        localrank.load(tmp_path / "model.localrank")


def test_columns_are_named_in_print(holed):
    labels = RankSVM().fit(holed).column_labels(holed)
    assert labels == (*holed.feature_names, "f2 (missing)", "f3 (missing)")
    unnamed = holed.with_features(holed.features)
    assert RankSVM().fit(unnamed).column_labels(unnamed)[7:] == (
        "feature 8",
        "feature 2 (missing)",
        "feature 3 (missing)",
    )
    assert LambdaMART(5).fit(holed).column_labels(holed) == holed.feature_names
