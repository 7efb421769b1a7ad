"""Evaluation: tuning by cross-validation, bounds and their controls."""

from localrank.evaluation.clairvoyance import ClairvoyantBound, clairvoyant_bound
from localrank.evaluation.tuning import Tuning, tune

__all__ = ["ClairvoyantBound", "Tuning", "clairvoyant_bound", "tune"]
