"""Evaluation: tuning, paired tests, power, judgments, best-feature calibration, and bounds."""

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
    from localrank.evaluation.documents_to_judge import ToJudge as ToJudge
    from localrank.evaluation.early_stopping import TrainingCurves as TrainingCurves
    from localrank.evaluation.early_stopping import training_curves as training_curves
    from localrank.evaluation.examination import ExaminationReport as ExaminationReport
    from localrank.evaluation.examination import examination_report as examination_report
    from localrank.evaluation.fold_results import FoldResult as FoldResult
    from localrank.evaluation.hyperplanes import HyperplaneCosines as HyperplaneCosines
    from localrank.evaluation.hyperplanes import OrderErrorRates as OrderErrorRates
    from localrank.evaluation.hyperplanes import hyperplane_cosines as hyperplane_cosines
    from localrank.evaluation.hyperplanes import order_error_rates as order_error_rates
    from localrank.evaluation.judges import Estimate as Estimate
    from localrank.evaluation.judges import JudgeAgreement as JudgeAgreement
    from localrank.evaluation.judges import JudgePair as JudgePair
    from localrank.evaluation.judges import judge_agreement as judge_agreement
    from localrank.evaluation.list_weights import PerQueryWeights as PerQueryWeights
    from localrank.evaluation.list_weights import per_query_weights as per_query_weights
    from localrank.evaluation.permutation import PermutationImportance as PermutationImportance
    from localrank.evaluation.permutation import permutation_importance as permutation_importance
    from localrank.evaluation.query_categories import CategoryTests as CategoryTests
    from localrank.evaluation.query_categories import category_tests as category_tests
    from localrank.evaluation.query_groups import Agreement as Agreement
    from localrank.evaluation.query_groups import agreement as agreement
    from localrank.evaluation.run_comparison import RunComparison as RunComparison
    from localrank.evaluation.run_comparison import compare_runs as compare_runs
    from localrank.evaluation.runner import MethodResult as MethodResult
    from localrank.evaluation.runner import run as run
    from localrank.evaluation.significance import PairedTest as PairedTest
    from localrank.evaluation.significance import correct as correct
    from localrank.evaluation.significance import paired_test as paired_test
    from localrank.evaluation.significance import paired_tests as paired_tests
    from localrank.evaluation.statistical_power import GainPower as GainPower
    from localrank.evaluation.statistical_power import Power as Power
    from localrank.evaluation.statistical_power import power as power
    from localrank.evaluation.tuning import Trial as Trial
    from localrank.evaluation.tuning import Tuning as Tuning
    from localrank.evaluation.tuning import tune as tune
    from localrank.evaluation.unjudged_documents import Holes as Holes
    from localrank.evaluation.unjudged_documents import HoleTests as HoleTests
    from localrank.evaluation.unjudged_documents import RunHoles as RunHoles
    from localrank.evaluation.unjudged_documents import holes as holes
else:
    __getattr__, __dir__ = on_use(__name__)
