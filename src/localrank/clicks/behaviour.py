"""People who click: how each kind reads a list, with exact probabilities of its clicks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank._base.rules import Rules, check_rules, number, rules


@dataclass(frozen=True)
class Behaviour(ABC):
    """How people read a list and click, given how relevant its documents are.

    Relevance is a number r from 0 to 1 for each document of each list, in the order shown. All
    methods work on many lists at once.
    """

    _parameters: ClassVar[Rules] = {}

    def __post_init__(self) -> None:
        check_rules(self, rules(type(self)))

    @abstractmethod
    def click_probabilities(self, relevance: Floats) -> Floats:
        """The probability that each document is clicked, of the shape of `relevance`."""

    def clicks(self, relevance: Floats, rng: np.random.Generator) -> Flags:
        """Which documents are clicked, drawn at random."""
        clicked: Flags = rng.random(relevance.shape) < self.click_probabilities(relevance)
        return clicked


@dataclass(frozen=True)
class PositionBehaviour(Behaviour):
    """The position-based model: a position is seen or not, whatever the documents are [1]_.

    With k the position from 1 and r the relevance of the document,

        P(seen) = k^-eta,    P(click | seen) = noise + (1 - noise) r.

    Parameters
    ----------
    eta : float, default=1.0
        How fast examination falls. 0: every position is seen.
    noise : float, default=0.1
        The probability that a document without any relevance is clicked when it is seen.

    References
    ----------
    .. [1] Joachims, Swaminathan, Schnabel. Unbiased Learning-to-Rank with Biased Feedback. WSDM
       2017.

    Examples
    --------
    >>> PositionBehaviour(eta=1, noise=0).click_probabilities(np.array([[1.0, 1.0, 0.5]]))
    array([[1.        , 0.5       , 0.16666667]])
    """

    _parameters: ClassVar[Rules] = {
        "eta": number(least=0),
        "noise": number(least=0, most=1),
    }

    eta: float = 1.0
    noise: float = 0.1

    def examination(self, n_positions: int) -> Floats:
        """The probability that each of the first positions is seen."""
        seen: Floats = np.arange(1, n_positions + 1, dtype=np.float64) ** -self.eta
        return seen

    def click_probabilities(self, relevance: Floats) -> Floats:
        seen = self.examination(relevance.shape[1])
        return seen * _attraction(relevance, self.noise)


@dataclass(frozen=True)
class TrustBehaviour(Behaviour):
    """Trust bias: what is shown higher up is clicked more readily, relevant or not [1]_ [2]_.

    With k the position from 1 and r the relevance of the document,

        P(seen) = k^-eta,    P(click | seen) = a_k r + b_k (1 - r),
        a_k = 1 - min(k, 20) / 100 + 1 / 100,    b_k = trust / min(k, 10).

    Parameters
    ----------
    eta : float, default=1.0
        How fast examination falls.
    trust : float, default=0.65
        The probability that a document without any relevance is clicked at the first position.

    References
    ----------
    .. [1] Agarwal, Wang, Li, Bendersky, Najork. Addressing Trust Bias for Unbiased
       Learning-to-Rank. WWW 2019.
    .. [2] Vardasbi, Oosterhuis, de Rijke. When Inverse Propensity Scoring does not Work. CIKM
       2020.

    Examples
    --------
    >>> TrustBehaviour(eta=0, trust=0.6).click_probabilities(np.array([[0.0, 0.0, 1.0]]))
    array([[0.6 , 0.3 , 0.98]])
    """

    _parameters: ClassVar[Rules] = {
        "eta": number(least=0),
        "trust": number(least=0, most=1),
    }

    eta: float = 1.0
    trust: float = 0.65

    def click_probabilities(self, relevance: Floats) -> Floats:
        k = np.arange(1, relevance.shape[1] + 1)
        relevant = 1 - (np.minimum(k, 20) - 1) / 100
        irrelevant = self.trust / np.minimum(k, 10)
        seen = k ** -float(self.eta)
        clicked: Floats = seen * (relevant * relevance + irrelevant * (1 - relevance))
        return clicked


@dataclass(frozen=True)
class DynamicBayesianBehaviour(Behaviour):
    """A dynamic Bayesian network: people read down, and stop where they are satisfied [1]_.

    The first position is seen. A document of relevance r that is seen is clicked with probability
    a = noise + (1 - noise) r. After a click, people are satisfied with probability s =
    satisfaction * r, and stop. Otherwise they see the next document with probability
    `continuation`. So

        P(k + 1 seen) = P(k seen) * continuation * (1 - a s),    P(k clicked) = P(k seen) a.

    Parameters
    ----------
    continuation : float, default=0.9
        The probability to go on of people who are not satisfied.
    satisfaction : float, default=0.9
        The probability that a click on a document of relevance 1 satisfies.
    noise : float, default=0.1
        The probability that a document without any relevance is clicked when it is seen.

    References
    ----------
    .. [1] Chapelle, Zhang. A Dynamic Bayesian Network Click Model for Web Search Ranking. WWW
       2009.

    Examples
    --------
    >>> model = DynamicBayesianBehaviour(continuation=1, satisfaction=0.5, noise=0)
    >>> model.click_probabilities(np.array([[1.0, 1.0, 1.0]]))
    array([[1.  , 0.5 , 0.25]])
    """

    _parameters: ClassVar[Rules] = {
        "continuation": number(least=0, most=1),
        "satisfaction": number(least=0, most=1),
        "noise": number(least=0, most=1),
    }

    continuation: float = 0.9
    satisfaction: float = 0.9
    noise: float = 0.1

    def click_probabilities(self, relevance: Floats) -> Floats:
        attraction = _attraction(relevance, self.noise)
        goes_on = self._goes_on(1 - attraction * self._satisfied(relevance))
        seen = np.ones_like(relevance)
        np.cumprod(goes_on[:, :-1], axis=1, out=seen[:, 1:])
        clicked: Floats = seen * attraction
        return clicked

    def clicks(self, relevance: Floats, rng: np.random.Generator) -> Flags:
        attracted = rng.random(relevance.shape) < _attraction(relevance, self.noise)
        satisfied = attracted & (rng.random(relevance.shape) < self._satisfied(relevance))
        goes_on = ~satisfied & (rng.random(relevance.shape) < self._goes_on(1.0))
        seen = np.ones_like(attracted)
        np.logical_and.accumulate(goes_on[:, :-1], axis=1, out=seen[:, 1:])
        clicked: Flags = seen & attracted
        return clicked

    def _satisfied(self, relevance: Floats) -> Floats:
        return self.satisfaction * relevance

    def _goes_on(self, unsatisfied: Floats | float) -> Floats:
        return np.asarray(self.continuation * unsatisfied)


@dataclass(frozen=True)
class CascadeBehaviour(Behaviour):
    """A cascade: people read down to the first document that attracts them, and click it [1]_.

    A document of relevance r attracts with probability a = noise + (1 - noise) r. The click at
    position k has the probability a_k (1 - a_1) ... (1 - a_(k-1)): at most one in a list.

    Parameters
    ----------
    noise : float, default=0.1
        The probability that a document without any relevance attracts.

    References
    ----------
    .. [1] Craswell, Zoeter, Taylor, Ramsey. An Experimental Comparison of Click Position-Bias
       Models. WSDM 2008.

    Examples
    --------
    >>> CascadeBehaviour(noise=0).click_probabilities(np.array([[0.5, 0.5, 1.0]]))
    array([[0.5 , 0.25, 0.25]])
    """

    _parameters: ClassVar[Rules] = {"noise": number(least=0, most=1)}

    noise: float = 0.1

    def click_probabilities(self, relevance: Floats) -> Floats:
        attraction = _attraction(relevance, self.noise)
        seen = np.ones_like(attraction)
        np.cumprod(1 - attraction[:, :-1], axis=1, out=seen[:, 1:])
        clicked: Floats = seen * attraction
        return clicked

    def clicks(self, relevance: Floats, rng: np.random.Generator) -> Flags:
        attracted = rng.random(relevance.shape) < _attraction(relevance, self.noise)
        before = np.zeros_like(attracted)
        np.logical_or.accumulate(attracted[:, :-1], axis=1, out=before[:, 1:])
        clicked: Flags = attracted & ~before
        return clicked


def _attraction(relevance: Floats, noise: float) -> Floats:
    return noise + (1 - noise) * relevance
