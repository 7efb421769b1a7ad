"""`localrank info`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank._base.printing import UNBROKEN
from localrank.cli._inputs import DataOptions, reads_clicks, reads_data

if TYPE_CHECKING:
    from localrank.data import RankingDataset


@reads_data
@reads_clicks
def info(
    files: list[Path] = typer.Argument(
        help="Data (LETOR files, tables, partitions, feature logs), logs of clicks, or one model "
        "file."
    ),
    seen: bool = typer.Option(
        False,
        "--seen",
        help="Estimate how much each position is seen, say whether the estimate can be trusted, "
        "and compare click models. With --features FILE, features are used if few documents were "
        "shown at several positions.",
        rich_help_panel="Logs of clicks",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    options: DataOptions,
    log_options: DataOptions,
) -> None:
    """Describe data (queries, labels, features), a log of clicks, or a saved model.

    Examples: localrank info train.txt;
    localrank info log.jsonl --seen
    """
    from localrank.cli._inputs import features_of_log, gives_clicks, read_clicks, read_data
    from localrank.cli._tables import print_json
    from localrank.persistence import is_model, read_manifest

    if len(files) == 1 and files[0].is_file() and is_model(files[0]):
        facts = read_manifest(files[0])
        if as_json:
            print_json(facts)
        else:
            _print_model(files[0], facts)
        return
    if gives_clicks(files, options | log_options):
        from localrank.cli._click_facts import click_facts, print_clicks, seen_facts
        from localrank.evaluation import examination_report

        # Files of features, and how to read them, are for the report.
        log = read_clicks(files, log_options if seen else options | log_options)
        facts = click_facts(log)
        report = examination_report(log, features_of_log(options)) if seen else None
        if as_json:
            print_json(facts if report is None else facts | {"seen": seen_facts(report)})
            return
        print_clicks(", ".join(file.name for file in files), facts)
        if report is not None:
            print(f"\n{report}")
        return
    if seen:
        raise ValueError("--seen is for logs of clicks.")
    options |= log_options
    facts = _describe(read_data(files, options, labels="optional"))
    if as_json:
        print_json(facts)
    else:
        _print_data(files, facts)


def _describe(dataset: RankingDataset) -> dict[str, Any]:
    import numpy as np

    sizes = dataset.query_sizes
    columns = _pass(_columns, dataset)
    first = columns[0][0]
    same = np.all([part[1] & (part[0] == first) for part in columns], axis=0)
    missing = np.sum([part[2] for part in columns], axis=0)
    facts: dict[str, Any] = {
        "n_queries": dataset.n_queries,
        "n_documents": dataset.n_documents,
        "n_features": dataset.n_features,
        "feature_names": None if dataset.feature_names is None else list(dataset.feature_names),
        "documents_per_query": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "max": int(sizes.max()),
        },
        "document_ids": columns[0][3],
        "constant_features": [
            dataset.feature_label(column) for column in np.flatnonzero(same).tolist()
        ],
        "missing_values": {
            dataset.feature_label(column): int(missing[column])
            for column in np.flatnonzero(missing).tolist()
        },
        "categories": {name: len(values) for name, values in (dataset.categories or {}).items()},
    }
    if dataset.relevance is None:
        return facts
    labels, counts = np.unique(dataset.relevance, return_counts=True)
    low, high = dataset.label_bounds
    facts["labels"] = {
        f"{label:g}": int(count) for label, count in zip(labels, counts, strict=True)
    }
    facts["queries_without_relevant_documents"] = int(np.sum(high <= 0))
    facts["queries_with_one_label"] = int(np.sum(low == high))
    if (low < high).any() and len(dataset.categories or ()) < dataset.n_features:
        reached = sum(_pass(_reached, dataset)) @ np.array([2.0**-30, 2.0**-60])
        # The code of a category is no score.
        names = dataset.feature_names or ()
        reached[[names.index(name) for name in dataset.categories or ()]] = -1.0
        best = int(np.argmax(reached))
        facts["best_feature"] = {
            "name": dataset.feature_label(best),
            "ndcg@5": float(reached[best]) / dataset.n_queries,
            "tie_rate": sum(_pass(_n_tied, dataset, best)) / dataset.n_documents,
        }
    return facts


def _pass(function: Callable[..., Any], dataset: RankingDataset, *shared: Any) -> list[Any]:
    """The results of a function on each partition, or on a dataset in memory."""
    from localrank.data._parts import over_parts

    return over_parts(function, dataset, shared=shared, description="Reading partitions")


def _columns(part: RankingDataset) -> tuple[Any, Any, Any, bool]:
    """The first row, the constant features, the missing values, and whether documents have ids."""
    import numpy as np

    features = part.features
    same = (features == features[0]).all(axis=0)
    # A copy, because a row of the table would keep all of it.
    return features[0].copy(), same, np.isnan(features).sum(axis=0), part.document_ids is not None


def _reached(part: RankingDataset) -> Any:
    """Sum of the NDCG@5 of each feature over queries, in units of 2^-30 and 2^-60.

    Whole numbers have the same sum in any order, so the mean does not depend on the partitions.
    """
    import numpy as np

    from localrank.measures import NDCG
    from localrank.measures._single_features import lowest_where_missing

    sums = np.empty((part.n_features, 2), np.int64)
    for column in range(part.n_features):
        scores = lowest_where_missing(part, part.features[:, column].astype(np.float64))
        large, rest = np.divmod(NDCG(5).of_rows(part, scores), 2.0**-30)
        sums[column] = large.sum(dtype=np.int64), np.rint(rest * 2.0**60).sum(dtype=np.int64)
    return sums


def _n_tied(part: RankingDataset, column: int) -> int:
    """How many documents share their value of a feature with another document of the query."""
    import numpy as np

    from localrank.measures._single_features import lowest_where_missing

    scores = lowest_where_missing(part, part.features[:, column])
    order = np.lexsort((scores, part.query_index))
    same = (np.diff(scores[order]) == 0) & (np.diff(part.query_index[order]) == 0)
    return int(np.sum(np.append(same, False) | np.append(False, same)))


def _print_data(files: list[Path], facts: dict[str, Any]) -> None:
    from localrank.cli._tables import print_facts

    sizes = facts["documents_per_query"]
    rows = [
        ["queries", f"{facts['n_queries']:,}"],
        ["documents", f"{facts['n_documents']:,}"],
        [
            "documents per query",
            f"{sizes['min']:,} to {sizes['max']:,}, median {sizes['median']:g}",
        ],
        ["document ids", "yes" if facts["document_ids"] else "no"],
        ["features", f"{facts['n_features']:,}"],
        ["feature names", _shortened(facts["feature_names"] or [])],
        ["constant features", _shortened(facts["constant_features"])],
        [
            "missing values",
            _shortened([f"{name}: {n:,}" for name, n in facts["missing_values"].items()]),
        ],
    ]
    if facts["categories"]:
        values = [f"{name}: {n:,} values" for name, n in facts["categories"].items()]
        rows.append(["categories", _shortened(values)])
    if "labels" in facts:
        labels = [
            f"{label} × {count:,} ({100 * count / facts['n_documents']:.1f} %)"
            for label, count in facts["labels"].items()
        ]
        rows += [
            ["labels", _shortened(labels)],
            [
                "queries without a relevant document",
                f"{facts['queries_without_relevant_documents']:,}",
            ],
            ["queries with one label only", f"{facts['queries_with_one_label']:,}"],
        ]
    if "best_feature" in facts:
        best = facts["best_feature"]
        rows.append(
            [
                "best feature",
                f"{best['name']}: NDCG@5 {best['ndcg@5']:.4f}, "
                f"{100 * best['tie_rate']:.1f}{UNBROKEN}% of documents tied",
            ]
        )
    print_facts(", ".join(file.name for file in files), rows)


def _print_model(file: Path, facts: dict[str, Any]) -> None:
    from localrank.cli._tables import print_facts

    data = facts["training_data"]
    rows = [
        ["method", facts["class"]],
        # The text of a nested ranker has line breaks; they are made anew to fit here.
        *([f"  {name}", " ".join(value.split())] for name, value in facts["parameters"].items()),
        *([name.rstrip("_"), str(value)] for name, value in facts["fitted"].items()),
        *([f"validation of {curve['ranker']}", _shown(curve)] for curve in facts.get("curves", [])),
        *_learned_from(data),
        ["features", f"{facts['n_features']:,}"],
        ["feature names", _shortened(facts["feature_names"] or [])],
        *_said_of_columns(facts["columns"]),
        ["versions", _shortened([f"{name} {v}" for name, v in facts["versions"].items()])],
        ["size", f"{file.stat().st_size / 1024:,.0f} KiB"],
    ]
    print_facts(file.name, rows)


def _shown(curve: dict[str, Any], n_shown: int = 6) -> str:
    """Some points of a curve of early stopping: evenly spaced ones, and the best."""
    from localrank.measures import parse_measure

    rounds, values = curve["rounds"], curve["values"]
    better = max if parse_measure(curve["measure"]).higher_is_better else min
    best = values.index(better(values))
    step = max((len(values) - 1) / (n_shown - 1), 1)
    places = {round(step * number) for number in range(n_shown) if step * number < len(values)}
    points = [
        f"{rounds[place]:,}: {values[place]:.4f}{' (best)' if place == best else ''}"
        for place in sorted({*places, best})
    ]
    return f"{curve['measure']} by rounds, " + _shortened(points)


def _learned_from(data: dict[str, Any]) -> list[list[str]]:
    """The rows about training data. An extractor has documents but no queries."""
    n_documents = f"{data['n_documents']:,} documents"
    if not data["n_queries"]:
        return [["indexed", n_documents]]
    labels = [f"{label} × {n:,}" for label, n in data["most_frequent_labels"].items()]
    return [
        ["trained on", f"{data['n_queries']:,} queries, {n_documents}"],
        ["labels", _shortened(labels)],
    ]


def _said_of_columns(columns: dict[str, Any]) -> list[list[str]]:
    """The rows about what was said of the columns at training."""
    rows = []
    if columns.get("zero_based") is not None:
        rows.append(["feature ids", "from 0" if columns["zero_based"] else "from 1"])
    if columns.get("left_out"):
        rows.append(["columns left out", _shortened([*map(str, columns["left_out"])])])
    return rows


def _shortened(items: list[str]) -> str:
    from localrank.cli._tables import shortened

    return shortened([item.replace(" ", UNBROKEN) for item in items]) or "none"
