"""`localrank explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli.inputs import Reading, reads_data

if TYPE_CHECKING:
    from localrank.local_ranker import Explanation

# Groups and documents that a table shows at most.
N_GROUPS, N_DOCUMENTS = 6, 10


@reads_data
def explain(
    model: Path = typer.Argument(help="A model file of a local method."),
    data: list[Path] = typer.Argument(help="The query's documents: LETOR files or tables."),
    query: str = typer.Option(..., "--query", "-q", help="The query's id."),
    neighbours: int = typer.Option(5, min=1, help="Nearest training queries to show."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    reading: Reading,
) -> None:
    """Show which group serves a query, why, and what each group's model would do."""
    from localrank.cli.inputs import read_data
    from localrank.cli.tables import print_json
    from localrank.local_ranker import LocalRanker
    from localrank.persistence import load

    ranker = load(model)
    if not isinstance(ranker, LocalRanker):
        raise ValueError(
            f"{model}: holds {type(ranker).__name__}, which has no groups of queries. Methods that "
            f"have, such as local-rank, can be explained."
        )
    dataset = read_data(data, reading, labels="optional", n_features=ranker.n_features_in_)
    known = {str(known): known for known in dataset.query_ids}
    explanation = ranker.explain(dataset, known.get(query, query), n_neighbours=neighbours)
    if as_json:
        print_json(_as_json(explanation))
    else:
        _print(explanation)


def _as_json(explanation: Explanation) -> dict[str, Any]:
    import numpy as np

    return {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for name, value in vars(explanation).items()
    }


def _print(explanation: Explanation) -> None:
    import numpy as np

    from localrank.cli.tables import print_table, say

    weights = explanation.weights
    in_use = np.flatnonzero(weights)
    chosen = ", ".join(
        f"group {group + 1}" + ("" if weights[group] == 1 else f" ({weights[group]:.2f})")
        for group in in_use[np.argsort(-weights[in_use], kind="stable")][:N_GROUPS]
    )
    say(f"Query {explanation.query} is served by {chosen} of {len(weights):,} groups.")
    print_table(
        "Nearest training queries",
        ["query", "similarity", "distance", "group", "queries in it"],
        [
            [str(name), f"{similarity:.4f}", f"{distance:.4g}", str(group + 1), f"{size:,}"]
            for name, similarity, distance, group, size in zip(
                explanation.neighbours,
                explanation.similarities,
                explanation.distances,
                explanation.neighbour_groups,
                explanation.group_sizes[explanation.neighbour_groups],
                strict=True,
            )
        ],
    )
    # The groups in use first, then those of the neighbours, then the others.
    wanted = [*in_use, *explanation.neighbour_groups, *range(len(weights))]
    shown = list(dict.fromkeys(int(group) for group in wanted))[:N_GROUPS]
    # Rank of each document by each group's model alone.
    places = np.argsort(np.argsort(-explanation.group_scores[:, shown], axis=0, kind="stable"), 0)
    best = np.argsort(-explanation.scores, kind="stable")[:N_DOCUMENTS]
    ids, labels = explanation.document_ids, explanation.labels
    columns = ["document", "score", *(f"group {group + 1}" for group in shown)]
    if labels is not None:
        columns.insert(1, "label")
    rows = []
    for document in best:
        row = [str(document + 1 if ids is None else ids[document])]
        if labels is not None:
            row.append(f"{labels[document]:g}")
        row += [f"{explanation.scores[document]:.4g}", *(str(p + 1) for p in places[document])]
        rows.append(row)
    title = f"First {len(rows)} of {len(explanation.scores):,} documents"
    print_table(f"{title}, with their rank by each group's model", columns, rows)
