import time
import tracemalloc
import weakref
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from rearranged import rearranged
from recorder import Recorder
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from localrank.data import _sources as sources
from localrank.data import folds, make_queries
from localrank.evaluation import clairvoyant_bound, paired_test, runner, tune
from localrank.evaluation.fold_results import FoldResult
from localrank.evaluation.query_groups import group_map
from localrank.evaluation.runner import WARM_TEST, WARM_TRAIN, MethodResult, run
from localrank.measures import NDCG, AveragePrecision, parse_measure
from localrank.rankers import (
    LGMML,
    BestFeature,
    Ensemble,
    LambdaMART,
    Quadratic,
    Ranker,
    RankSVM,
)
from localrank.recipes import local_rank, query_neighbours


class Timed(Ranker):
    """Takes long for the first fit of all, as what is compiled does, and a tick for others."""

    first = True

    def __init__(self, tick=0.02, long=1.0):
        self.tick = tick
        self.long = long

    def _fit(self, dataset, query_weights, valid):
        time.sleep(self.long if Timed.first else self.tick)
        Timed.first = False

    def _predict(self, dataset):
        time.sleep(self.tick)
        return dataset.features[:, 0]


@pytest.fixture(scope="module")
def parts():
    dataset, _ = make_queries(120, n_documents=(6, 15), n_features=8, separation=1, random_state=2)
    return list(folds(dataset, 3))


def real_fits(seen, parts):
    """What was fitted on whole training parts, without the warm-up."""
    wholes = [fold.train.query_ids.tolist() for fold in parts]
    return [fit for fit in seen if fit[0].query_ids.tolist() in wholes]


@pytest.fixture(scope="module")
def methods():
    return {
        "rank-svm": RankSVM(),
        "trees": LambdaMART(20, min_leaf_documents=5, patience=3),
        "local": local_rank(3, ranker=RankSVM()),
    }


@pytest.mark.parametrize("valid", [True, False])
def test_the_runner_does_what_a_plain_loop_does(parts, methods, valid):
    results = run(methods, iter(parts), valid=valid)
    assert list(results) == list(methods)
    for name, ranker in methods.items():
        scores, values = [], []
        for fold in parts:
            model = clone(ranker).fit(fold.train, valid=fold.valid if valid else None)
            scores.append(model.predict(fold.test))
            values.append(AveragePrecision()(fold.test, scores[-1]))
        result = results[name]
        assert_array_equal(result.scores, np.concatenate(scores))
        assert_array_equal(result.values("map"), np.concatenate(values))
        assert result.mean("map") == np.concatenate(values).mean()
        means = [column.mean() for column in values]
        assert list(result.fold_means("map").values()) == pytest.approx(means)
        assert not any(attribute.endswith("_") for attribute in vars(ranker))


def test_values_are_of_the_measure_with_its_convention_and_computed_once(parts):
    result = run({"a": BestFeature()}, parts)["a"]
    strict = parse_measure("map", convention="letor3")
    assert_array_equal(result.values(strict), strict(result.test, result.scores))
    assert result.values("ndcg@10") is result.values(NDCG(10))


def test_scattered_rows_are_scored_query_by_query(parts):
    fold = parts[0]
    order = np.random.default_rng(0).permutation(fold.test.n_documents)
    mixed = rearranged(fold.test, order)
    plain = run({"a": RankSVM()}, [fold])["a"]
    scattered = run({"a": RankSVM()}, [type(fold)("x", fold.train, fold.valid, mixed)])["a"]
    assert scattered.mean("ndcg@10") == pytest.approx(plain.mean("ndcg@10"))


@pytest.mark.parametrize("valid", [True, False])
def test_a_tuned_method_is_fitted_once_more_than_it_was_tried(parts, seen, valid):
    grid = {"rank": [1, 2, 3]}

    class Ranked(Recorder):
        def __init__(self, rank=1, n_jobs=None):
            super().__init__(n_jobs)
            self.rank = rank

    results = run({"a": Ranked()}, parts[:1], grids={"a": grid}, valid=valid, n_jobs=2)
    fits = real_fits(seen, parts)
    assert [(fit[2] is not None, fit[3]) for fit in fits] == [(False, 1)] * 3 + [(valid, 2)]
    assert results["a"].chosen == ["rank=1"]
    assert [row["rank"] for row in results["a"].runs[0].path] == [1, 2, 3]


def test_tuning_chooses_in_each_fold_by_its_validation_queries(parts):
    grid = {"C": [1e-4, 1.0]}
    results = run({"a": RankSVM()}, parts, grids={"a": grid}, measure="map")
    for fold, result in zip(parts, results["a"].runs, strict=True):
        tuning = tune(RankSVM(), grid, fold.train, 3, "map", valid=fold.valid)
        assert result.chosen == tuning.best_parameters
        assert result.path == tuning.rows
        assert_array_equal(result.scores, tuning.best_estimator.predict(fold.test))


def test_without_a_validation_part_tuning_cross_validates(parts):
    fold = type(parts[0])("x", parts[0].train, None, parts[0].test)
    result = run({"a": RankSVM()}, [fold], grids={"a": {"C": [1e-4, 1.0]}})["a"].runs[0]
    assert result.path == tune(RankSVM(), {"C": [1e-4, 1.0]}, fold.train, 3, "ndcg@10").rows


def test_a_fold_is_let_go_before_the_next_is_asked_for(parts):
    given = []

    def copies():
        for fold in parts:
            assert not [one for one in given if one() is not None]
            copy = replace(fold)
            given.append(weakref.ref(copy))
            yield copy
            del copy

    result = run({"a": BestFeature()}, copies())["a"]
    assert len(given) == 3
    assert result.test.n_features == 0


def test_methods_on_folds_need_the_data_and_one_copy_of_a_training_part(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_BYTES", 2**18)
    monkeypatch.setattr(Timed, "first", False)
    dataset, _ = make_queries(250, n_documents=(10, 10), n_features=1000)
    made = folds(dataset, 5)
    run({"a": Timed(0)}, made)
    tracemalloc.start()
    run({"a": Timed(0), "b": Timed(0)}, made)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Three of five parts train, one validates; the rest is for labels, scores and blocks.
    assert peak < 0.9 * dataset.features.nbytes


def test_what_is_compiled_at_the_first_fit_is_not_timed(parts):
    Timed.first = True
    result = run({"a": Timed()}, parts[:2])["a"]
    assert 0.04 <= result.train_seconds < 0.5
    assert result.milliseconds_per_query < 500 / result.test.n_queries


def test_the_winner_of_a_tuning_is_timed_alone(parts):
    Timed.first = False
    grid = {"tick": [0.05, 0.06, 0.07]}
    result = run({"a": Timed()}, parts[:1], grids={"a": grid})["a"]
    assert 0.05 <= result.train_seconds < 0.12
    assert result.train_cpu_seconds < 0.04  # it sleeps


def test_a_short_scoring_is_timed_again_and_the_shortest_time_counts(parts):
    class Disturbed(Timed):
        waits = iter([0.0, 0.2, 0.01, 0.2, 0.6, 0.0])

        def _predict(self, dataset):
            time.sleep(next(self.waits))
            return dataset.features[:, 0]

    Timed.first = False
    short, long = run({"a": Disturbed()}, parts[:2])["a"].runs
    assert 0.01 <= short.predict_seconds < 0.2
    assert 0.6 <= long.predict_seconds < 1.0
    assert next(Disturbed.waits) == 0.0


def test_cpu_seconds_count_work_and_not_waiting(parts):
    class Busy(Timed):
        def _fit(self, dataset, query_weights, valid):
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass

    result = run({"a": Busy()}, parts[:2])["a"]
    assert result.train_cpu_seconds >= 0.2


def test_linear_algebra_has_one_thread(parts):
    class Asking(Timed):
        threads: ClassVar[list] = []

        def _predict(self, dataset):
            pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
            self.threads.append(max(pool["num_threads"] for pool in pools))
            return dataset.features[:, 0]

    with threadpool_limits(2, user_api="blas"):
        run({"a": Asking(0.0, 0.0)}, parts[:1], n_jobs=2)
    _, *timed = Asking.threads  # the first is the warm-up
    assert set(timed) == {1}


def test_the_warm_up_is_small_and_once_for_each_method(parts, seen):
    run({"a": Recorder(), "b": Recorder()}, parts)
    assert len(seen) == len(real_fits(seen, parts)) + 2
    for small, _, valid, _ in [seen[0], seen[2]]:
        assert small.n_queries == WARM_TRAIN > WARM_TEST
        assert valid.n_queries <= WARM_TRAIN


def test_the_warm_up_has_few_metrics(parts, monkeypatch):
    sizes, fit = [], LGMML._fit
    monkeypatch.setattr(
        LGMML, "_fit", lambda self, *a: sizes.append(self.n_metrics) or fit(self, *a)
    )
    run({"metrics": LGMML(20)}, parts[:1])
    assert sizes == [5, 20]


def test_a_failing_warm_up_does_not_matter(parts):
    class Large(Recorder):
        def _fit(self, dataset, query_weights, valid):
            if dataset.n_queries <= WARM_TRAIN:
                raise ValueError("too few queries")

    result = run({"a": Large()}, parts[:1])["a"]
    assert_array_equal(result.scores, parts[0].test.features[:, 0])


def test_every_method_gets_the_jobs(parts, seen):
    ranker = Recorder(n_jobs=7)
    run({"a": ranker}, parts[:1], n_jobs=2)
    assert [fit[3] for fit in real_fits(seen, parts)] == [2]
    assert ranker.n_jobs == 7


def test_the_number_of_jobs_changes_nothing(parts, methods):
    one, two = (run(methods, parts[:1], n_jobs=jobs) for jobs in (1, 2))
    for name in methods:
        assert_array_equal(one[name].scores, two[name].scores)


def test_models_are_shown_right_after_they_are_scored(parts):
    shown = []

    def inspect(name, fold, model):
        shown.append((name, fold.name, model.predict(fold.test)))

    results = run({"a": RankSVM(), "b": BestFeature()}, parts[:2], inspect=inspect)
    assert [one[:2] for one in shown] == [
        (name, fold) for fold in ("Fold1", "Fold2") for name in ("a", "b")
    ]
    assert_array_equal(results["b"].runs[1].scores, shown[3][2])


def test_models_are_counted_and_weighed(parts):
    methods = {"two": Ensemble([RankSVM(0.1), RankSVM()]), "one": RankSVM()}
    results = run(methods, parts[:2])
    assert [result.n_models for result in results.values()] == [2, 1]
    assert results["two"].model_bytes > results["one"].model_bytes > 1000


def test_models_are_counted_through_wrappers(parts):
    train = parts[0].train
    assert RankSVM().fit(train).n_models_ == 1
    assert Quadratic(Ensemble([RankSVM(), RankSVM()])).fit(train).n_models_ == 2
    assert local_rank(3, ranker=Ensemble([RankSVM()] * 2)).fit(train).n_models_ == 6
    neighbours = query_neighbours(3).fit(train)
    assert neighbours.n_models_ == neighbours.n_groups_ > 20


def test_groups_maps_and_bounds_are_those_of_the_trained_model(parts):
    ranker = local_rank(3, ranker=RankSVM())
    results = run({"local": ranker, "one": RankSVM()}, parts[:2], n_controls=2, measure="map")
    fold, result = parts[1], results["local"].runs[1]
    model = clone(ranker).fit(fold.train)
    weights = model.selector_.weights(fold.test, model.models_)
    assert_array_equal(result.groups, weights.argmax(axis=1))
    assert result.map == group_map(model, fold.train)
    bound = clairvoyant_bound(model, fold.train, fold.test, "map", n_controls=2)
    assert_array_equal(result.bound.values, bound.values)
    assert_array_equal(result.bound.control, bound.control)
    plain = results["one"].runs[1]
    assert (plain.groups.size, plain.map, plain.bound) == (0, None, None)


def test_only_a_few_groups_and_more_than_one_have_a_bound(parts):
    methods = {str(n): local_rank(n, ranker=RankSVM()) for n in (1, 2, 20, 21)}
    results = run(methods, parts[:1], n_controls=1)
    assert [result.n_models for result in results.values()] == [1, 2, 20, 21]
    assert [n for n, result in results.items() if result.runs[0].bound] == ["2", "20"]
    assert [n for n, result in results.items() if result.runs[0].map] == ["1", "2", "20"]


def test_without_controls_there_is_no_bound(parts):
    assert run({"a": local_rank(2, ranker=RankSVM())}, parts[:1])["a"].runs[0].bound is None


def test_a_failure_is_raised_or_noted_by_name(parts):
    methods = {"broken": RankSVM(-1.0), "whole": RankSVM()}
    with pytest.raises(ValueError, match="The 'C' parameter"):
        run(methods, parts)
    lines = []
    results = run(methods, parts, keep_failures=True, say=lines.append)
    assert results["broken"].failed.startswith("ValueError: The 'C' parameter of RankSVM")
    assert results["whole"].failed is None
    assert results["whole"].scores.size == sum(fold.test.n_documents for fold in parts)
    assert [line.split(" in ")[0].split(": The")[0] for line in lines[:2]] == [
        "Fold1: broken failed: ValueError",
        "Fold1: whole trained",
    ]


def test_what_is_stored_is_not_done_again_and_is_the_same(parts, tmp_path, seen):
    methods = {"a": Recorder(), "local": local_rank(2, ranker=RankSVM())}
    options = {"grids": {"local": {"ranker__C": [0.1, 1.0]}}, "n_controls": 2, "store": tmp_path}
    first = run(methods, parts[:2], **options)
    n_fits = len(seen)
    again = run(methods, parts, **options)
    assert len(seen) == n_fits + 2  # the warm-up and the third fold
    for before, after in zip(first["local"].runs, again["local"].runs, strict=False):
        assert_array_equal(before.scores, after.scores)
        assert_array_equal(before.groups, after.groups)
        assert_array_equal(before.bound.control, after.bound.control)
        assert_array_equal(before.bound.values, after.bound.values)
        assert before.bound.measure == after.bound.measure
        for fact in ("fold", "map", "chosen", "path", "n_models", "model_bytes", "train_seconds"):
            assert getattr(before, fact) == getattr(after, fact)


@pytest.mark.parametrize(
    "change",
    [{"valid": False}, {"n_controls": 1}, {"measure": "map"}, {"grids": {"a": {"C": [1.0]}}}],
)
def test_what_is_asked_otherwise_is_done_again(parts, tmp_path, change):
    lines = []
    for changed in ({}, {}, change):
        run({"a": RankSVM()}, parts[:1], store=tmp_path, say=lines.append, **changed)
    assert len(lines) == 2


def test_stored_runs_are_not_inspected(parts, tmp_path):
    shown = []
    for _ in range(2):
        run({"a": RankSVM()}, parts[:1], store=tmp_path, inspect=lambda *given: shown.append(given))
    assert len(shown) == 1


def test_costs_add_up_over_folds():
    test, _ = make_queries(10)
    nothing = np.empty(0), np.empty(0, dtype=np.int64)
    runs = [
        FoldResult("Fold1", *nothing, 1.0, 2.0, 0.25, n_models=3, model_bytes=10),
        FoldResult("Fold2", *nothing, 0.5, 4.0, 0.75, n_models=2, model_bytes=20),
    ]
    result = MethodResult("a", runs, test, [])
    assert (result.train_seconds, result.train_cpu_seconds) == (1.5, 6.0)
    assert (result.milliseconds_per_query, result.n_models, result.model_bytes) == (100.0, 3, 15)


def test_what_other_versions_of_libraries_left_is_done_again(parts, tmp_path, monkeypatch):
    told = []
    for version in ("1.0", "1.0", "2.0"):
        monkeypatch.setattr(runner, "library_versions", lambda version=version: {"numpy": version})
        run({"one": RankSVM()}, parts[:1], store=tmp_path, say=told.append)
    assert len(told) == 2


def test_a_paired_test_counts_an_improvement_as_a_gain(parts):
    results = run({"svm": RankSVM(), "feature": BestFeature()}, parts)
    svm, feature = results["svm"], results["feature"]
    for measure, sign in (("map", 1), ("oer", -1)):
        expected = paired_test(sign * svm.values(measure), sign * feature.values(measure))
        assert svm.against(feature, measure) == expected
        assert expected.mean_difference > 0
