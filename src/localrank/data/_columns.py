"""Columns of tables as numbers: which are, which can become so, and advice for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from localrank.data.errors import AdvisedError

# Columns that become features of categories.
_CATEGORIES = {"text", "categories", "ordered categories"}
_OTHER_WAYS = (
    (
        _CATEGORIES,
        "write the values as numbers: a column of 0 and 1 for each of them, or places in an order "
        "that has a meaning",
    ),
    ({"dates or times"}, "write dates as numbers, such as the days until the query"),
)


def as_features(
    frame: nw.DataFrame[Any],
    features: Sequence[str],
    *,
    ordinal: bool,
    refuse: bool,
    declared: Sequence[str] = (),
    source: str = "",
) -> nw.DataFrame[Any]:
    """The feature columns, each of them numbers or categories.

    Categories become numbers only if their order is part of the column's type. Then a value has
    the same number in every table of that type, and a model does not have to remember it.

    Parameters
    ----------
    frame : DataFrame
    features : sequence of str
    ordinal : bool
        Whether to replace the categories of an ordered type by their places in its order, from 0.
    refuse : bool
        Whether to refuse categories that do not become numbers.
    declared : sequence of str, default=()
        Columns that are categories whatever they hold, as a description of the file says.
    source : str, default=""
        The beginning of error messages.
    """
    kinds = {name: _kind(frame[name], name in declared) for name in features}
    ordered = [name for name, kind in kinds.items() if kind == "ordered categories"]
    taken = {"ordered categories"} if ordinal else set()
    taken |= set() if refuse else _CATEGORIES
    wrong = {name: kind for name, kind in kinds.items() if kind is not None and kind not in taken}
    if wrong:
        raise refusal(wrong, source)
    chosen = frame.select(features)
    if ordinal and ordered:
        chosen = chosen.with_columns(*(_places(chosen[name]) for name in ordered))
    return chosen


def _kind(column: nw.Series[Any], declared: bool) -> str | None:
    """The kind of values in a column that are not numbers; None for numbers."""
    dtype = column.dtype
    if declared:
        return "categories"
    # A column with only missing values does not have a numeric type.
    if dtype.is_numeric() or dtype == nw.Boolean or column.is_null().all():
        return None
    if dtype == nw.Enum:
        return "ordered categories"
    if dtype == nw.Categorical:
        # pandas has the order in the dtype, pyarrow in the type.
        native = column.to_native()
        kind = getattr(native, "dtype", None) or getattr(native, "type", None)
        return "ordered categories" if getattr(kind, "ordered", False) else "categories"
    if dtype == nw.String:
        return "text"
    if dtype.is_temporal():
        return "dates or times"
    return f"values of type {dtype}"


def _places(column: nw.Series[Any]) -> nw.Series[Any]:
    """The place of each value in the order of the column's type; NaN where it is missing."""
    order = column.cat.get_categories().to_list()
    place = {category: float(number) for number, category in enumerate(order)}
    values = np.array([place.get(value, np.nan) for value in column.to_list()])
    return nw.new_series(column.name, values, native_namespace=nw.get_native_namespace(column))


def refusal(wrong: dict[str, str], source: str) -> AdvisedError:
    """The error for columns that are not numbers: their names, and what to do."""
    shown = list(wrong)[:10]
    held = ", ".join(f"column {name!r} holds {wrong[name]}" for name in shown)
    held += f", and {len(wrong) - len(shown)} more" if len(wrong) > len(shown) else ""
    pronoun = "them" if len(wrong) > 1 else "it"
    kinds = set(wrong.values())
    python = command = ""
    if "ordered categories" in kinds:
        python, command = ", or pass categories='ordinal'", ", or add --categories ordinal"
    for affected, advice in _OTHER_WAYS:
        if kinds & affected:
            python, command = f"{python}, or {advice}", f"{command}, or {advice}"
    return AdvisedError(
        f"{source}{held[0].upper()}{held[1:]}: leave {pronoun} out with",
        f"ignore={list(wrong)}{python}.",
        f"--ignore {','.join(wrong)}{command}.",
    )
