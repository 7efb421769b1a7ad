import numpy as np
import pytest

from localrank.data import make_queries, write_letor
from localrank.experiments import Setting, wins
from localrank.experiments.recipe_members import needed
from localrank.experiments.wins import EQUAL_COST, MADE_OF, SHOWN, wins_methods
from localrank.rankers import RankSVM

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


@pytest.fixture
def cheap(monkeypatch):
    """Linear models under the names of the methods, which the seed decides too; no sections."""

    def methods(seed, n_trees):
        return {
            name: RankSVM(10.0 ** (place % 5 - 3) * (1 + seed))
            for place, name in enumerate(wins_methods(seed))
        }

    monkeypatch.setattr(wins, "wins_methods", methods)
    monkeypatch.setattr(wins, "SECTIONS", ())


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
    assert list(wins.collections(data)) == ["OHSUMED", "ClueWeb09", "MSLR-sample"]
    assert wins.collections(data / "notes") == {"notes": data / "notes"}


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


@pytest.mark.slow
def test_collections_are_pooled_but_for_the_one_for_information(data, cheap):
    reproduction = wins.reproduce(Setting(data, quick=True, n_jobs=1, say=lambda line: None))
    assert reproduction.data == "OHSUMED, ClueWeb09"
    by_title = tables(reproduction)
    duels = by_title["The recipes against global models of equal cost"]
    assert list(duels.columns[2:]) == ["OHSUMED", "ClueWeb09", "all", "held out"]
    assert len(duels.rows) == 2 * 8
    stopped = by_title["The opponents with validation queries"]
    assert list(stopped.columns[2:]) == ["OHSUMED", "held out"]
    everything = by_title["Everything"]
    assert [row[0] for row in everything.rows] == [m for m in SHOWN if m in wins.FEW]
    assert list(everything.columns[1:5]) == ["OHSUMED", "ClueWeb09", "all", "MSLR-sample"]


@pytest.mark.slow
def test_several_seeds_are_averaged_and_shown_alone(data, cheap):
    def duel(title, seeds):
        setting = Setting(data / "OHSUMED", True, seeds, n_jobs=1, say=lambda line: None)
        cell = tables(wins.reproduce(setting))[title].rows[0][2]
        return float(cell.split()[0])

    main = "The recipes against global models of equal cost"
    first, second = duel(main, (0,)), duel(main, (1000,))
    assert duel("Seeds from 1000", (0, 1000)) == second
    assert duel(main, (0, 1000)) == pytest.approx((first + second) / 2, abs=2e-4)


def test_finished_work_is_not_done_again(data, cheap, tmp_path):
    lines = []
    setting = Setting(data / "OHSUMED", quick=True, n_jobs=1, store=tmp_path, say=lines.append)
    first = wins.reproduce(setting)
    n_trained = sum("trained" in line for line in lines)
    assert n_trained == 2 * (len(needed(wins.FEW)) + len(needed(wins.OPPONENTS)))
    again = wins.reproduce(setting)
    assert sum("trained" in line for line in lines) == n_trained
    assert [table.rows for table in again.tables] == [table.rows for table in first.tables]


@pytest.mark.slow
def test_sections_get_the_shuffled_folds_of_every_collection(data, cheap, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        wins, "SECTIONS", (lambda reproduction, setting, sources: seen.update(sources),)
    )
    wins.reproduce(Setting(data, quick=True, n_jobs=1, say=lambda line: None))
    assert list(seen) == ["OHSUMED", "ClueWeb09", "MSLR-sample"]
    fold, expected = next(seen["OHSUMED"](7)), next(wins.shuffled_folds(data / "OHSUMED", 7))
    assert (fold.train.features == expected.train.features).all()
