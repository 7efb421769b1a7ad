"""What is shipped: the files in the wheel and the sdist, and what they say of themselves."""

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
import yaml

import localrank

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "localrank"


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as file:
        yield file


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    shipped = {Path(name) for name in wheel.namelist()}
    assert {path.parts[0] for path in shipped} == {
        "localrank",
        f"localrank-{localrank.__version__}.dist-info",
    }
    ours = {
        path.relative_to(PACKAGE.parent)
        for path in PACKAGE.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".nbi", ".nbc")
    }
    assert {path for path in shipped if path.parts[0] == "localrank"} == ours
    assert {
        Path("localrank/py.typed"),
        Path("localrank/evaluation/report/assets/page.html"),
    } <= ours


def test_the_wheel_is_small(dist):
    (path,) = dist.glob("*.whl")
    assert path.stat().st_size < 2_000_000


def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode())


def test_the_page_of_the_index_has_links_that_lead_somewhere(wheel):
    page = metadata(wheel).get_payload()
    links = re.findall(r"\]\(([^)]*)\)|(?:src|srcset)=\"([^\"]*)\"", page)
    targets = [link or source for link, source in links]
    assert len(targets) > 5
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_the_licence_is_inside(wheel):
    assert metadata(wheel)["License-Expression"] == "Apache-2.0"
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_the_sdist_can_be_tested_and_holds_no_data(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"pyproject.toml", "Makefile", "LICENSE", "tests/conftest.py", "docs/index.md"} <= names
    assert not [name for name in names if name.startswith((".venv", ".cache", "site/", "dist/"))]


def test_the_changelog_the_citation_and_the_recipe_are_of_this_version():
    version = localrank.__version__.partition(".dev")[0]
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first[1] == version
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == version
