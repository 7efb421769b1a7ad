import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from localrank.aggregation import Borda, WeightedBorda
from localrank.aggregation.weighted_borda import UNITS
from localrank.data import RankingDataset
from localrank.measures import parse_measure

MEASURES = ["ndcg@10", "map", "mrr", "oer"]


@pytest.fixture(scope="module")
def good_and_bad():
    """Queries, and lists of which the first two are good, one reversed, the others noise."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=600)
    noise = rng.normal(size=(600, 6))
    lists = np.column_stack([truth, truth, -truth, *np.zeros((3, 600))]) + noise
    labels = np.digitize(truth, [0.5, 1.5])
    return RankingDataset.from_arrays(lists, labels, np.repeat(np.arange(40), 15)), lists


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", range(5))
def test_on_the_training_queries_it_is_never_worse_than_equal_weights(queries, measure, seed):
    lists = np.random.default_rng(seed).normal(size=(queries.n_documents, 4))
    lists[:, :2] += queries.features[:, :2]
    learned = WeightedBorda(measure, random_state=seed).fit(queries, lists)
    quality = parse_measure(measure)
    sign = 1 if quality.higher_is_better else -1
    equal = quality.mean(queries, Borda().aggregate(queries, lists))
    reached = quality.mean(queries, learned.aggregate(queries, lists))
    assert sign * reached >= sign * equal
    assert_allclose([learned.uniform_value_, learned.value_], [equal, reached], rtol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_good_lists_get_the_weight(good_and_bad, measure):
    dataset, lists = good_and_bad
    learned = WeightedBorda(measure).fit(dataset, lists)
    assert learned.weights_[:2].min() > 2 * learned.weights_[2:].max()
    assert learned.weights_[2] == 0
    assert learned.weights_.sum() == pytest.approx(1)


def test_no_other_weight_of_one_list_is_better(good_and_bad):
    dataset, lists = good_and_bad
    learned = WeightedBorda("map").fit(dataset, lists)
    counts = np.column_stack([Borda().aggregate(dataset, one[:, None]) for one in lists.T])
    for place in range(6):
        for unit in UNITS:
            units = learned.units_.copy()
            units[place] = unit
            value = parse_measure("map").mean(dataset, counts @ units)
            assert value <= learned.value_ + 1e-10


def test_scores_are_the_weighted_mean_of_counts(good_and_bad):
    dataset, lists = good_and_bad
    learned = WeightedBorda().fit(dataset, lists)
    counts = np.column_stack([Borda().aggregate(dataset, one[:, None]) for one in lists.T])
    assert_allclose(learned.aggregate(dataset, lists), counts @ learned.weights_, rtol=1e-12)


def test_equal_weights_leave_bordas_ties_tied(queries):
    lists = np.random.default_rng(0).integers(0, 5, (queries.n_documents, 3)).astype(float)
    learned = WeightedBorda().fit(queries, lists)
    learned.units_[:] = 7
    borda = Borda().aggregate(queries, lists)
    assert_array_equal(learned.aggregate(queries, lists) * 3, borda)


def test_one_pass_is_a_beginning(good_and_bad):
    dataset, lists = good_and_bad
    one = WeightedBorda(max_passes=1).fit(dataset, lists)
    all_ = WeightedBorda(max_passes=50).fit(dataset, lists)
    assert one.uniform_value_ < one.value_ <= all_.value_


def test_the_seed_decides_the_order_of_lists(good_and_bad):
    dataset, lists = good_and_bad
    learned = {tuple(WeightedBorda(random_state=s).fit(dataset, lists).units_) for s in range(6)}
    again = {tuple(WeightedBorda(random_state=s).fit(dataset, lists).units_) for s in range(6)}
    assert learned == again
    assert len(learned) > 1


def test_query_weights_decide_which_queries_count():
    # The first list is right in one query, the second in the other.
    lists = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    dataset = RankingDataset.from_arrays(lists, [1, 0, 0, 1], ["a", "a", "b", "b"])
    first = WeightedBorda().fit(dataset, lists, query_weight=[2, 1]).weights_
    second = WeightedBorda().fit(dataset, lists, query_weight=[1, 2]).weights_
    assert first[0] > first[1]
    assert second[0] < second[1]
    left_out = WeightedBorda().fit(dataset, lists, query_weight=[0, 1])
    assert left_out.value_ == 1
    with pytest.raises(ValueError, match=r"query_weight needs 2 entries. Got shape \(3,\)"):
        WeightedBorda().fit(dataset, lists, query_weight=[1, 2, 3])


def test_a_single_list_has_all_the_weight(queries):
    learned = WeightedBorda().fit(queries, queries.features[:, :1])
    assert_array_equal(learned.weights_, [1])
    assert learned.value_ == learned.uniform_value_


def test_lists_that_are_worse_than_ties_still_make_a_list(queries):
    # Without any list all documents would be tied, which the measure would like better.
    lists = -np.column_stack([queries.relevance] * 2)
    learned = WeightedBorda().fit(queries, lists)
    assert learned.units_.sum() > 0
    assert len(np.unique(learned.aggregate(queries, lists))) > 1


def test_an_unfitted_one_cannot_aggregate(queries):
    with pytest.raises(NotFittedError):
        WeightedBorda().aggregate(queries, queries.features)
    with pytest.raises(NotFittedError):
        WeightedBorda().weights_


def test_another_number_of_lists_is_refused(queries):
    learned = WeightedBorda().fit(queries, queries.features[:, :3])
    with pytest.raises(ValueError, match="was fitted on 3 lists. Got 8 instead"):
        learned.aggregate(queries, queries.features)


def test_wrong_parameters_are_refused(queries):
    with pytest.raises(ValueError, match="ndgc"):
        WeightedBorda("ndgc@5").fit(queries, queries.features)
    with pytest.raises(ValueError, match="'max_passes' parameter of WeightedBorda must be a whole"):
        WeightedBorda(max_passes=0).fit(queries, queries.features)


def test_a_measure_that_skips_every_query_is_refused(queries):
    with pytest.raises(ValueError, match="skips every query"):
        WeightedBorda("map(rel=9,empty=skip)").fit(queries, queries.features)


def test_given_weights_make_the_weighted_sum_of_counts(good_and_bad):
    dataset, lists = good_and_bad
    counts = np.column_stack([Borda().aggregate(dataset, one[:, None]) for one in lists.T])
    for weights in ([3, 2, 1, 0, 5, 7], np.array([0.31, 0.2, 0.05, 0.0, 0.4, 0.04])):
        given = WeightedBorda(weights=weights)
        expected = counts @ weights / np.sum(weights)
        assert_allclose(given.aggregate(dataset, lists), expected, rtol=1e-5)
        assert_allclose(given.weights_, weights / np.sum(weights), atol=1e-6)
        # Learning changes nothing.
        fitted = WeightedBorda(weights=weights).fit(dataset, lists)
        assert_array_equal(fitted.aggregate(dataset, lists), given.aggregate(dataset, lists))
        assert not hasattr(fitted, "value_")


def test_given_weights_need_no_labels():
    dataset = RankingDataset.from_arrays(np.zeros((3, 1)), qid=[0, 0, 0])
    scores = WeightedBorda(weights=[2, 1]).aggregate(dataset, [[0, 2], [1, 1], [2, 0]])
    assert_array_equal(scores * 3, [2, 3, 4])


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 7])
def test_equal_given_weights_are_borda_with_its_ties(queries, weight):
    lists = np.random.default_rng(0).integers(0, 9, (queries.n_documents, 5)).astype(float)
    given = WeightedBorda(weights=[weight] * 5).aggregate(queries, lists)
    assert_allclose(given * 5, Borda().aggregate(queries, lists), rtol=1e-15)
    assert len(np.unique(given)) == len(np.unique(Borda().aggregate(queries, lists)))


def test_whole_weights_leave_their_ties_tied():
    # 3 · 2 = 2 · 3: the first list puts two more below one document, the second three more
    # below the other.
    lists = np.array([[5, 2], [3, 5], [4, 4], [2, 3], [1, 1], [0, 0]], dtype=float)
    dataset = RankingDataset.from_arrays(lists, qid=[0] * 6)
    scores = WeightedBorda(weights=[3, 2]).aggregate(dataset, lists)
    assert scores[0] == scores[1]


def test_given_weights_of_another_number_of_lists_are_refused(queries):
    given = WeightedBorda(weights=[1, 2])
    for use in (given.fit, given.aggregate):
        with pytest.raises(ValueError, match="has weights for 2 lists. Got 3 instead"):
            use(queries, queries.features[:, :3])


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1, np.nan], "ab", [[1, 2]], 3, ["x"]])
def test_wrong_weights_are_refused(queries, weights):
    with pytest.raises(ValueError, match="'weights' parameter of WeightedBorda must be finite"):
        WeightedBorda(weights=weights).aggregate(queries, queries.features[:, :2])
