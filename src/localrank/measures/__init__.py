"""Measures of ranking quality, one value per query, with the conventions of published tools."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.measures.average_precision import AveragePrecision as AveragePrecision
    from localrank.measures.base import Measure as Measure
    from localrank.measures.base import evaluate as evaluate
    from localrank.measures.bpref import Bpref as Bpref
    from localrank.measures.conventions import by_convention as by_convention
    from localrank.measures.conventions import differences as differences
    from localrank.measures.diversity import alpha_ndcg as alpha_ndcg
    from localrank.measures.diversity import judged_subtopics as judged_subtopics
    from localrank.measures.expected_reciprocal_rank import (
        ExpectedReciprocalRank as ExpectedReciprocalRank,
    )
    from localrank.measures.f1 import F1 as F1
    from localrank.measures.inst import INST as INST
    from localrank.measures.judged import Judged as Judged
    from localrank.measures.ndcg import NDCG as NDCG
    from localrank.measures.order_error_rate import OrderErrorRate as OrderErrorRate
    from localrank.measures.parsing import parse_measure as parse_measure
    from localrank.measures.pfound import PFound as PFound
    from localrank.measures.precision import Precision as Precision
    from localrank.measures.r_precision import RPrecision as RPrecision
    from localrank.measures.rank_biased_precision import (
        RankBiasedPrecision as RankBiasedPrecision,
    )
    from localrank.measures.recall import Recall as Recall
    from localrank.measures.reciprocal_rank import ReciprocalRank as ReciprocalRank
    from localrank.measures.success import Success as Success
else:
    __getattr__, __dir__ = on_use(__name__)
