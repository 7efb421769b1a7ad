"""The convention of trec_eval against trec_eval itself, and the ir_measures front end."""

import re
import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from measures.sample_lists import dataset_of, random_lists
from numpy.testing import assert_allclose

from localrank.measures import parse_measure

NAMES = ["ndcg_cut_1", "ndcg_cut_5", "ndcg_cut_20", "ndcg", "map", "map_cut_5", "recip_rank", "P_5"]
NAMES += ["recall_5", "recall_20", "Rprec", "bpref", "success_1", "success_5"]
NAMES += ["set_P", "set_recall", "set_F"]
LISTS = {
    "tied": random_lists(1),
    "long": random_lists(2, levels=(0, 0, 1, 2, 3, 4), largest=40),
    "untied": random_lists(3, levels=(0, 1), tied=False),
    "unjudged": random_lists(7, levels=(-1, -1, 0, 0, 1, 2)),
    "mostly unjudged": random_lists(8, levels=(-1, -1, -1, -1, 0, 1, 1), largest=40),
}
each_list = pytest.mark.parametrize(("dataset", "scores"), LISTS.values(), ids=LISTS)


def judgements_and_run(dataset, scores):
    judged, run = {}, {}
    for query in range(dataset.n_queries):
        rows = range(dataset.offsets[query], dataset.offsets[query + 1])
        judged[f"{query}"] = {
            dataset.document_ids[i]: int(dataset.labels[i]) for i in rows if dataset.labels[i] >= 0
        }
        run[f"{query}"] = {
            dataset.document_ids[i]: float(scores[i]) for i in rows if scores[i] > -np.inf
        }
    return judged, run


def trec_eval(dataset, scores, name):
    judged, run = judgements_and_run(dataset, scores)
    asked = re.sub("_([0-9]+)$", r".\1", name)
    answers = pytrec_eval.RelevanceEvaluator(judged, {asked}).evaluate(run)
    # trec_eval leaves out a query without judgements.
    return [answers[query][name] if judged[query] else 0.0 for query in judged]


@pytest.mark.parametrize("name", NAMES)
@each_list
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
    "name",
    [
        *("nDCG@10", "AP(rel=2)", "AP(rel=2)@5", "RR(rel=2)", "RR@3", "P(rel=2)@5", "P@3"),
        *("R@5", "R(rel=2)@5", "Rprec", "Rprec(rel=2)", "Bpref", "Bpref(rel=2)"),
        *("Success@3", "Success(rel=2)@3", "SetP", "SetR", "SetF", "SetF(rel=2)"),
    ],
)
@pytest.mark.parametrize("levels", [(0, 0, 0, 1, 2), (-1, -1, 0, 1, 2)], ids=["all", "unjudged"])
def test_names_of_ir_measures_mean_the_same(name, levels):
    dataset, scores = random_lists(5, tied=False, levels=levels)
    pair = ours_and_theirs(dataset, scores, name, name, convention="trec_eval")
    assert_allclose(*pair, rtol=1e-12)


@pytest.mark.parametrize("name", ["Judged@1", "Judged@5", "Judged@50", "Judged"])
def test_judged_is_that_of_ir_measures(name):
    dataset, scores = random_lists(10, tied=False, levels=(-1, -1, 0, 1))
    assert_allclose(*ours_and_theirs(dataset, scores, name, name), rtol=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("rbp(rel=1)", "RBP(rel=1)"), ("rbp(rel=2,p=0.95)", "RBP(rel=2,p=0.95)")],
)
def test_rank_biased_precision_is_that_of_cwl_eval(ours, theirs):
    dataset, scores = random_lists(11, tied=False, levels=(-1, 0, 0, 1, 2))
    assert_allclose(*ours_and_theirs(dataset, scores, ours, theirs), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("target", [1.0, 2.5, 10.0])
def test_inst_is_that_of_cwl_eval(target):
    dataset, scores = random_lists(12, tied=False, levels=(-1, 0, 0, 1), n_queries=40)
    ours, theirs = ours_and_theirs(
        dataset, scores, f"inst(T={target})", f"INST(T={target},max_rel=1)"
    )
    # cwl_eval breaks the weights off at rank 1000, where they are (2 T / 1000)² at most.
    assert (ours <= theirs).all()
    assert_allclose(ours, theirs, rtol=2e-3 * (1 + 2 * target))


def ours_and_theirs(dataset, scores, ours, theirs, convention="default"):
    """Our values and those of ir_measures, which leaves out queries without judgements."""
    judged, run = judgements_and_run(dataset, scores)
    measure = ir_measures.parse_measure(theirs)
    answers = {a.query_id: a.value for a in ir_measures.iter_calc([measure], judged, run)}
    known = [q for q in range(dataset.n_queries) if judged[f"{q}"]]
    values = parse_measure(ours, convention)(dataset, scores)
    return values[known], np.array([answers[f"{q}"] for q in known])


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
