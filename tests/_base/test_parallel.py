import threading
import time
from contextlib import contextmanager

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from localrank._base import parallel
from localrank._base.parallel import in_parallel, one_blas_thread, one_thread, with_jobs
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


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "all"])
def test_a_wrong_number_of_jobs_is_refused_whoever_uses_it(n_jobs, queries):
    message = f"'n_jobs' parameter must be a positive number or -1, .* Got {n_jobs!r} instead"
    with pytest.raises(ValueError, match=message):
        in_parallel(len, ["a"], n_jobs=n_jobs, description="")
    for ranker in (LambdaMART(1, n_jobs=n_jobs), Ensemble([RankSVM()], n_jobs=n_jobs)):
        with pytest.raises(ValueError, match=message):
            ranker.fit(queries)


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


def blas_threads() -> set[int]:
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


def test_blocks_of_several_threads_leave_linear_algebra_as_it_was():
    first_inside, second_inside, first_left = (threading.Event() for _ in range(3))

    def first():
        with one_blas_thread():
            first_inside.set()
            second_inside.wait(20)
        first_left.set()

    def second():
        first_inside.wait(20)
        with one_blas_thread():
            second_inside.set()
            first_left.wait(20)
            seen.append(blas_threads())

    seen: list[set[int]] = []
    with threadpool_limits(2, user_api="blas"):
        threads = [threading.Thread(target=work) for work in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [{1}]
        assert blas_threads() == {2}


def test_fits_at_the_same_time_leave_linear_algebra_as_it_was(queries):
    with threadpool_limits(2, user_api="blas"):
        threads = [
            threading.Thread(target=query_neighbours(5, ranker=RankSVM()).fit, args=(queries,))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert blas_threads() == {2}


def test_threads_of_linear_algebra_do_not_change_a_model(queries):
    models = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            models.append(RankSVM().fit(queries))
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
