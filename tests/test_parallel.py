import threading
import time
from contextlib import contextmanager

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from localrank import parallel
from localrank.parallel import in_parallel, one_thread, with_jobs
from localrank.rankers import Ensemble, LambdaMART, Quadratic, RankSVM
from localrank.recipes import query_neighbours


def test_results_have_the_order_of_the_items_however_long_each_takes():
    def slow(seconds):
        time.sleep(seconds)
        return seconds

    assert in_parallel(slow, [0.2, 0.0, 0.1], n_jobs=3, description="") == [0.2, 0.0, 0.1]


def test_as_many_items_are_worked_on_at_the_same_time_as_there_are_jobs():
    meeting = threading.Barrier(2)
    places = in_parallel(lambda _: meeting.wait(timeout=20), range(2), n_jobs=2, description="")
    assert sorted(places) == [0, 1]


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_linear_algebra_has_one_thread_meanwhile(n_jobs):
    def threads(_=None):
        return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        assert in_parallel(threads, range(2), n_jobs=n_jobs, description="") == [{1}, {1}]
        assert threads() == {2}


def test_progress_is_told_item_by_item(monkeypatch):
    told = []

    @contextmanager
    def bar(description, total):
        told.append((description, total))
        yield lambda: told.append("step")

    monkeypatch.setattr(parallel, "progress", bar)
    in_parallel(len, ["a", "b"], n_jobs=None, description="Lengths")
    assert told == [("Lengths", 2), "step", "step"]


def test_jobs_reach_parts_and_members_of_lists_in_a_copy():
    inner = LambdaMART(n_jobs=4)
    given = Ensemble((Quadratic(inner), RankSVM()), n_jobs=4)
    copy = with_jobs(given, 2)
    assert (copy.n_jobs, copy.rankers[0].ranker.n_jobs) == (2, 2)
    assert isinstance(copy.rankers, tuple)
    assert (given.n_jobs, inner.n_jobs) == (4, 4)
    assert one_thread(given).rankers[0].ranker.n_jobs == 1


def test_lists_of_other_things_stay():
    copy = one_thread(query_neighbours(columns=[3, 1], n_jobs=2))
    assert (copy.representation.columns, copy.n_jobs) == ([3, 1], 1)
