import numpy as np

from localrank.export.solr._splits import SLACK, before_slack


def test_thresholds_become_the_limits_where_that_is_said(rng):
    sizes = (10.0 ** rng.uniform(-12, 12, 3000)).astype(np.float32)
    limits = np.concatenate([sizes, -sizes])
    thresholds, is_reached = before_slack(limits)
    assert np.array_equal(thresholds + SLACK == limits, is_reached)
    assert not is_reached.all()


def test_positive_limits_of_ordinary_size_need_no_other_divisor(rng):
    limits = (10.0 ** rng.uniform(-5, 12, 3000)).astype(np.float32)
    assert before_slack(limits)[1].all()
