"""Columns without a name, which are hardly ever features."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localrank.data.errors import AdvisedError

# pandas calls a column of a CSV file without a name "Unnamed: 0", and its index in a Parquet file
# "__index_level_0__".
_FORMS = r"\s*|Unnamed: \d+(?:_level_\d+)?|__index_level_\d+__"
_UNNAMED, _ANY_UNNAMED = re.compile(_FORMS), re.compile(rf"^(?:{_FORMS})$", re.MULTILINE)


def names_in_file(names: Sequence[str]) -> list[str]:
    """The names of a file's columns; a column without one is called as pandas calls it.

    Examples
    --------
    >>> names_in_file(["", "qid", "bm25"])
    ['Unnamed: 0', 'qid', 'bm25']
    """
    return [name if name.strip() else f"Unnamed: {place}" for place, name in enumerate(names)]


def check_named(names: Sequence[str], source: str = "", in_frame: bool = False) -> None:
    """Refuse features without a name: most often the index of pandas, written with the table.

    Parameters
    ----------
    names : sequence of str
        The columns that are taken for features because nobody said otherwise.
    source : str, default=""
        The beginning of the message.
    in_frame : bool, default=False
        Whether the columns are those of a DataFrame of features alone, from which the user can
        only drop a column.
    """
    # One look at all names together: this is done for each list that a model scores.
    if not _ANY_UNNAMED.search("\n".join(names)):
        return
    for name in names:
        if _UNNAMED.fullmatch(name):
            python = f"leave out the column {name!r}" if in_frame else f"pass ignore=[{name!r}]"
            raise AdvisedError(
                f"{source}a column has no name, only {name!r}. It may be the index that pandas "
                f"wrote with the table. If it is no feature,",
                f"{python}; if it is one, give it a name.",
                f"add --ignore {name!r}; if it is one, give it a name.",
            )
