import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.clicks import (
    CascadeBehaviour,
    PositionBehaviour,
    PositionBias,
    check_position_model,
    compare_click_models,
    simulate_clicks,
)
from localrank.data import make_queries
from localrank.evaluation import examination_report
from localrank.evaluation.plots.chart import Chart


@pytest.fixture(scope="module")
def dataset():
    return make_queries(100, n_documents=(8, 12), random_state=0)[0]


def log_of(dataset, behaviour, shuffle=1.0, n_sessions=20_000, depth=5):
    shown_by = dataset.features[:, -1]
    return simulate_clicks(
        dataset, shown_by, behaviour, n_sessions=n_sessions, depth=depth, shuffle=shuffle
    )


@pytest.fixture(scope="module")
def log(dataset):
    return log_of(dataset, PositionBehaviour())


@pytest.fixture(scope="module")
def report(log):
    return examination_report(log)


def test_it_has_both_curves_their_check_and_the_models(log, report):
    assert report.check.p_value == check_position_model(log).p_value
    assert list(report.curves) == ["swaps", "EM"]
    for method, curve in zip(("swaps", "em"), report.curves.values(), strict=True):
        alone = PositionBias(method).fit(log)
        assert_allclose(curve.examination_, alone.examination_)
        assert_allclose(curve.intervals_, alone.intervals_)
    assert report.models.log_likelihood == compare_click_models(log).log_likelihood


def test_it_prints_curves_with_intervals_and_says_whether_to_trust_them(report):
    text = " ".join(f"{report}".split())
    low, high = report.curves["EM"].intervals_[1]
    assert f"{report.curves['EM'].examination_[1]:.3f} {low:.3f} to {high:.3f} ████████ 3 " in text
    assert "Nothing speaks against the position-based model" in text
    assert report.models.sentence in text


def test_a_model_that_is_wrong_is_said_to_be(dataset):
    report = examination_report(log_of(dataset, CascadeBehaviour()))
    assert report.sentence.startswith("The position-based model is wrong for this log: ")
    assert report.sentence in " ".join(f"{report}".split())


def test_the_frame_and_the_chart_have_the_intervals(report):
    frame = report.to_frame("pandas")
    assert list(frame.columns) == ["curve", "position", "examination", "lower", "upper"]
    em = report.curves["EM"]
    rows = frame[frame["curve"] == "EM"]
    assert rows["position"].tolist() == [1, 2, 3, 4, 5]
    assert_allclose(rows["examination"], em.examination_)
    assert_allclose(rows[["lower", "upper"]], em.intervals_)
    panel = Chart(**report.chart().as_json()).draw().axes[0]
    assert_allclose(panel.lines[1].get_ydata(), em.examination_, rtol=1e-6)
    band = panel.collections[1].get_paths()[0].vertices
    assert_allclose(np.unique(band[:, 1]), np.unique(em.intervals_), rtol=1e-6)


def test_without_swaps_features_tell_and_nothing_is_checked(dataset):
    fixed = log_of(dataset, PositionBehaviour(), shuffle=0.0)
    report = examination_report(fixed, dataset)
    assert list(report.curves) == ["features"]
    assert report.check is None
    assert "cannot be tested" in f"{report}"
    with pytest.raises(ValueError, match="No position can be compared with the first one"):
        examination_report(fixed)


def test_late_positions_that_nothing_is_known_of_are_said_to_count_as_one():
    dataset, _ = make_queries(40, n_documents=(40, 40), random_state=0)
    report = examination_report(log_of(dataset, PositionBehaviour(2), n_sessions=900, depth=40))
    n_known = len(report.curves["swaps"].examination_)
    assert n_known < 40
    assert report.notes == (f"Positions from {n_known} on count as one.",)
