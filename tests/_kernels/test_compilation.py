import ctypes
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

import localrank
from localrank._kernels import compilation

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "golden" / "rank-svm.localrank"

# Prints how many kernels were compiled.
COUNT = """
import sys
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
import numpy as np
{}
print(len(compiled.buffer) // 2)
"""
RANK = COUNT.format("import localrank\nlocalrank.load(sys.argv[1]).predict(np.eye(5), qid=[1] * 5)")
SORT = COUNT.format(
    "from localrank._kernels.sorting import argsort_descending\n"
    "assert argsort_descending(np.array([1.0, 2.0]), np.array([0, 2])).tolist() == [1, 0]"
)


@pytest.fixture
def installed():
    """A folder that every user may read, with a copy of the package and of a model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(
            *(Path(localrank.__file__).parent, folder / "localrank"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        shutil.copy(GOLDEN, folder / "model.localrank")
        (folder / "documents.txt").write_text("0 qid:7 1:1 5:0 #docid = a\n", encoding="utf-8")
        yield folder


def run(folder, *arguments, preexec_fn=None, **environment):
    """Run Python with the copy, and with no variables but the given ones."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        cwd=folder,
        preexec_fn=preexec_fn,
        capture_output=True,
        text=True,
        check=False,
    )


def obey_modes():
    """Take from root the right to write to any folder."""
    prctl, PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = ctypes.CDLL(None).prctl, 24, 1
    if prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
        raise PermissionError


@pytest.fixture
def confined(installed):
    """Run Python as a user who may write nowhere, neither at home nor to the package."""
    if not sys.platform.startswith("linux"):
        pytest.skip("written for Linux")
    preexec_fn = obey_modes if os.getuid() == 0 else None
    try:
        run(installed, "-c", "", preexec_fn=preexec_fn)
    except subprocess.SubprocessError:
        pytest.skip("root may write everywhere, and cannot do without that here")
    closed = installed / "closed"
    closed.mkdir()
    folders = [installed, *(path for path in installed.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)

    def call(*arguments, **environment):
        environment = {"HOME": str(closed), "TMPDIR": str(closed), **environment}
        return run(installed, *arguments, preexec_fn=preexec_fn, **environment)

    yield call
    for path in folders:
        path.chmod(0o755)


# The system's own folder of temporary files is open to all: say that there is none.
NO_TEMPORARY = "import tempfile; tempfile.tempdir = 'closed'\n"
COMMAND = "import sys; from localrank.cli import main; sys.argv[0] = 'localrank'; main()"


def test_without_a_folder_to_write_to_models_rank_and_one_line_says_so(confined):
    done = confined("-W", "always", "-c", NO_TEMPORARY + RANK, "model.localrank")
    assert int(done.stdout) > 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "kernels" in line]
    assert "for this process only, because these folders cannot be used" in line
    assert "__pycache__: Permission denied" in line
    assert "Set NUMBA_CACHE_DIR to a folder" in line


def test_without_a_folder_to_write_to_commands_work_and_one_line_says_so(confined):
    ranked = confined("-c", NO_TEMPORARY + COMMAND, "rank", "model.localrank", "documents.txt")
    assert ranked.returncode == 0, ranked.stderr
    assert ranked.stdout.split()[:3] == ["7", "Q0", "a"]
    (line,) = ranked.stderr.splitlines()
    assert line.startswith("warning: Compiled kernels are kept for this process only")
    listed = confined("-c", NO_TEMPORARY + COMMAND, "methods")
    assert (listed.returncode, listed.stderr) == (0, "")


def test_a_temporary_folder_is_the_last_choice(confined):
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o1777)
        first = confined("-c", RANK, "model.localrank", TMPDIR=temporary)
        second = confined("-c", RANK, "model.localrank", TMPDIR=temporary)
        (folder,) = Path(temporary).iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert f"in {folder} for now" in first.stderr
    assert (second.stdout, second.stderr) == ("0\n", "")


def test_a_temporary_folder_of_everybody_is_not_used(confined):
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o1777)
        confined("-c", RANK, "model.localrank", TMPDIR=temporary)
        (folder,) = Path(temporary).iterdir()
        folder.chmod(0o777)
        done = confined("-c", RANK, "model.localrank", TMPDIR=temporary)
    assert int(done.stdout) > 0
    assert "for this process only" in done.stderr


def test_kernels_of_the_installed_package_are_read_where_they_cannot_be_written(confined):
    with tempfile.TemporaryDirectory() as chosen:
        Path(chosen).chmod(0o755)
        confined("-c", RANK, "model.localrank", NUMBA_CACHE_DIR=chosen)
        Path(chosen, "localrank").chmod(0o555)
        done = confined("-c", RANK, "model.localrank", NUMBA_CACHE_DIR=chosen)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_kernels_are_compiled_anew_when_a_module_they_are_made_of_changes(installed):
    counts = [run(installed, "-c", SORT, NUMBA_CACHE_DIR=str(installed)).stdout for _ in range(2)]
    arrays = installed / "localrank" / "_base" / "arrays.py"
    arrays.write_text(arrays.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    counts.append(run(installed, "-c", SORT, NUMBA_CACHE_DIR=str(installed)).stdout)
    assert int(counts[0]) > 0
    assert counts[1:] == ["0\n", counts[0]]


def test_a_damaged_file_is_replaced(installed):
    run(installed, "-c", SORT, NUMBA_CACHE_DIR=str(installed))
    kept = list(installed.glob("localrank/*_argsort_descending*.nbc"))
    for path in kept:
        path.write_bytes(path.read_bytes()[:1000])
    counts = [run(installed, "-c", SORT, NUMBA_CACHE_DIR=str(installed)).stdout for _ in range(2)]
    assert len(kept) == 1
    assert int(counts[0]) > 0
    assert counts[1] == "0\n"


def test_a_terminal_is_told_once_that_kernels_are_compiled(installed):
    pty = pytest.importorskip("pty")
    script = f"import sys; sys.argv[1] = 'model.localrank'\n{RANK}"
    said = []
    for _ in range(2):
        receiver, terminal = pty.openpty()
        subprocess.run(
            [sys.executable, "-c", script, ""],
            env={"PYTHONPATH": str(installed), "NUMBA_CACHE_DIR": str(installed / "kept")},
            cwd=installed,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            check=True,
        )
        os.write(terminal, b".")
        said.append(os.read(receiver, 10_000).decode())
        os.close(terminal)
        os.close(receiver)
    assert said[0].count("compiling kernels, once on this machine") == 1
    assert str(installed / "kept") in said[0]
    assert said[1] == "."


def test_logs_are_not_told(installed):
    done = run(installed, "-c", SORT, NUMBA_CACHE_DIR=str(installed))
    assert done.stderr == ""


def kernels():
    for module in pkgutil.walk_packages(localrank.__path__, "localrank."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Dispatcher):
                    yield value


def test_a_kernel_is_known_by_every_module_whose_kernels_it_calls():
    for kernel in kernels():
        function = kernel.py_func
        made_of = compilation._modules(function.__module__)
        for name in function.__code__.co_names:
            used = function.__globals__.get(name)
            origin = getattr(getattr(used, "py_func", used), "__module__", None) or ""
            if origin.startswith("localrank"):
                assert origin in made_of, f"{function.__qualname__} uses {name} of {origin}"
