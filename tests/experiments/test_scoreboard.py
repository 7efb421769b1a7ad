"""The board's tables and claims against models that are trained here."""

from types import SimpleNamespace

import numpy as np
import pytest

from localrank.data import folds, make_queries, read_letor, write_letor
from localrank.evaluation import paired_test
from localrank.evaluation.fold_results import described
from localrank.evaluation.significance import corrected
from localrank.experiments import Reproduction, Setting, _tuned_methods, scoreboard, wins
from localrank.experiments._peers import LIGHTGBM, SETTINGS, LightGBMPeer
from localrank.experiments._tuned_methods import N_SETTINGS
from localrank.experiments.recipe_members import WITH_CATBOOST
from localrank.experiments.repeated_runs import MEASURES, cell
from localrank.experiments.scoreboard import ALLOWED, WANTED, AtLeast, NeverWorse, tuned
from localrank.measures import parse_measure
from localrank.rankers import (
    GBRT,
    LambdaMART,
    ListwiseLinear,
    ListwiseNet,
    RankSVM,
    SymmetricTrees,
)
from localrank.recipes import one

SEEDS = (0, 1000)
METHODS = [LIGHTGBM, "RankSVM", WITH_CATBOOST, "one", "best"]
# Linear models under the names of the expensive methods.
C = {WITH_CATBOOST: 1e-4, "one": 1e-3, "best": 1e-1}
COSTS = ("training", "a document", "file")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a collection of parts, one without validation parts, and a single file."""
    folder = tmp_path_factory.mktemp("data")
    for place, name in enumerate(("OHSUMED", "ClueWeb09", "Yandex")):
        (folder / name).mkdir()
        dataset, _ = make_queries(30, n_documents=(15, 20), n_features=6, random_state=place)
        if name == "Yandex":
            write_letor(dataset, folder / name / "train.txt.gz")
        else:
            for part in range(5):
                write_letor(dataset.select(range(part, 30, 5)), folder / name / f"S{part + 1}.txt")
    return folder


def linear(name, place, seed):
    """A model that stands for a method, another one in each setting."""
    return RankSVM(C[name] * 3.0**place * (1 + seed / 1000))


@pytest.fixture(scope="module")
def board(data):
    """A run of few methods on two folds of each collection, and the tests of its claims."""
    tests, lines = {}, []
    claim = Reproduction.claim
    rankers = _tuned_methods.rankers

    def noted(self, says, measured, *given):
        tests[says] = given
        claim(self, says, measured, *given)

    def cheap(setting, seed, names):
        made = {}
        for name in names:
            for place in range(4):
                key = name, place
                if name in C:
                    made[key] = linear(name, place, seed)
                else:
                    made[key] = rankers(setting, seed, [name])[key]
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reproduction, "claim", noted)
        patch.setattr(wins, "N_QUICK", 3)
        patch.setattr(scoreboard, "methods", lambda: METHODS)
        patch.setattr(scoreboard, "FEW", METHODS)
        patch.setattr(_tuned_methods, "rankers", cheap)
        patch.setattr(_tuned_methods, "COMPOSED", {})
        setting = Setting(data, True, SEEDS, n_jobs=1, store=data / "runs", say=lines.append)
        reproduction = scoreboard.reproduce(setting)
    return SimpleNamespace(reproduction=reproduction, tests=tests, lines=lines)


def fold_list(data, name, seed):
    if name == "Yandex":
        queries = read_letor(data / name / "train.txt.gz")
        parts = folds(queries, 5, validation=False, random_state=0)
    else:
        parts = folds(data / name, validation=name != "ClueWeb09")
    return list(wins.shuffled(parts, seed, validation=True))[:2]


def values(data, name, make, measure=MEASURES[0]):
    """The values of the test queries of two folds, a row for each seed."""
    return np.array(
        [
            np.concatenate(
                [
                    measure(fold.test, make(seed).fit(fold.train).predict(fold.test))
                    for fold in fold_list(data, name, seed)
                ]
            )
            for seed in SEEDS
        ]
    )


def default_of(method):
    if method == LIGHTGBM:
        # A quick run has ten trees.
        return lambda seed: LightGBMPeer(10, SETTINGS[LIGHTGBM][0][2], random_state=seed)
    return lambda seed: RankSVM() if method == "RankSVM" else linear(method, 0, seed)


def test_parts_and_single_files_are_cut_into_folds(data):
    setting = Setting(data)
    for name, n_train, n_valid in (("OHSUMED", 18, 6), ("ClueWeb09", 24, 0), ("Yandex", 24, 0)):
        parts = scoreboard.folds_of(setting, data / name, 0)
        assert len(parts) == 5
        assert {fold.train.n_queries for fold in parts} == {n_train}
        assert {fold.valid.n_queries if fold.valid else 0 for fold in parts} == {n_valid}
        tested = np.concatenate([fold.test.query_ids for fold in parts])
        assert len(set(tested)) == len(tested) == 30
    assert len(scoreboard.folds_of(Setting(data, quick=True), data / "Yandex", 0)) == 2


def table(board, title):
    (one,) = (table for table in board.reproduction.tables if table.title == title)
    return one


def test_means_are_those_of_the_methods_own_models(board, data):
    default = table(board, "Every method, default parameters")
    assert [row[0] for row in default.rows] == METHODS
    assert list(default.columns) == ["", "OHSUMED", "ClueWeb09", "Yandex", "all", *COSTS]
    for row in default.rows:
        cells = dict(zip(default.columns, row, strict=True))
        everywhere = []
        for name in ("OHSUMED", "ClueWeb09", "Yandex"):
            by_measure = [values(data, name, default_of(row[0]), m) for m in MEASURES]
            means = " / ".join(f"{v.mean():.4f}"[1:] for v in by_measure)
            assert cells[name] == means
            everywhere.append(by_measure[0])
        assert cells["all"].split(" / ")[0] == f"{np.hstack(everywhere).mean():.4f}"[1:]
    chosen = table(board, "Every method, tuned parameters")
    assert [row[0] for row in chosen.rows] == [tuned(name) for name in METHODS]
    assert [row[1:5] for row in chosen.rows] != [row[1:5] for row in default.rows]


def test_the_files_of_trees_are_larger_than_those_of_linear_models(board):
    sizes = {
        row[0]: float(row[-1].split()[0].replace(",", ""))
        for row in table(board, "Every method, default parameters").rows
    }
    assert sizes[LIGHTGBM] > 2 * sizes["RankSVM"] > 0


def pooled(data, make):
    return np.hstack([values(data, name, make) for name in ("OHSUMED", "ClueWeb09", "Yandex")])


def test_aims_have_tests_of_their_own(board, data):
    ours, mixed, alone = (pooled(data, default_of(name)) for name in ("best", WITH_CATBOOST, "one"))
    expected = paired_test(ours, mixed)
    (better,) = board.tests[f"best ranks better than {WITH_CATBOOST}"]
    assert better.mean_difference == pytest.approx(expected.mean_difference)
    assert better.p == pytest.approx(expected.p_value)
    (gain,) = board.tests[f"best gains {WANTED} or more over {WITH_CATBOOST}, significantly"]
    assert (gain.test, gain.gain) == (better, WANTED)
    (never,) = board.tests[f"best is significantly worse than {WITH_CATBOOST} on no collection"]
    for test, name in zip(never.tests, ("OHSUMED", "ClueWeb09", "Yandex"), strict=True):
        expected = paired_test(
            *(values(data, name, default_of(m)) for m in ("best", WITH_CATBOOST))
        )
        assert test.mean_difference == pytest.approx(expected.mean_difference)
    (within,) = board.tests[f"one loses less than {ALLOWED} to best"]
    expected = paired_test(alone + ALLOWED, ours)
    assert within.mean_difference == pytest.approx(expected.mean_difference)
    assert within.p == pytest.approx(expected.p_value)


def test_on_yandex_best_meets_each_single_model_at_its_defaults(board, data):
    of_yandex = [says for says in board.tests if says.endswith("on Yandex")]
    assert of_yandex == [f"best ranks better than {LIGHTGBM} on Yandex"]
    (test,) = board.tests[of_yandex[0]]
    expected = paired_test(*(values(data, "Yandex", default_of(m)) for m in ("best", LIGHTGBM)))
    assert test.mean_difference == pytest.approx(expected.mean_difference)


def test_every_method_meets_best_and_p_is_corrected_in_its_column(board, data):
    duels = table(board, "best against every other method, default parameters")
    pairs = [("best", name) for name in METHODS if name != "best"]
    assert [tuple(row[:3]) for row in duels.rows] == [
        (*pair, str(m)) for pair in pairs for m in MEASURES
    ]
    tests = corrected(
        {
            (pair, m): paired_test(*(values(data, "ClueWeb09", default_of(n), m) for n in pair))
            for pair in pairs
            for m in MEASURES
        }
    )
    column = duels.columns.index("ClueWeb09")
    assert [row[column] for row in duels.rows] == [cell(test) for test in tests.values()]
    assert f"for the {2 * len(pairs)} tests of a column" in duels.note


def test_the_strongest_peer_has_the_highest_mean(board):
    means = {
        row[0]: row[4]
        for how in ("default", "tuned")
        for row in table(board, f"Every method, {how} parameters").rows
    }
    strongest = max((LIGHTGBM, tuned(LIGHTGBM)), key=lambda name: means[name].split(" / ")[0])
    rows = table(board, "The recipes against the strongest single model of another library").rows
    assert {row[1] for row in rows} == {strongest}
    assert [row[0] for row in rows[:: len(MEASURES)]] == [WITH_CATBOOST, "one", "best"]


def test_published_figures_stand_beside_ours_by_their_convention(board, data):
    rows = dict(table(board, "Published figures on OHSUMED").rows)
    assert rows["SVMMap, published"] == 0.4453
    measure = parse_measure("map", convention="letor3")
    means = [
        np.nanmean(measure(fold.test, RankSVM().fit(fold.train).predict(fold.test)))
        for seed in SEEDS
        for fold in fold_list(data, "OHSUMED", seed)
    ]
    assert rows["RankSVM"] == pytest.approx(np.mean(means))


def test_folds_count_what_they_chose(board):
    rows = table(board, "The settings of every method").rows
    for row in rows:
        counts = [int(text.rpartition("(")[2].rstrip(")")) for text in row[1:]]
        # Two folds of three collections, with two seeds.
        assert sum(counts) == 12
    assert [row[0] for row in rows] == METHODS


def test_figures_have_quality_against_cost(board):
    training, scoring = board.reproduction.figures
    panel = training.chart.options["panels"]["default parameters"]
    assert list(panel) == METHODS
    for name, ((cost,), (quality,)) in panel.items():
        row = next(r for r in table(board, "Every method, default parameters").rows if r[0] == name)
        assert f"{cost:.1f} s" == row[5]
        assert f"{quality:.4f}"[1:] == row[4].split(" / ")[0]
    (cost,), _ = scoring.chart.options["panels"]["tuned parameters"]["best"]
    row = table(board, "Every method, tuned parameters").rows[-1]
    assert f"{cost:.2g} µs" == row[6]


def test_every_method_has_the_same_number_of_settings_and_its_default_first(data):
    names = _tuned_methods.methods()
    made = _tuned_methods.rankers(Setting(data), 0, names)
    for name in names:
        assert len({_tuned_methods.words(name, i) for i in range(N_SETTINGS)}) == N_SETTINGS
        if (name, 0) in made:
            several = [made[name, place] for place in range(N_SETTINGS)]
            assert len({repr(ranker) for ranker in several}) == N_SETTINGS
    alike = {"LambdaMART": LambdaMART(), "GBRT": GBRT(), "RankSVM": RankSVM(), "one": one()}
    alike |= {"ListwiseLinear": ListwiseLinear(), "ListwiseNet, in coordinates": ListwiseNet()}
    alike |= {"SymmetricTrees": SymmetricTrees(n_trees=500)}
    for name, ranker in alike.items():
        assert described(made[name, 0]) == described(ranker)


def of(gain, spread=0.01):
    noise = spread * np.tile([1.0, -1.0], 200)
    return paired_test(gain + noise, np.zeros(400))


def test_a_gain_must_be_as_large_as_wanted():
    assert AtLeast(of(0.005), 0.004).sign == 1
    assert AtLeast(of(0.002), 0.004).sign == -1
    # Significant, and too small, though it may be larger.
    assert AtLeast(of(0.0035), 0.004).sign == 0
    assert AtLeast(of(0.005, spread=0.5), 0.004).sign == 0


def test_one_loss_is_too_many():
    assert NeverWorse([of(0.01), of(-0.001, spread=0.5)]).sign == 1
    assert NeverWorse([of(0.01), of(-0.01)]).sign == -1
