import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from localrank.text import FeatureExtractor
from localrank.text import _corpus as corpus

DOCUMENTS: list[dict] = [
    {"id": "a", "title": "one", "body": "two three", "rank": 1.5},
    {"id": "b", "title": None, "body": "two", "rank": None},
    {"id": "c", "body": "four one"},
]


def columns_of(documents, **parameters):
    parameters = {"fields": ["title", "body"], "columns": ["rank"]} | parameters
    extractor = FeatureExtractor(features=["length", "covered"], **parameters).fit(documents)
    return extractor.transform(["one two"], {"1": ["a", "b", "c"]}).features.tolist()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_a_data_frame_is_its_rows(frame):
    rows = [{"title": None, "rank": None} | document for document in DOCUMENTS]
    assert repr(columns_of(frame(rows))) == repr(columns_of(DOCUMENTS))


def test_missing_texts_of_pandas_are_empty():
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "title": pd.array(["a", None, "b"], dtype="string"),
            "body": ["c", float("nan"), None],
        }
    )
    extractor = FeatureExtractor(["title", "body"], features=["length"]).fit(frame)
    table = extractor.transform(["a"], {"1": [1, 2, 3]}).features
    assert table.tolist() == [[1, 1, 2], [0, 0, 0], [1, 0, 1]]


def test_documents_may_come_one_after_another():
    assert repr(columns_of(iter(DOCUMENTS))) == repr(columns_of(DOCUMENTS))


def test_what_is_absent_is_empty_or_missing():
    table = columns_of(DOCUMENTS)
    # Lengths of title, body and whole; covered terms; the column.
    assert table[0] == [1, 2, 3, 1, 1, 2, 1.5]
    assert repr(table[1]) == repr([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, float("nan")])
    assert repr(table[2][-1]) == "nan"


def test_a_field_may_have_other_keys_and_several():
    renamed = [
        {"id": d["id"], "headline": d.get("title"), "a": d["body"].split()[0], "b": d["body"][4:]}
        for d in DOCUMENTS
    ]
    fields = {"title": "headline", "body": ["a", "b"]}
    expected = columns_of(DOCUMENTS, columns=[])
    assert columns_of(renamed, fields=fields, columns=[]) == expected


@pytest.mark.parametrize("size", [1, 8, 12])
def test_the_size_of_parts_changes_nothing(size, monkeypatch):
    expected = repr(columns_of(DOCUMENTS))
    monkeypatch.setattr(corpus, "PART_CHARACTERS", size)
    assert repr(columns_of(DOCUMENTS)) == expected


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "The corpus has no document"),
        ("text", "must be a sequence of dictionaries.* Got str instead"),
        ({"a": "b"}, "must be a sequence of dictionaries.* Got dict instead"),
        (["text"], "Document number 1 must be a dictionary. Got str instead"),
        ([{"title": "x"}], "Document number 1 has no 'id'"),
        ([{"id": "", "title": "x"}], "Document number 1 has no 'id'"),
        ([{"id": 1, "title": "x", "body": 3}], "number 1: 'body' must be a text. Got 3 instead"),
        (
            [{"id": 1, "title": "x", "body": "", "rank": "high"}],
            "number 1: 'rank' must be a number within ±1e[+]100. Got 'high' instead",
        ),
        (
            [{"id": 1, "title": "x", "body": "", "rank": 1e200}],
            "number 1: 'rank' must be a number within",
        ),
        (
            [{"id": 1, "title": "x", "body": "", "rank": 10**400}],
            "number 1: 'rank' must be a number within",
        ),
        ([{"id": 1.0, "title": "x"}], "number 1: an id must be a text or a whole number. Got 1.0"),
        ([{"id": ["a"], "title": "x"}], "number 1: an id must be a text or a whole number"),
        (
            [{"id": 1, "title": "x", "body": "", "rang": 3}, {"id": 2, "rank": None}],
            "No document has a number under 'rank'. The first has 'id', 'title', 'body', 'rang'",
        ),
        ([{"id": 1, "titel": "x", "body": ""}], "text under 'title'. The first has 'id', 'titel'"),
        ([{"id": 1, "title": "", "body": "", "rank": 1}] * 2, "must be unique. '1' appears twice"),
    ],
)
def test_wrong_documents_are_refused_by_number(documents, message):
    with pytest.raises(ValueError, match=message):
        columns_of(documents)


def test_numbers_may_be_texts_as_tables_of_text_have_them():
    documents = [{"id": 1, "text": "a", "n": "2.5"}, {"id": 2, "text": "b", "n": ""}]
    extractor = FeatureExtractor(features=["length"], columns=["n"]).fit(documents)
    table = extractor.transform(["a"], {"1": [1, 2]}).features
    assert repr(table[:, 1].tolist()) == "[2.5, nan]"


@pytest.mark.parametrize("number", ["much", "1_000", "inf", "nan"])
def test_texts_that_are_no_numbers_are_refused(number):
    with pytest.raises(ValueError, match="Document number 1: 'n' must be a number within"):
        FeatureExtractor(columns=["n"]).fit([{"id": 1, "text": "a", "n": number}])
