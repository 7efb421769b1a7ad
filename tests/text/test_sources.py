import gzip
import json

import pandas as pd
import polars as pl
import pytest

from localrank.text import FeatureExtractor, read_corpus, read_queries

FORMS = {
    "a.jsonl": '{"_id": "1", "title": "tea", "n": 3}\n{"id": 2, "title": "rice"}\n',
    "a.csv": "docno,title\n1,tea\n2,rice\n",
    "a.tsv": "id\ttitle\n1\ttea\n2\trice\n",
    "a.smart": ".I 1\n.T\ntea\n.I 2\n.T\nrice\n",
    "a.trec": "<DOC><DOCNO>1</DOCNO><TITLE>tea</TITLE></DOC>\n"
    "<DOC><DOCNO>2</DOCNO><TITLE>rice</TITLE></DOC>",
}


def written(tmp_path, name, text):
    path = tmp_path / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", FORMS)
def test_every_format_is_known_by_itself_and_gives_the_same_documents(tmp_path, name, suffix):
    corpus = read_corpus(written(tmp_path, name + suffix, FORMS[name]))
    documents = [(document["id"], document["title"]) for document in corpus]
    assert documents == [("1", "tea"), ("2", "rice")]
    assert len(list(corpus)) == 2, "a corpus can be gone through again"


def test_texts_of_npl_are_known_by_their_number(tmp_path):
    corpus = read_corpus(written(tmp_path, "doc-text", "\n1\nsome words\n /\n"))
    assert list(corpus) == [{"id": "1", "text": "some words"}]


def test_the_id_comes_first_and_all_else_is_kept(tmp_path):
    path = written(tmp_path, "a", FORMS["a.jsonl"])
    assert next(iter(read_corpus(path))) == {"id": "1", "title": "tea", "n": 3}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_rows_of_a_table_are_documents(frame):
    table = frame({"doc_id": [7, 8], "text": ["tea", None]})
    assert [document["id"] for document in read_corpus(table)] == ["7", "8"]
    queries = read_queries(frame({"qid": ["a"], "query": ["green tea"]}))
    assert queries == {"a": "green tea"}


def test_files_follow_each_other_and_ids_are_unique_in_all(tmp_path):
    first = written(tmp_path, "a.tsv", "1\ta\n2\tb\n")
    second = written(tmp_path, "b.tsv", "3\tc\n")
    assert [document["id"] for document in read_corpus([first, second])] == ["1", "2", "3"]
    with pytest.raises(ValueError, match=r"a\.tsv:1: the record repeats the id '1'"):
        list(read_corpus([first, second, first]))


def test_a_corpus_is_what_an_extractor_reads(tmp_path):
    path = written(tmp_path, "a.csv", "id,text,clicks\na,green tea,3\nb,rice,\n")
    extractor = FeatureExtractor(features=["length"], columns=["clicks"]).fit(read_corpus(path))
    table = extractor.transform(["tea"], {"1": ["a", "b"]}).features
    assert repr(table.tolist()) == "[[2.0, 3.0], [1.0, nan]]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a\.jsonl: the file is empty"),
        ("\n \n", r"a\.jsonl: the file is empty"),
        ('{"text": "x"}', r"a\.jsonl:1: the record has no id under 'id' or '_id'"),
        ('{"id": ""}', r"a\.jsonl:1: the record has no id under"),
        ('{"id": null}', r"a\.jsonl:1: the record has no id under"),
        (
            '{"id": "1"}\n{"id": 1}',
            r"a\.jsonl:2: the record repeats the id '1'. Ids must be unique",
        ),
        ('{"id": 1.5}', r"a\.jsonl:1: an id must be a text or a whole number. Got 1.5"),
        ('{"id": true}', r"a\.jsonl:1: an id must be a text or a whole number. Got True"),
        ('{"id": {}}', r"a\.jsonl:1: an id must be a text or a whole number"),
        (b'{"id": "a"}\n{"id": "\xff"}', r"a\.jsonl:2: byte 9 of the line, 0xff, is not utf-8"),
        (b'{"id": "a\0"}', r"a\.jsonl:1: the line has a NUL byte"),
        (
            "just words",
            r"a\.jsonl: the format is not recognised.*'just words'.*file_format='json' or",
        ),
        ('[{"id": 1}]', r"a\.jsonl: the format is not recognised"),
    ],
)
def test_odd_corpora_are_refused_with_file_and_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        list(read_corpus(written(tmp_path, "a.jsonl", text)))


def test_a_table_of_names_alone_has_no_document(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv: the file has no document"):
        list(read_corpus(written(tmp_path, "a.csv", "id,text\n")))
    with pytest.raises(ValueError, match="The table has no document"):
        list(read_corpus(pd.DataFrame({"id": []})))


def test_what_is_no_source_is_refused_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.jsonl: there is no such file"):
        read_corpus(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="is a folder. Give the files in it, as a list"):
        read_corpus(tmp_path)
    with pytest.raises(ValueError, match="must be a path, a DataFrame or 'irds:NAME'. Got int"):
        read_corpus(3)
    with pytest.raises(ValueError, match="list of sources is empty"):
        read_corpus([])
    path = written(tmp_path, "a.tsv", "1\ta\n")
    with pytest.raises(ValueError, match=r"must be one of json, csv.*Got 'jsonl' instead"):
        read_corpus(path, "jsonl")
    with pytest.raises(ValueError, match="no encoding 'latin-0'"):
        read_queries(path, encoding="latin-0")


def test_documents_come_before_the_file_is_read_to_its_end(tmp_path):
    lines = "".join(json.dumps({"id": i, "text": "x" * 50}) + "\n" for i in range(20_000))
    corpus = read_corpus(written(tmp_path, "a.jsonl", lines + "{"))
    assert next(iter(corpus))["id"] == "0"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "1\tgreen tea\n2\trice\n"),
        ("q.jsonl", '{"_id": "1", "text": "green tea"}\n{"_id": "2", "text": "rice"}\n'),
        ("q.csv", "qid,query\n1,green tea\n2,rice\n"),
        ("q.qry", ".I 001\n.W\ngreen\ntea\n.I 2\n.W\nrice\n"),
        ("q.topics", "<top>\n<num> Number: 1\n<title> green tea\n</top>\n<top>\n<num> 2\n"
                     "<title>rice</title>\n</top>\n"),
        ("query-text", "1\ngreen tea\n/\n2\nrice\n/\n"),
    ],
)  # fmt: skip
def test_queries_are_texts_by_id_in_every_format(tmp_path, name, text):
    assert read_queries(written(tmp_path, name, text)) == {"1": "green tea", "2": "rice"}


def test_queries_may_be_numbered_by_their_place(tmp_path):
    path = written(tmp_path, "cran.qry", ".I 001\n.W\na\n.I 004\n.W\nb\n")
    assert read_queries(path) == {"1": "a", "4": "b"}
    assert read_queries(path, numbered=True) == {"1": "a", "2": "b"}


def test_a_field_may_be_named(tmp_path):
    path = written(tmp_path, "q.topics", "<top>\n<num> 1\n<title> a\n<desc> b\n</top>\n")
    assert read_queries(path, field="desc") == {"1": "b"}
    with pytest.raises(ValueError, match=r"q\.topics:1: .* no text under 'narr'. It has 'id'"):
        read_queries(path, field="narr")


def test_queries_need_texts_and_different_ids(tmp_path):
    with pytest.raises(ValueError, match=r"q\.jsonl:1: .* no text under 'text' or 'query'"):
        read_queries(written(tmp_path, "q.jsonl", '{"id": 1, "text": null}'))
    with pytest.raises(ValueError, match=r"q\.tsv:2: the record repeats the id '1'"):
        read_queries(written(tmp_path, "q.tsv", "1\ta\n1\tb\n"))
    with pytest.raises(ValueError, match=r"q\.csv: the file has no queries"):
        read_queries(written(tmp_path, "q.csv", "id,text\n"))
