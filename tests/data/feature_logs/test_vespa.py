import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import logged, written
from numpy.testing import assert_array_equal

from localrank.data import read_feature_log

TABLE = {"1": {"bm25(title)": 4.5, "age": None}, "2": {"bm25(title)": 0.0, "age": 3}}
TENSOR = {"type": "tensor<float>(x[2])", "values": [1.0, 2.0]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize("field", ["matchfeatures", "summaryfeatures"])
def test_features_of_matches_and_of_summaries_are_read(path, field):
    dataset = read_feature_log(logged(path, samples.vespa, {7: TABLE}, field=field))
    assert dataset.feature_names == ("bm25(title)", "age")
    assert_array_equal(dataset.features, [[4.5, np.nan], [0, 3]])


def test_the_features_of_matches_go_first_unless_others_are_asked_for(path):
    result = samples.vespa(TABLE)
    for hit in result["root"]["children"]:
        cached = {"vespa.summaryFeatures.cached": 0.0}
        hit["fields"]["summaryfeatures"] = {"freshness": 0.5, **cached}
    log = written(path, {"qid": 7, **result})
    assert read_feature_log(log).feature_names == ("bm25(title)", "age")
    assert read_feature_log(log, log="summaryfeatures").feature_names == ("freshness",)


def test_tensors_are_refused_by_name_unless_they_are_left_out(path):
    for tensor in (TENSOR, {"0": 1.0}, [1.0, 2.0]):
        log = logged(path, samples.vespa, {7: {"1": {"age": 1.0, "closest(v)": tensor}}})
        with pytest.raises(ValueError, match=r":1: the feature 'closest\(v\)' .* Got a tensor"):
            read_feature_log(log)
        assert read_feature_log(log, ignore=["closest(v)"]).features.tolist() == [[1.0]]
        assert read_feature_log(log, features=["age"]).features.tolist() == [[1.0]]


def test_documents_have_the_document_id_or_that_of_the_hit_or_a_field(path):
    result = samples.vespa(TABLE)
    log = written(path, {"qid": 7, **result})
    assert read_feature_log(log).document_ids.tolist()[0] == "id:tmdb:movie::1"
    for number, hit in enumerate(result["root"]["children"]):
        del hit["fields"]["documentid"]
        hit["fields"]["sku"] = f"s{number}"
    log = written(path, {"qid": 7, **result})
    assert read_feature_log(log).document_ids.tolist()[0] == "index:tmdb/0/1"
    assert read_feature_log(log, document_id="sku").document_ids.tolist() == ["s0", "s1"]


def test_groups_are_skipped(path):
    result = samples.vespa(TABLE)
    group = {"id": "group:root:0", "relevance": 1.0, "children": [{"id": "grouplist:year"}]}
    result["root"]["children"].append(group)
    assert read_feature_log(written(path, {"qid": 7, **result})).n_documents == 2


def test_a_hit_without_features_and_a_failed_query_are_refused(path):
    result = samples.vespa(TABLE, field="rankfeatures")
    with pytest.raises(ValueError, match=r"log.jsonl:1: .*::1' has no matchfeatures or summaryf"):
        read_feature_log(written(path, {"qid": 7, **result}))
    result = {"root": {"errors": [{"code": 8, "summary": "Timed out"}]}}
    with pytest.raises(ValueError, match=r"log.jsonl:1: the query failed: .*Timed out"):
        read_feature_log(written(path, {"qid": 7, **result}))
