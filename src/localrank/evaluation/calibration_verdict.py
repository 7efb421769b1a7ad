"""What a best-feature calibration shows, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from localrank.arrays import Flags, Floats
from localrank.evaluation.significance import PairedTest, corrected, p_text, paired_test

_N_RESAMPLES = 10_000


@dataclass(frozen=True)
class _Views:
    """How one method compares with another in both views."""

    failing: PairedTest | None
    overall: PairedTest
    bins: dict[str, PairedTest]

    def shown(self) -> str:
        conditioned = self.failing is not None and self.failing.sign > 0
        # A gain in single bins is none yet. Models lean on the best feature to different degrees,
        # and where it fails by chance, one that leans on it less looks better, even pure noise.
        unconditioned = self.overall.sign > 0
        if conditioned and unconditioned:
            return "both views show a gain"
        if conditioned:
            return "only the failure levels show a gain"
        if unconditioned:
            return "only the best feature's score shows a gain"
        return "neither view shows a gain"

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


def verdict(
    values: Mapping[str, Floats],
    baseline: str,
    control: str | None,
    *,
    negative: Flags,
    bins: Floats,
) -> str:
    """Say which view of a calibration shows a gain over the baseline, and over the control.

    Parameters
    ----------
    values : dict from name to ndarray of shape (n_queries,)
        Of the baseline, the control and the methods; larger is better.
    baseline, control : str
        Their names among the values.
    negative : ndarray of bool of shape (n_queries,)
        Whether the best feature beats the baseline.
    bins : ndarray of shape (n_queries,)
        The best feature's own value, binned; NaN where a query is skipped.
    """
    if np.count_nonzero(~np.isnan(bins)) < 2:
        return "One query shows nothing."
    methods = [name for name in values if name not in (baseline, control)]
    lines = [
        "The failure level depends on the baseline's own value, so any other model looks better "
        "than the baseline at negative levels (regression to the mean). The best feature's score "
        "does not depend on it; there, a gain is one over all queries."
    ]
    if control is None:
        lines.append(
            "Without a control, how much of a gain at negative levels is regression to the mean "
            "stays open."
        )
    else:
        change = _compare(values, [control], baseline, negative, bins)[control]
        lines.append(
            f"{control} (the same model with another seed): {change.figures()}. Its gain at "
            "negative levels is regression to the mean, and a lower bound of it."
        )
    over_baseline = _compare(values, methods, baseline, negative, bins)
    over_control = _compare(values, methods, control, negative, bins) if control else {}
    for name in methods:
        line = f"{name}: {over_baseline[name].shown()} over the baseline "
        line += f"({over_baseline[name].figures()})"
        if name in over_control:
            line += f"; {over_control[name].shown()} over the control "
            line += f"({over_control[name].figures()})"
        lines.append(line + ".")
    return "\n".join(lines)


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
        found: dict[str, dict[str, PairedTest]] = {name: {} for name in methods}
        for (name, part), test in corrected(tests).items():
            found[name][part] = test
        return found

    counted = ~np.isnan(bins)
    failing = gains({"negative": negative})
    overall = gains({"all": counted})
    by_score = gains({f"{level:.1f}": bins == level for level in np.unique(bins[counted])})
    return {
        name: _Views(failing[name].get("negative"), overall[name]["all"], by_score[name])
        for name in methods
    }
