"""A comparison as a plot: the gain of every method, with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from localrank.evaluation._comparison_verdict import NO_METHODS
from localrank.evaluation.plots import Interval, draw_intervals
from localrank.evaluation.significance import PairedTest
from localrank.measures import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from localrank.evaluation.comparison import Comparison

# A row for a method without a test.
NOTHING = np.nan, (np.nan, np.nan), False
INCHES_PER_ROW = 0.45


def plot(comparison: Comparison) -> Figure:
    """Gains by the first measure, to the baseline and at equal cost."""
    measure = comparison.measures[0]
    names = [
        name for name in comparison.finished if comparison.entries[name].role not in NO_METHODS
    ]
    if not names:
        raise ValueError("There is no method to plot: only the baseline was compared.")
    marks = {f"to {comparison.baseline}": comparison.against_baseline}
    if any(opponent != comparison.baseline for opponent in comparison.opponents.values()):
        marks["at equal cost, to the stronger opponent"] = comparison.at_equal_cost
    title = f"Gain in {measure} with its 95 % interval; filled: p < 0.05, corrected"
    figure = draw_intervals(
        {
            title: {
                name: [_interval(tests.get(method), measure) for method in names]
                for name, tests in marks.items()
            }
        },
        names,
    )
    figure.set_size_inches(7.5, 1.6 + INCHES_PER_ROW * len(names))
    return figure


def _interval(tests: Mapping[Measure, PairedTest] | None, measure: Measure) -> Interval:
    if not tests:
        return NOTHING
    test = tests[measure]
    return test.mean_difference, test.interval, test.sign != 0
