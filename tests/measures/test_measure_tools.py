"""Conventions against the Python packages they are named after."""

import json
import os
import subprocess
import sys

import lightgbm
import numpy as np
import pytest
import xgboost
from catboost.utils import eval_metric
from measures.sample_lists import by_query, dataset_of, random_lists
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, ndcg_score

from localrank.measures import parse_measure

SKLEARN_LISTS = [
    random_lists(1),
    random_lists(2, tied=False),
    random_lists(3, levels=(0, 0.25, 1.5, 3), largest=30),
]
CUTOFFS = (1, 2, 3, 5, 10, 20)


def lightgbm_values(dataset, scores, metric, cutoff):
    """LightGBM's mean before any tree, when only the initial scores count."""
    data = lightgbm.Dataset(
        np.arange(len(scores), dtype=float)[:, None],
        label=dataset.labels,
        group=dataset.query_sizes,
        init_score=scores,
    )
    parameters = {"objective": "lambdarank", "metric": metric, "eval_at": [cutoff]}
    booster = lightgbm.Booster(parameters | {"verbose": -1, "num_threads": 1}, data)
    return booster.eval_train()[0][2]


def xgboost_value(dataset, scores, metric):
    data = xgboost.DMatrix(np.zeros((len(scores), 1)), label=dataset.labels)
    data.set_group(dataset.query_sizes)
    data.set_base_margin(scores)
    booster = xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": metric, "verbosity": 0, "nthread": 1},
        data,
        num_boost_round=0,
    )
    last = booster.eval(data).rsplit("\t", 1)[1]
    return float(last.rsplit(":", 1)[1])


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("metric", ["ndcg", "map"])
@pytest.mark.parametrize("tied", [True, False])
def test_lightgbm_has_the_same_mean(metric, cutoff, tied):
    dataset, scores = random_lists(7, levels=(0, 0, 1, 2, 4), tied=tied)
    measure = parse_measure(f"{metric}@{cutoff}", convention="lightgbm")
    assert_allclose(
        measure.mean(dataset, scores), lightgbm_values(dataset, scores, metric, cutoff), rtol=1e-6
    )


@pytest.mark.parametrize("suffix", [*(f"@{k}" for k in CUTOFFS), "", "-", "@5-"])
@pytest.mark.parametrize("metric", ["ndcg", "map", "pre"])
@pytest.mark.parametrize("tied", [True, False])
def test_xgboost_has_the_same_mean(metric, suffix, tied):
    levels = (0, 0, 1, 2, 4) if metric == "ndcg" else (0, 0, 1)
    dataset, scores = random_lists(8, levels=levels, tied=tied)
    measure = parse_measure(metric + suffix, convention="xgboost")
    assert_allclose(
        measure.mean(dataset, scores), xgboost_value(dataset, scores, metric + suffix), rtol=1e-6
    )


@pytest.mark.parametrize("cutoff", [1, 3, 10, None])
@pytest.mark.parametrize(("dataset", "scores"), SKLEARN_LISTS, ids=["tied", "untied", "real"])
def test_ndcg_is_that_of_scikit_learn(dataset, scores, cutoff):
    name = f"ndcg@{cutoff}" if cutoff else "ndcg"
    values = parse_measure(name, convention="sklearn")(dataset, scores)
    pairs = zip(by_query(dataset, dataset.labels), by_query(dataset, scores), strict=True)
    # scikit-learn refuses lists of one document.
    expected = [ndcg_score([y], [s], k=cutoff) if len(y) > 1 else float(y[0] > 0) for y, s in pairs]
    assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:No positive class found")
@pytest.mark.parametrize(("dataset", "scores"), SKLEARN_LISTS, ids=["tied", "untied", "real"])
def test_average_precision_is_that_of_scikit_learn(dataset, scores):
    values = parse_measure("map", convention="sklearn")(dataset, scores)
    pairs = zip(by_query(dataset, dataset.labels > 0), by_query(dataset, scores), strict=True)
    expected = [average_precision_score(y, s) for y, s in pairs]
    assert_allclose(values, expected, rtol=1e-12)


CATBOOST = {
    "ndcg": ("NDCG", ":type=Base"),
    "ndcg(gain=exponential)": ("NDCG", ":type=Exp"),
    "map": ("MAP", ""),
    "mrr": ("MRR", ""),
    "p": ("PrecisionAt", ""),
    "recall": ("RecallAt", ""),
    "err": ("ERR", ""),
    "pfound": ("PFound", ""),
    "pfound(decay=0.5)": ("PFound", ":decay=0.5"),
}


def catboost_value(dataset, scores, metric):
    groups = dataset.query_index.tolist()
    return eval_metric(dataset.labels.tolist(), scores.tolist(), metric, group_id=groups)[0]


@pytest.mark.parametrize("cutoff", [None, 1, 2, 3, 5, 20])
@pytest.mark.parametrize(("name", "metric"), CATBOOST.items(), ids=CATBOOST)
@pytest.mark.parametrize("tied", [True, False])
def test_catboost_has_the_same_mean(name, metric, cutoff, tied):
    kind, options = metric
    chances = name.startswith(("err", "pfound"))  # CatBoost takes labels for probabilities
    levels = (0, 0, 0.25, 0.5, 0.75, 1) if chances else (0, 0, 0.5, 0.75, 1, 2, 4)
    dataset, scores = random_lists(10, levels=levels, tied=tied)
    if cutoff:
        options += (";" if options else ":") + f"top={cutoff}"
        name += f"@{cutoff}"
    value = parse_measure(name, convention="catboost").mean(dataset, scores)
    assert_allclose(value, catboost_value(dataset, scores, kind + options), rtol=1e-9)


@pytest.mark.parametrize("name", CATBOOST, ids=CATBOOST)
def test_catboost_counts_a_query_without_relevant_documents_the_same(name):
    dataset, scores = dataset_of([0, 0]), np.array([2.0, 1.0])
    value = parse_measure(name, convention="catboost").mean(dataset, scores)
    assert value == catboost_value(dataset, scores, "".join(CATBOOST[name]))


RANX = {
    "ndcg(gain=linear)@5": "ndcg@5",
    "ndcg@5": "ndcg_burges@5",
    "ndcg": "ndcg_burges",
    "map": "map",
    "map@3": "map@3",
    "map(rel=2)": "map-l2",
    "mrr": "mrr",
    "mrr@2": "mrr@2",
    "p@5": "precision@5",
    "recall@5": "recall@5",
    "recall": "recall",
    "recall(rel=2)@3": "recall@3-l2",
    "f1@5": "f1@5",
    "f1": "f1",
    "rprec": "r-precision",
    "success@1": "hit_rate@1",
    "success(rel=2)@3": "hit_rate@3-l2",
    "bpref": "bpref",
    "bpref(rel=2)": "bpref-l2",
    "rbp(rel=2)": "rbp.80-l2",
    "rbp(rel=2,p=0.95)": "rbp.95-l2",
}
# ranx has no number for bpref without a relevant or without an irrelevant judged document.
UNDEFINED = ("bpref", "bpref-l2")
# The gain of rbp is the label there.
GAINS = {"rbp.80-l2": 2, "rbp.95-l2": 2}
ASK_RANX = """
import json, sys
import ranx
judged, run, measures = json.load(sys.stdin)
answers = ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), measures, return_mean=False)
print(json.dumps({name: values.tolist() for name, values in answers.items()}))
"""


@pytest.fixture(scope="module")
def ranx_answers():
    """Lists, scores, and what ranx makes of them: uncompiled, since that takes it a minute."""
    dataset, scores = random_lists(9, tied=False, levels=(-1, 0, 0, 1, 2))
    judged, run = {}, {}
    for row, query in enumerate(dataset.query_index):
        known = judged.setdefault(f"{query:03}", {})
        if dataset.labels[row] >= 0:
            known[f"d{row}"] = int(dataset.labels[row])
        run.setdefault(f"{query:03}", {})[f"d{row}"] = scores[row]
    for known in judged.values():
        known or known.setdefault("nowhere", 0)  # ranx refuses a query without judgments
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK_RANX],
        input=json.dumps([judged, run, list(RANX.values())]),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dataset, scores, json.loads(answer.stdout)


@pytest.mark.parametrize(("ours", "theirs"), RANX.items())
def test_untied_lists_have_the_values_of_ranx(ours, theirs, ranx_answers):
    dataset, scores, answers = ranx_answers
    expected = np.array(answers[theirs]) / GAINS.get(theirs, 1)
    defined = np.isfinite(expected)
    assert defined.all() or theirs in UNDEFINED
    values = parse_measure(ours)(dataset, scores)
    assert_allclose(values[defined], expected[defined], rtol=1e-12)
