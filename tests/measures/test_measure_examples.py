"""Lists small enough to compute by hand."""

from math import log2

import numpy as np
import pytest
from measures.sample_lists import dataset_of
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.measures import (
    NDCG,
    AveragePrecision,
    ExpectedReciprocalRank,
    OrderErrorRate,
    Precision,
    ReciprocalRank,
    parse_measure,
)

FALLING = [4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("measure", "labels", "expected"),
    [
        (NDCG(), [0, 1, 2, 0], (1 / log2(3) + 3 / 2) / (3 + 1 / log2(3))),
        (NDCG(2), [0, 1, 2, 0], (1 / log2(3)) / (3 + 1 / log2(3))),
        (NDCG(gain="linear"), [0, 1, 2, 0], (1 / log2(3) + 2 / 2) / (2 + 1 / log2(3))),
        (NDCG(discount="letor"), [0, 1, 2, 0], (1 + 3 / log2(3)) / (3 + 1)),
        (NDCG(gain="exponential"), [0.5, 1, 0, 0], None),
        (AveragePrecision(), [0, 1, 0, 1], (1 / 2 + 2 / 4) / 2),
        (AveragePrecision(2), [0, 1, 0, 1], (1 / 2) / 2),
        (AveragePrecision(1, denominator="reachable"), [1, 1, 0, 1], 1.0),
        (AveragePrecision(relevance_level=2), [1, 2, 0, 1], 1 / 2),
        (ReciprocalRank(), [0, 0, 1, 1], 1 / 3),
        (ReciprocalRank(2), [0, 0, 1, 1], 0.0),
        (Precision(3), [0, 1, 1, 1], 2 / 3),
        (Precision(8), [0, 1, 1, 1], 3 / 8),
        (Precision(8, short="shrink"), [0, 1, 1, 1], 3 / 4),
        (Precision(), [0, 1, 1, 1], 3 / 4),
        (ExpectedReciprocalRank(), [0, 2, 1, 0], 3 / 16 / 2 + 13 / 16 * 1 / 16 / 3),
        (ExpectedReciprocalRank(max_relevance=2), [0, 2, 0, 0], 3 / 4 / 2),
        (OrderErrorRate(), [0, 1, 2, 0], 3 / 5),
        (OrderErrorRate(high=2, low=1), [0, 1, 2, 0], 1.0),
        (OrderErrorRate(high=1, low=0), [0, 1, 2, 0], 1 / 2),
    ],
    ids=str,
)
def test_a_list_of_four_has_the_value_computed_by_hand(measure, labels, expected):
    if expected is None:
        half = 2**0.5 - 1
        expected = (half + 1 / log2(3)) / (1 + half / log2(3))
    assert_allclose(measure(dataset_of(labels), FALLING), [expected], rtol=1e-14)


@pytest.mark.parametrize("name", ["ndcg@5", "map", "mrr", "p@5", "err", "map(rel=3)", "mrr(rel=3)"])
@pytest.mark.parametrize(("empty", "value"), [("0", 0.0), ("1", 1.0), ("skip", np.nan)])
def test_a_query_without_relevant_documents_has_the_chosen_value(name, empty, value):
    labels = [2, 2] if "rel=3" in name else [0, 0]
    head, _, tail = name.partition("@")
    given = head.replace(")", f",empty={empty})") if ")" in head else f"{head}(empty={empty})"
    measure = parse_measure(f"{given}@{tail}" if tail else given)
    assert_array_equal(measure(dataset_of(labels), [1.0, 2.0]), [value])


def test_skipped_queries_are_left_out_of_the_mean():
    dataset = dataset_of([0, 0], [0, 1])
    scores = [2.0, 1.0, 2.0, 1.0]
    assert ReciprocalRank(empty="skip").mean(dataset, scores) == 0.5
    assert ReciprocalRank().mean(dataset, scores) == 0.25


def test_the_mean_over_no_query_is_nan():
    assert np.isnan(NDCG(empty="skip").mean(dataset_of([0, 0]), [1.0, 2.0]))


def test_the_order_error_rate_skips_a_query_without_a_pair():
    assert np.isnan(OrderErrorRate()(dataset_of([1, 1]), [1.0, 2.0]))[0]
    assert np.isnan(OrderErrorRate(high=2, low=1)(dataset_of([1, 0]), [1.0, 2.0]))[0]


def test_lower_is_better_for_the_order_error_rate_alone():
    assert not OrderErrorRate().higher_is_better
    assert NDCG().higher_is_better


def test_a_single_document_is_ranked_first():
    dataset = dataset_of([1])
    for measure in (NDCG(10), AveragePrecision(), ReciprocalRank(), Precision(1)):
        assert measure(dataset, [0.3]) == [1.0]


def test_labels_above_the_scale_of_err_are_refused():
    with pytest.raises(ValueError, match=r"The largest is 5: use max_relevance=5"):
        ExpectedReciprocalRank()(dataset_of([5, 0]), [1.0, 2.0])


def test_gains_may_be_too_large_for_a_number():
    # (2^1998 / 2^2000 + 2^2000 / 2^2000 / log2(3)) / (1 + 2^1998 / 2^2000 / log2(3))
    value = NDCG()(dataset_of([2000, 1998, 0]), [1.0, 2.0, 0.0])
    assert_allclose(value, (1 / 4 + 1 / np.log2(3)) / (1 + 1 / 4 / np.log2(3)), rtol=1e-12)


@pytest.mark.parametrize(
    "measure", [NDCG(2), NDCG(gain="linear"), AveragePrecision(), OrderErrorRate()]
)
def test_a_negative_label_counts_as_0(measure):
    scores = [0.3, 0.2, 0.1, 0.4]
    spam, plain = dataset_of([1, -2, 0, -1]), dataset_of([1, 0, 0, 0])
    assert_allclose(measure(spam, scores), measure(plain, scores), rtol=1e-15)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0], r"one number per document \(2\). Got shape \(1,\)"),
        ([[1.0, 2.0]], r"Got shape \(1, 2\)"),
        ([1.0, np.nan], "1 of 2 are NaN, the first at position 1"),
        ([np.inf, np.nan], "1 of 2 are NaN, the first at position 1"),
        ([np.inf, np.inf], r"2 of 2 are \+inf, the first at position 0"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        NDCG()(dataset_of([1, 0]), scores)


def test_labels_are_needed():
    unlabelled = RankingDataset.from_arrays([[1.0]], qid=[1])
    with pytest.raises(ValueError, match="no relevance labels"):
        NDCG()(unlabelled, [1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_scores_may_be_of_any_number_type(dtype):
    assert ReciprocalRank()(dataset_of([0, 1]), np.array([0, 1], dtype=dtype)) == [1.0]
