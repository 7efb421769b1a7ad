"""The experiments by their names on the command line."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from localrank._base.names import unknown

if TYPE_CHECKING:
    from localrank.experiments.reproduction import Reproduction
    from localrank.experiments.setting import Setting

# The experiments, functions `reproduce` of modules, and the folders that they have pages about.
EXPERIMENTS = {
    "local-rank": ("MQ2008", "OHSUMED", "ClueWeb09"),
    "adaptive-training": ("MQ2008", "OHSUMED", "MQ2007-85"),
    "pca-queries": ("MQ2008", "OHSUMED", "ClueWeb09", "MSLR-sample", "text"),
    "lgmml": ("MQ2008", "OHSUMED", "ClueWeb09", "MSLR-sample"),
    "metric-retrieval": ("digits", "text/cran"),
    "multiple-hyperplanes": ("MQ2008", "OHSUMED", "MQ2007-85", "ClueWeb09", "MSLR-sample"),
    "wins": (".",),  # all collections together
    "scoreboard": (".",),
    "where-coordinates-pay": (".",),
    "all-methods": (".",),
    "engine-variants": (".",),
    "text-collections": ("text",),
    "known-categories": ("text", "hybrid"),
    "hybrid": (".",),
    "clicks": (".",),
    "how-much-is-seen": (".",),
}
# Experiments that use the features themselves. Rankers fill missing values, and these do not.
NEED_EVERY_VALUE = ("multiple-hyperplanes",)


def page_name(experiment: str, data: str) -> str:
    """The name of a page: experiment and data. A single page is called like its experiment.

    Examples
    --------
    >>> page_name("lgmml", "MSLR-sample"), page_name("metric-retrieval", "text/cran")
    ('lgmml-mslr-sample', 'metric-retrieval-cran')
    >>> page_name("wins", "MQ2008, OHSUMED")
    'wins'
    """
    if len(EXPERIMENTS.get(experiment, ())) == 1:
        return experiment
    return f"{experiment}-{data.rpartition('/')[2]}".lower()


def own_seeds(experiment: str, quick: bool = False) -> tuple[int, ...]:
    """The seeds of an experiment if none are given: its `SEEDS`. Two at most if `quick`."""
    seeds: tuple[int, ...] = _module(experiment).SEEDS
    return seeds[:2] if quick else seeds


def reproduce(experiment: str, setting: Setting) -> Reproduction:
    """Repeat an experiment.

    Parameters
    ----------
    experiment : str
        One of `EXPERIMENTS`.
    setting : Setting
        The data and the options of the run. Without seeds, the experiment's own.
    """
    module = _module(experiment)
    seeds = setting.seeds or own_seeds(experiment, setting.quick)
    if experiment in NEED_EVERY_VALUE:
        setting.refuse_missing_values()
    result: Reproduction = module.reproduce(replace(setting, seeds=seeds))
    return result


def _module(experiment: str) -> ModuleType:
    if experiment not in EXPERIMENTS:
        raise unknown("There is no experiment", experiment, EXPERIMENTS)
    # Loaded on demand, so that the command line can list all experiments quickly.
    return import_module(f"{__package__}.{experiment.replace('-', '_')}")
