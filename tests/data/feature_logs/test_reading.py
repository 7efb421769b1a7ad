"""What all logs have in common: queries, documents, features by name, and what is refused."""

import bz2
import gzip
import json
import lzma

import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import logged, written
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, read_feature_log

LISTS = {
    "rambo": {"7": {"title": 1.5, "body": 0.0}, "9": {"title": -2.0, "body": 3.25}},
    "rocky": {"8": {"title": 0.5, "body": 4.0}},
}
SHAPES = {
    "elasticsearch": samples.elasticsearch,
    "opensearch": samples.elasticsearch,
    "solr": samples.solr,
    "vespa": samples.vespa,
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize("engine", SHAPES)
@pytest.mark.parametrize("told", [True, False])
def test_a_log_is_read_into_queries_documents_and_named_features(path, engine, told):
    log = logged(path, SHAPES[engine], LISTS)
    dataset = read_feature_log(log, format=engine if told else None)
    assert dataset.query_ids.tolist() == ["rambo", "rocky"]
    assert dataset.query_sizes.tolist() == [2, 1]
    assert [str(document).rpartition("::")[2] for document in dataset.document_ids] == list("798")
    assert dataset.feature_names == ("title", "body")
    assert dataset.features.tolist() == [[1.5, 0.0], [-2.0, 3.25], [0.5, 4.0]]
    assert dataset.relevance is None


def test_the_query_id_stands_beside_the_hits_or_around_the_response(path):
    response = samples.elasticsearch(LISTS["rambo"])
    for record in (
        {"qid": 7, "response": response},
        {"query_id": 7, "response": response},
        {"qid": 7, **response},
        {"response": {"query_id": "7", **response}},
    ):
        assert read_feature_log(written(path, record)).query_ids.tolist() == [7]
    named = written(path, {"search": "a b", **response})
    assert read_feature_log(named, qid="search").query_ids.tolist() == ["a b"]


def test_the_answers_to_several_searches_are_told_apart_by_a_list_of_ids(path):
    responses = [samples.elasticsearch(documents) for documents in LISTS.values()]
    for record in (
        {"qid": ["rambo", "rocky"], "took": 3, "responses": responses},
        {"qid": ["rambo", "rocky"], "response": {"took": 3, "responses": responses}},
        {"responses": [{"qid": q, **r} for q, r in zip(LISTS, responses, strict=True)]},
    ):
        dataset = read_feature_log(written(path, record))
        assert dataset.query_ids.tolist() == ["rambo", "rocky"]
        assert dataset.query_sizes.tolist() == [2, 1]
    with pytest.raises(ValueError, match=r"log.jsonl:1: 'qid' must be a list .* for each of the 2"):
        read_feature_log(written(path, {"qid": ["rambo"], "responses": responses}))


def test_a_response_without_a_query_id_is_refused(path):
    with pytest.raises(ValueError, match=r"log.jsonl:1: the line has no query id. Write lines as"):
        read_feature_log(written(path, samples.vespa(LISTS["rambo"])))
    with pytest.raises(ValueError, match="the query id must be a string or a whole number"):
        read_feature_log(written(path, {"qid": 1.5, **samples.vespa(LISTS["rambo"])}))


@pytest.mark.parametrize("engine", ["elasticsearch", "vespa"])
def test_documents_with_other_features_lack_those_of_others(path, engine):
    lists = {1: {"a": {"x": 1.0, "y": 2.0}, "b": {"z": 0.0, "x": 3.0}}, 2: {"a": {}}}
    dataset = read_feature_log(logged(path, SHAPES[engine], lists))
    assert dataset.feature_names == ("x", "y", "z")
    assert_array_equal(dataset.features, [[1, 2, np.nan], [3, np.nan, 0], [np.nan, np.nan, np.nan]])


def test_an_absent_feature_has_the_value_that_is_asked_for(path):
    lists = {1: {"a": {"x": 1.0, "y": 2.0, "z": 3.0}, "b": {}}}
    log = logged(path, samples.vespa, lists)
    assert read_feature_log(log, absent=-1).features[1].tolist() == [-1, -1, -1]
    some = read_feature_log(log, absent={"y": 5.0})
    assert_array_equal(some.features[1], [np.nan, 5, np.nan])
    with pytest.raises(ValueError, match="'absent' has a value for 'w', but"):
        read_feature_log(log, absent={"w": 5.0})


def test_many_documents_that_each_name_other_features_are_put_in_their_columns(path):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 12))
    table[rng.random(table.shape) < 0.5] = np.nan
    lists = {}
    for row, values in enumerate(table):
        order = rng.permutation(12)
        named = {f"f{j}": values[j] for j in order if not np.isnan(values[j])}
        lists.setdefault(f"q{row % 17}", {})[f"d{row}"] = named
    names = [f"f{j}" for j in range(12)]
    dataset = read_feature_log(logged(path, samples.vespa, lists), features=names)
    rows = [int(document.rpartition("::d")[2]) for document in dataset.document_ids.tolist()]
    assert_array_equal(dataset.features, table[rows])
    assert sorted(rows) == list(range(300))


def test_features_are_put_into_the_order_that_is_asked_for(path):
    log = logged(path, samples.solr, LISTS)
    dataset = read_feature_log(log, features=["body", "title"])
    assert dataset.feature_names == ("body", "title")
    assert dataset.features[1].tolist() == [3.25, -2.0]
    assert read_feature_log(log, features=["body"]).features.tolist() == [[0.0], [3.25], [4.0]]
    assert read_feature_log(log, ignore=["body"]).feature_names == ("title",)
    with pytest.raises(ValueError, match=r"log.jsonl: the log has no feature 'url'. Its features"):
        read_feature_log(log, features=["url", "title"])
    with pytest.raises(ValueError, match="must be a sequence of names. Got the string 'body'"):
        read_feature_log(log, features="body")


def test_pages_of_the_same_query_are_one_list(path, tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    logged(first, samples.elasticsearch, {"x": {"1": {"f": 1.0}}, "y": {"9": {"f": 9.0}}})
    logged(second, samples.elasticsearch, {"x": {"2": {"f": 2.0}}})
    dataset = read_feature_log([first, second])
    assert dataset.query_ids.tolist() == ["x", "y"]
    assert dataset.document_ids.tolist() == [1, 2, 9]
    assert dataset.features.ravel().tolist() == [1, 2, 9]
    assert dataset.input_order is None


def test_a_document_logged_again_needs_the_same_values_or_a_choice(path):
    again = [
        {"qid": "x", "response": samples.elasticsearch({"1": {"f": f, "g": None}, other: {"f": 0}})}
        for f, other in ((1.0, "2"), (1.0, "3"))
    ]
    assert read_feature_log(written(path, *again)).document_ids.tolist() == [1, 2, 3]
    again[1]["response"] = samples.elasticsearch({"1": {"g": 1.0, "f": None}})
    with pytest.raises(ValueError, match="has other values than at"):
        read_feature_log(written(path, *again))
    again[1]["response"] = samples.elasticsearch({"1": {"f": 5.0, "g": None}})
    log = written(path, *again)
    with pytest.raises(
        ValueError, match=r"log.jsonl:2: document '1' of query 'x' has other values than.*jsonl:1"
    ):
        read_feature_log(log)
    assert read_feature_log(log, repeated="first").features[:, 0].tolist() == [1.0, 0.0]
    assert read_feature_log(log, repeated="last").features[:, 0].tolist() == [5.0, 0.0]


def test_a_document_twice_in_one_response_is_refused(path):
    response = samples.elasticsearch({"1": {"f": 1.0}})
    response["hits"]["hits"] *= 2
    with pytest.raises(ValueError, match=r"log.jsonl:1: document '1' occurs twice"):
        read_feature_log(written(path, {"qid": 1, **response}), repeated="last")


def test_queries_without_documents_are_skipped(path):
    for make in SHAPES.values():
        log = logged(path, make, {"none": {}, **LISTS})
        assert read_feature_log(log).query_ids.tolist() == ["rambo", "rocky"]
        with pytest.raises(ValueError, match=r"log.jsonl: no response of the log has a document"):
            read_feature_log(logged(path, make, {"none": {}}))


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_logs_may_be_compressed(path, suffix, compress):
    plain = logged(path, samples.vespa, LISTS)
    packed = plain.with_name(f"log.jsonl{suffix}")
    packed.write_bytes(compress(plain.read_bytes()))
    assert_array_equal(read_feature_log(packed).features, read_feature_log(plain).features)
    packed.write_bytes(compress(plain.read_bytes())[:-9])
    with pytest.raises(ValueError, match="the compressed file is truncated or damaged"):
        read_feature_log(packed)


def test_empty_lines_and_a_mark_of_utf_8_are_skipped(path):
    text = logged(path, samples.vespa, LISTS).read_text()
    path.write_text("\ufeff\n" + text.replace("\n", "\r\n\n"), newline="")
    assert read_feature_log(path).n_documents == 3


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"qid": 1, "hits"', "is not JSON: .* Each line must hold one whole object; `jq -c .`"),
        ("[1, 2]", r"each line must hold an object, as \{\.\.\.\}. Got \[1, 2\] instead"),
        ("[" * 200_000, "the JSON is nested too deeply"),
        ('{"qid": 1, "found": []}', "must have its documents in hits.hits"),
        ('{"qid": 1, "hits": []}', "must have its documents in hits.hits"),
        ('{"qid": 1, "hits": {"hits": [3]}}', "a hit must be an object. Got 3"),
        ('{"qid": 1, "responses": 3}', "'responses' must be a list"),
        ('{"qid": "\\ud800", "hits": {}}', "the query id must be a string"),
        ('{"qid": "", "hits": {}}', "the query id must be a string"),
    ],
)
def test_damage_is_named_with_its_line(path, line, fault):
    good = {"qid": 0, **samples.elasticsearch({"1": {"f": 1.0}})}
    path.write_text(f"{json.dumps(good)}\n{line}\n")
    with pytest.raises(ValueError, match=rf"log.jsonl:2: .*{fault}"):
        read_feature_log(path)


def test_a_first_response_of_no_known_engine_is_refused(path):
    path.write_text('{"qid": 1, "found": []}\n')
    fault = r"log.jsonl:1: the response is not of a known search engine.*members are 'qid', 'found'"
    with pytest.raises(ValueError, match=fault):
        read_feature_log(path)


def test_bytes_that_are_no_text_are_refused(path):
    path.write_bytes(b'{"qid": "\xff"}\n')
    with pytest.raises(ValueError, match=r"log.jsonl:1: the line is not text in UTF-8"):
        read_feature_log(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"log.jsonl: the file has no lines"):
        read_feature_log(path)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ('"high"', "the feature 'f' must be a number. Got 'high' instead"),
        ("true", "the feature 'f' must be a number. Got True instead"),
        ("Infinity", "the feature 'f' of document '1' must lie between .* Got inf instead"),
        ("-1e101", "the feature 'f' of document '1' must lie between .* Got -1e\\+101 instead"),
        ("1e999", "Got inf instead"),
        ("1" + "0" * 400, "the feature 'f' is too large for a number"),
        ("1" + "0" * 5000, "is not JSON"),
        ("[1.0]", "the feature 'f' must be a number. Got a tensor or a list"),
    ],
)
def test_values_that_are_no_features_are_named(path, value, fault):
    text = json.dumps({"qid": 1, **samples.elasticsearch({"1": {"f": 0.125}})})
    path.write_text("\n" + text.replace("0.125", value))
    with pytest.raises(ValueError, match=rf"log.jsonl:2: .*{fault}"):
        read_feature_log(path)


@pytest.mark.parametrize("value", ["null", "NaN", '"NaN"'])
def test_null_and_nan_are_missing_and_zero_is_not(path, value):
    text = json.dumps({"qid": 1, **samples.vespa({"1": {"f": "?", "g": 0, "h": 2}})})
    path.write_text(text.replace('"?"', value))
    assert_array_equal(read_feature_log(path).features, [[np.nan, 0, 2]])


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        ([""], "the name of a feature must be text, not empty. Got ''"),
        ([3], "the name of a feature must be text, not empty. Got 3"),
        ([{"a": 1}], "the name of a feature must be text"),
        (["a", "b", "a"], "the feature 'a' occurs twice"),
    ],
)
def test_names_of_features_are_text_and_different(path, names, fault):
    response = samples.elasticsearch({"1": {}})
    entries = [{"name": name, "value": 1.0} for name in names]
    response["hits"]["hits"][0]["fields"]["_ltrlog"] = [{"log": entries}]
    with pytest.raises(ValueError, match=rf"log.jsonl:1: {fault}"):
        read_feature_log(written(path, {"qid": 1, **response}))


def test_logs_of_two_engines_are_not_one(tmp_path):
    logs = [logged(tmp_path / f"{make.__name__}.jsonl", make, LISTS) for make in SHAPES.values()]
    with pytest.raises(ValueError, match="logs of elasticsearch and vespa. All files must"):
        read_feature_log([logs[0], logs[-1]])


def test_wrong_choices_are_refused(path):
    log = logged(path, samples.vespa, LISTS)
    for option, value in (("format", "lucene"), ("unjudged", "keep"), ("repeated", "both")):
        with pytest.raises(ValueError, match=f"The '{option}' argument of read_feature_log must"):
            read_feature_log(log, **{option: value})
    with pytest.raises(ValueError, match="the list of paths is empty"):
        read_feature_log([])
    with pytest.raises(ValueError, match="is a folder. Name the files in it"):
        read_feature_log(path.parent)
    with pytest.raises(FileNotFoundError):
        read_feature_log(path.parent / "none.jsonl")


def test_the_result_is_a_dataset_as_any_other(path):
    dataset = read_feature_log(logged(path, samples.solr, LISTS))
    same = RankingDataset.from_arrays(
        [[1.5, 0.0], [-2.0, 3.25], [0.5, 4.0]],
        qid=["rambo", "rambo", "rocky"],
        document_ids=[7, 9, 8],
        feature_names=["title", "body"],
    )
    assert repr(dataset) == repr(same)
    assert dataset.select([1]).document_ids.tolist() == [8]


ODDITIES = [None, True, 3, -1.5, "", "x", [], {}, [[]], [{}], {"": 0}, [None], "\0", float("inf")]


def nodes(value, way=()):
    """The ways to all parts of a JSON value."""
    yield way
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nodes(part, (*way, key))


@pytest.mark.parametrize("engine", ["elasticsearch", "solr", "vespa"])
def test_whatever_a_part_of_a_response_is_replaced_by_a_fault_is_named(path, engine):
    """A dataset or an error with file and line, and never another error."""
    good = {"qid": "rambo", "response": SHAPES[engine](LISTS["rocky"])}
    ways = [way for way in nodes(good) if way]
    errors = []
    for way in ways:
        for oddity in ODDITIES:
            record = json.loads(json.dumps(good))
            part = record
            for key in way[:-1]:
                part = part[key]
            part[way[-1]] = oddity
            try:
                dataset = read_feature_log(written(path, record), format=engine)
            except ValueError as error:
                errors.append(str(error))
            else:
                assert np.isfinite(dataset.features[dataset.features == dataset.features]).all()
    assert len(errors) > len(ways)
    assert [error for error in errors if not error.startswith(f"{path}:")] == []
