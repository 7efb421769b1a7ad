import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from localrank.data import make_queries, write_letor
from localrank.evaluation import paired_test
from localrank.experiments import Reproduction, Setting, wins
from localrank.experiments.recipe_members import RANK_SVM, needed
from localrank.experiments.repeated_runs import MEASURES, cell
from localrank.experiments.wins import EQUAL_COST, MADE_OF, SHOWN, wins_methods
from localrank.rankers import RankSVM

SEEDS = (0, 1000)
DUELS = [("fast", "2 mixed"), ("one", "LambdaMART")]
METHODS = ("RankSVM", "LambdaMART", "2 mixed", "pca_queries", "query_neighbours", "one", "fast")
PARTS = {"OHSUMED": 5, "ClueWeb09": 5, "MSLR-sample": 5, "notes": 0}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with three collections of five parts, and another folder."""
    folder = tmp_path_factory.mktemp("data")
    for place, (name, n_parts) in enumerate(PARTS.items()):
        (folder / name).mkdir()
        dataset, _ = make_queries(30, n_documents=(6, 12), n_features=6, random_state=place)
        for part in range(n_parts):
            part_queries = dataset.select(range(part, 30, n_parts))
            write_letor(part_queries, folder / name / f"S{part + 1}.txt")
    return folder


@pytest.fixture(scope="module")
def cheap():
    """Linear models under the names of the methods, which the seed decides too."""

    def methods(seed, n_trees):
        return {
            name: RankSVM(10.0 ** (place % 5 - 3) * (1 + seed))
            for place, name in enumerate(wins_methods(seed))
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wins, "wins_methods", methods)
        yield


def tables(reproduction):
    return {table.title: table for table in reproduction.tables}


def test_opponents_have_as_many_models_as_the_recipes(queries):
    methods = wins_methods(0, n_trees=2)
    counts = {"best": 6, "fast": 2, "one": 1}
    assert set(counts) == set(EQUAL_COST)
    for ours, others in EQUAL_COST.items():
        for name in (ours, *others):
            # One model is to stand beside six, besides.
            expected = 6 if (ours, name) == ("one", "6 mixed") else counts[ours]
            rankers = [methods[member] for member in needed([name])]
            assert sum(ranker.fit(queries).n_models_ for ranker in rankers) == expected


def test_everything_that_is_shown_can_be_made():
    assert set(needed(SHOWN)) <= set(wins_methods(0))


def test_every_method_of_the_papers_has_the_model_it_is_made_of():
    methods = wins_methods(0)
    for name, ranker in MADE_OF.items():
        inner = getattr(methods[name], "ranker", None)
        assert inner is None or type(inner) is type(methods[ranker])


def test_runs_of_distant_seeds_share_none():
    def seeds(ranker):
        params = ranker.get_params()
        drawn_seeds = {v for k, v in params.items() if k.endswith("random_state") and v is not None}
        for part in params.get("rankers") or []:
            drawn_seeds |= seeds(part)
        return drawn_seeds - {0}

    for name, ranker in wins_methods(1000).items():
        assert all(1000 <= seed < 1010 for seed in seeds(ranker)), name


def test_known_collections_of_a_folder_are_taken_or_the_folder_itself(data):
    assert list(wins.collections(Setting(data))) == ["OHSUMED", "ClueWeb09", "MSLR-sample"]
    assert wins.collections(Setting(data / "notes")) == {"notes": data / "notes"}
    assert len(wins.collections(Setting(data, quick=True))) == 1


def test_documents_are_shuffled_within_their_queries(data):
    (one, *_), (two, *_) = (list(wins.shuffled_folds(data / "OHSUMED", seed)) for seed in (0, 1))
    assert one.valid is None
    assert (one.train.query_ids == two.train.query_ids).all()
    assert not np.array_equal(one.train.features, two.train.features)
    for begin, end in zip(one.train.offsets, one.train.offsets[1:], strict=False):
        rows = [
            sorted(map(tuple, np.column_stack([part.features, part.labels])[begin:end]))
            for part in (one.train, two.train)
        ]
        assert rows[0] == rows[1]


def test_clueweb_trains_on_four_parts_and_others_on_three(data):
    for name, n_queries in (("ClueWeb09", 24), ("OHSUMED", 18)):
        fold = next(wins.shuffled_folds(data / name, 0, validation=True))
        assert fold.train.n_queries == n_queries
        assert (fold.valid is None) == (name == "ClueWeb09")
    assert wins.has_validation(data / "OHSUMED")
    assert not wins.has_validation(data / "ClueWeb09")


def value(dataset_folds, seed, models, measure):
    """Values of the test queries of the folds, a dict of models' standardised scores averaged."""
    parts = []
    for fold in dataset_folds:
        scores = []
        for views in models:
            standardised = []
            for model in views:
                score = model.fit(fold.train).predict(fold.test)
                for begin, end in zip(fold.test.offsets, fold.test.offsets[1:], strict=False):
                    part = score[begin:end]
                    score[begin:end] = (part - part.mean()) / part.std()
                standardised.append(score)
            scores.append(np.mean(standardised, axis=0))
        parts.append(measure(fold.test, np.mean(scores, axis=0)))
    return np.concatenate(parts)


@pytest.fixture(scope="module")
def experiment(data, cheap):
    """Few methods and two folds of all collections, with linear models; the tests of its claims."""
    lines, tests = [], {}
    claim = Reproduction.claim

    def noted(self, says, measured, *given):
        tests[says] = given
        claim(self, says, measured, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reproduction, "claim", noted)
        patch.setattr(wins, "N_QUICK", 3)
        patch.setattr(wins, "DUELS", DUELS)
        patch.setattr(wins, "PLOTTED", DUELS)
        patch.setattr(wins, "OPPONENTS", [other for _, other in DUELS])
        patch.setattr(wins, "FEW", METHODS)
        setting = Setting(data, True, SEEDS, n_jobs=1, say=lines.append, store=data / "runs")
        reproduction = wins.reproduce(setting)
        n_lines = len(lines)
        again = wins.reproduce(setting)
    return SimpleNamespace(
        reproduction=reproduction,
        again=again,
        tests=tests,
        lines=lines[:n_lines],
        lines_again=lines[n_lines:],
    )


def test_collections_are_pooled_but_for_the_one_for_information(experiment):
    assert experiment.reproduction.data == "OHSUMED, ClueWeb09"
    by_title = tables(experiment.reproduction)
    duels = by_title["The recipes against global models of equal cost"]
    assert list(duels.columns[2:]) == ["OHSUMED", "ClueWeb09", "all", "held out"]
    assert len(duels.rows) == 2 * len(DUELS)
    stopped = by_title["The opponents with validation queries"]
    assert list(stopped.columns[2:]) == ["OHSUMED", "held out"]
    everything = by_title["Everything"]
    assert [row[0] for row in everything.rows] == [m for m in SHOWN if m in METHODS]
    assert list(everything.columns[1:5]) == ["OHSUMED", "ClueWeb09", "all", "MSLR-sample"]


def test_a_claim_has_the_test_of_its_models_over_queries_and_seeds(experiment, data, cheap):
    measure = MEASURES[0]
    recipes = {
        "fast": [["LambdaMART"], ["CrossEntropyMART, in coordinates"]],
        "2 mixed": [["LambdaMART", "CrossEntropyMART"]],
    }
    by_run = {
        name: [
            np.concatenate(
                [
                    value(
                        list(wins.shuffled_folds(data / collection, seed))[:2],
                        seed,
                        [[wins.wins_methods(seed, 300)[m] for m in view] for view in views],
                        measure,
                    )
                    for collection in ("OHSUMED", "ClueWeb09")
                ]
            )
            for seed in SEEDS
        ]
        for name, views in recipes.items()
    }
    expected = paired_test(by_run["fast"], by_run["2 mixed"])
    (test,) = experiment.tests["fast ranks better than 2 mixed by ndcg@10"]
    assert (test.mean_difference, test.p_value) == pytest.approx(
        (expected.mean_difference, expected.p_value)
    )
    assert test.n_runs == 2
    # One family: two duels, four places, two measures.
    duels = tables(experiment.reproduction)["The recipes against global models of equal cost"]
    assert "the 16 comparisons" in duels.note
    (row,) = (row for row in duels.rows if row[:2] == ["fast − 2 mixed", "ndcg@10"])
    assert row[4] == cell(test)


def test_losses_of_the_papers_methods_are_claimed_the_other_way_round(experiment):
    (worse,) = experiment.tests["pca_queries ranks worse than RankSVM, which it is made of, by map"]
    title = "The papers' local methods against the models they are made of, and in coordinates"
    rows = {tuple(row[:2]): row for row in tables(experiment.reproduction)[title].rows}
    assert rows["pca_queries", "RankSVM"][3] == cell(worse.test)
    assert worse.sign == -worse.test.sign
    assert {(name, RANK_SVM) for name in ("pca_queries", "query_neighbours")} <= set(rows)


def test_every_process_trains_in_the_same_order():
    code = "from localrank.experiments.wins import *; print(needed(FEW), needed(OPPONENTS))"
    orders = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert b"LambdaMART, seed 5" in orders[0]
    assert orders[0] == orders[1]


def test_finished_work_is_not_done_again(experiment):
    assert any("trained" in line for line in experiment.lines)
    assert not any("trained" in line for line in experiment.lines_again)
    first, again = experiment.reproduction, experiment.again
    assert [table.rows for table in again.tables] == [table.rows for table in first.tables]


def test_sources_are_the_shuffled_folds_of_every_collection(data):
    sources = wins.sources_of(Setting(data))
    assert list(sources) == ["OHSUMED", "ClueWeb09", "MSLR-sample"]
    fold, expected = sources["OHSUMED"](7)[0], next(wins.shuffled_folds(data / "OHSUMED", 7))
    assert (fold.train.features == expected.train.features).all()
