"""The base of click models in which people read from the top, and stop."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.sorting import read_only
from localrank.clicks._chain_em import chain_examination, chain_expectations
from localrank.clicks._maximisation import maximise
from localrank.clicks._shares import prior_logarithm, shrunk
from localrank.clicks.click_model import ClickModel
from localrank.data.click_log import ClickLog


class ChainModel(ClickModel):
    """People examine a document, click it if it attracts them, and go on or stop."""

    smoothing: float

    @abstractmethod
    def _chain(self, log: ClickLog, pairs: Integers) -> tuple[Integers, Floats, float]:
        """The stop of each impression, the satisfaction by stop, and the continuation."""

    def _examination(self, log: ClickLog, pairs: Integers) -> Floats:
        return self._examined(log, pairs, conditional=True)

    def _click_probabilities(self, log: ClickLog, pairs: Integers, *, conditional: bool) -> Floats:
        relevance = self._with_prior(self.relevance_)[pairs]
        return relevance * self._examined(log, pairs, conditional=conditional)

    def _examined(self, log: ClickLog, pairs: Integers, *, conditional: bool) -> Floats:
        stops, satisfaction, continuation = self._chain(log, pairs)
        examination: Floats = chain_examination(
            read_only(log.offsets, np.int64),
            read_only(pairs, np.int64),
            read_only(stops, np.int64),
            read_only(log.clicks, np.bool_),
            read_only(self._with_prior(self.relevance_), np.float64),
            read_only(satisfaction, np.float64),
            continuation,
            conditional,
        )
        return examination


def chain_estimates(
    log: ClickLog,
    stops: Integers,
    n_stops: int,
    continuation: float | None,
    *,
    prior: float,
    smoothing: float,
    max_iter: int,
    tol: float,
) -> tuple[Floats, Floats, float, float, Floats]:
    """Attraction by pair, satisfaction by stop and its mean, continuation, and the objectives.

    A click at the end of a list says nothing about satisfaction: there is nothing to go on to.
    """
    n_pairs = log.n_pairs
    clicked = np.bincount(log.pairs[log.clicks], minlength=n_pairs)
    ends = np.zeros(log.n_impressions, np.bool_)
    ends[log.offsets[1:] - 1] = True
    tried = np.bincount(stops[log.clicks & ~ends], minlength=n_stops)
    last = last_clicks(log)
    mean = float(shrunk((last & ~ends).sum(), tried.sum(), 0.5, 1.0))
    examined, satisfied, continued = np.empty(n_pairs), np.empty(n_stops), np.empty(2)
    learned = continuation is None

    def step(values: Floats) -> tuple[float, Floats]:
        attraction, satisfaction, rest = np.split(values, [n_pairs, n_pairs + n_stops])
        objective = chain_expectations(
            read_only(log.offsets, np.int64),
            read_only(log.pairs, np.int64),
            read_only(stops, np.int64),
            read_only(log.clicks, np.bool_),
            read_only(attraction, np.float64),
            read_only(satisfaction, np.float64),
            float(rest[0]) if continuation is None else continuation,
            examined,
            satisfied,
            continued,
        )
        objective += prior_logarithm(attraction, prior, smoothing)
        objective += prior_logarithm(satisfaction, mean, smoothing)
        better = [
            shrunk(clicked, examined, prior, smoothing),
            shrunk(satisfied, tried, mean, smoothing),
        ]
        if learned:
            better.append(shrunk(continued[1:], continued[:1], 0.5, 0.0))
        return objective, np.concatenate(better)

    start = [np.full(n_pairs, prior), np.full(n_stops, mean), np.full(int(learned), 0.8)]
    values, objectives = maximise(
        step, np.concatenate(start), max_iter=max_iter, tol=tol * log.n_impressions
    )
    attraction, satisfaction, rest = np.split(values, [n_pairs, n_pairs + n_stops])
    goes_on = float(rest[0]) if continuation is None else continuation
    return attraction, satisfaction, mean, goes_on, objectives


def last_clicks(log: ClickLog) -> Flags:
    """Whether each impression has the last click of its session."""
    last: Flags = log.clicks & (clicks_below(log) == 0)
    return last


def clicks_below(log: ClickLog) -> Integers:
    """The number of clicks below each impression, in its session."""
    so_far = np.cumsum(log.clicks)
    return np.repeat(so_far[log.offsets[1:] - 1], log.session_sizes) - so_far
