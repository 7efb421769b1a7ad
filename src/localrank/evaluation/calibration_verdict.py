"""The verdict of a best-feature calibration, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from localrank.arrays import Flags, Floats
from localrank.evaluation.significance import PairedTest, corrected, p_text, paired_test

_N_RESAMPLES = 10_000


# The views that show a gain (failure levels, best feature's score), in words.
_SHOWN = {
    (True, True): "both views show a gain",
    (True, False): "only the failure levels show a gain",
    (False, True): "only the best feature's score shows a gain",
    (False, False): "neither view shows a gain",
}


@dataclass(frozen=True)
class Findings:
    """What a calibration shows.

    Attributes
    ----------
    summary : str
        The methods by the views that show a gain.
    reading : list of str
        How to read the views, and what the control shows.
    by_method : dict from name to str
        The figures of each method.
    """

    summary: str
    reading: list[str]
    by_method: dict[str, str]

    def text(self) -> str:
        """All of it, a line each."""
        lines = [f"{name}: {line}" for name, line in self.by_method.items()]
        return "\n".join([self.summary, *self.reading, *lines])


@dataclass(frozen=True)
class _Views:
    """How one method compares with another in both views."""

    failing: PairedTest | None
    overall: PairedTest
    bins: dict[str, PairedTest]

    def gains(self) -> tuple[bool, bool]:
        """Whether the failure levels, and the best feature's score, show a gain."""
        # A gain in one bin is not evidence. Models lean on the best feature to different degrees.
        # Where it fails by chance, a model that leans on it less looks better, even pure noise.
        return self.failing is not None and self.failing.sign > 0, self.overall.sign > 0

    def figures(self) -> str:
        figures = [f"{_figure(self.overall)} over all queries"]
        if self.failing is not None:
            figures.insert(0, f"{_figure(self.failing)} at negative levels")
        for sign, what in ((1, "better"), (-1, "worse")):
            if levels := self._bins(sign):
                figures.append(f"{what} where the best feature reaches {', '.join(levels)}")
        return "; ".join(figures)

    def _bins(self, sign: int) -> list[str]:
        return [level for level, gain in self.bins.items() if gain.sign == sign]


def _figure(test: PairedTest) -> str:
    return f"{test.mean_difference:+.3f}, {p_text(test.p)}"


def findings(
    values: Mapping[str, Floats],
    baseline: str,
    control: str | None,
    *,
    negative: Flags,
    bins: Floats,
) -> Findings:
    """Which views of a calibration show a gain over the baseline, and over the control.

    Parameters
    ----------
    values : dict from name to ndarray of shape (n_queries,)
        Values of the baseline, the control and the methods. Larger is better.
    baseline : str
        The baseline's name among the values.
    control : str or None
        The control's name among the values. None: no control.
    negative : ndarray of bool of shape (n_queries,)
        Whether the best feature beats the baseline.
    bins : ndarray of shape (n_queries,)
        The best feature's value, binned. NaN: the query is skipped.
    """
    if np.count_nonzero(~np.isnan(bins)) < 2:
        return Findings("One query shows nothing.", [], {})
    methods = [name for name in values if name not in (baseline, control)]
    reading = [
        "The failure level depends on the baseline's own value, so any other model looks better "
        "than the baseline at negative levels (regression to the mean). The best feature's score "
        "does not depend on the baseline. There, a gain is a gain over all queries."
    ]
    if control is None:
        reading.append(
            "There is no control, so nobody can tell how much of a gain at negative levels is "
            "regression to the mean."
        )
    else:
        change = _compare(values, [control], baseline, negative, bins)[control]
        reading.append(
            f"{control} (the same model with another seed): {change.figures()}. Its gain at "
            "negative levels is regression to the mean, and a lower bound of it."
        )
    over_baseline = _compare(values, methods, baseline, negative, bins)
    over_control = _compare(values, methods, control, negative, bins) if control else {}
    by_method, shown = {}, {}
    for name in methods:
        first, second = over_baseline[name].gains()
        line = f"{_SHOWN[first, second]} over the baseline ({over_baseline[name].figures()})"
        if name in over_control:
            gains = over_control[name].gains()
            line += f"; {_SHOWN[gains]} over the control ({over_control[name].figures()})"
            first, second = first and gains[0], second and gains[1]
        by_method[name], shown[name] = f"{line}.", (first, second)
    return Findings(_summary(shown, control is not None), reading, by_method)


def _summary(shown: Mapping[str, tuple[bool, bool]], has_control: bool) -> str:
    over = " over the baseline and the control" if has_control else " over the baseline"
    sentences = []
    for gains, words in _SHOWN.items():
        if names := [name for name in shown if shown[name] == gains]:
            sentences.append(f"{words.capitalize()}{over}: {', '.join(names)}.")
            over = ""
    return " ".join(sentences) or "There is no method to judge."


def _compare(
    values: Mapping[str, Floats],
    methods: Collection[str],
    reference: str,
    negative: Flags,
    bins: Floats,
) -> dict[str, _Views]:
    """Both views of each method against a reference, with corrected p-values."""

    def gains(parts: Mapping[str, Flags]) -> dict[str, dict[str, PairedTest]]:
        tests = {
            (name, part): paired_test(
                values[name][queries],
                values[reference][queries],
                test="randomisation",
                n_resamples=_N_RESAMPLES,
            )
            for name in methods
            for part, queries in parts.items()
            if queries.sum() > 1
        }
        by_method: dict[str, dict[str, PairedTest]] = {name: {} for name in methods}
        for (name, part), test in corrected(tests).items():
            by_method[name][part] = test
        return by_method

    counted = ~np.isnan(bins)
    failing = gains({"negative": negative})
    overall = gains({"all": counted})
    by_score = gains({f"{level:.1f}": bins == level for level in np.unique(bins[counted])})
    return {
        name: _Views(failing[name].get("negative"), overall[name]["all"], by_score[name])
        for name in methods
    }
