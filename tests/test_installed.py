"""Pages run after exactly what they say to install: nothing else can be imported."""

import os
import re
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from test_documentation import ROOT, blocks

import localrank
from localrank.data import make_queries, write_letor

PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/tutorial-text.md",
    "docs/data.md",
]
# With -I and -S a process sees the standard library alone, until a folder is added.
WITH_FOLDER = (
    "import sys; sys.path.insert(0, sys.argv[1]); exec(compile(sys.argv[2], 'page', 'exec'))"
)


def installed_by(page: Path) -> list[Requirement]:
    """What the first line of a page that installs localrank names."""
    line = re.search(r"pip install (.*localrank[^\n`#]*)", page.read_text())
    assert line is not None
    return [Requirement(name.strip("'\"")) for name in line[1].split()]


def needed_by(requirements: list[Requirement]) -> dict[str, Distribution]:
    """The distributions that pip would install, by name."""
    needed: dict[str, Distribution] = {}
    seen = set()
    waiting = list(requirements)
    while waiting:
        wanted = waiting.pop()
        for extra in {"", *wanted.extras}:
            if (key := (wanted.name.lower(), extra)) in seen:
                continue
            seen.add(key)
            needed[wanted.name] = distribution(wanted.name)
            for text in needed[wanted.name].requires or ():
                requirement = Requirement(text)
                marker = requirement.marker
                if marker is None or marker.evaluate({"extra": extra}):
                    waiting.append(requirement)
    return needed


def environment_of(page: Path, folder: Path) -> Path:
    """A folder with links to what a page says to install, and to nothing else."""
    folder.mkdir()
    for name, found in needed_by(installed_by(page)).items():
        tops = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(found.locate_file(top))))
        if name == "localrank" and not (folder / name).exists():
            (folder / name).symlink_to(Path(localrank.__file__).parent)
    return folder


def python_blocks(page: Path) -> str:
    """The Python blocks of a page, one after the other."""
    return "\n".join(text for language, text, _ in blocks(page) if language == "python")


def write_file(folder: Path) -> None:
    """Write the file that the README calls yours."""
    made, _ = make_queries(40, n_documents=(6, 12), n_features=8, random_state=0)
    write_letor(made, folder / "train.txt")


def run(environment: Path, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", WITH_FOLDER, str(environment), code],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_after_its_install_line(name, tmp_path):
    page = ROOT / name
    write_file(tmp_path)
    done = run(environment_of(page, tmp_path / "environment"), python_blocks(page), tmp_path)
    assert done.returncode == 0, done.stderr


def test_only_what_is_installed_can_be_imported(tmp_path):
    environment = environment_of(ROOT / "README.md", tmp_path / "environment")
    code = (
        "import importlib.util, lightgbm, localrank\n"
        "print([importlib.util.find_spec(name) is not None"
        " for name in ('numba', 'pandas', 'polars', 'pyarrow', 'matplotlib', 'pytest')])"
    )
    done = run(environment, code, tmp_path)
    assert done.stdout == "[True, False, False, False, False, False]\n", done.stderr
