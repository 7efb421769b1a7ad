"""Errors that say what to do, in Python's words and in those of the command line."""

from __future__ import annotations


class AdvisedError(ValueError):
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

    def __init__(self, fault: str, in_python: str, on_command_line: str) -> None:
        super().__init__(fault, in_python, on_command_line)
        self.on_command_line = f"{fault} {on_command_line}".strip()

    def __str__(self) -> str:
        fault, in_python, _ = self.args
        return f"{fault} {in_python}".strip()

    def at(self, place: str) -> AdvisedError:
        """The same error of data at a place, such as a line of a file."""
        fault, *ways = self.args
        return AdvisedError(f"{place}: {fault}", *ways)
