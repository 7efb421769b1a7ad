"""Categories on the command line: a model finds the values of its training data again."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def tables(tmp_path):
    """Training and test tables; the shops are numbers with leading zeros."""
    rng = np.random.default_rng(0)
    shops, brands = np.array(["007", "7", "12", "40"]), np.array(["a", "b", "c", None], object)
    codes, others = rng.integers(0, 4, 600), rng.integers(0, 4, 600)
    table = pd.DataFrame(
        {
            "qid": np.repeat(np.arange(60), 10),
            "label": (codes + others) // 2,
            "shop": shops[codes],
            "brand": brands[others],
            "bm25": rng.normal(size=600),
        }
    )
    table[:400].to_csv(tmp_path / "train.csv", index=False)
    # The columns and the first values come in another order.
    table[400:][["bm25", "brand", "label", "shop", "qid"]][::-1].to_csv(
        tmp_path / "test.csv", index=False
    )
    return tmp_path


@pytest.mark.parametrize(
    "method",
    [
        ["lambdamart", "--set", "min_leaf_documents=5"],
        ["lambdamart", "--set", "min_leaf_documents=5", "--set", "categories=one-hot"],
        ["rank-svm"],
    ],
    ids=["sets", "one-hot", "columns"],
)
def test_a_table_is_read_as_in_training(run, tables, method):
    model = tables / "model.localrank"
    code, _, err = run(
        "train", tables / "train.csv", "--categories", "shop", "--method", *method, "-o", model
    )
    assert code == 0
    assert "Categories: shop (4 values), brand (3 values)" in err
    trec = tables / "run.trec"
    assert run("rank", model, tables / "test.csv", "-o", trec)[0] == 0
    # Nothing has to be said again of the columns.
    again = tables / "again.trec"
    run("rank", model, tables / "test.csv", "--categories", "shop", "-o", again)
    assert trec.read_text() == again.read_text()
    code, out, _ = run("evaluate", trec, tables / "test.csv", "--json")
    assert code == 0
    assert json.loads(out)["mean"]["ndcg@10"] > 0.85


def test_info_lists_the_categories_and_scores_numbers_alone(run, tables):
    code, out, _ = run("info", tables / "train.csv", "--json")
    facts = json.loads(out)
    assert facts["categories"] == {"brand": 3}
    assert facts["best_feature"]["name"] != "brand"
    code, out, _ = run("info", tables / "train.csv")
    assert code == 0
    assert "brand: 3 values" in out.replace("\xa0", " ")


def test_partitions_hold_no_categories(run, tables):
    code, _, err = run("convert", tables / "train.csv", "-o", tables / "parts")
    assert code == 1
    assert "Column 'brand' holds text: leave it out with --ignore brand, or write" in err
