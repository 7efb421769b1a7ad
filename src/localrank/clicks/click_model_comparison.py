"""Which click model predicts a log best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import clone
from localrank._base.printing import Printed, Table
from localrank.clicks.cascade_model import CascadeModel
from localrank.clicks.click_model import ClickModel
from localrank.clicks.dependent_click_model import DependentClickModel
from localrank.clicks.dynamic_bayesian_model import DynamicBayesianModel
from localrank.clicks.position_based_model import PositionBasedModel
from localrank.clicks.trust_bias_model import TrustBiasModel
from localrank.clicks.user_browsing_model import UserBrowsingModel
from localrank.data.click_log import ClickLog

# With fewer queries than this among the sessions held out, differences are over sessions.
LEAST_QUERIES = 20
# Confidence of the intervals.
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class ClickModelComparison(Printed):
    """Click models on the same sessions, which none of them learned from.

    Attributes
    ----------
    models : dict of ClickModel
        By name, fitted to the other sessions.
    log_likelihood : dict of float
        The mean over sessions. Larger is better.
    perplexity : dict of float
        The mean over positions. Smaller is better, and 1 is perfect.
    perplexity_by_position : dict of ndarray of shape (n_positions,)
    intervals : dict of (float, float)
        The log-likelihood of each model minus that of the best: an interval of 95 %, corrected for
        the number of models. That of the best is (0, 0).
    impossible : dict of int
        Impressions with a click, or without, that the model calls impossible. Each counts as if
        it were one in a million.
    best : str
        The model with the largest log-likelihood.
    unit : {"queries", "sessions"}
        What the intervals generalise to.
    n_units : int
        How many of them were held out.
    n_fitted, n_held_out : int
        Sessions.
    unseen : float
        The share of the impressions held out whose document was not in the other sessions.
    """

    models: dict[str, ClickModel]
    log_likelihood: dict[str, float]
    perplexity: dict[str, float]
    perplexity_by_position: dict[str, Floats]
    intervals: dict[str, tuple[float, float]]
    impossible: dict[str, int]
    best: str
    unit: str
    n_units: int
    n_fitted: int
    n_held_out: int
    unseen: float

    @property
    def undecided(self) -> list[str]:
        """The models that are not established to be worse than the best one."""
        return [
            name for name, (_, high) in self.intervals.items() if high >= 0 and name != self.best
        ]

    @property
    def sentence(self) -> str:
        """The result in words."""
        told = (
            f"{self.best} predicts the clicks best: a log-likelihood of "
            f"{self.log_likelihood[self.best]:.4f} a session, a perplexity of "
            f"{self.perplexity[self.best]:.4f}."
        )
        if self.undecided:
            told += f" These cannot be told from it: {', '.join(self.undecided)}."
        elif len(self.models) > 1:
            told += " All others are significantly worse."
        return told

    def _shown(self) -> Sequence[str | Table]:
        order = sorted(self.models, key=lambda name: -self.log_likelihood[name])
        n_positions = len(self.perplexity_by_position[self.best])
        scores = [
            [
                name,
                f"{self.log_likelihood[name]:.4f}",
                "" if name == self.best else "{:+.4f} to {:+.4f}".format(*self.intervals[name]),
                f"{self.perplexity[name]:.4f}",
                f"{self.impossible[name]:,}",
            ]
            for name in order
        ]
        places = [
            [name, *(f"{value:.3f}" for value in self.perplexity_by_position[name])]
            for name in order
        ]
        return [
            f"Click models, fitted to {self.n_fitted:,} sessions and tested on {self.n_held_out:,} "
            f"others. {self.unseen:.1%} of what the others show was not seen in fitting.",
            Table(
                "",
                ["model", "log-likelihood", "minus the best", "perplexity", "impossible"],
                scores,
                ["model"],
            ),
            f"Log-likelihood: mean of a session. Minus the best: interval of 95 % over "
            f"{self.n_units:,} {self.unit}, corrected for the number of models. Impossible: clicks "
            "that the model excludes; each counts as if it were one in a million.",
            Table(
                "Perplexity by position",
                ["model", *(str(place + 1) for place in range(n_positions))],
                places,
                ["model"],
            ),
            self.sentence,
        ]


def compare_click_models(
    log: ClickLog,
    models: Mapping[str, ClickModel] | Sequence[ClickModel] | None = None,
    *,
    held_out: float = 0.2,
    random_state: int | None = 0,
) -> ClickModelComparison:
    """Fit click models to some sessions of a log, and see how well they predict the others.

    Parameters
    ----------
    log : ClickLog
    models : ClickModels, by name or not, optional
        By default one of each class, and the simplified dynamic Bayesian network. They are not
        changed.
    held_out : float, default=0.2
        The share of sessions, drawn at random, that models do not learn from.
    random_state : int or None, default=0

    Returns
    -------
    ClickModelComparison
        Prints as tables, and a sentence.

    Notes
    -----
    Intervals are of the mean difference per session. Sessions of one query are not independent
    evidence, so the intervals are over queries (the standard error is that of clusters, with a t
    distribution). With fewer than 20 queries held out, they are over sessions, and say nothing
    about other queries.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(30, random_state=0)
    >>> log = simulate_clicks(
    ...     dataset, dataset.labels, PositionBehaviour(), n_sessions=20_000, shuffle=1.0
    ... )
    >>> compare_click_models(log).best
    'PositionBasedModel'
    """
    named = _named(_DEFAULTS if models is None else models)
    if not 0 < held_out < 1:
        raise ValueError(
            f"The 'held_out' parameter of compare_click_models must lie between 0 and 1. "
            f"Got {held_out!r} instead."
        )
    n_held_out = round(held_out * log.n_sessions)
    if not 2 <= n_held_out < log.n_sessions:
        raise ValueError(
            f"compare_click_models needs two sessions to hold out, and others to learn from. A "
            f"share of {held_out:g} of {log.n_sessions:,} sessions is {n_held_out}."
        )
    chosen = np.zeros(log.n_sessions, np.bool_)
    order = np.random.default_rng(random_state).permutation(log.n_sessions)
    chosen[order[:n_held_out]] = True
    known, others = log.select(~chosen), log.select(chosen)

    fitted = {name: clone(model).fit(known) for name, model in named.items()}
    of_sessions = {name: model.log_likelihood(others) for name, model in fitted.items()}
    means = {name: float(values.mean()) for name, values in of_sessions.items()}
    best = max(means, key=lambda name: means[name])
    units, unit = others.session_queries, "queries"
    if len(np.unique(units)) < LEAST_QUERIES:
        units, unit = np.arange(others.n_sessions), "sessions"
    n_others = max(len(fitted) - 1, 1)
    intervals = {
        name: _interval(values - of_sessions[best], units, (1 - CONFIDENCE) / n_others)
        for name, values in of_sessions.items()
    }
    shown = np.bincount(known.pairs, minlength=log.n_pairs) > 0
    return ClickModelComparison(
        fitted,
        means,
        {name: float(model.perplexity(others)) for name, model in fitted.items()},
        {name: model.perplexity_by_position(others) for name, model in fitted.items()},
        intervals,
        {name: _n_impossible(model, others) for name, model in fitted.items()},
        best,
        unit,
        len(np.unique(units)),
        known.n_sessions,
        others.n_sessions,
        float(1 - shown[others.pairs].mean()),
    )


_DEFAULTS: dict[str, ClickModel] = {
    "PositionBasedModel": PositionBasedModel(),
    "TrustBiasModel": TrustBiasModel(),
    "CascadeModel": CascadeModel(),
    "DependentClickModel": DependentClickModel(),
    "DynamicBayesianModel": DynamicBayesianModel(),
    "DynamicBayesianModel(1)": DynamicBayesianModel(1),
    "UserBrowsingModel": UserBrowsingModel(),
}


def _named(models: Any) -> dict[str, ClickModel]:
    """Models by name: those given, or what they print as."""
    named: dict[str, ClickModel] = (
        dict(models)
        if isinstance(models, Mapping)
        else {repr(model).removesuffix("()"): model for model in models}
    )
    if not named or len(named) < len(models):
        raise ValueError(f"compare_click_models needs different models. Got {models!r} instead.")
    for model in named.values():
        if not isinstance(model, ClickModel):
            raise TypeError(f"compare_click_models compares click models. Got {model!r} instead.")
    return named


def _interval(differences: Floats, units: Integers, error: float) -> tuple[float, float]:
    """Of the mean difference, over units whose sessions belong together."""
    from scipy.stats import t

    _, numbers = np.unique(units, return_inverse=True)
    n = int(numbers.max()) + 1
    mean = float(differences.mean())
    residuals = np.bincount(numbers, differences - mean)
    deviation = float(np.sqrt(n / (n - 1) * (residuals**2).sum())) / len(differences)
    margin = float(t.ppf(1 - error / 2, n - 1)) * deviation
    return mean - margin, mean + margin


def _n_impossible(model: ClickModel, log: ClickLog) -> int:
    probabilities = model.click_probabilities(log, conditional=True)
    done = np.where(log.clicks, probabilities, 1 - probabilities)
    return int((done <= 0).sum())
