"""What all measures share: their value, name, tie rules, cutoff and evaluation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Floats
from localrank._base.rules import Rule, Rules, check_rules, one_of, refuse, rules
from localrank.data import RankingDataset
from localrank.measures._ties import TIE_RULES, RankedLists, checked_scores, rank

Empty = float | Literal["skip"]

# In CatBoost, a document is relevant if its label, as float32, is above 0.5.
ABOVE_HALF = 0.50000003


@dataclass(frozen=True, repr=False)
class Measure(ABC):
    """A measure of ranking quality, such as NDCG@10.

    Call it with a dataset and scores to get one number per query; NaN if a query is skipped. Two
    measures with the same parameters are equal. `str` gives a name that `parse_measure` reads
    back.

    A label below 0 means that nobody judged the document. Measures count it as not relevant. Only
    `Bpref`, `Judged` and the residual of `RankBiasedPrecision` tell it from a judged one.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> from localrank.measures import NDCG, parse_measure
    >>> dataset = RankingDataset.from_arrays([[1], [2], [3]], y=[0, 1, 1], qid=["a", "a", "b"])
    >>> NDCG(10)(dataset, [0.9, 0.3, 0.5]).round(3)
    array([0.631, 1.   ])
    >>> NDCG(10, gain="linear"), parse_measure("nDCG@10") == NDCG(10)
    (ndcg(gain=linear)@10, True)
    """

    name: ClassVar[str]
    # Other spellings of the name.
    aliases: ClassVar[tuple[str, ...]] = ()
    # Parameters by which each tool of `parsing.TOOLS` differs from the defaults here.
    conventions: ClassVar[dict[str, dict[str, Any]]] = {}
    # The tools that know the measure only without a cutoff.
    uncut: ClassVar[tuple[str, ...]] = ()
    higher_is_better: ClassVar[bool] = True
    short_names: ClassVar[dict[str, str]] = {"relevance_level": "rel"}
    tie_rules: ClassVar[dict[str, str]] = TIE_RULES
    _parameters: ClassVar[Rules] = {
        "empty": Rule(
            lambda value, _: not isinstance(value, bool) and value in (0.0, 1.0, "skip"),
            "0.0, 1.0 or 'skip'",
        )
    }

    ties: str = field(default="averaged", kw_only=True)
    empty: Empty = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        check_rules(self, {"ties": one_of(*self.tie_rules), **rules(type(self))})
        if isinstance(self.empty, int):
            object.__setattr__(self, "empty", float(self.empty))

    def __call__(self, dataset: RankingDataset, scores: ArrayLike) -> Floats:
        """One value per query, for scores in the order of the input."""
        return evaluate(dataset, scores, [self])[self]

    def of_rows(self, dataset: RankingDataset, scores: Floats) -> Floats:
        """One value per query, for checked scores in the order of the rows."""
        return evaluate_rows(dataset, scores, [self])[self]

    def mean(self, dataset: RankingDataset, scores: ArrayLike) -> float:
        """The mean over the queries that are not skipped; NaN if all are skipped."""
        return mean_of_queries(self(dataset, scores))

    @abstractmethod
    def of_ranked(self, lists: RankedLists) -> Floats:
        """One value per query; NaN if it has no relevant document."""

    @abstractmethod
    def definition(self) -> str:
        """The definition in words and symbols."""

    def explain(self) -> str:
        """The definition in words, with every choice in which tools differ.

        Examples
        --------
        >>> from localrank.measures import ReciprocalRank
        >>> print(ReciprocalRank(10).explain())
        mrr@10: 1 / rank of the first relevant document among the first 10, 0 without one.
        Relevant: label > 0.
        Documents with equal scores count with the mean over all their orders.
        A query without a relevant document counts 0.
        """
        if self.empty == "skip":
            consequence = "is left out of the mean"
        else:
            consequence = f"counts {self.empty:g}"
        return "\n".join(
            [
                f"{self}: {self.definition()}",
                self.tie_rules[self.ties],
                f"A query without {self._needed()} {consequence}.",
            ]
        )

    def __str__(self) -> str:
        given = []
        cutoff = ""
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if parameter.name == "cutoff":
                cutoff = "" if value is None else f"@{value}"
            elif value != parameter.default:
                key = self.short_names.get(parameter.name, parameter.name)
                given.append(f"{key}={plain(value)}")
        return self.name + (f"({','.join(sorted(given))})" if given else "") + cutoff

    __repr__ = __str__

    def _needed(self) -> str:
        return "a relevant document"


@dataclass(frozen=True, repr=False)
class CutMeasure(Measure):
    """A measure of the top `cutoff` documents of each list. None: all documents."""

    cutoff: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None:
            return
        if not is_number(self.cutoff) or self.cutoff < 1 or self.cutoff != int(self.cutoff):
            refuse(self, "cutoff", "a positive integer or None")
        object.__setattr__(self, "cutoff", int(self.cutoff))

    @property
    def depth(self) -> int:
        """The cutoff as a number; larger than any list if there is no cutoff."""
        return self.cutoff or np.iinfo(np.int64).max

    def _among(self) -> str:
        return f" among the first {self.cutoff}" if self.cutoff else ""


@dataclass(frozen=True, repr=False)
class RelevanceMeasure(Measure):
    """A measure that tells only relevant documents from others, by their labels.

    One that has a cutoff as well is a `CutMeasure` first: `class Precision(CutMeasure,
    RelevanceMeasure)`.
    """

    relevance_level: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        level = self.relevance_level
        if level is None:
            return
        if not is_number(level) or level <= 0:
            refuse(self, "relevance_level", "a number above 0 or None")
        object.__setattr__(self, "relevance_level", float(level))

    @property
    def threshold(self) -> float:
        """The smallest relevant label."""
        if self.relevance_level is None:
            return float(np.finfo(np.float64).tiny)
        return self.relevance_level

    def _relevant(self) -> str:
        if self.relevance_level is None:
            return "Relevant: label > 0."
        return f"Relevant: label >= {plain(self.relevance_level)}."


def evaluate(
    dataset: RankingDataset, scores: ArrayLike, measures: Iterable[Measure]
) -> dict[Measure, Floats]:
    """The values of several measures per query, faster than one by one.

    Documents are sorted only once per tie rule.

    Parameters
    ----------
    dataset : RankingDataset
        Queries with relevance labels.
    scores : array-like of shape (n_documents,)
        Scores in the order of the input; larger is better. A document with score -inf was not
        retrieved: it gains nothing, and still counts among the relevant documents.
    measures : iterable of Measure
        The measures to compute.

    Returns
    -------
    dict from measure to ndarray of shape (n_queries,)
        One value per query, in the order of `dataset.query_ids`; NaN if the measure skips it.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> from localrank.measures import NDCG, AveragePrecision
    >>> dataset = RankingDataset.from_arrays([[1], [2]], y=[0, 1], qid=["a", "a"])
    >>> evaluate(dataset, [0.2, 0.1], [NDCG(1), AveragePrecision()])
    {ndcg@1: array([0.]), map: array([0.5])}
    """
    return evaluate_rows(dataset, checked_scores(dataset, scores), measures)


def evaluate_rows(
    dataset: RankingDataset, scores: Floats, measures: Iterable[Measure]
) -> dict[Measure, Floats]:
    """The same as `evaluate`, for checked scores in the order of the rows."""
    ranked: dict[str, RankedLists] = {}
    result = {}
    for measure in measures:
        if measure.ties not in ranked:
            ranked[measure.ties] = rank(dataset, scores, measure.ties)
        result[measure] = measure.of_ranked(ranked[measure.ties])
        if measure.empty != "skip":
            result[measure][np.isnan(result[measure])] = measure.empty
    return result


def mean_of_queries(values: Floats) -> float:
    """Mean of the values that are not NaN."""
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else float("nan")


def refuse_larger(measure: Measure, largest: float, most: float) -> None:
    """Refuse labels above the 'max_relevance' of a measure."""
    if largest > most:
        raise ValueError(
            f"Labels must be at most the 'max_relevance' of {measure}, {most:g}. "
            f"The largest is {largest:g}: use max_relevance={largest:g}."
        )


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a parameter is a finite real number."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(number and np.isfinite(value))


def plain(value: Any) -> str:
    """A parameter's value as names have it."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)
