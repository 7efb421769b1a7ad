"""Two real users: what one plants where the other keeps compiled kernels is not executed.

The one who is attacked is root, who runs the tests; the attacker is a user without rights. Each
attack is what that user can do by itself, in a process of its own.
"""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import localrank

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be two users"
    ),
]

ATTACKER = 65534
KERNEL = """
from localrank._kernels.compilation import kernel

@kernel
def double(number):
    return 2 * number
"""
CALL = "import tiny; print(tiny.double(21))"
# A kernel that asks for nothing but to be loaded: it makes a file, and is no kernel.
PLANT = """
import os, pathlib, sys
os.setgroups([])
os.setgid({attacker})
os.setuid({attacker})
os.umask(0)
os.chdir({place!r})
def plant(folder):
    os.makedirs(folder, exist_ok=True)
    path = pathlib.Path(folder, {name!r})
    path.write_bytes({content!r})
{attack}
"""


class Executed:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


@dataclass
class Machine:
    """A folder that all can reach, with a copy of the package and a kernel."""

    place: Path
    name: str = ""

    @property
    def executed(self) -> Path:
        return self.place / "executed"

    @property
    def planted(self) -> bytes:
        content = pickle.dumps(Executed(self.executed))
        return hashlib.sha256(content).digest() + content

    def call(self, **environment):
        """Call the kernel as root."""
        # Kernels of other runs are among the temporary files of the machine.
        own = self.place / "temporary"
        own.mkdir(mode=0o700, exist_ok=True)
        nothing = {"HOME": "/nonexistent", "TMPDIR": str(own), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", CALL],
            env={**nothing, "PYTHONPATH": str(self.place / "package"), **environment},
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "42\n", done.stderr
        return done.stderr

    def attack(self, steps: str) -> None:
        """Let the other user do something; `plant(folder)` puts the file there."""
        script = PLANT.format(
            attacker=ATTACKER,
            place=str(self.place),
            name=self.name,
            content=self.planted,
            attack=steps,
        )
        subprocess.run([sys.executable, "-I", "-c", script], check=True)

    def folder(self, name: str, mode: int) -> Path:
        path = self.place / name
        path.mkdir(parents=True)
        path.chmod(mode)
        return path


@pytest.fixture(scope="module")
def installed():
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        package = place / "package"
        shutil.copytree(
            *(Path(localrank.__file__).parent, package / "localrank"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (package / "tiny.py").write_text(KERNEL, encoding="utf-8")
        machine = Machine(place)
        machine.call(NUMBA_CACHE_DIR=str(place / "known"))
        (kept,) = (place / "known" / "localrank").iterdir()
        machine.name = kept.name
        yield machine


@pytest.fixture
def machine(installed):
    """The machine, on which nothing is kept or planted yet."""
    before = set(installed.place.iterdir())
    yield installed
    for path in set(installed.place.iterdir()) - before:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(installed.place / "package" / "localrank" / "__pycache__", ignore_errors=True)


def test_what_is_planted_would_be_executed(machine):
    # By a folder that only root can write to: the attacks below are worth something.
    chosen = machine.folder("chosen/localrank", 0o700)
    (chosen / machine.name).write_bytes(machine.planted)
    machine.call(NUMBA_CACHE_DIR=str(chosen.parent))
    assert machine.executed.exists()


def test_a_chosen_folder_that_all_can_write_to(machine):
    chosen = machine.folder("chosen", 0o777)
    machine.attack("plant('chosen/localrank')")
    said = machine.call(NUMBA_CACHE_DIR=str(chosen))
    assert not machine.executed.exists()
    assert f"{chosen} may be written to by every user (close it with chmod go-w)" in said


def test_a_chosen_folder_of_the_other_user(machine):
    machine.folder("open", 0o1777)
    machine.attack("plant('open/chosen/localrank'); os.chmod('open/chosen', 0o755)")
    said = machine.call(NUMBA_CACHE_DIR=str(machine.place / "open/chosen"))
    assert not machine.executed.exists()
    assert "open/chosen belongs to another user (number 65534)" in said


def test_a_folder_made_first_in_a_sticky_folder(machine):
    sticky = machine.folder("sticky", 0o1777)
    machine.attack("plant('sticky/localrank'); plant('sticky/localrank-0')")
    machine.call(NUMBA_CACHE_DIR=str(sticky), TMPDIR=str(sticky))
    assert not machine.executed.exists()


def test_a_renamed_parent(machine):
    machine.folder("open", 0o777)
    chosen = machine.folder("open/chosen", 0o700)
    machine.attack("os.rename('open/chosen', 'open/old'); plant('open/chosen/localrank')")
    machine.call(NUMBA_CACHE_DIR=str(chosen))
    assert not machine.executed.exists()


def test_a_home_in_a_folder_that_all_can_write_to(machine):
    machine.folder("open", 0o777)
    home = machine.folder("open/home", 0o700)
    machine.attack("os.rename('open/home', 'open/old'); plant('open/home/.cache/localrank')")
    (machine.place / "package" / "localrank" / "__pycache__").touch()  # nothing is kept there
    said = machine.call(HOME=str(home))
    (machine.place / "package" / "localrank" / "__pycache__").unlink()
    assert not machine.executed.exists()
    assert "open may be written to by every user" in said


def test_a_link_that_is_pointed_elsewhere(machine):
    machine.folder("open", 0o777)
    machine.folder("kept/localrank", 0o700)
    link = machine.place / "open" / "chosen"
    link.symlink_to(machine.place / "kept")
    machine.attack(
        "os.unlink('open/chosen'); plant('open/theirs/localrank')\n"
        "os.symlink(os.path.abspath('open/theirs'), 'open/chosen')"
    )
    machine.call(NUMBA_CACHE_DIR=str(link))
    assert not machine.executed.exists()


def test_a_link_beyond_one_that_can_be_trusted(machine):
    machine.folder("open", 0o777)
    (machine.place / "chosen").symlink_to("open/chosen")
    machine.attack("plant('open/chosen/localrank')")
    machine.call(NUMBA_CACHE_DIR=str(machine.place / "chosen"))
    assert not machine.executed.exists()


def test_a_folder_of_a_group(machine):
    chosen = machine.folder("chosen/localrank", 0o770)
    os.chown(chosen, 0, ATTACKER)
    machine.attack("plant('chosen/localrank')")
    said = machine.call(NUMBA_CACHE_DIR=str(chosen.parent))
    assert not machine.executed.exists()
    assert "chosen/localrank may be written to by group 65534" in said


def test_an_open_folder_of_the_package(machine):
    machine.folder("package/localrank/__pycache__", 0o777)
    machine.attack("plant('package/localrank/__pycache__')")
    machine.call(HOME=str(machine.folder("home", 0o700)))
    assert not machine.executed.exists()
    # The user's own folder is next.
    assert (machine.place / "home/.cache/localrank" / machine.name).exists()


def test_an_open_file(machine):
    chosen = machine.folder("chosen/localrank", 0o755)
    (chosen / machine.name).touch()
    (chosen / machine.name).chmod(0o666)
    machine.attack("plant('chosen/localrank')")
    machine.call(NUMBA_CACHE_DIR=str(chosen.parent))
    assert not machine.executed.exists()
    assert (chosen / machine.name).read_bytes() != machine.planted, "the file is replaced"
