"""Classic text collections in their original files: Cranfield, CISI, MED, CACM and NPL."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localrank.arrays import Integers

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
        Of the documents; empty where there is none.
    queries : list of str
    judgments : ndarray of shape (n_judgments, 3)
        Query, document (positions, from 0) and grade, above 0; a pair that is not here is not
        relevant.
    """

    name: str
    titles: list[str]
    bodies: list[str]
    queries: list[str]
    judgments: Integers


def read_collection(folder: Path) -> TextCollection:
    """Read a collection from the folder of its name, files as they are or as `.gz`.

    Cranfield's codes, from 1 (a complete answer) to 4 (of minimum interest), become the grades 4
    to 1; -1 is not relevant. The other collections have the grade 1 only.
    """
    name = folder.name
    if name not in FILES:
        raise ValueError(f"{folder}: not one of the text collections {', '.join(FILES)}.")
    documents, queries, judgments = (_read(folder / file) for file in FILES[name])
    if name == "npl":
        bodies, asked = _numbered(documents), _numbered(queries)
        pairs = [
            (query, int(document), 1)
            for query, own in enumerate(_numbered(judgments), start=1)
            for document in own.split()
        ]
        titles = [""] * len(bodies)
    else:
        titles, bodies = _fields(documents, "T"), _fields(documents, "W")
        asked = _fields(queries, "W")
        pairs = [_judgment(line.split(), name) for line in judgments.splitlines() if line.strip()]
    # A few pairs stand twice: the higher grade counts.
    grades: dict[tuple[int, int], int] = {}
    for query, document, grade in pairs:
        grades[query, document] = max(grade, grades.get((query, document), 0))
    found = [(q - 1, d - 1, grade) for (q, d), grade in sorted(grades.items()) if grade > 0]
    return TextCollection(name, titles, bodies, asked, np.array(found))


def _read(path: Path) -> str:
    packed = path.with_name(f"{path.name}.gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    return data.decode("latin-1")


def _fields(text: str, field: str) -> list[str]:
    """One field of each record of SMART's markup: `.I 1`, then `.T` and others before lines."""
    records = re.split(r"^\.I\s+\d+\s*$", text, flags=re.MULTILINE)[1:]
    pattern = re.compile(rf"^\.{field}\s*$\n(.*?)(?=^\.[A-Z]\s*$|\Z)", re.MULTILINE | re.DOTALL)
    return [" ".join(" ".join(pattern.findall(record)).split()) for record in records]


def _numbered(text: str) -> list[str]:
    """The texts of records that begin with their number and end with a line `/`.

    A number that is left out has the empty text.
    """
    records = [record.split() for record in re.split(r"^\s*/\s*$", text, flags=re.MULTILINE)]
    texts = {int(words[0]): " ".join(words[1:]) for words in records if words}
    return [texts.get(number, "") for number in range(1, max(texts) + 1)]


def _judgment(cells: list[str], name: str) -> tuple[int, int, int]:
    grade = 1 if name != "cran" else 0 if int(cells[2]) < 0 else 5 - int(cells[2])
    return int(cells[0]), int(cells[1]), grade
