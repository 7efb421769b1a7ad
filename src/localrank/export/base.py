"""The base classes of export targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.formulas import Formula

# The files of an export: contents by name.
Files = Mapping[str, str | bytes]


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A model that is to be written for an engine.

    Parameters
    ----------
    name : str
        Name of the model in the engine.
    formula : Formula
        The formula of the scores, simplified.
    feature_names : tuple of str
        Name of each feature, all different.
    facts : mapping
        Origin of the model, which the files name: the method, the version, the training data.
    """

    name: str
    formula: Formula
    feature_names: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def renamed(self, fields: Sequence[str]) -> str:
        """A section for a README: the fields that have other names than their features.

        It is empty if there are none.
        """
        lines = [
            f"- `{field}`: {' '.join(name.split())}"
            for name, field in zip(self.feature_names, fields, strict=True)
            if name != field
        ]
        title = "\n## Fields whose names differ from the features\n\n"
        return title + "\n".join(lines) + "\n" if lines else ""


class Target(ABC):
    """An engine or library that takes a model as files.

    A target declares itself with `@declare(name, summary)`, and needs a line in the package.
    """

    # Whether the engine can choose between groups itself, so that it takes a whole local model.
    chooses_groups: ClassVar[bool] = False

    @abstractmethod
    def files(self, model: ExportedModel) -> dict[str, str | bytes]:
        """The files for the engine, and a README.md that says how to use them.

        Raises `NotExportable` if the engine cannot compute the model exactly.
        """

    @abstractmethod
    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        """The scores that the engine computes from the files, one per row.

        The model is read from the files alone and computed as in the engine: with its precision,
        comparisons, missing values and order of sums.
        """


class GroupTarget(Target):
    """An engine in which one model holds all groups of a local model: a query names its group."""

    @abstractmethod
    def group_scores(self, files: Files, dataset: RankingDataset, group: int) -> Floats:
        """The scores that the engine computes if all queries name this group, from 0."""
