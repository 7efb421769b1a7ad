"""Column descriptions of CatBoost: the `.cd` file that says what each column of a table is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Types by what they are to us; the second names are CatBoost's older ones.
_QUERY, _LABEL, _DOCUMENT = ("GroupId", "QueryId"), ("Label", "Target"), ("SampleId", "DocId")
_NUMBER, _CATEGORIES = "Num", ("Categ", "Text", "NumVector")
_LEFT_OUT = ("Auxiliary", "SubgroupId", "Timestamp", "Position")
_NOT_USED = ("Weight", "GroupWeight", "Baseline")
_TYPES = (*_QUERY, *_LABEL, *_DOCUMENT, _NUMBER, *_CATEGORIES, *_LEFT_OUT, *_NOT_USED)
_MISSING = ("", "nan", "na", "null", "none", "-")


@dataclass(frozen=True)
class ColumnDescription:
    """The role and the name of each column of a table.

    Parameters
    ----------
    names : sequence of str
        Names of all columns, each once.
    qid, label, document_id : str or None
    features : sequence of str
        In the order of the file.
    categories : sequence of str
        Features that are categories or text.
    has_header : bool
        Whether the first line of the table names the columns.
    """

    names: Sequence[str]
    qid: str
    label: str | None
    document_id: str | None
    features: Sequence[str]
    categories: Sequence[str]
    has_header: bool

    def chosen(
        self, label: str | None, features: Sequence[str] | None, ignore: Sequence[str]
    ) -> tuple[str | None, Sequence[str]]:
        """The columns of labels and features, for what the caller of `read_table` gave."""
        if features is None:
            features = [name for name in self.features if name not in ignore]
        return label and "label", features


def beside(table: Path) -> Path | None:
    """The description that lies beside a table of text under its name: train.cd of train.tsv."""
    name = table.name.removesuffix(".gz")
    if not name.lower().endswith((".tsv", ".csv")):
        return None
    path = table.with_name(f"{name[:-4]}.cd")
    return path if path.is_file() else None


def read_description(path: Path, first_line: Sequence[str]) -> ColumnDescription:
    r"""Read a description, for a table whose first line has these cells.

    A line is `index<TAB>type<TAB>name`, the name only of features. Columns that it does not mention
    are numbers. A feature without a name is called by its place among the features, from 0, as in
    CatBoost.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".cd") as file:
    ...     print("0\tLabel\n1\tGroupId\n2\tNum\tbm25", file=file, flush=True)
    ...     description = read_description(Path(file.name), ["1", "q7", "0.5", "3"])
    >>> description.names, description.features
    (['label', 'qid', 'bm25', '1'], ['bm25', '1'])
    """
    declared = _declared(path, len(first_line))
    kinds = [declared.get(i, (_NUMBER, ""))[0] for i in range(len(first_line))]
    numbers = [i for i, kind in enumerate(kinds) if kind in (_NUMBER, *_LABEL)]
    has_header = not all(_is_number(first_line[i]) for i in numbers)
    names: list[str] = []
    features: list[str] = []
    categories: list[str] = []
    for i, kind in enumerate(kinds):
        if kind in (_NUMBER, *_CATEGORIES):
            name = declared.get(i, ("", ""))[1] or (first_line[i] if has_header else "")
            names.append(name or str(len(features)))
            features.append(names[-1])
            if kind != _NUMBER:
                categories.append(names[-1])
        else:
            roles = {_QUERY: "qid", _LABEL: "label", _DOCUMENT: "document_id"}
            # No feature is called like this: it would end its line.
            names.append(next((r for k, r in roles.items() if kind in k), f"\n{i} {kind}"))
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(
            f"{path}: each feature needs a different name, and query, label and document id one "
            f"column each. There are two columns {min(repeated)!r}."
        )
    if "qid" not in names:
        raise ValueError(f"{path}: no column is the GroupId, which tells the queries apart.")
    if unused := [kind for kind in kinds if kind in _NOT_USED]:
        warnings.warn(f"{path}: {', '.join(unused)} columns are not used", stacklevel=4)
    return ColumnDescription(
        names=names,
        qid="qid",
        label="label" if "label" in names else None,
        document_id="document_id" if "document_id" in names else None,
        features=features,
        categories=categories,
        has_header=has_header,
    )


def _declared(path: Path, n_columns: int) -> dict[int, tuple[str, str]]:
    """Type and name by column index, for the columns that the file mentions."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    declared: dict[int, tuple[str, str]] = {}
    for number, content in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            line = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{path}:{number}: the line is not text in UTF-8.") from None
        if not line.strip():
            continue
        index, kind, name, *_ = (cell.strip() for cell in [*line.split("\t"), "", ""])
        if not (index.isascii() and index.isdecimal()) or kind not in _TYPES:
            raise ValueError(
                f"{path}:{number}: {line!r} describes no column; a line needs the column's index "
                f"from 0, a tab and its type, one of {', '.join(_TYPES)}"
            )
        if int(index) in declared or int(index) >= n_columns:
            known = f"does not exist: the table has {n_columns} columns, counted from 0"
            reason = "occurs twice" if int(index) in declared else known
            raise ValueError(f"{path}:{number}: column {index} {reason}")
        declared[int(index)] = (kind, name)
    return declared


def _is_number(cell: str) -> bool:
    """Whether a cell is a number or a missing value."""
    if cell.strip().lower() in _MISSING:
        return True
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
