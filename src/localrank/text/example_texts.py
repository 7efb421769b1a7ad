"""A small collection of texts, for trying things out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localrank.data import Qrels, read_qrels
from localrank.text.sources import read_corpus, read_queries

# The files, in the formats that `localrank features` takes.
FILES = tuple(
    Path(__file__).with_name("example") / name
    for name in ("corpus.jsonl", "queries.tsv", "qrels.txt")
)


@dataclass(frozen=True, eq=False, repr=False)
class ExampleTexts:
    """Documents, queries and judgments.

    Attributes
    ----------
    corpus : list of dict
        Documents, each with an id, a title and a body.
    queries : dict
        Texts of the queries by id.
    qrels : Qrels
        Judgments. 2: the document answers the query. 1: it is related to it. Documents that were
        not judged are not relevant.
    """

    corpus: list[dict[str, Any]]
    queries: dict[str, str]
    qrels: Qrels

    def __repr__(self) -> str:
        return f"ExampleTexts: {len(self.corpus)} documents, {len(self.queries)} queries"


def load_example() -> ExampleTexts:
    """Short texts on cooking, plants, bicycles, repairs, travel and pets, with judged queries.

    They were written for this purpose. The collection is far too small to compare methods on.

    Examples
    --------
    >>> example = load_example()
    >>> example
    ExampleTexts: 77 documents, 32 queries
    >>> example.corpus[0]["title"], example.queries["q01"]
    ('Cooking rice on the stove', 'how to cook rice')
    """
    corpus, queries, qrels = FILES
    return ExampleTexts(list(read_corpus(corpus)), read_queries(queries), read_qrels(qrels))
