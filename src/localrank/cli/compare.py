"""`localrank compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from localrank.data import Fold
    from localrank.rankers import Ranker

DEFAULT = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training,fast,best"
# Left out of "all": it trains a model for every query it ranks.
LAZY = "duh-kirchhoff"
# Of `best` and `fast`, that their opponent shares.
TREE_PARAMETERS = ("n_trees", "n_leaves", "min_leaf_documents")


def compare(
    data: list[Path] = typer.Argument(
        help="A folder with folds; or one file, cut into folds; or train, (validation,) test files."
    ),
    output: Path = typer.Option(Path("report"), "--output", "-o", help="The folder to write."),
    methods: str = typer.Option(
        DEFAULT, help="Methods, separated by commas, or all; see `localrank methods`."
    ),
    measures: str = typer.Option("ndcg@10,ndcg@5,map", help="Measures; the first is primary."),
    baseline: str = typer.Option("lambdamart", help="The method differences are against."),
    folds: int = typer.Option(5, min=2, help="Folds to make where the data has none."),
    tune: bool = typer.Option(False, "--tune", help="Tune each method's parameters in each fold."),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of a method, as local-rank.n_clusters=4."
    ),
    bounds: bool = typer.Option(True, help="Bound what local methods could gain (trains more)."),
    n_jobs: int = typer.Option(-1, help="Threads; -1 for all cores."),
    seed: int = typer.Option(0, help="Seed of all randomness."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Compare methods on the same queries: a table, tests, and a page that shows them."""
    from localrank.cli.comparison import compare_and_report
    from localrank.cli.inputs import parse_measures
    from localrank.methods import METHODS

    wanted = parse_measures(measures)
    rankers = make_methods(methods, baseline, setting, n_jobs, seed)
    tuned = {n: METHODS[n].grid for n in rankers if n in METHODS and METHODS[n].grid}
    compare_and_report(
        rankers,
        read_folds(data, folds, seed),
        wanted,
        baseline=baseline,
        grids=tuned if tune else None,
        bounds=bounds,
        n_jobs=n_jobs,
        seed=seed,
        title=title_of(data),
        output=output,
        as_json=as_json,
    )


def make_methods(
    names: str, baseline: str, settings: Sequence[str], n_jobs: int, seed: int
) -> dict[str, Ranker]:
    """The rankers to compare by name: those asked for, and what they are compared with."""
    from localrank.cli.comparison import BEST_FEATURE, OTHER_SEED
    from localrank.methods import (
        METHODS,
        check_method,
        make_ranker,
        n_models,
    )
    from localrank.recipes import global_ensemble

    asked = [name.strip() for name in names.split(",") if name.strip()]
    if "all" in asked:
        asked.remove("all")
        asked = [*(name for name in METHODS if name != LAZY), *asked]
    chosen = list(dict.fromkeys(check_method(name) for name in [BEST_FEATURE, baseline, *asked]))
    own: dict[str, list[str]] = {name: [] for name in chosen}
    for setting in settings:
        method, dot, rest = setting.partition(".")
        if not dot or "=" in method:
            raise ValueError(f"A setting must read method.name=value. Got {setting!r} instead.")
        if method not in own:
            raise ValueError(f"--set {setting}: {method} is not among {', '.join(chosen)}.")
        own[method].append(rest)
    rankers = {name: make_ranker(name, own[name], n_jobs, seed) for name in chosen}
    single = rankers[baseline]
    if "random_state" in single.get_params(deep=False):
        other = OTHER_SEED.format(baseline)
        rankers[other] = make_ranker(baseline, own[baseline], n_jobs, seed + 1)
        # As many models as the local methods have, so that costs are equal.
        local = [name for name in rankers if name in METHODS and METHODS[name].kind == "local"]
        largest = max((n_models(rankers[name]) for name in local), default=1)
        if largest > 1 and not own.get("global-ensemble"):
            rankers["global-ensemble"] = global_ensemble(
                largest,
                ranker=make_ranker(baseline, own[baseline], None, seed),
                n_jobs=n_jobs,
                random_state=seed,
            )
    recipe = next((name for name in ("best", "fast") if name in rankers), None)
    if recipe and not own.get("global-mixed"):
        # Trees of the same size, in as many models.
        trees = [s for s in own[recipe] if s.partition("=")[0] in TREE_PARAMETERS]
        settings = [f"n_models={n_models(rankers[recipe])}", *trees]
        rankers["global-mixed"] = make_ranker("global-mixed", settings, n_jobs, seed)
    return rankers


def read_folds(paths: Sequence[Path], n_folds: int, seed: int) -> list[Fold]:
    """The folds of a folder, of one file's queries, or the one split that files make."""
    from localrank.cli.inputs import read_data
    from localrank.data import Fold
    from localrank.data import folds as find_folds

    if len(paths) == 1 and paths[0].is_dir():
        from localrank.cli.tables import say_if_compiling

        say_if_compiling()
        return list(find_folds(paths[0]))
    if len(paths) == 1:
        dataset = read_data(paths)
        return list(find_folds(dataset, n_folds, validation=n_folds > 2, random_state=seed))
    if len(paths) > 3:
        raise ValueError("Name a folder, one file, or train, (validation and) test files.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise ValueError("A file may be named once: training data cannot test what was learned.")
    train = read_data(paths[:1])
    *valid, test = (read_data([path], n_features=train.n_features) for path in paths[1:])
    return [Fold("split", train, valid[0] if valid else None, test)]


def title_of(paths: Sequence[Path]) -> str:
    """What to call the data."""
    return paths[0].resolve().name if len(paths) == 1 else " ".join(path.name for path in paths)
