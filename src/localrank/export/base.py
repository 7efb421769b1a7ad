"""What every target of an export promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.formulas import Formula

# Files of an export: their names, and what is in them.
Files = Mapping[str, str | bytes]


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """What is written for an engine.

    Parameters
    ----------
    name : str
        What the model is called in the engine.
    formula : Formula
        Simplified.
    feature_names : tuple of str
        One for each feature, all different.
    facts : mapping
        What the files say about their origin: the method, the version, the training data.
    """

    name: str
    formula: Formula
    feature_names: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def renamed(self, fields: Sequence[str]) -> str:
        """A chapter of a README: the fields that have other names than their features.

        It is empty where there are none.
        """
        lines = [
            f"- `{field}`: {' '.join(name.split())}"
            for name, field in zip(self.feature_names, fields, strict=True)
            if name != field
        ]
        title = "\n## Fields with other names than the features\n\n"
        return title + "\n".join(lines) + "\n" if lines else ""


class Target(ABC):
    """An engine or library that takes a model as files.

    A target declares itself by `@declare(name, summary)`, and needs a line in the package.
    """

    # Whether one model of the engine holds all groups of a local model, and a query says which.
    takes_groups: ClassVar[bool] = False

    # Whether the engine chooses between groups itself, so that it may take a local model whole.
    chooses_groups: ClassVar[bool] = False

    @abstractmethod
    def files(self, model: ExportedModel) -> dict[str, str | bytes]:
        """The files that the engine takes, and a README.md that says how.

        What the engine cannot compute exactly raises `NotExportable`.
        """

    @abstractmethod
    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        """What the engine computes from the files, one score per row.

        It is read from the files alone and computed as the engine does: its precision, its
        comparisons, its missing values, its order of sums.
        """

    def group_scores(self, files: Files, dataset: RankingDataset, group: int) -> Floats:
        """The same where all queries say this group, from 0, for a target that `takes_groups`."""
        raise NotImplementedError
