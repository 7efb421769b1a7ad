"""Which way a document without a value goes at the splits of trees."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Flags
from localrank.trees import Trees

# LightGBM's decisions: 2 sends missing values left; 4 if zero and NaN are missing, 8 if NaN is.
DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8
# LightGBM's zero: values no farther from it.
ZERO = 1e-35


def left_if_missing(trees: Trees) -> Flags:
    """Whether a missing value goes left, for each split.

    Where a split knows no missing values, they count as zero.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> trees = LambdaMART(1, n_leaves=2).fit(dataset).trees_
    >>> bool(left_if_missing(trees)[0]) == bool(trees.thresholds[0] >= 0)
    True
    """
    has_default = (trees.decisions & (MISSING_ZERO | MISSING_NAN)) != 0
    default = (trees.decisions & DEFAULT_LEFT) != 0
    flags: Flags = np.where(has_default, default, trees.thresholds >= 0)
    return flags
