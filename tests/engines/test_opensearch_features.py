"""The queries of a feature set in a node of OpenSearch that has the features as fields."""

import numpy as np
import pytest
from engines.file_engines import features_in_opensearch
from tree_exports import KNOWS_MISSING, ZERO_FOR_MISSING, tree_model

from localrank.data import RankingDataset
from localrank.export import OpenSearchLTR

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def answers():
    """Documents, and what the node says: where missing is 0, where it is missing, below zero."""
    rng = np.random.default_rng(3)
    rows = np.abs(rng.normal(size=(40, 5))) * 10.0 ** rng.integers(-30, 30, (40, 5))
    rows[:, 0] = rng.integers(0, 3, 40)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[0] = [0.0, 1e-40, 3.4e38, 0.1, 1.0]
    rows[1:3, 0] = 1.0, np.nan
    learned, zeroed = (
        OpenSearchLTR().files(tree_model(rng, decisions))
        for decisions in (KNOWS_MISSING, ZERO_FOR_MISSING)
    )
    negative = rows.copy()
    negative[0, 3] = -0.1
    exports = [
        (files, RankingDataset.from_arrays(values, qid=np.repeat(np.arange(8), 5)))
        for files, values in [(zeroed, rows), (learned, rows), (zeroed, negative)]
    ]
    return rows, features_in_opensearch(exports)


def test_values_are_those_of_the_fields_to_the_last_bit(answers):
    rows, (_, learned, _) = answers
    assert np.array_equal(learned, rows.astype(np.float32).astype(np.float64), equal_nan=True)


def test_missing_values_are_zero_where_the_model_takes_them_for_zero(answers):
    rows, (zeroed, _, _) = answers
    assert np.array_equal(zeroed, np.nan_to_num(rows).astype(np.float32).astype(np.float64))


def test_values_below_zero_are_refused_as_the_readme_says(answers):
    assert "must not produce negative scores" in answers[1][2]
