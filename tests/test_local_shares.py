"""Which group's model ranks which queries, and with what weight."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank import LocalRanker
from localrank.data import make_queries
from localrank.grouping import Groups, Neighbourhoods
from localrank.local_ranker import _shares, _validation_queries
from localrank.rankers import RankSVM
from localrank.representations import Mean
from localrank.selection import NearestCentroid, NearestQueries, NearestQuery


@pytest.fixture(scope="module")
def queries():
    return make_queries(40, random_state=0)[0]


@pytest.mark.parametrize("selector", [NearestQuery(), NearestQueries(3)], ids=repr)
def test_the_weights_of_a_document_add_up_to_one(queries, selector):
    local = LocalRanker(Mean(), Neighbourhoods(10), RankSVM(), selector).fit(queries)
    total = np.zeros(queries.n_documents)
    for share in _shares(local.selector_, local.models_, queries):
        assert_array_equal(share.queries.features, queries.features[share.rows])
        total[share.rows] += share.weights
    assert_allclose(total, 1.0)


def test_only_scores_of_queries_with_several_models_are_standardised(queries):
    selector = NearestQueries(3)
    local = LocalRanker(Mean(), Neighbourhoods(10), RankSVM(), selector).fit(queries)
    for share in _shares(local.selector_, local.models_, queries):
        assert_array_equal(share.standardised, share.weights < 1)
    alone = local.with_selector(NearestQuery(), queries)
    assert not any(
        share.standardised.any() for share in _shares(alone.selector_, alone.models_, queries)
    )


def test_a_group_validates_on_the_queries_sent_to_it_or_on_all(queries):
    mean = Mean().fit(queries)
    # The last group is far from all validation queries.
    labels = np.repeat([0, 1], 20)
    described = mean.transform(queries)
    described[20:] += 1e6
    selector = NearestCentroid().fit(queries, Groups.from_labels(labels), mean, described)
    valid = queries.select(range(10))
    first, last = _validation_queries(selector, RankSVM(), valid)
    assert_array_equal(first.query_ids, valid.query_ids)
    assert last is valid
    assert first is not valid
