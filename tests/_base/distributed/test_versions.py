import sys

import pytest

from localrank._base.distributed import check_versions
from localrank._base.parallel import in_parallel


@pytest.fixture
def fresh(client):
    """A client that has not asked its workers yet, and workers as they were afterwards."""
    from distributed import Client

    def restore():
        import importlib

        if sys.modules.get("localrank") is None:
            del sys.modules["localrank"]
        importlib.reload(importlib.import_module("localrank"))

    with Client(client.cluster) as fresh:
        yield fresh
        fresh.run(restore)


def test_equal_versions_are_asked_for_once(fresh, monkeypatch):
    asked = []
    run = fresh.run
    monkeypatch.setattr(fresh, "run", lambda *a, **k: asked.append(k["workers"]) or run(*a, **k))
    for _ in range(3):
        check_versions(fresh)
    assert [len(workers) for workers in asked] == [2]


def test_a_worker_that_ends_before_it_answers_is_no_error_and_not_known(fresh, monkeypatch):
    first, second = fresh.nthreads()
    run = fresh.run
    monkeypatch.setattr(fresh, "run", lambda *a, **k: run(*a, **k) | {first: OSError("closed")})
    check_versions(fresh)
    assert fresh._localrank_checked == {second}


def test_another_version_on_one_worker_is_refused_by_name(fresh):
    first, _ = fresh.nthreads()

    def age():
        import localrank

        localrank.__version__ = "0.0.9"

    fresh.run(age, workers=[first])
    import localrank

    expected = (
        f"worker {first} has localrank 0.0.9, this client has {localrank.__version__}: "
        "install the same versions"
    )
    with pytest.raises(ImportError) as refused:
        in_parallel(len, ["a"], n_jobs=None, description="Lengths")
    assert str(refused.value) == expected


@pytest.mark.parametrize("library", ["numpy", "scikit-learn", "lightgbm", "numba"])
def test_libraries_count_too(fresh, library):
    def pretend(library):
        from importlib import metadata

        real = metadata.version
        metadata.version = lambda name: "9.9" if name == library else real(name)
        metadata.real_version = real  # type: ignore[attr-defined]

    def restore():
        from importlib import metadata

        metadata.version = metadata.real_version  # type: ignore[attr-defined]

    fresh.run(pretend, library)
    try:
        with pytest.raises(ImportError, match=rf"has {library} 9\.9, this client has \d"):
            check_versions(fresh)
    finally:
        fresh.run(restore)


def test_a_worker_without_localrank_is_refused(fresh):
    def forget():
        import sys

        sys.modules["localrank"] = None

    fresh.run(forget)
    with pytest.raises(ImportError, match=r"has localrank \(not installed\), this client has 0"):
        check_versions(fresh)
