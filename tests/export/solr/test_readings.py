import numpy as np

from localrank.export.solr.readings import SLACK, before_slack


def test_a_limit_has_a_threshold_wherever_some_float32_gives_it(rng):
    positive = (10.0 ** rng.uniform(-8, 2, 300)).astype(np.float32)
    odd = np.float32(3.2e-6).view(np.int32) + np.arange(20, dtype=np.int32)
    limits = np.concatenate([positive, -positive, odd.view(np.float32)])
    thresholds, is_reached = before_slack(limits)
    assert np.array_equal((thresholds + SLACK == limits), is_reached)
    # All floats within some hundred steps of the difference.
    steps = np.arange(-300, 301, dtype=np.int32)
    around = ((limits - SLACK).view(np.int32)[:, None] + steps).view(np.float32)
    assert np.array_equal((around + SLACK == limits[:, None]).any(axis=1), is_reached)
    assert 0.05 < np.mean(is_reached) < 0.95
