"""How much each position is seen, by groups of queries or sessions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted, clone
from localrank._base.rules import (
    Rule,
    Rules,
    check_parameters,
    instance,
    number,
    optional,
    whole,
)
from localrank.clicks._duels import duel_derivatives, strengths
from localrank.clicks._swaps import MAX_SETS, Swaps, positions_of
from localrank.clicks.position_bias import PositionBias
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog
from localrank.grouping.base import a_grouping, group_queries
from localrank.representations.base import Representation

# A group has at least this many sets of queries to resample, if it has as many queries.
_LEAST_SETS = 50
# A group knows at least this share of what all know, so that errors have a bound.
_LEAST_SHARE = 1e-3
# Standard deviations of groups that are tried, from none to far more than groups differ.
_SPREADS = np.append(0.0, np.geomspace(3e-3, 3.0, 28))
# Twice the logarithm of the likelihood that a spread must gain, as by Akaike's criterion. Without
# it, groups that do not differ would lose some accuracy.
_LEAST_GAIN = 2.0


class GroupedPositionBias(Estimator):
    """A curve of examination for each group, shrunk to the common one as far as groups agree.

    Swaps give each group the logarithms t[g] of its curve, with the covariance C[g] of their
    distance to those of the common curve, t. Groups are drawn around it:

        t[g] true = t + d[g],   d[g] normal with mean 0 and covariance D,
        D[j, k] = a² log j log k + b² min(log j, log k),

    with positions j and k from 1. The first part lets a curve fall faster or slower throughout, by
    another exponent. The second is a random walk for all other shapes. a and b make the estimates
    most likely (empirical Bayes). The estimate is the mean of d[g], given t[g]:

        t + D (D + C[g])^-1 (t[g] - t).

    A group with many clicks keeps its own curve. One with few has the common curve. a and b are 0,
    and all groups have the common curve, unless that is clearly less likely (by Akaike's
    criterion).

    `p_value_` tests whether groups differ: the share of random groupings, of the same queries into
    groups of the same sizes, that differ as much.

    Parameters
    ----------
    groups : dict, Grouping, clusterer or None, default=None
        None: the groups of the log, such as devices. A dict: the group of each query, by its id. A
        grouping of localrank or clusterer of scikit-learn: it groups queries by their descriptions.
    representation : Representation or None, default=None
        Describes queries for a grouping, from the features in `fit`.
    n_positions : int or None, default=None
        Positions from this one on count as one.
    confidence : float, default=0.95
        Of the intervals.
    n_permutations : int, default=499
        Random groupings for the test.
    random_state : int or None, default=0
        Seed of random groupings and of the bootstrap of the common curve.

    Attributes
    ----------
    common_ : PositionBias
        The curve of all, from duels within groups.
    group_names_ : ndarray of shape (n_groups,)
    examination_ : ndarray of shape (n_groups, n_positions)
        The curve of each group, shrunk. NaN: nothing is known of the position in any group.
    intervals_ : ndarray of shape (n_groups, n_positions, 2)
    separate_ : ndarray of shape (n_groups, n_positions)
        The curve of each group by its own clicks.
    spread_ : tuple of float
        a and b. a: the standard deviation of the exponent by which groups' curves fall.
    p_value_ : float
    notes_ : tuple of str

    References
    ----------
    .. [1] Fang, Agarwal, Joachims. Intervention Harvesting for Context-Dependent
       Examination-Bias Estimation. SIGIR 2019.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(100)
    >>> log = simulate_clicks(
    ...     dataset, dataset.features[:, -1],
    ...     {"phone": PositionBehaviour(eta=2), "desk": PositionBehaviour(eta=0.5)},
    ...     n_sessions=50_000, depth=5, shuffle=1,
    ... )
    >>> bias = GroupedPositionBias().fit(log)
    >>> bias.group_names_, bias.examination_[:, 1].round(2), bias.p_value_ < 0.01
    (array(['phone', 'desk'], dtype='<U5'), array([0.25, 0.69]), True)
    """

    _parameters: ClassVar[Rules] = {
        "groups": Rule(
            lambda value, _: (
                value is None or isinstance(value, dict) or a_grouping.holds(value, {})
            ),
            "None, a dict from query ids to groups, a grouping of localrank or a clusterer of "
            "scikit-learn",
        ),
        "representation": optional(instance(Representation)),
        "n_positions": optional(whole(1)),
        "confidence": number(above=0, below=1),
        "n_permutations": whole(1),
        "random_state": optional(whole(0)),
    }

    common_: PositionBias
    group_names_: Array
    examination_: Floats
    intervals_: Floats
    separate_: Floats
    spread_: tuple[float, float]
    p_value_: float
    notes_: tuple[str, ...]

    def __init__(
        self,
        groups: Any = None,
        *,
        representation: Representation | None = None,
        n_positions: int | None = None,
        confidence: float = 0.95,
        n_permutations: int = 499,
        random_state: int | None = 0,
    ) -> None:
        self.groups = groups
        self.representation = representation
        self.n_positions = n_positions
        self.confidence = confidence
        self.n_permutations = n_permutations
        self.random_state = random_state

    def fit(self, log: ClickLog, features: RankingDataset | None = None) -> Self:
        """Learn from a log, and for a grouping from the features of its queries."""
        check_parameters(self)
        self._learn_groups(log, features)
        codes = self._groups_of(log)
        kept = codes >= 0
        self.notes_ = ()
        if not kept.all():
            self.notes_ = (f"{(~kept).sum():,} sessions have no known group: left out.",)
            log, codes = log.select(kept), codes[kept]
        self._check_groups(codes)
        swaps, groups_of_sets = _counted(log, codes, len(self.group_names_), self.n_positions)
        self.common_ = PositionBias(
            n_positions=self.n_positions, confidence=self.confidence, random_state=self.random_state
        ).fit_swaps(swaps)
        self.notes_ += self.common_.notes_
        known = np.flatnonzero(~np.isnan(self.common_.examination_))
        if len(known) < 2:
            raise ValueError(
                "The log has only one position. There is no examination to compare by group."
            )
        duels = swaps.duels[:, known][:, :, known]
        self._fit_duels(duels, groups_of_sets, known)
        return self

    def examination_of(self, log: ClickLog) -> Floats:
        """How much each impression of a log is seen: above 0, and at most 1.

        Sessions of a group that is not known have the common curve.
        """
        check_is_fitted(self, "examination_")
        # It checks the log.
        self.common_.examination_of(log)
        curves = np.vstack([self.examination_, self.common_.examination_])
        curves /= np.nanmax(curves, axis=1, keepdims=True)
        positions = positions_of(log, None if self.n_positions is None else curves.shape[1])
        # The last row is the common curve, for the group -1.
        examination: Floats = curves[self._groups_of(log)[log.session_index], positions]
        return examination

    def _learn_groups(self, log: ClickLog, features: RankingDataset | None) -> None:
        """Set `group_names_`, and the group of each query where queries have groups."""
        self.__dict__.pop("groups_of_queries_", None)
        if self.groups is None:
            if log.groups is None:
                raise ValueError(
                    "The log has no groups of sessions. Give GroupedPositionBias the group of "
                    "each query: groups={'query id': 'group', ...}, or a grouping."
                )
            self.group_names_ = np.array(log.group_names)
            return
        if isinstance(self.groups, dict):
            names = {str(query): str(group) for query, group in self.groups.items()}
        else:
            names = self._grouped(features)
        self.group_names_, codes = np.unique(list(names.values()), return_inverse=True)
        self.groups_of_queries_ = dict(zip(names, codes.tolist(), strict=True))

    def _grouped(self, features: RankingDataset | None) -> dict[str, str]:
        if features is None or self.representation is None:
            raise ValueError(
                "A grouping groups queries by their descriptions: give GroupedPositionBias a "
                "'representation', and 'fit' the features of the queries."
            )
        representation = clone(self.representation).fit(features)
        groups = group_queries(self.groups, representation, representation.transform(features))
        labels = np.char.add("group ", (groups.home + 1).astype(str))
        return dict(zip(features.query_ids.astype(str).tolist(), labels.tolist(), strict=True))

    def _groups_of(self, log: ClickLog) -> Integers:
        """The group of each session; -1: it is not known."""
        if self.groups is None:
            if log.groups is None:
                return np.full(log.n_sessions, -1)
            places = {name: place for place, name in enumerate(self.group_names_.tolist())}
            codes = np.array([places.get(name, -1) for name in log.group_names], np.int64)
            return codes[log.groups]
        known = self.groups_of_queries_
        codes = np.array([known.get(query, -1) for query in log.query_ids.astype(str).tolist()])
        return codes[log.session_queries]

    def _check_groups(self, codes: Integers) -> None:
        there = np.flatnonzero(np.bincount(codes, minlength=len(self.group_names_)))
        if there.size < 2:
            raise ValueError(
                f"GroupedPositionBias needs sessions of two groups. The log has those of "
                f"{there.size}. Use PositionBias for all sessions together."
            )

    def _fit_duels(self, duels: Floats, groups_of_sets: Integers, known: Integers) -> None:
        """Learn all curves from the duels of each set, between positions that are known."""
        n_groups, n_positions = len(self.group_names_), len(self.common_.examination_)
        member = np.equal.outer(np.arange(n_groups), groups_of_sets).astype(np.float64)
        everything = duels.sum(axis=0)
        common = np.log(self.common_.examination_[known])
        scores, bends = duel_derivatives(duels, common)
        # Without the first position, whose logarithm is 0.
        scores, bends = scores[:, 1:], bends[:, 1:, 1:]
        information = bends.sum(axis=0)
        inverse = np.linalg.inv(information)
        noise = noise_of(scores, information, inverse)

        own_duels = np.tensordot(member, duels, 1)
        separate = strengths(own_duels, everything)
        own = duel_derivatives(own_duels, separate)[1][:, 1:, 1:] + _LEAST_SHARE * information
        parts = np.einsum("gij,ji->g", own, inverse) / len(information)
        parts = np.maximum(parts / parts.sum(), 1e-9)
        errors = np.linalg.inv(own)
        covariances = errors @ (parts[:, None, None] * noise) @ errors
        distances = separate[:, 1:] - common[1:]
        heights = np.log(known[1:] + 1.0)
        shapes = np.stack([np.outer(heights, heights), np.minimum.outer(heights, heights)])
        # The common curve has a part of each group's error, so that they are not as far apart.
        covariances *= np.maximum(1 - parts, _LEAST_SHARE)[:, None, None]
        self.spread_ = _likeliest_spread(distances, covariances, shapes)
        prior = np.tensordot(np.square(self.spread_), shapes, 1)
        gains = prior @ np.linalg.inv(prior + covariances)
        shrunk = common[1:] + np.einsum("gij,gj->gi", gains, distances)
        variances = np.diagonal(inverse @ noise @ inverse + prior - gains @ prior, axis1=1, axis2=2)
        self._set_curves(known, n_positions, separate, shrunk, variances)
        rng = np.random.default_rng(self.random_state)
        self.p_value_ = _p_value(scores, bends, noise, groups_of_sets, rng, self.n_permutations)

    def _set_curves(
        self,
        known: Integers,
        n_positions: int,
        separate: Floats,
        shrunk: Floats,
        variances: Floats,
    ) -> None:
        from scipy import stats

        n_groups = len(separate)
        self.separate_ = np.full((n_groups, n_positions), np.nan)
        self.separate_[:, known] = np.exp(separate)
        self.examination_ = np.full((n_groups, n_positions), np.nan)
        self.examination_[:, 0] = 1.0
        self.examination_[:, known[1:]] = np.exp(shrunk)
        width = stats.norm.ppf((1 + self.confidence) / 2) * np.sqrt(np.maximum(variances, 0))
        self.intervals_ = np.full((n_groups, n_positions, 2), np.nan)
        self.intervals_[:, 0] = 1.0
        self.intervals_[:, known[1:]] = np.exp(np.stack([shrunk - width, shrunk + width], axis=2))


def _counted(
    log: ClickLog, codes: Integers, n_groups: int, n_positions: int | None
) -> tuple[Swaps, Integers]:
    """Duels within groups, by sets of queries of one group, and the group of each set."""
    units = codes * log.n_queries + log.session_queries
    there = np.bincount(units, minlength=n_groups * log.n_queries) > 0
    sets = np.zeros(len(there), np.int64)
    groups_of_sets = []
    rng = np.random.default_rng(0)
    n_sets = 0
    for group in range(n_groups):
        members = group * log.n_queries + np.flatnonzero(there.reshape(n_groups, -1)[group])
        n = len(members)
        most = n if there.sum() <= MAX_SETS else MAX_SETS * n // int(there.sum())
        most = min(n, max(most, _LEAST_SETS))
        sets[members] = n_sets + (rng.permutation(n) % most if n > most else np.arange(n))
        groups_of_sets.append(np.full(most, group))
        n_sets += most
    swaps = Swaps.counted(
        np.repeat(codes, log.session_sizes) * log.n_pairs + log.pairs,
        positions_of(log, n_positions),
        log.clicks,
        sets.reshape(n_groups, -1)[:, log.pair_queries].ravel(),
        n_sets,
    )
    return swaps, np.concatenate(groups_of_sets)


def noise_of(scores: Floats, information: Floats, inverse: Floats) -> Floats:
    """The covariance of the sum of all sets' scores.

    Where sets are few, it is drawn to a multiple of the information, which is not singular.
    """
    noise = scores.T @ scores
    n_sets, n_scores = scores.shape
    factor = np.trace(inverse @ noise) / n_scores
    # About 1, but for rounding where a single set has all clicks.
    if not factor > 1e-9:
        raise ValueError(
            "Groups cannot be compared: only one query has clicks that compare positions. Use "
            "PositionBias for all sessions together."
        )
    weight = n_scores / (n_scores + n_sets)
    drawn: Floats = (1 - weight) * noise + weight * factor * information
    return drawn


def _likeliest_spread(
    distances: Floats, covariances: Floats, shapes: Floats
) -> tuple[float, float]:
    """How far groups spread in each of two shapes, so that their distances are most likely."""
    squares = np.stack(np.meshgrid(_SPREADS, _SPREADS, indexing="ij"), axis=-1) ** 2
    priors = np.tensordot(squares.reshape(-1, 2), shapes, 1)
    values = np.zeros(len(priors))
    for distance, covariance in zip(distances, covariances, strict=True):
        total = priors + covariance
        fit = np.linalg.solve(total, np.broadcast_to(distance[:, None], (*total.shape[:2], 1)))
        values -= np.linalg.slogdet(total)[1] + fit[:, :, 0] @ distance
    # Distances to a mean of all say as much as those of one group less.
    values *= (len(distances) - 1) / len(distances)
    if values.max() - values[0] <= _LEAST_GAIN:
        return 0.0, 0.0
    first, second = np.divmod(int(np.argmax(values)), len(_SPREADS))
    return float(_SPREADS[first]), float(_SPREADS[second])


def _p_value(
    scores: Floats,
    bends: Floats,
    noise: Floats,
    groups_of_sets: Integers,
    rng: np.random.Generator,
    n_permutations: int,
) -> float:
    """The share of random groupings whose curves differ as much as those of the groups."""
    inverse = np.linalg.pinv(noise)
    trace = np.einsum("ij,sji->s", np.linalg.inv(bends.sum(axis=0)), bends)
    n_groups = int(groups_of_sets.max()) + 1

    def distance(groups: Integers) -> float:
        """How far the groups' curves are apart, beside their errors: about a chi-squared."""
        member = np.equal.outer(np.arange(n_groups), groups).astype(np.float64)
        parts = member @ trace / trace.sum()
        used = parts > 0
        moved = member[used] @ scores / parts[used, None]
        curved = np.tensordot(member[used], bends, 1)
        # Each group's own curve, weighed by its precision, less the best common one.
        weighed = moved @ inverse
        pulled = np.einsum("gij,gj->i", curved, weighed)
        precise = np.einsum("gij,jk,gkl,g->il", curved, inverse, curved, 1 / parts[used])
        own = (parts[used, None] * moved * weighed).sum()
        return float(own - pulled @ np.linalg.pinv(precise) @ pulled)

    measured = distance(groups_of_sets)
    larger = sum(
        distance(rng.permutation(groups_of_sets)) >= measured for _ in range(n_permutations)
    )
    return (1 + larger) / (1 + n_permutations)
