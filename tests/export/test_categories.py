"""Models of categories: exported exactly, or refused with the reason."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from localrank.data import read_table
from localrank.export import export, verify
from localrank.export.writing import targets
from localrank.formulas import NotExportable
from localrank.rankers import LambdaMART, RankSVM

WITH_SETS = [name for name, target in targets().items() if target.takes_sets]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    colours = np.array(["light red", "green", "blue", "black"])
    codes = rng.integers(0, 4, 400)
    labels = (codes + rng.integers(0, 2, 400)) % 5
    return pd.DataFrame(
        {
            "qid": np.repeat(np.arange(40), 10),
            "label": labels,
            "bm25": rng.normal(size=400).astype(np.float32),
            "colour": colours[codes],
        }
    )


@pytest.fixture(scope="module")
def dataset(table):
    return read_table(table)


@pytest.fixture(scope="module")
def sets(dataset):
    ranker = LambdaMART(10, min_leaf_documents=5).fit(dataset)
    assert ranker.trees_.has_sets
    return ranker


@pytest.mark.parametrize("to", [name for name in targets() if name not in WITH_SETS])
def test_sets_of_categories_are_refused_with_what_to_do(to, sets, tmp_path):
    with pytest.raises(NotExportable, match="split by sets of categories.*categories='one-hot'"):
        export(sets, to, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("to", WITH_SETS)
def test_sets_of_categories_are_exported_exactly(to, sets, table, dataset, tmp_path):
    export(sets, to, tmp_path / "model")
    assert verify(sets, to, tmp_path / "model", dataset).largest_difference < 1e-12
    # A value that was not in training is missing, in the engine as in the model.
    odd = read_table(table.assign(colour=table["colour"].replace("blue", "new")))
    assert verify(sets, to, tmp_path / "model", odd).largest_difference < 1e-12


def test_lightgbm_finds_the_codes_of_a_frame(sets, table, dataset, tmp_path):
    export(sets, "lightgbm", tmp_path / "model")
    frame = table[["bm25", "colour"]].assign(
        colour=pd.Categorical(table["colour"], ["light red", "blue", "new", "black", "green"])
    )
    booster = lightgbm.Booster(model_file=tmp_path / "model" / "localrank.txt")
    assert_array_equal(booster.predict(frame), sets.predict(dataset))
    assert "'colour' are categories" in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.parametrize("to", list(targets()))
@pytest.mark.parametrize(
    "ranker",
    [LambdaMART(10, min_leaf_documents=5, categories="one-hot"), RankSVM()],
    ids=["trees", "linear"],
)
def test_a_model_of_columns_of_0_and_1_is_verified_on_the_table(to, ranker, dataset, tmp_path):
    model = ranker.fit(dataset)
    try:
        export(model, to, tmp_path / "model")
    except NotExportable:
        pytest.skip("not a model of this kind")
    result = verify(model, to, tmp_path / "model", dataset)
    assert result.largest_difference < 1e-5 * max(result.largest_score, 1)
