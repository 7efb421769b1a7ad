"""The curves of early stopping: a measure of the validation queries, round by round."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.printing import Printed, Table
from localrank._base.rules import fitted_parts
from localrank.data._frames import FrameLibrary, frame_of
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.measures import Measure, parse_measure
from localrank.rankers import Ranker


@dataclass(frozen=True, eq=False, repr=False)
class TrainingCurves(Printed, Plotted):
    """The measure of the validation queries after each round. It prints the best rounds.

    Attributes
    ----------
    curves : dict from str to ndarray of shape (n_rounds, 2)
        For each model, numbers of rounds (such as trees), and the measure after that many rounds.
    measures : dict from str to Measure
        The measure that stopped each model.
    """

    curves: dict[str, Floats]
    measures: dict[str, Measure]

    def best(self, name: str) -> tuple[int, float]:
        """The best round of a model, the first among equals, and its value."""
        curve = self.curves[name]
        values = curve[:, 1] if self.measures[name].higher_is_better else -curve[:, 1]
        place = int(values.argmax())
        return int(curve[place, 0]), float(curve[place, 1])

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per model and round. `library` is as in `RankingDataset.to_frame`."""
        names = list(self.curves)
        n_rounds = [len(curve) for curve in self.curves.values()]
        rounds, values = np.concatenate(list(self.curves.values())).T
        columns = {
            "model": np.repeat(names, n_rounds),
            "measure": np.repeat([str(self.measures[name]) for name in names], n_rounds),
            "round": rounds.astype(np.int64),
            "value": values,
        }
        return frame_of(columns, library)

    def chart(self) -> Chart:
        """A curve for each model, in a panel for each measure."""
        panels: dict[str, dict[str, Any]] = {}
        for name, curve in self.curves.items():
            panels.setdefault(str(self.measures[name]), {})[name] = tuple(curve.T.tolist())
        return Chart("curves", panels=panels, x_label="rounds", y_label="validation queries")

    def _shown(self) -> list[str | Table]:
        rows = []
        for name, curve in self.curves.items():
            best, value = self.best(name)
            tried = f"{int(curve[-1, 0]):,}"
            rows.append([name, str(self.measures[name]), f"{best:,}", tried, f"{value:.4f}"])
        columns = ["model", "measure", "best round", "last round", "best value"]
        return [Table("Validation queries, round by round", columns, rows)]


def training_curves(ranker: Ranker) -> TrainingCurves:
    """Training curves of a fitted ranker and its parts, where validation queries stopped them.

    Boosted trees, RankBoost and AdaRank have a curve if `fit` was given `valid`. The ranker keeps
    it as `curve_`, also in a file.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80, random_state=0)
    >>> train, valid = dataset.select(range(50)), dataset.select(range(50, 80))
    >>> ranker = LambdaMART(30).fit(train, valid=valid)
    >>> curves = training_curves(ranker)
    >>> curves.best("LambdaMART")[0] == ranker.n_trees_
    True
    >>> curves.plot().axes[0].get_xlabel()
    'rounds'
    """
    parts = [part for part in fitted_parts(ranker) if getattr(part, "curve_", None) is not None]
    if not parts:
        raise ValueError(
            f"This {type(ranker).__name__} has no curves: validation queries did not stop it. "
            f"Boosted trees, RankBoost and AdaRank have one after fit(..., valid=...)."
        )
    kinds = [type(part).__name__ for part in parts]
    counts, seen, names = Counter(kinds), Counter[str](), []
    for kind in kinds:
        seen[kind] += 1
        names.append(f"{kind} {seen[kind]}" if counts[kind] > 1 else kind)
    return TrainingCurves(
        curves={name: part.curve_ for name, part in zip(names, parts, strict=True)},
        measures={
            name: parse_measure(part.measure) for name, part in zip(names, parts, strict=True)
        },
    )
