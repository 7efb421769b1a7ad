"""The base class of engines that fuse lists, and the arithmetic that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from localrank._base.arrays import Floats
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.export.base import Files
from localrank.formulas import NotExportable
from localrank.fusion import (
    Fusion,
    Hybrid,
    NeighbourColumns,
    ReciprocalRankFusion,
    SmoothedFusion,
)
from localrank.fusion._list_columns import list_names
from localrank.rankers import Ranker
from localrank.registry import Declaration

# Numbers in the precision of the engines' scores.
Singles = npt.NDArray[np.float32]
# The documents of each list that an engine fuses, if nobody says otherwise.
WINDOW = 100
# A difference that all engines have, for a README.
TIES = (
    "- Documents with equal scores of a list get different ranks. localrank gives them their mean\n"
    "  rank.\n"
)
_SERVE = "run the model with `localrank serve`."
_MIN_MAX = (
    "Train a fusion of min-max scores (localrank fuse --method fusion --set "
    f"normalisation=min-max) or reciprocal-rank-fusion, or {_SERVE}"
)


@dataclass(frozen=True)
class ListFusion:
    """A fusion of lists that is to be written for an engine.

    Parameters
    ----------
    name : str
        Name of the model in the engine.
    list_names : tuple of str
    weights : tuple of float
        The weight of each list. Those of reciprocal rank fusion have the mean 1.
    k : float or None
        The constant of reciprocal rank fusion. None: a weighted sum of min-max scores.
    window : int
        The engine fuses at most this many documents of each list, the first ones.
    facts : mapping
        Origin of the model, which the files name.

    Examples
    --------
    >>> from localrank.fusion import lists_dataset
    >>> lists = {"bm25": {"q": {"a": 9.0, "b": 7.0}}, "dense": {"q": {"b": 0.8, "c": 0.7}}}
    >>> ranker = Fusion([3, 1], normalisation="min-max").fit(lists_dataset(lists))
    >>> ListFusion.of(ranker).weights
    (0.75, 0.25)
    """

    name: str
    list_names: tuple[str, ...]
    weights: tuple[float, ...]
    k: float | None
    window: int = WINDOW
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ranker: Ranker,
        name: str = "localrank",
        window: int = WINDOW,
        facts: Mapping[str, Any] | None = None,
    ) -> ListFusion:
        """The fusion of a fitted ranker.

        Raises `NotExportable` if no engine fuses lists as the ranker does.
        """
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ValueError(f"The 'window' argument must be a whole number from 1. Got {window!r}")
        k: float | None = None
        match ranker:
            case ReciprocalRankFusion():
                weights, k = ranker.weights_, float(ranker.k)
            case Fusion(normalisation="min-max"):
                weights = ranker.weights_
            case _:
                raise _refusal(ranker)
        names = ranker.list_names_ or tuple(f"list{n + 1}" for n in range(ranker.n_lists_))
        return cls(name, names, tuple(weights.tolist()), k, window, facts or {})

    @property
    def written(self) -> str:
        """Words for a README: which program wrote the files."""
        return f"Written by localrank {self.facts.get('localrank', '')}".rstrip() + "."

    @property
    def is_weighted(self) -> bool:
        """Whether the lists have different weights."""
        return len(set(self.weights)) > 1

    @property
    def in_words(self) -> str:
        """Words for a README: what is fused, and how."""
        if self.k is not None and self.is_weighted:
            pairs = zip(self.list_names, self.weights, strict=True)
            names = ", ".join(f"{_one_line(name)} ({weight:.4g})" for name, weight in pairs)
            return f"Reciprocal rank fusion with k = {self.k:g} of the weighted lists {names}."
        if self.k is not None:
            names = ", ".join(map(_one_line, self.list_names))
            return f"Reciprocal rank fusion with k = {self.k:g} of the lists {names}."
        pairs = zip(self.list_names, self.weights, strict=True)
        terms = " + ".join(f"{weight:.4g} {_one_line(name)}" for name, weight in pairs)
        return f"The weighted sum {terms}, after each list was scaled from 0 to 1 (min-max)."


def _one_line(name: str) -> str:
    return "`" + " ".join(name.replace("`", "'").split()) + "`"


def _refusal(ranker: Ranker) -> NotExportable:
    """The error for a ranker that no engine computes: why, and what to do instead."""
    name, inner = type(ranker).__name__, ranker
    if isinstance(ranker, Hybrid):
        # The last member looks at most.
        inner = ranker.rankers_[-1]
        name += f" of {', '.join(type(member).__name__ for member in ranker.rankers_)}"
    if isinstance(inner, SmoothedFusion | NeighbourColumns):
        return NotExportable(
            name,
            "a document borrows from its neighbours in the list, and no engine looks at these",
            "Use `localrank serve` behind the engine, which has the whole model.",
        )
    if isinstance(inner, Fusion):
        return NotExportable(
            name,
            "it adds up z-scores, in which a document that a list lacks has the lowest score of "
            "the list, and no engine does",
            _MIN_MAX,
        )
    return NotExportable(
        name,
        "engines fuse lists by ranks or by min-max scores, and this model does more",
        _MIN_MAX,
    )


class ListTarget(ABC):
    """An engine that retrieves several lists and fuses them.

    A target declares itself with `@declare(name, summary)`, and needs a line in the package.
    """

    declaration: ClassVar[Declaration]
    # Name of the engine, for messages.
    engine: ClassVar[str]
    # Whether the engine adds up min-max scores with weights.
    takes_min_max: ClassVar[bool] = True
    # Whether the engine multiplies reciprocal ranks by weights.
    takes_weighted_ranks: ClassVar[bool] = True
    # The largest number of lists.
    max_lists: ClassVar[int] = 1000
    # The smallest and largest constant of reciprocal rank fusion, both whole. None: any number.
    constants: ClassVar[tuple[int, int] | None] = None

    def files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        """The files for the engine, and a README.md that says how to use them.

        Raises `NotExportable` if the engine does not fuse lists so.
        """
        n_lists = len(fusion.list_names)
        if not 2 <= n_lists <= self.max_lists:
            number = "2" if self.max_lists == 2 else f"2 to {self.max_lists:,}"
            raise NotExportable(
                f"A fusion of {n_lists} list{'s' if n_lists > 1 else ''}",
                f"{self.engine} fuses {number} lists",
                f"Train with {number} lists, or {_SERVE}",
            )
        if fusion.k is None and not self.takes_min_max:
            raise NotExportable(
                "A weighted sum of min-max scores",
                f"{self.engine} has no min-max scores",
                f"Train reciprocal-rank-fusion, or {_SERVE}",
            )
        if fusion.k is not None and fusion.is_weighted and not self.takes_weighted_ranks:
            raise NotExportable(
                "Reciprocal rank fusion with weights",
                f"{self.engine} does not multiply reciprocal ranks by weights",
                f"Train it with equal weights (--set weights=equal), or {_SERVE}",
            )
        if fusion.k is not None and self.constants is not None:
            least, most = self.constants
            if not (least <= fusion.k <= most and fusion.k == int(fusion.k)):
                rule = f"only {least}" if least == most else f"whole numbers of {least} to {most:,}"
                raise NotExportable(
                    f"Reciprocal rank fusion with k = {fusion.k:g}",
                    f"{self.engine} takes {rule}",
                    f"Train with such a number (--set k=60), or {_SERVE}",
                )
        return self._files(fusion)

    @abstractmethod
    def _files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        """The files for a fusion that the engine computes."""

    @abstractmethod
    def _read(self, files: Files) -> Settings:
        """The numbers of the fusion, from the files alone."""

    @abstractmethod
    def _fused(self, lists: Floats, dataset: RankingDataset, settings: Settings) -> Floats:
        """The scores that the engine computes, one per row.

        Parameters
        ----------
        lists : ndarray of shape (n_documents, n_lists)
            Scores of the lists. NaN: the list lacks the document.
        dataset : RankingDataset
            The queries of the rows.
        settings : Settings
        """

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        """The scores that the engine computes from the files, one per row.

        The numbers are read from the files alone, and computed as in the engine: with its
        precision, ties, and scores of documents that a list lacks.

        Parameters
        ----------
        files : mapping
        dataset : RankingDataset
            Lists, from `lists_dataset`, in the order of training.
        """
        settings = self._read(files)
        lists = list_scores(dataset)
        n_lists = lists.shape[1]
        if n_lists != len(settings.weights):
            raise ValueError(
                f"The export fuses {len(settings.weights)} lists, and the data has {n_lists}. "
                "Export the model again."
            )
        sizes = np.add.reduceat(~np.isnan(lists), dataset.offsets[:-1], axis=0, dtype=np.int64)
        if (largest := int(sizes.max())) > settings.window:
            query, place = np.unravel_index(int(sizes.argmax()), sizes.shape)
            names = list_names(dataset.feature_names)
            name = f" {names[place]}" if names else f" {place + 1}"
            raise ValueError(
                f"List{name} has {largest:,} documents for query {dataset.query_ids[query]}, and "
                f"the export fuses the first {settings.window:,} of each list. Export with "
                f"window={largest} (--window {largest}), or verify with shorter lists."
            )
        return self._fused(lists, dataset, settings)


@dataclass(frozen=True)
class Settings:
    """The numbers of a fusion, as an engine reads them.

    Parameters
    ----------
    weights : tuple of float
        The weight of each list.
    k : float or None
        The constant of reciprocal rank fusion. None: min-max scores.
    window : int
        The documents of each list.
    """

    weights: tuple[float, ...]
    k: float | None
    window: int


def list_scores(dataset: RankingDataset) -> Floats:
    """The scores of each list, of shape (n_documents, n_lists). NaN: the list lacks the document.

    Examples
    --------
    >>> from localrank.fusion import lists_dataset
    >>> lists = {"bm25": {"q": {"a": 9.0, "b": 7.0}}, "dense": {"q": {"b": 0.8, "c": 0.7}}}
    >>> list_scores(lists_dataset(lists))
    array([[9. , nan],
           [7. , 0.8],
           [nan, 0.7]])
    """
    names = list_names(dataset.feature_names)
    features: Floats = dataset.features.astype(np.float64)
    if not names:
        return features
    places = {name: place for place, name in enumerate(dataset.feature_names or ())}
    scores = features[:, [places[f"{name}.score"] for name in names]]
    present = features[:, [places[f"{name}.presence"] for name in names]]
    return np.where(present > 0, scores, np.nan)


def positions(scores: Floats, dataset: RankingDataset) -> Floats:
    """The place of each document in a list, from 1. NaN: the list lacks it.

    Equal scores keep the order of the rows, as engines keep some order of documents.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((4, 1)), qid=["q"] * 4)
    >>> positions(np.array([0.5, np.nan, 0.7, 0.5]), dataset)
    array([ 2., nan,  1.,  3.])
    """
    offsets = dataset.offsets
    order = argsort_descending(np.where(np.isnan(scores), -np.inf, scores), offsets)
    places = np.empty(len(scores))
    places[order] = np.arange(len(scores)) - offsets[dataset.query_index] + 1
    return np.where(np.isnan(scores), np.nan, places)


def extremes(scores: Singles, dataset: RankingDataset) -> tuple[Singles, Singles]:
    """The lowest and the highest score of each document's list, in single precision.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((3, 1)), qid=["q"] * 3)
    >>> extremes(np.array([0.5, np.nan, 0.25], np.float32), dataset)[0]
    array([0.25, 0.25, 0.25], dtype=float32)
    """
    begins, missing = dataset.offsets[:-1], np.isnan(scores)
    low = np.minimum.reduceat(np.where(missing, np.float32(np.inf), scores), begins)
    high = np.maximum.reduceat(np.where(missing, np.float32(-np.inf), scores), begins)
    return low[dataset.query_index], high[dataset.query_index]


def summed(terms: list[Singles]) -> Floats:
    """The sum of what each list adds, in single precision. A missing document adds nothing."""
    total = np.zeros(len(terms[0]), np.float32)
    for term in terms:
        total += np.where(np.isnan(term), np.float32(0), term)
    return total.astype(np.float64)
