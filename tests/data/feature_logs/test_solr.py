import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import logged, written
from numpy.testing import assert_array_equal

from localrank.data import read_feature_log

TABLE = {"1": {"a": 0.0, "b": 1.25e-7}, "2": {"a": -3.5e10, "b": 0.0}, "3": {"a": 0.0, "b": 0.0}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def test_dense_and_sparse_logs_give_the_same_features(path):
    expected = [[0, 1.25e-7], [-3.5e10, 0], [0, 0]]
    dense = logged(path, samples.solr, {7: TABLE})
    assert "a=-3.5E10" in path.read_text()
    assert read_feature_log(dense).features.tolist() == expected
    sparse = logged(path, samples.solr, {7: TABLE}, sparse=True)
    dataset = read_feature_log(sparse, format="solr-sparse", features=["a", "b"])
    assert dataset.features.tolist() == expected


def test_a_sparse_log_is_not_read_as_a_dense_one(path):
    log = logged(path, samples.solr, {6: {"1": {"a": 1.0, "b": 2.0}}, 7: TABLE}, sparse=True)
    with pytest.raises(
        ValueError, match=r"log.jsonl:2: document '1' has no feature 'a', but .* 'solr-sparse'"
    ):
        read_feature_log(log)
    assert read_feature_log(log, absent=0).features.tolist()[1] == [0, 1.25e-7]
    both = read_feature_log(log, absent={"a": 8.0, "b": 9.0})
    assert both.features.tolist()[1:] == [[8, 1.25e-7], [-3.5e10, 9], [8, 9]]
    with pytest.raises(ValueError, match=r"log.jsonl:2: document '2' has no feature 'b'"):
        read_feature_log(log, absent={"a": 8.0})


def test_what_a_sparse_log_leaves_out_is_the_default_of_the_feature(path):
    log = logged(path, samples.solr, {7: TABLE}, sparse=True)
    options = {"format": "solr-sparse", "features": ["a", "b"]}
    assert read_feature_log(log, absent={"b": 4.0}, **options).features[2].tolist() == [0, 4]
    assert_array_equal(read_feature_log(log, absent=np.nan, **options).features[2], [np.nan] * 2)


def test_nan_is_missing(path):
    log = logged(path, samples.solr, {7: {"1": {"a": np.nan, "b": 0.0}}})
    assert_array_equal(read_feature_log(log).features, [[np.nan, 0]])


def test_features_may_be_an_object(path):
    response = samples.solr(TABLE)
    for document in response["response"]["docs"]:
        document["[features]"] = TABLE[document["id"]]
    dataset = read_feature_log(written(path, {"qid": 7, "response": response}))
    assert dataset.features.tolist() == [[0, 1.25e-7], [-3.5e10, 0], [0, 0]]


def test_the_query_id_may_be_a_parameter_of_the_request(path):
    log = written(path, samples.solr(TABLE, qid="17"), samples.solr(TABLE, qid="18"))
    assert read_feature_log(log).query_ids.tolist() == [17, 18]
    log = written(path, samples.solr(TABLE))
    assert read_feature_log(log, qid="q").query_ids.tolist() == ["rambo"]
    with pytest.raises(ValueError, match=r"log.jsonl:1: the line has no query id"):
        read_feature_log(log)


def test_the_id_around_a_response_goes_before_that_of_the_request(path):
    log = written(path, {"qid": 1, "response": samples.solr(TABLE, qid="17")})
    assert read_feature_log(log).query_ids.tolist() == [1]
    log = written(path, {"qid": 1, **samples.solr(TABLE, qid="17")})
    assert read_feature_log(log).query_ids.tolist() == [1]


def test_the_field_may_have_another_name(path):
    log = logged(path, samples.solr, {7: TABLE}, field="fv")
    assert read_feature_log(log, log="fv").n_documents == 3
    with pytest.raises(ValueError, match=r"no field '\[features\]'. Ask for fl=id,\[features\]"):
        read_feature_log(log)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a=1.0,b", "'b'"),
        ("a=1.0,5", "'5'"),
        ("a=1.0,b=", "'b='"),
        ("a=1.0,b=Infinity", "'b=Infinity'"),
        ("a=1.0,b=1_0", "'b=1_0'"),
        ("a=high,b=1.0", "'a=high'"),
        ("a:1.0;b:2.0", "'a:1.0;b:2.0'"),
        ("a=1.0,", "''"),
    ],
)
def test_text_that_is_no_pairs_is_refused(path, text, wrong):
    response = samples.solr({"1": {}}, qid="7")
    response["response"]["docs"][0]["[features]"] = text
    with pytest.raises(
        ValueError, match=rf"log.jsonl:1: the features of document '1' must be pairs .* Got {wrong}"
    ):
        read_feature_log(written(path, response))


def test_a_name_may_have_an_equals_sign(path):
    response = samples.solr({"1": {"a=b": 2.0}}, qid="7")
    assert read_feature_log(written(path, response)).feature_names == ("a=b",)


def test_grouped_results_and_failed_searches_are_refused(path):
    with pytest.raises(ValueError, match=r"log.jsonl:1: .* Grouped results are not supported"):
        read_feature_log(written(path, {"qid": 1, "grouped": {}}), format="solr")
    error = {"qid": 1, "error": {"msg": "undefined field", "code": 400}}
    with pytest.raises(ValueError, match=r"log.jsonl:1: the search failed: .*undefined field"):
        read_feature_log(written(path, error), format="solr")
