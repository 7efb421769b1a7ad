"""`localrank methods`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer


def methods(
    as_json: bool = typer.Option(False, "--json", help="Print the methods and parts as JSON."),
) -> None:
    """List the methods, the parts they are built from, the parameters, and the export targets.

    Example: localrank methods
    """
    from localrank.cli._tables import print_json
    from localrank.export import list_targets, targets
    from localrank.registry import METHODS, PACKAGES, parameters, parts

    of_kinds = {kind: parts(kind) for kind in PACKAGES if kind != "ranker"}
    every_target: dict[str, Any] = {**targets(), **list_targets()}
    if as_json:
        print_json(
            {
                "methods": {
                    name: {
                        "kind": make.declaration.kind,
                        "summary": make.declaration.summary,
                        "parameters": {key: repr(v) for key, v in parameters(make).items()},
                        "tuned": {key: list(v) for key, v in make.declaration.grid.items()},
                    }
                    for name, make in METHODS.items()
                },
                "parts": {
                    kind: {
                        name: {
                            "summary": part.declaration.summary,
                            "parameters": list(parameters(part)),
                        }
                        for name, part in known.items()
                    }
                    for kind, known in of_kinds.items()
                },
                "targets": {
                    name: {"summary": target.declaration.summary}
                    for name, target in every_target.items()
                },
            }
        )
        return
    for kind in ("global", "local"):
        members = {name: make for name, make in METHODS.items() if make.declaration.kind == kind}
        _list(f"{kind.capitalize()} methods, with the parameters that --set takes", members)
    for kind, known in of_kinds.items():
        _list(f"{kind.capitalize()}s: --set {kind}=NAME, {kind}__PARAMETER=VALUE", known)
    _list("Export targets: localrank export --to NAME", targets())
    _list("Export targets for fusions of lists", list_targets())


def _list(title: str, known: Mapping[str, Any]) -> None:
    from localrank.cli._tables import print_facts
    from localrank.registry import parameters

    rows = []
    for name, part in known.items():
        taken = ", ".join(parameters(part))
        rows.append([name, part.declaration.summary + (f"\nwith {taken}" if taken else "")])
    print_facts(title, rows)
