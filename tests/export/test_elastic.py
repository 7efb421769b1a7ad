import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tree_exports import NAMES, documents_at, tree_model

from localrank.export import Elastic
from localrank.export.elastic import _compensated_sum


def ensemble(model):
    body = json.loads(Elastic().files(model)["model.json"])
    return body, body["definition"]["trained_model"]["ensemble"]


def test_thresholds_and_leaves_keep_double_precision(rng):
    model = tree_model(rng)
    _, written = ensemble(model)
    nodes = [node for tree in written["trained_models"] for node in tree["tree"]["tree_structure"]]
    thresholds = {node["threshold"] for node in nodes if "threshold" in node}
    ordinary = [t for t in model.formula.trees.thresholds.tolist() if abs(t) > 1e-30]
    assert set(ordinary) <= thresholds
    leaves = [node["leaf_value"] for node in nodes if "leaf_value" in node]
    assert leaves == model.formula.trees.leaf_values.tolist()
    assert {node["decision_type"] for node in nodes if "threshold" in node} == {"lte"}


def test_every_feature_is_read_from_its_field_and_missing_without_it(rng):
    body, written = ensemble(tree_model(rng))
    extractors = body["inference_config"]["learning_to_rank"]["feature_extractors"]
    assert written["feature_names"] == list(NAMES)
    for extractor, name in zip(extractors, NAMES, strict=True):
        assert extractor["query_extractor"]["feature_name"] == name
        query = extractor["query_extractor"]["query"]["function_score"]
        assert query["query"] == {"exists": {"field": name}}
        assert query["boost_mode"] == "replace"


def test_scores_are_singles_and_none_is_below_zero(rng):
    model = tree_model(rng)
    dataset = documents_at(rng, model.formula.trees.thresholds)
    scores = Elastic().scores(Elastic().files(model), dataset)
    assert (scores >= 0).all()
    assert (scores == scores.astype(np.float32)).all()


def test_sums_are_compensated(rng):
    # A plain sum of these is off by the small terms, each of which it loses.
    terms = [np.array([1.0]), *[np.array([1e-17])] * 1000]
    assert sum(terms)[0] == 1.0
    assert _compensated_sum(terms)[0] == math.fsum(term[0] for term in terms)


@pytest.mark.parametrize("name", ["Shop", "shop_", "s" * 65])
def test_a_name_that_elasticsearch_does_not_take_is_refused(name, rng):
    model = replace(tree_model(rng), name=name)
    with pytest.raises(ValueError, match=f"lower-case letters.*Got '{name}'"):
        Elastic().files(model)


def test_names_of_one_to_64_characters_are_taken(rng):
    for name in ("s", "s" * 64, "shop_2"):
        assert name in Elastic().files(replace(tree_model(rng), name=name))["README.md"]
