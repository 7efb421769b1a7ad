"""What packages export, and what a tab after `localrank.` offers."""

import ast
import compileall
import inspect
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import localrank
from localrank.cli import PANELS
from localrank.experiments import EXPERIMENTS

SOURCE = Path(localrank.__file__).parent

PACKAGES = [
    "aggregation",
    "clicks",
    "data",
    "evaluation",
    "fusion",
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


def modules():
    """Every module in a package with a plain name, with its path; packages and `_base` aside."""
    for path in sorted(SOURCE.rglob("*.py")):
        *folders, last = path.relative_to(SOURCE).with_suffix("").parts
        if not last.startswith("__") and not any(folder.startswith("_") for folder in folders):
            yield ".".join(["localrank", *folders, last])


def exported(init):
    """The names that a package exports, each with its module, by the lines of its `__init__`."""
    tree = ast.parse(init.read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name or "report" in init.parts
    }


INITS = sorted(SOURCE.rglob("__init__.py"))


def test_a_leading_underscore_says_that_a_module_exports_nothing():
    origins = {origin for init in INITS for origin in exported(init).values()}
    commands = {f"localrank.cli.{one.__name__}" for panel in PANELS.values() for one in panel}
    experiments = {f"localrank.experiments.{name.replace('-', '_')}" for name in EXPERIMENTS}
    beside = {f"localrank.{path.stem}" for path in SOURCE.glob("*.py")}
    public = origins | commands | experiments | beside
    names = list(modules())
    private = {name for name in names if name.rpartition(".")[2].startswith("_")}
    assert not private & public
    assert not set(names) - private - public


@pytest.mark.parametrize(
    "init",
    [init for init in INITS if "on_use(__name__)" in init.read_text()],
    ids=lambda init: init.parent.name,
)
def test_exports_are_the_lines_of_the_package(init):
    # They are read from compiled code.
    package = import_module(".".join(init.parent.relative_to(SOURCE.parent).parts))
    names = exported(init)
    assert package.__all__ == dir(package) == sorted(names)
    for name, origin in names.items():
        inside = origin == package.__name__
        expected = (
            import_module(f"{origin}.{name}") if inside else getattr(import_module(origin), name)
        )
        assert getattr(package, name) is expected


def test_a_package_without_sources_exports_the_same(tmp_path):
    copied = tmp_path / "localrank"
    shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(copied, legacy=True, quiet=1)
    for path in copied.rglob("*.py"):
        path.unlink()
    code = (
        "import localrank, localrank.data, numpy\n"
        "assert localrank.__file__.endswith('.pyc'), localrank.__file__\n"
        "print(*dir(localrank.data))\n"
        "dataset, _ = localrank.data.make_queries(20, random_state=0)\n"
        "model = localrank.rankers.RankSVM().fit(dataset)\n"
        "print(*model.predict(dataset)[:3].tolist())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    names, scores = done.stdout.splitlines()
    assert names.split() == dir(localrank.data)
    dataset, _ = localrank.data.make_queries(20, random_state=0)
    expected = localrank.rankers.RankSVM().fit(dataset).predict(dataset)[:3]
    assert [float(score) for score in scores.split()] == expected.tolist()
