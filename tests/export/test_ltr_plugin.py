import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tree_exports import KNOWS_MISSING, NAMES, ZERO_FOR_MISSING, documents_at, exported, tree_model

from localrank.data import RankingDataset
from localrank.export import ElasticsearchLTR, OpenSearchLTR
from localrank.formulas import Linear, TreeSum

PLUGINS = [ElasticsearchLTR, OpenSearchLTR]


def definition(files):
    return json.loads(json.loads(files["model.json"])["model"]["model"]["definition"])


def features(files):
    return json.loads(files["featureset.json"])["featureset"]["features"]


def naive_score(trees, document):
    """What the plugin's code does: numbers of single precision, `threshold > value` goes left."""
    total = np.float32(0)
    for node in trees:
        while "leaf" not in node:
            value = np.float32(document[NAMES.index(node["split"])])
            if np.isnan(value):
                number = node["missing"]
            else:
                number = node["yes"] if np.float32(node["split_condition"]) > value else node["no"]
            (node,) = (child for child in node["children"] if child["nodeid"] == number)
        total = np.float32(total + np.float32(node["leaf"]))
    return float(total)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_scores_are_those_of_the_plugins_loop_over_nodes(plugin, rng):
    model = tree_model(rng, KNOWS_MISSING)
    dataset = documents_at(rng, model.formula.trees.thresholds, 60)
    files = plugin().files(model)
    expected = [naive_score(definition(files), document) for document in dataset.features]
    assert plugin().scores(files, dataset).tolist() == expected


def test_both_plugins_take_the_same_files_but_for_the_words(rng):
    model = tree_model(rng)
    files, others = (plugin().files(model) for plugin in PLUGINS)
    assert files.pop("README.md") != others.pop("README.md")
    assert files == others


@pytest.mark.parametrize("plugin", PLUGINS)
def test_no_command_replaces_a_set_that_logs_with_the_models_name(plugin, rng):
    readme = plugin().files(replace(tree_model(rng), name="shop"))["README.md"]
    uploads = re.findall(r'_featureset/(\w+)(\S*)" .*\n +-d @(\S+)', readme)
    # First the model alone, to the set that logs.
    assert uploads[0] == ("YOUR_SET", "/_createmodel", "model.json")
    replaced = [name for name, _, file in uploads if file == "featureset.json"]
    assert replaced == ["shop_fields"]
    assert ("shop_fields", "/_createmodel", "model.json") in uploads


def test_a_split_has_what_the_plugins_parser_asks_for(rng):
    nodes = definition(ElasticsearchLTR().files(tree_model(rng)))
    for node in nodes:
        if "leaf" in node:
            assert node.keys() == {"nodeid", "leaf"}
            continue
        keys = "nodeid depth split split_condition yes no missing children"
        assert node.keys() == set(keys.split())
        # The parser refuses children in another order.
        assert [child["nodeid"] for child in node["children"]] == [node["yes"], node["no"]]
        assert node["missing"] in (node["yes"], node["no"])
        nodes += node["children"]


def test_no_score_is_below_zero_and_the_least_may_be_zero(rng):
    for _ in range(20):
        model = tree_model(rng, n_trees=1)
        dataset = documents_at(rng, model.formula.trees.thresholds)
        scores = ElasticsearchLTR().scores(ElasticsearchLTR().files(model), dataset)
        assert (scores >= 0).all()
        expected = model.formula.score(dataset)
        lowest = model.formula.trees.leaf_values.min()
        if lowest < 0 and lowest == expected.min():
            assert scores.min() == 0


def test_the_constant_stands_last_so_that_sums_keep_their_digits(rng):
    files = ElasticsearchLTR().files(tree_model(rng))
    *trees, last = definition(files)
    assert len(trees) == 12
    assert last.keys() == {"nodeid", "leaf"}
    assert last["leaf"] > 0


def test_scores_above_zero_need_no_constant(rng):
    model = tree_model(rng)
    trees = model.formula.trees
    values = np.abs(trees.leaf_values)
    lifted = exported(TreeSum(replace(trees, leaf_values=values)))
    assert len(definition(ElasticsearchLTR().files(lifted))) == trees.n_trees


def test_missing_values_count_as_zero_unless_the_model_learned_from_them(rng):
    for feature, name in zip(
        features(ElasticsearchLTR().files(tree_model(rng, ZERO_FOR_MISSING))), NAMES, strict=True
    ):
        query = feature["template"]["function_score"]
        assert feature["name"] == name
        assert query["query"] == {"match_all": {}}
        assert query["field_value_factor"] == {"field": name, "missing": 0}
    for feature, name in zip(
        features(ElasticsearchLTR().files(tree_model(rng, KNOWS_MISSING))), NAMES, strict=True
    ):
        query = feature["template"]["function_score"]
        assert query["query"] == {"exists": {"field": name}}
        assert query["field_value_factor"] == {"field": name}


def test_the_feature_set_decides_whether_missing_values_reach_the_trees(rng):
    model = tree_model(rng, KNOWS_MISSING)
    dataset = documents_at(rng, model.formula.trees.thresholds)
    files = ElasticsearchLTR().files(model)
    zeroed = ElasticsearchLTR().files(tree_model(rng, ZERO_FOR_MISSING))["featureset.json"]
    scores = ElasticsearchLTR().scores({**files, "featureset.json": zeroed}, dataset)
    filled = dataset.replaced(features=np.nan_to_num(dataset.features))
    assert (scores == ElasticsearchLTR().scores(files, filled)).all()
    assert (scores != ElasticsearchLTR().scores(files, dataset)).any()


@pytest.mark.parametrize(
    ("plugin", "version"), [(ElasticsearchLTR, "1.5.9"), (OpenSearchLTR, "OpenSearch 3.8")]
)
def test_the_version_that_missing_values_need_is_named_where_it_matters(plugin, version, rng):
    assert version in plugin().files(tree_model(rng, KNOWS_MISSING))["README.md"]
    assert version not in plugin().files(tree_model(rng, ZERO_FOR_MISSING))["README.md"]


def test_linear_models_are_weights_by_name_without_the_constant(rng):
    weights = rng.normal(size=5)
    files = ElasticsearchLTR().files(exported(Linear(weights, 7.0)))
    written = definition(files)
    assert list(written) == list(NAMES)
    assert np.allclose(list(written.values()), weights, rtol=1e-7)
    assert "is left out" in files["README.md"]


def test_linear_scores_are_sums_of_single_precision_with_zero_for_missing(rng):
    weights = rng.normal(size=5)
    rows = rng.normal(size=(50, 5))
    rows[3, 2] = np.nan
    dataset = RankingDataset.from_arrays(rows, qid=[1] * 50, feature_names=NAMES)
    files = OpenSearchLTR().files(exported(Linear(weights, 7.0)))
    scores = OpenSearchLTR().scores(files, dataset)
    for row, score in zip(np.nan_to_num(rows).astype(np.float32), scores, strict=True):
        total = np.float32(0)
        for weight, value in zip(weights.astype(np.float32), row, strict=True):
            total = np.float32(total + np.float32(weight * value))
        assert score == total
