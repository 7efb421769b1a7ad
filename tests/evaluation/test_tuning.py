from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid

from localrank.data import RankingDataset, folds
from localrank.evaluation.tuning import tune
from localrank.measures import NDCG, parse_measure
from localrank.rankers import LGMML, BestFeature, LambdaMART, Quadratic, RankBoost, RankSVM, SVMMap
from localrank.rankers.base import Ranker


class Recorder(Ranker):
    """Ranks by one feature; keeps the queries it saw, and fails where it is told to."""

    seen: ClassVar[list] = []

    def __init__(self, feature=0, sign=1, fail=None):
        self.feature = feature
        self.sign = sign
        self.fail = fail

    def _fit(self, dataset, query_weights, valid):
        if self.fail is not None:
            raise self.fail
        self.trained_ = set(dataset.query_ids.tolist())

    def _predict(self, dataset):
        Recorder.seen.append((self.feature, self.trained_, set(dataset.query_ids.tolist())))
        return self.sign * dataset.features[:, self.feature]


@pytest.fixture
def seen():
    Recorder.seen = []
    return Recorder.seen


def by_hand(estimator, grid, dataset, n_folds, measure, random_state=0):
    """Value of each query under each combination, by query id."""
    table = []
    for parameters in ParameterGrid(grid):
        values = {}
        for fold in folds(dataset, n_folds, validation=False, random_state=random_state):
            model = clone(estimator).set_params(**parameters).fit(fold.train)
            of_fold = measure(fold.test, model.predict(fold.test))
            values |= dict(zip(fold.test.query_ids.tolist(), of_fold, strict=True))
        table.append([values[query] for query in dataset.query_ids.tolist()])
    return np.array(table)


GRIDS = [
    (RankBoost(), {"n_rounds": [2, 10], "n_thresholds": [3, 50]}),
    (Quadratic(RankBoost(5)), {"ranker__n_rounds": [1, 5]}),
    (BestFeature(), [{"measure": ["map", "ndcg@3"]}, {"both_directions": [True]}]),
]


@pytest.mark.parametrize(("estimator", "grid"), GRIDS)
def test_values_equal_those_of_a_plain_loop_over_combinations_and_folds(queries, estimator, grid):
    tuning = tune(estimator, grid, queries, folds=3, measure="map", random_state=4)
    expected = by_hand(estimator, grid, queries, 3, parse_measure("map"), random_state=4)
    assert [trial.parameters for trial in tuning.path] == list(ParameterGrid(grid))
    assert_array_equal([trial.values for trial in tuning.path], expected)
    assert_allclose([trial.mean for trial in tuning.path], expected.mean(axis=1))
    errors = expected.std(axis=1, ddof=1) / np.sqrt(60)
    assert_allclose([trial.standard_error for trial in tuning.path], errors)
    assert tuning.best_parameters == ParameterGrid(grid)[int(expected.mean(axis=1).argmax())]


def test_every_query_is_scored_once_per_combination_and_never_by_a_model_that_saw_it(queries, seen):
    tune(Recorder(), {"feature": [0, 3]}, queries, folds=7)
    assert all(not trained & scored for _, trained, scored in seen)
    assert all(len(trained | scored) == 60 for _, trained, scored in seen)
    for feature in (0, 3):
        scored = [query for f, _, queries_ in seen if f == feature for query in queries_]
        assert sorted(scored) == sorted(queries.query_ids.tolist())
    cuts = [
        {frozenset(scored) for f, _, scored in seen if f == feature and len(scored) < 60}
        for feature in (0, 3)
    ]
    assert cuts[0] == cuts[1]
    assert len(cuts[0]) == 7


def test_the_seed_decides_the_folds(queries, seen):
    cuts = []
    for seed in (0, 0, 1):
        seen.clear()
        tune(Recorder(), {"feature": [0]}, queries, folds=3, random_state=seed)
        cuts.append({frozenset(scored) for _, _, scored in seen})
    assert cuts[0] == cuts[1] != cuts[2]


def test_as_many_folds_as_queries_leave_one_out(queries, seen):
    few = queries.select(range(6))
    tuning = tune(Recorder(), {"feature": [1]}, few, folds=6)
    assert [len(scored) for _, _, scored in seen] == [1] * 6
    assert_array_equal(tuning.path[0].values, NDCG(10)(few, few.features[:, 1]))


def test_scattered_rows_are_scored_as_contiguous_ones(queries, rng):
    order = rng.permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    one, other = (tune(Recorder(), {"feature": [2]}, data, folds=3) for data in (queries, mixed))
    values = dict(zip(mixed.query_ids.tolist(), other.path[0].values, strict=True))
    assert_array_equal([values[query] for query in queries.query_ids], one.path[0].values)


def test_the_best_estimator_is_fitted_on_all_queries_and_the_given_one_stays(queries):
    estimator = RankBoost()
    tuning = tune(estimator, {"n_rounds": [1, 20]}, queries, folds=3)
    assert tuning.best_parameters == {"n_rounds": 20}
    expected = RankBoost(20).fit(queries)
    assert_array_equal(tuning.best_estimator.predict(queries), expected.predict(queries))
    assert estimator.n_rounds == 300
    with pytest.raises(NotFittedError):
        estimator.predict(queries)


@pytest.mark.parametrize("measure", ["ndcg@10", "oer"])
def test_the_better_end_of_the_measure_wins(queries, measure):
    tuning = tune(Recorder(), {"sign": [1, -1]}, queries, folds=2, measure=measure)
    measure = parse_measure(measure)
    means = [measure.mean(queries, sign * queries.features[:, 0]) for sign in (1, -1)]
    assert means[0] != means[1]
    assert_allclose([trial.mean for trial in tuning.path], means)
    choose = np.argmax if measure.higher_is_better else np.argmin
    assert tuning.best_index == choose(means)
    assert tuning.best_parameters == {"sign": [1, -1][choose(means)]}


def test_of_equal_combinations_the_first_wins(queries):
    tuning = tune(Recorder(), {"sign": [3, 1, 2], "feature": [1]}, queries, folds=2)
    assert tuning.best_parameters == {"sign": 3, "feature": 1}


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [(RankBoost(), {"n_rounds": [2, 10]}), (RankSVM(), {"C": [0.1, 1], "loss": ["hinge"]})],
)
def test_the_number_of_jobs_does_not_matter(queries, estimator, grid):
    one, two = (tune(estimator, grid, queries, folds=3, n_jobs=n) for n in (1, 2))
    for mine, other in zip(one.path, two.path, strict=True):
        assert_array_equal(mine.values, other.values)
    assert one.best_parameters == two.best_parameters


def test_estimators_work_with_one_thread_until_the_last_fit(queries, monkeypatch):
    threads = []
    fit = LambdaMART.fit
    monkeypatch.setattr(
        LambdaMART, "fit", lambda s, *a, **k: (threads.append(s.n_jobs), fit(s, *a, **k))[1]
    )
    inner = LambdaMART(3, min_leaf_documents=5, n_jobs=2)
    tuning = tune(inner, {"n_leaves": [3, 5]}, queries, folds=2)
    assert threads == [1, 1, 1, 1, 2]
    assert tuning.best_estimator.n_jobs == 2


def test_validation_queries_replace_the_folds(queries, seen):
    train, valid = queries.select(range(40)), queries.select(range(40, 60))
    tuning = tune(Recorder(), {"feature": [0, 1, 2]}, train, measure="map", valid=valid)
    assert [len(trained) for _, trained, _ in seen] == [40, 40, 40]
    for feature, trial in enumerate(tuning.path):
        expected = parse_measure("map")(valid, valid.features[:, feature])
        assert_array_equal(trial.values, expected)
    assert tuning.best_index == np.argmax([trial.mean for trial in tuning.path])
    assert tuning.best_estimator.trained_ == set(train.query_ids.tolist())


def test_skipped_queries_are_nan_and_left_out_of_the_mean(queries):
    labels = queries.relevance.copy()
    labels[: queries.offsets[10]] = 0
    dataset = RankingDataset.from_arrays(queries.features, labels, queries.query_index)
    trial = tune(Recorder(), {"feature": [0]}, dataset, 4, "mrr(empty=skip)").path[0]
    skipped = np.maximum.reduceat(labels, queries.offsets[:-1]) == 0
    assert_array_equal(np.isnan(trial.values), skipped)
    assert_allclose(trial.mean, trial.values[~skipped].mean())
    error = trial.values[~skipped].std(ddof=1) / np.sqrt(np.sum(~skipped))
    assert_allclose(trial.standard_error, error)


class WithoutPath:
    fit_path = property()


class PlainRankSVM(WithoutPath, RankSVM):
    pass


class PlainSVMMap(WithoutPath, SVMMap):
    pass


@pytest.mark.parametrize(("kind", "plain"), [(RankSVM, PlainRankSVM), (SVMMap, PlainSVMMap)])
def test_a_path_chooses_as_separate_fits_do(queries, kind, plain, monkeypatch):
    calls = []
    fit_path = kind.fit_path
    monkeypatch.setattr(
        kind, "fit_path", lambda s, d, *, Cs: (calls.append(Cs), fit_path(s, d, Cs=Cs))[1]
    )
    grid = {"C": [10.0, 0.001, 0.1], "scaling": ["standard", "query"]}
    # Both ways end anywhere within the tolerance: close enough for the same rankings.
    quick = tune(kind(tol=1e-7), grid, queries, folds=3)
    assert calls == [[10.0, 0.001, 0.1]] * 6
    slow = tune(plain(tol=1e-7), grid, queries, folds=3)
    assert len(calls) == 6
    assert [trial.parameters for trial in quick.path] == list(ParameterGrid(grid))
    for one, other in zip(quick.path, slow.path, strict=True):
        assert_allclose(one.values, other.values, rtol=1e-9)
    assert len({round(trial.mean, 6) for trial in quick.path}) > 3
    assert quick.best_parameters == slow.best_parameters
    expected = kind(tol=1e-7, **quick.best_parameters)
    assert quick.best_estimator.get_params() == expected.get_params()


class PlainLGMML(WithoutPath, LGMML):
    pass


def test_a_path_of_two_parameters_chooses_as_separate_fits_do(queries, monkeypatch):
    calls = []
    fit_path = LGMML.fit_path
    monkeypatch.setattr(
        LGMML, "fit_path", lambda s, d, **along: (calls.append(along), fit_path(s, d, **along))[1]
    )
    grid = [{"margin": [0.001, 10.0], "step": [0.1], "n_metrics": [3, 6]}, {"step": [0.1, 3.0]}]
    quick = tune(LGMML(3, n_iterations=100), grid, queries, folds=2)
    pairs = {"margins": [0.001, 10.0], "steps": [0.1, 0.1]}
    others = {"margins": [0.1, 0.1], "steps": [0.1, 3.0]}
    assert calls == [pairs, pairs] * 2 + [others] * 2
    slow = tune(PlainLGMML(3, n_iterations=100), grid, queries, folds=2)
    assert len(calls) == 6
    for one, other in zip(quick.path, slow.path, strict=True):
        assert one.parameters == other.parameters
        assert_array_equal(one.values, other.values)
    assert len({trial.mean for trial in quick.path}) > 3
    assert quick.best_parameters == slow.best_parameters


def test_a_parameter_of_a_wrapped_ranker_is_tuned_without_a_path(queries):
    grid = {"ranker__C": [0.001, 1.0]}
    tuning = tune(Quadratic(RankSVM()), grid, queries, folds=2)
    expected = by_hand(Quadratic(RankSVM()), grid, queries, 2, NDCG(10))
    assert_allclose([trial.mean for trial in tuning.path], expected.mean(axis=1))


def test_a_part_and_its_own_parameters_may_be_tuned_together(queries):
    parts = [RankBoost(3), RankBoost(3, n_thresholds=4)]
    grid = {"ranker": parts, "ranker__n_rounds": [1, 8]}
    tuning = tune(Quadratic(BestFeature()), grid, queries, folds=2)
    assert len({trial.mean for trial in tuning.path}) == 4
    assert [part.n_rounds for part in parts] == [3, 3]


def test_the_table_has_a_row_per_combination(queries):
    tuning = tune(Recorder(), {"feature": [0, 1], "sign": [1, -1]}, queries, folds=2)
    frame = tuning.to_frame("pandas")
    assert frame.columns.tolist() == ["feature", "sign", "mean", "standard_error", "best"]
    assert frame["best"].sum() == 1
    assert frame.loc[frame["mean"].idxmax(), "best"]
    assert_array_equal(frame["mean"], [trial.mean for trial in tuning.path])


def test_the_plot_has_a_curve_for_each_choice_of_the_other_parameters(queries):
    tuning = tune(Recorder(), {"feature": [2, 0, 1], "sign": [1, -1]}, queries, folds=2)
    (axes,) = tuning.plot().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("feature", "mean ndcg@10")
    means = {tuple(trial.parameters.values()): trial.mean for trial in tuning.path}
    assert [line.get_label() for line in axes.lines] == ["sign=1", "sign=-1"]
    for line, sign in zip(axes.lines, (1, -1), strict=True):
        assert_array_equal(line.get_xdata(), [0, 1, 2])
        assert_array_equal(line.get_ydata(), [means[feature, sign] for feature in range(3)])


def test_the_plot_has_bars_where_no_parameter_is_a_number(queries):
    tuning = tune(Quadratic(BestFeature()), {"ranker": [BestFeature(), RankSVM()]}, queries, 2)
    (axes,) = tuning.plot().axes
    assert [bar.get_height() for bar in axes.patches] == [trial.mean for trial in tuning.path]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["ranker=BestFeature()", "ranker=RankSVM()"]


@pytest.mark.parametrize(("values", "scale"), [([0.01, 1.0], "log"), ([1.0, 2.0], "linear")])
def test_widely_spread_values_have_a_logarithmic_axis(queries, values, scale):
    tuning = tune(RankSVM(), {"C": values}, queries, folds=2)
    assert tuning.plot().axes[0].get_xscale() == scale


def test_its_text_lists_the_combinations_and_marks_the_best(queries):
    tuning = tune(Recorder(), {"feature": np.array([0, 1])}, queries, folds=2)
    lines = repr(tuning).splitlines()
    assert lines[0] == "ndcg@10 of 60 held-out queries"
    for feature, (line, trial) in enumerate(zip(lines[4:], tuning.path, strict=True)):
        cells = [f"feature={feature}", f"{trial.mean:.4f}", f"{trial.standard_error:.4f}"]
        assert line.split() == cells + ["best"] * (feature == tuning.best_index)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"n_round": [1]}, "RankBoost has no parameter 'n_round'. Did you mean 'n_rounds'. There"),
        (
            {"ranker__C": [1]},
            "no parameter 'ranker__C'. There are: measure, missing, n_rounds, n_thr",
        ),
        ([{"n_rounds": [1]}, {"nonsense": [1]}], "no parameter 'nonsense'"),
        ({}, "at least one parameter with values. Got {} instead"),
        ([], r"at least one parameter with values. Got \[\] instead"),
        ([{"n_rounds": [1]}, {}], "at least one parameter with values"),
        ({"n_rounds": []}, "The grid has no values of 'n_rounds'"),
        ({"n_rounds": 5}, "Values of 'n_rounds' must be a list. Got 5 instead"),
        ({"measure": "map"}, "Values of 'measure' must be a list. Got 'map' instead"),
    ],
)
def test_a_grid_that_cannot_be_searched_is_refused(queries, grid, message):
    with pytest.raises(ValueError, match=message):
        tune(RankBoost(), grid, queries)


@pytest.mark.parametrize("n_folds", [0, 1, 61, 2.5, None])
def test_a_number_of_folds_that_cannot_be_is_refused(queries, n_folds):
    with pytest.raises(ValueError, match=r"whole number from 2 to the number of queries \(60\)"):
        tune(RankBoost(), {"n_rounds": [1]}, queries, folds=n_folds)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_combination_that_fails_is_named_with_the_reason(queries, n_jobs):
    with pytest.raises(
        ValueError, match=r"RankBoost with n_rounds=0, fold [12] held out: The 'n_rounds' parameter"
    ) as caught:
        tune(RankBoost(), {"n_rounds": [3, 0]}, queries, folds=2, n_jobs=n_jobs)
    assert "must be a whole number from 1 to 100000. Got 0 instead" in str(caught.value.__cause__)


def test_a_combination_that_fails_along_a_path_is_named(queries):
    with pytest.raises(ValueError, match="RankSVM with C=1 or C=-1, fold 1 .* Got -1.0 instead"):
        tune(RankSVM(), {"C": [1, -1]}, queries, folds=2)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_other_errors_are_named_too_and_keep_their_cause(queries):
    failing = Recorder(fail=MemoryError("no room"))
    with pytest.raises(RuntimeError, match="feature=2, sign=1, fold 1 held out: no room") as caught:
        tune(failing, {"feature": [2], "sign": [1]}, queries, folds=2)
    assert isinstance(caught.value.__cause__, MemoryError)
    with pytest.raises(RuntimeError, match="Recorder with feature=2: no room"):
        tune(failing, {"feature": [2]}, queries, valid=queries.select(range(5)))


def test_a_fold_that_leaves_nothing_to_learn_from_is_refused():
    labels = [1, 0, 0, 0, 0, 0, 0, 0]
    dataset = RankingDataset.from_arrays(np.eye(8), labels, np.repeat(range(4), 2))
    with pytest.raises(ValueError, match=r"nothing to learn without fold \d: no other query has"):
        tune(BestFeature(), {"measure": ["map"]}, dataset, folds=2)


def test_validation_queries_that_decide_nothing_are_refused(queries):
    flat = (queries.features, np.ones(queries.n_documents), queries.query_index)
    with pytest.raises(ValueError, match="validation data decides nothing"):
        tune(BestFeature(), {"measure": ["map"]}, queries, valid=RankingDataset.from_arrays(*flat))


def test_a_measure_that_skips_every_query_is_refused(queries):
    with pytest.raises(ValueError, match=r"map\(empty=skip,rel=9\) skips every query"):
        tune(Recorder(), {"feature": [0]}, queries, measure="map(rel=9,empty=skip)")


def test_an_unknown_measure_is_refused(queries):
    with pytest.raises(ValueError, match="ndgc"):
        tune(RankBoost(), {"n_rounds": [1]}, queries, measure="ndgc@5")


def test_the_final_fit_has_the_validation_queries_where_asked_for(queries):
    train, valid = queries.select(range(40)), queries.select(range(40, 60))
    ranker, grid = LambdaMART(200, min_leaf_documents=5, patience=2), {"n_leaves": [5]}
    plain, stopped = (
        tune(ranker, grid, train, valid=valid, fit_with_valid=asked).best_estimator
        for asked in (False, True)
    )
    assert plain.n_trees_ == 200 > stopped.n_trees_


def test_the_final_fit_is_timed(queries):
    tuning = tune(LambdaMART(50, min_leaf_documents=5), {"n_leaves": [5]}, queries, folds=2)
    assert tuning.fit_seconds > 0
    assert tuning.fit_cpu_seconds > 0
