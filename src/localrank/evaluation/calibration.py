"""Best-feature calibration: how methods rank where one feature beats the global model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.printing import UNBROKEN, Printed, Table
from localrank.data import RankingDataset
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.significance import PairedTest, corrected, p_text, paired_test
from localrank.measures import Measure, parse_measure

FAILURE, SCORE = "failure_level", "best_feature_score"
BASELINE, BEST_FEATURE, CONTROL = "baseline", "best feature", "control"
TITLES = {
    FAILURE: "By failure level (the baseline's own score picks the queries)",
    SCORE: "By the best feature's score (no method's noise picks them)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Printed, Plotted):
    """Values of several methods in two views: two ways to group the queries by levels.

    The view `"failure_level"` groups the queries by the baseline's value minus the best
    feature's. The level depends on the baseline's value. So any other model looks better than
    the baseline at negative levels, and worse at positive ones: regression to the mean. The view
    `"best_feature_score"` groups the queries by the best feature's value, which no method's noise
    selects. A gain in the first view alone is not evidence of a better ranker.

    A gain in one bin of the second view is not evidence either. A model that leans on the best
    feature shares its errors. A model that leans on it less looks better where the feature scores
    low, and worse where it scores high. The mean over all bins is free of that.

    Attributes
    ----------
    measure : Measure
    query_ids : ndarray of shape (n_queries,)
    per_query : dict from name to ndarray of shape (n_queries,)
        Values of "best feature", "baseline", "control" if given, and each method. NaN: the
        measure skips the query, and the query has no level.
    bounds : tuple of str
        The names that are bounds, not methods.
    levels : dict from view to ndarray of shape (n_queries,)
        The level of each query, a multiple of 0.1. NaN: the measure skips the query.
    frame_library : str or None
        The library of the DataFrame that the data came in.
    """

    measure: Measure
    query_ids: Array
    per_query: dict[str, Floats]
    bounds: tuple[str, ...]
    levels: dict[str, Floats]
    frame_library: str | None = None

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A tidy table: view, level, n_queries, method, mean, low, high.

        `low` and `high` bound the mean with 95 % confidence, by the t distribution. They are NaN
        for a level of one query.
        """
        rows = []
        for view, levels in self.levels.items():
            for level in np.unique(levels[~np.isnan(levels)]):
                members = levels == level
                for name, values in self.per_query.items():
                    mean, low, high = _mean_and_interval(values[members])
                    rows.append(
                        {
                            "view": view,
                            "level": float(level),
                            "n_queries": int(members.sum()),
                            "method": name,
                            "mean": mean,
                            "low": low,
                            "high": high,
                        }
                    )
        return rows

    def by_level(self, view: str) -> list[list[dict[str, Any]]]:
        """The rows of a view by level. Each level has one row per method."""
        rows, n = [row for row in self.rows if row["view"] == view], len(self.per_query)
        return [rows[start : start + n] for start in range(0, len(rows), n)]

    @cached_property
    def findings(self) -> Findings:
        """The verdict in parts: a summary, how to read it, and a line for each method."""
        direction = 1 if self.measure.higher_is_better else -1
        return findings(
            {
                name: direction * values
                for name, values in self.per_query.items()
                if name not in (*self.bounds, BEST_FEATURE)
            },
            negative=self.levels[FAILURE] < 0,
            bins=self.levels[SCORE],
        )

    @property
    def verdict(self) -> str:
        """Which of the two views shows a gain over the baseline and the control, in words.

        A gain is a mean difference above zero at p < 0.05 by a randomisation test. The first view
        tests the queries at negative levels, the second all queries. The verdict also names bins
        of the second view in which a method differs. P-values are corrected by Holm's rule for
        the number of methods, and in the bins for the number of bins as well.
        """
        return self.findings.text()

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """The rows as a table; `library` as in `RankingDataset.to_frame`."""
        return frame_of(columns_of(self.rows), library, self.frame_library)

    def _shown(self) -> list[str | Table]:
        """Both views as tables, mean ± half the confidence interval, and the verdict."""
        tables: list[str | Table] = []
        for view, levels in self.levels.items():
            skipped = int(np.isnan(levels).sum())
            title = f"{self.measure} by {_level_text(self.measure, view)}: "
            title += f"{len(levels) - skipped:,} queries, {skipped:,} skipped, mean ± 95 %"
            rows = [
                [f"{cells[0]['level']:.1f}", f"{cells[0]['n_queries']:,}", *map(_cell, cells)]
                for cells in self.by_level(view)
            ]
            tables.append(Table(title, ["level", "queries", *self.per_query], rows))
        return [*tables, *self.verdict.splitlines()]

    def chart(self) -> Chart:
        """Both views, bounds dashed, the control dotted."""
        views = {}
        for view in self.levels:
            levels = self.by_level(view)
            views[TITLES[view]] = {
                "x_label": _level_text(self.measure, view),
                "levels": [rows[0]["level"] for rows in levels],
                "n_queries": [rows[0]["n_queries"] for rows in levels],
                "methods": {
                    name: [[row[key] for row in rows] for key in ("mean", "low", "high")]
                    for name, rows in zip(self.per_query, zip(*levels, strict=True), strict=True)
                },
            }
        return Chart(
            "calibration",
            views=views,
            bounds=self.bounds,
            y_label=f"mean {self.measure}",
            note=self.verdict,
        )


def best_feature_calibration(
    baseline: ArrayLike,
    best_feature: ArrayLike,
    methods: Mapping[str, ArrayLike],
    dataset: RankingDataset,
    measure: str | Measure = "ndcg@5",
    *,
    control: ArrayLike | None = None,
    bounds: Collection[str] = ("oracle",),
) -> Calibration:
    """Compare methods where a global model falls behind the single best feature [1].

    The failure level of a query is the baseline's value minus the best feature's, rounded to the
    nearest 0.1. It is negative if the best feature wins. Halves round away from zero, so that
    exchanging the two mirrors the levels. Values are rounded to seven decimals first. The best
    feature's value is binned in the same way.

    Parameters
    ----------
    baseline : array-like of shape (n_documents,)
        Scores of the global model. All scores are in the order of the input.
    best_feature : array-like of shape (n_documents,)
        Scores of the single best feature, from a fitted `BestFeature`.
    methods : dict from name to array-like of shape (n_documents,)
        Scores of each method.
    dataset : RankingDataset
        Queries with relevance labels.
    measure : str or Measure, default="ndcg@5"
        If smaller values are better, the failure level has the opposite sign.
    control : array-like of shape (n_documents,), optional
        Scores of a second global model with another seed. Its gain over the baseline at negative
        failure levels is regression to the mean. It shares most of the baseline's errors, so its
        gain is a lower bound of that effect.
    bounds : collection of str, default=("oracle",)
        Names among `methods` that choose by the labels. They are drawn dashed, and the verdict
        leaves them out.

    References
    ----------
    1. Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature, RankSVM
    >>> dataset, _ = make_queries(90)
    >>> train, test = dataset.select(range(60)), dataset.select(range(60, 90))
    >>> best, model = BestFeature().fit(train), RankSVM().fit(train)
    >>> other = RankSVM(C=0.01).fit(train)
    >>> calibration = best_feature_calibration(
    ...     model.predict(test), best.predict(test), {"other": other.predict(test)}, test
    ... )
    >>> calibration.levels["failure_level"][:4]
    array([0.5, 0.3, 0. , 0. ])
    >>> calibration.to_frame("pandas").head(3).round(2)
                view  level  n_queries        method  mean  low  high
    0  failure_level   -0.3          1  best feature  0.77  NaN   NaN
    1  failure_level   -0.3          1      baseline  0.49  NaN   NaN
    2  failure_level   -0.3          1         other  0.49  NaN   NaN
    >>> print(calibration.verdict.splitlines()[-1])
    other: neither view shows a gain over the baseline (+0.022, p = 0.250 at negative levels;
    +0.006, p = 0.461 over all queries).
    """
    if unknown := [name for name in bounds if name not in methods and name != "oracle"]:
        raise ValueError(f"The 'bounds' argument names no method with {unknown[0]!r}.")
    given: dict[str, Any] = {BEST_FEATURE: best_feature, BASELINE: baseline}
    if control is not None:
        given[CONTROL] = control
    for name in methods:
        if name in (BEST_FEATURE, BASELINE, CONTROL):
            raise ValueError(f"A method may not be called {name!r}: that is another argument.")
    measure = parse_measure(measure)
    values = {}
    for name, scores in (given | dict(methods)).items():
        try:
            values[name] = measure(dataset, scores)
        except ValueError as error:
            raise ValueError(f"Scores of {name!r}: {error}") from None
    failure = values[BASELINE] - values[BEST_FEATURE]
    if np.isnan(failure).all():
        raise ValueError(f"{measure} skips every query.")
    return Calibration(
        measure,
        dataset.query_ids,
        values,
        tuple(name for name in methods if name in bounds),
        {
            FAILURE: _nearest_tenth(failure if measure.higher_is_better else -failure),
            SCORE: _nearest_tenth(values[BEST_FEATURE]),
        },
        dataset.frame_library,
    )


def _level_text(measure: Measure, view: str) -> str:
    if view == SCORE:
        return "the best feature's score"
    terms = ("baseline", "best feature")
    return "failure level ({} − {})".format(*terms if measure.higher_is_better else terms[::-1])


def _cell(row: Mapping[str, Any]) -> str:
    half = (row["high"] - row["low"]) / 2
    spread = "" if np.isnan(half) else f" ± {half:.3f}"
    return f"{row['mean']:.3f}{spread}".replace(" ", UNBROKEN)


def _nearest_tenth(values: Floats) -> Floats:
    tenths = (10 * values).round(6)
    # Adding zero makes zero of minus zero.
    return np.copysign(np.floor(np.abs(tenths) + 0.5), tenths) / 10 + 0.0


def _mean_and_interval(values: Floats) -> tuple[float, float, float]:
    mean, n = float(values.mean()), len(values)
    if n == 1:
        return mean, np.nan, np.nan
    half = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


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
            if levels := [level for level, gain in self.bins.items() if gain.sign == sign]:
                figures.append(f"{what} where the best feature reaches {', '.join(levels)}")
        return "; ".join(figures)


def _figure(test: PairedTest) -> str:
    return f"{test.mean_difference:+.3f}, {p_text(test.p)}"


def findings(values: Mapping[str, Floats], *, negative: Flags, bins: Floats) -> Findings:
    """Which views of a calibration show a gain over the baseline, and over the control.

    Parameters
    ----------
    values : dict from name to ndarray of shape (n_queries,)
        Values of "baseline", "control" if there is one, and the methods. Larger is better.
    negative : ndarray of bool of shape (n_queries,)
        Whether the best feature beats the baseline.
    bins : ndarray of shape (n_queries,)
        The best feature's value, binned. NaN: the query is skipped.
    """
    if np.count_nonzero(~np.isnan(bins)) < 2:
        return Findings("One query shows nothing.", [], {})
    methods = [name for name in values if name not in (BASELINE, CONTROL)]
    reading = [
        "The failure level depends on the baseline's own value, so any other model looks better "
        "than the baseline at negative levels (regression to the mean). The best feature's score "
        "does not depend on the baseline. There, a gain is a gain over all queries."
    ]
    if CONTROL not in values:
        reading.append(
            "There is no control, so nobody can tell how much of a gain at negative levels is "
            "regression to the mean."
        )
    else:
        change = _compare(values, [CONTROL], BASELINE, negative, bins)[CONTROL]
        reading.append(
            f"{CONTROL} (the same model with another seed): {change.figures()}. Its gain at "
            "negative levels is regression to the mean, and a lower bound of it."
        )
    over_baseline = _compare(values, methods, BASELINE, negative, bins)
    over_control = _compare(values, methods, CONTROL, negative, bins) if CONTROL in values else {}
    by_method, shown = {}, {}
    for name in methods:
        first, second = over_baseline[name].gains()
        line = f"{_SHOWN[first, second]} over the baseline ({over_baseline[name].figures()})"
        if name in over_control:
            gains = over_control[name].gains()
            line += f"; {_SHOWN[gains]} over the control ({over_control[name].figures()})"
            first, second = first and gains[0], second and gains[1]
        by_method[name], shown[name] = f"{line}.", (first, second)
    return Findings(_summary(shown, CONTROL in values), reading, by_method)


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
