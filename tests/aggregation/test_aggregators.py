"""What every aggregator promises, checked for every one that declares itself."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from sklearn.base import clone

from localrank import aggregation
from localrank.aggregation import Borda, MarkovChain, MedianRank
from localrank.aggregation.base import RankAggregator
from localrank.data import RankingDataset
from localrank.registry import declared, make_sample

ALL = [make_sample(part) for part in declared(aggregation).values()]
by_name = pytest.mark.parametrize("aggregator", ALL, ids=lambda one: type(one).__name__)
# Those to which only the order in each list counts, and which may lack documents.
RANKS = [one for one in ALL if isinstance(one, RankAggregator)]
by_rank = pytest.mark.parametrize("aggregator", RANKS, ids=lambda one: type(one).__name__)


def make_lists(seed, *, n_lists=5, sizes=(1, 2, 7, 30), levels=8, missing=0.2):
    """Labelled queries and lists of them with ties and missing entries."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    lists = rng.integers(0, levels, (n, n_lists)).astype(float)
    lists[rng.random(lists.shape) < missing] = np.nan
    labels = rng.integers(0, 3, n)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    return RankingDataset.from_arrays(np.zeros((n, 1)), labels, qid), lists


def levels_of(dataset, scores):
    """Places of the documents in the order of their query, tied ones in the same place."""
    return [
        np.unique(scores[begin:end], return_inverse=True)[1]
        for begin, end in pairwise(dataset.offsets)
    ]


def assert_same_order(dataset, first, second):
    for one, other in zip(levels_of(dataset, first), levels_of(dataset, second), strict=True):
        assert_array_equal(one, other)


@by_rank
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n_lists=st.integers(1, 6), levels=st.sampled_from([2, 9, 10**6]))
def test_lists_that_agree_are_reproduced_with_their_ties(aggregator, seed, n_lists, levels):
    dataset, one = make_lists(seed, n_lists=1, levels=levels)
    rng = np.random.default_rng(seed)
    one = np.nan_to_num(one, nan=-1)
    lists = one * rng.uniform(0.1, 9, n_lists) + rng.normal(size=n_lists)
    scores = clone(aggregator).fit(dataset, lists).aggregate(dataset, lists)
    assert_same_order(dataset, scores, one[:, 0])


@by_rank
def test_a_long_list_that_all_agree_on_is_reproduced(aggregator):
    order = np.random.default_rng(0).permutation(1500).astype(float)
    dataset = RankingDataset.from_arrays(np.zeros((1500, 1)), order > 1400, np.zeros(1500))
    lists = np.column_stack([order] * 3)
    scores = clone(aggregator).fit(dataset, lists).aggregate(dataset, lists)
    assert_same_order(dataset, scores, order)


@by_rank
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_an_increasing_transformation_of_a_list_changes_nothing(aggregator, seed):
    dataset, lists = make_lists(seed)
    other = np.column_stack(
        [np.exp(lists[:, 0]), lists[:, 1] ** 3, 5 - 1 / (1 + lists[:, 2]), *lists.T[3:] - 100]
    )
    one, two = clone(aggregator).fit(dataset, lists), clone(aggregator).fit(dataset, other)
    assert_array_equal(one.aggregate(dataset, lists), two.aggregate(dataset, other))


@by_name
def test_a_query_is_aggregated_alike_alone_and_among_others(aggregator):
    dataset, lists = make_lists(0, missing=0.2 * isinstance(aggregator, RankAggregator))
    fitted = clone(aggregator).fit(dataset, lists)
    among = fitted.aggregate(dataset, lists)
    for query, (begin, end) in enumerate(pairwise(dataset.offsets)):
        alone = fitted.aggregate(dataset.select([query]), lists[begin:end])
        assert_array_equal(alone, among[begin:end])


@by_rank
@pytest.mark.parametrize("seed", range(5))
def test_documents_may_come_in_any_order(aggregator, seed):
    dataset, lists = make_lists(seed, sizes=(3, 12, 40), levels=4)
    order = np.random.default_rng(seed).permutation(dataset.n_documents)
    mixed = rearranged(dataset, order)
    one = clone(aggregator).fit(dataset, lists)
    two = clone(aggregator).fit(mixed, lists[order])
    # To the last bit: rounding must not order tied documents.
    assert_array_equal(two.aggregate(mixed, lists[order]), one.aggregate(dataset, lists)[order])


@pytest.mark.parametrize("aggregator", [Borda(), MedianRank(), MarkovChain()])
def test_lists_may_come_in_any_order(aggregator):
    dataset, lists = make_lists(1)
    assert_array_equal(
        aggregator.aggregate(dataset, lists[:, ::-1]), aggregator.aggregate(dataset, lists)
    )


@by_rank
def test_documents_that_a_list_does_not_hold_are_tied_below_the_others(aggregator):
    dataset, lists = make_lists(2, sizes=(7, 30))
    holds = np.logical_or.reduceat(~np.isnan(lists), dataset.offsets[:-1])
    assert holds.all()
    expected = clone(aggregator).fit(dataset, lists).aggregate(dataset, lists)
    for lowest in (-1.0, -np.inf):
        other = np.where(np.isnan(lists), lowest, lists)
        again = clone(aggregator).fit(dataset, other)
        assert_array_equal(again.aggregate(dataset, other), expected)


@pytest.mark.parametrize("aggregator", [Borda(), MedianRank(), MarkovChain()])
def test_a_list_that_holds_nothing_of_a_query_has_no_say_in_it(aggregator):
    dataset, lists = make_lists(3, missing=0.0)
    scores = aggregator.aggregate(dataset, lists)
    silent = np.full((dataset.n_documents, 7), np.nan)
    assert_array_equal(aggregator.aggregate(dataset, np.column_stack([lists, silent])), scores)


@by_rank
def test_without_any_entry_all_documents_are_tied(aggregator):
    dataset, lists = make_lists(4)
    fitted = clone(aggregator).fit(dataset, lists)
    scores = fitted.aggregate(dataset, np.full_like(lists, np.nan))
    assert_same_order(dataset, scores, np.zeros(dataset.n_documents))
    assert np.isfinite(scores).all()


@by_name
def test_lists_may_be_a_table_or_whole_numbers(aggregator):
    dataset, lists = make_lists(5, missing=0.0)
    expected = clone(aggregator).fit(dataset, lists).aggregate(dataset, lists)
    for other in (pd.DataFrame(lists), lists.astype(np.int32), np.asfortranarray(lists)):
        before = np.array(other)
        scores = clone(aggregator).fit(dataset, other).aggregate(dataset, other)
        assert_array_equal(scores, expected)
        assert_array_equal(before, other)


@by_name
@pytest.mark.parametrize("shape", [(40,), (39, 2), (40, 0), (40, 2, 1)])
def test_lists_of_another_shape_are_refused(aggregator, shape):
    dataset, _ = make_lists(6)
    message = r"one row per document \(40\) and one column per list"
    with pytest.raises(ValueError, match=message):
        clone(aggregator).fit(dataset, np.zeros(shape))
    with pytest.raises(ValueError, match=message):
        clone(aggregator).aggregate(dataset, np.zeros(shape))


@by_name
def test_the_constructor_only_stores(aggregator):
    assert vars(aggregator) == aggregator.get_params()


@by_name
def test_wrong_parameters_are_refused_in_one_form(aggregator):
    dataset, lists = make_lists(7)
    for name in aggregator.get_params(deep=False).keys() - {"random_state"}:
        wrong = clone(aggregator).set_params(**{name: object()})
        message = f"'{name}' parameter of {type(aggregator).__name__} must be .* Got <object"
        with pytest.raises(ValueError, match=message):
            wrong.fit(dataset, lists)


@by_name
def test_a_linear_form_adds_up_to_the_result(aggregator):
    dataset, scores = make_lists(3, missing=0.0)
    fitted = clone(aggregator).fit(dataset, scores)
    form = fitted.linear_form(scores.T, dataset.offsets)
    if isinstance(aggregator, RankAggregator):
        assert form is None
    if form is not None:
        means = [scores[begin:end].mean(axis=0) for begin, end in pairwise(dataset.offsets)]
        lists = scores - form.centred * np.array(means)[dataset.query_index]
        total = (form.weights[:, dataset.query_index].T * lists).sum(axis=1)
        assert_allclose(total, fitted.aggregate(dataset, scores), atol=1e-12)
