"""Features that are categories: a code for each value, and columns of 0 and 1 made of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank.data._checks import is_missing, is_text

if TYPE_CHECKING:
    from localrank.data.dataset import RankingDataset

# The values of each feature of categories, by its name. A value's code is its place among them.
Categories = Mapping[str, tuple[str, ...]]
# At most this many columns of 0 and 1 for a feature.
MAX_COLUMNS = 1_000


def coded(values: Sequence[Any], name: str) -> tuple[Floats, tuple[str, ...]]:
    """The code of each value of a column, NaN where it is missing, and the values by code.

    Values are in the order of their texts, so that the same values always have the same codes.

    Examples
    --------
    >>> coded(["red", None, "blue", "red"], "colour")
    (array([ 1., nan,  0.,  1.]), ('blue', 'red'))
    """
    # Each different value is looked at once. True is another category than 1.
    texts = {key: text_of(key[1], name) for key in {(type(value), value) for value in values}}
    known = tuple(sorted({text for text in texts.values() if text is not None}))
    code = {text: float(number) for number, text in enumerate(known)}
    codes = {key: code.get(text, np.nan) for key, text in texts.items() if text is not None}
    return np.array([codes.get((type(value), value), np.nan) for value in values]), known


def text_of(value: Any, name: str) -> str | None:
    """A value as text; None if it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        # A column of whole numbers becomes one of floats where a value is missing.
        value = int(value)
    if not isinstance(value, str | int | float | np.generic):
        raise ValueError(
            f"Column {name!r} of X must hold numbers, or categories that are texts or numbers. "
            f"One of its values is of type {type(value).__name__}."
        )
    text = str(value)
    if not is_text(text):
        raise ValueError(
            f"Column {name!r} of X must not contain NUL or half of a surrogate pair. One of its "
            f"values is {text!r}."
        )
    return text


def recoded(dataset: RankingDataset, categories: Categories) -> RankingDataset:
    """The same documents with other values, or the same in another order.

    A value that is not among them becomes a missing value. A column of numbers becomes one of
    categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from localrank.data import RankingDataset
    >>> frame = pd.DataFrame({"colour": ["red", "green", "blue"]})
    >>> dataset = RankingDataset.from_arrays(frame, qid=[7, 7, 7])
    >>> recoded(dataset, {"colour": ("red", "blue")}).features.ravel()
    array([ 0., nan,  1.])
    """
    given = dataset.categories or {}
    if given == categories:
        return dataset
    features = np.array(dataset.features)
    names = dataset.feature_names or ()
    for name, values in categories.items():
        if given.get(name) == values:
            continue
        codes, known = features[:, names.index(name)], given.get(name, ())
        if name not in given:
            codes, known = coded(codes.tolist(), name)
            if known and not set(known) & set(values):
                raise ValueError(
                    f"The feature {name!r} held categories in training, such as "
                    f"{', '.join(map(repr, values[:3]))}. Here it holds numbers, such as "
                    f"{known[0]}, none of which was among them."
                )
        place = {value: float(number) for number, value in enumerate(values)}
        new = np.array([*(place.get(value, np.nan) for value in known), np.nan])
        features[:, names.index(name)] = new[_places(codes, len(known))]
    return dataset.replaced(features=features, categories=dict(categories))


def with_used(dataset: RankingDataset) -> RankingDataset:
    """The same documents with only those values that occur in them."""
    if not dataset.categories:
        return dataset
    used = {}
    table, rows = dataset.table_and_rows()
    for name, values in dataset.categories.items():
        column = table[rows, (dataset.feature_names or ()).index(name)]
        codes = np.unique(column[~np.isnan(column)]).astype(np.int64)
        used[name] = tuple(values[code] for code in codes.tolist())
    return recoded(dataset, used)


def joined(parts: Sequence[RankingDataset]) -> list[RankingDataset]:
    """Datasets with the same features, all with the values of all of them."""
    if all(part.categories == parts[0].categories for part in parts):
        return list(parts)
    names = {name for part in parts for name in part.categories or ()}
    together = {
        name: tuple(
            sorted({value for part in parts for value in (part.categories or {}).get(name, ())})
        )
        for name in parts[0].feature_names or ()
        if name in names
    }
    for part in parts:
        for name in sorted(names - set(part.categories or ())):
            column = part.features[:, (part.feature_names or ()).index(name)]
            if not np.isnan(column).all():
                raise ValueError(
                    f"The feature {name!r} holds categories in one of the datasets to "
                    f"concatenate, and numbers in another. Read all of them with "
                    f"categories=[{name!r}]."
                )
    return [recoded(part, together) for part in parts]


def one_hot(dataset: RankingDataset) -> RankingDataset:
    """The same documents with columns of 0 and 1 in place of each feature of categories.

    There is a column for each value, 1 if the document has it. A document without a value has 0
    in all of them.
    """
    categories, names = dataset.categories, dataset.feature_names
    if not categories or names is None:
        return dataset
    for name, values in categories.items():
        if len(values) > MAX_COLUMNS:
            raise ValueError(
                f"The feature {name!r} has {len(values):,} categories. At most {MAX_COLUMNS:,} "
                f"become columns of 0 and 1. Leave it out, put rare values together, or use "
                f"boosted trees, such as LambdaMART, which take categories as they are."
            )
    widths = [len(categories[name]) if name in categories else 1 for name in names]
    features = dataset.features
    table: Array = np.zeros((dataset.n_documents, sum(widths)), features.dtype)
    begin = 0
    for column, (name, width) in enumerate(zip(names, widths, strict=True)):
        if name in categories:
            block = table[:, begin : begin + width]
            np.equal(features[:, column, None], np.arange(width), out=block, casting="unsafe")
        else:
            table[:, begin] = features[:, column]
        begin += width
    return dataset.replaced(
        features=table, feature_names=one_hot_names(names, categories), categories=None
    )


def one_hot_names(names: Sequence[str], categories: Categories) -> tuple[str, ...]:
    """The names of features, with one for each value of a feature of categories.

    Examples
    --------
    >>> one_hot_names(["bm25", "colour"], {"colour": ("blue", "red")})
    ('bm25', 'colour=blue', 'colour=red')
    """
    result: list[str] = []
    for name in names:
        known = categories.get(name)
        result += [name] if known is None else [f"{name}={value}" for value in known]
    if len(set(result)) < len(result):
        twice = next(name for i, name in enumerate(result) if name in result[:i])
        raise ValueError(
            f"Two features would be called {twice!r}, the name of a column of 0 and 1. Rename one."
        )
    return tuple(result)


def input_names(names: Sequence[str], categories: Categories) -> tuple[str, ...]:
    """The names of the features that columns were made of, if they were made of any.

    Examples
    --------
    >>> input_names(["bm25", "colour=blue", "colour=red"], {"colour": ("blue", "red")})
    ('bm25', 'colour')
    """
    origin = {f"{name}={value}": name for name, values in categories.items() for value in values}
    # A feature's columns stand where it stood.
    return tuple(dict.fromkeys([*(origin.get(name, name) for name in names), *categories]))


def texts_of(codes: Floats, values: Sequence[str]) -> Array:
    """The values of codes; None where they are missing."""
    known = np.array([*values, None], dtype=object)
    texts: Array = known[_places(codes, len(values))]
    return texts


def _places(codes: Array, n_values: int) -> Integers:
    """Codes as whole numbers, that of a missing value after all others."""
    return np.where(np.isnan(codes), n_values, codes).astype(np.int64)


def with_codes(
    features: Array,
    names: tuple[str, ...] | None,
    column_names: Sequence[str] | None,
    texts: dict[str, Any],
    declared: Sequence[str],
) -> tuple[Array, dict[str, tuple[str, ...]]]:
    """The features with the codes of categories, and the values of each feature of categories.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
    names, column_names : sequence of str or None
        Names of the features, and those of the DataFrame's columns.
    texts : dict
        The DataFrame's columns that are not numbers.
    declared : sequence of str
        Features that are categories, though they may be numbers.
    """
    if isinstance(declared, str):
        raise ValueError(
            f"The 'categories' argument must be a sequence of features. Got the string "
            f"{declared!r} instead."
        )
    for name in declared:
        if name not in (names or ()):
            raise ValueError(f"The 'categories' argument names {name!r}, which is not a feature.")
    assert names is not None
    features, values = np.array(features), {}
    for column, name in enumerate(names):
        text = None if column_names is None else texts.get(column_names[column])
        if text is not None:
            features[:, column], values[name] = coded(text.to_list(), name)
        elif name in declared:
            features[:, column], values[name] = coded(features[:, column].tolist(), name)
    return features, values
