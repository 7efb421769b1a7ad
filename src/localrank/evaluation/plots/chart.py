"""Charts as data: the numbers are stored, and drawn when a picture is wanted."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank.data._atomic import atomic_write
from localrank.evaluation.plots.kinds import (
    draw_bars,
    draw_calibration,
    draw_cosines,
    draw_curves,
    draw_directions,
    draw_intervals,
)
from localrank.evaluation.plots.style import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[..., Figure]] = {
    "bars": draw_bars,
    "calibration": draw_calibration,
    "cosines": draw_cosines,
    "curves": draw_curves,
    "directions": draw_directions,
    "intervals": draw_intervals,
}
WIDTH = 110  # of a line in a file, unless it holds single values only


class Chart:
    """What a plot shows, as plain data: its kind and the numbers.

    Parameters
    ----------
    kind : str
        One of "bars", "calibration", "cosines", "curves", "directions" and "intervals".
    **options
        Arguments of the function that draws this kind: `draw_bars` for "bars".

    Examples
    --------
    >>> panels = {"OHSUMED": {"MAP": ([1, 2], [0.5, 2 / 3])}}
    >>> chart = Chart("curves", panels=panels, x_label="x", y_label="y")
    >>> chart.as_json()["panels"]
    {'OHSUMED': {'MAP': [[1, 2], [0.5, 0.6666667]]}}
    >>> chart.draw().axes[0].get_xlabel()
    'x'
    """

    def __init__(self, kind: str, **options: Any) -> None:
        if kind not in KINDS:
            raise ValueError(f"A chart's kind must be one of {', '.join(KINDS)}. Got {kind!r}.")
        self.kind = kind
        self.options = options

    def draw(self) -> Figure:
        """The plot as a matplotlib figure. Needs the extra `localrank[plots]`."""
        return KINDS[self.kind](**self.options)

    def as_json(self) -> dict[str, Any]:
        """The kind and all options as JSON has them; `Chart(**record)` makes the chart again.

        Numbers have seven significant digits. NaN and infinity become None.
        """
        return {"kind": self.kind, **_plain(self.options)}


class Plotted:
    """A result with a chart that `plot()` draws and `save_plot(path)` writes to a file.

    Both need the extra `localrank[plots]`. Notebooks show the figure that `plot()` returns.
    """

    @abstractmethod
    def chart(self) -> Chart:
        """What the plot shows, as data."""

    def plot(self) -> Figure:
        """The chart as a matplotlib figure. Needs the extra `localrank[plots]`."""
        return self.chart().draw()

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Write the plot as .svg, .png or .pdf. Needs the extra `localrank[plots]`."""
        save_figure(self.plot(), path)


def write_charts(charts: Mapping[str, Chart], path: str | PathLike[str]) -> None:
    """Write charts by name to a JSON file, a line for each series.

    Examples
    --------
    >>> import tempfile
    >>> chart = Chart("bars", panels={"": {"a": [1, 2]}}, ticks=["x", "y"], y_label="mean")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_charts({"first": chart}, f"{folder}/charts.json")
    ...     [drawn.name for drawn in draw_charts(f"{folder}/charts.json")]
    ['first.svg']
    """
    records = {name: chart.as_json() for name, chart in charts.items()}
    with atomic_write(path) as file:
        file.write(("\n".join(_lines(records)) + "\n").encode())


def draw_charts(path: str | PathLike[str]) -> list[Path]:
    """Draw every chart of a file that `write_charts` wrote, as NAME.svg beside it.

    Returns the paths of the drawings.
    """
    path = Path(path)
    drawn = []
    for name, record in json.loads(path.read_text(encoding="utf-8")).items():
        drawn.append(path.with_name(f"{name}.svg"))
        save_figure(Chart(**record).draw(), drawn[-1])
    return drawn


def _plain(value: Any) -> Any:
    """A value in JSON's types, with rounded numbers."""
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float):
        return float(f"{value:.7g}") if np.isfinite(value) else None
    return value


def _lines(value: Any) -> Iterator[str]:
    """JSON in lines: what is short or holds single values only is one line."""
    line = json.dumps(value, ensure_ascii=False)
    members = value.values() if isinstance(value, dict) else value
    if len(line) <= WIDTH or not any(isinstance(member, dict | list) for member in members):
        yield line
        return
    start, end = "{}" if isinstance(value, dict) else "[]"
    keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value] if start == "{" else None
    yield start
    for place, member in enumerate(members):
        first, *others = _lines(member)
        lines = [(keys[place] if keys else "") + first, *others]
        lines[-1] += "," if place < len(value) - 1 else ""
        yield from (f" {line}" for line in lines)
    yield end
