"""Measures of ranking quality, one value per query, with the conventions of published tools."""

from localrank.measures.average_precision import AveragePrecision
from localrank.measures.base import Measure, evaluate
from localrank.measures.expected_reciprocal_rank import ExpectedReciprocalRank
from localrank.measures.ndcg import NDCG
from localrank.measures.order_error_rate import OrderErrorRate
from localrank.measures.parsing import parse_measure
from localrank.measures.precision import Precision
from localrank.measures.reciprocal_rank import ReciprocalRank

__all__ = [
    "NDCG",
    "AveragePrecision",
    "ExpectedReciprocalRank",
    "Measure",
    "OrderErrorRate",
    "Precision",
    "ReciprocalRank",
    "evaluate",
    "parse_measure",
]
