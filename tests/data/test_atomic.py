import errno
import os
import signal
import subprocess
import sys
import threading

import pytest

from localrank.data import _atomic as atomic
from localrank.data._atomic import atomic_write

KILLED = """
import os, signal, sys
from localrank.data._atomic import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with atomic_write(path) as file:
            file.write(b"half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"the folder .*absent does not exist"),
        atomic_write(tmp_path / "absent" / "file"),
    ):
        pass


def test_the_file_has_the_mode_of_an_ordinary_one(tmp_path):
    with atomic_write(tmp_path / "atomic") as file:
        file.write(b"x")
    (tmp_path / "ordinary").write_bytes(b"x")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="needs the right to make links")
def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    with atomic_write(pipe) as file:
        file.write(b"through")
    reader.join()
    assert received == [b"through"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs files without a name")
def test_a_killed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    result = subprocess.run([sys.executable, "-c", KILLED, path])
    assert result.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_system_without_nameless_files_writes_whole_files_too(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_DESCRIPTORS", tmp_path / "absent")
    path = tmp_path / "file"
    with atomic_write(path) as file:
        file.write(b"new")
        assert len(list(tmp_path.iterdir())) == 1
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
    test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path)


def test_an_error_of_the_system_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: .*model'") as caught:
        write(tmp_path / "model")
    assert caught.value.filename == str(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write("/dev/full")


def write(path):
    with atomic_write(path) as file:
        file.write(b"content")
