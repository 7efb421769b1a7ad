"""Every reader of text names the file in every error."""

import warnings

import pytest

from localrank.data import read, read_feature_log, read_letor, read_qrels, read_run, read_table
from localrank.text import read_corpus, read_judgments, read_queries

HIT = '{{"id": "{}", "fields": {{"matchfeatures": {{"x": 1}}}}}}'
LOG = f'{{"qid": 7, "root": {{"children": [{HIT.format("a")}, {HIT.format("b")}]}}}}\n'
DAMAGE = {
    "latin-1": b"\xe9",
    "surrogate": b"\xed\xa0\x80",
    "lone return": b"5\r6",
    "NUL": b"\0",
    "beyond 1e100": b"1e200",
    "below -1e100": b"-1e150",
    "infinite": b"1e999",
    "open quote": b'"',
}


def described(path):
    (path.parent / "t.tsv").write_text("1\tq\t2\n0\tq\t3\n")
    return read_table(path.parent / "t.tsv", column_description=path)


def sized(path):
    (path.parent / "s.txt").write_text("1 1:2\n0 1:3\n")
    return read_letor(path.parent / "s.txt")


def logged(**of_file):
    def reader(path):
        (path.parent / "log.jsonl").write_text(LOG)
        return read_feature_log(path.parent / "log.jsonl", **dict.fromkeys(of_file, path))

    return reader


def error_of(reader, path):
    """What the reader says of a file; its path if nothing is wrong."""
    try:
        reader(path)
    except ValueError as error:
        return str(error)
    return str(path)


# The name of a file, its reader, and its content, where @ is damaged.
READERS = [
    ("a.txt", read_letor, "1 qid:1 1:@\n"),
    ("a.txt", read_letor, "@ qid:1 1:2\n"),
    ("a.txt", read_letor, "1 qid:@x 1:2\n"),
    ("a.txt", read_letor, "1 qid:1 1:2 #docid = @\n"),
    ("a.csv", read, "qid,label,x\n1,@,2\n1,0,3\n"),
    ("a.csv", read, "qid,label,x\n1,1,@\n1,0,3\n"),
    ("a.csv", read, "qid,label,x@\n1,1,2\n"),
    ("a.csv", read, "qid,label,x\n@q,1,2\n"),
    ("a.cd", described, "0\tLabel\n1\tGroupId\n2\tNum\tx@\n"),
    ("a.cd", described, "0\tLabel\n1\tGroupId@\n"),
    ("s.txt.query", sized, "2@\n"),
    ("qrels", read_qrels, "1 0 a @\n"),
    ("qrels", read_qrels, "1 0 a@ 1\n"),
    ("run", read_run, "1 Q0 a 1 @ t\n"),
    ("j.csv", logged(judgments=1), "query,document,grade\n7,a,@\n"),
    ("j.csv", logged(judgments=1), "query@,document,grade\n7,a,1\n"),
    ("j.jsonl", logged(judgments=1), '{"query": 7, "document": "a", "grade": @}\n'),
    ("j.txt", logged(judgments=1), "7 0 a @\n"),
    ("c.csv", logged(clicks=1), "query,document,clicks\n7,a,@\n"),
    ("c.csv", logged(clicks=1), "query,document,clicks\n7,a,9e99\n7,a,9e99\n7,b@,0\n"),
    ("l.jsonl", read_feature_log, LOG.replace('"x": 1', '"x": @')),
    ("l.jsonl", read_feature_log, LOG.replace('"b"', '"b@"')),
    ("tj.txt", read_judgments, "1 0 a @\n"),
    ("tj.txt", read_judgments, "1 a @\n"),
    ("tj.csv", read_judgments, "query_id,document_id,relevance\n7,a,@\n"),
    ("tj.jsonl", read_judgments, '{"query_id": "7", "document_id": "a", "relevance": @}\n'),
    ("q.tsv", read_queries, "1\ttea@\n"),
    ("q.csv", read_queries, "query_id,text\n1,tea@\n"),
    ("c.jsonl", lambda path: list(read_corpus(path)), '{"_id": "1", "text": "tea@"}\n'),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_errors_begin_with_the_path(damage, tmp_path):
    for name, reader, content in READERS:
        path = tmp_path / name
        path.write_bytes(content.encode().replace(b"@", DAMAGE[damage]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert error_of(reader, path).startswith(str(tmp_path)), (name, content)
        path.unlink()


@pytest.mark.parametrize(
    ("name", "reader", "content", "message"),
    [
        ("a.cd", described, b"0\tLabel\n1\tGroupId\n2\tNum\t\xe9\n", "a.cd:3: the line is not"),
        ("qrels", read_qrels, b"1 0 a 1e200\n", "qrels:1: the relevance must be a finite number b"),
        ("j.csv", logged(judgments=1), b"query,document,grade\n7,a,1e200\n", "j.csv:2: the grade"),
        ("t.txt", read_judgments, b"1 a 1e200\n", "t.txt:1: the grade must be a finite number, up"),
        ("a.csv", read, b"qid,label,\xe9\n1,1,2\n", "a.csv:1: the names of the columns are not"),
    ],
)
def test_what_was_damaged_is_refused_with_its_line(name, reader, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        reader(tmp_path / name)


def test_columns_of_clicks_that_are_not_used_are_told(tmp_path):
    (tmp_path / "log.jsonl").write_text(LOG)
    clicks = tmp_path / "clicks.csv"
    clicks.write_text("query,document,clicks,position,day\n7,a,3,1,mon\n7,b,0,2,mon\n")
    lines = []
    read(tmp_path / "log.jsonl", clicks=clicks, say=lines.append)
    assert lines == [
        "Columns of the clicks that are not used: position, day. Clicks are counted as they are, "
        "not corrected for positions"
    ]
    clicks.write_text("query,document,clicks\n7,a,3\n7,b,0\n")
    read(tmp_path / "log.jsonl", clicks=clicks, say=lines.append)
    assert len(lines) == 1
