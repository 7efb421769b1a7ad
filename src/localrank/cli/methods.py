"""`localrank methods`."""

from __future__ import annotations

import typer


def methods(
    as_json: bool = typer.Option(False, "--json", help="Print the methods as JSON."),
) -> None:
    """List the methods, with their parameters."""
    from localrank.cli.tables import print_json, print_table
    from localrank.methods import METHODS

    if as_json:
        print_json(
            {
                name: {
                    "kind": method.kind,
                    "summary": method.summary,
                    "parameters": {key: repr(v) for key, v in method.parameters().items()},
                    "tuned": {key: list(values) for key, values in method.grid.items()},
                }
                for name, method in METHODS.items()
            }
        )
        return
    print_table(
        "Methods, and the parameters that --set takes",
        ["method", "kind", "what it is", "parameters"],
        [
            [name, method.kind, method.summary, ", ".join(method.parameters())]
            for name, method in METHODS.items()
        ],
    )
