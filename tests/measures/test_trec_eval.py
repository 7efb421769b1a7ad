"""The convention of trec_eval against trec_eval itself, and the ir_measures front end."""

import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from measures.sample_lists import dataset_of, random_lists
from numpy.testing import assert_allclose

from localrank.measures import parse_measure

NAMES = ["ndcg_cut_1", "ndcg_cut_5", "ndcg_cut_20", "ndcg", "map", "map_cut_5", "recip_rank", "P_5"]
LISTS = [
    random_lists(1),
    random_lists(2, levels=(0, 0, 1, 2, 3, 4), largest=40),
    random_lists(3, levels=(0, 1), tied=False),
]


def judgements_and_run(dataset, scores):
    judged, run = {}, {}
    for query in range(dataset.n_queries):
        rows = range(dataset.offsets[query], dataset.offsets[query + 1])
        judged[f"{query}"] = {dataset.document_ids[i]: int(dataset.labels[i]) for i in rows}
        run[f"{query}"] = {
            dataset.document_ids[i]: float(scores[i]) for i in rows if scores[i] > -np.inf
        }
    return judged, run


def trec_eval(dataset, scores, name):
    judged, run = judgements_and_run(dataset, scores)
    asked = "P.5" if name == "P_5" else name.replace("cut_", "cut.")
    answers = pytrec_eval.RelevanceEvaluator(judged, {asked}).evaluate(run)
    return [answers[f"{query}"][name] for query in range(dataset.n_queries)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dataset", "scores"), LISTS, ids=["tied", "long", "untied"])
def test_values_are_those_of_trec_eval(name, dataset, scores):
    values = parse_measure(name, convention="trec_eval")(dataset, scores)
    assert_allclose(values, trec_eval(dataset, scores, name), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_relevant_documents_missing_from_the_run_count_as_in_trec_eval(name):
    dataset, scores = random_lists(4, largest=20)
    missing = np.random.default_rng(0).random(len(scores)) < 0.3
    missing[dataset.offsets[:-1]] = False  # trec_eval leaves out a query with an empty run
    scores = np.where(missing, -np.inf, scores)
    values = parse_measure(name, convention="trec_eval")(dataset, scores)
    assert_allclose(values, trec_eval(dataset, scores, name), rtol=1e-12, atol=1e-15)


def test_scores_that_differ_beyond_float32_are_tied_as_in_trec_eval():
    dataset = dataset_of([1, 0], document_ids=["a", "b"])
    scores = np.array([1 + 1e-9, 1.0])
    assert trec_eval(dataset, scores, "recip_rank") == [0.5]
    assert parse_measure("recip_rank", convention="trec_eval")(dataset, scores) == [0.5]


@pytest.mark.parametrize(
    "name", ["nDCG@10", "AP(rel=2)", "AP(rel=2)@5", "RR(rel=2)", "RR@3", "P(rel=2)@5", "P@3"]
)
def test_names_of_ir_measures_mean_the_same(name):
    dataset, scores = random_lists(5, tied=False)
    judged, run = judgements_and_run(dataset, scores)
    theirs = ir_measures.parse_measure(name)
    answers = {a.query_id: a.value for a in ir_measures.iter_calc([theirs], judged, run)}
    values = parse_measure(name, convention="trec_eval")(dataset, scores)
    assert_allclose(values, [answers[f"{q}"] for q in range(dataset.n_queries)], rtol=1e-12)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a perl script")
@pytest.mark.parametrize(
    ("ours", "theirs"), [("err@20", "ERR@20"), ("ndcg@10", "nDCG(dcg='exp-log2')@10")]
)
def test_defaults_are_those_of_gdeval(ours, theirs):
    dataset, scores = random_lists(6, levels=(0, 0, 1, 2, 3, 4), tied=False)
    judged, run = judgements_and_run(dataset, scores)
    measure = ir_measures.parse_measure(theirs)
    answers = {a.query_id: a.value for a in ir_measures.iter_calc([measure], judged, run)}
    values = parse_measure(ours)(dataset, scores)
    # gdeval prints five digits.
    assert_allclose(values, [answers[f"{q}"] for q in range(dataset.n_queries)], atol=6e-6)
