"""`localrank explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from localrank.explanation import Explanation


def explain(
    model: Path = typer.Argument(help="A model file of a local method."),
    data: list[Path] = typer.Argument(help="The query's documents: LETOR files or tables."),
    query: str = typer.Option(..., "--query", "-q", help="The query's id."),
    neighbours: int = typer.Option(5, min=1, help="Nearest training queries to show."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
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
    dataset = read_data(data, labels="optional", n_features=ranker.n_features_in_)
    known = {str(known): known for known in dataset.query_ids}
    explanation = ranker.explain(dataset, known.get(query, query), n_neighbours=neighbours)
    if as_json:
        print_json(_as_json(explanation))
    else:
        print(explanation)


def _as_json(explanation: Explanation) -> dict[str, Any]:
    import numpy as np

    return {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for name, value in vars(explanation).items()
    }
