"""The experiments by their names on the command line."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from localrank._base.names import unknown

if TYPE_CHECKING:
    from localrank.experiments.reproduction import Reproduction
    from localrank.experiments.setting import Setting

# The experiments. Each is the function `reproduce` of the module with its name.
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
        The data and the options of the run.
    """
    if experiment not in EXPERIMENTS:
        raise unknown("There is no experiment", experiment, EXPERIMENTS)
    # Loaded on demand, so that the command line can list all experiments quickly.
    module = import_module(f"{__package__}.{experiment.replace('-', '_')}")
    result: Reproduction = module.reproduce(setting)
    return result
