"""The experiment on few made-up queries, checked against models that are trained here."""

from itertools import product

import numpy as np
import pytest
from made_up_results import made_up_result
from numpy.testing import assert_allclose

from localrank.data import Fold, RankingDataset, concatenate, make_queries, write_letor
from localrank.evaluation import paired_test
from localrank.evaluation.significance import correct
from localrank.experiments import Setting, lgmml
from localrank.experiments.lgmml import (
    CLASSES,
    MONOTONE,
    OURS,
    SCALES,
    TREES,
    Within,
    classes,
    cost_of_metrics,
    few_trees,
    figure_2,
    figure_3,
    figure_4,
    of,
    papers_table_4,
    start_and_margin,
    table_4,
    table_5,
)
from localrank.experiments.reproduction import Reproduction, Verdict, decided
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import GBRT, LGMML, LambdaMART

TABLE_4 = "Table 4: boosted trees and local metrics"
TRAINING = "Table 4: time to train, over LambdaMART's"
SCORING = "Table 5: time to score a document, over LambdaMART's"
YES, NO, UNDECIDED, NOT_TESTED = Verdict


def table(reproduction, title):
    (result,) = (table for table in reproduction.tables if table.title.startswith(title))
    return result


def claims(reproduction):
    return {claim.says: claim for claim in reproduction.claims}


def test_the_full_setting_is_the_papers():
    assert (lgmml.N_TREES, lgmml.N_METRICS) == (5000, 500)
    assert (lgmml.N_FEWER_TREES, lgmml.N_TUNED, len(lgmml.SEEDS)) == (300, 50, 4)
    tried = [
        start_and_margin({"margin": margin, "step": part["step"][0]})
        for part in lgmml.grid(lgmml.STARTS)
        for margin in part["margin"]
    ]
    assert_allclose(tried, list(product((0.1, 1, 10), (0.01, 0.1, 1))))


# A small version of the whole experiment.
SMALL = {
    "N_TREES": 12,
    "N_METRICS": 5,
    "N_TUNED": 3,
    "N_FEWER_TREES": 4,
    "METRICS": [1, 2],
    "STARTS": [0.1, 10.0],
    "CLASSES": {2: [1, 2, 4]},
    "DIMENSIONS": [5],
    "MORE_DIMENSIONS": [6],
    "TIMED_METRICS": [2, 4],
    "N_TIMINGS": 2,
}
FIRST, SECOND = 3, 5


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "MSLR-sample"
    folder.mkdir()
    dataset, _ = make_queries(36, n_documents=(18, 24), n_features=5, random_state=2)
    for part in range(3):
        write_letor(dataset.select(range(part, 36, 3)), folder / f"S{part + 1}.txt")
    return Setting(folder, seeds=(FIRST, SECOND), n_jobs=1, say=lambda line: None)


@pytest.fixture(scope="module")
def whole(setting):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(lgmml, name, value)
        return lgmml.reproduce(setting)


@pytest.fixture(scope="module")
def values(setting):
    """Function from a model of each fold to its values on the test queries of all folds."""

    def of_models(measure, make):
        return np.concatenate(
            [measure(f.test, make(f).fit(f.train).predict(f.test)) for f in setting.folds]
        )

    return of_models


@pytest.fixture(scope="module")
def chosen(setting):
    """Margin and step by seed, scale and fold: the first with the best NDCG@10 of validation."""

    def best(seed, scale, fold):
        grid = [(m / start, 0.1 / start) for start in (0.1, 10.0) for m in (0.01, 0.1, 1.0)]
        means = [
            NDCG(10).mean(
                fold.valid,
                LGMML(3, scale=scale, margin=margin, step=step, random_state=seed)
                .fit(fold.train)
                .predict(fold.valid),
            )
            for margin, step in grid
        ]
        margin, step = grid[int(np.argmax(means))]
        return {"margin": margin, "step": step}

    assert all(fold.valid is not None for fold in setting.folds)
    return {
        (seed, scale, fold.name): best(seed, scale, fold)
        for seed in (FIRST, SECOND)
        for scale in SCALES
        for fold in setting.folds
    }


@pytest.fixture(scope="module")
def local(values, chosen):
    """Values of local metrics of both seeds."""

    def of_seeds(measure, n_metrics, scale="median", **options):
        return np.array(
            [
                values(
                    measure,
                    lambda fold, seed=seed: LGMML(
                        n_metrics,
                        scale=scale,
                        random_state=seed,
                        **options,
                        **chosen[seed, scale, fold.name],
                    ),
                )
                for seed in (FIRST, SECOND)
            ]
        )

    return of_seeds


def mean_and_spread(values):
    first, second = values.mean(axis=1)
    return [(first + second) / 2, abs(first - second) / np.sqrt(2)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("GBRT", GBRT), (TREES, LambdaMART)],
)
def test_rows_of_trees_are_the_trees_they_name(whole, values, name, kind):
    shown = {tuple(row[:2]): row[2:] for row in table(whole, TABLE_4).rows}
    for n in (5, 10, 20):
        measure = NDCG(n)
        many = values(measure, lambda fold: kind(12, random_state=FIRST))
        row = shown[name, f"ndcg@{n}"]
        assert row[0] == pytest.approx(many.mean())
        assert np.isnan(row[3])
        few = np.array(
            [values(measure, lambda fold, s=s: kind(4, random_state=s)) for s in (FIRST, SECOND)]
        )
        row = shown[f"{name}, 4 trees", f"ndcg@{n}"]
        assert [row[0], row[3]] == pytest.approx(mean_and_spread(few))


def test_rows_of_local_metrics_are_the_metrics_they_name(whole, local, setting):
    shown = {tuple(row[:2]): row[2:] for row in table(whole, TABLE_4).rows}
    ends = np.cumsum([fold.test.n_queries for fold in setting.folds])[:-1]
    for name, scale in {OURS: "median", MONOTONE: "monotone"}.items():
        for n in (5, 10, 20):
            expected = local(NDCG(n), 5, scale)
            row = shown[name, f"ndcg@{n}"]
            assert [row[0], row[3]] == pytest.approx(mean_and_spread(expected))
            folds = [[part.mean() for part in np.split(seed, ends)] for seed in expected]
            assert row[4] == pytest.approx(np.std(folds, axis=1, ddof=1).mean())
    # Published values, their differences and deviations.
    ours = shown[OURS, "ndcg@5"]
    assert [ours[1], ours[5]] == [0.4771, 0.0951]
    assert ours[2] == pytest.approx(ours[0] - 0.4771)
    assert "12 trees, 5 metrics" in table(whole, TABLE_4).note
    assert "with 3 metrics" in table(whole, TABLE_4).note


def test_figure_3_has_each_number_and_scale(whole, local):
    rows = table(whole, "Figure 3").rows
    assert [row[0] for row in rows] == [1, 2, 3, 5]
    for m, *cells in rows:
        expected = [x for scale in SCALES for x in mean_and_spread(local(NDCG(10), m, scale))]
        assert cells == pytest.approx(expected)


def test_local_metrics_compete_if_the_interval_is_above_the_margin(whole, local):
    for scale, words in SCALES.items():
        many, one = (local(NDCG(10), m, scale) for m in (5, 1))
        test = paired_test(many, one, confidence=0.975)
        claim = claims(whole)[f"local metrics can compete with a single one ({words})"]
        low, high = test.interval
        assert f"{test.mean_difference:+.4f} with 5 against 1" in claim.measured
        assert f"[{low:.4f}, {high:.4f}]" in claim.measured
        assert claim.verdict == (YES if low > -0.01 else NO if high < -0.01 else UNDECIDED)


def test_weights_of_unseen_queries_are_those_named(whole, local):
    rows = {row[0]: row[1:] for row in table(whole, "Weights of unseen").rows}
    base = local(NDCG(10), 3)
    assert list(rows) == ["mean", "uniform", "nearest"]
    for way, cells in rows.items():
        expected = local(NDCG(10), 3, unseen=way)
        assert cells[:2] == pytest.approx(mean_and_spread(expected))
        gain = paired_test(expected, base).mean_difference
        assert way == "mean" or cells[2].startswith(f"{gain:+.4f}")


def test_trees_are_compared_by_all_seeds(whole, local, values):
    ours = local(NDCG(10), 5)
    kinds = {"GBRT": GBRT, TREES: LambdaMART}
    tests = [
        paired_test(
            ours,
            [
                values(NDCG(10), lambda fold, s=s, kind=kind: kind(4, random_state=s))
                for s in (FIRST, SECOND)
            ],
        )
        for kind in kinds.values()
    ]
    p_values = correct([test.p_value for test in tests])
    for (name, kind), test, p in zip(kinds.items(), tests, p_values, strict=True):
        claim = claims(whole)[f"L-GMML ranks better than {name}"]
        assert f"against 4 trees {test.mean_difference:+.4f}, p = {p:.3f}" in claim.measured
        assert claim.verdict == (
            UNDECIDED if p >= 0.05 else YES if test.mean_difference > 0 else NO
        )
        many = values(NDCG(10), lambda fold, kind=kind: kind(12, random_state=FIRST))
        assert f"12 trees, trained once, {ours.mean() - many.mean():+.4f}" in claim.measured


def test_figure_2_compares_with_a_metric_of_documents_of_all_queries(whole):
    measure = AveragePrecision(relevance_level=1)
    rows = {tuple(row[:3]): row[3:] for row in table(whole, "Figure 2").rows}
    assert list(rows) == [(2, scale, m) for scale in SCALES for m in (1, 2, 4)]
    for scale in SCALES:
        single, by_number = [], {1: [], 2: [], 4: []}
        for seed in (FIRST, SECOND):
            train, test = classes(2, seed)
            drawn = np.random.default_rng(seed).permutation(12_000)[:1000]
            assert len(np.unique(train.query_index[drawn])) == 120
            options = {"scale": scale, "relevance_level": 1, "random_state": seed}
            one = LGMML(1, sampling_rate=1.0, **options)
            one.fit(train.features[drawn], train.labels[drawn], qid=np.zeros(1000))
            single.append(measure(test, one.predict(test)))
            for m, runs in by_number.items():
                runs.append(measure(test, LGMML(m, **options).fit(train).predict(test)))
        for m, runs in by_number.items():
            expected = [*mean_and_spread(np.array(runs)), *mean_and_spread(np.array(single))]
            assert rows[2, scale, m] == pytest.approx(expected)
        gain = paired_test(by_number[2], single).mean_difference
        says = f"as many local metrics as classes gain over one global metric ({SCALES[scale]})"
        assert f"2 classes {gain:+.4f}" in claims(whole)[says].measured
        less = paired_test(by_number[2], by_number[4]).mean_difference
        says = (
            f"the gain is largest when there are about as many metrics as classes ({SCALES[scale]})"
        )
        assert f"4 for 2, {less:+.4f}" in claims(whole)[says].measured


def test_each_seed_draws_other_classes_and_labels_are_of_their_documents():
    train, test = classes(3, 0)
    again, other = classes(3, 0)[0], classes(3, 1)[0]
    assert_allclose(train.features, again.features)
    assert np.abs(train.features - other.features).max() > 1
    centres = [train.features[train.labels == label].mean(axis=0) for label in range(3)]
    for label, centre in enumerate(centres):
        mine = test.features[test.labels == label]
        assert_allclose(mine.mean(axis=0), centre, atol=0.15)
        assert_allclose(mine.std(axis=0), 0.5, atol=0.05)


class Known:
    """Ranks with errors of one size if it learned from many queries, of another if from one."""

    def __init__(self, local, single):
        self.sizes = {True: single, False: local}

    def fit(self, dataset):
        self.size = self.sizes[dataset.n_queries == 1]
        return self

    def predict(self, test):
        errors = np.random.default_rng(0).normal(size=test.n_documents)
        return test.labels + self.size * test.labels.max() * errors


def judged(errors):
    """Figure 2 with errors by the number of classes, the number of metrics and the scale."""

    def local(n_metrics, *, scale, relevance_level, **options):
        assert options.get("sampling_rate", 1.0) == 1.0
        return Known(errors(2 * relevance_level, n_metrics, scale), 1.0)

    reproduction = Reproduction("lgmml", "OHSUMED")
    figure_2(reproduction, local, [2, 10], (0, 1, 2, 3))
    return reproduction


@pytest.fixture(scope="module")
def halves():
    """Median: better than one metric for both; monotone: for 2 classes alone."""
    return judged(lambda n, m, scale: 2.0 if scale == "monotone" and n == 10 else 0.2)


def test_a_gain_must_be_seen_with_every_number_of_classes(halves):
    says = "as many local metrics as classes gain over one global metric"
    assert claims(halves)[f"{says} (median distance 1)"].verdict is YES
    assert claims(halves)[f"{says} (largest distance 1)"].verdict is NO
    note = table(halves, "Figure 2").note
    assert "median, a gain with 2, 10 classes." in note
    assert "monotone, a gain with 2 classes, a loss with 10 classes." in note


def test_a_peak_must_be_above_all_numbers_that_are_far_from_it(halves):
    says = "the gain is largest when there are about as many metrics as classes"
    for words in SCALES.values():
        # The same errors with all numbers: nothing is established.
        assert claims(halves)[f"{says} ({words})"].verdict is UNDECIDED
    # The best number is within half of the number of classes, or far beyond it for 10.
    worst = judged(
        lambda n, m, scale: 0.1 if scale == "monotone" and m == 40 else 0.2 + abs(m / n - 1)
    )
    assert claims(worst)[f"{says} (median distance 1)"].verdict is YES
    assert claims(worst)[f"{says} (largest distance 1)"].verdict is NO
    assert lgmml.far_from(2) == [1, 4, 8]
    assert all(n in numbers and max(numbers) > 1.5 * n for n, numbers in CLASSES.items())


def test_figure_2_draws_the_means(halves):
    drawn = halves.figures[0].chart.options["panels"]
    rows = table(halves, "Figure 2").rows
    for n, scale in product((2, 10), SCALES):
        ours = [row[3] for row in rows if row[:2] == [n, scale]]
        single = [row[5] for row in rows if row[:2] == [n, scale]]
        assert drawn[f"{n} classes"][f"L-GMML, {scale}"] == (CLASSES[n], ours)
        assert drawn[f"{n} classes"][f"GMML, {scale}"] == (CLASSES[n], single)


class Clock:
    """A ranker whose training takes a time that is known; nothing is trained."""

    def __init__(self, seconds):
        self.seconds = seconds

    def fit(self, dataset):
        assert (dataset.n_queries, dataset.n_documents) == (50, 5000)
        return next(self.seconds[dataset.n_features])


def ticks(*seconds):
    """The first training compiles. Then come the timed ones."""
    return iter([99.0, *seconds])


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(lgmml, "cpu_seconds", lambda call: call())


@pytest.mark.parametrize(
    ("slow", "verdict"),
    [(4.0, YES), (0.25, NO), (1.0, UNDECIDED)],
)
def test_figure_4_tests_repeated_times(told, slow, verdict):
    ours = Clock({6: ticks(1, 2, 1, 2, 1), 7: iter([2, 2.1, 2, 2.1, 2]), 9: iter([5])})
    noisy = [t * f for t, f in zip([1, 2, 1, 2, 1], [1, 1.2, 0.9, 1.1, 1], strict=True)]
    other = Clock(
        {6: ticks(*(slow * t for t in noisy)), 7: iter([slow * t for t in (2.1, 2, 2, 2, 2.1)])}
    )
    reproduction = Reproduction("lgmml", "OHSUMED")
    figure_4(reproduction, {OURS: ours, "R-MLR": other}, [6, 7], [9])
    (a, first, second), (b, *_), (c, third, nothing) = table(reproduction, "Figure 4").rows
    assert (a, b, c, nothing) == (6, 7, 9, None)
    assert [first, second, third] == pytest.approx([1.4, slow * np.mean(noisy), 5])
    claim = claims(reproduction)["L-GMML trains faster than R-MLR"]
    assert claim.verdict is verdict
    middle = slow * np.exp(np.mean(np.log([1, 1.2, 0.9, 1.1, 1])))
    assert f"{middle:.2f} (p" in claim.measured


@pytest.mark.parametrize(("exponent", "verdict"), [(1.0, YES), (1.5, NO), (1.1, UNDECIDED)])
def test_cost_is_linear_if_the_exponent_of_repeated_times_is_near_1(told, exponent, verdict):
    noise = np.random.default_rng(0)

    class Timed:
        def __init__(self, n_metrics):
            self.mean = 0.5 + (n_metrics**exponent if n_metrics > 1 else 0)

        def fit(self, dataset):
            return self.mean * (1 + 0.005 * noise.normal())

    reproduction = Reproduction("lgmml", "OHSUMED")
    cost_of_metrics(reproduction, Timed, [25, 50, 100, 200, 400])
    (claim,) = reproduction.claims
    assert claim.verdict is verdict
    assert f"exponent {exponent:.2f}" in claim.measured
    assert [row[0] for row in reproduction.tables[0].rows] == [1, 25, 50, 100, 200, 400]


TIMES = {
    "GBRT": (10.0, 3.0),
    TREES: (20.0, 2.0),
    few_trees("GBRT"): (1.0, 0.3),
    few_trees(TREES): (2.0, 0.2),
    OURS: (5.0, 8.0),
    MONOTONE: (6.0, 9.0),
}


def timed_tables(times, n_folds=3):
    dataset, _ = make_queries(24, n_documents=(8, 12), n_features=6, random_state=2)
    thirds = [dataset.select(range(k, 24, 3)) for k in range(3)]
    parts = [Fold(f"Fold{k}", thirds[k - 1], None, thirds[k]) for k in range(n_folds)]
    runs = {
        name: [made_up_result(parts, name, 10 * seed + place, *seconds) for seed in range(2)]
        for place, (name, seconds) in enumerate(times.items())
    }
    runs |= {of(3, scale): runs[OURS] for scale in SCALES}
    reproduction = Reproduction("lgmml", "MSLR-sample")
    table_4(reproduction, runs, 5000, 500, 3)
    table_5(reproduction, runs)
    return reproduction, concatenate([part.test for part in parts])


def test_times_of_training_and_of_scoring_stand_where_they_belong():
    reproduction, test = timed_tables(TIMES)
    training, scoring = (
        {row[0]: row[1:] for row in table(reproduction, title).rows}
        for title in (TRAINING, SCORING)
    )
    for name, (train, score) in TIMES.items():
        assert training[name][0] == pytest.approx(train / 20)
        assert scoring[name][0] == pytest.approx(score / 2)
    assert training[OURS][1] == pytest.approx(19 / 57.6)
    assert scoring["GBRT"][1] == pytest.approx(73 / 92)
    assert f"{1e6 * 3 * 2 / test.n_documents:.1f} µs" in table(reproduction, SCORING).note
    assert "LambdaMART takes 20.0 in a fold" in table(reproduction, TRAINING).note
    expected = {
        "L-GMML trains faster than GBRT": "GBRT takes 2.00",
        "L-GMML trains faster than LambdaMART": "LambdaMART takes 4.00",
        "L-GMML takes longer to score a document than GBRT": "L-GMML takes 2.67",
        "L-GMML takes longer to score a document than LambdaMART": "L-GMML takes 4.00",
    }
    for says, measured in expected.items():
        assert claims(reproduction)[says].measured.startswith(measured)
        assert claims(reproduction)[says].verdict is YES


def test_slow_training_and_fast_scoring_are_not_borne_out_and_one_fold_tests_nothing():
    for n_folds, verdict in ((3, NO), (1, NOT_TESTED)):
        reproduction, _ = timed_tables({**TIMES, OURS: (30.0, 1.0)}, n_folds)
        timed = [claim for claim in reproduction.claims if "times as long" in claim.measured]
        assert [claim.verdict for claim in timed] == [verdict] * 4


def test_the_papers_losing_cells_and_deviations_are_shown():
    reproduction = Reproduction("lgmml", "OHSUMED")
    papers_table_4(reproduction)
    (shown,) = reproduction.tables
    lost = [row[:5] for row in shown.rows if row[4] < 0]
    assert [row[:4] for row in lost] == [
        ["Yahoo! Set I", "ndcg@10", 0.6715, 0.7060],
        ["Yahoo! Set I", "ndcg@20", 0.6934, 0.7091],
    ]
    assert "in 2 of 12 cells" in shown.note
    assert {(row[0], row[1]): row[5] for row in shown.rows}["MSLR-WEB10K", "ndcg@5"] == 0.0951


@pytest.mark.parametrize("low", [-0.2, -np.inf])
def test_a_range_decides_only_beyond_its_ends(low):
    assert Within((-0.1, 0.1), low, 0.2).sign == 1
    assert Within((0.1, 0.3), low, 0.2).sign == 0
    assert Within((0.25, 0.3), low, 0.2).sign == -1
    assert Within((-0.3, 0.1), -0.2).sign == 0
    assert Within((-0.3, -0.25), -0.2).sign == -1
    assert Within((-0.1, 99), -0.2).sign == 1
    assert decided(Within((-0.1, 99), -0.2)) is YES


def test_figure_3_gives_no_verdict_on_the_best_number():
    dataset = RankingDataset.from_arrays(np.eye(8), np.arange(8) % 2, np.arange(8) // 4)
    parts = [Fold("Fold1", dataset, None, dataset)]
    runs = {
        of(m, scale): [made_up_result(parts, "", 100 * seed + m) for seed in range(2)]
        for m in (1, 2, 5)
        for scale in SCALES
    }
    reproduction = Reproduction("lgmml", "OHSUMED")
    figure_3(reproduction, runs, [1, 2, 5])
    claim = claims(reproduction)["the best number of metrics varies with the data"]
    assert claim.verdict is NOT_TESTED
    rows = table(reproduction, "Figure 3").rows
    best = max(rows, key=lambda row: row[1])[0]
    assert claim.measured.startswith(f"highest mean here with {best} (median")
