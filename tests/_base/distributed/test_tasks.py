import os
import threading
import time
import warnings

import cluster_tasks
import joblib
import numpy as np
import pytest
from cluster_tasks import Counted, Lasting, die, die_once, process
from threadpoolctl import threadpool_info

from localrank._base import distributed as cluster_work
from localrank._base.distributed import client_in_scope
from localrank._base.parallel import as_finished, cpu_seconds, in_parallel
from localrank.data import make_queries
from localrank.evaluation import permutation_importance, tune
from localrank.rankers import (
    LGMML,
    DuhKirchhoff,
    Ensemble,
    MultipleHyperplaneRanker,
    RankBoost,
    RankSVM,
)
from localrank.recipes import local_rank


def left(client, but: int = 0) -> set[str]:
    """What workers have not forgotten within some seconds, where it is more than so much."""
    for _ in range(100):
        held = {*client.who_has(), *client.futures}
        if len(held) <= but:
            return set()
        time.sleep(0.1)
    return held


def test_results_have_the_order_of_the_items_whichever_is_first(client):
    def slow(seconds):
        time.sleep(seconds)
        return seconds

    items = [0.5, 0.0, 0.1, 0.0]
    assert in_parallel(slow, items, n_jobs=None, description="Slow") == items


def test_workers_do_it_and_not_this_process(client):
    processes = in_parallel(process, range(8), n_jobs=None, description="Processes")
    assert set(processes) == set(client.run(os.getpid).values())


def test_what_is_better_done_here_stays_here(client):
    processes = in_parallel(process, range(2), n_jobs=2, description="Processes", here=True)
    assert set(processes) == {os.getpid()}


def test_a_task_does_in_turn_and_with_one_thread_what_it_would_send_off(client):
    def facts(_):
        inner = in_parallel(
            lambda _: (threading.get_ident(), os.getpid()), range(3), n_jobs=-1, description=""
        )
        blas = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}
        this_one = threading.get_ident(), os.getpid()
        return (
            client_in_scope() is None,
            set(inner) == {this_one},
            joblib.effective_n_jobs(-1),
            blas,
        )

    np.ones((2, 2)) @ np.ones((2, 2))
    [result] = in_parallel(facts, [0], n_jobs=None, description="Facts")
    assert result == (True, True, 1, {1})


def test_cpu_seconds_of_a_task_are_those_of_its_thread(client):
    def seconds(_):
        stop = threading.Event()

        def burn():
            while not stop.is_set():
                sum(range(1000))

        beside = threading.Thread(target=burn)
        beside.start()
        start = cpu_seconds()
        time.sleep(0.5)
        taken = cpu_seconds() - start
        stop.set()
        beside.join()
        return taken

    [taken] = in_parallel(seconds, [0], n_jobs=None, description="Seconds")
    assert taken < 0.1


def test_an_exception_keeps_its_type_and_message(client):
    def fail(item):
        if item == 2:
            raise FileNotFoundError(2, "no such file", "part-7.parquet")

    with pytest.raises(FileNotFoundError, match="no such file: 'part-7.parquet'"):
        in_parallel(fail, range(4), n_jobs=None, description="Failing")
    assert not left(client)


def test_warnings_of_tasks_are_issued_here_each_time(client):
    def warn(item):
        warnings.warn(f"item {item} is odd", RuntimeWarning, stacklevel=1)
        return item

    for _ in range(2):
        with pytest.warns(RuntimeWarning) as issued:
            assert in_parallel(warn, range(2), n_jobs=None, description="Warn") == [0, 1]
        assert {str(one.message) for one in issued} == {"item 0 is odd", "item 1 is odd"}


def test_what_tasks_share_is_sent_once(client, monkeypatch):
    monkeypatch.setattr(Counted, "n_sent", 0)
    value = Counted()
    for calls in (1, 2):
        in_parallel(process, range(12), shared=(value,), n_jobs=None, description="Shared")
        # It might have been changed between the calls.
        assert Counted.n_sent == calls
    assert not left(client)


def test_what_stays_as_it_is_is_sent_once_for_all_calls_and_forgotten_with_its_owner(
    client, monkeypatch
):
    monkeypatch.setattr(Lasting, "n_sent", 0)
    value = Lasting()
    for _ in range(3):
        in_parallel(process, range(4), shared=(value,), n_jobs=None, description="Shared")
    assert Lasting.n_sent == 1
    assert not left(client, but=1)
    assert len(client.who_has()) == 1
    del value
    assert not left(client)


def test_lists_and_tuples_are_shared_whole(client):
    def together(item, pair, names):
        return item, pair, names

    results = in_parallel(
        together, [(len, 2)], shared=((1, 2), ["a", "b"]), n_jobs=None, description=""
    )
    assert results == [((len, 2), (1, 2), ["a", "b"])]


def test_calls_are_read_only_as_far_as_there_is_room(client):
    n_read = 0

    def calls():
        nonlocal n_read
        for item in range(40):
            n_read += 1
            yield item, ()

    ahead = []
    for n_done, (_, get) in enumerate(as_finished(process, calls(), description="Many")):
        get()
        ahead.append(n_read - n_done)
    assert n_read == len(ahead) == 40
    assert max(ahead) == cluster_work.N_AHEAD * 2


def test_leaving_early_cancels_what_is_left(client, tmp_path):
    def mark(item, folder):
        time.sleep(2 if item else 0)
        (folder / str(item)).touch()

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        for _ in as_finished(
            mark, ((item, (tmp_path,)) for item in range(40)), description="Marks"
        ):
            raise KeyboardInterrupt
    assert not left(client)
    # The first, and those that two workers had begun when it was done.
    assert len(list(tmp_path.iterdir())) <= 3


def test_tasks_have_readable_names(client, monkeypatch):
    from dask.utils import key_split

    keys = []
    submit = client.submit
    monkeypatch.setattr(
        client, "submit", lambda *a, key, **k: keys.append(key) or submit(*a, key=key, **k)
    )
    in_parallel(process, range(3), n_jobs=None, description="Group models")
    assert [key_split(key) for key in keys] == ["group-models"] * 3


def test_a_worker_that_ends_is_replaced(client, tmp_path):
    def dying(item, values):
        if item == 3:
            die_once(tmp_path / "flag")
        return item + values.sum()

    results = in_parallel(
        dying, range(12), shared=(np.arange(1000),), n_jobs=None, description="Sums"
    )
    assert results == [item + 499_500 for item in range(12)]


@pytest.mark.slow
def test_data_that_is_lost_is_sent_again(single, tmp_path, monkeypatch):
    monkeypatch.setattr(Lasting, "n_sent", 0)

    def dying(item, values, lasting):
        if item == 3:
            die_once(tmp_path / "flag")
        return item + values.sum()

    lasting = Lasting()
    with single.as_current():
        results = in_parallel(
            dying, range(12), shared=(np.arange(1000), lasting), n_jobs=None, description="Sums"
        )
    assert results == [item + 499_500 for item in range(12)]
    assert Lasting.n_sent == 2
    del lasting
    assert not left(single)


@pytest.mark.slow
def test_a_task_that_ends_every_worker_is_named(single, monkeypatch):
    monkeypatch.setattr(single.cluster.scheduler, "allowed_failures", 0)
    with (
        single.as_current(),
        pytest.raises(MemoryError, match=r"Group models, task 1: 1 workers ended .* 1\.9 GiB"),
    ):
        in_parallel(lambda item: die(), [0], n_jobs=None, description="Group models")


@pytest.mark.slow
def test_a_cluster_that_has_lost_all_workers_is_an_error(single, monkeypatch):
    monkeypatch.setattr(cluster_work, "TO_FIND_WORKERS", 1)
    monkeypatch.setattr(cluster_work, "TO_LOOK", 0.5)

    async def stay_away():
        pass

    [nanny] = single.cluster.workers.values()
    monkeypatch.setattr(nanny, "instantiate", stay_away)
    with (
        single.as_current(),
        pytest.raises(OSError, match="tcp://.*: the scheduler had no workers for 1 s. Start some"),
    ):
        in_parallel(lambda item: die(), [0], n_jobs=None, description="Group models")
    assert not single.nthreads()


@pytest.mark.slow
def test_data_that_is_lost_too_often_is_an_error(single, monkeypatch):
    monkeypatch.setattr(cluster_work, "N_AGAIN", 0)
    with (
        single.as_current(),
        pytest.raises(RuntimeError, match="Sums, task 1: its data was lost 1 times"),
    ):
        in_parallel(
            lambda item, values: die(), [0], shared=([1, 2],), n_jobs=None, description="Sums"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda data: local_rank(2, ranker=RankSVM()).fit(data), id="groups"),
        pytest.param(
            lambda data: local_rank(2, ranker=RankSVM()).fit(data, query_weight=np.ones(100)),
            id="weights",
        ),
        pytest.param(lambda data: Ensemble([RankSVM(), RankSVM(2.0)]).fit(data), id="ensemble"),
        pytest.param(
            lambda data: MultipleHyperplaneRanker(pairs="adjacent").fit(data), id="hyperplanes"
        ),
        pytest.param(lambda data: LGMML(n_metrics=3, n_iterations=10).fit(data), id="lgmml"),
        pytest.param(
            lambda data: DuhKirchhoff(RankBoost(2)).fit(data).predict(data.select(range(3))),
            id="duh-kirchhoff",
        ),
        pytest.param(
            lambda data: tune(RankSVM(), {"scaling": [None, "standard"]}, data, 2), id="tuning"
        ),
        pytest.param(
            lambda data: permutation_importance(RankSVM().fit(data), data, n_repeats=1),
            id="permutation",
        ),
    ],
)
def test_tasks_do_not_carry_the_data(client, task_sizes, work):
    data, _ = make_queries(100, n_documents=(18, 20), n_features=10, random_state=2)
    assert data.features.nbytes > 140_000
    work(data)
    assert len(task_sizes) >= 2
    assert max(task_sizes) < 14_000


def test_the_module_of_tasks_is_found_by_workers(client):
    assert set(client.run(lambda: __import__("cluster_tasks").__name__).values()) == {
        cluster_tasks.__name__
    }
