import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.representations import RelevantMean


@pytest.mark.parametrize("level", [None, 1, 2, 2.5])
def test_a_query_is_the_mean_of_its_relevant_documents(queries, level):
    points = RelevantMean(level).fit(queries).transform(queries)
    for query in range(queries.n_queries):
        of_query = queries.query_index == query
        labels = queries.relevance[of_query]
        cloud = queries.features[of_query][labels > 0 if level is None else labels >= level]
        expected = cloud.mean(axis=0) if len(cloud) else np.zeros(queries.n_features)
        assert_allclose(points[query], expected)


def test_a_query_without_relevant_documents_is_the_zero_vector():
    dataset = RankingDataset.from_arrays(np.ones((4, 2)), y=[0, 0, 1, 0], qid=["a", "a", "b", "c"])
    points = RelevantMean().fit(dataset).transform(dataset)
    assert_array_equal(points, [[0, 0], [1, 1], [0, 0]])


def test_a_level_that_is_no_positive_number_is_refused(queries):
    with pytest.raises(ValueError, match="'relevance_level' parameter .* above 0. Got 0 instead"):
        RelevantMean(0).fit(queries)
