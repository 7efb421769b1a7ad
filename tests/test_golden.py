"""Model files that were written once: a change of the format that nobody meant is noticed here."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import localrank
from localrank import rankers, recipes
from localrank.data import RankingDataset
from localrank.registry import declared

FOLDER = Path(__file__).parent / "golden"
SCORES = json.loads((FOLDER / "scores.json").read_text())


@pytest.mark.parametrize("name", SCORES)
def test_a_golden_model_scores_as_when_it_was_written(name):
    features = np.sin(np.arange(60.0)).reshape(12, 5)
    documents = RankingDataset(features, None, np.array([0, 2, 7, 12]), np.arange(3))
    model = localrank.load(FOLDER / f"{name}.localrank")
    # Nets score in single precision, which other processors round in another order.
    accuracy = 1e-5 if name in ("best", "hybrid", "listwise-net", "list-net", "rank-net") else 1e-12
    assert_allclose(model.predict(documents), SCORES[name], rtol=1e-9, atol=accuracy)


@pytest.mark.parametrize("name", SCORES)
def test_a_golden_model_is_written_as_it_was(name, tmp_path):
    path = FOLDER / f"{name}.localrank"
    localrank.load(path).save(tmp_path / "again")
    then, now = (file.read_bytes().split(b"\n", 3) for file in (path, tmp_path / "again"))
    assert now[0] == then[0]
    assert now[3] == then[3]


def test_every_ranker_and_recipe_has_a_golden_model():
    assert {*declared(rankers), *declared(recipes)} <= SCORES.keys()
