"""Other libraries' rankers against these libraries, called in another way."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import make_queries
from localrank.evaluation.runner import _size
from localrank.experiments import _peers
from localrank.experiments._peers import CATBOOST, HISTOGRAM, LIGHTGBM, SETTINGS, XGBOOST, YETI

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

SEED, N_TREES = 3, 12


@pytest.fixture(scope="module")
def queries():
    dataset, _ = make_queries(30, n_documents=(25, 30), n_features=5, random_state=4)
    return dataset


@pytest.fixture(scope="module")
def fitted(queries):
    """Every peer in its second setting, with few trees."""
    known = _peers.peers(SEED, N_TREES)
    return {name: settings[1].fit(queries) for name, settings in known.items()}


def of_lightgbm(data):
    table = lightgbm.Dataset(data.features, data.labels, group=np.diff(data.offsets))
    options = {"objective": "lambdarank", "learning_rate": 0.05, "num_leaves": 15}
    options |= {"seed": SEED, "num_threads": 1, "verbosity": -1}
    return lightgbm.train(options, table, N_TREES).predict(data.features)


def of_xgboost(objective):
    def scores(data):
        table = xgboost.DMatrix(data.features, data.labels, qid=data.query_index)
        options = {"objective": objective, "eta": 0.1, "seed": SEED, "nthread": 1}
        return xgboost.train(options, table, N_TREES).predict(xgboost.DMatrix(data.features))

    return scores


def of_catboost(loss, rate):
    def scores(data):
        options = {"loss_function": loss, "learning_rate": rate, "iterations": N_TREES}
        options |= {"random_seed": SEED, "thread_count": 1, "allow_writing_files": False}
        ids = [f"query {i}" for i in data.query_index]
        pool = catboost.Pool(data.features, data.labels, group_id=ids)
        return catboost.CatBoost(options).fit(pool, verbose=False).predict(data.features)

    return scores


def of_scikit_learn(data):
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(max_iter=N_TREES, learning_rate=0.05, random_state=SEED)
    return model.fit(data.features, data.labels).predict(data.features)


BY_HAND = {
    LIGHTGBM: of_lightgbm,
    XGBOOST: of_xgboost("rank:ndcg"),
    _peers.XGBOOST_PAIRS: of_xgboost("rank:pairwise"),
    CATBOOST: of_catboost("QueryRMSE", 0.1),
    YETI: of_catboost("YetiRank", 0.15),
    HISTOGRAM: of_scikit_learn,
}


@pytest.mark.parametrize("name", _peers.PEERS)
def test_a_peer_is_the_model_that_its_name_says(fitted, queries, name):
    assert_allclose(fitted[name].predict(queries), BY_HAND[name](queries), rtol=1e-5, atol=1e-6)


def test_peers_differ(fitted, queries):
    scores = [ranker.predict(queries) for ranker in fitted.values()]
    assert len({tuple(one[:50].round(9)) for one in scores}) == len(_peers.PEERS)


def test_the_first_setting_has_the_librarys_own_defaults(queries):
    few = queries.select(range(6))
    known = {name: SETTINGS[name][0] for name in _peers.PEERS if name != YETI}
    assert {tuple(options) for _, _, options in known.values()} == {
        (),
        ("objective",),
        ("loss_function",),
    }
    ranker = xgboost.XGBRanker(n_jobs=1).fit(few.features, few.labels, qid=few.query_index)
    pool = catboost.Pool(few.features, few.labels, group_id=few.query_index)
    trees = catboost.CatBoostRanker(verbose=False, allow_writing_files=False).fit(pool)
    from sklearn.ensemble import HistGradientBoostingRegressor

    n_trees = {
        LIGHTGBM: lightgbm.LGBMRanker().n_estimators,
        XGBOOST: ranker.get_booster().num_boosted_rounds(),
        _peers.XGBOOST_PAIRS: ranker.get_booster().num_boosted_rounds(),
        CATBOOST: trees.tree_count_,
        HISTOGRAM: HistGradientBoostingRegressor().max_iter,
    }
    assert {name: n for name, (_, n, _) in known.items()} == n_trees


@pytest.mark.parametrize("name", _peers.PEERS)
def test_settings_differ(name):
    assert len({repr(ranker) for ranker in _peers.peers(0)[name]}) == len(SETTINGS[name])


def test_a_file_is_the_librarys_own(fitted, queries, tmp_path):
    def load_xgboost(path):
        booster = xgboost.Booster(model_file=path)
        return lambda rows: booster.predict(xgboost.DMatrix(rows))

    loaders = {
        LIGHTGBM: lambda path: lightgbm.Booster(model_file=path).predict,
        XGBOOST: load_xgboost,
        CATBOOST: lambda path: catboost.CatBoost().load_model(path).predict,
        HISTOGRAM: lambda path: joblib.load(path).predict,
    }
    for name, load in loaders.items():
        path = tmp_path / f"{name.split()[0]}.ubj"
        fitted[name].save(path)
        assert_allclose(load(str(path))(queries.features), fitted[name].predict(queries), rtol=1e-6)
        assert _size(fitted[name]) == path.stat().st_size > 1000


def test_a_library_that_is_missing_leaves_its_peers_out(monkeypatch):
    monkeypatch.setattr(_peers, "find_spec", lambda library: None if library == "catboost" else 1)
    assert _peers.installed() == [n for n in _peers.PEERS if not n.startswith("CatBoost")]
    assert list(_peers.peers(0)) == _peers.installed()
