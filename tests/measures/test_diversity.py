"""α-nDCG, against ndeval and against its definition."""

import numpy as np
import oracles
import pyndeval
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from localrank.data import RankingDataset, Run
from localrank.measures import alpha_ndcg, judged_subtopics

TOPICS = st.lists(st.booleans(), min_size=3, max_size=3)
DOCUMENTS = st.lists(st.tuples(TOPICS, st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=6)


def one_query(n_documents, document_ids=None):
    return RankingDataset.from_arrays(
        np.zeros((n_documents, 0)), qid=np.zeros(n_documents), document_ids=document_ids
    )


def made_up(seed, n_queries=12, n_subtopics=5):
    """Runs with tied scores, and judgments of which some are not in the run."""
    rng = np.random.default_rng(seed)
    judgments, ranked = [], []
    for query in range(n_queries):
        names = [f"d{number:03}" for number in rng.permutation(200)[: rng.integers(2, 40)]]
        for name in names:
            topics = rng.permutation(n_subtopics)[: rng.integers(1, n_subtopics)]
            judgments += [(f"{query}", f"{t}", name, int(rng.integers(0, 3) // 2)) for t in topics]
        retrieved = names[::2] + [f"u{number}" for number in range(3)]
        ranked += [(f"{query}", name, float(rng.integers(0, 8))) for name in retrieved]
    return judgments, ranked


@pytest.mark.parametrize("cutoff", [1, 5, 20])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_are_those_of_ndeval(seed, alpha, cutoff, tmp_path):
    judgments, ranked = made_up(seed)
    path = tmp_path / "diversity.qrels"
    path.write_text("".join(" ".join(map(str, line)) + "\n" for line in judgments))
    queries, names, scores = (np.array(column) for column in zip(*ranked, strict=True))
    dataset, scores, subtopics = judged_subtopics(Run(queries, names, scores), path)
    values = alpha_ndcg(dataset, scores, subtopics, cutoff=cutoff, alpha=alpha, ties="document_id")
    name = f"alpha-nDCG@{cutoff}"
    # pyndeval puts ties into ascending order of ids, unlike ndeval.
    order = sorted(ranked, key=lambda line: (line[2], line[1]))
    untied = sorted((query, d, float(place)) for place, (query, d, _) in enumerate(order))
    answers = pyndeval.ndeval(judgments, untied, [name], alpha=alpha)
    expected = [answers[query][name] for query in dataset.query_ids]
    assert_allclose(values, expected, rtol=1e-12, atol=1e-15)
    assert len(np.unique(np.round(expected, 3))) > 1


@settings(max_examples=60)
@given(DOCUMENTS, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([None, 1, 2, 4]))
def test_ties_count_with_the_mean_over_all_orders_of_the_definition(documents, alpha, cutoff):
    rows = np.array([topics for topics, _ in documents])
    scores = [score for _, score in documents]
    ideal = oracles.greedy_alpha_dcg(rows, alpha, cutoff)
    orders = list(oracles.orders(scores))
    mean = np.mean([oracles.alpha_dcg(rows[order], alpha, cutoff) for order in orders])
    values = alpha_ndcg(one_query(len(rows)), scores, rows, alpha=alpha, cutoff=cutoff)
    assert_allclose(values, [mean / ideal if ideal else 0.0], rtol=1e-12, atol=1e-14)


def test_a_tie_of_seven_is_the_mean_over_its_5040_orders():
    rows = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0], [0, 0]], bool)
    orders = oracles.orders([0] * 7)
    mean = np.mean([oracles.alpha_dcg(rows[order], 0.5, 4) for order in orders])
    expected = mean / oracles.greedy_alpha_dcg(rows, 0.5, 4)
    assert_allclose(alpha_ndcg(one_query(7), np.zeros(7), rows, cutoff=4), [expected], rtol=1e-12)


def test_without_loss_of_interest_it_is_linear_ndcg_of_the_number_of_subtopics():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (30, 4))
    scores = rng.integers(0, 9, 30)
    labels = rows.sum(axis=1)
    order_means = np.mean(
        [
            oracles.ndcg(
                list(labels[np.lexsort((rng.random(30), -scores))]), list(labels), 10, gain="linear"
            )
            for _ in range(3000)
        ]
    )
    value = alpha_ndcg(one_query(30), scores, rows, alpha=0.0, cutoff=10)
    assert_allclose(value, [order_means], atol=0.01)


def test_rows_in_any_order_have_the_same_value():
    rng = np.random.default_rng(1)
    queries, rows = np.repeat([0, 1, 2], 8), rng.integers(0, 2, (24, 3))
    scores = rng.integers(0, 4, 24)
    order = rng.permutation(24)
    plain = RankingDataset.from_arrays(np.zeros((24, 0)), qid=queries)
    mixed = RankingDataset.from_arrays(np.zeros((24, 0)), qid=queries[order])
    values = alpha_ndcg(plain, scores, rows)[mixed.query_ids]
    assert_allclose(alpha_ndcg(mixed, scores[order], rows[order]), values, rtol=1e-12)


def test_a_query_without_subtopics_has_the_chosen_value():
    dataset = one_query(2)
    assert alpha_ndcg(dataset, [1, 2], np.zeros((2, 3))) == [0.0]
    assert alpha_ndcg(dataset, [1, 2], np.zeros((2, 3)), empty=1.0) == [1.0]


def test_judgments_of_subtopics_have_the_highest_grade_as_label(tmp_path):
    (tmp_path / "qrels").write_text("q 1 a 0\nq 2 a 2\nq 1 b -2\nr 1 c 1\n")
    run = Run(np.array(["q", "q"]), np.array(["x", "a"]), np.array([2.0, 1.0]))
    dataset, scores, subtopics = judged_subtopics(run, tmp_path / "qrels")
    labels = dict(zip(dataset.document_ids.tolist(), dataset.labels.tolist(), strict=True))
    assert labels == {"x": -1.0, "a": 2.0, "b": 0.0, "c": 1.0}
    assert alpha_ndcg(dataset, scores, subtopics) == pytest.approx([1 / np.log2(3), 0.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 1.5}, r"'alpha' argument of alpha_ndcg must be a number from 0 to 1. Got 1.5"),
        ({"cutoff": 0}, "'cutoff' argument of alpha_ndcg must be a whole number, 1 or larger or"),
        ({"ties": "pessimistic"}, "must be 'averaged', 'input' or 'document_id'"),
        ({"subtopics": [1, 0]}, r"one row per document \(2\).* Got shape \(2,\)"),
        ({"subtopics": [[1, 0]]}, r"Got shape \(1, 2\)"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    given = {"subtopics": [[1], [0]]} | arguments
    with pytest.raises(ValueError, match=message):
        alpha_ndcg(one_query(2), [1, 2], given.pop("subtopics"), **given)


def test_a_line_that_is_no_judgment_is_refused(tmp_path):
    (tmp_path / "qrels").write_text("q 1 a 1\nq 1 b much\n")
    run = Run(np.array(["q"]), np.array(["a"]), np.array([1.0]))
    with pytest.raises(ValueError, match=r"qrels:2: a line must be .query subtopic document grade"):
        judged_subtopics(run, tmp_path / "qrels")
