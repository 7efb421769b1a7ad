"""Model files that were written once, and are read for ever.

A change of the format that nobody meant is noticed here. One that is meant gets a new number, new
files beside these, and code that still reads these.
"""

import json
import re
from pathlib import Path

import pytest
from golden.make import scores_of
from numpy.testing import assert_allclose

import localrank
from localrank import aggregation, fusion, grouping, rankers, recipes, representations, selection
from localrank.persistence._scikit_learn import CLASSIFIERS
from localrank.persistence.encoding import INNER
from localrank.registry import declared
from localrank.text import load_extractor

FOLDER = Path(__file__).parent / "golden"
SCORES = json.loads((FOLDER / "scores.json").read_text())
FILES = sorted(path.stem for path in FOLDER.glob("*.localrank"))


@pytest.mark.parametrize("name", SCORES)
def test_a_golden_model_scores_as_when_it_was_written(name):
    if name == "index":
        model = load_extractor(FOLDER / name)
    else:
        model = localrank.load(FOLDER / f"{name}.localrank")
    # Nets score in single precision, which other processors round in another order.
    accuracy = 1e-5 if name in ("best", "hybrid", "listwise-net", "list-net", "rank-net") else 1e-12
    assert_allclose(scores_of(name, model), SCORES[name], rtol=1e-9, atol=accuracy)


@pytest.mark.parametrize("name", FILES)
def test_a_golden_model_is_written_as_it_was(name, tmp_path):
    path = FOLDER / f"{name}.localrank"
    localrank.load(path).save(tmp_path / "again")
    then, now = (file.read_bytes().split(b"\n", 3) for file in (path, tmp_path / "again"))
    assert now[0] == then[0]
    assert now[3] == then[3]


def test_every_ranker_and_recipe_has_a_golden_model():
    assert {*declared(rankers), *declared(recipes)} <= SCORES.keys()


def test_every_class_that_a_file_may_hold_is_in_a_golden_one():
    packages = (aggregation, fusion, grouping, rankers, representations, selection)
    parts = [part for package in packages for part in declared(package).values()]
    allowed = {part.__name__ for part in parts if isinstance(part, type)} | {*INNER, *CLASSIFIERS}
    files = b"".join(path.read_bytes() for path in FOLDER.rglob("*.localrank"))
    held = {name.decode() for name in re.findall(rb'"(?:class|scikit-learn)": ?"(\w+)"', files)}
    # It chooses by labels, and cannot be saved.
    assert allowed - held == {"Clairvoyant"}
