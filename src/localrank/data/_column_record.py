"""What was said of the columns of data when it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from localrank._base.rules import Rule, Rules, flag, optional


def _are_names(value: Any, _: Any) -> bool:
    return isinstance(value, tuple) and all(type(name) is str for name in value)


@dataclass(frozen=True)
class ColumnRecord:
    """What was said of the columns of data when it was read.

    A reader gives it to the dataset, `fit` keeps it in the model, and `read(..., like=model)`
    reads other data accordingly. A field that a model file lacks has its default.

    Attributes
    ----------
    zero_based : bool or None, default=None
        Whether the feature ids of LETOR text begin at 0. None: the data has no feature ids.
    left_out : tuple of str, default=()
        Columns of a table that are not used.
    ordinal : bool, default=False
        Whether categories of an ordered type were read as numbers.

    Examples
    --------
    >>> ColumnRecord(zero_based=True).contradicts(ColumnRecord(zero_based=False))
    True
    >>> ColumnRecord(zero_based=True, left_out=("url",)).facts()
    {'zero_based': True, 'left_out': ['url']}
    """

    _fitted: ClassVar[Rules] = {
        "zero_based": optional(flag),
        "left_out": Rule(_are_names, "a tuple of names"),
        "ordinal": flag,
    }

    zero_based: bool | None = None
    left_out: tuple[str, ...] = ()
    ordinal: bool = False

    def contradicts(self, other: ColumnRecord | None) -> bool:
        """Whether the same feature has different ids in both."""
        return other is not None and {self.zero_based, other.zero_based} == {True, False}

    def facts(self) -> dict[str, Any]:
        """What differs from the defaults, for people to read."""
        facts: dict[str, Any] = {}
        if self.zero_based is not None:
            facts["zero_based"] = self.zero_based
        if self.left_out:
            facts["left_out"] = list(self.left_out)
        if self.ordinal:
            facts["ordinal"] = True
        return facts


def first_id(record: ColumnRecord) -> str:
    """The first feature id, for messages."""
    return "0" if record.zero_based else "1"
