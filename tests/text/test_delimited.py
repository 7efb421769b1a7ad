import pytest

from localrank.text._file_formats import delimited_kind, delimited_records

IDS = frozenset({"id", "_id"})


def records(tmp_path, text, kind, columns=None):
    path = tmp_path / "file"
    path.write_text(text, newline="")
    return list(delimited_records(path, kind, "utf-8", columns, IDS, ("id", "text")))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.csv", "csv"), ("a.TSV.gz", "tsv"), ("a.tab", "tsv"), ("a.txt", None), ("csv.gz", None)],
)
def test_tables_are_known_by_their_names(name, kind):
    assert delimited_kind(name) == kind


def test_cells_of_csv_may_have_commas_quotes_and_ends_of_lines(tmp_path):
    text = 'id,title\r\n1,"a, ""b""\nc"\r\n\r\n2,\r\n'
    assert records(tmp_path, text, "csv") == [
        (2, {"id": "1", "title": 'a, "b"\nc'}),
        (5, {"id": "2", "title": ""}),
    ]


def test_a_cell_may_be_longer_than_the_library_allows_at_first(tmp_path):
    ((_, record),) = records(tmp_path, "id,text\n1," + "word " * 60_000, "csv")
    assert len(record["text"]) == 300_000


def test_cells_between_tabs_have_no_quotes(tmp_path):
    assert records(tmp_path, '1\t"open\n2\tb\n', "tsv") == [
        (1, {"id": "1", "text": '"open'}),
        (2, {"id": "2", "text": "b"}),
    ]


def test_a_first_line_with_a_known_name_has_the_names(tmp_path):
    assert records(tmp_path, "text\t_id\nb\t2\n", "tsv") == [(2, {"text": "b", "_id": "2"})]


def test_names_may_be_given(tmp_path):
    rows = records(tmp_path, "1\tid\tt\n", "tsv", ["id", "url", "title"])
    assert rows == [(1, {"id": "1", "url": "id", "title": "t"})]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "a\tb\tc\n",
            "tsv",
            r"file:1: the first line must hold .*_id or id. Or give them",
        ),
        ("id\ttext\n1\n", "tsv", r"file:2: a row must have 2 columns \(id, text\). Got 1 instead"),
        ("id,text\n1,a\n2,a,b\n", "csv", r"file:3: a row must have 2 columns"),
        ("id,id\n", "csv", "file:1: two columns have the same name"),
        ('id,text\n1,"a"b\n', "csv", "file:2: not a row of CSV"),
        ('id,text\n1,a\n2,"b\nc\n', "csv", "file:3: not a row of CSV"),
    ],
)
def test_other_rows_are_refused_with_their_line(tmp_path, text, kind, message):
    with pytest.raises(ValueError, match=message):
        records(tmp_path, text, kind)
