"""How much each position of a log is seen: estimates, whether to trust them, and click models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.printing import UNBROKEN, Printed, Table
from localrank.clicks import (
    ClickLog,
    ClickModelComparison,
    PositionBias,
    PositionModelCheck,
    check_position_model,
    compare_click_models,
    fitted_bias,
)
from localrank.clicks.naming import MAX_COMPARED
from localrank.data import RankingDataset
from localrank.data._frames import FrameLibrary, frame_of
from localrank.evaluation.plots.chart import Chart, Plotted

# At most this many positions are printed. The frame has all.
_MAX_POSITIONS = 20
_BAR = 16


@dataclass(frozen=True, eq=False, repr=False)
class ExaminationReport(Printed, Plotted):
    """How much each position is seen. It prints tables and what they mean, and plots the curves.

    Attributes
    ----------
    curves : dict from str to PositionBias
        "swaps" and "EM"; or "features" alone, where swaps tell too little.
    check : PositionModelCheck or None
        Whether the position-based model is right for the log. None: swaps tell too little.
    models : ClickModelComparison
        Which click model predicts best.
    notes : tuple of str
        What could not be estimated.
    """

    curves: dict[str, PositionBias]
    check: PositionModelCheck | None
    models: ClickModelComparison
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Whether the position-based model is right, in words."""
        if self.check is None:
            return (
                "Few documents were shown at several positions: relevance is estimated from "
                "features. Whether the position-based model is right cannot be tested."
            )
        return str(self.check)

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per curve and position. `library` is as in `RankingDataset.to_frame`."""
        sizes = [len(curve.examination_) for curve in self.curves.values()]
        low, high = np.concatenate([curve.intervals_ for curve in self.curves.values()]).T
        columns = {
            "curve": np.repeat([*self.curves], sizes),
            "position": np.concatenate([np.arange(size) + 1 for size in sizes]),
            "examination": np.concatenate([one.examination_ for one in self.curves.values()]),
            "lower": low,
            "upper": high,
        }
        return frame_of(columns, library)

    def chart(self) -> Chart:
        """The curves, with their intervals."""
        lines = {}
        for name, curve in self.curves.items():
            places = np.arange(len(curve.examination_)) + 1
            lines[name] = (places, curve.examination_, *curve.intervals_.T)
        title = "How much each position is seen, with 95 % intervals"
        y_label = "seen, relative to the first position"
        return Chart("curves", panels={title: lines}, x_label="position", y_label=y_label)

    def _shown(self) -> list[str | Table]:
        first = next(iter(self.curves.values()))
        highest = np.nanmax(first.examination_)
        rows = []
        for place, seen in enumerate(first.examination_[:_MAX_POSITIONS]):
            cells = [f"{place + 1:,}"]
            for curve in self.curves.values():
                low, high = curve.intervals_[place]
                cells += [f"{curve.examination_[place]:.3f}", f"{low:.3f} to {high:.3f}"]
            share = 0.0 if np.isnan(seen) else seen / highest
            rows.append([*cells, ("█" * round(share * _BAR)).ljust(_BAR, UNBROKEN)])
        columns = ["position"]
        for name in self.curves:
            columns += [name, "95 %"]
        shown: list[str | Table] = [
            Table("How much is seen, relative to the first position", [*columns, ""], rows)
        ]
        if (n_more := len(first.examination_) - _MAX_POSITIONS) > 0:
            shown.append(f"{n_more:,} more positions are in the frame.")
        return [*shown, *self.notes, self.sentence, *self.models._shown()]


def examination_report(
    log: ClickLog, features: RankingDataset | None = None, *, random_state: int = 0
) -> ExaminationReport:
    """Estimate how much each position of a log is seen, and whether the estimate can be trusted.

    The position-based model is estimated by swaps and by expectation-maximisation, and checked by
    `check_position_model`. Where few documents were shown at several positions, the features tell.
    Click models are compared on at most 100,000 sessions.

    Parameters
    ----------
    log : ClickLog
    features : RankingDataset, optional
        Features of the documents, where swaps tell too little.
    random_state : int, default=0
        Seed of the intervals, and of the choice of sessions.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(100, random_state=0)
    >>> scores = dataset.features[:, -1]
    >>> log = simulate_clicks(dataset, scores, PositionBehaviour(), n_sessions=20_000, shuffle=1)
    >>> report = examination_report(log)
    >>> report.curves["swaps"].examination_[:3].round(1), report.check.is_refused
    (array([1. , 0.5, 0.3]), False)
    >>> report.plot().axes[0].get_xlabel()
    'position'
    """
    # How many positions are known, and whether by swaps.
    bias = fitted_bias("pbm", log, features)
    check, curves = None, {"features": bias}
    if bias.method == "swaps":
        check = check_position_model(log, n_positions=bias.n_positions, random_state=random_state)
        curves = {"swaps": check.swaps, "EM": check.em}
    notes = bias.notes_
    if bias.n_positions is not None:
        notes += (f"Positions from {bias.n_positions} on count as one.",)
    n_compared = min(log.n_sessions, MAX_COMPARED)
    rng = np.random.default_rng(random_state)
    some = np.sort(rng.choice(log.n_sessions, n_compared, replace=False))
    models = compare_click_models(log.select(some), random_state=random_state)
    return ExaminationReport(curves, check, models, notes)
