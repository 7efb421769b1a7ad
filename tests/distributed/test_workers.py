import re

from localrank.distributed import described_workers, peak_memory, workers


def test_a_line_says_what_workers_there_are(client):
    assert re.match(
        r"2 workers, memory of each 2\.0 GB; dashboard http://127", described_workers(client)
    )


def test_peak_memory_is_that_of_the_worker_that_took_most(client):
    first, _ = client.nthreads()
    before = client.run(workers._peak)
    taken = 400_000_000

    def take():
        bytearray(b"x") * taken

    client.run(take, workers=[first])
    after = client.run(workers._peak)
    assert after[first] >= before[first] + 0.5 * taken
    low, high = min(after.values()) / 1e9, max(after.values()) / 1e9
    assert peak_memory(client) == f"Workers' peak memory: {low:.1f}–{high:.1f} GB of 2.0 GB"
