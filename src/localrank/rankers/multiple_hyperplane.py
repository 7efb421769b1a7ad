"""The multiple hyperplane ranker."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from itertools import combinations
from typing import ClassVar, Literal, Self

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.estimator import check_is_fitted, clone
from localrank._base.parallel import one_thread
from localrank._base.rules import Rules, floats, instance, number, one_of, optional, refuse, whole
from localrank.aggregation import Aggregator, Borda
from localrank.data import RankingDataset
from localrank.data._content_order import content_order
from localrank.data._offsets import offsets_of
from localrank.persistence.keeping import Lesson, trained_models
from localrank.rankers._aggregated import Aggregated
from localrank.rankers._gains import levels
from localrank.rankers._inputs import admitted_to, checked_same, has_two_labels
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.rankers.rank_svm.rank_svm import RankSVM
from localrank.registry import declare

# Rounding may put a whole number of documents this much above it.
_ROUNDING = 1e-9
# Labels with more different values are put into fewer levels, unless they are grades.
MAX_LEVELS = 20


@declare(
    "multiple-hyperplanes",
    "one ranker per pair of relevance levels, rankings aggregated",
)
class MultipleHyperplaneRanker(Aggregated):
    """Trains a ranker for each pair of relevance levels, and aggregates their rankings of a query.

    The features that separate the best documents from the good ones may not separate the good ones
    from the bad. Each ranker therefore learns only from pairs of documents with its two labels, in
    the same query [1]. It then ranks all documents of a query. The `aggregator` merges the lists
    of all rankers into one. With two levels, the ranking is the same as by `ranker` alone.

    Parameters
    ----------
    ranker : Ranker, optional
        The ranker to train for each pair. None: RankSVM(), whose `label_pairs` is set to each
        pair. A clone of any other ranker is fitted to the documents with the two labels,
        relabelled 1 and 0.
    pairs : {"all", "adjacent", "sampled", "overlapping"}, default="all"
        "all": every pair of levels. "adjacent": neighbouring levels. "sampled": `n_pairs` pairs
        drawn at random. "overlapping": every cut of the levels into an upper and a lower part;
        a ranker learns from all pairs of documents on the two sides of its cut, whose labels are 1
        and 0 for it. Documents far apart are then on two sides of several cuts.
    n_pairs : int, optional
        Number of pairs to draw with `pairs="sampled"`, at most all. None: one less than the number
        of levels.
    sampling_rate : float, default=1.0
        Share of the documents that each ranker learns from, drawn separately for each ranker. The
        share applies to every query and label, and is rounded up: no query loses a label. The
        number of document pairs shrinks by about the square of the rate. 1: use all documents.
    aggregator : Aggregator, optional
        Aggregator from `localrank.aggregation`. None: Borda(). `WeightedBorda(weights=…)` takes one
        weight for each pair of levels, in the order of `level_pairs_`.
    weights_from : {"training", "validation"}, default="training"
        Queries that an aggregator with weights learns from. "training": all training queries, as
        in the paper's experiments. "validation": the validation queries given to `fit`.
    n_jobs : int or None, default=None
        Number of rankers trained at the same time, with one thread each. None: one. -1: one per
        core. The result does not depend on it.
    random_state : int or None, default=0
        Seed of the drawn pairs and documents.

    Attributes
    ----------
    level_pairs_ : ndarray of shape (n_rankers, 2)
        The labels (high, low) of each ranker, from the highest down. With `pairs="overlapping"`,
        the lowest label of the upper part and the highest of the lower part.
    rankers_ : list of Ranker
        The trained rankers.
    n_rankers_ : int
    skipped_pairs_ : ndarray of shape (n_skipped_pairs, 2)
        Pairs of labels that no training query has together. Nothing can be learned from them.
    n_skipped_pairs_ : int
    aggregator_ : Aggregator
        The aggregator, fitted if it learns.

    Notes
    -----
    A document's score depends on the other documents of its query, and means nothing beyond
    their order. If there are many levels and the highest are rare, most rankers learn from little
    data and still have the same vote. WeightedBorda then ranked far better than the other
    aggregators. More than 20 different labels, such as real numbers and counts, are put into
    levels from 0 to 15 as in `CrossEntropyMART`, unless they are whole numbers from 0 to 30;
    `level_pairs_` then holds levels.

    References
    ----------
    1. Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> ranker = MultipleHyperplaneRanker(pairs="adjacent").fit(dataset)
    >>> ranker.level_pairs_
    array([[4., 3.],
           [3., 2.],
           [2., 1.],
           [1., 0.]])
    """

    _parameters: ClassVar[Rules] = {
        "ranker": optional(instance(Ranker, "a ranker")),
        "pairs": one_of("all", "adjacent", "sampled", "overlapping"),
        "n_pairs": optional(whole(1)),
        "sampling_rate": number(above=0, most=1),
        "weights_from": one_of("training", "validation"),
    }

    _fitted: ClassVar[Rules] = {
        "n_rankers_": whole(1, name="n_rankers"),
        "level_pairs_": floats("n_rankers", 2),
        "skipped_pairs_": floats("n_skipped", 2),
        "n_skipped_pairs_": whole(0, name="n_skipped"),
    }

    def __init__(
        self,
        ranker: Ranker | None = None,
        *,
        pairs: Literal["all", "adjacent", "sampled", "overlapping"] = "all",
        n_pairs: int | None = None,
        sampling_rate: float = 1.0,
        aggregator: Aggregator | None = None,
        weights_from: Literal["training", "validation"] = "training",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.ranker = ranker
        self.pairs = pairs
        self.n_pairs = n_pairs
        self.sampling_rate = sampling_rate
        self.aggregator = aggregator
        self.weights_from = weights_from
        self.n_jobs = n_jobs
        self.random_state = random_state

    def learns_from(self, dataset: RankingDataset) -> Flags:
        if self.pairs != "adjacent":
            return has_two_labels(dataset)
        _, present = _presence(_graded(dataset)[0])
        return np.asarray((present[:, 1:] & present[:, :-1]).any(axis=1))

    def pair_scores(self, dataset: RankingDataset) -> dict[tuple[float, float], Array]:
        """Scores of the documents by each ranker, in input order. Keys are labels (high, low).

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> scores = MultipleHyperplaneRanker().fit(dataset).pair_scores(dataset)
        >>> len(scores), scores[4.0, 0.0].shape == (dataset.n_documents,)
        (10, True)
        """
        dataset = admitted_to(self, dataset, None)
        pairs = map(tuple, self.level_pairs_.tolist())
        return {
            pair: dataset.in_input_order(model.predict_rows(dataset))
            for pair, model in zip(pairs, self.rankers_, strict=True)
        }

    def with_aggregator(self, aggregator: Aggregator, dataset: RankingDataset) -> Self:
        """A copy with the same rankers and another aggregator.

        Parameters
        ----------
        aggregator : Aggregator
            The new aggregator. It stays unchanged: a clone is used, and learns from `dataset` if
            it has weights to learn.
        dataset : RankingDataset
            Training or validation queries.

        Examples
        --------
        >>> from localrank.aggregation import MedianRank
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> ranker = MultipleHyperplaneRanker().fit(dataset)
        >>> ranker.with_aggregator(MedianRank(), dataset).rankers_ is ranker.rankers_
        True
        """
        check_is_fitted(self, "rankers_")
        if not isinstance(aggregator, Aggregator):
            raise ValueError(f"An aggregator is one of localrank.aggregation. Got {aggregator!r}.")
        dataset = checked_same(self, dataset)
        twin = copy(self)
        twin.aggregator = aggregator
        twin._keep(self.rankers_, aggregator, dataset)
        return twin

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        if getattr(self.ranker, "label_pairs", None) is not None:
            refuse(self, "ranker", "one without label_pairs, which are set to each pair in turn")
        if self.n_pairs is not None and self.pairs != "sampled":
            refuse(self, "n_pairs", "None unless pairs='sampled'")
        lesson = (dataset, query_weights) if self.weights_from == "training" else (valid, None)
        if lesson[0] is None:
            refuse(self, "weights_from", "'training' unless `fit` is given validation queries")
        graded, valid = _graded(dataset, valid)
        used, skipped = self._level_pairs(graded, query_weights)
        if self.sampling_rate < 1:
            # Sorted by content: another order of the rows must not change the sample.
            rows, queries = content_order(graded, 0)
            graded = graded.reordered(rows, queries)
            query_weights = None if query_weights is None else query_weights[queries]
        ranker = one_thread(RankSVM() if self.ranker is None else self.ranker)
        split = _in_two if self.pairs == "overlapping" else _with_labels
        seeds = np.random.SeedSequence(self.random_state).spawn(len(used))

        items = list(zip(used, seeds, strict=True))
        rankers = trained_models(
            partial(_train, ranker, self.sampling_rate, split),
            items,
            [
                Lesson(
                    ranker,
                    graded,
                    query_weights,
                    valid,
                    besides=f"{self.sampling_rate} {split.__name__} {item}",
                )
                for item in items
            ],
            shared=(graded, query_weights, valid),
            n_jobs=self.n_jobs,
            description="Pairs of labels",
        )
        self._keep(rankers, self.aggregator or Borda(), *lesson)
        self.level_pairs_ = np.array(used)
        self.skipped_pairs_ = np.array(skipped).reshape(-1, 2)
        self.n_rankers_, self.n_skipped_pairs_ = len(used), len(skipped)

    def _level_pairs(
        self, dataset: RankingDataset, query_weights: Weights
    ) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """The pairs (high, low) to learn from, and those that no query has together."""
        known, present = _presence(dataset)
        if query_weights is not None:
            present = present[query_weights > 0]
        together = present.T.astype(np.float64) @ present > 0
        places = list(combinations(range(len(known))[::-1], 2))
        if self.pairs == "overlapping":
            for high in range(1, len(known)):
                together[high, high - 1] = together[high:, :high].any()
        if self.pairs in ("adjacent", "overlapping"):
            places = [(high, low) for high, low in places if high == low + 1]
        usable = [place for place in places if together[place]]
        if not usable:
            raise ValueError(
                "There is nothing to learn: no query of positive weight has documents of two "
                f"levels that pairs={self.pairs!r} puts together."
            )
        used = usable
        if self.pairs == "sampled":
            n_pairs = len(known) - 1 if self.n_pairs is None else self.n_pairs
            rng = np.random.default_rng(self.random_state)
            drawn = rng.choice(len(usable), min(n_pairs, len(usable)), replace=False)
            used = [usable[i] for i in np.sort(drawn)]

        def labels(chosen: list[tuple[int, int]]) -> list[tuple[float, float]]:
            return [(float(known[high]), float(known[low])) for high, low in chosen]

        return labels(used), labels([place for place in places if place not in usable])


Pair = tuple[float, float]
# Documents relabelled 1 and 0 for a pair of labels, and the queries that have any.
Split = Callable[[RankingDataset, Pair], tuple[RankingDataset, Integers]]


def _train(
    ranker: Ranker,
    sampling_rate: float,
    split: Split,
    pair_and_seed: tuple[Pair, np.random.SeedSequence],
    dataset: RankingDataset,
    query_weights: Weights,
    valid: HeldOut,
) -> Ranker:
    """Train a clone of the ranker for a pair of labels."""
    pair, seed = pair_and_seed
    model: Ranker = clone(ranker)
    if sampling_rate < 1:
        dataset = _sampled(dataset, sampling_rate, np.random.default_rng(seed))
    if isinstance(model, RankSVM) and split is _with_labels:
        model.set_params(label_pairs=[pair])
        return model.fit_rows(dataset, query_weights, valid)
    part, queries = split(dataset, pair)
    weights = None if query_weights is None else query_weights[queries]
    return model.fit_rows(part, weights, _held_out(valid, pair, split))


def _graded(dataset: RankingDataset, valid: HeldOut = None) -> tuple[RankingDataset, HeldOut]:
    """Training and validation queries with few different labels."""
    known, place = np.unique(dataset.labels, return_inverse=True)
    if len(known) <= MAX_LEVELS:
        return dataset, valid
    grades = levels(known)
    if valid is not None:
        # A label unknown in training gets the level of the next lower known label.
        places = np.maximum(np.searchsorted(known, valid.labels, side="right") - 1, 0)
        valid = valid.replaced(relevance=grades[places])
    return dataset.replaced(relevance=grades[place]), valid


def _sampled(dataset: RankingDataset, rate: float, rng: np.random.Generator) -> RankingDataset:
    """A random sample of each query's documents of each label: this share, rounded up."""
    known, place = np.unique(dataset.labels, return_inverse=True)
    strata = dataset.query_index * len(known) + place
    order = np.lexsort((rng.random(len(strata)), strata))
    _, first, sizes = np.unique(strata[order], return_index=True, return_counts=True)
    number = np.arange(len(order)) - np.repeat(first, sizes)
    drawn = np.maximum(np.ceil(rate * sizes - _ROUNDING), 1)
    rows = np.sort(order[number < np.repeat(drawn, sizes)])
    counts = np.bincount(dataset.query_index[rows], minlength=dataset.n_queries)
    return dataset.with_rows(rows, offsets_of(counts), np.arange(dataset.n_queries))


def _presence(dataset: RankingDataset) -> tuple[Floats, Flags]:
    """The labels, ascending, and which of them each query has."""
    labels, place = np.unique(dataset.labels, return_inverse=True)
    present = np.zeros((dataset.n_queries, len(labels)), dtype=bool)
    present[dataset.query_index, place] = True
    return labels, present


def _in_two(dataset: RankingDataset, pair: Pair) -> tuple[RankingDataset, Integers]:
    """All documents, labelled 1 from the pair's high label up and 0 below."""
    upper = (dataset.labels >= pair[0]).astype(np.float64)
    return dataset.replaced(relevance=upper), np.arange(dataset.n_queries)


def _with_labels(dataset: RankingDataset, pair: Pair) -> tuple[RankingDataset, Integers]:
    """The documents with one of two labels, relabelled 1 and 0, and the queries that have any."""
    rows = np.flatnonzero(np.isin(dataset.labels, pair))
    queries, sizes = np.unique(dataset.query_index[rows], return_counts=True)
    part = dataset.with_rows(rows, offsets_of(sizes), queries)
    return part.replaced(relevance=(part.labels == pair[0]).astype(np.float64)), queries


def _held_out(valid: HeldOut, pair: Pair, split: Split) -> HeldOut:
    """Validation documents as in training; as they are if no query then has both labels."""
    if valid is None or not np.isin(valid.labels, pair).any():
        return valid
    part, _ = split(valid, pair)
    return part if has_two_labels(part).any() else valid
