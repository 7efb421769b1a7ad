"""Methods on several collections, pooled and averaged over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.measures import Measure

ALL, HELD_OUT = "all", "held out"
# The folds that test on the parts S4 and S5; fold k tests on S(k + 4). ClueWeb09 was not used to
# choose models.
LATE_FOLDS = {
    "MQ2007-85": ("Fold1", "Fold5"),
    "MQ2008": ("Fold1", "Fold5"),
    "OHSUMED": ("Fold1", "Fold5"),
    "ClueWeb09": tuple(f"Fold{k}" for k in range(1, 6)),
}


@dataclass(frozen=True)
class Pooled:
    """Results of methods on several collections.

    Attributes
    ----------
    results : dict from collection to list of dict from method to MethodResult
        One dict for each seed. Values are averaged over the seeds.
    names : sequence of str
        The collections whose queries count as one collection, "all".
    """

    results: Mapping[str, Sequence[Mapping[str, MethodResult]]]
    names: Sequence[str]

    @property
    def methods(self) -> list[str]:
        """The methods, the same on every collection."""
        return list(self.results[self.names[0]][0])

    @property
    def places(self) -> list[str]:
        """Where differences are tested: each collection, all together, and the held-out queries."""
        places = [*self.names, ALL] if len(self.names) > 1 else list(self.names)
        method = self.methods[0]
        n_late = sum(self._late(name, method).sum() for name in self.names)
        return [*places, HELD_OUT] if n_late > 1 else places

    def values(self, place: str, method: str, measure: Measure) -> Floats:
        """One value per query of a place."""
        parts = []
        for name in self.names if place in (ALL, HELD_OUT) else [place]:
            seeds = [results[method].values(measure) for results in self.results[name]]
            values = np.mean(seeds, axis=0)
            parts.append(values[self._late(name, method)] if place == HELD_OUT else values)
        return np.concatenate(parts)

    def test(self, place: str, method: str, other: str, measure: Measure) -> PairedTest:
        """Test whether a method is better than another."""
        return paired_test(*(self.values(place, name, measure) for name in (method, other)))

    def n_models(self, method: str) -> int:
        """The number of models, on the first collection."""
        return self.results[self.names[0]][0][method].n_models

    def cpu_seconds(self, method: str) -> float:
        """CPU seconds to train on one fold of each collection, summed; mean of folds and seeds."""
        return sum(
            float(np.mean([r[method].train_cpu_seconds / len(r[method].runs) for r in seeds]))
            for seeds in (self.results[name] for name in self.names)
        )

    def _late(self, name: str, method: str) -> Flags:
        fold_names = self.results[name][0][method].fold_names
        return np.isin(fold_names, LATE_FOLDS.get(name, ()))
