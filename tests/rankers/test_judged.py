import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.measures import parse_measure
from localrank.rankers._judged import Judged


def test_the_mean_is_weighted_and_leaves_out_what_is_skipped_or_not_counted(queries, rng):
    measure = parse_measure("map(rel=4,empty=skip)")
    weights = rng.uniform(0, 2, queries.n_queries)
    weights[3] = 0.0
    counted = rng.random(queries.n_queries) < 0.8
    scores = rng.normal(size=queries.n_documents)
    values = measure(queries, scores)
    kept = ~np.isnan(values) & counted & (weights > 0)
    assert 0 < kept.sum() < counted.sum()
    judged = Judged.of(queries, measure, weights, counted)
    expected = np.average(values[kept], weights=weights[kept])
    assert judged.mean(scores[kept[queries.query_index]]) == pytest.approx(expected, rel=1e-12)


def test_larger_is_better_for_errors_too(queries):
    measure = parse_measure("oer")
    judged = Judged.of(queries, measure)
    perfect = judged.dataset.labels.copy()
    assert_allclose(judged.by_query(perfect), 1.0)
    assert judged.mean(-perfect) < 0.5


def test_a_measure_that_skips_every_query_is_refused(queries):
    with pytest.raises(ValueError, match="nothing to judge scores by: map.* skips every query"):
        Judged.of(queries, parse_measure("map(rel=99,empty=skip)"))
