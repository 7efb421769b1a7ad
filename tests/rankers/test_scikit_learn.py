"""Rankers in scikit-learn's pipelines and searches, with and without metadata routing."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localrank.measures import NDCG
from localrank.rankers import RankSVM
from localrank.rankers._inputs import MissingQueryIds

ROUTED = pytest.mark.parametrize(
    "model", [RankSVM(), make_pipeline(StandardScaler(), RankSVM())], ids=["ranker", "pipeline"]
)


@pytest.fixture
def data(queries):
    """Rows in any order."""
    rows = np.random.default_rng(0).permutation(queries.n_documents)
    qid = queries.query_ids[queries.query_index]
    return queries.features[rows], queries.labels[rows], qid[rows]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@ROUTED
def test_with_routing_query_ids_reach_fit_predict_and_score(routing, data, model):
    X, y, qid = data
    fitted = model.fit(X, y, qid=qid)
    scaled = X if isinstance(model, RankSVM) else StandardScaler().fit_transform(X)
    direct = RankSVM().fit(scaled, y, qid=qid)
    np.testing.assert_allclose(fitted.predict(X, qid=qid), direct.predict(scaled, qid=qid))
    assert fitted.score(X, y, qid=qid) == pytest.approx(direct.score(scaled, y, qid=qid))


@ROUTED
def test_with_routing_searches_score_whole_queries(routing, data, model):
    X, y, qid = data
    cv = GroupKFold(3)
    result = cross_validate(model, X, y, cv=cv, params={"qid": qid, "groups": qid})
    expected = []
    for train, test in cv.split(X, y, qid):
        ranker = sklearn.clone(model).fit(X[train], y[train], qid=qid[train])
        expected.append(ranker.score(X[test], y[test], qid=qid[test]))
    np.testing.assert_allclose(result["test_score"], expected)
    name = "C" if isinstance(model, RankSVM) else "ranksvm__C"
    search = GridSearchCV(model, {name: [0.01, 1.0]}, cv=cv).fit(X, y, qid=qid, groups=qid)
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(expected))
    assert np.isfinite(search.score(X, y, qid=qid))


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@ROUTED
def test_without_routing_searches_stop_and_say_what_to_do(data, model, n_jobs):
    X, y, qid = data
    name = "" if isinstance(model, RankSVM) else "ranksvm__"
    search = GridSearchCV(model, {f"{name}C": [0.1, 1.0]}, cv=3, n_jobs=n_jobs)
    calls = [
        lambda: search.fit(X, y, **{f"{name}qid": qid}),
        lambda: search.fit(X, y),
        lambda: cross_validate(model, X, y, cv=3, params={f"{name}qid": qid}, n_jobs=n_jobs),
        lambda: cross_validate(model, X, y, cv=3, n_jobs=n_jobs),
    ]
    for call in calls:
        with pytest.raises(MissingQueryIds, match="'qid' .*enable_metadata_routing=True"):
            call()


def test_other_scorings_stop_as_well(data):
    X, y, qid = data
    for scoring in ("r2", ["r2", "neg_mean_squared_error"]):
        with pytest.raises(MissingQueryIds, match="'qid'"):
            cross_validate(RankSVM(), X, y, scoring=scoring, cv=3, params={"qid": qid})


def test_elsewhere_missing_query_ids_are_an_error_like_any_other(data):
    X, y, qid = data
    ranker = RankSVM().fit(X, y, qid=qid)
    for call in (ranker.score, ranker.fit):
        with pytest.raises(ValueError, match="The 'qid' argument is missing"):
            call(X, y)
    with pytest.raises(ValueError, match="The 'qid' argument is missing"):
        ranker.predict(X)


def test_other_errors_of_a_search_stay_scores(routing, data):
    X, y, qid = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(RankSVM(), {"C": [-1.0, 1.0]}, cv=GroupKFold(3))
        scores = search.fit(X, y, qid=qid, groups=qid).cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [True, False]


def test_a_score_weighs_queries(queries):
    ranker = RankSVM().fit(queries)
    values = NDCG(10)(queries, ranker.predict(queries))
    weights = np.arange(queries.n_queries, dtype=float)
    by_document = weights[queries.query_index]
    expected = weights @ values / weights.sum()
    assert ranker.score(queries, sample_weight=by_document) == pytest.approx(expected)
    assert ranker.score(queries) == pytest.approx(values.mean())
    with pytest.raises(ValueError, match="the same for all documents of a query"):
        ranker.score(queries, sample_weight=np.arange(queries.n_documents))


def test_weights_are_routed_where_they_are_asked_for(routing, data):
    X, y, qid = data
    weights = (qid % 3 + 1.0).astype(float)
    ranker = RankSVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    params = {"qid": qid, "groups": qid, "sample_weight": weights}
    scores = cross_validate(ranker, X, y, cv=GroupKFold(3), params=params)["test_score"]
    train, test = next(GroupKFold(3).split(X, y, qid))
    fitted = RankSVM().fit(X[train], y[train], qid=qid[train], sample_weight=weights[train])
    expected = fitted.score(X[test], y[test], qid=qid[test], sample_weight=weights[test])
    assert scores[0] == pytest.approx(expected)


def test_features_are_permuted_with_a_scoring_that_knows_the_queries(data):
    X, y, qid = data
    ranker = RankSVM().fit(X, y, qid=qid)
    importance = permutation_importance(
        ranker, X, y, scoring=lambda ranker, X, y: ranker.score(X, y, qid=qid), random_state=0
    )
    assert importance.importances_mean.max() > 0.01
