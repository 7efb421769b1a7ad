"""What a tab after `localrank.` offers."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import localrank

PACKAGES = [
    "aggregation",
    "data",
    "evaluation",
    "grouping",
    "measures",
    "rankers",
    "recipes",
    "representations",
    "selection",
    "text",
]


def test_the_package_shows_its_names_and_packages():
    assert dir(localrank) == sorted(["LocalRanker", "client", "load", *PACKAGES])
    assert localrank.__version__


def test_what_is_shown_is_there_without_another_import():
    code = (
        "import sys, localrank\n"
        "names = dir(localrank)\n"
        "assert 'numpy' not in sys.modules\n"
        "print(localrank.data.make_queries.__name__, localrank.recipes.best.__name__)\n"
        "for name in names: getattr(localrank, name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == ["make_queries", "best"]


@pytest.mark.parametrize("name", [*PACKAGES, "evaluation.plots"])
def test_packages_show_what_they_export_and_nothing_else(name):
    package = import_module(f"localrank.{name}")
    assert dir(package) == sorted(package.__all__)
    assert not any(inspect.ismodule(getattr(package, shown)) for shown in dir(package))


@pytest.mark.parametrize("name", [*PACKAGES, "evaluation.plots"])
def test_no_module_has_the_name_of_what_its_package_exports(name):
    # Once imported, it would stand in the way.
    package = import_module(f"localrank.{name}")
    modules = {path.stem for folder in package.__path__ for path in Path(folder).iterdir()}
    assert not modules & set(package.__all__)


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match="module 'localrank' has no attribute 'ranker'"):
        localrank.ranker  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_examples_of_one_file_run_alone():
    # Then pytest is what imports the rest of the package.
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "src/localrank/registry.py"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
