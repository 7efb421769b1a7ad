"""What measures are called, and what published tools mean by them."""

from __future__ import annotations

from typing import Any

from localrank.measures.average_precision import AveragePrecision
from localrank.measures.base import Measure
from localrank.measures.expected_reciprocal_rank import ExpectedReciprocalRank
from localrank.measures.ndcg import NDCG
from localrank.measures.order_error_rate import OrderErrorRate
from localrank.measures.precision import Precision
from localrank.measures.reciprocal_rank import ReciprocalRank

MEASURES: dict[type[Measure], tuple[str, ...]] = {
    NDCG: (
        "ndcg",
        "ndcg_cut",
        "ndcg_burges",
        "ndcg_score",
        "normalized_discounted_cumulative_gain",
    ),
    AveragePrecision: ("map", "ap", "map_cut", "average_precision", "mean_average_precision"),
    ReciprocalRank: ("mrr", "rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    Precision: ("p", "precision", "pre", "prec"),
    ExpectedReciprocalRank: ("err", "expected_reciprocal_rank"),
    OrderErrorRate: ("oer", "order_error_rate"),
}

_INPUT = {"ties": "input"}
_BY_ID = {"ties": "document_id"}

# What each tool does where it differs from the defaults. A measure that is not listed does not
# exist in the tool.
CONVENTIONS: dict[str, dict[type[Measure], dict[str, Any]]] = {
    "default": {measure: {} for measure in MEASURES},
    "letor3": {
        NDCG: {"discount": "letor", **_INPUT},
        AveragePrecision: _INPUT,
        Precision: _INPUT,
    },
    "letor4": {
        NDCG: {"discount": "letor", "short": "zero", **_INPUT},
        AveragePrecision: _INPUT,
        Precision: _INPUT,
    },
    "trec_eval": {
        NDCG: {"gain": "linear", **_BY_ID},
        AveragePrecision: _BY_ID,
        ReciprocalRank: _BY_ID,
        Precision: _BY_ID,
    },
    "ranklib": {
        NDCG: {"cutoff": 10, **_INPUT},
        AveragePrecision: _INPUT,
        ReciprocalRank: _INPUT,
        Precision: {"cutoff": 10, "short": "shrink", **_INPUT},
        ExpectedReciprocalRank: {"cutoff": 10, **_INPUT},
    },
    "lightgbm": {
        NDCG: {"empty": 1.0, **_INPUT},
        AveragePrecision: {"denominator": "reachable", "empty": 1.0, **_INPUT},
    },
    "xgboost": {
        NDCG: {"empty": 1.0, **_INPUT},
        AveragePrecision: {"denominator": "reachable", "empty": 1.0, **_INPUT},
        Precision: {"short": "shrink", **_INPUT},
    },
    "sklearn": {
        NDCG: {"gain": "linear"},
        AveragePrecision: {"ties": "threshold"},
    },
}

# RankLib ignores the cutoff of MAP, scikit-learn has none.
UNCUT = {("ranklib", AveragePrecision), ("sklearn", AveragePrecision)}

TOOLS = {
    "letor3": "LETOR 3",
    "letor4": "LETOR 4",
    "ranklib": "RankLib",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "sklearn": "scikit-learn",
}
