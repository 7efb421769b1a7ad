"""What tells how much is seen, where a log tells little."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.clicks import (
    ClickLog,
    PositionBasedModel,
    PositionBehaviour,
    fitted_bias,
    naming,
    simulate_clicks,
)
from localrank.data import make_queries
from localrank.data.errors import AdvisedError

DEPTH = 6
TRUTH = 1 / np.arange(1, DEPTH + 1)


@pytest.fixture(scope="module")
def dataset():
    return make_queries(150, n_documents=(8, 12), random_state=0)[0]


def swapped(dataset, one, other, n_sessions=20_000):
    """Sessions of fixed lists, of which half have two positions exchanged."""
    fixed = simulate_clicks(
        dataset, dataset.features[:, 0], PositionBehaviour(), n_sessions=n_sessions, depth=DEPTH
    )
    rng = np.random.default_rng(1)
    shown = fixed.document_ids[fixed.pairs].astype(int).reshape(-1, DEPTH)
    half = rng.random(n_sessions) < 0.5
    shown[half, one], shown[half, other] = shown[half, other], shown[half, one].copy()
    relevance = (2**dataset.labels - 1) / (2 ** dataset.labels.max() - 1)
    clicks = rng.random(shown.shape) < relevance[shown] * TRUTH
    return ClickLog.from_sessions(
        fixed.query_ids[fixed.session_queries], shown, [np.flatnonzero(row) for row in clicks]
    )


@pytest.mark.parametrize("places", [(0, 1), (0, 2), (2, 3)])
def test_where_few_positions_are_swapped_features_tell_of_all(dataset, places):
    """Positions that swaps do not reach are not seen as much as those that they do."""
    lines = []
    bias = fitted_bias("pbm", swapped(dataset, *places), dataset, lines.append)
    told = "Few documents were shown at several positions: relevance is estimated from features"
    assert lines == [told]
    assert_allclose(bias.examination_, TRUTH, atol=0.08)


@pytest.mark.parametrize("name", ["pbm", "swaps", "em"])
def test_without_features_too_few_swaps_are_refused(dataset, name):
    with pytest.raises(AdvisedError, match=r"position 3 is seen, and \d\d% of the clicks") as error:
        fitted_bias(name, swapped(dataset, 0, 1))
    assert "Shuffle lists a little at all positions" in str(error.value)
    assert error.value.on_command_line.endswith("let features tell: pbm, with --features FILE.")


def test_a_chosen_model_that_swaps_do_not_tell_comes_from_features_or_from_itself(
    dataset, monkeypatch
):
    monkeypatch.setattr(naming, "_best_model", lambda log, say: PositionBasedModel())
    log = swapped(dataset, 0, 1)
    assert fitted_bias("auto", log, dataset).method == "em"
    assert type(fitted_bias("auto", log)) is PositionBasedModel


def long_lists(behaviour, shuffle):
    """Few sessions of lists so long that nobody clicks at the end."""
    dataset, _ = make_queries(40, n_documents=(30, 30), random_state=0)
    log = simulate_clicks(
        dataset, dataset.features[:, 0], behaviour, n_sessions=800, depth=30, shuffle=shuffle
    )
    return dataset, log


@pytest.mark.parametrize(
    ("name", "shuffle", "behaviour"),
    [
        ("pbm", 1.0, PositionBehaviour(eta=2)),
        ("pbm", 0.0, PositionBehaviour(eta=2)),
        ("em", 1.0, PositionBehaviour(eta=2)),
        ("groups", 1.0, {"desk": PositionBehaviour(eta=2), "phone": PositionBehaviour(eta=2)}),
    ],
)
def test_late_positions_without_clicks_count_as_one(name, shuffle, behaviour):
    dataset, log = long_lists(behaviour, shuffle)
    lines = []
    bias = fitted_bias(name, log, dataset, lines.append)
    last = bias.examination_.shape[-1]
    assert lines[-1] == f"Positions from {last} on count as one"
    assert 1 < last < 30
    assert (bias.examination_of(log) > 0).all()


def test_a_position_without_clicks_above_many_is_refused(dataset):
    """As where sponsored results log no clicks."""
    log = simulate_clicks(dataset, dataset.features[:, 0], PositionBehaviour(), n_sessions=5000)
    clicks = log.clicks & (log.positions != 1)
    silent = ClickLog.from_impressions(
        log.query_ids[log.session_queries], log.offsets, log.document_ids[log.pairs], clicks
    )
    with pytest.raises(ValueError, match=r"position 2 is seen, .* Leave the position out") as error:
        fitted_bias("pbm", silent, dataset)
    assert "Position 2 has no click." in str(error.value)
