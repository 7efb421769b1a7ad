import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import written
from numpy.testing import assert_array_equal

from localrank.data import read_feature_log


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def test_a_feature_without_a_value_is_missing_and_one_of_zero_is_not(path):
    response = samples.elasticsearch({"1": {"f": 0.0, "g": None}, "2": {"f": None, "g": 0.0}})
    assert "value" not in response["hits"]["hits"][0]["fields"]["_ltrlog"][0]["log_entry1"][1]
    dataset = read_feature_log(written(path, {"qid": 1, **response}))
    assert_array_equal(dataset.features, [[0, np.nan], [np.nan, 0]])


def test_what_a_ranker_adds_about_itself_is_no_feature(path):
    response = samples.elasticsearch({"1": {"f": 1.0, "g": 2.0}})
    entries = response["hits"]["hits"][0]["fields"]["_ltrlog"][0]["log_entry1"]
    entries.append({"name": "extra_logging", "value": {"tokens": 3}})
    assert read_feature_log(written(path, {"qid": 1, **response})).feature_names == ("f", "g")


def test_a_log_that_is_an_object_of_names_and_values_is_read_as_well(path):
    response = samples.elasticsearch({"1": {}})
    response["hits"]["hits"][0]["fields"]["_ltrlog"] = [{"log_entry1": {"f": 1.0, "g": 2.5}}]
    dataset = read_feature_log(written(path, {"qid": 1, **response}))
    assert dataset.features.tolist() == [[1.0, 2.5]]


def test_one_of_several_logs_is_named(path):
    response = samples.elasticsearch({"1": {"f": 1.0}}, log="first")
    response["hits"]["hits"][0]["fields"]["_ltrlog"][0]["second"] = [{"name": "g", "value": 2.0}]
    log = written(path, {"qid": 1, **response})
    assert read_feature_log(log, log="second").feature_names == ("g",)
    with pytest.raises(ValueError, match=r"log.jsonl:1: .*several logs: 'first', 'second'. Name"):
        read_feature_log(log)
    with pytest.raises(ValueError, match="has no log 'third'. It has 'first', 'second'"):
        read_feature_log(log, log="third")


def test_a_hit_without_a_log_is_refused(path):
    for fields in ({}, {"title": ["x"]}, {"_ltrlog": []}, {"_ltrlog": [{}]}):
        response = samples.elasticsearch({"1": {"f": 1.0}, "2": {"f": 1.0}})
        response["hits"]["hits"][1]["fields"] = fields
        with pytest.raises(ValueError, match=r"log.jsonl:1: document '2' has no fields._ltrlog"):
            read_feature_log(written(path, {"qid": 1, **response}))
    response["hits"]["hits"][1]["fields"] = {"_ltrlog": [{"log_entry1": [3]}]}
    with pytest.raises(ValueError, match="the log of document '2' must be a list of features"):
        read_feature_log(written(path, {"qid": 1, **response}))


def test_documents_may_be_called_by_a_field(path):
    response = samples.elasticsearch({"1": {"f": 1.0}})
    log = written(path, {"qid": 1, **response})
    assert read_feature_log(log, document_id="sku").document_ids.tolist() == ["sku-1"]
    response["hits"]["hits"][0]["fields"]["code"] = ["c7"]
    log = written(path, {"qid": 1, **response})
    assert read_feature_log(log, document_id="code").document_ids.tolist() == ["c7"]
    with pytest.raises(ValueError, match=r"log.jsonl:1: 'url' in the _source or the fields of hit"):
        read_feature_log(log, document_id="url")


def test_a_failed_search_is_named(path):
    error = {"error": {"type": "search_phase_execution_exception"}, "status": 400}
    with pytest.raises(ValueError, match=r"log.jsonl:1: the search failed: .*phase_execution"):
        read_feature_log(written(path, {"qid": 1, **error}), format="opensearch")


def test_an_empty_result_of_a_filtered_response_is_empty(path):
    good = {"qid": 2, "response": samples.elasticsearch({"1": {"f": 1.0}})}
    for empty in ({}, {"hits": {}}, {"hits": {"hits": []}}):
        log = written(path, {"qid": 1, "response": empty}, good)
        assert read_feature_log(log, format="elasticsearch").query_ids.tolist() == [2]
