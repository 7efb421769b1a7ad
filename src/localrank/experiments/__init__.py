"""The papers' experiments, their published numbers beside ours."""

from localrank.experiments.base import Claim, Figure, Reproduction, Table
from localrank.experiments.published import published
from localrank.experiments.registry import EXPERIMENTS, reproduce

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Figure",
    "Reproduction",
    "Table",
    "published",
    "reproduce",
]
