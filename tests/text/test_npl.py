import pytest

from localrank.text._file_formats import npl_judgments, npl_records


def written(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return path


def test_records_end_with_a_stroke_and_blank_ones_are_left_out(tmp_path):
    path = written(tmp_path, "\n1\nfirst  line\nand/or 2\n   /\n3\n/\n/\n")
    assert list(npl_records(path, "utf-8")) == [
        (2, {"id": "1", "text": "first line and/or 2"}),
        (6, {"id": "3", "text": ""}),
    ]


def test_a_record_without_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"file:4: a record must begin with its number. Got 'two'"):
        list(npl_records(written(tmp_path, "1\none\n/\ntwo\n/\n"), "utf-8"))


def test_a_record_without_end_is_refused(tmp_path):
    with pytest.raises(ValueError, match="file:4: the record has no end"):
        list(npl_records(written(tmp_path, "1\none\n/\n2\ntwo\n"), "utf-8"))


def test_judgments_are_the_numbers_of_each_query(tmp_path):
    path = written(tmp_path, "1\n 12  13\n 014\n/\n2\n 7\n/\n")
    assert list(npl_judgments(path)) == [
        (1, "1", "12"),
        (1, "1", "13"),
        (1, "1", "14"),
        (5, "2", "7"),
    ]


def test_judgments_that_are_no_numbers_are_refused(tmp_path):
    with pytest.raises(ValueError, match="file:1: the relevant documents .* must be numbers"):
        list(npl_judgments(written(tmp_path, "1\n 12 x\n/\n")))
