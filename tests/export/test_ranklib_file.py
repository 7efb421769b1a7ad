import numpy as np
import pytest
from tree_exports import KNOWS_MISSING, NAMES, ZERO_FOR_MISSING, exported, tree_model

from localrank.data import RankingDataset
from localrank.export import NotExportable, RankLib
from localrank.formulas import Linear


def test_trees_that_learned_from_missing_values_are_refused(rng):
    with pytest.raises(NotExportable, match="learned from missing values.*Use xgboost-json"):
        RankLib().files(tree_model(rng, KNOWS_MISSING))


def test_the_first_line_tells_ranklib_the_kind_of_model(rng):
    trees = RankLib().files(tree_model(rng, ZERO_FOR_MISSING))["some_model.txt"]
    assert trees.startswith("## LambdaMART\n")
    linear = RankLib().files(exported(Linear(np.ones(5))))["some_model.txt"]
    assert linear.startswith("## Linear Regression\n")


def test_features_are_numbered_from_one_as_the_readme_lists_them(rng):
    readme = RankLib().files(tree_model(rng, ZERO_FOR_MISSING))["README.md"]
    for number, name in enumerate(NAMES, 1):
        assert f"{number}. {name}\n" in readme


def test_linear_models_keep_double_precision_and_their_constant(rng):
    weights = rng.normal(size=5)
    files = RankLib().files(exported(Linear(weights, 7.0)))
    rows = rng.normal(size=(20, 5)).astype(np.float32)
    rows[4, 1] = np.nan
    dataset = RankingDataset.from_arrays(rows, qid=[1] * 20)
    expected = np.nan_to_num(rows).astype(np.float64) @ weights + 7
    assert np.allclose(RankLib().scores(files, dataset), expected, rtol=1e-14)
