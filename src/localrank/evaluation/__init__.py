"""Evaluation: tuning, paired tests, best-feature calibration, bounds and their controls."""

from localrank.evaluation.calibration import Calibration, best_feature_calibration
from localrank.evaluation.clairvoyance import (
    ClairvoyantBound,
    clairvoyant_bound,
    clairvoyant_bounds,
)
from localrank.evaluation.comparison import Comparison, compare
from localrank.evaluation.engine import MethodResult, run
from localrank.evaluation.hyperplanes import (
    HyperplaneCosines,
    OrderErrorRates,
    hyperplane_cosines,
    order_error_rates,
)
from localrank.evaluation.permutation import PermutationImportance, permutation_importance
from localrank.evaluation.significance import PairedTest, correct, paired_test, paired_tests
from localrank.evaluation.store import Run
from localrank.evaluation.tuning import Trial, Tuning, tune

__all__ = [
    "Calibration",
    "ClairvoyantBound",
    "Comparison",
    "HyperplaneCosines",
    "MethodResult",
    "OrderErrorRates",
    "PairedTest",
    "PermutationImportance",
    "Run",
    "Trial",
    "Tuning",
    "best_feature_calibration",
    "clairvoyant_bound",
    "clairvoyant_bounds",
    "compare",
    "correct",
    "hyperplane_cosines",
    "order_error_rates",
    "paired_test",
    "paired_tests",
    "permutation_importance",
    "run",
    "tune",
]
