"""The experiments on clicks: what learns from what, and what is put together."""

import json
from dataclasses import replace

import numpy as np
import pytest
from experiments.small_runs import small_data
from numpy.testing import assert_allclose, assert_array_equal

from localrank.experiments import Setting, clicks
from localrank.experiments.how_much_is_seen import GRADES, N_POSITIONS, _by_grade, _graded
from localrank.rankers import RankSVM


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    folder = small_data(tmp_path_factory.mktemp("data"), "clicks")
    return Setting(folder, True, (0,), 1, say=lambda line: None)


@pytest.fixture(scope="module")
def fold(setting):
    (source,) = clicks.sources_of(setting, clicks.COLLECTIONS).values()
    return source(0)


def test_the_logging_ranker_knows_few_queries(fold, monkeypatch):
    learned = []
    fit = RankSVM.fit
    monkeypatch.setattr(
        RankSVM, "fit", lambda self, data, *rest: learned.append(data) or fit(self, data, *rest)
    )
    clicks.logging_ranker(fold.train, 0)
    assert learned[0].n_queries == max(1, round(0.01 * fold.train.n_queries))


def test_test_labels_are_for_scoring_alone(setting, fold, monkeypatch):
    """With other labels of test queries, every method gives the same scores."""
    monkeypatch.setattr(clicks, "MEASURE", lambda test, scores: scores)
    swapped = fold.test.replaced(relevance=2 - fold.test.labels)
    ours = clicks._learned(setting, fold, clicks.PBM, 0)
    theirs = clicks._learned(setting, replace(fold, test=swapped), clicks.PBM, 0)
    assert {key[2] for key in ours} == set(clicks.METHODS)
    for key, scores in ours.items():
        assert_array_equal(theirs[key], scores)


def test_finished_work_is_not_done_again(setting, tmp_path):
    stored = replace(setting, store=tmp_path)
    made = {(clicks.PBM, 10, clicks.OURS): np.array([0.25, 0.5])}
    kept = [clicks._kept(stored, "name", make) for make in (lambda: made, lambda: 1 / 0)]
    assert_array_equal(*(one[clicks.PBM, 10, clicks.OURS] for one in kept))


def test_seeds_with_the_same_queries_count_once():
    first, second = np.array([0.2, 0.4]), np.array([0.4, 0.8])
    assert_allclose(clicks.queries_of_seeds([first, second], True), [0.3, 0.6])
    assert_allclose(clicks.queries_of_seeds([first, second], False), [0.2, 0.4, 0.4, 0.8])


def test_grades_tell_how_much_is_seen():
    """Click rates that are exact products of examination and of the grade's attraction."""
    seen = 1 / np.arange(1, N_POSITIONS + 1)
    attraction = np.array([0.9, 0.6, 0.4, 0.2, 0.1])
    positions, grades = (
        one.ravel() for one in np.meshgrid(range(N_POSITIONS), range(len(GRADES)), indexing="ij")
    )
    rates = seen[positions] * attraction[grades]
    # Good grades stand high: rates of positions alone would fall faster.
    shown = 1.0 + 10 * (grades < 2) * (positions < 3)
    assert_allclose(_by_grade(positions, grades, rates, shown), seen, rtol=1e-6)


def test_only_judged_web_results_tell(tmp_path):
    import gzip

    page = {
        "grades": ["VITAL", "NOT_ASED", "USEFUL", "IRRELEVANT"],
        "kinds": ["WEB", "WEB", "IMAGES", "WEB"],
        "clicks": [0, 2],
    }
    with gzip.open(tmp_path / "log.gz", "wt") as file:
        file.write(json.dumps(page) + "\n")
    sessions, positions, grades, clicked = _graded(tmp_path / "log.gz")
    assert sessions.tolist() == [0, 0]
    assert positions.tolist() == [0, 3]
    assert grades.tolist() == [0, 4]
    assert clicked.tolist() == [1, 0]
