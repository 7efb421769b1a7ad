"""Classic text collections in their original files: Cranfield, CISI, MED, CACM and NPL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.feature_extraction.text import CountVectorizer

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.text._file_formats import (
    Records,
    npl_judgments,
    npl_records,
    smart_judgments,
    smart_records,
)

ENCODING = "latin-1"

# Files of documents, queries and judgments.
TEXT_FILES = {
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
    if name not in TEXT_FILES:
        raise ValueError(f"{folder} is none of the text collections {', '.join(TEXT_FILES)}.")
    documents, queries, judgments = (_path(folder / file) for file in TEXT_FILES[name])
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


# Parameters of BM25, and of the three smoothings as in LETOR.
K1, B = 1.2, 0.75
PRIOR, SHARE, DISCOUNT = 2000.0, 0.1, 0.7


def raw_features(collection: TextCollection, n_documents: int = 100) -> RankingDataset:
    """The features of each judged query's highest documents by BM25, with grades as labels.

    A document is its title and its body. If both exist, each has its features. Words are
    lower-cased, without English stop words, not stemmed. Documents below the highest are left out,
    also relevant ones. Unjudged documents have the label 0.

    Parameters
    ----------
    collection : TextCollection
    n_documents : int, default=100
        How many documents each query keeps. Among equal ones the first are kept.
    """
    texts = [f"{t} {b}" for t, b in zip(collection.titles, collection.bodies, strict=True)]
    words = CountVectorizer(token_pattern=r"[a-z0-9]+", stop_words="english", dtype=np.float64)
    counts = csr_array(words.fit_transform(texts))
    asked = np.unique(collection.judgments[:, 0])
    queries = csr_array(words.transform([collection.queries[query] for query in asked]))
    terms = (queries > 0).astype(np.float64)
    background, rarity = _background(counts), _rarity(counts)

    fields = {"title": collection.titles, "body": collection.bodies}
    features = {
        f"{name} {feature}": values
        for name, field in fields.items()
        if any(field)
        for feature, values in _field_features(
            terms, csr_array(words.transform(field)), background, rarity
        ).items()
    }
    features["rarity"] = np.repeat((terms @ rarity)[:, None], len(texts), axis=1)
    features["cosine"] = _cosine(queries, counts, rarity)

    bm25 = (terms @ _bm25(counts, rarity).T).toarray()
    highest = np.argsort(-bm25, axis=1, kind="stable")[:, :n_documents]
    labels = np.zeros(bm25.shape)
    query, document, grade = collection.judgments.T
    labels[np.searchsorted(asked, query), document] = grade
    return RankingDataset.from_arrays(
        np.stack([_picked(values, highest) for values in features.values()], axis=1),
        _picked(labels, highest),
        np.repeat(asked + 1, highest.shape[1]),
        document_ids=(highest + 1).ravel().astype(str),
        feature_names=list(features),
    )


def _picked(values: Floats, columns: Integers) -> Floats:
    picked: Floats = np.take_along_axis(values, columns, axis=1).ravel()
    return picked


def _background(counts: csr_array) -> Floats:
    """How likely each word is in the collection."""
    totals = counts.sum(axis=0)
    background: Floats = totals / totals.sum()
    return background


def _rarity(counts: csr_array) -> Floats:
    """Inverse document frequency, above 0."""
    present = (counts > 0).sum(axis=0)
    rarity: Floats = np.log((counts.shape[0] + 1) / (present + 0.5))
    return rarity


def _field_features(
    terms: csr_array, counts: csr_array, background: Floats, rarity: Floats
) -> dict[str, Floats]:
    """Each feature of all queries (rows) and documents (columns), in one field."""
    lengths = counts.sum(axis=1)
    distinct = (counts > 0).sum(axis=1)
    size = terms.sum(axis=1)[:, None]

    def total(function: Callable[[Floats, Integers, Integers], Floats]) -> Floats:
        """Sum over a query's words of a function of counts, documents and words: 0 at count 0."""
        values: Floats = (terms @ _mapped(counts, function).T).toarray()
        return values

    # The logarithm of a smoothed probability has two parts: the weighted background, which every
    # word has, and what the word's count adds. A document without words is background alone.
    words = (terms @ np.log(background))[:, None]
    empty = lengths == 0
    left_over = np.where(empty, 1.0, DISCOUNT * distinct / np.maximum(lengths, 1))
    return {
        "count": total(lambda c, d, w: c),
        "log count": total(lambda c, d, w: np.log1p(c)),
        "count per word": total(lambda c, d, w: c / lengths[d]),
        "count by rarity": total(lambda c, d, w: c * rarity[w]),
        "BM25": (terms @ _bm25(counts, rarity).T).toarray(),
        "Dirichlet": total(lambda c, d, w: np.log1p(c / (PRIOR * background[w])))
        + words
        + size * np.log(PRIOR / (lengths + PRIOR)),
        "Jelinek-Mercer": total(
            lambda c, d, w: np.log1p((1 - SHARE) * c / (lengths[d] * SHARE * background[w]))
        )
        + words
        + size * np.where(empty, 0.0, np.log(SHARE)),
        "absolute discount": total(
            lambda c, d, w: np.log1p((c - DISCOUNT) / (DISCOUNT * distinct[d] * background[w]))
        )
        + words
        + size * np.log(left_over),
        "coverage": total(lambda c, d, w: np.ones_like(c)) / np.maximum(size, 1),
        "length": np.repeat(lengths[None, :], terms.shape[0], axis=0),
    }


def _mapped(
    counts: csr_array, function: Callable[[Floats, Integers, Integers], Floats]
) -> csr_array:
    document = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data = function(counts.data, document, counts.indices)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _bm25(counts: csr_array, rarity: Floats) -> csr_array:
    lengths = counts.sum(axis=1)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    return _mapped(counts, lambda c, d, w: rarity[w] * c * (K1 + 1) / (c + norm[d]))


def _cosine(queries: csr_array, counts: csr_array, rarity: Floats) -> Floats:
    """Cosines between the vectors of counts times rarity."""
    left, right = (_unit(matrix @ diags_array(rarity)) for matrix in (queries, counts))
    cosines: Floats = (left @ right.T).toarray()
    return cosines


def _unit(rows: csr_array) -> csr_array:
    norms = np.sqrt((rows**2).sum(axis=1))
    return diags_array(1 / np.where(norms > 0, norms, 1.0)) @ rows
