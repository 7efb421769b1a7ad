"""`localrank tune`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli.cluster import on_cluster
from localrank.cli.inputs import MAX_DOCUMENTS, Reading, reads_data

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
        help="The model file to write: the best, fitted on all training queries.",
    ),
    method: str = typer.Option("lambdamart", help="As `localrank methods` lists them."),
    grid: list[str] = typer.Option(
        [],
        help="Values to try of a parameter, as n_leaves=7,15,31; with several --grid every "
        "combination. Without, the method's own grid.",
    ),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter or a part that is not tuned, as n_trees=200."
    ),
    valid: list[Path] = typer.Option([], help="Queries to choose by, instead of folds."),
    folds: int = typer.Option(3, min=2, help="Folds of the training queries to choose by."),
    measure: str = typer.Option("ndcg@10", help="What the best is best by."),
    max_documents: int | None = typer.Option(None, min=0, help=MAX_DOCUMENTS),
    n_jobs: int = typer.Option(-1, help="Threads; -1 for all cores."),
    seed: int = typer.Option(0, help="Seed of all randomness."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    reading: Reading,
) -> None:
    """Choose a method's parameters by queries that were not trained on."""
    from localrank import evaluation
    from localrank.cli.inputs import check_held_out, check_model, limit_of, read_data
    from localrank.cli.tables import say
    from localrank.measures import parse_measure
    from localrank.methods import check_method, setting_values
    from localrank.parts import make_part
    from localrank.rankers.inputs import drawn_in_memory, drawn_validation

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
    train = read_data(data, reading)
    held_out = None
    if valid:
        held_out = read_data(valid, reading, n_features=train.n_features, names=train.feature_names)
    # Once, so that every combination learns from the same queries.
    n_queries, limit = train.n_queries, limit_of(max_documents)
    train = drawn_in_memory(train, limit)
    held_out = None if held_out is None else drawn_validation(held_out, limit)
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
        tuning.best_estimator.save(output)
    _report(tuning, name, queries, output, as_json)


def _report(tuning: Tuning, method: str, queries: str, output: Path | None, as_json: bool) -> None:
    from localrank.cli.tables import print_json, print_result, say
    from localrank.evaluation.trials import parameters_text
    from localrank.printing import Table

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
    """The values that `--grid` names, by parameter."""
    from localrank.methods import setting_value

    values: dict[str, list[Any]] = {}
    for text in grid:
        name, _, listed = text.partition("=")
        # Commas between values, not those inside of one.
        texts = [one.strip() for one in re.split(r",(?![^(\[]*[)\]])", listed)]
        if not all(texts):
            raise ValueError(
                f"A grid must read name=value,value,… as n_leaves=7,15,31. Got {text!r} instead."
            )
        if name in values or name in settings:
            option = "--grid" if name in values else "--set"
            raise ValueError(f"{name!r} is in --grid and in another {option}: give it once.")
        values[name] = [setting_value(name, one) for one in texts]
    return values


def _declared(method: str, ranker: Ranker, settings: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """The method's own grid, without what is set."""
    from localrank.methods import METHODS

    own = METHODS[method].declaration.grid
    give = "Name the values to try, as --grid n_trees=100,300; `localrank methods` has the names."
    if not own:
        raise ValueError(f"{method} has no grid of its own. {give}")
    # local-rank's n_clusters is its grouping__n_clusters.
    fixed = {name.rpartition("__")[2] for name in settings}
    values = {name: v for name, v in own.items() if name.rpartition("__")[2] not in fixed}
    if not values:
        raise ValueError(f"{method} tunes {', '.join(own)}, which --set gives. {give}")
    for name in values:
        if name not in ranker.get_params():
            raise ValueError(
                f"{method} tunes {name!r}, which it has not with these settings. {give}"
            )
    return values
