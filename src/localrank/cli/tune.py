"""`localrank tune`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli._inputs import MAX_DOCUMENTS_HELP, DataOptions, on_cluster, reads_data

if TYPE_CHECKING:
    from localrank.evaluation import Tuning
    from localrank.rankers import Ranker


@on_cluster
@reads_data
def tune(
    data: list[Path] = typer.Argument(
        help="Training data: LETOR files, tables, partitions or feature logs."
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Model file to write: the best parameters, fitted on all training queries. By "
        "default, no model is saved.",
    ),
    method: str = typer.Option(
        "lambdamart", help="Method to tune. `localrank methods` lists them."
    ),
    grid: list[str] = typer.Option(
        [],
        metavar="NAME=VALUES",
        help="Values of a parameter to try, for example n_leaves=7,15,31. May be repeated: every "
        "combination is tried. By default, the grid that the method declares.",
    ),
    setting: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter or a part that is not tuned, for example n_trees=200. May be "
        "repeated.",
    ),
    valid: list[Path] = typer.Option(
        [], help="Validation queries to choose by. By default, folds of the training queries."
    ),
    folds: int = typer.Option(
        3, min=2, help="Number of folds of the training queries, without --valid."
    ),
    measure: str = typer.Option("ndcg@10", help="Measure that decides which parameters are best."),
    max_documents: int | None = typer.Option(None, min=0, help=MAX_DOCUMENTS_HELP),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: int = typer.Option(0, help="Seed of all random choices."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    options: DataOptions,
) -> None:
    """Choose a method's parameters on queries that it was not trained on.

    Example: localrank tune train.txt --grid n_leaves=7,15,31 -o model.localrank
    """
    from localrank import evaluation
    from localrank.cli._inputs import check_held_out, check_model, limit_of, read_data, save_model
    from localrank.cli._tables import say
    from localrank.measures import parse_measure
    from localrank.rankers._inputs import sampled_in_memory, sampled_validation
    from localrank.registry import check_method, make_part, setting_values

    name, settings = check_method(method), setting_values(setting)

    def make(**parameters: Any) -> Ranker:
        ranker: Ranker = make_part(
            "ranker", name, {**settings, **parameters}, n_jobs=n_jobs, random_state=seed
        )
        return ranker

    values = _given(grid, settings) if grid else _declared(name, make(), settings)
    chosen_by = parse_measure(measure)
    if output is not None:
        check_model(output)
    check_held_out(valid, data)
    train = read_data(data, options)
    held_out = None
    if valid:
        held_out = read_data(valid, options, like=train)
    # Drawn once, so that every combination learns from the same queries.
    n_queries, limit = train.n_queries, limit_of(max_documents)
    train = sampled_in_memory(train, limit)
    held_out = None if held_out is None else sampled_validation(held_out, limit)
    if train.n_queries < n_queries:
        say(f"{train.n_queries:,} of {n_queries:,} training queries were drawn by their ids")
    if held_out is None:
        queries = f"{train.n_queries:,} training queries in {folds} folds"
    else:
        queries = f"{held_out.n_queries:,} validation queries"
    n = math.prod(map(len, values.values()))
    say(f"Tuning {name}: {n:,} {'combination' if n == 1 else 'combinations'}, by {queries}")
    tuning = evaluation.tune(
        make, values, train, folds, chosen_by, valid=held_out, n_jobs=n_jobs, random_state=seed
    )
    if output is not None:
        save_model(tuning.best_estimator, output)
    _report(tuning, name, queries, output, as_json)


def _report(tuning: Tuning, method: str, queries: str, output: Path | None, as_json: bool) -> None:
    from localrank._base.printing import Table
    from localrank.cli._tables import print_json, print_result, say
    from localrank.evaluation.tuning import parameters_text

    sign = -1 if tuning.measure.higher_is_better else 1
    trials = sorted(tuning.path, key=lambda trial: sign * trial.mean)
    if as_json:
        print_json(
            {
                "method": method,
                "measure": str(tuning.measure),
                "queries": queries,
                "chosen": tuning.best_parameters,
                "trials": [
                    {
                        "parameters": trial.parameters,
                        "mean": trial.mean,
                        "standard_error": None
                        if math.isnan(trial.standard_error)
                        else trial.standard_error,
                    }
                    for trial in trials
                ],
                "seconds": tuning.fit_seconds,
                "model": None if output is None else str(output),
            }
        )
        return
    rows = [
        [parameters_text(trial.parameters), f"{trial.mean:.4f}", f"{trial.standard_error:.4f}"]
        for trial in trials
    ]
    columns = ["parameters", str(tuning.measure), "standard error"]
    chosen = parameters_text(tuning.best_parameters)
    print_result([Table(f"{method} by {queries}", columns, rows), f"Chosen: {chosen}"])
    fitted = f"Fitted with these on the training queries in {tuning.fit_seconds:.1f} s"
    say(f"{fitted}, saved to {output}" if output is not None else f"{fitted}; -o saves the model")


def _given(grid: Sequence[str], settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values of `--grid`, by parameter."""
    from localrank.registry import setting_value

    values: dict[str, list[Any]] = {}
    for text in grid:
        name, _, listed = text.partition("=")
        # Commas separate values; commas in parentheses or brackets do not.
        texts = [value.strip() for value in re.split(r",(?![^(\[]*[)\]])", listed)]
        if not all(texts):
            raise ValueError(
                f"--grid must be NAME=VALUE,VALUE,… such as n_leaves=7,15,31. Got {text!r} instead."
            )
        if name in values or name in settings:
            option = "--grid" if name in values else "--set"
            raise ValueError(f"{name!r} is in --grid and in another {option}: give it once.")
        values[name] = [setting_value(name, value) for value in texts]
    return values


def _declared(method: str, ranker: Ranker, settings: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """The grid that the method declares, without the parameters that `--set` fixes."""
    from localrank.registry import METHODS

    declared = METHODS[method].declaration.grid
    give = (
        "Give the values to try, such as --grid n_trees=100,300; `localrank methods` lists the "
        "parameters."
    )
    if not declared:
        raise ValueError(f"{method} declares no grid. {give}")
    # local-rank's n_clusters is its grouping__n_clusters.
    fixed = {name.rpartition("__")[2] for name in settings}
    values = {name: v for name, v in declared.items() if name.rpartition("__")[2] not in fixed}
    if not values:
        raise ValueError(f"{method} tunes {', '.join(declared)}, which --set fixes. {give}")
    for name in values:
        if name not in ranker.get_params():
            raise ValueError(
                f"{method} tunes {name!r}, which does not exist with these settings. {give}"
            )
    return values
