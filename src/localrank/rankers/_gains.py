"""Gains of labels, for rankers that weigh documents by them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank._base.rules import Rule, number
from localrank.data import RankingDataset
from localrank.rankers._inputs import has_two_labels
from localrank.rankers._training import teaching
from localrank.rankers.base import Ranker, Weights

# Labels up to this are grades, each worth about twice the one below. Larger labels are counts.
HIGHEST_GRADE = 30
# The highest level of labels that are not whole grades. Levels are fine enough to tell labels apart
# if one is a hundred times as high as the others.
HIGHEST_LEVEL = 15
# The same bound as for features and labels.
HIGHEST_GAIN = 1e100

# The gain of a label: a rule, or the gains of the labels 0, 1, 2 and so on.
Gain = Literal["exponential", "linear"] | Sequence[float] | None
_one_gain = number(least=0, most=HIGHEST_GAIN)


def _is_gain(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value in (None, "exponential", "linear")
    return (
        isinstance(value, list | tuple)
        and all(_one_gain.holds(gain, {}) for gain in value)
        and len(value) > 1
        and value[-1] > value[0]
        and all(low <= high for low, high in pairwise(value))
    )


a_gain = Rule(
    lambda value, _: _is_gain(value),
    "'exponential', 'linear', None or a list of the gains of the labels 0, 1, 2 and so on: "
    "numbers from 0 to 1e100 that never fall, the last above the first",
)


def differ_in_gain(dataset: RankingDataset, gain: Gain) -> Flags:
    """Whether each query has documents with different gains."""
    if gain is None:
        return has_two_labels(dataset)
    worth = gains(np.stack(dataset.label_bounds), gain)
    return np.asarray(worth[0] < worth[1])


def lesson_of_gain(gain: Gain) -> str:
    """What a query needs so that there is something to learn, for error messages."""
    return "two different labels" if gain is None else "labels of two different gains"


def check_gains(ranker: Ranker, dataset: RankingDataset, query_weights: Weights) -> None:
    """Refuse queries whose labels differ, as `fit` checks, but not in their gains."""
    if ranker.gain is not None:
        teaching(ranker, dataset, query_weights)


def gains(labels: Floats, gain: Gain = None) -> Floats:
    """The gain of each label: 0 or larger, and not smaller for a larger label.

    None: labels up to 30 are grades, and gain 2^y - 1 as in NDCG. If labels are larger, such as
    counts of clicks, the gain is y: with 2^y, only the highest count of a query would matter.
    "exponential" and "linear" choose one of the two for any labels. If the lowest label is
    negative, gains are counted from it: 2^y - 2^lowest, or y - lowest. A list holds the gains of
    the labels 0, 1, 2 and so on.

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 2.5])).round(2)
    array([0.  , 1.  , 4.66])
    >>> gains(np.array([-2.0, 0.0, 1.0]))
    array([0.  , 0.75, 1.75])
    >>> gains(np.array([0.0, 3.0, 500.0]))
    array([  0.,   3., 500.])
    >>> gains(np.array([0.0, 1.0, 2.0]), [0, 2, 5])
    array([0., 2., 5.])
    """
    if gain is not None and not isinstance(gain, str):
        return _listed(labels, gain)
    lowest, highest = min(float(labels.min()), 0.0), float(labels.max())
    if gain == "linear" or (gain is None and highest - lowest > HIGHEST_GRADE):
        return labels - lowest
    if highest > np.log2(HIGHEST_GAIN):
        raise ValueError(
            f"gain='exponential' is too large for the label {highest:g}: 2^{highest:g}. "
            f"Use gain='linear', or gain=None: then labels above {HIGHEST_GRADE} are counts."
        )
    worth: Floats = np.exp2(labels) - np.exp2(lowest)
    return worth


def _listed(labels: Floats, gain: Sequence[float]) -> Floats:
    """The entry of a list of gains for each label."""
    known = (labels == np.round(labels)) & (labels >= 0) & (labels < len(gain))
    if not known.all():
        raise ValueError(
            f"A list of {len(gain)} gains is for the labels 0 to {len(gain) - 1}. The training "
            f"data has the label {labels[~known].flat[0]:g}."
        )
    return np.asarray(gain, dtype=np.float64)[labels.astype(np.int64)]


def targets(dataset: RankingDataset, gain: Gain = None) -> Floats:
    """Each document's share of its query's gains; 0 in a query without any gain.

    Examples
    --------
    >>> lists = RankingDataset.from_arrays(np.zeros((4, 1)), [0, 1, 2, 0], ["a", "a", "a", "b"])
    >>> targets(lists)
    array([0.  , 0.25, 0.75, 0.  ])
    """
    starts, query, labels = dataset.offsets[:-1], dataset.query_index, dataset.labels
    rule = gain
    if rule is None and labels.max() <= HIGHEST_GRADE:
        rule = "exponential"
    if rule != "exponential" or labels.min() < 0:
        worth = gains(labels, gain)
    else:
        best = dataset.label_bounds[1][query]
        best = np.where(best > 0, best, 1.0)
        # Relative to the largest gain of the query, so that small labels keep their digits.
        worth = np.exp2(labels - best) * np.expm1(-np.log(2) * labels)
        worth /= np.expm1(-np.log(2) * best)
    totals = np.add.reduceat(worth, starts)[query]
    shares: Floats = worth / np.where(totals > 0, totals, 1.0)
    return shares


def levels(labels: Floats, gain: Gain = None) -> Floats:
    """Labels as whole numbers y such that 2^y - 1 is roughly proportional to the gain.

    With None, whole labels from 0 to 30 stay unchanged. If gains are given, gains of 2^y - 1 with
    such y are exact. Other labels get levels from 0 to 15:
    log2(1 + 32767 gain / highest gain), rounded.

    Examples
    --------
    >>> levels(np.array([0.0, 3.0, 500.0]))
    array([ 0.,  8., 15.])
    >>> levels(np.array([0.0, 0.1, 0.2, 0.4]))
    array([ 0., 13., 14., 15.])
    >>> levels(np.array([0.0, 1.0, 2.0]), [0, 1, 7])
    array([0., 1., 3.])
    """
    worth = gains(labels, gain)
    whole = labels if gain is None else np.log2(1 + worth)
    if (whole == np.round(whole)).all() and whole.min() >= 0 and whole.max() <= HIGHEST_GRADE:
        return whole
    highest = worth.max()
    share = worth / highest if highest > 0 else worth
    whole_levels: Floats = np.round(np.log2(1 + (2**HIGHEST_LEVEL - 1) * share))
    return whole_levels
