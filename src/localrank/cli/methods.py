"""`localrank methods`."""

from __future__ import annotations

import typer


def methods(
    as_json: bool = typer.Option(False, "--json", help="Print the methods as JSON."),
) -> None:
    """List the methods, with their parameters."""
    from localrank.cli.tables import print_facts, print_json
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
    for kind in ("global", "local"):
        print_facts(
            f"{kind.capitalize()} methods, with the parameters that --set takes",
            [
                [name, f"{method.summary}\n[dim]{', '.join(method.parameters())}[/dim]"]
                for name, method in METHODS.items()
                if method.kind == kind
            ],
        )
