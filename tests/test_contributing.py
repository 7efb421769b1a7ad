"""The map of CONTRIBUTING.md against the packages."""

import re
import tomllib
from pathlib import Path

import pytest

import localrank

ROOT = Path(__file__).parents[1]
SOURCE = Path(localrank.__file__).parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def table(heading):
    """The rows below the first table of a section, as cells."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def entries():
    """The packages (with a slash) and modules of the map, in its order."""
    return [name for row in table("Where things go") for name in re.findall(r"`([^`]+)`", row[0])]


def test_the_map_has_every_package_and_module_and_no_other():
    packages = {f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py")}
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py"}
    assert sorted(entries()) == sorted(packages | modules)


def test_the_map_is_in_the_order_of_the_layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (contract["layers"] for contract in contracts["contracts"] if "layers" in contract)
    assert [re.sub(r"/$|\.py$", "", name) for name in entries()] == layers


@pytest.mark.parametrize("row", table("Adding a part"), ids=lambda row: row[0])
def test_bases_and_contracts_of_parts_exist(row):
    _, bases, _, contract = row
    for base in re.findall(r"`(\w+(?:\.\w+)+)`", bases):
        module, _, name = base.rpartition(".")
        source = SOURCE / f"{module.replace('.', '/')}.py"
        text = (
            source.read_text() if source.exists() else (SOURCE / module / "__init__.py").read_text()
        )
        assert re.search(rf"\b{name}\b", text), base
    for path in re.findall(r"`(tests/[^`]+)`", contract):
        assert (ROOT / path).exists()


def test_files_that_the_text_names_exist():
    paths = re.findall(r"`((?:tests|docs|benchmarks|src|\.ci|\.github)/[\w./*-]+)`", TEXT)
    missing = [path for path in paths if not any(ROOT.glob(path.rstrip("/")))]
    assert not missing
