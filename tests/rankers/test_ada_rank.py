import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset, make_queries
from localrank.measures import parse_measure
from localrank.rankers import AdaRank, BestFeature


@pytest.fixture(scope="module")
def queries():
    """Sixty queries of one type: several features help each other."""
    return make_queries(60, n_documents=(5, 20), n_features=8, n_types=1, random_state=1)[0]


def naive_ada_rank(dataset, measure, n_rounds, directions, query_weights=None):
    """The paper's loop over queries and features, which keeps only rounds that gain."""
    used = [q for q in range(dataset.n_queries) if len(set(labels_of(dataset, q))) > 1]
    weights = {q: 1.0 if query_weights is None else query_weights[q] for q in used}

    def performance(scores):
        values = measure(dataset, scores)
        return {q: values[q] if measure.higher_is_better else 1 - values[q] for q in used}

    def mean(values, weights):
        return sum(weights[q] * values[q] for q in used) / sum(weights[q] for q in used)

    weak = [(f, d) for d in directions for f in range(dataset.n_features)]
    alone = {h: performance(h[1] * dataset.features[:, h[0]]) for h in weak}
    P, scores, rounds, aside = dict(weights), np.zeros(dataset.n_documents), [], set()
    best = mean(performance(scores), weights)
    while len(rounds) < n_rounds and len(aside) < len(weak):
        h = max((h for h in weak if h not in aside), key=lambda h: mean(alone[h], P))
        right = sum(P[q] * (1 + alone[h][q]) for q in used)
        wrong = sum(P[q] * (1 - alone[h][q]) for q in used)
        alpha = 0.5 * np.log(right / wrong)
        trial = scores + alpha * h[1] * dataset.features[:, h[0]]
        reached = performance(trial)
        if mean(reached, weights) <= best + 1e-12:
            aside.add(h)
            continue
        scores, best, aside = trial, mean(reached, weights), set()
        P = {q: weights[q] * np.exp(-reached[q]) for q in used}
        rounds.append((h[0], h[1] * alpha, best))
    return rounds


def labels_of(dataset, query):
    return dataset.labels[dataset.offsets[query] : dataset.offsets[query + 1]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("measure", ["ndcg@5", "map", "oer", "err@10"])
def test_rounds_are_those_of_the_papers_loop(queries, rng, measure, both, weighted):
    weights = rng.uniform(0.5, 3, queries.n_queries) if weighted else None
    ranker = AdaRank(12, measure=measure, both_directions=both, scaling=None)
    ranker.fit(queries, query_weight=weights)
    directions = (1, -1) if both else (1,)
    expected = naive_ada_rank(queries, parse_measure(measure), 12, directions, weights)
    assert len(expected) > 4
    features, alphas, performances = map(list, zip(*expected, strict=True))
    assert ranker.features_.tolist() == features
    assert_allclose(ranker.alphas_, alphas, rtol=1e-9)
    assert_allclose(ranker.performances_, performances, rtol=1e-9)
    assert (np.diff(ranker.performances_) > 0).all()


def test_the_first_round_is_the_best_feature(queries):
    best = BestFeature("map", both_directions=True).fit(queries)
    ranker = AdaRank(1, measure="map").fit(queries)
    assert ranker.features_[0] == best.feature_
    assert np.sign(ranker.alphas_[0]) == best.direction_


def test_the_score_is_the_sum_of_the_weak_rankers(queries):
    ranker = AdaRank(20, scaling=None).fit(queries)
    expected = sum(
        alpha * queries.features[:, feature]
        for feature, alpha in zip(ranker.features_, ranker.alphas_, strict=True)
    )
    assert_allclose(ranker.predict(queries), expected, rtol=1e-9)


def test_training_ends_where_no_feature_improves_the_ranking(queries):
    ranker = AdaRank(10_000).fit(queries)
    assert ranker.n_rounds_ < 1000
    more = AdaRank(20_000).fit(queries)
    assert_array_equal(more.alphas_, ranker.alphas_)


def test_a_feature_that_is_always_right_ends_training_with_a_finite_weight(queries):
    features = np.column_stack([queries.features[:, :2], queries.labels])
    ranker = AdaRank(scaling=None).fit(queries.with_features(features))
    assert ranker.features_.tolist() == [2]
    assert ranker.alphas_[0] == pytest.approx(0.5 * np.log(2e6), rel=1e-6)


def test_validation_queries_choose_the_number_of_rounds(queries):
    train, valid = queries.select(range(30)), queries.select(range(30, 60))
    full, ranker = AdaRank().fit(train), AdaRank().fit(train, valid=valid)
    scores = [AdaRank(n).fit(train).score(valid) for n in range(1, full.n_rounds_ + 1)]
    assert ranker.n_rounds_ == 1 + int(np.argmax(scores))
    assert ranker.n_rounds_ < full.n_rounds_
    assert_array_equal(ranker.alphas_, full.alphas_[: ranker.n_rounds_])


def test_features_without_any_order_get_a_warning_and_scores_of_zero():
    dataset = RankingDataset.from_arrays(np.ones((4, 2)), [0, 1, 0, 1], [1, 1, 2, 2])
    with pytest.warns(UserWarning, match="no feature that ranks better than chance"):
        ranker = AdaRank().fit(dataset)
    assert ranker.n_rounds_ == 0
    assert_array_equal(ranker.predict(dataset), 0.0)
