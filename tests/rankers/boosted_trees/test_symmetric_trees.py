import json
import subprocess
import sys
import threading

import catboost
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank.data import RankingDataset, make_queries
from localrank.data._content_order import content_order
from localrank.measures import parse_measure
from localrank.rankers import SymmetricTrees
from localrank.rankers.boosted_trees.symmetric_trees import LOSSES

OBJECTIVES = list(LOSSES)
SMALL = {"n_trees": 25, "depth": 4}


@pytest.fixture(scope="module")
def split():
    dataset, _ = make_queries(160, n_documents=(8, 16), n_types=1, random_state=3)
    return dataset.select(np.arange(100)), dataset.select(np.arange(100, 160))


def by_catboost(train, objective, seed=5, **parameters):
    """CatBoost itself on the same rows."""
    drawn = np.random.RandomState(seed).randint(2**31 - 1)
    rows, queries = content_order(train, drawn)
    ordered = train.reordered(rows, queries)
    settings = {"loss_function": LOSSES[objective], "random_seed": drawn, "thread_count": 1}
    settings |= {"logging_level": "Silent", "allow_writing_files": False}
    settings |= {"iterations": 25, "depth": 4, "learning_rate": 0.03, **parameters}
    pool = catboost.Pool(ordered.features, ordered.labels, group_id=ordered.query_index)
    return catboost.CatBoost(settings).fit(pool)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_scores_are_those_of_catboost_trained_on_the_same_rows(objective, split):
    train, test = split
    ranker = SymmetricTrees(objective, random_state=5, **SMALL).fit(train)
    assert_array_equal(ranker.predict(test), by_catboost(train, objective).predict(test.features))
    assert ranker.n_trees_ == ranker.trees_.n_trees == 25


def test_parameters_reach_catboost(split):
    train, test = split
    given = {"n_trees": 12, "learning_rate": 0.2, "depth": 3, "l2": 0.5, "feature_fraction": 0.4}
    theirs = {"iterations": 12, "learning_rate": 0.2, "depth": 3, "l2_leaf_reg": 0.5, "rsm": 0.4}
    ranker = SymmetricTrees(**given, random_state=5).fit(train)
    booster = by_catboost(train, "query-rmse", **theirs)
    assert_array_equal(ranker.predict(test), booster.predict(test.features))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_learns_to_rank(objective, split):
    train, test = split
    assert SymmetricTrees(objective, n_trees=60, depth=4).fit(train).score(test) > 0.75


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_any_number_of_threads_gives_the_same_trees(objective):
    # Many documents, so that threads have parts of their own.
    dataset, _ = make_queries(200, n_documents=(20, 40), n_types=1, random_state=1)
    one, two, three = (
        SymmetricTrees(objective, n_trees=8, n_jobs=n).fit(dataset).trees_ for n in (1, 2, 3)
    )
    for trees in (two, three):
        assert_array_equal(trees.thresholds, one.thresholds)
        assert_array_equal(trees.leaf_values, one.leaf_values)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_validation_queries_choose_the_number_of_trees(objective, split):
    train, test = split
    settings = {"n_trees": 200, "depth": 3, "patience": 6, "measure": "map"}
    stopped = SymmetricTrees(objective, **settings).fit(train, valid=test)
    rounds, values = stopped.curve_.T
    best = int(np.argmax(values))
    assert stopped.n_trees_ == best + 1 == stopped.trees_.n_trees
    assert_array_equal(rounds, 1 + np.arange(len(values)))
    assert len(values) == best + 1 + 6 < 200
    # They change nothing but the number.
    alone = SymmetricTrees(objective, n_trees=stopped.n_trees_, depth=3).fit(train)
    assert_array_equal(stopped.predict(test), alone.predict(test))
    measured = np.nanmean(parse_measure("map")(test, stopped.predict(test)))
    assert values[best] == pytest.approx(measured, abs=1e-12)


def test_a_measure_that_falls_is_minimised(split):
    train, test = split
    stopped = SymmetricTrees(n_trees=60, depth=3, measure="oer").fit(train, valid=test)
    assert stopped.n_trees_ == np.argmin(stopped.curve_[:, 1]) + 1


def test_the_training_queries_may_validate(split):
    train, _ = split
    with pytest.warns(UserWarning, match="are also in the training data"):
        stopped = SymmetricTrees(n_trees=20, depth=3).fit(train, valid=train)
    value = np.nanmean(parse_measure("ndcg@10")(train, stopped.predict(train)))
    assert stopped.curve_[:, 1].max() == pytest.approx(value, abs=1e-12)


def test_validation_queries_that_a_measure_skips_are_refused(split):
    train, test = split
    with pytest.raises(ValueError, match="No validation query has a value of map"):
        SymmetricTrees(measure="map(rel=9,empty=skip)", **SMALL).fit(train, valid=test)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_query_without_weight_teaches_nothing(objective, split):
    train, test = split
    weights = np.ones(train.n_queries)
    weights[::2] = 0
    other = train.labels.copy()
    away = np.isin(train.query_index, np.flatnonzero(weights == 0))
    other[away] = other[away][::-1]
    one, two = (
        SymmetricTrees(objective, **SMALL).fit(data, query_weight=weights)
        for data in (train, train.replaced(relevance=other))
    )
    # Rows are shuffled by their content, labels included: only order and rounding differ.
    assert one.score(test) == pytest.approx(two.score(test), abs=0.05)
    full = SymmetricTrees(objective, **SMALL).fit(train)
    assert not np.array_equal(one.predict(test), full.predict(test))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_only_ratios_of_weights_matter(objective, split, rng):
    train, test = split
    weights = rng.integers(1, 9, train.n_queries).astype(float)
    one, two = (
        SymmetricTrees(objective, **SMALL).fit(train, query_weight=factor * weights)
        for factor in (1.0, 2.0**-80)
    )
    assert_array_equal(one.predict(test), two.predict(test))


def test_documents_without_weight_teach_nothing(split, rng):
    train, test = split
    misleading = rng.random(train.n_documents) < 0.6
    labels = np.where(misleading, 4.0 - train.labels, train.labels)
    ranker, wrong = SymmetricTrees(n_trees=50, depth=4), train.replaced(relevance=labels)
    weighted = ranker.fit(wrong, sample_weight=(~misleading).astype(float)).score(test)
    assert weighted > ranker.fit(wrong).score(test) + 0.2


@pytest.mark.parametrize("objective", ["yeti-rank", "pair-logit"])
def test_objectives_of_pairs_refuse_weights_of_documents(objective, split, rng):
    train, _ = split
    with pytest.raises(ValueError, match=f"objective is '{objective}'.* objective='query-rmse' t"):
        SymmetricTrees(objective).fit(train, sample_weight=rng.random(train.n_documents))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("change", [lambda y: y + 1e12, lambda y: y - 7, lambda y: 2.0**200 * y])
def test_labels_of_any_size_teach_the_same(objective, change, split):
    train, test = split
    moved = train.replaced(relevance=change(train.labels))
    one, two = (SymmetricTrees(objective, **SMALL).fit(data) for data in (train, moved))
    if objective == "yeti-rank" and change(1.0) == 2.0**200:
        # The weights of its pairs depend on the size of labels.
        assert two.score(test) > 0.6
    else:
        # The order of rows depends on labels, too.
        assert one.score(test) == pytest.approx(two.score(test), abs=0.03)


@pytest.mark.parametrize("scale", [1e300, 3e38, 1e-30])
def test_features_of_any_size_are_learned(scale, split):
    train, _ = split
    largest = np.abs(train.features).max()
    huge = train.replaced(features=train.features / largest * scale)
    assert SymmetricTrees(**SMALL).fit(huge).score(huge) > 0.5


def test_it_takes_missing_values(split, rng):
    train, test = split
    holes = [
        data.replaced(
            features=np.where(rng.random(data.features.shape) < 0.3, np.nan, data.features)
        )
        for data in (train, test)
    ]
    ranker = SymmetricTrees(n_trees=60, depth=4).fit(holes[0])
    assert ranker.score(holes[1]) > 0.6
    # What was never missing may be missing later.
    assert np.isfinite(SymmetricTrees(**SMALL).fit(train).predict(holes[1])).all()


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_features_without_a_difference_are_said(value):
    X = np.full((6, 2), value)
    X[:, 0] += 1e-12 * np.arange(6)
    ranker = SymmetricTrees(n_trees=3)
    with pytest.warns(UserWarning, match="nothing to split on.* In single precision, all"):
        ranker.fit(X, [0, 1, 0, 1, 0, 1], qid=[1, 1, 1, 2, 2, 2])
    assert ranker.n_trees_ == 0
    assert ranker.predict(X, qid=np.ones(6)).tolist() == [0.0] * 6


def test_one_tree_of_one_level_is_a_threshold():
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] >= 20).astype(int)
    ranker = SymmetricTrees(n_trees=1, depth=1, learning_rate=1.0).fit(X, y, qid=np.ones(40))
    assert repr(ranker.trees_) == "Trees: 1 trees of 2 to 2 leaves, 1 features"
    scores = ranker.predict(X, qid=np.ones(40))
    assert len(set(scores)) == 2
    assert ((scores > scores.mean()) == (y == 1)).mean() > 0.9


def test_it_writes_no_files(split, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    SymmetricTrees(**SMALL).fit(split[0], valid=split[1])
    assert list(tmp_path.iterdir()) == []


def test_it_is_silent(split, capfd):
    train, test = split
    for objective in OBJECTIVES:
        weights = np.arange(1.0, train.n_queries + 1)
        SymmetricTrees(objective, **SMALL).fit(train, query_weight=weights, valid=test)
    assert capfd.readouterr() == ("", "")


def test_models_are_trained_at_the_same_time(split):
    train, test = split
    expected = SymmetricTrees(**SMALL).fit(train).predict(test)
    results = {}

    def learn(number):
        results[number] = (
            SymmetricTrees(**SMALL).fit(train, valid=test).curve_,
            SymmetricTrees(**SMALL).fit(train).predict(test),
        )

    threads = [threading.Thread(target=learn, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for curve, scores in results.values():
        assert_array_equal(scores, expected)
        assert_array_equal(curve, results[0][0])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_contributions_sum_to_scores(objective, split):
    train, test = split
    ranker = SymmetricTrees(objective, **SMALL).fit(train)
    contributions = ranker.contributions(test)
    total = contributions.values.sum(axis=1) + contributions.base
    assert_allclose(total, ranker.predict(test), rtol=1e-9, atol=1e-12)
    assert ranker.feature_importances_.sum() == pytest.approx(1)


def test_the_booster_of_lightgbm_scores_the_same(split):
    train, test = split
    ranker = SymmetricTrees(**SMALL).fit(train)
    assert_array_equal(ranker.booster.predict(test.features), ranker.predict(test))
    # A new fit has a new one.
    ranker.fit(test)
    assert_array_equal(ranker.booster.predict(test.features), ranker.predict(test))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "rmse"}, "'objective' parameter .* 'query-rmse', 'yeti-rank'.* Got 'rmse'"),
        ({"depth": 17}, "'depth' parameter .* Got 17"),
        ({"learning_rate": 0}, "'learning_rate' parameter .* Got 0"),
        ({"feature_fraction": 1.5}, "'feature_fraction' parameter .* Got 1.5"),
        ({"l2": -1}, "'l2' parameter .* Got -1"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message, split):
    with pytest.raises(ValueError, match=message):
        SymmetricTrees(**parameters).fit(split[0])


WITHOUT = "import sys; sys.modules['catboost'] = None\n"
NEEDED = (
    "Training symmetric trees needs CatBoost. Install it with pip install 'localrank[symmetric]'."
)


def without_catboost(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_without_catboost_training_says_what_to_install():
    said = without_catboost(
        "import json\n"
        "from localrank.data import make_queries\n"
        "from localrank.rankers import SymmetricTrees\n"
        "try:\n"
        "    SymmetricTrees(3).fit(make_queries(20)[0])\n"
        "except ImportError as error:\n"
        "    print(json.dumps(str(error)))\n".replace("(3)", "(n_trees=3)")
    )
    assert said == NEEDED


def test_without_catboost_a_model_loads_scores_and_explains(split, tmp_path):
    train, test = split
    ranker = SymmetricTrees(**SMALL).fit(train)
    ranker.save(tmp_path / "model")
    np.save(tmp_path / "rows.npy", test.features[:20])
    said = without_catboost(
        "import json, numpy, localrank\n"
        "rows = numpy.load(sys.argv[2])\n"
        "model = localrank.load(sys.argv[1])\n"
        "scores = model.predict(rows, qid=[1] * 20)\n"
        "shares = model.contributions(rows, qid=[1] * 20).values.sum(axis=1)\n"
        "print(json.dumps([scores.tolist(), shares.tolist(), 'lightgbm' in sys.modules]))",
        tmp_path / "model",
        tmp_path / "rows.npy",
    )
    names = test.feature_names
    first = RankingDataset.from_arrays(test.features[:20], qid=np.ones(20), feature_names=names)
    assert_array_equal(said[0], localrank.load(tmp_path / "model").predict(first))
    assert_allclose(said[1], ranker.contributions(first).values.sum(axis=1))
    assert said[2] is False
