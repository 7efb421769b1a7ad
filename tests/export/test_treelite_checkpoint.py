import sys

import pytest
from engines.file_engines import rank_in_treelite
from tree_exports import documents_at, tree_model

from localrank.export import Treelite


def test_treelite_scores_as_the_model(rng):
    model = tree_model(rng)
    dataset = documents_at(rng, model.formula.trees.thresholds)
    scores = rank_in_treelite(Treelite().files(model), dataset)
    assert scores == pytest.approx(model.formula.score(dataset), abs=1e-12)


def test_without_treelite_it_is_said_how_to_get_it(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(ImportError, match="pip install treelite"):
        Treelite().files(tree_model(rng))
