"""A dataset at a glance: a few lines of text, and HTML in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data._categories import texts_of

if TYPE_CHECKING:
    from localrank._base.printing import Table
    from localrank.data.dataset import RankingDataset

# Labels that are counted one by one; more are summed up as a range.
N_LABELS = 8
# A notebook shows this many documents, with this many features.
N_DOCUMENTS, N_FEATURES = 5, 8
# Missing values are counted in the first documents of a larger table.
COUNTED_BYTES = 2**26


def described(dataset: RankingDataset) -> str:
    """Numbers of queries, documents and features, then a line for each fact."""
    return "\n  ".join([_title(dataset), *_facts(dataset)])


def described_in_html(dataset: RankingDataset) -> str:
    """The same with a bar for each label, and the first documents if they are in memory."""
    bars, facts = "", _facts(dataset)
    if dataset.relevance is not None:
        labels, counts = label_counts(dataset.relevance)
        if len(labels) <= N_LABELS:
            bars = _bars(labels, counts)
            # The bars say the same.
            facts = [fact for fact in facts if not fact.startswith("relevance")]
    first = ""
    # Other datasets would read or copy their features.
    if "features" in vars(dataset):
        facts = [*facts, _missing(dataset)]
        # Imported by those who need it: to load a model takes less.
        from localrank._base.printing import as_html

        first = f"<details><summary>First documents</summary>{as_html([_first(dataset)])}</details>"
    items = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts)
    return (
        f"<div><strong>{html.escape(_title(dataset))}</strong>{bars}"
        f'<ul style="margin-top:0.3em">{items}</ul>{first}</div>'
    )


def label_counts(relevance: Floats) -> tuple[Floats, Integers]:
    """The labels that occur, in ascending order, and how often each of them does.

    Examples
    --------
    >>> label_counts(np.array([2.0, 0.0, 2.0]))
    (array([0., 2.]), array([1, 2]))
    """
    low, high = relevance.min(), relevance.max()
    if low >= 0 and high < 256:
        grades = relevance.astype(np.uint8)
        # Grades are counted without sorting all documents.
        if np.array_equal(grades, relevance):
            counts = np.bincount(grades)
            present = np.flatnonzero(counts)
            return present.astype(np.float64), counts[present]
    return np.unique(relevance, return_counts=True)


def _title(dataset: RankingDataset) -> str:
    return (
        f"RankingDataset: {_count(dataset.n_queries, 'query', 'queries')}, "
        f"{_count(dataset.n_documents, 'document')}, {_count(dataset.n_features, 'feature')} "
        f"({dataset.dtype})"
    )


def _facts(dataset: RankingDataset) -> list[str]:
    """How many documents queries have, how labels are spread, and the number of files."""
    sizes = dataset.query_sizes
    facts = [
        f"documents per query: {sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}",
        *_label_facts(dataset),
    ]
    if dataset.categories:
        shown = [f"{name} ({len(values):,})" for name, values in dataset.categories.items()]
        more = f" and {len(shown) - N_FEATURES:,} more" if len(shown) > N_FEATURES else ""
        facts.append(f"categories: {', '.join(shown[:N_FEATURES])}{more}")
    n_files = len(dataset.partitions)
    return [*facts, f"files: {n_files:,}"] if n_files else facts


def _label_facts(dataset: RankingDataset) -> list[str]:
    if dataset.relevance is None:
        return ["relevance: none"]
    labels, counts = label_counts(dataset.relevance)
    if len(labels) <= N_LABELS:
        shares = (
            f"{label:g} × {count:,} ({100 * count / dataset.n_documents:.1f} %)"
            for label, count in zip(labels, counts, strict=True)
        )
        values = ", ".join(shares)
    else:
        values = f"{len(labels):,} values from {labels[0]:g} to {labels[-1]:g}"
    _, best = dataset.label_bounds
    return [
        f"relevance: {values}",
        f"queries without a relevant document: {np.sum(best <= 0):,}",
    ]


def _bars(labels: Floats, counts: Integers) -> str:
    """A table of labels: the number of documents, their share, and a bar as long as the share."""
    style = "text-align:right;font-variant-numeric:tabular-nums"
    rows = []
    for label, count in zip(labels, counts, strict=True):
        share = 100 * count / counts.sum()
        # The colour of the text, so that it shows in a light and in a dark theme.
        bar = f'<div style="width:{share:.1f}%;height:0.7em;background:currentColor;opacity:0.4">'
        rows.append(
            f'<tr><td style="{style}">{label:g}</td><td style="{style}">{count:,}</td>'
            f'<td style="{style}">{share:.1f} %</td><td style="width:10em">{bar}</div></td></tr>'
        )
    head = "".join(f'<th style="{style}">{name}</th>' for name in ("label", "documents", "share"))
    return f"<table><thead><tr>{head}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _missing(dataset: RankingDataset) -> str:
    row_bytes = max(dataset.n_features * dataset.dtype.itemsize, 1)
    n_rows = min(dataset.n_documents, max(COUNTED_BYTES // row_bytes, 1))
    by_feature = np.isnan(dataset.features[:n_rows]).sum(axis=0)
    where = "" if n_rows == dataset.n_documents else f" in the first {n_rows:,} documents"
    total = int(by_feature.sum())
    if total == 0:
        return f"missing values{where}: none"
    share = 100 * total / (n_rows * dataset.n_features)
    features = _count(int(np.sum(by_feature > 0)), "feature")
    return f"missing values{where}: {total:,} ({share:.1f} %), in {features}"


def _first(dataset: RankingDataset) -> Table:
    """The first documents, with as many features as there is room for."""
    from localrank._base.printing import Table

    rows = slice(0, N_DOCUMENTS)
    n_shown = min(dataset.n_features, N_FEATURES)
    columns = {"query": [str(dataset.query_ids[query]) for query in dataset.query_index[rows]]}
    if dataset.document_ids is not None:
        columns["document"] = [str(name) for name in dataset.document_ids[rows]]
    if dataset.relevance is not None:
        columns["label"] = [f"{label:g}" for label in dataset.relevance[rows]]
    categories = dataset.categories or {}
    for column in range(n_shown):
        values, label = dataset.features[rows, column], dataset.feature_label(column)
        columns[label] = [f"{value:.4g}" for value in values]
        if label in categories:
            columns[label] = [*map(str, texts_of(values, categories[label]))]
    if n_shown < dataset.n_features:
        columns[f"{dataset.n_features - n_shown:,} more"] = ["…"] * len(columns["query"])
    return Table("", list(columns), list(zip(*columns.values(), strict=True)))


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
