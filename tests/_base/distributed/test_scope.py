import subprocess
import sys

import pytest

from localrank._base.distributed import client_in_scope, in_task


def test_without_a_client_there_is_none_and_the_library_is_not_loaded():
    code = (
        "import sys\n"
        "from localrank._base.parallel import in_parallel\n"
        "assert in_parallel(len, ['a'], n_jobs=None, description='') == [1]\n"
        "assert 'distributed' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_client_is_in_scope_while_it_is_open(client):
    import distributed

    assert client_in_scope() is client
    with distributed.Client(client.cluster) as second:
        assert client_in_scope() is second
        with client.as_current():
            assert client_in_scope() is client
        assert client_in_scope() is second
    assert client_in_scope() is client


def test_inside_a_task_there_is_none(client):
    def facts():
        with client_of_worker().as_current():
            return in_task(), client_in_scope()

    from distributed import get_client as client_of_worker

    assert not in_task()
    assert client.submit(facts).result() == (True, None)


def test_a_client_that_cannot_be_waited_for_is_not_taken(client):
    import asyncio

    from distributed import Client

    async def scope():
        async with Client(client.scheduler.address, asynchronous=True) as asynchronous:
            with asynchronous.as_current():
                return client_in_scope()

    assert asyncio.run(scope()) is None


@pytest.mark.parametrize("question", [client_in_scope, in_task])
def test_a_closed_client_leaves_nothing(client, question):
    import distributed

    with distributed.Client(client.cluster, set_as_default=False) as other:
        pass
    with other.as_current():
        assert not question()
