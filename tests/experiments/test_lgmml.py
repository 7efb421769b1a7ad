"""The experiment on few made-up queries, where every number can be worked out otherwise."""

import time
from functools import partial

import numpy as np
import pytest
from made_up_results import made_up_result

from localrank.data import Fold, concatenate, make_queries
from localrank.evaluation import paired_test
from localrank.experiments import Setting, lgmml
from localrank.experiments.lgmml import (
    CLASSES,
    MONOTONE,
    NDCG_10,
    OURS,
    SCALES,
    TREES,
    classes,
    few_trees,
    figure_2,
    figure_3,
    figure_4,
    grid,
    start_and_margin,
    table_4,
)
from localrank.experiments.reproduction import Reproduction, decided
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import RMLR

TABLE_4 = "Table 4: boosted trees and local metrics"
TRAINING = "Table 4: time to train, over LambdaMART's"
SCORING = "Table 5: time to score a document, over LambdaMART's"


@pytest.fixture(scope="module")
def parts():
    dataset, _ = make_queries(24, n_documents=(8, 12), n_features=6, random_state=2)
    thirds = [dataset.select(range(k, 24, 3)) for k in range(3)]
    return [
        Fold(f"Fold{k + 1}", concatenate([thirds[k - 1], thirds[k - 2]]), None, thirds[k])
        for k in range(3)
    ]


def rows(reproduction, title):
    (table,) = (table for table in reproduction.tables if table.title.startswith(title))
    return [list(row) for row in table.rows]


def claims(reproduction):
    return {claim.says: claim for claim in reproduction.claims}


# What tuning chooses.
CHOSEN = {OURS: {"margin": 0.01, "step": 0.01}, MONOTONE: {"margin": 1.0, "step": 0.1}}


class Recorded(Setting):
    """Notes what is asked for, and answers with made-up scores at once."""

    asked: list

    @property
    def random_state(self):
        return 7

    def run(self, methods, parts, **options):
        self.asked.append((methods, options))
        grids = options.get("grids") or {}
        return {
            name: made_up_result(parts, name, seed, chosen=CHOSEN[name] if name in grids else None)
            for seed, name in enumerate(methods)
        }


def left_out_part(noted, name, *given):
    noted[name] = given


@pytest.fixture
def asked(parts, tmp_path, monkeypatch):
    """What a run asks for; the parts of the page that train by themselves are left out."""

    def ask(quick):
        left_out = {}
        for name in ("figure_2", "figure_4"):
            monkeypatch.setattr(lgmml, name, partial(left_out_part, left_out, name))
        setting = Recorded(tmp_path / "MSLR-sample", quick=quick)
        object.__setattr__(setting, "asked", [])
        monkeypatch.setattr(Recorded, "folds", parts[:2] if quick else parts)
        reproduction = lgmml.reproduce(setting)
        return reproduction, setting.asked, left_out

    return ask


def test_the_full_setting_is_the_papers(asked):
    reproduction, (first, *_), left_out = asked(quick=False)
    methods, options = first
    assert {name: methods[name].n_trees for name in ("GBRT", TREES)} == {"GBRT": 5000, TREES: 5000}
    fewer = {few_trees(name): 300 for name in ("GBRT", TREES)}
    assert {name: methods[name].n_trees for name in fewer} == fewer
    for name, scale in {OURS: "median", MONOTONE: "monotone"}.items():
        assert (methods[name].n_metrics, methods[name].scale) == (500, scale)
        assert methods[name].unseen == "mean"
        tried = [
            start_and_margin({"margin": margin, "step": grid["step"][0]})
            for grid in options["grids"][name]
            for margin in grid["margin"]
        ]
        expected = [(start, margin) for start in (0.1, 1, 10) for margin in (0.01, 0.1, 1)]
        np.testing.assert_allclose(tried, expected)
    assert options["measure"] == NDCG(10)
    # Trees are not tuned, and nothing is stopped by the queries that tune.
    assert set(options["grids"]) == {OURS, MONOTONE}
    assert "valid" not in options
    assert all(ranker.random_state == 7 for ranker in methods.values())
    assert list(left_out["figure_2"][2]) == [2, 10, 50, 100]
    _, timed, dimensions = left_out["figure_4"]
    assert (timed[OURS].n_metrics, type(timed["R-MLR"])) == (10, RMLR)
    assert dimensions == {OURS: [10, 50, 100, 200, 500, 1000], "R-MLR": [10, 50, 100]}
    (table,) = (table for table in reproduction.tables if table.title == TABLE_4)
    assert "5,000 trees, 500 metrics" in table.note
    assert "L-GMML: 10/0.1, 10/0.1, 10/0.1; L-GMML, monotone: 1/1, 1/1" in table.note


def test_a_quick_run_is_small(asked):
    _, (first, *_), left_out = asked(quick=True)
    methods, options = first
    assert max(methods[name].n_trees for name in ("GBRT", TREES)) == 20
    assert methods[OURS].n_metrics == 5
    assert options["grids"][OURS] == grid([1.0])
    assert list(left_out["figure_2"][2]) == [2]


def test_what_was_chosen_serves_all_numbers_of_metrics_and_unseen_queries(asked):
    reproduction, (_, *later), _ = asked(quick=False)
    by_number = {name: ranker for methods, _ in later[:3] for name, ranker in methods.items()}
    assert len(later) == 6
    numbers = [1, 2, 5, 10, 20, 50, 100, 200]
    assert list(by_number) == [f"{m}, {scale}" for m in numbers for scale in SCALES]
    for name, ranker in by_number.items():
        assert name == f"{ranker.n_metrics}, {ranker.scale}"
    unseen = {name: ranker for methods, _ in later[3:] for name, ranker in methods.items()}
    assert {name: (r.n_metrics, r.unseen, r.scale) for name, r in unseen.items()} == {
        "L-GMML, unseen uniform": (500, "uniform", "median"),
        "L-GMML, unseen nearest": (500, "nearest", "median"),
    }
    for ranker in (by_number | unseen).values():
        chosen = CHOSEN[OURS if ranker.scale == "median" else MONOTONE]
        assert {"margin": ranker.margin, "step": ranker.step} == chosen
    # The last number is Table 4's.
    last, means = (
        rows(reproduction, "Figure 3")[-1],
        {r[0]: r[2] for r in rows(reproduction, TABLE_4)[1::3]},
    )
    assert last == [500, means[OURS], means[MONOTONE]]


def with_errors(test, size):
    """Scores that are the labels, but for errors."""
    errors = np.random.default_rng(0).normal(size=test.n_documents)
    return test.labels + size * test.labels.max() * errors


class Known:
    """Ranks with errors of one size if it learned from many queries, of another if from one."""

    def __init__(self, noise):
        self.noise = noise

    def fit(self, dataset):
        self.size = self.noise["global" if dataset.n_queries == 1 else "local"]
        return self

    def predict(self, test):
        return with_errors(test, self.size)


# Errors of local metrics and of the global one: at one scale local metrics win, at the other not.
NOISE = {
    "median": {"local": 0.2, "global": 2.0},
    "monotone": {"local": 2.0, "global": 0.2},
}


def known(asked):
    def local(n_metrics, **options):
        asked.append((n_metrics, options))
        return Known(NOISE[options["scale"]])

    return local


@pytest.fixture(scope="module")
def two_and_ten():
    reproduction, asked = Reproduction("lgmml", "OHSUMED"), []
    figure_2(reproduction, known(asked), [2, 10])
    return reproduction, asked


def test_figure_2_has_each_scale_beside_its_own_global_metric(two_and_ten):
    reproduction, _ = two_and_ten
    shown = rows(reproduction, "Figure 2")
    assert [row[:3] for row in shown] == [
        [n, scale, m] for n in (2, 10) for scale in SCALES for m in CLASSES[n]
    ]
    for n, scale, _, ours, together in shown:
        test, measure = classes(n)[1], AveragePrecision(relevance_level=n / 2)
        for value, kind in ((ours, "local"), (together, "global")):
            expected = measure.mean(test, with_errors(test, NOISE[scale][kind]))
            assert value == pytest.approx(expected)


def test_figure_2_is_judged_for_each_scale(two_and_ten):
    reproduction, _ = two_and_ten
    says = "as many local metrics as classes beat one global metric"
    assert claims(reproduction)[f"{says} (median distance 1)"].holds is True
    assert claims(reproduction)[f"{says} (largest distance 1)"].holds is False
    assert "+0." in claims(reproduction)[f"{says} (median distance 1)"].measured
    (table,) = reproduction.tables
    assert "median, a gain with 2, 10 classes." in table.note
    assert "monotone, a loss with 2, 10 classes." in table.note
    drawn = reproduction.figures[0].chart.options["panels"]
    means = {(row[0], row[1]): row[3:] for row in rows(reproduction, "Figure 2")}
    for (n, scale), (ours, together) in means.items():
        assert drawn[f"{n} classes"][f"L-GMML, {scale}"][1] == [ours] * len(CLASSES[n])
        assert drawn[f"{n} classes"][f"GMML, {scale}"][1] == [together] * len(CLASSES[n])


def test_figure_2_trains_with_the_upper_half_of_the_classes(two_and_ten):
    _, asked = two_and_ten
    assert {options["relevance_level"] for _, options in asked} == {1.0, 5.0}
    # The global metric sees all documents it is given.
    assert [n for n, options in asked if options.get("sampling_rate") == 1.0] == [1] * 4


@pytest.mark.parametrize(("n", "good", "bad"), [(10, 10, 1), (2, 3, 4), (2, 1, 4)])
def test_the_best_number_of_metrics_is_found_for_each_scale(n, good, bad):
    def local(n_metrics, **options):
        best = {"median": good, "monotone": bad}[options["scale"]]
        error = 0.1 + 0.2 * abs(n_metrics - best)
        return Known({"local": error, "global": 1.0})

    reproduction = Reproduction("lgmml", "OHSUMED")
    figure_2(reproduction, local, [n])
    says = "local metrics gain most when they are about as many as the classes"
    by_scale = [claims(reproduction)[f"{says} ({words})"] for words in SCALES.values()]
    assert [(claim.holds, claim.measured) for claim in by_scale] == [
        (True, f"best of those tried: {good} for {n} classes"),
        (False, f"best of those tried: {bad} for {n} classes"),
    ]


def test_a_claim_of_several_tests_holds_where_all_do():
    better = paired_test([1.0, 2.0, 3.1], [0.0, 1.0, 2.0])
    worse = paired_test([0.0, 1.0, 2.0], [1.0, 2.0, 3.1])
    noise = paired_test([0.0, 1.0, 2.0], [0.1, 0.9, 2.0])
    assert decided(better, better) is True
    assert decided(better, noise) is None
    assert decided(better, noise, worse) is False


def test_figure_3_has_each_scale_in_its_column(parts):
    results = {
        f"{m}, {scale}": made_up_result(parts, "", seed)
        for seed, (m, scale) in enumerate((m, s) for m in (1, 2, 5) for s in SCALES)
    }
    reproduction = Reproduction("lgmml", "OHSUMED")
    figure_3(reproduction, results, [1, 2, 5])
    expected = [
        [m, results[f"{m}, median"].mean(NDCG_10), results[f"{m}, monotone"].mean(NDCG_10)]
        for m in (1, 2, 5)
    ]
    assert rows(reproduction, "Figure 3") == expected
    for scale, words in SCALES.items():
        test = results[f"5, {scale}"].against(results[f"1, {scale}"], NDCG_10)
        claim = claims(reproduction)[f"local metrics can compete with a single one ({words})"]
        assert f"{test.mean_difference:+.4f}" in claim.measured
        assert claim.holds is (test.sign >= 0)


class Busy:
    """Takes a time to train that its features decide."""

    def __init__(self, seconds):
        self.seconds = seconds

    def fit(self, dataset):
        assert (dataset.n_queries, dataset.n_documents) == (50, 5000)
        end = time.process_time() + self.seconds * dataset.n_features
        while time.process_time() < end:
            pass


@pytest.mark.parametrize(("ours", "other", "holds"), [(0.001, 0.01, True), (0.01, 0.001, False)])
def test_figure_4_times_training(ours, other, holds):
    reproduction = Reproduction("lgmml", "OHSUMED")
    methods = {OURS: Busy(ours), "R-MLR": Busy(other)}
    figure_4(reproduction, methods, {OURS: [6, 30], "R-MLR": [6]})
    (small, first, second), (large, slow, nothing) = rows(reproduction, "Figure 4")
    assert (small, large, nothing) == (6, 30, None)
    assert 6 * ours <= first < 12 * ours + 0.02
    assert 6 * other <= second < 12 * other + 0.02
    assert 30 * ours <= slow < 60 * ours + 0.02
    claim = claims(reproduction)["L-GMML trains faster than R-MLR"]
    assert claim.holds is holds
    assert f"{second / first:.1f} times as long with 6 features" in claim.measured


TIMES = {
    "GBRT": (10.0, 3.0),
    TREES: (20.0, 2.0),
    few_trees("GBRT"): (1.0, 0.3),
    few_trees(TREES): (2.0, 0.2),
    OURS: (5.0, 8.0),
    MONOTONE: (6.0, 9.0),
}


@pytest.fixture(scope="module")
def tabled(parts):
    chosen = {"margin": 0.1, "step": 0.01}
    results = {
        name: made_up_result(parts, name, seed, *times, chosen=chosen if "GMML" in name else None)
        for seed, (name, times) in enumerate(TIMES.items())
    }
    reproduction = Reproduction("lgmml", "MSLR-sample")
    table_4(reproduction, results, "5,000 trees, 500 metrics")
    return reproduction, results


def test_table_4_has_ours_beside_the_published_values(tabled):
    reproduction, results = tabled
    shown = {(row[0], row[1]): row[2:] for row in rows(reproduction, TABLE_4)}
    assert len(shown) == 3 * len(TIMES)
    for (name, measure), (ours, *_) in shown.items():
        assert ours == results[name].mean(measure)
    assert shown["GBRT", "ndcg@5"][1] == 0.4019
    assert shown[TREES, "ndcg@20"][1] == 0.4634
    assert shown[OURS, "ndcg@10"][1] == 0.539
    assert not any(shown[MONOTONE, "ndcg@10"][1:])


def test_times_of_training_and_of_scoring_stand_where_they_belong(tabled, parts):
    reproduction, _ = tabled
    training = {row[0]: row[1:] for row in rows(reproduction, TRAINING)}
    scoring = {row[0]: row[1:] for row in rows(reproduction, SCORING)}
    for name, (train, score) in TIMES.items():
        assert training[name][0] == pytest.approx(train / 20)
        assert scoring[name][0] == pytest.approx(score / 2)
    assert training[OURS][1] == pytest.approx(19 / 57.6)
    assert training["GBRT"][1] == pytest.approx(48.3 / 57.6)
    assert scoring[OURS][1] == pytest.approx(158 / 92)
    assert scoring["GBRT"][1] == pytest.approx(73 / 92)
    notes = {table.title: table.note for table in reproduction.tables}
    n_documents = sum(fold.test.n_documents for fold in parts)
    assert f"{1e6 * 3 * 2 / n_documents:.1f} µs" in notes[SCORING]
    assert "LambdaMART takes 20.0 in a fold" in notes[TRAINING]
    faster, longer = "L-GMML trains faster than ", "L-GMML takes longer to score a document than "
    expected = {
        f"{faster}GBRT": "0.50",
        f"{faster}{TREES}": "0.25",
        f"{longer}GBRT": "2.67",
        f"{longer}{TREES}": "4.00",
    }
    for says, share in expected.items():
        assert claims(reproduction)[says].holds is True
        assert claims(reproduction)[says].measured == f"{share} of its time"


def test_slow_training_and_fast_scoring_are_not_borne_out(parts):
    reproduction = Reproduction("lgmml", "OHSUMED")
    times = {**TIMES, OURS: (30.0, 1.0)}
    table_4(
        reproduction,
        {
            name: made_up_result(parts, name, seed, *seconds)
            for seed, (name, seconds) in enumerate(times.items())
        },
        "",
    )
    timed = [claim for claim in reproduction.claims if "of its time" in claim.measured]
    assert [claim.holds for claim in timed] == [False] * 4


def test_claims_compare_with_the_trees_they_name(tabled):
    reproduction, results = tabled
    for other in ("GBRT", TREES):
        many, few = (
            results[OURS].against(results[name], NDCG_10) for name in (other, few_trees(other))
        )
        claim = claims(reproduction)[f"L-GMML ranks better than {other}"]
        assert f"NDCG@10 {many.mean_difference:+.4f}" in claim.measured
        assert f"(against 300 trees {few.mean_difference:+.4f}" in claim.measured
        assert claim.holds is (many.sign > 0 if many.sign else None)
