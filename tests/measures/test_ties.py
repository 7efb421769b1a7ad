from dataclasses import replace

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures.sample_lists import dataset_of
from numpy.testing import assert_allclose

from localrank.data import RankingDataset
from localrank.measures import (
    F1,
    NDCG,
    AveragePrecision,
    Bpref,
    ExpectedReciprocalRank,
    Judged,
    OrderErrorRate,
    PFound,
    Precision,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
    RPrecision,
    Success,
)

CUTOFFS = (None, 1, 2, 3, 5, 10)

# Measure with its parameters, and the plain definition with the same.
PAIRS = [
    *((NDCG(k), oracles.ndcg, {"k": k}) for k in CUTOFFS),
    *((AveragePrecision(k), oracles.average_precision, {"k": k}) for k in CUTOFFS),
    *((ReciprocalRank(k), oracles.reciprocal_rank, {"k": k}) for k in CUTOFFS),
    *((Precision(k), oracles.precision, {"k": k}) for k in CUTOFFS),
    *((ExpectedReciprocalRank(k), oracles.expected_reciprocal_rank, {"k": k}) for k in CUTOFFS),
    (NDCG(4, gain="linear"), oracles.ndcg, {"k": 4, "gain": "linear"}),
    (NDCG(4, discount="letor"), oracles.ndcg, {"k": 4, "discount": "letor"}),
    (AveragePrecision(3, relevance_level=2), oracles.average_precision, {"k": 3, "level": 2}),
    (
        AveragePrecision(2, denominator="reachable"),
        oracles.average_precision,
        {"k": 2, "denominator": "reachable"},
    ),
    (ReciprocalRank(relevance_level=1.5), oracles.reciprocal_rank, {"level": 1.5}),
    (Precision(2, relevance_level=2), oracles.precision, {"k": 2, "level": 2}),
    (ExpectedReciprocalRank(max_relevance=3), oracles.expected_reciprocal_rank, {"largest": 3}),
    (
        ExpectedReciprocalRank(3, max_relevance=8, gain="linear"),
        lambda ranked, labels, k: oracles.expected_reciprocal_rank(
            [np.log2(1 + 2 * label) for label in ranked], labels, k
        ),
        {"k": 3},
    ),
    *((PFound(k), oracles.pfound, {"k": k}) for k in CUTOFFS),
    (PFound(decay=0.5, max_relevance=3), oracles.pfound, {"decay": 0.5, "largest": 3}),
    *((Recall(k), oracles.recall, {"k": k}) for k in CUTOFFS),
    (Recall(2, relevance_level=2), oracles.recall, {"k": 2, "level": 2}),
    *((F1(k), oracles.f1, {"k": k}) for k in CUTOFFS),
    *((Success(k), oracles.success, {"k": k}) for k in CUTOFFS),
    (Success(2, relevance_level=2), oracles.success, {"k": 2, "level": 2}),
    *((RankBiasedPrecision(k), oracles.rank_biased_precision, {"k": k}) for k in CUTOFFS),
    (
        RankBiasedPrecision(p=0.5, relevance_level=2),
        oracles.rank_biased_precision,
        {"p": 0.5, "level": 2},
    ),
    (RPrecision(), oracles.r_precision, {}),
    (RPrecision(relevance_level=2), oracles.r_precision, {"level": 2}),
    (Bpref(), oracles.bpref, {}),
    (Bpref(relevance_level=2), oracles.bpref, {"level": 2}),
    *((Judged(k), oracles.judged, {"k": k}) for k in CUTOFFS),
    (OrderErrorRate(empty=0), oracles.order_error_rate, {}),
    (OrderErrorRate(high=2, low=0, empty=0), oracles.order_error_rate, {"pair": (2, 0)}),
]

NAMES = [str(measure) for measure, _, _ in PAIRS]
LISTS = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 2, 3, 0.5]), st.sampled_from([0.0, 1.0, 2.0])),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize(("measure", "oracle", "parameters"), PAIRS, ids=NAMES)
@settings(max_examples=25)
@given(documents=LISTS)
def test_averaged_ties_are_the_mean_over_all_orders(measure, oracle, parameters, documents):
    labels, scores = zip(*documents, strict=True)
    expected = oracles.expected(oracle, labels, scores, **parameters)
    assert_allclose(measure(dataset_of(labels), scores), [expected], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("measure", "oracle", "parameters"), PAIRS, ids=NAMES)
def test_a_tie_of_seven_is_the_mean_over_its_5040_orders(measure, oracle, parameters):
    labels = [2, 0, 1, 0, 3, 0, 1]
    expected = oracles.expected(oracle, labels, [0] * 7, **parameters)
    assert_allclose(measure(dataset_of(labels), np.zeros(7)), [expected], rtol=1e-12)


@pytest.mark.parametrize(("measure", "oracle", "parameters"), PAIRS, ids=NAMES)
@settings(max_examples=15)
@given(documents=LISTS)
def test_pessimistic_ties_are_the_worst_order(measure, oracle, parameters, documents):
    labels, scores = zip(*documents, strict=True)
    values = oracles.over_ties(oracle, labels, scores, **parameters)
    worst = min(values) if measure.higher_is_better else max(values)
    pessimistic = replace(measure, ties="pessimistic")
    assert_allclose(pessimistic(dataset_of(labels), scores), [worst], rtol=1e-12)


@pytest.mark.parametrize("measure", [NDCG(3), AveragePrecision(), ExpectedReciprocalRank(2)])
@settings(max_examples=25)
@given(documents=LISTS, missing=st.lists(st.booleans(), min_size=6, max_size=6))
def test_documents_at_minus_infinity_are_not_in_the_ranking(measure, documents, missing):
    labels, scores = zip(*documents, strict=True)
    scores = [-np.inf if gone else s for s, gone in zip(scores, missing, strict=False)]
    oracle = {
        NDCG: oracles.ndcg,
        AveragePrecision: oracles.average_precision,
        ExpectedReciprocalRank: oracles.expected_reciprocal_rank,
    }[type(measure)]
    expected = oracles.expected(oracle, labels, scores, k=measure.cutoff)
    assert_allclose(measure(dataset_of(labels), scores), [expected], rtol=1e-12)


def test_nothing_retrieved_is_worth_nothing_to_any_gain():
    dataset = dataset_of([1, 0, 2])
    for measure in (NDCG(), AveragePrecision(), ReciprocalRank(), Precision(2)):
        assert measure(dataset, [-np.inf] * 3) == [0.0]


def test_a_document_not_retrieved_stays_among_the_relevant_ones():
    assert AveragePrecision()(dataset_of([1, 1]), [1.0, -np.inf]) == [0.5]


def test_documents_not_retrieved_are_tied_below_all_others_for_the_order_error_rate():
    dataset = dataset_of([0, 2, 1, 0])
    assert_allclose(
        OrderErrorRate(ties="input")(dataset, [-9.0, -np.inf, -np.inf, 1.0]), [(4 + 0.5) / 5]
    )


def test_input_ties_follow_the_lines_of_the_input():
    assert ReciprocalRank(ties="input")(dataset_of([0, 1, 0]), [1.0, 1.0, 2.0]) == [1 / 3]


def test_input_ties_follow_the_input_where_rows_of_the_dataset_moved():
    moved = RankingDataset(
        features=np.zeros((3, 1)),
        relevance=np.array([1.0, 0.0, 0.0]),
        offsets=np.array([0, 3]),
        query_ids=np.array(["a"]),
        input_order=np.array([2, 0, 1]),
    )
    assert ReciprocalRank(ties="input")(moved, [1.0, 1.0, 1.0]) == [1 / 3]


def test_ties_by_document_id_put_the_larger_id_first():
    dataset = dataset_of([1, 0, 0], document_ids=["a", "c", "b"])
    assert ReciprocalRank(ties="document_id")(dataset, [1.0, 1.0, 1.0]) == [1 / 3]


def test_numbers_as_document_ids_are_compared_as_text():
    dataset = dataset_of([1, 0], document_ids=[9, 10])
    assert ReciprocalRank(ties="document_id")(dataset, [1.0, 1.0]) == [1.0]


def test_finite_scores_beyond_float32_stay_in_the_ranking_of_their_query():
    dataset = dataset_of([1, 0], [0, 1], document_ids=["b", "a", "d", "c"])
    values = ReciprocalRank(ties="document_id")(dataset, [1e300, 1e299, -1e299, -1e300])
    assert values.tolist() == [1.0, 0.5]


def test_ties_by_document_id_need_document_ids():
    with pytest.raises(ValueError, match="need a dataset with document_ids"):
        NDCG(ties="document_id")(dataset_of([1, 0]), [1.0, 1.0])


def test_a_threshold_tie_has_the_precision_at_its_end():
    measure = AveragePrecision(ties="threshold")
    assert measure(dataset_of([1, 0, 0]), [1.0, 1.0, 0.0]) == [0.5]


def test_threshold_ties_refuse_a_cutoff():
    with pytest.raises(ValueError, match=r"must be None with ties='threshold'. Got 5 instead"):
        AveragePrecision(5, ties="threshold")


def test_a_tie_of_thousands_is_as_expected_of_a_long_draw():
    # With many documents, drawing without replacement is close to drawing with: the expected
    # reciprocal rank of a geometric stopping time with probability p is -p log(p) / (1 - p).
    labels = np.tile([0.0, 4.0], 10_000)
    stop = 0.5 * 15 / 16
    value = ExpectedReciprocalRank()(dataset_of(labels), np.zeros(len(labels)))
    assert_allclose(value, [-stop * np.log(stop) / (1 - stop)], rtol=1e-3)
