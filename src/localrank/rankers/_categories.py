"""Features of categories at the door of a ranker: codes for those that take them, or 0 and 1.

A ranker that declares `Needs(categories=True)` sees the codes of categories. Every other ranker,
with all of its parts, sees a column of 0 and 1 for each value (`one_hot`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.rules import Rule, Sizes
from localrank.data import RankingDataset
from localrank.data._categories import Categories, one_hot, recoded, with_used

if TYPE_CHECKING:
    from localrank.rankers.base import Ranker

# A feature with more different values than this share of its documents is taken for an id, unless
# it has few of them.
ID_SHARE, N_FEW = 0.5, 50


def _is_categories(value: Any, _: Sizes) -> bool:
    return value is None or (
        isinstance(value, dict)
        and all(
            type(name) is str
            and isinstance(values, tuple)
            and all(type(text) is str for text in values)
            for name, values in value.items()
        )
    )


categories_rule = Rule(_is_categories, "texts by the names of features", may_lack=True)


def takes_codes(ranker: Ranker) -> bool:
    """Whether a ranker sees the codes of categories, not columns of 0 and 1."""
    return ranker.needs.categories and getattr(ranker, "categories", "sets") == "sets"


def learned_from(
    ranker: Ranker, dataset: RankingDataset
) -> tuple[RankingDataset, Categories | None]:
    """Training data as a ranker sees it, and the values of the features of categories."""
    dataset = with_used(dataset)
    if getattr(ranker, "_continues", False):
        return _continued(ranker, dataset)
    categories = dataset.categories
    if not categories:
        return dataset, None
    for name, values in categories.items():
        column = dataset.features[:, _place(dataset, name)]
        n_known = int(np.sum(~np.isnan(column)))
        if len(values) > max(N_FEW, ID_SHARE * n_known):
            raise ValueError(
                f"The feature {name!r} differs in nearly every document: it has {len(values):,} "
                f"values in {n_known:,} documents, such as {values[0]!r}. That is an id or a "
                f"text, and no category. Leave it out: ignore=[{name!r}] of read_table, "
                f"X.drop(columns=[{name!r}]) of a frame, --ignore {name} of a command."
            )
    return (dataset if takes_codes(ranker) else one_hot(dataset)), categories


def _continued(ranker: Ranker, dataset: RankingDataset) -> tuple[RankingDataset, Categories | None]:
    """Training data for a ranker that adds to what it learned before: codes keep their meaning."""
    earlier: Categories | None = getattr(ranker, "categories_", None)
    if earlier and takes_codes(ranker):
        given = dataset.categories or {}
        # New values come after those that are known.
        earlier = {
            name: (*values, *sorted(set(given.get(name, ())) - set(values)))
            for name, values in earlier.items()
        }
    return as_seen(ranker, dataset, earlier, ranker._door.feature_names), earlier


def as_seen(
    ranker: Ranker,
    dataset: RankingDataset,
    learned: Categories | None,
    trained: tuple[str, ...] | None,
) -> RankingDataset:
    """Documents as a ranker sees them.

    Values have the codes of the training data. A value that was not in training is a missing
    value.

    Parameters
    ----------
    ranker : Ranker
    dataset : RankingDataset
    learned : mapping or None
        The values of the features of categories in training.
    trained : tuple of str or None
        The names of the features that the ranker was fitted on.
    """
    learned, given = learned or {}, dataset.categories or {}
    if not learned and not given:
        return dataset
    names, kind = dataset.feature_names or (), type(ranker).__name__
    coded = takes_codes(ranker)
    if learned and not given and not coded and names == trained:
        # It has the columns of 0 and 1 already.
        return dataset
    for name in learned:
        if not names:
            raise ValueError(
                f"{kind} was fitted on categories of {name!r}, which it finds by the name of the "
                f"feature, and the features have no names. Give a DataFrame, or feature_names."
            )
        if name not in names:
            raise ValueError(f"{kind} was fitted on other features. The dataset lacks {name!r}.")
    for name in given:
        if name not in learned:
            raise ValueError(
                f"The feature {name!r} holds texts or categories, and {kind} was not fitted on "
                f"categories of that name. Leave it out, or give it as numbers, as in training."
            )
    dataset = recoded(dataset, learned)
    return dataset if coded else one_hot(dataset)


def named_for(ranker: Ranker, dataset: RankingDataset) -> RankingDataset:
    """Made-up documents with the names and categories that a fitted ranker asks for."""
    learned: Categories | None = getattr(ranker, "categories_", None)
    if not learned:
        return dataset
    codes = learned if takes_codes(ranker) else None
    return dataset.replaced(feature_names=ranker._door.feature_names, categories=codes)


def _place(dataset: RankingDataset, name: str) -> int:
    return (dataset.feature_names or ()).index(name)
