"""Grades and clicks: their files, and what becomes of documents on one side only."""

import gzip

import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import logged, written

from localrank.data import Qrels, read_feature_log
from localrank.data.feature_logs._judgments import read_clicks, read_judgments

LISTS = {
    "a": {"1": {"f": 1.0}, "2": {"f": 2.0}, "3": {"f": 3.0}},
    "b": {"1": {"f": 4.0}},
    "c": {"1": {"f": 5.0}, "9": {"f": 6.0}},
}


@pytest.fixture
def log(tmp_path):
    return logged(tmp_path / "log.jsonl", samples.elasticsearch, LISTS)


@pytest.fixture
def file(tmp_path):
    def make(text, name="grades.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("grades.qrels", "a 0 2 3\nc 0 1 1\n"),
        ("grades.csv", "query,document,grade\na,2,3\nc,1,1\n"),
        ("grades.CSV", "\ufeffgrade,who,document,query\r\n3,x,2,a\r\n\r\n1.0,y,1,c\r\n"),
        ("grades.tsv", "qid\tdocument_id\tlabel\na\t2\t3\nc\t1\t1\n"),
        ("grades.jsonl", '{"query": "a", "document": 2, "grade": 3}\n'),
    ],
)
def test_grades_come_from_qrels_tables_and_json_lines(log, file, name, text):
    if name.endswith("jsonl"):
        text += '{"query": "c", "document": "1", "grade": 1.0}\n'
    dataset = read_feature_log(log, judgments=file(text, name))
    assert dataset.query_ids.tolist() == ["a", "c"]
    assert dataset.labels.tolist() == [0, 3, 0, 1, 0]
    assert dataset.features.ravel().tolist() == [1, 2, 3, 5, 6]


def test_compressed_grades_and_qrels_in_memory_are_taken(log, tmp_path):
    path = tmp_path / "grades.csv.gz"
    path.write_bytes(gzip.compress(b"query,document,grade\nb,1,2\n"))
    assert read_feature_log(log, judgments=path).labels.tolist() == [2]
    qrels = Qrels(np.array(["b"]), np.array([1]), np.array([2.0]))
    assert read_feature_log(log, judgments=qrels).query_ids.tolist() == ["b"]


def test_documents_without_a_grade_are_not_relevant_or_left_out(log, file):
    grades = file("query,document,grade\na,2,3\na,7,1\nc,1,1\nc,9,0\nz,1,1\n")
    reports = []
    dataset = read_feature_log(log, judgments=grades, report=reports.append)
    (report,) = reports
    assert dataset.labels.tolist() == [0, 3, 0, 1, 0]
    assert (report.n_unjudged, report.n_queries_left_out, report.n_not_logged) == (2, 1, 2)
    dropped = read_feature_log(log, judgments=grades, unjudged="drop", report=reports.append)
    assert dropped.query_ids.tolist() == ["a", "c"]
    assert dropped.document_ids.tolist() == [2, 1, 9]
    assert dropped.query_sizes.tolist() == [1, 2]
    assert dropped.labels.tolist() == [3, 1, 0]
    assert dropped.features.ravel().tolist() == [2, 5, 6]
    assert reports == [report, report]


def test_grades_of_other_documents_are_refused_with_examples_of_both(log, file):
    grades = file("query,document,grade\na,sku-1,3\n")
    with pytest.raises(
        ValueError,
        match=r"grades.csv: none of its 1 documents is in the log. It has document 'sku-1' of "
        r"query 'a', the log has document '1' of query 'a'",
    ):
        read_feature_log(log, judgments=grades)
    assert read_feature_log(log, judgments=grades, document_id="sku").labels.tolist() == [3, 0, 0]


def test_negative_grades_stay(log, file):
    grades = file("query,document,grade\nb,1,-2\n")
    assert read_feature_log(log, judgments=grades).labels.tolist() == [-2]


def test_clicks_are_counted_over_all_rows_of_a_document(log, file):
    clicks = file("query,document,clicks\na,1,2\na,3,0\na,1,5\nc,9,1\n")
    assert read_feature_log(log, clicks=clicks).labels.tolist() == [7, 0, 0, 0, 1]
    lines = [{"query": "a", "document": 1, "clicks": n} for n in (2, 5)]
    clicks = written(log.with_name("clicks.jsonl"), *lines)
    assert read_feature_log(log, clicks=clicks).labels.tolist() == [7, 0, 0]


def test_rates_of_clicks_make_grades(log, file):
    clicks = file(
        "query,document,clicks,impressions\n"
        "a,1,1,30\na,1,1,10\na,2,2,10\na,3,19,100\nb,1,0,0\nc,1,0,40\nc,9,5,10\n"
    )
    reports = []
    dataset = read_feature_log(log, clicks=clicks, rates=[0.05, 0.2, 0.5], report=reports.append)
    # 2 of 40, 2 of 10, 19 of 100; nothing is known of b; 0 of 40, 5 of 10.
    assert dataset.labels.tolist() == [1, 2, 1, 0, 3]
    assert dataset.query_ids.tolist() == ["a", "c"]
    assert [report.n_queries_left_out for report in reports] == [1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "query,document\na,1\n",
            r"grades.csv:1: the column 'grade' is missing.*'query', 'docu",
        ),
        ("a,1,3\n", r"grades.csv:1: the column 'query' is missing. The columns are 'a', '1', '3'"),
        ("query,document,grade\na,1\n", r"grades.csv:2: a row must have 3 cells.* Got 2 instead"),
        ("query,document,grade\n\na,1,high\n", r"grades.csv:3: the grade must be a finite number"),
        ("query,document,grade\na,1,\n", r"grades.csv:2: the grade must be .* Got '' instead"),
        (
            "query,document,grade\na,1,1_0\n",
            r"grades.csv:2: the grade must be .* Got '1_0'",
        ),
        ("query,document,grade\na,1,inf\n", r"grades.csv:2: the grade must be a finite number"),
        ("query,document,grade\na,,1\n", r"grades.csv:2: the document must be a string or a whole"),
        ("query,document,grade\na,1,1\na,1,2\n", r"grades.csv:3: document '1' .* occurs twice"),
        ('query,document,grade\na,"1,2\n', r"grades.csv:2: unexpected end of data"),
        ("query,document,grade\n", r"grades.csv has no rows of query, document, grade"),
        ("", r"grades.csv has no rows of query, document, grade"),
    ],
)
def test_faults_of_grades_are_named_with_their_line(file, text, fault):
    with pytest.raises(ValueError, match=fault):
        read_judgments(file(text))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("a,1,-1,5", r"the number of clicks must not be negative. Got -1"),
        ("a,1,1,x", r"the number of impressions must be a finite number, up to 1e.100. Got 'x'"),
        ("a,1,3,0", r"3 clicks need impressions. Got 0 impressions"),
    ],
)
def test_faults_of_clicks_are_named_with_their_line(file, row, fault):
    path = file(f"query,document,clicks,impressions\n{row}\n", "clicks.csv")
    with pytest.raises(ValueError, match=rf"clicks.csv:2: {fault}"):
        read_clicks(path, [0.1])


def test_rates_rise_from_above_zero(file):
    path = file("query,document,clicks\na,1,3\n", "clicks.csv")
    for rates in ([], [0.2, 0.1], [0.1, 0.1], [0.0, 0.1], [0.5, 1.5]):
        with pytest.raises(ValueError, match="must be rising rates of clicks"):
            read_clicks(path, rates)
    with pytest.raises(ValueError, match=r"clicks.csv:1: the column 'impressions' is missing"):
        read_clicks(path, [0.1])


def test_files_that_are_neither_are_refused(log, file, tmp_path):
    path = file("query,document,clicks\na,1,3\n", "clicks.txt")
    with pytest.raises(ValueError, match=r"clicks.txt: a file of clicks must end in .csv, .tsv"):
        read_clicks(path, None)
    latin = tmp_path / "grades.csv"
    latin.write_bytes("query,document,grade\né,1,3\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"grades.csv is not text in UTF-8"):
        read_judgments(latin)
    with pytest.raises(ValueError, match="Give judgments or clicks, not both"):
        read_feature_log(log, judgments=path, clicks=path)
    with pytest.raises(ValueError, match="give a file of clicks with them"):
        read_feature_log(log, judgments=path, rates=[0.1])
