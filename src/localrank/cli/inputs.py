"""What commands read: data files, measures, methods and their parameters."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.measures import Measure
    from localrank.rankers import Ranker

TABLE_SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arrow", ".feather")


def read_data(paths: Sequence[Path], labels: bool = True) -> RankingDataset:
    """LETOR files, or tables with the columns `qid`, `label` and optionally `document_id`."""
    from localrank.cli.tables import say_if_compiling
    from localrank.data import concatenate, read_letor, read_table

    say_if_compiling()
    for path in paths:
        if path.is_dir():
            raise ValueError(f"{path}: is a folder. Name the files in it.")
    tables = [path for path in paths if path.name.endswith(TABLE_SUFFIXES)]
    if not tables:
        return read_letor(paths)
    if len(tables) < len(paths):
        raise ValueError("Give LETOR files or tables, not both.")
    return concatenate([_read_table(path, read_table, labels) for path in tables])


def _read_table(path: Path, read_table: Any, labels: bool) -> RankingDataset:
    import narwhals.stable.v1 as nw

    from localrank.data.tables import read_file

    frame = nw.from_native(read_file(path), eager_only=True)
    has = {name: name if name in frame.columns else None for name in ("label", "document_id")}
    try:
        dataset: RankingDataset = read_table(
            frame.to_native(),
            label="label" if labels else has["label"],
            document_id=has["document_id"],
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return dataset


def parse_measures(text: str, convention: str = "default") -> list[Measure]:
    """Measures by name, separated by commas that are not inside parentheses."""
    from localrank.measures import parse_measure

    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("Name at least one measure, such as ndcg@10.")
    return [parse_measure(name, convention=convention) for name in names]


def methods() -> dict[str, type[Ranker]]:
    """Names of the methods on the command line."""
    from localrank.rankers import GBRT, BestFeature, LambdaMART

    return {"best-feature": BestFeature, "gbrt": GBRT, "lambdamart": LambdaMART}


def make_ranker(
    method: str, settings: Sequence[str], n_jobs: int, random_state: int | None
) -> Ranker:
    """A method by name, with `name=value` parameters; threads and seed where it has them."""
    known = methods()
    if method not in known:
        raise ValueError(f"There is no method {method!r}.{_suggest(method, known)}")
    ranker = known[method]()
    parameters = ranker.get_params()
    given: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
    given = {name: value for name, value in given.items() if name in parameters}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"A setting must read name=value. Got {setting!r} instead.")
        if name not in parameters:
            raise ValueError(f"{method} has no parameter {name!r}.{_suggest(name, parameters)}")
        try:
            given[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            given[name] = value
    ranker.set_params(**given)
    return ranker


def _suggest(wrong: str, known: dict[str, Any]) -> str:
    near = difflib.get_close_matches(wrong, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{hint} There are: {', '.join(sorted(known))}."
