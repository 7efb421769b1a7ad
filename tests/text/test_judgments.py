import pandas as pd
import pytest

from localrank.text import read_judgments


def written(tmp_path, text, name="qrels"):
    path = tmp_path / name
    path.write_text(text)
    return path


def as_triples(qrels):
    columns = (qrels.query_ids, qrels.document_ids, qrels.relevance)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(
    ("name", "text", "file_format"),
    [
        ("qrels.txt", "1 0 a 2\n1 0 b 1\n", None),
        ("qrels.tsv", "1\t0\ta\t2\n1\t0\tb\t1\n", None),
        ("qrels", "1 a 2\n\n1 b 1\n", None),
        ("test.tsv", "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t1\n", None),
        ("qrels.csv", "qid,docid,label\n1,a,2\n1,b,1\n", None),
        ("qrels.jsonl", '{"query_id": 1, "document_id": "a", "relevance": 2}\n'
                        '{"query_id": "1", "document_id": "b", "relevance": 1.0}\n', None),
        ("qrels.dat", "1 0 a 2\n1 0 b 1\n", "trec"),
    ],
)  # fmt: skip
def test_every_format_gives_the_same_judgments(tmp_path, name, text, file_format):
    qrels = read_judgments(written(tmp_path, text, name), file_format)
    assert as_triples(qrels) == [("1", "a", 2.0), ("1", "b", 1.0)]


def test_pairs_of_smart_and_npl_are_relevant_and_may_stand_twice(tmp_path):
    smart = read_judgments(written(tmp_path, "01 12 0 0\n1 13 0 0\n1 12 0 0\n"), "smart")
    npl = read_judgments(written(tmp_path, "1\n 12 13\n 12\n/\n"))
    assert as_triples(smart) == as_triples(npl) == [("1", "12", 1.0), ("1", "13", 1.0)]


def test_a_table_has_judgments():
    table = pd.DataFrame({"query_id": [1], "document_id": ["a"], "relevance": [-1]})
    assert as_triples(read_judgments(table)) == [("1", "a", -1.0)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q", "", "q: the file is empty"),
        ("q", "1 a 2\n1 b\n", "q:2: a line must have 3 columns like the first.*Got 2"),
        ("q", "1 0 a 2\n1 b 2\n", "q:2: a line must have 4 columns"),
        ("q", "1 a 2\n1 a 1\n", "q:2: document 'a' of query '1' is judged twice"),
        ("q", "1 a much\n", "q:1: the grade must be a finite number. Got 'much'"),
        ("q", "1 a nan\n", "q:1: the grade must be a finite number"),
        (
            "q.csv",
            "query_id,document_id\n1,a\n",
            r"q\.csv:2: .* must have the column 'relevance' \(or",
        ),
        (
            "q.csv",
            "query_id,document_id,relevance\n,a,1\n",
            r"q\.csv:2: .* have the column 'query_id'",
        ),
        ("q.csv", "query_id,document_id,relevance\n", r"q\.csv: the file has no judgment"),
        ("q.csv", "1,a,2\n", r"q\.csv:1: the first line must hold the names of the columns"),
    ],
)
def test_odd_judgments_are_refused_with_file_and_line(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_judgments(written(tmp_path, text, name))


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be one of trec, json"):
        read_judgments(written(tmp_path, "1 a 2\n"), "qrels")
