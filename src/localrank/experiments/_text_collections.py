"""Classic text collections in their original files: Cranfield, CISI, MED, CACM and NPL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localrank._base.arrays import Integers
from localrank.text._file_formats import (
    Records,
    npl_judgments,
    npl_records,
    smart_judgments,
    smart_records,
)

ENCODING = "latin-1"

# Files of documents, queries and judgments.
FILES = {
    "cran": ("cran.all.1400", "cran.qry", "cranqrel"),
    "cisi": ("CISI.ALL", "CISI.QRY", "CISI.REL"),
    "med": ("MED.ALL", "MED.QRY", "MED.REL"),
    "cacm": ("cacm.all", "query.text", "qrels.text"),
    "npl": ("doc-text", "query-text", "rlv-ass"),
}


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Documents, queries, and which documents were judged relevant to which queries.

    Attributes
    ----------
    name : str
    titles, bodies : list of str
        Titles and texts of the documents. An empty text: the document has none.
    queries : list of str
    judgments : ndarray of shape (n_judgments, 3)
        Query, document (positions, from 0) and grade, above 0. Other pairs are not relevant.
    """

    name: str
    titles: list[str]
    bodies: list[str]
    queries: list[str]
    judgments: Integers


def read_collection(folder: Path) -> TextCollection:
    """Read a collection from the folder with its name. Files may be packed as `.gz`.

    Cranfield's codes, from 1 (a complete answer) to 4 (of minimum interest), become the grades 4
    to 1; -1 is not relevant. The other collections have the grade 1 only.
    """
    name = folder.name
    if name not in FILES:
        raise ValueError(f"{folder}: not one of the text collections {', '.join(FILES)}.")
    documents, queries, judgments = (_path(folder / file) for file in FILES[name])
    if name == "npl":
        bodies, asked = (_numbered(npl_records(path, ENCODING)) for path in (documents, queries))
        pairs = [(query, document, 1) for _, query, document in npl_judgments(judgments)]
        titles = [""] * len(bodies)
    else:
        records = [record for _, record in smart_records(documents, ENCODING)]
        titles, bodies = ([record.get(key, "") for record in records] for key in ("title", "text"))
        asked = [record.get("text", "") for _, record in smart_records(queries, ENCODING)]
        pairs = [
            (query, document, 1 if name != "cran" else _grade(rest))
            for _, query, document, rest in smart_judgments(judgments)
        ]
    # A few pairs occur twice. The higher grade counts.
    grades: dict[tuple[int, int], int] = {}
    for query, document, grade in pairs:
        pair = int(query), int(document)
        grades[pair] = max(grade, grades.get(pair, 0))
    result = [(q - 1, d - 1, grade) for (q, d), grade in sorted(grades.items()) if grade > 0]
    return TextCollection(name, titles, bodies, asked, np.array(result))


def _path(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.exists() else path


def _numbered(records: Records) -> list[str]:
    """Texts by number. A missing number has the empty text."""
    texts = {int(record["id"]): record["text"] for _, record in records}
    return [texts.get(number, "") for number in range(1, max(texts) + 1)]


def _grade(code: Sequence[str]) -> int:
    return 0 if int(code[0]) < 0 else 5 - int(code[0])
