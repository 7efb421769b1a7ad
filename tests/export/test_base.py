import json
import re

import numpy as np
import pytest

from localrank.data import RankingDataset, make_queries
from localrank.export import export, verify
from localrank.export.base import columns_by_name, one_file
from localrank.rankers import LambdaMART, RankSVM
from localrank.recipes import pca_queries

ENGINES = ("elasticsearch-ltr", "solr", "elastic")


@pytest.fixture(scope="module")
def lists():
    dataset, _ = make_queries(40)
    return dataset


@pytest.fixture(scope="module")
def trees(lists):
    return LambdaMART(3).fit(lists)


@pytest.fixture(scope="module")
def groups(lists):
    return pca_queries(2).fit(lists)


def test_a_file_is_read_as_bytes_whatever_it_is_kept_as():
    for content in ("é", "é".encode()):
        with one_file({"a.txt": content}, ".txt") as text:
            assert text.decode() == "é"


def test_features_without_names_have_the_numbers_of_letor_files():
    lists = RankingDataset.from_arrays([[1.0, 2.0]], qid=["a"])
    assert columns_by_name(lists) == {"f1": 0, "f2": 1}
    named = lists.replaced(feature_names=("b", "a"))
    assert columns_by_name(named) == {"b": 0, "a": 1}


@pytest.mark.parametrize("to", ["solr", "vespa", "lightgbm"])
def test_local_models_are_not_verified_without_what_chooses(to, groups, trees, lists, tmp_path):
    ranker = groups if to != "lightgbm" else pca_queries(2, ranker=LambdaMART(3)).fit(lists)
    export(ranker, to, tmp_path)
    (tmp_path / "router.json").unlink()
    with pytest.raises(ValueError, match="one file that ends in router.json. It has none"):
        verify(ranker, to, tmp_path, lists)


def test_a_damaged_file_of_a_group_is_named_with_its_folder(groups, lists, tmp_path):
    export(groups, "solr", tmp_path)
    (tmp_path / "localrank_group2" / "model.json").write_text("{")
    with pytest.raises(ValueError, match="^localrank_group2/model.json is not as"):
        verify(groups, "solr", tmp_path, lists)


def test_a_folder_that_is_none_is_refused(trees, lists, tmp_path):
    with pytest.raises(ValueError, match="nowhere is not a folder"):
        verify(trees, "solr", tmp_path / "nowhere", lists)


@pytest.mark.parametrize(
    ("to", "file", "field"),
    [
        ("elasticsearch-ltr", "featureset.json", r'"field": "f{}"'),
        ("elasticsearch-ltr", "featureset.json", r'"name": "f{}"'),
        ("elastic", "model.json", r'"field": "f{}"'),
        ("elastic", "model.json", r'"feature_name": "f{}"'),
        ("solr", "features.json", r'"field": "f{}"'),
        ("solr", "features.json", r'"name": "f{}"'),
        ("solr", "schema.json", r'"name": "f{}"'),
        ("sql", "documents.sql", '"f{}"'),
        ("vespa", "schemas/localrank.sd", "field f{} "),
        ("vespa", "schemas/localrank/localrank.profile", r"attribute(f{})"),
    ],
)
def test_two_features_that_trade_names_are_found_out(to, file, field, lists, tmp_path):
    ranker = LambdaMART(20).fit(lists)
    export(ranker, to, tmp_path)
    assert verify(ranker, to, tmp_path, lists).same_order
    used = np.bincount(ranker.trees_.split_features, minlength=2).argsort()[-2:] + 1
    one, other = (field.format(number) for number in used)
    text = (tmp_path / file).read_text()
    assert one in text
    swapped = text.replace(one, "\0").replace(other, one).replace("\0", other)
    (tmp_path / file).write_text(swapped)
    assert not verify(ranker, to, tmp_path, lists).same_order


@pytest.mark.parametrize("to", ["elasticsearch-ltr", "ranklib", "solr", "sql", "vespa"])
def test_another_weight_is_found_out(to, lists, tmp_path):
    ranker = RankSVM().fit(lists)
    export(ranker, to, tmp_path)
    largest = np.abs(ranker.coef_).max()
    assert verify(ranker, to, tmp_path, lists).largest_difference < 1e-4 * largest
    file = {
        "elasticsearch-ltr": "model.json",
        "solr": "model.json",
        "sql": "localrank.sql",
        "ranklib": "localrank.txt",
        "vespa": "schemas/localrank/localrank.profile",
    }[to]
    text = (tmp_path / file).read_text()
    numbers = re.findall(r"\d\.\d{5,}(?:e-?\d+)?", text)
    largest_number = max(numbers, key=float)
    (tmp_path / file).write_text(text.replace(largest_number, "0.0", 1))
    assert verify(ranker, to, tmp_path, lists).largest_difference > 0.01 * largest


def test_json_of_another_kind_is_named(trees, lists, tmp_path):
    for to in ENGINES:
        export(trees, to, tmp_path / to)
        (tmp_path / to / "model.json").write_text(json.dumps([]))
        with pytest.raises(ValueError, match="model.json is not as it was exported"):
            verify(trees, to, tmp_path / to, lists)
