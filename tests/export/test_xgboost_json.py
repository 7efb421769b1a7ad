import json
from dataclasses import replace

import numpy as np
from engines.file_engines import rank_in_xgboost, xgboost_booster
from tree_exports import NAMES, ZERO_FOR_MISSING, documents_at, tree_model

from localrank.export import ElasticsearchLTR, XGBoostJSON


def test_xgboost_scores_as_emulated_to_the_last_bit(rng):
    for _ in range(5):
        model = tree_model(rng)
        dataset = documents_at(rng, model.formula.trees.thresholds)
        files = XGBoostJSON().files(model)
        assert (rank_in_xgboost(files, dataset) == XGBoostJSON().scores(files, dataset)).all()


def test_xgboost_keeps_the_names_and_the_number_of_features(rng):
    booster = xgboost_booster(XGBoostJSON().files(tree_model(rng)))
    assert tuple(booster.feature_names) == NAMES
    assert booster.num_features() == len(NAMES)


def test_an_older_model_file_than_xgboost_itself_is_claimed(rng):
    # XGBoost warns of files of a newer version.
    (major, *_) = json.loads(XGBoostJSON().files(tree_model(rng))["some_model.json"])["version"]
    assert major == 2


def nodes(tree):
    """Nodes by number, without the order of keys or children."""
    children = tree.get("children", [])
    facts = {name: value for name, value in tree.items() if name != "children"}
    for name in ("leaf", "split_condition"):
        if name in facts:
            facts[name] = float(np.float32(facts[name]))
    result = {facts["nodeid"]: facts}
    for child in children:
        result |= nodes(child)
    return result


def test_the_plugins_take_what_xgboost_dumps_of_the_same_model(rng):
    for decisions in [ZERO_FOR_MISSING, (8, 10)]:
        model = tree_model(rng, decisions)
        booster = xgboost_booster(XGBoostJSON().files(model))
        dumped = [json.loads(tree) for tree in booster.get_dump(dump_format="json")]
        body = json.loads(ElasticsearchLTR().files(model)["model.json"])
        definition = json.loads(body["model"]["model"]["definition"])
        assert len(definition) in (len(dumped), len(dumped) + 1)
        for written, expected in zip(definition, dumped, strict=False):
            assert nodes(written) == nodes(expected)


def test_xgboost_reads_names_of_any_letters(rng):
    names = ("größe", "日本", "a b", 'quote"d', "f5")
    files = XGBoostJSON().files(replace(tree_model(rng), feature_names=names))
    assert tuple(xgboost_booster(files).feature_names) == names
