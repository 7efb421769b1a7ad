"""Splits of trees for Solr: every float32 value goes where the ranker sends it.

When Solr loads a model, it adds 1e-6 to each threshold, in float32. It then sends a document left
if its value is at most the sum. A threshold is therefore written so that the sum, rounded as Solr
rounds it, is the wanted limit. For some limits, nearly all of them below 1e-6, no float32 gives
that sum. Then Solr divides the feature's values by a power of two. This loses no bit, and the
slack becomes too small to change a limit. A value that becomes infinite still goes the right way.

A missing value that is not zero is NaN, and NaN goes right at every split of Solr. If it should go
left, the values change their sign and the branches are swapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Flags, Floats
from localrank.export._node_tables import largest_single_at_most
from localrank.trees import Leaf, Split, Trees
from localrank.trees._columns import DEFAULT_LEFT, MISSING

Singles = NDArray[np.float32]
# A split's feature, threshold and decision.
Key = tuple[int, float, int]

# Solr adds this to thresholds.
SLACK = np.float32(1e-6)
# A limit above 32 does not change when the slack is added. A smaller limit becomes larger than 32
# when it is divided by this number, because no limit but zero is closer to zero than 1e-35.
MAGNIFIER = 2.0**-122


@dataclass(frozen=True)
class ScaledFeature:
    """A feature, as Solr divides its values.

    Parameters
    ----------
    feature : int
    divisor : float
        Solr divides values by this number: 1 or `MAGNIFIER`, or their negatives, which swap the
        branches.
    """

    feature: int
    divisor: float


@dataclass(frozen=True)
class WrittenSplit:
    """A split in the file: divided values up to `threshold` plus slack go left."""

    scaled: ScaledFeature
    threshold: np.float32


def comparisons(trees: Trees) -> dict[Key, WrittenSplit]:
    """The comparison to write for each split.

    A feature is divided in one way only if that can express all of its splits.

    Parameters
    ----------
    trees : Trees
        Trees with plain thresholds, without splits that treat zero as missing.
    """
    keys: dict[int, dict[tuple[float, int], None]] = {}
    columns = (trees.split_features, trees.thresholds, trees.decisions)
    for feature, *split in zip(*(column.tolist() for column in columns), strict=True):
        keys.setdefault(feature, {})[split[0], split[1]] = None
    apart = missing_apart(trees)
    result: dict[Key, WrittenSplit] = {}
    for feature, splits in keys.items():
        mirrored = [key for key in splits if feature in apart and _sends_missing_left(*key)]
        plain = [key for key in splits if key not in mirrored]
        for group, sign in ((plain, 1.0), (mirrored, -1.0)):
            limits = _limits(np.array([threshold for threshold, _ in group]), sign)
            for key, comparison in zip(group, _expressed(feature, limits, sign), strict=True):
                result[feature, *key] = comparison
    return result


def missing_apart(trees: Trees) -> set[int]:
    """The features for which some split treats missing values and zeros differently."""
    return set(trees.split_features[trees.decisions & MISSING > 0].tolist())


def _sends_missing_left(threshold: float, decision: int) -> bool:
    return bool(decision & DEFAULT_LEFT) if decision & MISSING else threshold >= 0


def _limits(thresholds: Floats, sign: float) -> Singles:
    """The largest float32 that goes left, or minus the smallest that goes right (sign -1)."""
    limits = largest_single_at_most(thresholds).astype(np.float32)
    if sign > 0:
        return limits
    with np.errstate(over="ignore"):
        return -np.nextafter(limits, np.float32(np.inf))


def _expressed(feature: int, limits: Singles, sign: float) -> Iterable[WrittenSplit]:
    thresholds, is_plain = before_slack(limits)
    with np.errstate(over="ignore"):
        magnified = limits / np.float32(MAGNIFIER)
    # An infinite limit would also send values left that overflow when they are magnified.
    one_is_enough = not is_plain.all() and np.isfinite(magnified).all()
    magnify = np.full(len(limits), True) if one_is_enough else ~is_plain
    divisors = sign * np.where(magnify, MAGNIFIER, 1.0)
    scaled = [ScaledFeature(feature, divisor) for divisor in divisors.tolist()]
    return map(WrittenSplit, scaled, np.where(magnify, magnified, thresholds))


def before_slack(limits: Singles) -> tuple[Singles, Flags]:
    """Thresholds that become the limits when Solr adds its slack, and whether they do so exactly.

    Parameters
    ----------
    limits : ndarray of float32

    Examples
    --------
    >>> before_slack(np.array([0.5, 1e-35], np.float32))
    (array([ 4.99999e-01, -1.00000e-06], dtype=float32), array([ True, False]))
    """
    thresholds = limits - SLACK
    return thresholds, thresholds + SLACK == limits


def node(
    tree: Split | Leaf, names: Mapping[ScaledFeature, str], written: Mapping[Key, WrittenSplit]
) -> dict[str, Any]:
    """A tree in Solr's JSON, where numbers are texts.

    Parameters
    ----------
    tree : Split or Leaf
    names : mapping
        Names of the divided features in the feature store.
    written : mapping
        The result of `comparisons`.
    """
    if isinstance(tree, Leaf):
        return {"value": text(np.float32(tree.value))}
    comparison = written[tree.feature, tree.threshold, tree.decision]
    left, right = (node(branch, names, written) for branch in (tree.left, tree.right))
    if comparison.scaled.divisor < 0:
        left, right = right, left
    return {
        "feature": names[comparison.scaled],
        "threshold": text(comparison.threshold),
        "left": left,
        "right": right,
    }


def text(number: np.float32) -> str:
    """The shortest text that Java reads as this float.

    Examples
    --------
    >>> text(np.float32(0.1)), text(np.float32(-np.inf))
    ('0.1', '-Infinity')
    """
    return str(number).replace("inf", "Infinity")
