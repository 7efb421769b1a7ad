"""What every format of data files promises."""

from typing import Any

import pytest
from pyarrow import csv, parquet

from localrank.data import formats, read
from localrank.data.reading import format_of
from localrank.registry import declared

FORMATS = [form() for form in declared(formats).values()]
OF_DOCUMENTS = [form for form in FORMATS if not form.gives_clicks]
OF_CLICKS = [form for form in FORMATS if form.gives_clicks]
COMPRESSED_OR_BINARY = b"\x1f\x8b\x08\x00 neither text nor a table \x00\x01\x02"


@pytest.fixture(params=FORMATS, ids=lambda form: type(form).__name__)
def form(request):
    return request.param


@pytest.fixture
def sample(form, tmp_path):
    """A small file of the format."""
    name, content = form.sample()
    path = tmp_path / name
    path.write_bytes(content)
    return path


def refusal(*paths, **options):
    """The one line that says what is wrong."""
    with pytest.raises((ValueError, OSError)) as caught:
        read(paths, labels="optional", **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


of_documents, of_clicks = (
    pytest.mark.parametrize("form", forms, ids=lambda form: type(form).__name__, indirect=True)
    for forms in (OF_DOCUMENTS, OF_CLICKS)
)


@of_documents
def test_the_sample_is_read(form, sample):
    dataset = read(sample, labels="optional")
    assert (dataset.n_queries, dataset.n_documents, dataset.n_features) == (2, 3, 2)
    assert dataset.query_ids.tolist() == [7, 8]
    assert dataset.features.tolist() == [[0.5, 3], [2, 0], [0, 1]]
    if dataset.relevance is not None:
        assert dataset.labels.tolist() == [1, 0, 2]


@of_clicks
def test_the_sample_is_read_as_a_log_of_clicks(form, sample):
    log: Any = read(sample)
    assert log.query_ids.tolist() == [7, 8]
    assert log.document_ids[log.pairs].tolist() == ["a", "b", "c"]
    assert log.offsets.tolist() == [0, 2, 3]
    assert log.clicks.tolist() == [False, True, False]
    assert log.left_out == {}


@of_clicks
def test_several_files_are_one_log_of_clicks(form, sample, tmp_path):
    name, content = form.sample()
    other = tmp_path / f"other-{name}"
    # The same sessions have other names, where sessions have names.
    other.write_bytes(content.replace(b'"x"', b'"v"').replace(b'"y"', b'"w"'))
    log: Any = read([sample, other])
    assert log.offsets.tolist() == [0, 2, 3, 5, 6]
    assert log.n_queries == 2


@of_clicks
def test_damage_is_refused_unless_it_is_to_be_left_out(form, sample):
    content = sample.read_bytes()
    twice = (
        content + b"2,8,c,2,0\n"
        if sample.suffix == ".csv"
        else content.replace(b'["c"]', b'["c", "c"]')
    )
    sample.write_bytes(twice)
    said = []
    log: Any = read(sample, bad="drop", say=said.append)
    assert log.n_sessions == 1
    assert said == [f"{sample}: 1 session with a document twice is left out"]
    assert "twice" in refusal(sample)


def test_the_format_recognises_its_sample(form, sample):
    assert type(format_of([sample])) is type(form)


def test_the_format_is_chosen_by_name(form, sample):
    for name in form.names:
        assert type(format_of([sample], name)) is type(form)


@of_documents
def test_the_data_is_read_by_name(form, sample):
    assert read(sample, labels="optional", format=form.declaration.name).n_documents == 3


@of_documents
def test_labels_may_be_ignored(form, sample):
    assert read(sample, labels="ignored").n_documents == 3


@of_documents
def test_data_without_labels_is_refused_if_labels_are_needed(form, sample):
    if read(sample, labels="optional").relevance is None:
        with pytest.raises(ValueError, match="labels='optional'"):
            read(sample)
    else:
        assert read(sample).labels.tolist() == [1, 0, 2]


def test_an_empty_file_is_refused_by_name(form, sample):
    sample.write_bytes(b"")
    assert sample.name in refusal(sample, format=form.declaration.name)


def test_a_truncated_file_is_refused_by_name(form, sample):
    content = sample.read_bytes()
    if sample.suffix == ".csv":
        # A cut of CSV is CSV: cut a file with an end.
        sample = sample.with_suffix(".parquet")
        parquet.write_table(csv.read_csv(sample.with_suffix(".csv")), sample)
        content = sample.read_bytes()
    sample.write_bytes(content[: len(content) - len(content.splitlines()[-1]) + 1])
    assert sample.name in refusal(sample, format=form.declaration.name)


def test_a_foreign_file_is_refused_by_name(form, sample):
    sample.write_bytes(COMPRESSED_OR_BINARY)
    assert sample.name in refusal(sample, format=form.declaration.name)


def test_a_missing_file_is_refused_by_name(form, sample):
    sample.unlink()
    assert sample.name in refusal(sample, format=form.declaration.name)


def test_options_of_other_formats_are_refused(form, sample):
    others = {name for other in FORMATS for name in other.options} - set(form.options)
    for name in sorted(others):
        message = refusal(sample, **{name: "x"}, format=form.declaration.name)
        assert message.startswith(f"{sample} {form.said}, and {name} is for ")


def test_an_unknown_option_is_answered_with_those_of_the_format(form, sample):
    message = refusal(sample, colour="red")
    assert message.startswith("read has no option 'colour'.")
    assert message.endswith(f"There are: {', '.join(sorted(form.options))}.")


def test_files_of_two_formats_are_refused(form, sample, tmp_path):
    for other in FORMATS:
        name, content = other.sample()
        path = tmp_path / f"other-{name}"
        path.write_bytes(content)
        # The files of partitions are tables, too.
        if other.declaration.name == form.declaration.name or {
            "partitions",
            "table",
        } == {other.declaration.name, form.declaration.name}:
            continue
        assert "or other data, not both" in refusal(sample, path)


def test_the_declaration_says_what_the_format_is(form):
    assert form.said.startswith("is ")
    assert form.files
    assert form.declaration.summary
    assert all(suffix.startswith(".") and suffix.islower() for suffix in form.suffixes)
