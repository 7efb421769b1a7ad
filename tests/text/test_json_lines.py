import pytest

from localrank.text._file_formats import json_records


def written(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return path


def test_lines_are_objects_and_blank_ones_are_left_out(tmp_path):
    path = written(tmp_path, '{"id": 1, "t": "a\\u0000b"}\n\n  {"id": "2", "t": null}\n')
    assert list(json_records(path, "utf-8")) == [
        (1, {"id": 1, "t": "a\0b"}),
        (3, {"id": "2", "t": None}),
    ]


@pytest.mark.parametrize("line", ['{"id": 1', '{"id": 1} {"id": 2}', "{'id': 1}", "[" * 100_000])
def test_what_is_no_json_is_refused_with_its_line(tmp_path, line):
    with pytest.raises(ValueError, match="file:2: not a JSON object: "):
        list(json_records(written(tmp_path, '{"id": 1}\n' + line), "utf-8"))


@pytest.mark.parametrize(("line", "kind"), [("[1]", "list"), ("1", "int"), ('"a"', "str")])
def test_other_values_are_refused(tmp_path, line, kind):
    with pytest.raises(ValueError, match=f"file:1: a line must be one JSON object.*Got {kind}"):
        list(json_records(written(tmp_path, line), "utf-8"))
