"""Errors and warnings that say what to do, in Python's words and in those of the command line."""

from __future__ import annotations

import sys
import warnings


class _Advised(Exception):  # noqa: N818, as it is the base of warnings too
    """A fault of the data with its remedy, in two forms."""

    def __init__(self, fault: str, in_python: str, on_command_line: str) -> None:
        super().__init__(fault, in_python, on_command_line)
        self.on_command_line = f"{fault} {on_command_line}".strip()

    def __str__(self) -> str:
        fault, in_python, _ = self.args
        return f"{fault} {in_python}".strip()


class AdvisedError(_Advised, ValueError):
    """A fault of the data with its remedy.

    Parameters
    ----------
    fault : str
        What is wrong, and where.
    in_python : str
        What to do, as an argument of a function: `ignore=["color"]`.
    on_command_line : str
        The same as an option: `--ignore color`.

    Examples
    --------
    >>> error = AdvisedError("Column 'a' holds text:", "pass ignore=['a'].", "add --ignore a.")
    >>> str(error), error.on_command_line
    ("Column 'a' holds text: pass ignore=['a'].", "Column 'a' holds text: add --ignore a.")
    """

    def at(self, place: str) -> AdvisedError:
        """The same error of data at a place, such as a line of a file."""
        fault, *ways = self.args
        return AdvisedError(f"{place}: {fault}", *ways)


class ColumnWarning(_Advised, UserWarning):
    """A column may not have the role that it was given.

    It may be no feature: an id, the number of the row, or the label in another form. Or the
    features have no names, and the model knows the names: nothing shows whether their order is
    right. A model of such data may be worthless, and its measures may look excellent.

    Parameters
    ----------
    fault, in_python, on_command_line : str
        What was noticed; what to do, in Python and on the command line.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from localrank.data import ColumnWarning, read_table
    >>> table = pd.DataFrame({"qid": [1, 1, 2, 2] * 10, "label": [0, 1] * 20, "bm25": 0.5})
    >>> table["row"] = range(40)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     dataset = read_table(table)
    >>> caught[0].category is ColumnWarning
    True
    >>> print(caught[0].message)
    Column 'row' counts up with the rows. If it is no feature, leave it out with ignore=['row'];
    otherwise name all features with features=[...].
    """


def warn(warning: Warning) -> None:
    """Issue a warning at the line outside the package that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("localrank"):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
