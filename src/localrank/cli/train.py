"""`localrank train`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from localrank.cli._inputs import (
    MAX_DOCUMENTS_HELP,
    DataOptions,
    on_cluster,
    reads_clicks,
    reads_data,
)


@on_cluster
@reads_data
@reads_clicks
def train(
    data: list[Path] = typer.Argument(
        help="Training data: LETOR files, tables, partitions or feature logs. Or logs of clicks, "
        "with --features FILE, the features of their documents in any of these formats, and "
        "--clicks NAME, the estimate of how much is seen."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Model file to write."),
    method: str | None = typer.Option(
        None,
        help="Method to train. `localrank methods` lists them. By default lambdamart, or the "
        "method of the model that --continue names.",
    ),
    valid: list[Path] = typer.Option(
        [],
        help="Validation queries, which choose the size of the model (such as its number of "
        "trees). By default, the size is fixed.",
    ),
    setting: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter or a part, for example n_trees=200 or grouping=ward. May be "
        "repeated.",
    ),
    continued: Path | None = typer.Option(
        None,
        "--continue",
        metavar="MODEL",
        help="Add trees to this model of boosted trees, until there are as many as --set "
        "n_trees=... says. The data must have the model's features.",
    ),
    extractor: Path | None = typer.Option(
        None,
        help="The extractor that `localrank features` saved. The model can then rank by the words "
        "of a query.",
    ),
    measures: str = typer.Option(
        "ndcg@5,ndcg@10,map", help="Measures to report, separated by commas."
    ),
    max_documents: int | None = typer.Option(None, min=0, help=MAX_DOCUMENTS_HELP),
    keep: Path | None = typer.Option(
        None,
        file_okay=False,
        help="Folder to keep finished models in, so that the same command continues after an "
        "interruption. By default, nothing is kept.",
    ),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: int = typer.Option(0, help="Seed of all random choices."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    options: DataOptions,
    log_options: DataOptions,
) -> None:
    """Train a ranker and save it to one file.

    Examples: localrank train train.txt --valid vali.txt -o model.localrank;
    localrank train log.jsonl --features features.parquet --clicks pbm -o model.localrank
    """
    import time

    from localrank.cli._inputs import (
        check_held_out,
        check_model,
        gives_clicks,
        limit_of,
        parse_measures,
        read_data,
        save_model,
    )
    from localrank.cli._tables import cost, print_json, print_table, say, shortened
    from localrank.measures import evaluate
    from localrank.measures.base import mean_of_queries
    from localrank.persistence import kept_models, read_manifest
    from localrank.registry import make_ranker

    if continued is None:
        method = method or "lambdamart"
        ranker = make_ranker(method, setting, n_jobs, seed)
    else:
        ranker = _to_continue(continued, method, setting, n_jobs, seed)
        method = ranker.declaration.name
    wanted = parse_measures(measures)
    check_model(output)
    check_held_out(valid, data)
    like = None if continued is None else ranker
    if gives_clicks(data, options | log_options):
        from localrank.cli._clicked import clicked_data, read_with_features

        log, features, bias = read_with_features(data, options, log_options, like)
        train_data, clicked = clicked_data(log, features, bias, options.get("rates")), True
        of_log = "features", "clicks", "rates"
        options = {name: options[name] for name in options if name not in of_log}
    else:
        train_data, clicked = read_data(data, options | log_options, like=like), False
    parts = {"training": train_data}
    if valid:
        parts["validation"] = read_data(valid, options, like=train_data)
    if extractor is not None:
        from localrank.cli.features import made_by
        from localrank.text import TextRanker, load_extractor

        maker = load_extractor(extractor)
        parts = {part: made_by(maker, dataset, extractor) for part, dataset in parts.items()}
        train_data = parts["training"]
    names = f": {shortened(train_data.feature_names)}" if train_data.feature_names else ""
    say(
        f"Training {method}: {train_data.n_queries:,} queries, {train_data.n_documents:,} "
        f"documents, {train_data.n_features:,} features{names}"
    )
    if train_data.categories:
        named = [f"{name} ({len(v):,} values)" for name, v in train_data.categories.items()]
        say(f"Categories: {', '.join(named)}. Leave out other columns: --ignore")
    start = time.perf_counter()
    with kept_models(keep):
        ranker.fit(train_data, valid=parts.get("validation"), max_documents=limit_of(max_documents))
    seconds = time.perf_counter() - start
    if continued is not None:
        ranker.set_params(warm_start=False)
    save_model(ranker if extractor is None else TextRanker.of(maker, ranker), output)

    means = {
        part: {
            str(measure): mean_of_queries(values)
            for measure, values in evaluate(dataset, ranker.predict(dataset), wanted).items()
        }
        for part, dataset in parts.items()
        # Labels from clicks are no judgments: measures of them would tell little.
        if part != "training" or not clicked
    }
    size = output.stat().st_size
    fitted = read_manifest(output)["fitted"]
    if as_json:
        print_json(
            {
                "method": method,
                "model": str(output),
                "bytes": size,
                "seconds": seconds,
                "fitted": fitted,
                **means,
            }
        )
        return
    rows = [
        [part, *(f"{value:.4f}" for value in values.values())] for part, values in means.items()
    ]
    if rows:
        print_table(f"{method} on the queries it was given", ["queries", *map(str, wanted)], rows)
    if skipped := ranker.training_data_["n_queries_with_one_label"]:
        say(f"{skipped:,} training queries have only one label, which teaches nothing about order")
    if fitted:
        say(", ".join(f"{name.rstrip('_')} {value}" for name, value in fitted.items()))
    index = "" if extractor is None else " with its extractor and index"
    say(f"Trained in {cost(seconds)}, saved to {output}{index} ({size / 1024:,.0f} KiB)")


def _to_continue(
    path: Path, method: str | None, setting: Sequence[str], n_jobs: int, seed: int
) -> Any:
    """The fitted ranker of a file, set to add trees."""
    from localrank.persistence import load_ranker
    from localrank.registry import check_method, setting_values

    ranker, settings = load_ranker(path), setting_values(setting)
    if "warm_start" not in ranker.get_params(deep=False):
        raise ValueError(
            f"{path} holds a {type(ranker).__name__}, which cannot be continued. LambdaMART, "
            f"CrossEntropyMART and GBRT can."
        )
    kind = ranker.declaration.name
    if method is not None and check_method(method) != kind:
        raise ValueError(
            f"{path} holds a model of {kind}, which cannot be continued as {method}. Leave out "
            f"--method."
        )
    if "n_trees" not in settings:
        raise ValueError(
            f"--continue needs the number of trees in all: {path} has {ranker.n_trees_}, so give "
            f"more, such as --set n_trees={2 * ranker.n_trees_}."
        )
    return ranker.set_params(**settings, warm_start=True, n_jobs=n_jobs, random_state=seed)
