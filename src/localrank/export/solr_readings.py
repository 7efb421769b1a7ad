"""Splits of trees as Solr compares them: every float32 value goes where LightGBM sends it.

Solr adds 1e-6 to a threshold when it loads the model, in float32, and then sends a document left
if its value is at most the sum. A threshold is therefore written so that the sum, rounded as Solr
rounds it, is the wanted number. Near zero no float32 gives some of the sums. There a second reading
of the field is used: the value divided by 2^-123, which loses no bit, and beside which 1e-6 is
nothing. A value beyond the range of float32 becomes an infinity, which goes the right way.

A missing value is NaN and goes right at every split of Solr. Where it should go left, the field is
read with its sign changed and the branches change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank.formulas import NotExportable
from localrank.trees import Leaf, Split, Trees

Singles = NDArray[np.float32]
# A split's feature, threshold and decision.
Key = tuple[int, float, int]

# What Solr adds to thresholds.
SLACK = np.float32(1e-6)
# Lifts LightGBM's smallest threshold, 1e-35, above 64, from where the slack changes no float32.
MAGNIFIER = 2.0**-123

# LightGBM's flags of decisions, as in `Trees`.
_LEFT, _ZERO, _NAN = 2, 4, 8


@dataclass(frozen=True)
class Reading:
    """A way to read a feature's field.

    Parameters
    ----------
    feature : int
    divisor : float
        What Solr divides values by: 1 or `MAGNIFIER`, or their negatives, which swap branches.
    """

    feature: int
    divisor: float


@dataclass(frozen=True)
class Comparison:
    """A split as it is written: values at most `threshold` plus the slack go left.

    Parameters
    ----------
    reading : Reading
    threshold : float32
    """

    reading: Reading
    threshold: np.float32


def with_slack(limits: Singles) -> tuple[Singles, NDArray[np.bool_]]:
    """Thresholds that become the given numbers when Solr adds its slack, and whether they do.

    Parameters
    ----------
    limits : ndarray of float32

    Examples
    --------
    >>> with_slack(np.array([0.5, 1e-35], np.float32))
    (array([ 4.99999e-01, -1.00000e-06], dtype=float32), array([ True, False]))
    """
    with np.errstate(invalid="ignore", over="ignore"):
        nearest = limits - SLACK
        down, up = (np.nextafter(nearest, np.float32(side)) for side in (-np.inf, np.inf))
        candidates = np.stack([nearest, down, up])
        hits = candidates + SLACK == limits
    best = np.argmax(hits, axis=0)
    return np.take_along_axis(candidates, best[None], axis=0)[0], hits.any(axis=0)


def comparisons(trees: Trees) -> dict[Key, Comparison]:
    """How each split is written, by its feature, threshold and decision.

    A feature has one reading where one can express all of its splits.

    Parameters
    ----------
    trees : Trees
    """
    result: dict[Key, Comparison] = {}
    for feature in np.unique(trees.split_features).tolist():
        of_feature = trees.split_features == feature
        keys = list(
            dict.fromkeys(
                zip(
                    trees.thresholds[of_feature].tolist(),
                    trees.decisions[of_feature].tolist(),
                    strict=True,
                )
            )
        )
        thresholds = np.array([threshold for threshold, _ in keys])
        lefts = _missing_left(keys)
        for side in (False, True):
            chosen = np.flatnonzero(lefts == side)
            for index, comparison in zip(
                chosen, _expressed(feature, thresholds[chosen], mirrored=side), strict=True
            ):
                result[feature, *keys[index]] = comparison
    return result


def tells_missing(trees: Trees) -> set[int]:
    """The features whose missing values have a branch of their own at some split."""
    return set(trees.split_features[trees.decisions & _NAN > 0].tolist())


def _missing_left(keys: Sequence[tuple[float, int]]) -> NDArray[np.bool_]:
    """Whether a missing value must be sent left, where Solr can tell it from a number."""
    if any(decision & _ZERO for _, decision in keys):
        raise NotExportable(
            "A model that takes zeros for missing values",
            "Solr compares zeros as it does other numbers",
            "Train without zero_as_missing.",
        )
    if not any(decision & _NAN for _, decision in keys):
        # A missing value is read as zero, here as in LightGBM.
        return np.zeros(len(keys), bool)
    return np.array(
        [bool(decision & _LEFT) if decision & _NAN else limit >= 0 for limit, decision in keys]
    )


def _expressed(
    feature: int, thresholds: NDArray[np.float64], *, mirrored: bool
) -> Iterator[Comparison]:
    """Comparisons of one feature's values, all plain or all mirrored."""
    limits = _at_most(thresholds)
    if mirrored:
        # Left are those that are not at most the threshold: at least the number after it.
        limits = np.nextafter(limits, np.float32(np.inf))
    sign = -1.0 if mirrored else 1.0
    plain, is_plain = with_slack(np.float32(sign) * limits)
    magnified, is_magnified = _magnified(np.float32(sign) * limits)
    if not (is_plain | is_magnified).all():
        worst = thresholds[np.argmin(is_plain | is_magnified)]
        raise NotExportable(
            f"A tree that compares a feature with {worst:.3g}",
            "Solr adds 1e-6 to it in float32, and the sum cannot be told from other numbers",
            "Multiply the feature by a power of ten and train again.",
        )
    # One reading is enough where it expresses all, and a value that is not magnified reads better.
    alone = is_magnified.all() and not is_plain.all()
    for index, magnify in enumerate(is_magnified if alone else ~is_plain):
        reading = Reading(feature, sign * (MAGNIFIER if magnify else 1.0))
        yield Comparison(reading, (magnified if magnify else plain)[index])


def _at_most(thresholds: NDArray[np.float64]) -> Singles:
    """The largest float32 that are not larger."""
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def _magnified(limits: Singles) -> tuple[Singles, NDArray[np.bool_]]:
    with np.errstate(over="ignore"):
        larger = limits / np.float32(MAGNIFIER)
    thresholds, hits = with_slack(larger)
    # An infinity would also hold values that are too large to be magnified.
    return thresholds, hits & np.isfinite(larger)


def node(
    tree: Split | Leaf, names: Mapping[Reading, str], written: Mapping[Any, Comparison]
) -> Any:
    """A tree as Solr's JSON has it: numbers are texts.

    Parameters
    ----------
    tree : Split or Leaf
    names : mapping
        Names of the readings in the feature store.
    written : mapping
        As `comparisons` gives.
    """
    if isinstance(tree, Leaf):
        return {"value": text(np.float32(tree.value))}
    comparison = written[tree.feature, tree.threshold, tree.decision]
    left, right = (node(branch, names, written) for branch in (tree.left, tree.right))
    if comparison.reading.divisor < 0:
        left, right = right, left
    return {
        "feature": names[comparison.reading],
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
    return str(number).replace("inf", "Infinity").replace("nan", "NaN")
