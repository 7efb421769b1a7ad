"""Evaluation: tuning, paired tests, best-feature calibration, bounds and their controls."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.evaluation.calibration import Calibration as Calibration
    from localrank.evaluation.calibration import (
        best_feature_calibration as best_feature_calibration,
    )
    from localrank.evaluation.clairvoyance import ClairvoyantBound as ClairvoyantBound
    from localrank.evaluation.clairvoyance import clairvoyant_bound as clairvoyant_bound
    from localrank.evaluation.clairvoyance import clairvoyant_bounds as clairvoyant_bounds
    from localrank.evaluation.comparison import Comparison as Comparison
    from localrank.evaluation.comparison import compare as compare
    from localrank.evaluation.early_stopping import TrainingCurves as TrainingCurves
    from localrank.evaluation.early_stopping import training_curves as training_curves
    from localrank.evaluation.fold_results import FoldResult as FoldResult
    from localrank.evaluation.hyperplanes import HyperplaneCosines as HyperplaneCosines
    from localrank.evaluation.hyperplanes import OrderErrorRates as OrderErrorRates
    from localrank.evaluation.hyperplanes import hyperplane_cosines as hyperplane_cosines
    from localrank.evaluation.hyperplanes import order_error_rates as order_error_rates
    from localrank.evaluation.permutation import PermutationImportance as PermutationImportance
    from localrank.evaluation.permutation import permutation_importance as permutation_importance
    from localrank.evaluation.query_groups import Agreement as Agreement
    from localrank.evaluation.query_groups import agreement as agreement
    from localrank.evaluation.runner import MethodResult as MethodResult
    from localrank.evaluation.runner import run as run
    from localrank.evaluation.significance import PairedTest as PairedTest
    from localrank.evaluation.significance import correct as correct
    from localrank.evaluation.significance import paired_test as paired_test
    from localrank.evaluation.significance import paired_tests as paired_tests
    from localrank.evaluation.tuning import Trial as Trial
    from localrank.evaluation.tuning import Tuning as Tuning
    from localrank.evaluation.tuning import tune as tune
else:
    __getattr__, __dir__ = on_use(__name__)
