"""How much each position is seen, as a function of a query's description."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank._base.estimator import Estimator, check_is_fitted, clone
from localrank._base.rules import Rules, check_parameters, instance, optional, whole
from localrank.clicks._duels import duel_derivatives
from localrank.clicks._swaps import Swaps, positions_of
from localrank.clicks.grouped_position_bias import noise_of
from localrank.clicks.position_bias import PositionBias
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog
from localrank.representations.base import Representation

# Newton's steps: many more than a concave likelihood needs. No parameter moves further in one.
_MAX_STEPS, _MAX_CHANGE = 100, 1.0
# Standard deviations of coefficients that are tried, from none to far more than queries differ.
_SPREADS = np.append(0.0, np.geomspace(3e-3, 3.0, 60))
# Twice the logarithm of the likelihood that a spread must gain, as by Akaike's criterion.
_LEAST_GAIN = 2.0
# No exponent of a query moves further from the common one.
_LARGEST = 3.0


class DescribedPositionBias(Estimator):
    """Examination that depends on a query's description, shrunk to one curve for all.

    Position k of a query with the description z is seen with the probability

        p[k] k^(w z),

    relative to the first position: a common curve p, which falls faster or slower by an exponent
    that is linear in z. This is a simple case of the context-dependent model of [1]_, which has a
    network in place of w z. Descriptions are standardised, so that w = 0 is the common curve.

    p and w maximise the likelihood of swaps, in which each position of a query competes with the
    others for the clicks of the documents that both have shown (see `PositionBias`). This
    likelihood is concave. Then w is shrunk: with V its covariance over queries, and its true values
    drawn with the standard deviation s, its mean is s² (s² + V)^-1 w. s makes the estimate most
    likely (empirical Bayes). It is 0, and all queries have the common curve, unless that is clearly
    less likely.

    `p_value_` tests whether examination depends on the description: the share of random
    permutations of the descriptions that explain as much.

    Parameters
    ----------
    representation : Representation
        Describes queries by the features in `fit`.
    n_positions : int or None, default=None
        Positions from this one on count as one.
    n_permutations : int, default=499
        Random permutations for the test.
    random_state : int or None, default=0
        Seed of the permutations, and of the intervals of `common_`.

    Attributes
    ----------
    common_ : PositionBias
        One curve for all queries.
    examination_ : ndarray of shape (n_positions,)
        p, the curve of an average query. NaN: nothing is known of the position.
    coefficients_ : ndarray of shape (n_descriptors,)
        w, shrunk, for standardised descriptions.
    exponents_ : dict from str to float
        w z of each query of the features, by its id. From -3 to 3.
    spread_ : float
        s.
    p_value_ : float

    References
    ----------
    .. [1] Fang, Agarwal, Joachims. Intervention Harvesting for Context-Dependent
       Examination-Bias Estimation. SIGIR 2019.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> from localrank.representations import Mean
    >>> dataset, kinds = make_queries(150, n_types=2, separation=4, random_state=0)
    >>> people = {"few": PositionBehaviour(eta=1.5), "many": PositionBehaviour(eta=0.5)}
    >>> log = simulate_clicks(
    ...     dataset, dataset.features[:, -1], people, n_sessions=50_000, depth=5, shuffle=1,
    ...     groups=np.where(kinds == 0, "few", "many"),
    ... )
    >>> bias = DescribedPositionBias(Mean()).fit(log, dataset)
    >>> exponents = np.array([*bias.exponents_.values()])
    >>> np.array([exponents[kinds == kind].mean() for kind in (0, 1)]).round(1)
    array([-0.4,  0.4])
    >>> bias.p_value_
    0.002
    """

    _parameters: ClassVar[Rules] = {
        "representation": instance(Representation),
        "n_positions": optional(whole(1)),
        "n_permutations": whole(1),
        "random_state": optional(whole(0)),
    }

    common_: PositionBias
    examination_: Floats
    coefficients_: Floats
    exponents_: dict[str, float]
    spread_: float
    p_value_: float

    def __init__(
        self,
        representation: Representation,
        *,
        n_positions: int | None = None,
        n_permutations: int = 499,
        random_state: int | None = 0,
    ) -> None:
        self.representation = representation
        self.n_positions = n_positions
        self.n_permutations = n_permutations
        self.random_state = random_state

    def fit(self, log: ClickLog, features: RankingDataset) -> Self:
        """Learn from a log and the features of its queries.

        Queries without features count for the common curve only.
        """
        check_parameters(self)
        self.common_ = PositionBias(
            n_positions=self.n_positions, random_state=self.random_state
        ).fit(log)
        known = np.flatnonzero(~np.isnan(self.common_.examination_))
        if len(known) < 2:
            raise ValueError(
                "The log has only one position. There is no examination to compare by query."
            )
        representation = clone(self.representation).fit(features)
        described = np.asarray(representation.transform(features), np.float64)
        rows = dict(
            zip(features.query_ids.astype(str).tolist(), range(len(described)), strict=True)
        )
        places = np.array([rows.get(query, -1) for query in log.query_ids.astype(str).tolist()])
        counted = Swaps.counted(
            log.pairs, positions_of(log, self.n_positions), log.clicks, log.pair_queries,
            log.n_queries,
        )  # fmt: skip
        duels = counted.duels[:, known][:, :, known]
        used = (places >= 0) & (duels.sum(axis=(1, 2)) > 0)
        if used.sum() < 2:
            raise ValueError(
                "The log and the features need two queries in common whose documents were shown, "
                "and clicked, at several positions. There are fewer."
            )
        center = described[places[used]].mean(axis=0)
        scale = described[places[used]].std(axis=0)
        described = (described - center) / np.where(scale > 0, scale, np.inf)
        heights = np.log(known + 1.0)
        curve = self._fit_duels(duels[used], described[places[used]], heights)
        self.examination_ = np.full(len(self.common_.examination_), np.nan)
        self.examination_[known] = np.exp(curve)
        exponents = np.clip(described @ self.coefficients_, -_LARGEST, _LARGEST)
        self.exponents_ = dict(zip(rows, exponents.tolist(), strict=True))
        return self

    def examination_of(self, log: ClickLog) -> Floats:
        """How much each impression of a log is seen: above 0, and at most 1.

        Queries that were not described have the curve of an average query.
        """
        check_is_fitted(self, "examination_")
        # It checks the log.
        self.common_.examination_of(log)
        ids = log.query_ids.astype(str).tolist()
        exponents = np.array([self.exponents_.get(query, 0.0) for query in ids])
        curves = self.examination_ * np.arange(1, len(self.examination_) + 1) ** exponents[:, None]
        curves /= np.nanmax(curves, axis=1, keepdims=True)
        positions = positions_of(log, None if self.n_positions is None else curves.shape[1])
        examination: Floats = curves[log.session_queries[log.session_index], positions]
        return examination

    def _fit_duels(self, duels: Floats, described: Floats, heights: Floats) -> Floats:
        """Learn from the duels of each query; the logarithms of an average query's curve."""
        n_curve = len(heights) - 1
        world = duels, described, heights
        curve_alone = np.arange(n_curve + described.shape[1]) < n_curve
        common = _maximised(np.zeros(len(curve_alone)), curve_alone, *world)
        self.p_value_ = self._tested(common[:n_curve], *world)
        # A step from the common curve. Further ones would take chance for differences.
        scores, information = _derivatives(common, *world)
        inverse = np.asarray(np.linalg.pinv(information, hermitian=True), np.float64)
        step = (inverse @ scores.sum(axis=0))[n_curve:]
        noise = noise_of(scores, information, inverse)
        self.spread_ = _likeliest_spread(step, (inverse @ noise @ inverse)[n_curve:, n_curve:])
        self.coefficients_ = np.zeros(described.shape[1])
        if self.spread_:
            full = _maximised(common, np.ones_like(curve_alone), *world)
            at_full = np.linalg.pinv(_derivatives(full, *world)[1], hermitian=True)
            covariance = (at_full @ noise @ at_full)[n_curve:, n_curve:]
            self.coefficients_ = _shrunk(full[n_curve:], covariance, self.spread_)
        begin = np.append(common[:n_curve], self.coefficients_)
        return np.append(0.0, _maximised(begin, curve_alone, *world)[:n_curve])

    def _tested(self, curve: Floats, duels: Floats, described: Floats, heights: Floats) -> float:
        """The share of random permutations of descriptions that explain as much."""
        # What each query says of its exponent, where all have the common curve.
        pulls = duel_derivatives(duels, np.append(0.0, curve))[0] @ heights

        def explained(rows: Floats) -> float:
            moved = rows * pulls[:, None]
            total = moved.sum(axis=0)
            return float(total @ np.linalg.pinv(moved.T @ moved, hermitian=True) @ total)

        rng = np.random.default_rng(self.random_state)
        measured = explained(described)
        larger = sum(
            explained(rng.permutation(described)) >= measured for _ in range(self.n_permutations)
        )
        return (1 + larger) / (1 + self.n_permutations)


def _derivatives(
    parameters: Floats, duels: Floats, described: Floats, heights: Floats
) -> tuple[Floats, Floats]:
    """The gradient of the likelihood, query by query, and minus its second derivatives.

    The parameters are the logarithms of the curve without its first position, and w.
    """
    n_curve = len(heights) - 1
    curve, exponents = np.append(0.0, parameters[:n_curve]), described @ parameters[n_curve:]
    gradients, bends = duel_derivatives(duels, curve + exponents[:, None] * heights)
    pulls, bent = gradients @ heights, bends @ heights
    scores = np.hstack([gradients[:, 1:], pulls[:, None] * described])
    corner = described.T @ bent[:, 1:]
    ends = (described * (bent @ heights)[:, None]).T @ described
    information = np.block([[bends[:, 1:, 1:].sum(axis=0), corner.T], [corner, ends]])
    return scores, information


def _maximised(
    start: Floats, free: Flags, duels: Floats, described: Floats, heights: Floats
) -> Floats:
    """The parameters that make the duels most likely, where only some of them are free."""
    parameters = start.copy()
    for _ in range(_MAX_STEPS):
        scores, information = _derivatives(parameters, duels, described, heights)
        # Descriptions may depend on each other: the shortest step that is best.
        step = np.linalg.pinv(information[np.ix_(free, free)], hermitian=True)
        change = step @ scores.sum(axis=0)[free]
        largest = np.abs(change).max()
        parameters[free] += change * min(1.0, _MAX_CHANGE / max(largest, 1e-300))
        if largest < 1e-9:
            break
    return parameters


def _likeliest_spread(coefficients: Floats, covariance: Floats) -> float:
    """The standard deviation of the true coefficients that makes estimates of them most likely."""
    values, vectors = np.linalg.eigh(covariance)
    # Descriptions that do not vary, or depend on others, have no variance, and tell nothing.
    told = values > 1e-10 * values.max()
    squares = (coefficients @ vectors[:, told]) ** 2
    totals = np.square(_SPREADS)[:, None] + values[told]
    gains = -(np.log(totals) + squares / totals).sum(axis=1)
    best = int(np.argmax(gains))
    return float(_SPREADS[best]) if gains[best] - gains[0] > _LEAST_GAIN else 0.0


def _shrunk(coefficients: Floats, covariance: Floats, spread: float) -> Floats:
    """The mean of the true coefficients, given estimates of them."""
    prior = spread**2 * np.eye(len(coefficients))
    shrunk: Floats = prior @ np.linalg.solve(prior + covariance, coefficients)
    return shrunk
