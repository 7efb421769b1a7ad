from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from recorder import Recorder
from sklearn.base import clone

import localrank
from localrank.aggregation import Borda, MarkovChain, MedianRank, WeightedBorda
from localrank.data import RankingDataset, make_queries
from localrank.rankers import (
    LambdaMART,
    MultipleHyperplaneRanker,
    Quadratic,
    RankBoost,
    RankSVM,
    SVMMap,
)
from localrank.rankers._gains import levels
from localrank.rankers.multiple_hyperplane import _sampled
from localrank.recipes import local_rank
from localrank.registry import make_ranker

AGGREGATORS = [Borda(), WeightedBorda("map"), MedianRank(), MarkovChain()]


@pytest.fixture(scope="module")
def three_levels():
    """Queries with labels 0, 1 and 2."""
    dataset, _ = make_queries(30, n_documents=(4, 15), n_features=6, n_types=2, random_state=3)
    return relabelled(dataset, np.minimum(dataset.relevance, 2))


def relabelled(dataset, labels):
    return RankingDataset.from_arrays(
        dataset.features, labels, dataset.query_index, feature_names=dataset.feature_names
    )


def assert_same_order(dataset, first, second):
    """The same order in each query, with the same ties."""
    for query in range(dataset.n_queries):
        rows = dataset.query_index == query
        places = [np.unique(scores[rows], return_inverse=True)[1] for scores in (first, second)]
        assert_array_equal(*places)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize(
    "ranker", [RankSVM(C=0.3), RankSVM(loss="hinge"), RankSVM(scaling="query")]
)
def test_two_levels_give_the_ranking_of_rank_svm(queries, ranker, aggregator):
    dataset = relabelled(queries, 3.5 * (queries.relevance > 1))
    dataset = dataset.with_features(dataset.features[:, :2].round())
    model = MultipleHyperplaneRanker(ranker, aggregator=aggregator).fit(dataset)
    single = clone(ranker).fit(dataset)
    assert_array_equal(model.level_pairs_, [[3.5, 0]])
    assert_array_equal(model.rankers_[0].coef_, single.coef_)
    scores = single.predict(dataset)
    different = np.unique(np.column_stack([dataset.query_index, scores]), axis=0)
    assert len(different) < 0.9 * dataset.n_documents  # there are ties
    assert_same_order(dataset, model.predict(dataset), scores)


def test_two_levels_give_the_ranking_of_any_ranker(queries):
    dataset = relabelled(queries, queries.relevance > 1)
    for ranker in (RankBoost(10), SVMMap(), LambdaMART(10, min_leaf_documents=5)):
        model = MultipleHyperplaneRanker(ranker).fit(dataset)
        assert_same_order(dataset, model.predict(dataset), ranker.fit(dataset).predict(dataset))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_equal_hyperplanes_give_the_ranking_of_one(queries, aggregator):
    model = MultipleHyperplaneRanker(aggregator=aggregator).fit(queries)
    single = RankSVM().fit(queries)
    for scale, ranker in enumerate(model.rankers_, start=1):
        ranker.coef_ = single.coef_ * 2.0**scale
    assert len(model.rankers_) == 10
    assert_same_order(queries, model.predict(queries), single.predict(queries))


def test_each_hyperplane_solves_its_problem_on_exactly_its_pairs(three_levels):
    C = 0.7
    model = MultipleHyperplaneRanker(RankSVM(C, scaling=None, tol=1e-12)).fit(three_levels)
    assert_array_equal(model.level_pairs_, [[2, 1], [2, 0], [1, 0]])
    X, y, query = three_levels.features, three_levels.relevance, three_levels.query_index
    for (high, low), ranker in zip(model.level_pairs_, model.rankers_, strict=True):
        differences = np.array(
            [
                X[i] - X[j]
                for i in np.flatnonzero(y == high)
                for j in np.flatnonzero(y == low)
                if query[i] == query[j]
            ]
        )
        assert ranker.n_pairs_ == len(differences)
        w = ranker.coef_
        shortfall = np.maximum(0, 1 - differences @ w)
        # The gradient of ½‖w‖² + C/N Σ ½ max(0, 1 - w·d)² is 0.
        assert_allclose(w, C * (shortfall @ differences) / len(differences), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_other_rankers_see_only_their_two_labels(three_levels, seen):
    weights = np.linspace(0.5, 2, three_levels.n_queries)
    MultipleHyperplaneRanker(Recorder(n_jobs=7)).fit(
        three_levels, query_weight=weights, valid=three_levels
    )
    for (high, low), (dataset, query_weights, valid, n_jobs) in zip(
        [(2, 1), (2, 0), (1, 0)], seen, strict=True
    ):
        rows = np.isin(three_levels.relevance, [high, low])
        for part in (dataset, valid):
            assert_array_equal(part.features, three_levels.features[rows])
            assert_array_equal(part.relevance, three_levels.relevance[rows] == high)
            queries = part.query_ids[part.query_index]
            assert_array_equal(queries, three_levels.query_index[rows])
        assert_array_equal(query_weights, weights[dataset.query_ids])
        assert n_jobs == 1


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_validation_queries_without_the_two_labels_stay_whole(three_levels, seen):
    valid = relabelled(three_levels, np.where(three_levels.relevance == 2, 1, 0))
    MultipleHyperplaneRanker(Recorder()).fit(three_levels, valid=valid)
    of_pairs = [part for _, _, part, _ in seen]
    assert of_pairs[0] is valid
    assert of_pairs[1] is valid
    assert_array_equal(of_pairs[2].relevance, valid.relevance)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("all", list(combinations([4, 3, 2, 1, 0], 2))),
        ("adjacent", [(4, 3), (3, 2), (2, 1), (1, 0)]),
        ("overlapping", [(4, 3), (3, 2), (2, 1), (1, 0)]),
    ],
)
def test_pairs_are_all_or_those_of_neighbouring_levels(queries, pairs, expected):
    model = MultipleHyperplaneRanker(pairs=pairs).fit(queries)
    assert_array_equal(model.level_pairs_, expected)
    assert model.n_rankers_ == len(model.rankers_) == len(expected)
    assert model.n_skipped_pairs_ == 0
    assert model.skipped_pairs_.shape == (0, 2)


def test_neighbours_are_those_among_the_levels_there_are(queries):
    dataset = relabelled(queries, np.array([0, 0, 0.5, 0.5, 7])[queries.relevance.astype(int)])
    model = MultipleHyperplaneRanker(pairs="adjacent").fit(dataset)
    assert_array_equal(model.level_pairs_, [[7, 0.5], [0.5, 0]])


@pytest.mark.parametrize("pair_weight", ["pair", "query"])
def test_overlapping_parts_are_the_two_sides_of_every_cut(three_levels, pair_weight):
    ranker = RankSVM(0.5, pair_weight=pair_weight)
    model = MultipleHyperplaneRanker(ranker, pairs="overlapping").fit(three_levels)
    # The pair (2, 0) is in both parts.
    across = [[(2, 1), (2, 0)], [(2, 0), (1, 0)]]
    for plane, label_pairs, lowest in zip(model.rankers_, across, (2, 1), strict=True):
        listed = clone(ranker).set_params(label_pairs=label_pairs).fit(three_levels)
        assert plane.n_pairs_ == listed.n_pairs_
        assert_allclose(plane.coef_, listed.coef_, rtol=1e-6)
        upper = relabelled(three_levels, three_levels.labels >= lowest)
        assert_array_equal(plane.coef_, clone(ranker).fit(upper).coef_)
    below = [
        Borda().aggregate(three_levels, one[:, None])
        for one in model.pair_scores(three_levels).values()
    ]
    assert_array_equal(model.predict(three_levels), np.sum(below, axis=0))


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_overlapping_parts_are_for_any_ranker_and_its_validation_queries(three_levels, seen):
    weights = np.linspace(0.5, 2, three_levels.n_queries)
    model = MultipleHyperplaneRanker(Recorder(), pairs="overlapping")
    model.fit(three_levels, query_weight=weights, valid=three_levels)
    for (train, query_weights, valid, _), lowest in zip(seen, (2, 1), strict=True):
        for part in (train, valid):
            assert_array_equal(part.features, three_levels.features)
            assert_array_equal(part.labels, three_levels.labels >= lowest)
        assert_array_equal(query_weights, weights)


def test_a_cut_needs_a_query_with_documents_on_both_sides():
    labels = np.concatenate([np.tile([2, 2, 0, 2], 5), np.tile([5, 5, 5, 2], 5)])
    X = np.random.default_rng(0).normal(size=(40, 3))
    dataset = RankingDataset.from_arrays(X, labels, np.repeat(np.arange(10), 4))
    model = MultipleHyperplaneRanker(pairs="overlapping").fit(dataset)
    assert_array_equal(model.level_pairs_, [[5, 2], [2, 0]])
    assert model.learns_from(dataset).all()
    one = MultipleHyperplaneRanker(pairs="overlapping")
    one.fit(dataset, query_weight=np.repeat([1, 0], 5))
    assert_array_equal(one.level_pairs_, [[2, 0]])
    assert_array_equal(one.skipped_pairs_, [[5, 2]])
    # No query has both 2 and 1, but 2 and 0 lie on the two sides of that cut.
    gap = np.where(labels == 5, 1, labels)
    gap[20:] = np.tile([1, 1, 0, 0], 5)
    apart = MultipleHyperplaneRanker(pairs="overlapping").fit(relabelled(dataset, gap))
    assert_array_equal(apart.level_pairs_, [[2, 1], [1, 0]])


def test_pairs_may_be_sampled(queries):
    def drawn(**parameters):
        model = MultipleHyperplaneRanker(pairs="sampled", **parameters).fit(queries)
        return [tuple(pair) for pair in model.level_pairs_.tolist()]

    everything = list(combinations([4.0, 3.0, 2.0, 1.0, 0.0], 2))
    assert len(drawn()) == 4
    assert len(set(drawn(n_pairs=6))) == 6
    assert set(drawn(n_pairs=6)) < set(everything)
    assert drawn(n_pairs=6) == sorted(drawn(n_pairs=6), reverse=True)
    assert drawn(n_pairs=99) == everything
    assert drawn(random_state=3) == drawn(random_state=3)
    assert len({tuple(drawn(n_pairs=1, random_state=seed)) for seed in range(20)}) > 3


RANKERS = [None, RankBoost(5), LambdaMART(5, min_leaf_documents=5)]


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("rate", [1.0, 1 - 1e-9])
def test_sampling_everything_is_no_sampling_to_the_last_bit(three_levels, ranker, rate):
    # Just below 1, every share is rounded up: documents are drawn, and all of them are.
    weights = np.linspace(0.5, 2, three_levels.n_queries)
    model = MultipleHyperplaneRanker(ranker, aggregator=WeightedBorda())
    whole = clone(model).fit(three_levels, query_weight=weights)
    sampled = clone(model).set_params(sampling_rate=rate, random_state=5)
    sampled.fit(three_levels, query_weight=weights)
    for one, other in zip(sampled.rankers_, whole.rankers_, strict=True):
        assert_array_equal(one.predict(three_levels), other.predict(three_levels))
    assert_array_equal(sampled.predict(three_levels), whole.predict(three_levels))


def drawn(dataset, seen, **parameters):
    """The rows of the documents that each ranker sees."""
    seen.clear()
    numbered = dataset.with_features(np.arange(float(dataset.n_documents))[:, None])
    MultipleHyperplaneRanker(Recorder(), **parameters).fit(numbered)
    return [part.features[:, 0].astype(int) for part, *_ in seen]


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.5])
def test_a_share_of_every_querys_documents_of_each_label_is_drawn(three_levels, seen, rate):
    pairs = [(2, 1), (2, 0), (1, 0)]
    for pair, rows in zip(
        pairs, drawn(three_levels, seen, sampling_rate=rate, random_state=1), strict=True
    ):
        assert len(np.unique(rows)) == len(rows)
        for query in range(three_levels.n_queries):
            for label in (0, 1, 2):
                cell = (three_levels.query_index == query) & (three_levels.relevance == label)
                expected = np.ceil(rate * cell.sum()) if label in pair else 0
                assert cell[rows].sum() == expected


def test_every_ranker_draws_its_own_documents_by_the_seed(three_levels, seen):
    def sets(**parameters):
        samples = drawn(three_levels, seen, sampling_rate=0.5, **parameters)
        return [frozenset(rows.tolist()) for rows in samples]

    assert sets(random_state=3) == sets(random_state=3) == sets(random_state=3, n_jobs=1)
    assert sets(random_state=3) != sets(random_state=4)
    # Two rankers use label 0, and draw its documents differently.
    (_, second, third) = sets()
    zeros = set(np.flatnonzero(three_levels.relevance == 0).tolist())
    assert second & zeros != third & zeros


def test_documents_are_drawn_evenly(three_levels, seen):
    counts = np.zeros(three_levels.n_documents)
    for seed in range(200):
        for rows in drawn(three_levels, seen, sampling_rate=0.5, random_state=seed)[1:2]:
            counts[rows] += 1
    for query in range(three_levels.n_queries):
        cell = (three_levels.query_index == query) & (three_levels.relevance == 0)
        share = np.ceil(0.5 * cell.sum()) / max(cell.sum(), 1)
        # Five standard deviations of a binomial count.
        assert np.all(np.abs(counts[cell] - 200 * share) <= 5 * np.sqrt(50))


def test_sampling_does_not_depend_on_the_order_of_rows(three_levels):
    order = np.random.default_rng(0).permutation(three_levels.n_documents)
    weights = np.random.default_rng(1).uniform(1, 2, three_levels.n_queries)
    model = MultipleHyperplaneRanker(sampling_rate=0.4)
    one = clone(model).fit(three_levels, query_weight=weights)
    mixed = rearranged(three_levels, order)
    places = [three_levels.query_ids.tolist().index(q) for q in mixed.query_ids.tolist()]
    two = clone(model).fit(mixed, query_weight=weights[places])
    for first, second in zip(one.rankers_, two.rankers_, strict=True):
        assert_array_equal(first.coef_, second.coef_)


def test_weights_may_be_learned_from_validation_queries(three_levels):
    valid, _ = make_queries(12, n_documents=(4, 15), n_features=6, n_types=2, random_state=8)
    model = MultipleHyperplaneRanker(
        aggregator=WeightedBorda("map"), weights_from="validation"
    ).fit(three_levels, query_weight=np.linspace(1, 2, 30), valid=valid)
    lists = np.column_stack(list(model.pair_scores(valid).values()))
    alone = WeightedBorda("map").fit(valid, lists)
    assert_array_equal(model.aggregator_.units_, alone.units_)
    assert model.aggregator_.value_ == alone.value_
    training = MultipleHyperplaneRanker(aggregator=WeightedBorda("map")).fit(
        three_levels, query_weight=np.linspace(1, 2, 30), valid=valid
    )
    assert training.aggregator_.value_ != alone.value_
    for one, other in zip(model.rankers_, training.rankers_, strict=True):
        assert_array_equal(one.coef_, other.coef_)
    after = training.with_aggregator(WeightedBorda("map"), valid)
    assert_array_equal(after.predict(three_levels), model.predict(three_levels))


def test_weights_may_be_given_for_each_pair(three_levels, tmp_path):
    model = MultipleHyperplaneRanker(aggregator=WeightedBorda(weights=[5, 3, 1]))
    model.fit(three_levels)
    below = [
        Borda().aggregate(three_levels, one[:, None])
        for one in model.pair_scores(three_levels).values()
    ]
    expected = (5 * below[0] + 3 * below[1] + below[2]) / 9
    assert_array_equal(model.predict(three_levels), expected)
    model.save(tmp_path / "model.localrank")
    assert_array_equal(localrank.load(tmp_path / "model.localrank").predict(three_levels), expected)
    with pytest.raises(ValueError, match="has weights for 2 lists. Got 3 instead"):
        MultipleHyperplaneRanker(aggregator=WeightedBorda(weights=[1, 2])).fit(three_levels)


def test_levels_that_no_query_has_together_are_skipped_and_reported():
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.tile([2, 0, 0, 2], 5), np.tile([1, 0, 1, 0], 5)])
    dataset = RankingDataset.from_arrays(
        rng.normal(size=(40, 3)), labels, np.repeat(np.arange(10), 4)
    )
    model = MultipleHyperplaneRanker().fit(dataset)
    assert_array_equal(model.level_pairs_, [[2, 0], [1, 0]])
    assert_array_equal(model.skipped_pairs_, [[2, 1]])
    assert model.n_skipped_pairs_ == 1
    adjacent = MultipleHyperplaneRanker(pairs="adjacent").fit(dataset)
    assert_array_equal(adjacent.level_pairs_, [[1, 0]])
    assert_array_equal(adjacent.learns_from(dataset), np.repeat([False, True], 5))
    assert model.learns_from(dataset).all()
    # Queries with label 1 weigh nothing. Without them, only one pair is left.
    weighed = MultipleHyperplaneRanker().fit(dataset, query_weight=np.repeat([1, 0], 5))
    assert_array_equal(weighed.level_pairs_, [[2, 0]])
    with pytest.raises(ValueError, match="nothing to learn: no query of positive weight"):
        MultipleHyperplaneRanker(pairs="adjacent").fit(
            dataset, query_weight=np.repeat([1.0, 0.0], 5)
        )


def test_scores_are_the_aggregated_lists_of_the_rankers(three_levels):
    for aggregator in AGGREGATORS:
        model = MultipleHyperplaneRanker(aggregator=aggregator).fit(three_levels)
        lists = model.pair_scores(three_levels)
        assert list(lists) == [(2.0, 1.0), (2.0, 0.0), (1.0, 0.0)]
        columns = np.column_stack(
            [RankSVM(label_pairs=[pair]).fit(three_levels).predict(three_levels) for pair in lists]
        )
        expected = clone(aggregator).fit(three_levels, columns).aggregate(three_levels, columns)
        assert_array_equal(model.predict(three_levels), expected)


def test_the_aggregator_learns_on_all_queries_by_their_weights(three_levels):
    weights = np.random.default_rng(0).uniform(0, 5, three_levels.n_queries)
    model = MultipleHyperplaneRanker(aggregator=WeightedBorda("map"))
    model.fit(three_levels, query_weight=weights)
    lists = np.column_stack(list(model.pair_scores(three_levels).values()))
    alone = WeightedBorda("map").fit(three_levels, lists, query_weight=weights)
    assert_array_equal(model.aggregator_.units_, alone.units_)
    assert not hasattr(model.aggregator, "units_")


def test_only_the_order_of_labels_counts(three_levels):
    other = relabelled(three_levels, np.array([0.25, 3, 100])[three_levels.relevance.astype(int)])
    one = MultipleHyperplaneRanker().fit(three_levels).predict(three_levels)
    assert_array_equal(MultipleHyperplaneRanker().fit(other).predict(three_levels), one)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_it_is_saved_with_its_aggregator(three_levels, aggregator, tmp_path):
    model = MultipleHyperplaneRanker(aggregator=aggregator).fit(three_levels)
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(three_levels), model.predict(three_levels))
    assert_array_equal(loaded.level_pairs_, model.level_pairs_)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_the_order_of_training_rows_does_not_matter_to_any_aggregator(three_levels, aggregator):
    order = np.random.default_rng(0).permutation(three_levels.n_documents)
    mixed = rearranged(three_levels, order)
    model = MultipleHyperplaneRanker(aggregator=aggregator)
    one = clone(model).fit(three_levels)
    two = clone(model).fit(mixed)
    assert_array_equal(two.predict(three_levels), one.predict(three_levels))
    assert_array_equal(one.predict(mixed), one.predict(three_levels)[order])


def test_missing_values_are_for_rankers_that_take_them(three_levels):
    features = three_levels.features.copy()
    features[5, 1] = np.nan
    holed = three_levels.with_features(features)
    model = MultipleHyperplaneRanker(LambdaMART(5, min_leaf_documents=5)).fit(holed)
    assert np.isfinite(model.predict(holed)).all()
    with pytest.raises(ValueError, match="RankSVM was given missing='refuse'"):
        MultipleHyperplaneRanker(RankSVM(missing="refuse")).fit(holed)


def test_it_wraps_and_is_wrapped(three_levels):
    for model in (
        MultipleHyperplaneRanker(Quadratic(RankSVM())),
        Quadratic(MultipleHyperplaneRanker()),
        local_rank(3, ranker=MultipleHyperplaneRanker(pairs="adjacent"), n_jobs=2),
    ):
        assert model.fit(three_levels).score(three_levels) > 0.6


@pytest.mark.filterwarnings("ignore:.*with the same documents")
@pytest.mark.parametrize("ranker", [None, LambdaMART(5, min_leaf_documents=5)])
def test_many_labels_are_put_into_levels(queries, ranker):
    labels = 7.0 * (np.arange(queries.n_documents) % 40)
    graded = relabelled(queries, levels(labels))
    model = MultipleHyperplaneRanker(ranker, pairs="adjacent")
    expected = clone(model).fit(graded, valid=graded)
    model.fit(relabelled(queries, labels), valid=relabelled(queries, labels))
    assert_array_equal(model.level_pairs_, expected.level_pairs_)
    assert_array_equal(model.predict(queries), expected.predict(queries))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranker": "rank-svm"}, "'ranker' parameter .* must be a ranker. Got 'rank-svm'"),
        ({"ranker": RankSVM(label_pairs=[(2, 1)])}, "must be one without label_pairs"),
        ({"pairs": "some"}, "'pairs' parameter .* must be 'all', 'adjacent', 'sampled' or"),
        ({"n_pairs": 3}, "'n_pairs' parameter .* must be None unless pairs='sampled'. Got 3"),
        ({"n_pairs": 0, "pairs": "sampled"}, "'n_pairs' parameter .* whole number, 1 or larger"),
        ({"sampling_rate": 0}, "'sampling_rate' parameter .* finite number above 0, at most 1"),
        ({"sampling_rate": 1.5}, "'sampling_rate' parameter .* finite number above 0, at most 1"),
        ({"weights_from": "test"}, "'weights_from' parameter .* 'training' or 'validation'"),
        ({"weights_from": "validation"}, "must be 'training' unless `fit` is given validation"),
        ({"aggregator": "borda"}, "must be one of localrank.aggregation, such as Borda"),
        ({"aggregator": MarkovChain(2)}, "'restart' parameter of MarkovChain"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message, seen):
    with pytest.raises(ValueError, match=message):
        MultipleHyperplaneRanker(**{"ranker": Recorder(), **parameters}).fit(queries)
    assert not seen


def test_the_command_line_makes_it_of_names():
    settings = ["ranker=rank-svm", "ranker__C=0.1", "aggregator=Weighted-Borda"]
    made = make_ranker("multiple-hyperplanes", [*settings, "aggregator__measure=map"], 2, 5)
    assert isinstance(made, MultipleHyperplaneRanker)
    assert (made.ranker.C, made.n_jobs, made.random_state) == (0.1, 2, 5)
    assert repr(made.aggregator) == "WeightedBorda(measure='map', random_state=5)"
    settings = ["sampling_rate=0.5", "weights_from=validation", "aggregator=weighted-borda"]
    made = make_ranker("multiple-hyperplanes", [*settings, "aggregator__weights=[3,2,1]"], 1, 0)
    assert (made.sampling_rate, made.weights_from) == (0.5, "validation")
    assert made.aggregator.weights == [3, 2, 1]
    with pytest.raises(ValueError, match="no aggregator 'bordo'. Did you mean 'borda'"):
        make_ranker("multiple-hyperplanes", ["aggregator=bordo"], 1, 0)


def test_a_share_that_is_a_whole_number_draws_that_many():
    # 0.07 * 100 is 7.000000000000001.
    labels = np.repeat([0, 1], 100)
    dataset = RankingDataset.from_arrays(np.arange(200.0)[:, None], labels, np.zeros(200))
    drawn = _sampled(dataset, 0.07, np.random.default_rng(0))
    assert np.bincount(drawn.labels.astype(int)).tolist() == [7, 7]
