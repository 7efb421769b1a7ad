"""Click models: how people read a list, and what they find relevant, learned from a log."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted
from localrank._base.rules import Rules, check_parameters, number
from localrank.clicks._same_pairs import place_among, shared_keys
from localrank.data.click_log import ClickLog

# What a model calls impossible and people did counts with this probability.
FLOOR = 1e-6


class ClickModel(Estimator):
    """Base of click models: how likely people examine a position and click a document.

    A model knows the relevance of each pair of a query and a document, and how likely people are to
    examine an impression. A pair that was not in training has the relevance `prior_`. A position
    beyond those in training counts as the last of them.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_pairs,)
        The probability that each document attracts a click from people who examine it, for the
        pairs of the log in `fit`.
    prior_ : float
        The click rate at the first position, where everybody looks.
    n_positions_ : int
    """

    _parameters: ClassVar[Rules] = {"smoothing": number(least=0)}

    relevance_: Floats
    prior_: float
    n_positions_: int

    @abstractmethod
    def _fit(self, log: ClickLog) -> None:
        """Learn `relevance_` and the rest. Parameters are checked, and `prior_` is known."""

    @abstractmethod
    def _examination(self, log: ClickLog, pairs: Integers) -> Floats:
        """The probability that each impression was examined, given the clicks above it."""

    @abstractmethod
    def _click_probabilities(self, log: ClickLog, pairs: Integers, *, conditional: bool) -> Floats:
        """The probability that each impression is clicked."""

    def fit(self, log: ClickLog) -> Self:
        """Learn from a log."""
        check_parameters(self)
        if not log.n_sessions:
            raise ValueError(f"{type(self).__name__} needs a log with a session. Got none.")
        firsts, rate = log.clicks[log.offsets[:-1]], log.n_clicks / log.n_impressions
        if not rate:
            raise ValueError(f"{type(self).__name__} needs a log with a click. Got none.")
        self.prior_ = float((firsts.sum() + rate) / (len(firsts) + 1))
        self.n_positions_ = log.n_positions
        self.query_ids_, self.document_ids_ = log.query_ids, log.document_ids
        self.pair_offsets_: Integers = log.pair_offsets
        self._fit(log)
        return self

    def examination_of(self, log: ClickLog) -> Floats:
        """The probability that each impression of a log was examined, given the clicks above it.

        Above 0, and at most 1. What the model calls impossible has 1e-6.
        """
        examination = self._examination(log, self._pairs(log))
        return np.clip(examination, FLOOR, 1.0)

    def relevance_of(self, log: ClickLog) -> Floats:
        """The relevance of each impression's document. A pair not in training has `prior_`."""
        return self._with_prior(self.relevance_)[self._pairs(log)]

    def click_probabilities(self, log: ClickLog, *, conditional: bool = False) -> Floats:
        """The probability that each impression of a log is clicked.

        Parameters
        ----------
        log : ClickLog
        conditional : bool, default=False
            False: of the list alone. True: given the clicks above it in its session.
        """
        return self._click_probabilities(log, self._pairs(log), conditional=conditional)

    def log_likelihood(self, log: ClickLog) -> Floats:
        """The logarithm of the probability of all clicks of each session.

        Clicks that the model calls impossible count with a probability of 1e-6.
        """
        logarithms = _logarithms(self.click_probabilities(log, conditional=True), log)
        return np.add.reduceat(logarithms, log.offsets[:-1])

    def perplexity(self, log: ClickLog) -> float:
        """The mean over positions of the perplexity there: 1 is certain, 2 is a coin [1]_.

        References
        ----------
        .. [1] Dupret, Piwowarski. A User Browsing Model to Predict Search Engine Click Data from
           Past Observations. SIGIR 2008.
        """
        return float(self.perplexity_by_position(log).mean())

    def perplexity_by_position(self, log: ClickLog) -> Floats:
        """The perplexity at each position: 1 is certain, 2 is a coin.

        It is 2 to the power of the mean of -log2 p, over the sessions that are as long. p is the
        probability, in view of the list alone, of what people did: to click or not.
        """
        logarithms = _logarithms(self.click_probabilities(log), log)
        sums = np.bincount(log.positions, logarithms)
        perplexities: Floats = np.exp(-sums / np.bincount(log.positions))
        return perplexities

    def _pairs(self, log: ClickLog) -> Integers:
        """The number of each impression's pair in training; that after the last: not there."""
        check_is_fitted(self, "relevance_")
        if log.document_ids is self.document_ids_ and log.query_ids is self.query_ids_:
            return log.pairs
        queries = np.repeat(np.arange(len(self.query_ids_)), np.diff(self.pair_offsets_))
        known = place_among(
            *shared_keys(
                (self.query_ids_, queries, self.document_ids_),
                (log.query_ids, log.pair_queries, log.document_ids),
            )
        )
        return np.where(known < 0, len(self.document_ids_), known)[log.pairs]

    def _with_prior(self, values: Floats, prior: float | None = None) -> Floats:
        """Values of pairs, with that of an unknown pair at the end."""
        return np.append(values, self.prior_ if prior is None else prior)

    def _places(self, log: ClickLog) -> Integers:
        """The position of each impression, at most the last one of training."""
        return np.minimum(log.positions, self.n_positions_ - 1)


def _logarithms(probabilities: Floats, log: ClickLog) -> Floats:
    """The logarithm of the probability of what people did, for each impression."""
    done: Array = np.where(log.clicks, probabilities, 1 - probabilities)
    logarithms: Floats = np.log(np.clip(done, FLOOR, 1.0))
    return logarithms
