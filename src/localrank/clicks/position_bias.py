"""How much each position is seen, from documents that a log shows at several positions."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted
from localrank._base.printing import ranges
from localrank._base.rules import Rules, check_parameters, instance, number, one_of, optional, whole
from localrank.clicks._duels import comparable, strengths
from localrank.clicks._gamma_em import Estimate, Means, estimated, relevance_given, summed
from localrank.clicks._slot_em import Cells
from localrank.clicks._swaps import (
    Resampling,
    Swaps,
    estimated_by_swaps,
    of_pairs,
    of_positions,
    positions_of,
)
from localrank.clicks._told_relevance import Described
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog
from localrank.data.errors import AdvisedError
from localrank.rankers import GBRT
from localrank.rankers.base import Ranker

# A kind of documents has at least this many, and there are at most so many kinds.
_DOCUMENTS_OF_KIND, _MAX_KINDS = 50, 20


class PositionBias(Estimator):
    """How much each position is seen relative to the first one, in the position-based model.

    The model says that a click at position k on document d has the probability p[k] r[d]: the
    position is examined, and the document is relevant. Only ratios of p can be known, so that the
    first position has 1. Position k is compared with others by the documents that were shown at k
    and elsewhere. A document is compared only with itself, so a good ranking, which shows relevant
    documents higher up, does no harm.

    "swaps" compares all pairs of positions (AllPairs [1]_). A document that was shown n times at j
    and m times at k has c clicks at j and b at k. It adds c m / (n + m) to w[j, k], and
    b n / (n + m) to w[k, j]: Mantel's and Haenszel's weights, which keep documents that were shown
    once somewhere from adding noise. Apart from the factors p[j] and p[k], both have the same
    expectation, whatever the relevance and the numbers are. So w[j, k] are wins in duels of Bradley
    and Terry, and p maximises

        sum over j and k of w[j, k] log(p[j] / (p[j] + p[k])).

    It is concave in log p. The derivative is 0 in expectation at the true p.

    "em" is expectation-maximisation over the relevance of each document. The relevance of a
    document has a Gamma distribution, whose mean is that of documents shown at similar heights; the
    shape is learned. The E step is the expected relevance, the M step is clicks at k by expected
    relevance shown at k (formulas in `localrank.clicks._gamma_em`). A free relevance for each
    document, as in the first papers, is not consistent: with few impressions of each document, it
    mistakes chance for relevance, and its curve is too flat.

    With features, "em" is regression EM [2]_: the mean of a document's relevance is what `ranker`
    learns from features and clicks of other queries. Then positions are also compared by different
    documents. It needs no swaps. But it is right only if features tell all that the logged ranking
    knew of relevance.

    Parameters
    ----------
    method : {"swaps", "em"}, default="swaps"
    n_positions : int or None, default=None
        Positions from this one on count as one. Use it where later positions have few clicks. None:
        each position of the log counts by itself.
    ranker : Ranker or None, default=None
        What learns relevance from features, where `fit` gets some: a regression, whose scores are
        on the scale of labels. None: `GBRT` with 100 trees.
    confidence : float, default=0.95
        Of the intervals.
    n_bootstrap : int, default=500
        How often queries are resampled for the intervals.
    random_state : int or None, default=0
        Seed of the resampling.

    Attributes
    ----------
    examination_ : ndarray of shape (n_positions,)
        How much each position is seen; 1 for the first. A later position may be above 1. NaN:
        nothing is known of the position, and `notes_` says why.
    intervals_ : ndarray of shape (n_positions, 2)
        Lower and upper bounds, by a bootstrap over queries.
    draws_ : ndarray of shape (n_bootstrap, n_positions)
        `examination_` of each draw of queries. Both methods draw the same queries of a log, if they
        have the same `random_state`.
    n_swapped_ : ndarray of shape (n_positions,)
        Number of pairs of query and document that were shown at the position and at another one.
    relevance_ : ndarray of shape (n_pairs,)
        With "em": the expected relevance of each pair of the log, at most 1. NaN: it was not shown
        at a position that is known.
    notes_ : tuple of str
        What could not be estimated, in words.

    References
    ----------
    .. [1] Agarwal, Zaitsev, Wang, Li, Najork, Joachims. Estimating Position Bias without Intrusive
       Interventions. WSDM 2019.
    .. [2] Wang, Golbandi, Bendersky, Metzler, Najork. Position Bias Estimation for Unbiased
       Learning to Rank in Personal Search. WSDM 2018.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(100)
    >>> log = simulate_clicks(
    ...     dataset, dataset.features[:, -1], PositionBehaviour(eta=1), n_sessions=50_000,
    ...     depth=5, shuffle=1,
    ... )
    >>> PositionBias().fit(log).examination_.round(2)
    array([1.  , 0.5 , 0.34, 0.25, 0.18])
    """

    _parameters: ClassVar[Rules] = {
        "method": one_of("swaps", "em"),
        "n_positions": optional(whole(1)),
        "ranker": optional(instance(Ranker)),
        "confidence": number(above=0, below=1),
        "n_bootstrap": whole(20),
        "random_state": optional(whole(0)),
    }

    examination_: Floats
    intervals_: Floats
    draws_: Floats
    n_swapped_: Integers
    relevance_: Floats
    notes_: tuple[str, ...]

    def __init__(
        self,
        method: Literal["swaps", "em"] = "swaps",
        *,
        n_positions: int | None = None,
        ranker: Ranker | None = None,
        confidence: float = 0.95,
        n_bootstrap: int = 500,
        random_state: int | None = 0,
    ) -> None:
        self.method = method
        self.n_positions = n_positions
        self.ranker = ranker
        self.confidence = confidence
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state

    def fit(self, log: ClickLog, features: RankingDataset | None = None) -> Self:
        """Learn from a log.

        Parameters
        ----------
        log : ClickLog
        features : RankingDataset, optional
            For regression EM: features of the documents, with their ids. Its labels are not used.
            Documents of the log that it does not have are left out.
        """
        check_parameters(self)
        if features is not None and self.method != "em":
            raise ValueError(
                "Features are for PositionBias(method='em'). Swaps need none. "
                f"Got features, and method={self.method!r}."
            )
        swaps = Swaps.of(log, self.n_positions)
        if self.method == "swaps":
            return self.fit_swaps(swaps)
        known = comparable(swaps.duels.sum(axis=0)) if features is None else swaps.clicks > 0
        self._begin(swaps, known)
        resampling = Resampling.drawn(swaps.n_sets, self.n_bootstrap, self.random_state)
        estimate = self._by_em(log, features, swaps, known)
        moved = resampling.changes(estimate.changes)
        self._set_curve(known, np.log(estimate.examination), moved, resampling, swaps.n_sets)
        return self

    def fit_swaps(self, swaps: Swaps) -> Self:
        """Learn from duels that are already counted, without checking the parameters."""
        known = comparable(swaps.duels.sum(axis=0))
        self._begin(swaps, known)
        resampling = Resampling.drawn(swaps.n_sets, self.n_bootstrap, self.random_state)
        theta, moved = estimated_by_swaps(swaps.duels, known, resampling)
        n_sets = int((swaps.duels.sum(axis=(1, 2)) > 0).sum())
        self._set_curve(known, theta, moved, resampling, n_sets)
        return self

    def _begin(self, swaps: Swaps, known: Flags) -> None:
        _check_known(known, swaps.clicks)
        self.n_swapped_ = swaps.n_swapped()
        self.notes_ = _notes(known, swaps)
        self.__dict__.pop("relevance_", None)

    def _set_curve(
        self, known: Flags, theta: Floats, moved: Floats, resampling: Resampling, n_sets: int
    ) -> None:
        low, high = resampling.bounds(moved, self.confidence, n_sets)
        self.examination_ = _at(known, np.exp(theta))
        self.draws_ = _at(known, np.exp(theta + moved))
        self.intervals_ = np.stack(
            [_at(known, np.exp(theta + low)), _at(known, np.exp(theta + high))], axis=1
        )

    def examination_of(self, log: ClickLog) -> Floats:
        """How much each impression of a log is seen: above 0, and at most 1.

        Where a later position is seen more than the first, all are divided by the largest.
        """
        check_is_fitted(self, "examination_")
        n_known = len(self.examination_)
        positions = positions_of(log, None if self.n_positions is None else n_known)
        if log.n_positions > n_known and self.n_positions is None:
            raise ValueError(
                f"The log has lists of up to {log.n_positions} documents. This PositionBias knows "
                f"{n_known} positions. Fit it with n_positions={n_known}: then later positions "
                f"count as the last one."
            )
        examination: Floats = self.examination_[positions]
        if (unknown := np.flatnonzero(np.isnan(examination))).size:
            first = int(positions[unknown].min()) + 1
            raise ValueError(
                f"Nothing is known of how much position {first} is seen. {' '.join(self.notes_)} "
                f"Fit PositionBias with a smaller n_positions, so that late positions count as "
                f"one, or leave late positions out."
            )
        return examination / np.nanmax(self.examination_)

    def _by_em(
        self, log: ClickLog, features: RankingDataset | None, swaps: Swaps, known: Flags
    ) -> Estimate:
        """The estimate of a position-based model, which also leaves `relevance_`."""
        cells = of_positions(swaps.cells, known)
        if features is None:
            # With one position there is relevance alone to estimate.
            used = np.diff(cells.offsets) >= min(2, cells.n_slots)
            kinds = _kinds(cells, used)
            start = strengths(swaps.duels.sum(axis=0)[None][:, known][:, :, known])[0]
            means: Means | None = None
            start = np.exp(start)
        else:
            ranker = GBRT(100, learning_rate=0.1) if self.ranker is None else self.ranker
            described = Described.of(log, features, ranker)
            used = (np.diff(cells.offsets) > 0) & (described.rows >= 0)
            self._check_described(used, cells)
            kinds = np.zeros(log.n_pairs, np.int64)
            rates = swaps.clicks[known] / swaps.shown[known]
            start = rates / rates[0]
            means = described.means(used)
        estimate = estimated(
            of_pairs(cells, used),
            kinds[used],
            swaps.sets_of_pairs[used],
            swaps.n_sets,
            start=start,
            means=means,
        )
        if features is None:
            relevance = relevance_given(cells, kinds, estimate.examination)
        else:
            relevance = np.full(log.n_pairs, np.nan)
            relevance[used] = estimate.relevance
        # The distribution has no upper bound. A probability has.
        self.relevance_ = np.minimum(relevance, 1.0)
        return estimate

    def _check_described(self, used: Flags, cells: Cells) -> None:
        shown = np.diff(cells.offsets) > 0
        if not used.any():
            raise ValueError("The log and the features have no document in common.")
        if n_left := int((shown & ~used).sum()):
            self.notes_ += (f"{n_left:,} documents of the log have no features: left out.",)


def _check_known(known: Flags, clicks: Floats) -> None:
    if not clicks.any():
        raise ValueError("The log has no click. Nothing can be learned from it.")
    if not known[0]:
        raise ValueError(
            "Nothing was clicked at the first position, and others are measured relative to it."
        )
    if len(known) > 1 and not known[1:].any():
        raise AdvisedError(
            "No position can be compared with the first one: no document was shown, and clicked, "
            "both there and elsewhere. Shuffle lists a little, log another ranker too, or",
            "use PositionBias(method='em').fit(log, features).",
            "let features tell: pbm, with --features FILE.",
        )


def _notes(known: Flags, swaps: Swaps) -> tuple[str, ...]:
    """Why positions are not known, a sentence for each reason."""
    clicked, swapped = swaps.clicks > 0, swaps.n_swapped() > 0
    reasons = (
        ("has no click", "have no click", ~known & ~clicked),
        (
            "shows no document that was shown elsewhere",
            "show no document that was shown elsewhere",
            ~known & clicked & ~swapped,
        ),
        (
            "has no clicks to compare with the first position",
            "have no clicks to compare with the first position",
            ~known & clicked & swapped,
        ),
    )
    return tuple(
        f"{positions_named(places).capitalize()} {one if len(places) == 1 else several}."
        for one, several, positions in reasons
        if (places := np.flatnonzero(positions)).size
    )


def positions_named(places: Integers) -> str:
    """Positions in words, counted from 1.

    Examples
    --------
    >>> positions_named(np.array([1])), positions_named(np.array([1, 2, 3, 6]))
    ('position 2', 'positions 2 to 4, 7')
    """
    return f"position{'s' if len(places) > 1 else ''} {ranges((places + 1).tolist())}"


def _kinds(cells: Cells, used: Flags) -> Integers:
    """Documents by the mean logarithm of their positions, in kinds of about equal numbers."""
    pairs = np.repeat(np.arange(len(used)), np.diff(cells.offsets))
    heights = summed(pairs, cells.shown * np.log1p(cells.slots), len(used))
    heights /= np.maximum(summed(pairs, cells.shown, len(used)), 1)
    n_kinds = min(max(int(used.sum()) // _DOCUMENTS_OF_KIND, 1), _MAX_KINDS)
    edges = np.quantile(heights[used], np.arange(1, n_kinds) / n_kinds)
    _, kinds = np.unique(np.searchsorted(edges, heights), return_inverse=True)
    return kinds


def _at(known: Flags, values: Floats) -> Floats:
    """Values at positions that are known, the last axis, and NaN elsewhere."""
    result = np.full((*values.shape[:-1], len(known)), np.nan)
    result[..., known] = values
    return result
