"""What commands read: data files, measures, methods and their parameters."""

from __future__ import annotations

import ast
import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from localrank.aggregation import Aggregator
    from localrank.data import RankingDataset
    from localrank.measures import Measure
    from localrank.rankers import Ranker

TABLE_SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arrow", ".feather")


Labels = Literal["needed", "optional", "ignored"]


def read_data(
    paths: Sequence[Path], *, labels: Labels = "needed", n_features: int | None = None
) -> RankingDataset:
    """LETOR files, or tables with the columns `qid`, `label` and optionally `document_id`.

    With `n_features`, LETOR files may lack the last features.
    """
    from localrank.cli.tables import say_if_compiling
    from localrank.data import concatenate, read_letor

    say_if_compiling()
    for path in paths:
        if path.is_dir():
            raise ValueError(f"{path}: is a folder. Name the files in it.")
    tables = [path for path in paths if path.name.lower().endswith(TABLE_SUFFIXES)]
    if not tables:
        return read_letor(paths, n_features=n_features)
    if len(tables) < len(paths):
        raise ValueError("Give LETOR files or tables, not both.")
    return concatenate([_read_table(path, labels) for path in tables])


def _read_table(path: Path, labels: Labels) -> RankingDataset:
    import narwhals.stable.v1 as nw

    from localrank.data import read_table
    from localrank.data.tables import read_file

    columns = nw.from_native(read_file(path), eager_only=True).columns
    has_label = labels == "needed" or (labels == "optional" and "label" in columns)
    return read_table(
        path,
        label="label" if has_label else None,
        document_id="document_id" if "document_id" in columns else None,
        features=[name for name in columns if name not in ("qid", "label", "document_id")],
    )


def parse_measures(text: str, convention: str = "default") -> list[Measure]:
    """Measures by name, separated by commas that are not inside parentheses."""
    from localrank.measures import parse_measure

    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("Name at least one measure, such as ndcg@10.")
    return [parse_measure(name, convention=convention) for name in names]


def methods() -> dict[str, Callable[..., Ranker]]:
    """Names of the methods on the command line."""
    from localrank.rankers import (
        GBRT,
        BestFeature,
        DuhKirchhoff,
        LambdaMART,
        MultipleHyperplaneRanker,
        RankBoost,
        RankSVM,
        SVMMap,
    )
    from localrank.recipes import adaptive_training, local_rank, pca_queries, query_neighbours

    return {
        "adaptive-training": adaptive_training,
        "best-feature": BestFeature,
        "duh-kirchhoff": DuhKirchhoff,
        "gbrt": GBRT,
        "lambdamart": LambdaMART,
        "local-rank": local_rank,
        "multiple-hyperplanes": MultipleHyperplaneRanker,
        "pca-queries": pca_queries,
        "query-neighbours": query_neighbours,
        "rank-boost": RankBoost,
        "rank-svm": RankSVM,
        "svm-map": SVMMap,
    }


def make_ranker(
    method: str, settings: Sequence[str], n_jobs: int | None, random_state: int | None
) -> Ranker:
    """A method by name, with `name=value` parameters; threads and seed where it has them.

    Parameters of parts are named as in scikit-learn, `ranker__C=0.1`; `ranker` itself is a
    method's name, `aggregator` one of borda, markov-chain, median-rank and weighted-borda.
    """
    known = methods()
    method = method.lower()
    if method not in known:
        raise ValueError(f"There is no method {method!r}.{_suggest(method, known)}")
    make = known[method]
    parameters = {name: p.default for name, p in inspect.signature(make).parameters.items()}
    given: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
    given = {name: value for name, value in given.items() if name in parameters}
    of_parts: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"A setting must read name=value. Got {setting!r} instead.")
        if name == "ranker" and name in parameters:
            given[name] = make_ranker(value, [], None, random_state)
        elif name == "aggregator" and name in parameters:
            given[name] = _make_aggregator(value)
        elif name in parameters:
            given[name] = _value(value)
        else:
            of_parts[name] = value
        if isinstance(parameters.get(name), bool) and not isinstance(given[name], bool):
            raise ValueError(f"{name} of {method} must be true or false. Got {value!r} instead.")
    ranker = make(**given)
    nested = {name: value for name, value in ranker.get_params().items() if "__" in name}
    for name, value in of_parts.items():
        if name not in nested:
            hint = _suggest(name, {**parameters, **nested}, parameters)
            raise ValueError(f"{method} has no parameter {name!r}.{hint}")
        ranker.set_params(**{name: _value(value)})
    return ranker


def _make_aggregator(name: str) -> Aggregator:
    from localrank.aggregation import Borda, MarkovChain, MedianRank, WeightedBorda

    known: dict[str, type[Aggregator]] = {
        "borda": Borda,
        "markov-chain": MarkovChain,
        "median-rank": MedianRank,
        "weighted-borda": WeightedBorda,
    }
    if name.lower() not in known:
        raise ValueError(f"There is no aggregator {name!r}.{_suggest(name, known)}")
    return known[name.lower()]()


def _value(text: str) -> Any:
    """A parameter as Python or JSON would write it, or the text itself."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def check_output(path: Path) -> None:
    """Refuse an output that could not be written, before the work for it is done."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path}: is a folder. Name a file in it.")
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {folder} is not writable.")


def _suggest(wrong: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    near = difflib.get_close_matches(wrong, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{hint} There are: {', '.join(sorted(known if listed is None else listed))}."
