"""Which setting each fold chooses, and which model each row shows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import folds, make_queries
from localrank.evaluation import runner
from localrank.evaluation.runner import _size
from localrank.experiments import Setting, _tuned_methods
from localrank.experiments._peers import LIGHTGBM, SETTINGS, LightGBMPeer
from localrank.experiments._tuned_methods import N_SETTINGS, OURS, TREES, rankers, run_tuned
from localrank.experiments.recipe_members import WITH_CATBOOST
from localrank.measures import NDCG
from localrank.rankers import RankSVM
from localrank.recipes import best, fast, global_mixed, one

SEED = 1000
METHODS = [LIGHTGBM, "RankSVM", "fast"]
MEASURE = NDCG(10)
FEW_TREES = ({}, {"n_leaves": 3}, {"n_trees": 2}, {"min_leaf_documents": 5})


@pytest.fixture(scope="module")
def dataset():
    data, _ = make_queries(45, n_documents=(12, 20), n_features=6, random_state=5)
    return data


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    return Setting(tmp_path_factory.mktemp("data"), n_jobs=1, say=lambda line: None)


@pytest.fixture(scope="module")
def few_trees():
    """Few trees, so that a test is quick, and others in each setting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tuned_methods, "n_trees_of", lambda setting: 6)
        patch.setattr(_tuned_methods, "TREES", FEW_TREES)
        ours = {name: FEW_TREES if way is TREES else way for name, way in OURS.items()}
        patch.setattr(_tuned_methods, "OURS", ours)
        several = [(kind, 6 + 2 * i, o) for i, (kind, _, o) in enumerate(SETTINGS[LIGHTGBM])]
        patch.setitem(SETTINGS, LIGHTGBM, several)
        yield


def by_hand(name, place):
    """A setting of a method, made without the board's code."""
    if name == LIGHTGBM:
        _, n_trees, options = SETTINGS[LIGHTGBM][place]
        return LightGBMPeer(n_trees, options, random_state=SEED)
    if name == "RankSVM":
        return RankSVM([1.0, 0.01, 0.1, 10.0][place])
    options = {"n_trees": 6} | [{}, {"n_leaves": 3}, {"n_trees": 2}, {"min_leaf_documents": 5}][
        place
    ]
    return fast(random_state=SEED, **options)


def expected(parts, judges_of):
    """The chosen settings, and scores of default and tuned models, fold by fold."""
    result = {}
    for name in METHODS:
        places, default, tuned = [], [], []
        for fold in parts:
            teach, judges = judges_of(fold)
            means = [
                np.nanmean(MEASURE(judges, by_hand(name, place).fit(teach).predict(judges)))
                for place in range(N_SETTINGS)
            ]
            places.append(int(np.argmax(means)))
            default.append(by_hand(name, 0).fit(fold.train).predict(fold.test))
            tuned.append(by_hand(name, places[-1]).fit(fold.train).predict(fold.test))
        result[name] = places, np.concatenate(default), np.concatenate(tuned)
    return result


def drawn(fold):
    """A quarter of the training queries, drawn by the seed."""
    n_queries = fold.train.n_queries
    chosen = np.random.default_rng(SEED).permutation(n_queries)[: round(n_queries / 4)]
    held_out = np.isin(np.arange(n_queries), chosen)
    return fold.train.select(~held_out), fold.train.select(held_out)


@pytest.fixture(scope="module", params=["validation part", "no validation part"])
def case(request, dataset, setting, few_trees):
    validation = request.param == "validation part"
    parts = list(folds(dataset, 5, validation=validation, random_state=0))
    judges = (lambda fold: (fold.train, fold.valid)) if validation else drawn
    return SimpleNamespace(
        parts=parts,
        chosen=run_tuned(setting, METHODS, parts, SEED, "kind"),
        expected=expected(parts, judges),
    )


def test_each_fold_chooses_by_the_queries_that_are_not_tested(case):
    for name, (places, _, _) in case.expected.items():
        assert case.chosen.places[name] == places
    # Otherwise nothing would tell default and tuned rows apart.
    assert all(set(places) != {0} for places, _, _ in case.expected.values())


def test_rows_are_the_scores_of_the_default_and_of_the_chosen_models(case):
    for name, (_, default, tuned) in case.expected.items():
        assert_allclose(case.chosen.default[name].scores, default, rtol=1e-6, atol=1e-9)
        assert_allclose(case.chosen.tuned[name].scores, tuned, rtol=1e-6, atol=1e-9)
        test = case.chosen.tuned[name].test
        assert_array_equal(test.labels, np.concatenate([f.test.labels for f in case.parts]))
        assert_array_equal(test.query_ids, np.concatenate([f.test.query_ids for f in case.parts]))


def test_a_file_is_that_of_the_row(case):
    for name in (LIGHTGBM, "RankSVM"):
        places = case.expected[name][0]
        for number, (fold, place) in enumerate(zip(case.parts, places, strict=True)):
            for result, i in ((case.chosen.default, 0), (case.chosen.tuned, place)):
                size = _size(by_hand(name, i).fit(fold.train))
                # Dates and names of settings take a few bytes.
                assert result[name].runs[number].model_bytes == pytest.approx(size, rel=0.02)


@pytest.mark.parametrize("validation", [True, False])
def test_test_labels_are_for_scoring_alone(dataset, setting, few_trees, validation):
    parts = list(folds(dataset, 5, validation=validation, random_state=0))[:2]
    swapped = [
        replace(fold, test=fold.test.replaced(relevance=fold.test.labels.max() - fold.test.labels))
        for fold in parts
    ]
    ours, theirs = (run_tuned(setting, METHODS, some, SEED, "kind") for some in (parts, swapped))
    assert ours.places == theirs.places
    for name in METHODS:
        assert_array_equal(ours.tuned[name].scores, theirs.tuned[name].scores)
        assert ours.tuned[name].mean("ndcg@10") != theirs.tuned[name].mean("ndcg@10")


class Timed(RankSVM):
    """Takes as many seconds to train as its C says, and a hundredth for a document to score."""

    clock = 0.0

    def _fit(self, *arguments):
        super()._fit(*arguments)
        Timed.clock += self.C

    def predict(self, X, *, qid=None):
        Timed.clock += self.C * X.n_documents / 100
        return super().predict(X, qid=qid)


@pytest.mark.parametrize("validation", [True, False])
def test_seconds_are_those_of_the_row(dataset, setting, monkeypatch, validation):
    costs = {"slow": [8.0, 16.0, 32.0, 64.0], "quick": [0.5, 1.0, 2.0, 4.0]}

    def timed(setting, seed, names):
        return {(name, i): Timed(C) for name in names for i, C in enumerate(costs[name])}

    monkeypatch.setattr(_tuned_methods, "rankers", timed)
    monkeypatch.setattr(runner, "cpu_seconds", lambda: Timed.clock)
    clock = SimpleNamespace(perf_counter=lambda: Timed.clock)
    monkeypatch.setattr(runner, "time", clock)
    parts = list(folds(dataset, 5, validation=validation, random_state=0))[:3]
    chosen = run_tuned(setting, list(costs), parts, SEED, "kind")
    for name, of_settings in costs.items():
        places = chosen.places[name]
        for results, expected_places in ((chosen.default, [0] * 3), (chosen.tuned, places)):
            for run, place, fold in zip(results[name].runs, expected_places, parts, strict=True):
                cost = of_settings[place]
                assert run.train_cpu_seconds == pytest.approx(cost)
                assert run.predict_seconds == pytest.approx(cost * fold.test.n_documents / 100)


def test_recipes_are_those_of_the_package_in_every_setting(dataset, setting, few_trees):
    names = ["best", "6 mixed", WITH_CATBOOST, "one"]
    parts = list(folds(dataset, 5, random_state=0))[:1]
    train, test = parts[0].train, parts[0].test
    trial = _tuned_methods._trial(parts[0], SEED)
    ran = _tuned_methods._run(setting, rankers(setting, SEED, names), [trial], "kind", names)
    for place, few in enumerate(FEW_TREES):
        options = {"n_trees": 6, **few}
        recipes = {
            "best": best(random_state=SEED, **options),
            "6 mixed": global_mixed(6, random_state=SEED, **options),
        }
        if place == 0:
            mixed = global_mixed(6, symmetric=True, random_state=SEED, **options)
            recipes |= {"one": one(random_state=SEED, **options), WITH_CATBOOST: mixed}
        for name, recipe in recipes.items():
            scores = ran[name, place].scores[-test.n_documents :]
            assert_allclose(scores, recipe.fit(train).predict(test), rtol=0, atol=1e-9)


def test_finished_work_is_not_done_again(dataset, few_trees, tmp_path):
    lines = []
    keeping = Setting(tmp_path, n_jobs=1, store=tmp_path, say=lines.append)
    parts = list(folds(dataset, 5, validation=False, random_state=0))[:2]
    first, again = (run_tuned(keeping, ["RankSVM"], parts, SEED, "kind") for _ in range(2))
    n_chosen = sum(place != 0 for place in first.places["RankSVM"])
    assert sum("trained" in line for line in lines) == 2 * (N_SETTINGS + 1) + n_chosen
    assert first.places == again.places
    assert_array_equal(first.tuned["RankSVM"].scores, again.tuned["RankSVM"].scores)
