"""Measures of ranking quality, one value per query, with the conventions of published tools."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.measures.average_precision import AveragePrecision as AveragePrecision
    from localrank.measures.base import Measure as Measure
    from localrank.measures.base import evaluate as evaluate
    from localrank.measures.expected_reciprocal_rank import (
        ExpectedReciprocalRank as ExpectedReciprocalRank,
    )
    from localrank.measures.ndcg import NDCG as NDCG
    from localrank.measures.order_error_rate import OrderErrorRate as OrderErrorRate
    from localrank.measures.parsing import parse_measure as parse_measure
    from localrank.measures.precision import Precision as Precision
    from localrank.measures.reciprocal_rank import ReciprocalRank as ReciprocalRank
else:
    __getattr__, __dir__ = on_use(__name__)
