import pytest

from localrank.text._file_formats import smart_judgments, smart_records


def written(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text, newline="")
    return path


def test_records_are_fields_on_one_line_with_the_line_where_they_begin(tmp_path):
    text = ".I 1\n.T\na long\n  title\n.A\nsomeone\n.B\nJ. 1\n.W\nthe .T body\n.I 002\n.W\n\n.I 3\n"
    assert list(smart_records(written(tmp_path, text), "utf-8")) == [
        (1, {"id": "1", "title": "a long title", "author": "someone", "bibliography": "J. 1",
             "text": "the .T body"}),
        (11, {"id": "2", "text": ""}),
        (14, {"id": "3"}),
    ]  # fmt: skip


def test_a_field_that_comes_twice_is_joined(tmp_path):
    path = written(tmp_path, ".I 1\r\n.W \r\none\r\n.X\r\n7\r\n.W\r\ntwo\r\n")
    assert list(smart_records(path, "utf-8")) == [
        (1, {"id": "1", "text": "one two", "references": "7"})
    ]


def test_a_number_that_is_broken_over_two_lines_is_one(tmp_path):
    path = written(tmp_path, ".I 28\n56\n.W\n12\n.I 2857\n")
    assert list(smart_records(path, "utf-8")) == [
        (1, {"id": "2856", "text": "12"}),
        (5, {"id": "2857"}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nwords\n.I 1\n", r"file:2: there is text before the first record, '\.I 1': 'words'"),
        (".W\nwords\n", r"file:2: there is text before the first record"),
        (".I 1\nwords\n", r"file:2: there is text before a field, '\.T': 'words'"),
    ],
)
def test_text_outside_of_a_field_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        list(smart_records(written(tmp_path, text), "utf-8"))


def test_judgments_are_pairs_without_zeros_and_what_stands_behind(tmp_path):
    path = written(tmp_path, "01 1410  0 0\n\n  2\t7\n")
    assert list(smart_judgments(path)) == [(1, "1", "1410", ["0", "0"]), (3, "2", "7", [])]


@pytest.mark.parametrize("line", ["1", "q1 5", "1 d5", "1 -5", "1 ²"])
def test_judgments_begin_with_two_numbers(tmp_path, line):
    with pytest.raises(ValueError, match="file:2: a line must begin with the numbers of a query"):
        list(smart_judgments(written(tmp_path, f"1 2\n{line}\n")))
