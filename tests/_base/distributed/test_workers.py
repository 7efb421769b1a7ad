import re

from localrank._base import distributed as cluster_work
from localrank._base.distributed import described_workers, peak_memory


def test_a_line_says_what_workers_there_are(client):
    assert re.match(
        r"2 workers, memory per worker: 2\.0 GB; dashboard http://127", described_workers(client)
    )


def test_peak_memory_is_that_of_the_worker_that_took_most(client):
    first, _ = client.nthreads()
    before = client.run(cluster_work._peak)
    taken = 400_000_000

    def take():
        bytearray(b"x") * taken

    client.run(take, workers=[first])
    after = client.run(cluster_work._peak)
    assert after[first] >= before[first] + 0.5 * taken
    low, high = min(after.values()) / 1e9, max(after.values()) / 1e9
    assert peak_memory(client) == f"Workers' peak memory: {low:.1f}–{high:.1f} GB of 2.0 GB"


def test_all_workers_are_counted_where_dask_tells_of_five(client, monkeypatch):
    each = {"nthreads": 1, "memory_limit": 3_000_000_000}

    def scheduler_info(n_workers=5):
        return {"workers": dict.fromkeys(range(12 if n_workers < 0 else n_workers), each)}

    monkeypatch.setattr(client, "scheduler_info", scheduler_info)
    assert described_workers(client).startswith("12 workers, memory per worker: 3.0 GB")
