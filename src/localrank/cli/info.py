"""`localrank info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from localrank.printing import UNBROKEN


def info(
    files: list[Path] = typer.Argument(help="Data files (LETOR, tables), or one model file."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Describe data or a model."""
    from localrank.cli.inputs import read_data
    from localrank.cli.tables import print_json
    from localrank.persistence import is_model, read_manifest

    if len(files) == 1 and files[0].is_file() and is_model(files[0]):
        facts = read_manifest(files[0])
        if as_json:
            print_json(facts)
        else:
            _print_model(files[0], facts)
        return
    facts = _describe(read_data(files, labels="optional"))
    if as_json:
        print_json(facts)
    else:
        _print_data(files, facts)


def _describe(dataset: Any) -> dict[str, Any]:
    import numpy as np

    from localrank.rankers import BestFeature

    sizes = dataset.query_sizes
    features = dataset.features
    constant = np.flatnonzero((features == features[0]).all(axis=0))
    missing = np.isnan(features).sum(axis=0)
    facts: dict[str, Any] = {
        "n_queries": dataset.n_queries,
        "n_documents": dataset.n_documents,
        "n_features": dataset.n_features,
        "documents_per_query": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "max": int(sizes.max()),
        },
        "document_ids": dataset.document_ids is not None,
        "constant_features": [dataset.feature_label(column) for column in constant],
        "missing_values": {
            dataset.feature_label(column): int(missing[column])
            for column in np.flatnonzero(missing)
        },
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
    if (low < high).any():
        best = BestFeature().fit(dataset)
        facts["best_feature"] = {
            "name": dataset.feature_label(best.feature_),
            "ndcg@5": float(best.values_[best.feature_]),
            "tie_rate": _tie_rate(dataset, best.predict_rows(dataset)),
        }
    return facts


def _tie_rate(dataset: Any, scores: Any) -> float:
    """Share of the documents that have the same score as another document of their query."""
    import numpy as np

    order = np.lexsort((scores, dataset.query_index))
    same = (np.diff(scores[order]) == 0) & (np.diff(dataset.query_index[order]) == 0)
    tied = np.append(same, False) | np.append(False, same)
    return float(tied.mean())


def _print_data(files: list[Path], facts: dict[str, Any]) -> None:
    from localrank.cli.tables import print_facts

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
        ["constant features", _shortened(facts["constant_features"])],
        [
            "missing values",
            _shortened([f"{name}: {n:,}" for name, n in facts["missing_values"].items()]),
        ],
    ]
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
    from localrank.cli.tables import print_facts

    data = facts["training_data"]
    rows = [
        ["method", facts["class"]],
        # Lines of a nested ranker are broken to fit here, not as it breaks them.
        *([f"  {name}", " ".join(value.split())] for name, value in facts["parameters"].items()),
        *([name.rstrip("_"), str(value)] for name, value in facts["fitted"].items()),
        ["trained on", f"{data['n_queries']:,} queries, {data['n_documents']:,} documents"],
        ["labels", _shortened([f"{k} × {n:,}" for k, n in data["most_frequent_labels"].items()])],
        ["features", f"{facts['n_features']:,}"],
        ["feature names", _shortened(facts["feature_names"] or [])],
        ["versions", _shortened([f"{name} {v}" for name, v in facts["versions"].items()])],
        ["size", f"{file.stat().st_size / 1024:,.0f} KiB"],
    ]
    print_facts(file.name, rows)


def _shortened(items: list[str], most: int = 10) -> str:
    if not items:
        return "none"
    more = f", and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(item.replace(" ", UNBROKEN) for item in items[:most]) + more
