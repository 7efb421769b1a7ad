"""The papers' experiments and our own, published numbers beside ours.

Each is the function `reproduce` of the module of its name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from localrank.names import unknown

if TYPE_CHECKING:
    from localrank.experiments.base import Reproduction
    from localrank.experiments.setting import Setting

EXPERIMENTS = (
    "local-rank",
    "adaptive-training",
    "pca-queries",
    "lgmml",
    "metric-retrieval",
    "multiple-hyperplanes",
    "wins",
)


def reproduce(experiment: str, setting: Setting) -> Reproduction:
    """Repeat an experiment.

    Parameters
    ----------
    experiment : str
        One of `EXPERIMENTS`.
    setting : Setting
        What it runs on, and how.
    """
    if experiment not in EXPERIMENTS:
        raise unknown("There is no experiment", experiment, EXPERIMENTS)
    # Loaded when it is asked for, so that the command line can name them all at no cost.
    module = import_module(f"{__name__}.{experiment.replace('-', '_')}")
    result: Reproduction = module.reproduce(setting)
    return result
