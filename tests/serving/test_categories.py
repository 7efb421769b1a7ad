"""Texts of categories in requests."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from serving.service import ARROW, as_stream

import localrank
from localrank.rankers import LambdaMART, RankSVM


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    colours = np.array(["red", "green", "blue", "7"])
    codes = rng.integers(0, 4, 300)
    frame = pd.DataFrame({"bm25": rng.normal(size=300), "colour": colours[codes]})
    return frame.assign(label=codes, qid=np.repeat(np.arange(30), 10))


@pytest.fixture(scope="module")
def paths(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    paths = {name: folder / f"{name}.localrank" for name in ("sets", "columns")}
    dataset = localrank.data.read_table(table)
    LambdaMART(5, min_leaf_documents=5).fit(dataset).save(paths["sets"])
    RankSVM().fit(dataset).save(paths["columns"])
    return paths


@pytest.fixture
def asked(table):
    """Features of a list, by name: a category that is new, one that is missing, one as number."""
    rows = table[["bm25", "colour"]][:6].to_dict("records")
    rows[1]["colour"], rows[2]["colour"], rows[3]["colour"] = "never", None, 7
    return rows


@pytest.fixture
def expected(paths, asked):
    frame = pd.DataFrame(asked).assign(colour=lambda rows: rows["colour"].map(str))
    frame.loc[2, "colour"] = None
    return lambda name: localrank.load(paths[name]).predict(frame, qid=np.zeros(6))


def scores(answer, of=None):
    assert answer.status_code == 200, answer.text
    ranking = answer.json()["ranking"] if of is None else answer.json()["lists"][of]["ranking"]
    result = np.empty(len(ranking))
    for place in ranking:
        result[place["index"]] = place["score"]
    return result


@pytest.mark.parametrize("name", ["sets", "columns"])
def test_texts_by_name_in_rows_in_batches_and_tables_score_as_predict(
    serve, paths, asked, expected, name
):
    client = serve({name: paths[name]})
    documents = [{"features": features} for features in asked]
    assert_array_equal(
        scores(client.post("/v1/rank", json={"documents": documents})), expected(name)
    )
    rows = [{"features": [row["colour"], row["bm25"]]} for row in asked]
    one = {"documents": rows, "feature_names": ["colour", "bm25"]}
    assert_array_equal(scores(client.post("/v1/rank", json=one)), expected(name))
    batch = client.post("/v1/batch", json={"lists": [one, {"documents": documents}]})
    assert_array_equal(scores(batch, 1), expected(name))
    columns = {key: [row[key] for row in asked] for key in ("colour", "bm25")}
    columns["colour"][3] = "7"
    told = client.post(
        "/v1/rank", content=as_stream(pa.table(columns)), headers={"content-type": ARROW}
    )
    result = pa.ipc.open_stream(told.content).read_all().to_pydict()
    assert_array_equal(np.array(result["score"])[np.argsort(result["index"])], expected(name))


@pytest.mark.parametrize("name", ["sets", "columns"])
def test_numbers_alone_are_codes_of_no_category(serve, paths, name):
    client = serve({name: paths[name]})
    documents = [{"features": {"bm25": 1.0, "colour": value}} for value in (None, 0, 1, 2)]
    answer = client.post("/v1/rank?explain=true", json={"documents": documents})
    assert len(set(scores(answer))) == 1
    assert answer.json()["explanation"]


@pytest.mark.parametrize("name", ["sets", "columns"])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"bm25": "high", "colour": "red"}, "the feature 'bm25' is a number. Got a text"),
        ({"bm25": 1.0}, "lacks 'colour', which the model needs"),
        ({"bm25": 1.0, "colour": "red", "colour=red": 1}, "has no feature 'colour=red'"),
        (["red", 1.0, 2.0], "the model takes 2 features"),
    ],
)
def test_wrong_features_are_refused_with_the_reason(serve, paths, name, features, message):
    answer = serve({name: paths[name]}).post(
        "/v1/rank", json={"documents": [{"features": features}]}
    )
    assert answer.status_code == 422
    assert message in answer.text


def test_texts_are_refused_by_a_model_of_numbers(client, named):
    features = dict.fromkeys(named.feature_names, 1.0) | {"feature_0": "red"}
    answer = client.post("/v1/rank", json={"documents": [{"features": features}]})
    assert answer.status_code == 422
    assert "Expected `float | null`, got `str`" in answer.text
    table = pa.table({key: [value] for key, value in features.items()})
    answer = client.post("/v1/rank", content=as_stream(table), headers={"content-type": ARROW})
    assert answer.status_code == 422
    assert "Column 'feature_0' must hold numbers. Its type is string" in answer.text


@pytest.mark.parametrize("text", ["", "\0", "\U0001f600" * 1000, "\u202ered"])
def test_odd_texts_are_categories_that_were_not_in_training(serve, paths, text):
    client = serve({"sets": paths["sets"]})
    one, other = (
        client.post("/v1/rank", json={"documents": [{"features": {"bm25": 1, "colour": value}}]})
        for value in (text, None)
    )
    assert_array_equal(scores(one), scores(other))
