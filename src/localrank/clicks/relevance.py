"""Relevance from clicks: labels for training, with what is known of their errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.rules import Rule, number, one_of
from localrank.clicks._same_pairs import place_among, shared_keys
from localrank.data import RankingDataset
from localrank.data._checks import first_repeated
from localrank.data._offsets import offsets_of
from localrank.data._sources import locked
from localrank.data.click_log import ClickLog

Prior: TypeAlias = Literal["features", "mean"] | None
Unseen: TypeAlias = Literal["prior", "leave out"]

# Folds of queries, and the trees, that say what features tell of relevance.
N_FOLDS, N_TREES = 5, 100
# Of labels and weights.
_DIGITS = 10
# Fewer documents teach trees nothing. The prior is then the mean.
_FEW_DOCUMENTS = 100


@dataclass(frozen=True, eq=False)
class ClickedRelevance:
    """The relevance of each pair of a log, estimated from its clicks.

    With e the examination of each impression, a pair has the exposure E = Σ e and C clicks, of
    which r E are expected. Without a prior, r is estimated by C / E, which is unbiased. With a
    prior mean m that has the strength of k looks, it is (C + k m) / (E + k), and its variance
    (C + k m) / (E + k)²: the posterior of a gamma prior under Poisson's law.

    With trust bias, for example, people click a document without relevance that they see with the
    probability t. Then the expected number of these clicks, B = Σ e t, is subtracted, and
    E = Σ e (1 - t) [1]_.

    Attributes
    ----------
    clicks, exposure : ndarray of shape (n_pairs,)
        C - B and E. Both are 0 for a pair without impressions.
    mistaken : ndarray of shape (n_pairs,)
        B.
    squares : ndarray of shape (n_pairs,)
        Σ e² (1 - t)², by which the number of clicks varies less than Poisson's law has it.

    References
    ----------
    .. [1] Vardasbi, Oosterhuis, de Rijke. When Inverse Propensity Scoring does not Work. CIKM
       2020.
    """

    clicks: Floats
    exposure: Floats
    mistaken: Floats
    squares: Floats

    @classmethod
    def of(cls, log: ClickLog, bias: Any = None, *, least_examination: float = 0.0) -> Self:
        """Count clicks and exposure.

        Parameters
        ----------
        log : ClickLog
        bias : estimator, array-like or None
            As for `relevance_dataset`.
        least_examination : float, default=0
            Examination below this counts as this.

        Examples
        --------
        >>> log = ClickLog.from_sessions(["q", "q"], [["a", "b"], ["b", "a"]], [[0], [1]])
        >>> counts = ClickedRelevance.of(log, [1, 0.5])
        >>> counts.clicks, counts.exposure, counts.relevance()
        (array([2., 0.]), array([1.5, 1.5]), array([1.33333333, 0.        ]))
        """
        seen = np.maximum(examination(log, bias), least_examination)
        trust = getattr(bias, "trust_", None)
        mistaken, tells = np.zeros(1), seen
        if trust is not None:
            of_impressions = trust[np.minimum(log.positions, len(trust) - 1)]
            mistaken = seen * of_impressions
            tells = np.maximum(seen - mistaken, least_examination)

        def of_pairs(values: Array) -> Floats:
            filled = np.broadcast_to(values, log.pairs.shape)
            return np.bincount(log.pairs, filled, log.n_pairs).astype(np.float64)

        clicks = of_pairs(log.clicks - mistaken)
        return cls(clicks, of_pairs(tells), of_pairs(mistaken), of_pairs(tells * tells))

    @property
    def mean(self) -> float:
        """The relevance of what is seen, at any position: all clicks divided by all exposure."""
        return float(self.clicks.sum() / self.exposure.sum())

    def relevance(self, prior: Floats | float = 0.0, strength: float = 0.0) -> Floats:
        """The estimated relevance of each pair. Without exposure it is the prior."""
        looks = self.exposure + strength
        known = looks > 0
        total = self.clicks + strength * prior
        result: Floats = np.where(known, total / np.where(known, looks, 1.0), prior)
        # Mistaken clicks may be fewer than expected.
        return np.maximum(result, 0.0)

    def variances(self, prior: Floats | float, strength: float) -> Floats:
        """The variance of each estimate."""
        looks = np.maximum(self.exposure + strength, np.finfo(float).tiny)
        by_mistake: Floats = self.mistaken / looks**2
        return self.relevance(prior, strength) / looks + by_mistake

    def strength(self, prior: Floats | float) -> float:
        """How many looks a prior is worth: its mean divided by its variance.

        By the method of moments, the prior's variance is how much clicks differ from the prior,
        beyond what chance explains. Infinite: chance explains all.
        """
        seen = self.exposure > 0
        E, m = self.exposure[seen], np.broadcast_to(prior, seen.shape)[seen]
        chance = E * m - m * m * self.squares[seen] + self.mistaken[seen]
        beyond = float((((self.clicks[seen] - E * m) ** 2 - chance) / E).sum())
        expected = float((E * m).sum())
        # So that it stays a number: as good as infinite.
        return expected / max(beyond, 1e-9 * expected) if expected > 0 else 0.0

    def taken(self, pairs: Integers) -> Self:
        """The counts of some pairs. -1: a pair without impressions."""
        there = pairs >= 0
        return replace(
            self,
            **{name: np.where(there, values[pairs], 0.0) for name, values in vars(self).items()},
        )


def examination(log: ClickLog, bias: Any) -> Floats:
    """The probability that each impression of a log was seen.

    Parameters
    ----------
    log : ClickLog
    bias : estimator with `examination_of`, array-like of shape (n_positions,), or None

    Examples
    --------
    >>> log = ClickLog.from_sessions(["q"], [["a", "b"]], [[0]])
    >>> examination(log, [1, 0.25]), examination(log, None)
    (array([1.  , 0.25]), array([1., 1.]))
    """
    if bias is None:
        return np.ones(log.n_impressions)
    if hasattr(bias, "examination_of"):
        known: Floats = np.asarray(bias.examination_of(log), np.float64)
        return known
    by_position = np.asarray(bias, np.float64)
    if by_position.ndim != 1 or len(by_position) < log.n_positions:
        raise ValueError(
            f"The 'bias' argument must have the examination of each position: {log.n_positions}. "
            f"Got shape {by_position.shape} instead."
        )
    if not ((by_position > 0) & (by_position <= 1)).all():
        raise ValueError(
            f"The 'bias' argument must have numbers above 0 and at most 1: the probability that a "
            f"position is seen. Got {by_position} instead."
        )
    return by_position[log.positions]


def relevance_dataset(
    log: ClickLog,
    features: RankingDataset,
    bias: Any = None,
    *,
    prior: Prior = "features",
    unseen: Unseen = "prior",
    least_examination: float = 0.01,
    rates: Sequence[float] | None = None,
    say: Callable[[str], None] | None = None,
) -> RankingDataset:
    """A dataset whose labels are the relevance estimated from clicks, to train any ranker on.

    The label of a document is `(C + k m) / (E + k)`, with C its clicks, E the sum of the
    examination of its impressions, m the prior of its relevance, and k the looks that the prior is
    worth, which the log decides. The weight of a query is the share of the variance of its labels
    that is not error. Queries whose labels may be due to chance count less.

    Documents are joined by the ids of queries and documents, as texts. A query without sessions is
    left out, and so is an impression of a document without features. `say` is called with their
    numbers, and with the number of documents that were never shown for their query. `unseen` says
    what becomes of these. Documents without ids are known by the number of their row, as in a log
    of `simulate_clicks`; such a log must have no others.

    Parameters
    ----------
    log : ClickLog
    features : RankingDataset
        Its labels are not used.
    bias : estimator, array-like of shape (n_positions,) or None, default=None
        How much is seen: anything with `examination_of`, such as `PositionBias`, fitted; or a
        number for each position. None: everything is seen, and labels are click rates. A click
        model takes the clicks above into account.
    prior : {"features", "mean"} or None, default="features"
        What labels are shrunk to, so that a lucky click on a document that was hardly seen counts
        little. "features": the relevance that the features tell, learned by trees from other
        queries. "mean": the mean of all documents; it lifts documents that were hardly seen. None:
        no shrinkage, no weights, and only documents that were shown.
    unseen : {"prior", "leave out"}, default="prior"
        What becomes of documents that no session of their query has shown. "prior": their label is
        the prior, but at most the mean label of the query's documents that were shown: the system
        that made the lists ranked them lower. "leave out": nothing is learned from them.
    least_examination : float, default=0.01
        Examination below this counts as this: inverse propensities are clipped at its inverse.
    rates : sequence of float or None, default=None
        Rising values of relevance at which the next grade begins, such as [0.1, 0.3]. The label of
        a document is the number of rates that it reaches. For methods that tell relevant documents
        from others, such as `SVMMap`, or learn each grade, such as `McRank`. None: labels are the
        relevance.
    say : callable, optional
        Called with a line about what was left out.

    Returns
    -------
    RankingDataset
        Without `rates`, labels are not grades: 0 or larger, rarely above 1.

    Examples
    --------
    >>> log = ClickLog.from_sessions(["q", "q"], [["a", "b"], ["a", "b"]], [[0], [0, 1]])
    >>> features = RankingDataset.from_arrays(
    ...     [[1.0], [2.0], [3.0]], qid=["q"] * 3, document_ids=["a", "b", "c"]
    ... )
    >>> relevance_dataset(log, features, [1, 0.5], prior=None, say=print).labels
    1 of 3 documents were not shown: left out
    array([1., 1.])
    """
    for name, value, rule in (
        ("prior", prior, one_of("features", "mean", None)),
        ("unseen", unseen, one_of("prior", "leave out")),
        ("least_examination", least_examination, number(above=0, most=1)),
    ):
        _check(name, value, rule)
    _check_rates(rates)
    if prior is None:
        unseen = "leave out"
    pairs = pairs_of_rows(log, features)
    counts = ClickedRelevance.of(log, bias, least_examination=least_examination).taken(pairs)
    shown = counts.exposure > 0
    _tell(log, features, pairs, shown, unseen, say or (lambda line: None))
    if not counts.clicks.any():
        raise ValueError("There is nothing to learn: no document with features was clicked.")
    kept = shown if unseen == "leave out" else features.count(shown)[features.query_index] > 0
    dataset, counts = _only(features, kept), counts.taken(np.flatnonzero(kept))
    if prior is None:
        return _graded(_labelled(dataset, counts.relevance()), rates)
    told: Floats | float = counts.mean
    if prior == "features":
        told = told_by_features(dataset, counts)
    strength = counts.strength(told)
    labels = counts.relevance(told, strength)
    labelled = _labelled(dataset, _unseen_below(dataset, labels, counts.exposure > 0))
    weights = reliability(labelled, counts.variances(told, strength))
    return _graded(labelled, rates).replaced(document_weights=weights)


def pairs_of_rows(log: ClickLog, features: RankingDataset) -> Integers:
    """The pair of a log that each row of features is. -1: the log does not have it.

    Examples
    --------
    >>> log = ClickLog.from_sessions([7], [[1, 2]], [[0]])
    >>> rows = RankingDataset.from_arrays([[0], [0], [0]], qid=[7] * 3, document_ids=[2, 3, 1])
    >>> pairs_of_rows(log, rows)
    array([ 1, -1,  0])
    """
    documents = _names(features)
    keys, wanted = shared_keys(
        (log.query_ids, log.pair_queries, log.document_ids),
        (features.query_ids, features.query_index, documents),
    )
    if (repeated := first_repeated(wanted)) is not None:
        row = np.flatnonzero(wanted == repeated)[1]
        raise ValueError(
            f"The features have document {documents[row]} of query "
            f"{features.query_ids[features.query_index[row]]} twice."
        )
    result = place_among(keys, wanted)
    if features.document_ids is None and (result >= 0).sum() < log.n_pairs:
        raise ValueError(
            "The features have no document ids to join them with the log. Give them: "
            "document_ids=... of from_arrays, the column document_id of a table, or a comment "
            "'docid = ...' in LETOR text."
        )
    return result


def told_by_features(dataset: RankingDataset, counts: ClickedRelevance) -> Floats:
    """The relevance of each row estimated from its features, by trees that have not seen its query.

    Parameters
    ----------
    dataset : RankingDataset
        Its labels are not used.
    counts : ClickedRelevance
        Of its rows.
    """
    from localrank.rankers import GBRT

    shown = counts.exposure > 0
    told = np.full(dataset.n_documents, counts.mean)
    n_folds = min(N_FOLDS, dataset.n_queries)
    if n_folds < 2 or shown.sum() < _FEW_DOCUMENTS:
        return told
    fold = np.empty(dataset.n_queries, np.int64)
    # By ids, so that the order of the queries does not matter.
    fold[np.argsort(dataset.query_ids.astype(np.str_))] = np.arange(dataset.n_queries) % n_folds
    of_rows = fold[dataset.query_index]
    for one in range(n_folds):
        learned, asked = shown & (of_rows != one), of_rows == one
        train = _labelled(_only(dataset, learned), counts.relevance()[learned])
        low, high = train.label_bounds
        if (low == high).all():
            continue
        ranker = GBRT(N_TREES, min_leaf_documents=min(50, max(1, int(learned.sum()) // 20)))
        with warnings.catch_warnings():
            # Nothing to split on: the trees then tell the mean.
            warnings.simplefilter("ignore")
            ranker.fit(train, sample_weight=counts.exposure[learned].round(_DIGITS))
        told[asked] = ranker.predict(_only(dataset, asked))
    # Trees may fall below 0, which no relevance does.
    lowest: Floats = np.maximum(told, 0.01 * counts.mean)
    return lowest


def reliability(dataset: RankingDataset, variances: Floats) -> Floats:
    """The share of the variance of each query's labels that is not error, for each row.

    Labels that are shrunk vary less than relevance does. The variance of relevance is that of the
    labels plus the mean variance of their errors. The mean of all rows is 1.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((4, 1)), [0, 1, 0, 1], [1, 1, 2, 2])
    >>> reliability(dataset, np.array([0, 0, 0.25, 0.25]))
    array([1.33333333, 1.33333333, 0.66666667, 0.66666667])
    """
    starts, sizes = dataset.offsets[:-1], dataset.query_sizes
    means = np.add.reduceat(dataset.labels, starts) / sizes
    spread = np.add.reduceat((dataset.labels - means[dataset.query_index]) ** 2, starts)
    error = np.add.reduceat(variances, starts)
    share = spread / np.maximum(spread + error, np.finfo(float).tiny)
    rows = share[dataset.query_index]
    weights = rows / rows.mean() if rows.any() else np.ones(len(rows))
    return np.asarray(weights.round(_DIGITS))


def _unseen_below(dataset: RankingDataset, labels: Floats, shown: Flags) -> Floats:
    """The labels, of which those of unseen documents are at most the mean of the others."""
    totals = np.add.reduceat(np.where(shown, labels, 0.0), dataset.offsets[:-1])
    means = (totals / dataset.count(shown))[dataset.query_index]
    return np.where(shown, labels, np.minimum(labels, means))


def _graded(dataset: RankingDataset, rates: Sequence[float] | None) -> RankingDataset:
    """The same, with the number of rates that each label reaches as the label."""
    if rates is None:
        return dataset
    grades = np.searchsorted(rates, dataset.labels, side="right").astype(np.float64)
    if grades.min() == grades.max():
        raise ValueError(
            f"All documents reach {grades[0]:g} of the rates {list(rates)}, so that there is "
            f"nothing to learn. Relevance lies between {dataset.labels.min():.3g} and "
            f"{dataset.labels.max():.3g}."
        )
    return dataset.replaced(relevance=locked(grades))


def _check_rates(rates: Sequence[float] | None) -> None:
    if rates is None:
        return
    rise = all(low < high for low, high in pairwise(rates))
    if not len(rates) or not rise or not all(0 < rate < math.inf for rate in rates):
        raise ValueError(
            f"The 'rates' argument of relevance_dataset must be rising numbers above 0, such as "
            f"[0.1, 0.3]. Got {rates!r} instead."
        )


def _check(name: str, value: object, rule: Rule) -> None:
    if not rule.holds(value, {}):
        raise ValueError(
            f"The '{name}' argument of relevance_dataset must be {rule.words}. Got {value!r} "
            f"instead."
        )


def _names(features: RankingDataset) -> Array:
    """The ids of documents, or what `simulate_clicks` calls those without: numbers of rows."""
    if features.document_ids is not None:
        return features.document_ids
    order = features.input_order
    return np.arange(features.n_documents) if order is None else order


def _only(dataset: RankingDataset, rows: Flags) -> RankingDataset:
    """Some documents, without queries that have none of them."""
    sizes = dataset.count(rows)
    kept = np.flatnonzero(sizes)
    return dataset.in_memory().with_rows(np.flatnonzero(rows), offsets_of(sizes[kept]), kept)


def _labelled(dataset: RankingDataset, labels: Floats) -> RankingDataset:
    # The last digits depend on the order of sessions, which no model should.
    return dataset.replaced(relevance=locked(labels.round(_DIGITS)), document_weights=None)


def _tell(
    log: ClickLog,
    features: RankingDataset,
    pairs: Integers,
    shown: Flags,
    unseen: Unseen,
    say: Callable[[str], None],
) -> None:
    """Refuse a log and features that have nothing in common, and say what is left out."""
    if not shown.any():
        raise ValueError(
            f"The log and the features have no document in common. The log has document "
            f"{log.document_ids[log.pairs[0]]} of query {log.query_ids[log.session_queries[0]]}, "
            f"the features have document {_names(features)[0]} of query {features.query_ids[0]}."
        )
    asked = features.count(shown) > 0
    if n_left := int((~asked).sum()):
        say(f"{n_left:,} of {features.n_queries:,} queries have no session: left out")
    n_unseen = int((~shown & asked[features.query_index]).sum())
    if n_unseen:
        of_them = int(features.query_sizes[asked].sum())
        fate = "left out" if unseen == "leave out" else "labelled by what features tell"
        say(f"{n_unseen:,} of {of_them:,} documents were not shown: {fate}")
    known = np.zeros(log.n_pairs, np.bool_)
    known[pairs[pairs >= 0]] = True
    if n_unknown := int((~known[log.pairs]).sum()):
        say(
            f"{n_unknown:,} of {log.n_impressions:,} impressions are of documents without "
            f"features: left out"
        )
