"""The measures whose bounds over the grades of unjudged documents are known."""

from __future__ import annotations

import numpy as np

from localrank.data import RankingDataset
from localrank.evaluation._first_relevant_bounds import FirstRelevantBounds
from localrank.evaluation._gain_bounds import GainBounds
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._precision_bounds import PrecisionBounds
from localrank.measures import (
    F1,
    NDCG,
    AveragePrecision,
    Measure,
    Precision,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
    Success,
)
from localrank.measures.base import RelevanceMeasure

# Tie rules by which the grades do not change the order.
_TIES = ("averaged", "input", "document_id")


def hole_bounds(dataset: RankingDataset, measure: Measure) -> HoleBounds | None:
    """Bounds for a measure. None: they are not known for this measure, or its tie rule."""
    kinds: dict[type[Measure], type[HoleBounds]] = {
        NDCG: GainBounds,
        Precision: GainBounds,
        Recall: GainBounds,
        F1: GainBounds,
        RankBiasedPrecision: GainBounds,
        AveragePrecision: PrecisionBounds,
        ReciprocalRank: FirstRelevantBounds,
        Success: FirstRelevantBounds,
    }
    if type(measure) not in kinds or measure.ties not in _TIES or _differs_by_run(measure):
        return None
    grades = np.unique(dataset.labels[dataset.labels > 0])
    relevant = getattr(measure, "relevance_level", None) or 1.0
    # Where nobody has found a relevant document, a hole may still be one.
    if not grades.size or (isinstance(measure, RelevanceMeasure) and grades[-1] < relevant):
        grades = np.append(grades, relevant)
    return kinds[type(measure)](dataset, measure, grades)


def _differs_by_run(measure: Measure) -> bool:
    """Whether what a measure counts depends on the run's length, or on the grades of others."""
    if isinstance(measure, F1):
        # The divisor is that of the retrieved documents: two runs have no common one.
        return measure.cutoff is None or measure.short == "shrink"
    return isinstance(measure, ReciprocalRank) and measure.target == "highest"
