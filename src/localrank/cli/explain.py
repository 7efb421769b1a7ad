"""`localrank explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli._inputs import DataOptions, reads_data

if TYPE_CHECKING:
    from localrank._base.arrays import Array, Floats
    from localrank.data import RankingDataset
    from localrank.explanation import Explanation
    from localrank.rankers import Ranker
    from localrank.rankers._contributions import Contributions

# At most this many documents in a table.
N_DOCUMENTS = 10
# Columns for the features that contribute most to a document's score.
PLACES = ("first", "second", "third")


@reads_data
def explain(
    model: Path = typer.Argument(help="A model file that `localrank train` wrote."),
    data: list[Path] = typer.Argument(
        help="Data that holds the query's documents: LETOR files, tables or feature logs."
    ),
    query: str = typer.Option(..., "--query", "-q", metavar="ID", help="Id of the query."),
    pair: tuple[str, str] | None = typer.Option(
        None,
        metavar="A B",
        help="Ids of two documents: explain why A is above B. Documents without ids have their "
        "position in the query, from 1. By default, explain the whole list.",
    ),
    neighbours: int = typer.Option(
        5, min=1, help="How many of the nearest training queries to show."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    options: DataOptions,
) -> None:
    """Explain the order of one query's documents: which features and groups decide it.

    Example: localrank explain model.localrank test.txt --query 18220
    """
    from localrank.cli._inputs import read_data
    from localrank.cli._tables import print_json
    from localrank.local_ranker import LocalRanker
    from localrank.persistence import load_ranker

    ranker = load_ranker(model)
    dataset = read_data(data, options, labels="optional", like=ranker)
    one, ids = _one_query(dataset, query)
    if pair is not None:
        _explain_pair(ranker, one, ids, pair, as_json=as_json)
        return
    facts: dict[str, Any] = {"query": one.query_ids.tolist()[0]}
    if isinstance(ranker, LocalRanker):
        explanation = ranker.explain(one, one.query_ids[0], n_neighbours=neighbours)
        if as_json:
            facts |= _as_json(explanation)
        else:
            print(explanation)
    scores = ranker.predict(one)
    try:
        contributions, reason = ranker.contributions(one).centred(), None
    except ValueError as error:
        contributions, reason = None, str(error)
    if as_json:
        documents = _documents(one, ids, scores, contributions)
        print_json(facts | {"documents": documents, "no_contributions": reason})
    else:
        _print_documents(one, ids, scores, contributions, reason)


def _one_query(dataset: RankingDataset, query: str) -> tuple[RankingDataset, Array]:
    """The query with this id, and the ids of its documents (numbers from 1 if they have none)."""
    import numpy as np

    names = [str(name) for name in dataset.query_ids]
    if query not in names:
        raise ValueError(
            f"The data has no query {query!r}. Its {len(names):,} queries are "
            f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
        )
    one = dataset.select([names.index(query)])
    ids = one.document_ids
    if ids is None:
        ids = np.arange(1, one.n_documents + 1)
    return one.replaced(document_ids=ids), ids


def _explain_pair(
    ranker: Ranker, one: RankingDataset, ids: Array, pair: tuple[str, str], *, as_json: bool
) -> None:
    from localrank.cli._tables import print_json

    known = [str(document) for document in ids]
    for document in pair:
        if document not in known:
            raise ValueError(
                f"Query {one.query_ids[0]} has no document {document!r}. Its {len(known):,} "
                f"documents are {', '.join(known[:3])}{', ...' if len(known) > 3 else ''}"
            )
    told = ranker.contributions(one).why(*(known.index(document) for document in pair))
    if not as_json:
        typer.echo(repr(told))
        return
    differences = dict(zip(told.names, told.values.tolist(), strict=True))
    print_json(
        {
            "query": one.query_ids.tolist()[0],
            "documents": list(pair),
            "scores": list(told.scores),
            "differences": differences,
        }
    )


def _documents(
    one: RankingDataset, ids: Array, scores: Floats, contributions: Contributions | None
) -> list[dict[str, Any]]:
    """Facts about all documents, the best first."""
    import numpy as np

    documents = []
    for row in np.argsort(-scores, kind="stable"):
        facts = {
            "document": ids[row : row + 1].tolist()[0],
            "label": None if one.relevance is None else float(one.relevance[row]),
            "score": float(scores[row]),
        }
        if contributions is not None:
            values = contributions.entries[row].tolist()
            facts["base"] = float(contributions.base[row])
            facts["contributions"] = dict(zip(contributions.names, values, strict=True))
        documents.append(facts)
    return documents


def _print_documents(
    one: RankingDataset,
    ids: Array,
    scores: Floats,
    contributions: Contributions | None,
    reason: str | None,
) -> None:
    import numpy as np

    from localrank.cli._tables import print_table, say

    best = np.argsort(-scores, kind="stable")[:N_DOCUMENTS]
    columns = ["document", *(["label"] if one.relevance is not None else []), "score"]
    rows = []
    for row in best:
        cells = [str(ids[row])]
        if one.relevance is not None:
            cells.append(f"{one.relevance[row]:g}")
        rows.append([*cells, f"{scores[row]:.4g}"])
    title = f"First {len(best)} of {one.n_documents:,} documents"
    if contributions is None:
        say(str(reason))
        print_table(title, columns, rows)
        return
    entries, names = contributions.entries, contributions.names
    largest = contributions.largest(len(PLACES))
    for cells, row in zip(rows, best, strict=True):
        most = largest[row]
        listed = [f"{names[i]} {entries[row, i]:+.3g}" if entries[row, i] else "" for i in most]
        listed += [""] * (len(PLACES) - len(listed))
        rest = entries[row].sum() - entries[row, most].sum()
        cells += [*listed, f"{rest:+.3g}"]
    say(
        f"The mean score of query {one.query_ids[0]} is {round(contributions.base[0], 6):g}. A "
        f"document's contributions add up to its score minus this mean."
    )
    print_table(
        f"{title}, with the features that contribute most", [*columns, *PLACES, "others"], rows
    )


def _as_json(explanation: Explanation) -> dict[str, Any]:
    import numpy as np

    return {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for name, value in vars(explanation).items()
    }
