import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank import LocalRanker
from localrank.grouping import Agglomerative, Groups
from localrank.rankers import RankSVM
from localrank.recipes import adaptive_training
from localrank.representations import Gaussian, Mean
from localrank.selection import AllGroups, NearestQueries


def standardised_sums(model, dataset):
    """The scores by a loop: each model's, standardised in each query, and their mean."""
    scores = np.zeros(dataset.n_documents)
    for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        for group in model.models_:
            of_query = group.predict(dataset)[begin:end]
            spread = of_query.std()
            if spread > 0:
                scores[begin:end] += (of_query - of_query.mean()) / spread
    return scores / len(model.models_)


def test_scores_are_means_of_standardised_scores(queries):
    model = LocalRanker(Mean(), Agglomerative(3), RankSVM(), AllGroups()).fit(queries)
    assert_allclose(model.predict(queries), standardised_sums(model, queries), atol=1e-9)


@pytest.mark.parametrize("selector", [AllGroups(), NearestQueries(5)], ids=repr)
@pytest.mark.parametrize("representation", [Mean(), Gaussian()], ids=repr)
def test_with_one_group_it_is_the_ranker_alone(queries, selector, representation):
    model = LocalRanker(representation, Agglomerative(1), RankSVM(), selector).fit(queries)
    assert_allclose(model.predict(queries), RankSVM().fit(queries).predict(queries))


def test_every_query_gets_the_same_weights(queries):
    mean = Mean().fit(queries)
    groups = Groups.from_labels(np.arange(queries.n_queries) % 4)
    selector = AllGroups().fit(queries, groups, mean, mean.transform(queries))
    assert_array_equal(selector.weights(queries, []), np.full((queries.n_queries, 4), 0.25))
    assert selector.blends


def test_adaptive_training_offers_it(queries):
    model = adaptive_training(3, ranker=RankSVM(), select="equal").fit(queries)
    assert_allclose(model.predict(queries), standardised_sums(model, queries), atol=1e-9)
    with pytest.raises(ValueError, match="must be 'selective', 'fusion' or 'equal'"):
        adaptive_training(select="best")
