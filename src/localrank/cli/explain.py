"""`localrank explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli._inputs import DataOptions, reads_data

if TYPE_CHECKING:
    from localrank.rankers._contributions import Preference
    from localrank.rankers._explanation import Explanation


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
    import numpy as np

    from localrank.cli._inputs import read_data
    from localrank.cli._tables import print_json
    from localrank.local_ranker import LocalRanker
    from localrank.persistence import load_ranker
    from localrank.rankers._contributions import position_of_query

    ranker = load_ranker(model)
    dataset = read_data(data, options, labels="optional", like=ranker)
    one = dataset.select([position_of_query(dataset, query)])
    if one.document_ids is None:
        one = one.replaced(document_ids=np.arange(1, one.n_documents + 1))
    more = {"n_neighbours": neighbours} if isinstance(ranker, LocalRanker) else {}
    explanation = ranker.explain(one, query, **more)
    if pair is None:
        told, facts = repr(explanation), _facts(explanation)
    else:
        preference = explanation.why(*pair)
        told, facts = repr(preference), _pair_facts(preference)
    if as_json:
        print_json(facts)
    else:
        typer.echo(told)


def _pair_facts(told: Preference) -> dict[str, Any]:
    return {
        "query": _plain(told.query),
        "documents": [_plain(told.above), _plain(told.below)],
        "scores": list(told.scores),
        "differences": dict(zip(told.names, told.values.tolist(), strict=True)),
    }


def _facts(told: Explanation) -> dict[str, Any]:
    by_document = ("contributions", "near_documents")
    facts = {name: _plain(value) for name, value in vars(told).items() if name not in by_document}
    if told.near_documents is not None:
        facts["moved"] = told.near_documents.moved
    return facts | {"documents": _documents(told)}


def _documents(told: Explanation) -> list[dict[str, Any]]:
    """Facts about all documents, the best first."""
    import numpy as np

    documents = []
    contributions = told.contributions
    for row in np.argsort(-told.scores, kind="stable"):
        facts = {
            "document": _plain(told.document_ids[row]),
            "label": None if told.labels is None else float(told.labels[row]),
            "score": float(told.scores[row]),
        }
        if contributions is not None:
            values = contributions.entries[row].tolist()
            facts["base"] = float(contributions.base[row])
            facts["contributions"] = dict(zip(contributions.names, values, strict=True))
        if told.near_documents is not None:
            facts["near_documents"] = [
                {"document": _plain(told.document_ids[place]), "cosine": cosine, "moved": moved}
                for place, cosine, moved in told.near_documents.of(int(row))
            ]
        documents.append(facts)
    return documents


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy as those of Python."""
    return value.tolist() if hasattr(value, "tolist") else value
