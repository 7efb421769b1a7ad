import warnings

import naive_runs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import (
    Qrels,
    RankingDataset,
    Run,
    align,
    as_qrels,
    as_run,
    judged,
    pooled,
    read_qrels,
    read_run,
)
from localrank.measures import parse_measure


@pytest.fixture
def scattered() -> RankingDataset:
    return RankingDataset.from_arrays(
        np.zeros((4, 1)), [1, 0, 2, 0], ["b", "a", "b", "a"], document_ids=["p", "q", "r", "s"]
    )


def test_documents_that_the_run_lacks_are_not_retrieved(scattered):
    run = Run(np.array(["a", "zz"]), np.array(["q", "q"]), np.array([5.0, 6.0]))
    assert_array_equal(align(run, scattered), [-np.inf, 5.0, -np.inf, -np.inf])


def test_two_documents_with_one_id_in_a_query_cannot_be_aligned():
    dataset = RankingDataset.from_arrays(np.zeros((2, 1)), qid=[1, 1], document_ids=["x", "x"])
    with pytest.raises(ValueError, match="Query '1' of the dataset has two .* same id, 'x'"):
        align(Run(np.array(["1"]), np.array(["x"]), np.array([1.0])), dataset)


def test_judgements_join_a_run_as_trec_eval_does():
    run = Run(np.array(["1", "1", "2"]), np.array(["a", "b", "a"]), np.array([2.0, 1.0, 0.5]))
    qrels = Qrels(
        np.array(["1", "1", "1", "3"]), np.array(["b", "c", "a", "a"]), np.array([2.0, 1, -2, 1])
    )
    dataset, scores = judged(run, qrels)
    assert_array_equal(dataset.query_ids, ["1", "3"])
    assert_array_equal(dataset.document_ids, ["a", "b", "c", "a"])
    assert_array_equal(dataset.relevance, [0, 2, 1, 1])
    assert_array_equal(scores, [2.0, 1.0, -np.inf, -np.inf])


def test_a_run_of_other_queries_is_refused():
    run = Run(np.array(["1"]), np.array(["a"]), np.array([2.0]))
    with pytest.raises(ValueError, match="no query in common"):
        judged(run, Qrels(np.array(["2"]), np.array(["a"]), np.array([1.0])))


IDS = st.text(st.sampled_from("ab0é語"), min_size=1, max_size=10)
QUERIES = st.sampled_from(["q", "qq", "1", "01", "ü"])
SCORES = st.sampled_from([-1.5, -0.0, 0.0, 1.0, 1e300, 5e-324])


def lists(values):
    """Rows of queries and documents, each pair once, in any order."""
    return st.lists(st.tuples(QUERIES, IDS, values), min_size=1, unique_by=lambda row: row[:2])


def columns(rows, kind):
    queries, documents, values = zip(*rows, strict=True)
    return kind(np.array(queries), np.array(documents), np.array(values))


@given(st.lists(lists(SCORES), min_size=1, max_size=3), lists(st.sampled_from([-2.0, -1, 0, 1, 3])))
@settings(max_examples=300)
def test_runs_are_put_together_as_naive_loops_do(rows, grades):
    runs = {str(number): run for number, run in enumerate(rows)}
    graded = [row for row in grades if row[2] != -1]
    judged_queries = {query for query, _, _ in graded}
    judged_pairs = {row[:2] for row in graded}
    retrieved = {row[:2] for run in rows for row in run}
    arguments = {name: columns(run, Run) for name, run in runs.items()}, columns(grades, Qrels)
    if not graded:
        with pytest.raises(ValueError, match="All grades of the judgments are -1"):
            pooled(*arguments)
        return
    if not all(judged_queries & {row[0] for row in run} for run in rows):
        with pytest.raises(ValueError, match="no query in common"):
            pooled(*arguments)
        return
    if not judged_pairs & retrieved:
        with pytest.raises(ValueError, match="not one of them"):
            pooled(*arguments)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pooled(*arguments)
    expected = naive_runs.pooled(runs, grades)
    dataset = result.dataset
    assert dataset.query_ids.tolist() == list(expected)
    documents = zip(dataset.document_ids.tolist(), dataset.labels.tolist(), strict=True)
    everything = [
        (document, (label, *scores))
        for (document, label), *scores in zip(
            documents, *(scores.tolist() for scores in result.scores.values()), strict=True
        )
    ]
    assert everything == [pair for of_query in expected.values() for pair in of_query.items()]
    assert result.n_negative == sum(grade < 0 for _, _, grade in graded)
    assert result.n_open == len(grades) - len(graded)
    for name, run in runs.items():
        counts, of_run = result.counts[name], {row[0] for row in run}
        assert counts.n_queries == len(of_run)
        assert counts.n_unjudged_queries == len(of_run - judged_queries)
        assert counts.n_missing_queries == len(judged_queries - of_run)
        assert counts.n_judged == len({row[:2] for row in run} & judged_pairs)
        assert counts.n_tied == naive_runs.n_tied(run, judged_queries)
        depths = [sum(row[0] == query for row in run) for query in of_run & judged_queries]
        assert counts.depths == (min(depths), np.median(depths), max(depths))
        assert counts.n_documents == sum(depths)


@given(lists(SCORES), lists(SCORES))
def test_a_run_is_aligned_as_naive_loops_do(run, rows):
    queries, documents, _ = zip(*rows, strict=True)
    dataset = RankingDataset.from_arrays(
        np.zeros((len(rows), 1)), qid=queries, document_ids=documents
    )
    given_run = columns(run, Run)
    assert_array_equal(align(given_run, dataset), naive_runs.align(given_run, dataset))


@given(lists(SCORES), st.randoms())
def test_the_order_of_lines_does_not_change_a_pool(rows, random):
    shuffled = random.sample(rows, len(rows))
    qrels = as_qrels({query: {document: 1} for query, document, _ in rows})
    one, other = (judged(columns(run, Run), qrels) for run in (rows, shuffled))

    def by_id(dataset, scores):
        queries = dataset.query_ids[dataset.query_index].tolist()
        return dict(
            zip(zip(queries, dataset.document_ids.tolist(), strict=True), scores, strict=True)
        )

    assert by_id(*one) == by_id(*other)


RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
QRELS = {"q1": {"b": 1, "d": 2}, "q2": {"a": 0}}


def pool(runs=None, qrels=QRELS):
    runs = {"one": RUN} if runs is None else runs
    return pooled({name: as_run(run, name) for name, run in runs.items()}, as_qrels(qrels))


def test_there_is_nothing_to_note_where_no_rule_matters():
    assert pool().notes == []


@pytest.mark.parametrize(
    ("runs", "qrels", "note"),
    [
        (
            {"one": RUN | {"q3": {"a": 1.0}}},
            QRELS,
            "Queries without judgments: one 1 of 3. They are left out.",
        ),
        (
            {"one": {"q1": RUN["q1"]}},
            QRELS,
            "Judged queries that are not in the run: one 1 of 2. The run retrieved nothing for "
            "them.",
        ),
        (
            {"one": RUN | {"q1": {"a": 1.0, "b": 1.0, "c": 0.5}}},
            QRELS,
            "Documents that share their score with another one of their list: one 2 of 4. By "
            "default, measures take the mean over all their orders.",
        ),
        (
            {"one": RUN, "two": {"q1": {"x": 1.0}, "q2": {"y": 1.0}}},
            QRELS,
            "two: none of its documents is judged. Are its ids those of the judgments?",
        ),
        (
            None,
            QRELS | {"q1": {"b": -2, "d": 1}},
            "Judgments with a grade below 0, other than -1: 1. They count as 0: judged, not "
            "relevant.",
        ),
        (
            None,
            QRELS | {"q1": {"b": -1, "d": 1}},
            "Judgments with the grade -1: 1. It says that nobody judged the document.",
        ),
        (
            {"one": RUN, "two": {"q1": {"b": 1.0}, "q2": {"a": 1.0}}},
            QRELS,
            "Runs differ in the lengths of their lists: one 1 to 3 (median 2); two 1 to 1 "
            "(median 1).",
        ),
    ],
)
def test_what_a_rule_changes_is_noted(runs, qrels, note):
    assert note in pool(runs, qrels).notes


def test_ties_of_all_runs_are_one_note():
    tied = RUN | {"q1": {"a": 1.0, "b": 1.0, "c": 0.5}}
    other = RUN | {"q1": {"a": 2.0, "b": 2.0, "c": 0.5}}
    (note,) = pool({"one": tied, "plain": RUN, "two": other}).notes
    assert "one 2 of 4; two 2 of 4. By" in note


def test_a_run_given_twice_is_named():
    with pytest.warns(UserWarning, match="The runs 'one' and 'two' are the same"):
        result = pool({"one": RUN, "two": RUN, "three": {"q1": {"b": 1.0}}})
    assert result.same == {"two": "one"}
    assert "two is the same run as one: same documents, same scores." in result.notes


def test_runs_that_differ_in_one_score_are_not_the_same():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not pool({"one": RUN, "two": RUN | {"q2": {"a": 1.5}}}).same


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        (["007", "012"], "without leading zeros"),
        (["7.0", "12.0"], "without '.0' at their ends"),
        ([" 7", "12 "], "without white space around them"),
        (["D7", "D12"], "by their digits alone"),
        (["x", "y"], "another collection"),
    ],
)
def test_ids_of_another_collection_are_shown_with_a_hint(ids, hint):
    qrels = {"1": {"7": 1, "12": 0}}
    with pytest.raises(ValueError, match=hint) as error:
        pool({"one": {"1": dict.fromkeys(ids, 1.0)}}, qrels)
    assert "Ids of documents are " in str(error.value)
    assert all(repr(name) in str(error.value) for name in [*ids, "7", "12"])
    with pytest.raises(ValueError, match=hint) as error:
        pool({"one": {name: {"a": 1.0} for name in ids}}, {"7": {"a": 1}, "12": {"a": 1}})
    assert "The run 'one' and the judgments have no query in common" in str(error.value)


def test_each_run_needs_a_judged_query():
    with pytest.raises(ValueError, match="The run 'two' and the judgments have no query"):
        pool({"one": RUN, "two": {"q9": {"a": 1.0}}})


def made(queries, documents, values, kind=Run):
    return kind(np.array(queries), np.array(documents), np.array(values))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (made([], [], []), "The run 'x' must not be empty"),
        (made(["q"], ["a"], [np.nan]), "each score must be a finite number. Document 'a' of query"),
        (made(["q"], ["a"], [np.inf]), "each score must be a finite number"),
        (made(["q", "q"], ["a", "a"], [1.0, 2.0]), "The run 'x': document 'a' of query 'q' occurs"),
        (made(["q", "q"], ["a"], [1.0]), "Got 2, 1 and 1 instead"),
    ],
)
def test_a_bad_run_made_by_hand_is_refused(run, message):
    with pytest.raises(ValueError, match=message):
        pooled({"x": run}, made(["q"], ["a"], [1.0], Qrels))


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (made([], [], [], Qrels), "The judgments must not be empty"),
        (made(["q"], ["a"], [np.nan], Qrels), "each relevance must be a finite number"),
        (made(["q", "q"], ["a", "a"], [1.0, 1.0], Qrels), "document 'a' of query 'q' occurs twice"),
    ],
)
def test_bad_judgments_made_by_hand_are_refused(qrels, message):
    with pytest.raises(ValueError, match=message):
        pooled({"x": made(["q"], ["a"], [1.0])}, qrels)


def test_no_runs_are_refused():
    with pytest.raises(ValueError, match="There is no run"):
        pooled({}, as_qrels(QRELS))


def test_ids_that_are_numbers_are_texts():
    run = made([1, 1], [7, 8], [2.0, 1.0])
    dataset, scores = judged(run, as_qrels({"1": {"8": 1}}))
    assert dataset.document_ids.tolist() == ["7", "8"]
    assert scores.tolist() == [2.0, 1.0]


def test_measures_are_those_of_trec_eval_for_runs_that_lack_queries():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    result = pool({"one": run})
    values = parse_measure("ndcg_cut_10", convention="trec_eval")(
        result.dataset, result.scores["one"]
    )
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, {"ndcg_cut.10"}).evaluate(run)
    assert_allclose(values, [theirs["q1"]["ndcg_cut_10"], 0.0], rtol=1e-12)


MEASURES = {"ndcg_cut_10": "ndcg_cut.10", "map": "map", "recip_rank": "recip_rank"}


@pytest.mark.parametrize("collection", ["dl19", "dl20", "covid"])
def test_real_runs_have_the_values_of_trec_eval(collection, benchmark_data):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    folder = benchmark_data / "hybrid" / collection
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    runs = {path.name.partition(".")[0]: read_run(path) for path in folder.glob("*.trec.gz")}
    qrels = read_qrels(folder / "qrels.txt.gz")
    assert len(runs) >= 3
    result = pooled(runs, qrels)
    judgments = as_dict(qrels.query_ids, qrels.document_ids, qrels.relevance.astype(int))
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, set(MEASURES.values()))
    for name, run in runs.items():
        theirs = evaluator.evaluate(as_dict(run.query_ids, run.document_ids, run.scores))
        for measure in MEASURES:
            ours = parse_measure(measure, convention="trec_eval")(
                result.dataset, result.scores[name]
            )
            expected = [
                theirs.get(query, {}).get(measure, 0.0) for query in result.dataset.query_ids
            ]
            assert_allclose(np.nan_to_num(ours), expected, rtol=0, atol=1e-12)


def as_dict(queries, documents, values):
    result = {}
    for query, document, value in zip(
        queries.tolist(), documents.tolist(), values.tolist(), strict=True
    ):
        result.setdefault(query, {})[document] = value
    return result
