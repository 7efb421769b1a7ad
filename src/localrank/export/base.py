"""The base classes of export targets, and what their files and refusals have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.formulas import (
    Formula,
    Linear,
    Net,
    NotExportable,
    OnColumns,
    Routed,
    Standardised,
    TreeSum,
)
from localrank.registry import Declaration, declared
from localrank.trees import Trees
from localrank.trees._columns import MISSING_ZERO

LARGEST_SINGLE = float(np.finfo(np.float32).max)
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
    categories : mapping
        The values of each feature whose codes the model takes, by its name. A value's code is its
        place among them, from 0.
    """

    name: str
    formula: Formula
    feature_names: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def ranker(self) -> str:
        """The class of the ranker, or the name of the model if that is not known."""
        return str(self.facts.get("ranker", self.name))

    @property
    def by_localrank(self) -> str:
        """Words for a README: " by localrank VERSION", or nothing if that is not known."""
        return f" by localrank {self.facts['localrank']}" if "localrank" in self.facts else ""

    @property
    def set_name(self) -> str:
        """Name in the engine of the set of features that the files upload.

        It differs from the name of the model, because a set that logs the features may have that
        name.
        """
        return f"{self.name}_fields"

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

    declaration: ClassVar[Declaration]
    # The steps of formulas that the engine computes. A model with any other step is refused.
    takes: ClassVar[tuple[type[Formula], ...]]
    # What holds the model, for the refusal: "LightGBM's file".
    holder: ClassVar[str] = "the engine"
    # Whether the engine takes splits by sets of categories.
    takes_sets: ClassVar[bool] = False
    # Whether the engine can choose between groups itself, so that it takes a whole local model.
    chooses_groups: ClassVar[bool] = False

    def files(self, model: ExportedModel) -> dict[str, str | bytes]:
        """The files for the engine, and a README.md that says how to use them.

        Raises `NotExportable` if the engine cannot compute the model exactly.
        """
        if not all(isinstance(step, self.takes) for step in model.formula.walk()):
            raise self._refusal(model)
        if not self.takes_sets and _has_sets(model.formula):
            raise NotExportable(
                model.ranker,
                f"its trees split by sets of categories, and {self.holder} compares numbers",
                f"Use {_targets_with_sets()}, or train with categories='one-hot' "
                f"(--set categories=one-hot), which makes a feature of 0 and 1 of each category.",
            )
        _check_names(model.feature_names)
        return self._files(model)

    @abstractmethod
    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        """The files for a model whose steps the engine computes."""

    @abstractmethod
    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        """The scores that the engine computes from the files, one per row.

        The model is read from the files alone and computed as in the engine: with its precision,
        comparisons, missing values and order of sums.
        """

    def _refusal(self, model: ExportedModel) -> NotExportable:
        """The error for a model with a step that the engine does not compute."""
        return _refusal_of(model, self.holder)


def _check_names(names: Sequence[str]) -> None:
    """Refuse names that no engine takes. Targets escape or replace what only they do not take."""
    for number, name in enumerate(names, start=1):
        if not name.strip() or any(char == "\0" or "\ud800" <= char <= "\udfff" for char in name):
            raise ValueError(
                f"The name of a feature must be a text of whole characters, without NUL, for "
                f"every engine. That of feature {number} is {name!r}. Train with another name."
            )


class GroupTarget(Target):
    """An engine in which one model holds all groups of a local model: a query names its group."""

    @abstractmethod
    def group_scores(self, files: Files, dataset: RankingDataset, group: int) -> Floats:
        """The scores that the engine computes if all queries name this group, from 0."""


def numbered_names(n_features: int) -> tuple[str, ...]:
    """Names for features without names: f1, f2 and so on, by their numbers in LETOR files."""
    return tuple(f"f{number}" for number in range(1, n_features + 1))


def columns_by_name(dataset: RankingDataset) -> dict[str, int]:
    """The column of each feature of a dataset, by name.

    Examples
    --------
    >>> columns_by_name(RankingDataset.from_arrays([[0.5, 2.0]], qid=["a"]))
    {'f1': 0, 'f2': 1}
    """
    names = dataset.feature_names or numbered_names(dataset.n_features)
    return {name: column for column, name in enumerate(names)}


@contextmanager
def one_file(files: Files, ending: str) -> Iterator[bytes]:
    """The content of a file. Errors within the block name the file.

    Parameters
    ----------
    files : mapping
    ending : str
        End of the file's name. Exactly one name may end so.

    Examples
    --------
    >>> import json
    >>> with one_file({"model.json": '{"trees": '}, "model.json") as text:
    ...     json.loads(text)
    Traceback (most recent call last):
    ValueError: model.json is not as it was exported (JSONDecodeError: Expecting value: line 1
    column 11 (char 10)). Export the model again.
    """
    names = [name for name in files if name.endswith(ending)]
    if len(names) != 1:
        raise ValueError(
            f"The export must have one file that ends in {ending}. It has {len(names) or 'none'}. "
            "Export the model again."
        )
    content = files[names[0]]
    try:
        yield content if isinstance(content, bytes) else content.encode()
    except Exception as error:
        raise ValueError(
            f"{names[0]} is not as it was exported ({type(error).__name__}: {error}). "
            "Export the model again."
        ) from error


def trees_of(model: ExportedModel, holder: str) -> Trees:
    """The trees of a sum of trees. Refuses splits that treat zero as missing, as LightGBM does.

    Parameters
    ----------
    model : ExportedModel
    holder : str
        What takes the trees, for the refusal.
    """
    trees = cast(TreeSum, model.formula).trees
    if (trees.decisions & MISSING_ZERO).any():
        raise NotExportable(
            model.ranker,
            f"its trees treat zero as missing, which {holder} cannot express",
            "Use lightgbm, or train without `zero_as_missing`.",
        )
    return trees


def _refusal_of(model: ExportedModel, holder: str) -> NotExportable:
    """The error for a model that a target cannot hold: why, and what to do instead."""
    steps = list(model.formula.walk())
    made = [step for step in steps if isinstance(step, OnColumns)]
    kinds = {column.kind for step in made for column in step.columns}
    serve = "or run the model with `localrank serve`."
    if isinstance(model.formula, Linear):
        reason = f"{holder} holds trees, and the model is a weighted sum of the features"
        instead = f"Use {_targets_with(Linear)}, which have linear models."
    elif isinstance(model.formula, TreeSum):
        reason = f"{holder} holds no trees"
        instead = f"Use {_targets_with(TreeSum)}, which have trees."
    elif any(isinstance(step, Routed) for step in steps):
        reason = (
            f"one of its steps chooses between models by the query, and {holder} holds one model"
        )
        instead = f"Use a method with one model for all queries, {serve}"
    elif made and kinds <= {"feature", "filled", "missing"}:
        reason = (
            f"it replaces missing values with the median of their list, and {holder} takes "
            "features as they are"
        )
        instead = (
            "Use a method of trees, which handle missing values, such as lambdamart, use onnx, "
            + serve
        )
    elif made:
        whole = any(step.looks_at_list for step in made)
        source = "the whole list" if whole else "several features"
        reason = f"its columns are computed from {source}, and {holder} takes features as they are"
        instead = (
            "Use a method that scores a document by its features alone, such as lambdamart, "
            f"use onnx, {serve}"
        )
    elif any(isinstance(step, Standardised) for step in steps):
        mixed = any(isinstance(step, Linear | Net) for step in steps)
        reason = (
            f"it standardises scores within the query, and {holder} scores one document at a time"
        )
        instead = (
            f"Train an ensemble of {'trees alone' if mixed else 'trees'} with fixed scales "
            '(combine="fixed" of a recipe such as global-ensemble, aggregator=FixedScale() of '
            f"Ensemble), use onnx, {serve}"
        )
    else:
        reason = f"{holder} holds one sum of trees, and the model is more than that"
        instead = f"Use onnx, {serve}"
    return NotExportable(model.ranker, reason, instead)


def _has_sets(formula: Formula) -> bool:
    return any(isinstance(step, TreeSum) and step.trees.has_sets for step in formula.walk())


def _targets_with_sets() -> str:
    from localrank import export

    takers = [name for name, target in declared(export).items() if target.takes_sets]
    return " or ".join(takers)


def _targets_with(step: type[Formula]) -> str:
    from localrank import export

    takes = {name: target.takes for name, target in declared(export).items()}
    *names, last = (name for name, steps in takes.items() if issubclass(step, steps))
    return f"{', '.join(names)} or {last}"


def check_single_range(model: ExportedModel, engine: str) -> None:
    """Refuse a model whose scores may be beyond the range of single precision.

    Parameters
    ----------
    model : ExportedModel
        A sum of trees, of weighted features, or a net.
    engine : str
        Name of the engine that computes in single precision, for the refusal.
    """
    reach = 0.0
    match model.formula:
        case TreeSum(trees=trees):
            largest = np.maximum.reduceat(np.abs(trees.leaf_values), trees.leaf_offsets[:-1])
            # Engines that allow no score below zero add a constant of up to the same size.
            reach = 2 * float(largest.sum())
        case Linear(weights=weights, constant=constant):
            reach = max(float(np.abs(weights).max()), abs(constant))
        case Net(mean=mean, scale=scale, skip=skip):
            reach = float(np.abs([mean, scale, skip]).max())
    if not reach <= LARGEST_SINGLE:
        raise NotExportable(
            model.ranker,
            f"its numbers exceed the range of float32, and {engine} computes in float32",
            "Use onnx, which computes in double precision.",
        )
