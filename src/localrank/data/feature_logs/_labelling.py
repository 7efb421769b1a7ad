"""Documents of a log with the grades that judgments or clicks give them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank.data._checks import checked_relevance
from localrank.data._offsets import offsets_of
from localrank.data.dataset import RankingDataset
from localrank.data.feature_logs._judgments import Judgments

# Names of columns by which clicks could be corrected for what people did not see.
_POSITIONS = ("position", "rank", "pos")


@dataclass(frozen=True)
class LogReport:
    """What was left out of a log and of its judgments.

    Attributes
    ----------
    unused_features : list of str
        Features of the log that are not in the dataset. Ignored features are not listed.
    n_unjudged : int
        Number of documents without a grade, in queries that have some grades.
    n_queries_left_out : int
        Number of queries without any grade.
    n_not_logged : int
        Number of grades of documents that are not in the log.
    unused_click_columns : tuple of str
        Columns of the file of clicks that are not used.
    """

    unused_features: list[str]
    n_unjudged: int = 0
    n_queries_left_out: int = 0
    n_not_logged: int = 0
    unused_click_columns: tuple[str, ...] = ()

    def lines(self, drop: bool) -> list[str]:
        """What was left out, for people. `drop`: so were documents without a grade."""
        unused = ", ".join(self.unused_features[:5]) + ", ..." * (len(self.unused_features) > 5)
        clicks = ", ".join(self.unused_click_columns[:5])
        clicks += ", ..." * (len(self.unused_click_columns) > 5)
        if set(self.unused_click_columns) & set(_POSITIONS):
            clicks += ". Clicks are counted as they are, not corrected for positions"
        fate = "they are left out" if drop else "they get label 0"
        told = {
            f"Features of the log that are not used: {unused}": self.unused_features,
            f"{self.n_unjudged:,} documents have no grade: {fate}": self.n_unjudged,
            f"{self.n_queries_left_out:,} queries have no grade at all: they are left out": (
                self.n_queries_left_out
            ),
            f"{self.n_not_logged:,} grades are not used: their documents are not in the log": (
                self.n_not_logged
            ),
            f"Columns of the clicks that are not used: {clicks}": self.unused_click_columns,
        }
        return [line for line, happened in told.items() if happened]


def labelled(
    dataset: RankingDataset,
    rows: dict[str, dict[str, int]],
    judgments: Judgments,
    drop: bool,
    unused: list[str],
) -> tuple[RankingDataset, LogReport]:
    """The dataset with the grades of its documents. Queries without grades are left out."""
    labels = np.concatenate(
        [_grades(documents, judgments.grades.get(query, {})) for query, documents in rows.items()]
    )
    judged: Flags = ~np.isnan(labels)
    if not judged.any():
        query = next(iter(rows))
        judged_pair = next(((q, d) for q, ds in judgments.grades.items() for d in ds), ("", ""))
        raise ValueError(
            f"{judgments.source}: none of its {judgments.n_documents:,} documents is in the log. "
            f"It has document {judged_pair[1]!r} of query {judged_pair[0]!r}, the log has document "
            f"{next(iter(rows[query]))!r} of query {query!r}."
        )
    counts = dataset.count(judged)
    kept = counts > 0
    report = LogReport(
        unused,
        int((dataset.query_sizes - counts)[kept].sum()),
        int(np.sum(~kept)),
        judgments.n_documents - int(judged.sum()),
        judgments.unused,
    )
    try:
        relevance = checked_relevance(np.where(judged, labels, 0.0), dataset.n_documents)
    except ValueError as error:
        raise ValueError(f"{judgments.source}: {error}") from None
    whole = dataset.replaced(relevance=relevance)
    if kept.all() and (not drop or judged.all()):
        return whole, report
    in_kept: Array = kept[dataset.query_index]
    wanted: Integers = np.flatnonzero(judged if drop else in_kept)
    sizes = (counts if drop else dataset.query_sizes)[kept]
    return whole.with_rows(wanted, offsets_of(sizes), np.flatnonzero(kept)), report


def _grades(documents: dict[str, int], grades: dict[str, float]) -> Floats:
    return np.array([grades.get(document, math.nan) for document in documents])
