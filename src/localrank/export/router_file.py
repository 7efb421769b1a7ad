"""The router file: how a client chooses between the group models of an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from localrank.arrays import Flags, Floats
from localrank.data import RankingDataset
from localrank.formulas import Routed


def router_file(
    routed: Routed, models: Sequence[str], feature_names: Sequence[str]
) -> dict[str, Any]:
    """The content of router.json.

    Parameters
    ----------
    routed : Routed
    models : sequence of str
        The name of each group's model in the engine.
    feature_names : sequence of str

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import pca_queries
    >>> dataset, _ = make_queries(60, n_features=3, n_types=2)
    >>> routed = pca_queries(n_clusters=2).fit(dataset).formula()
    >>> content = router_file(routed, ["one", "other"], ["f1", "f2", "f3"])
    >>> content["router"], content["description"]["kind"], len(content["centres"])
    ('nearest-centre', 'top-values', 2)
    """
    router = routed.router
    return {
        "models": list(models),
        "features": list(feature_names),
        "weights": "several" if router.several else "one",
        "standardised": routed.standardises,
        **router.data(feature_names),
    }


def router_weights(content: Mapping[str, Any], dataset: RankingDataset) -> Floats:
    """The weight of each group for each list, from the content of router.json alone.

    Parameters
    ----------
    content : mapping
    dataset : RankingDataset

    Returns
    -------
    ndarray of shape (n_queries, n_groups)
        A row of NaN: a service has to choose for this list.

    Examples
    --------
    >>> description = {"kind": "mean", "fill": [0.0], "divide_by": [1.0]}
    >>> content = {
    ...     "models": ["one", "other"],
    ...     "features": ["bm25"],
    ...     "router": "nearest-centre",
    ...     "description": description,
    ...     "centres": [[0.0], [10.0]],
    ... }
    >>> lists = RankingDataset.from_arrays([[1.0], [3.0], [7.0]], qid=["a", "a", "b"])
    >>> router_weights(content, lists)
    array([[1., 0.],
           [0., 1.]])
    """
    weights = np.zeros((dataset.n_queries, len(content["models"])))
    for query, row in enumerate(weights):
        begin, end = dataset.offsets[query : query + 2]
        rows = dataset.features[begin:end].astype(np.float64)
        row[:] = _weights(content, rows, dataset.query_ids[query])
    return weights


def _weights(content: Mapping[str, Any], rows: Floats, query_id: Any) -> Floats:
    weights = np.zeros(len(content["models"]))
    match content["router"]:
        case "service":
            weights[:] = np.nan
        case "category":
            group = _group_of_category(content, rows, query_id)
            weights[0 if group is None else group] = 1.0
            if group is None:
                weights[:] = np.nan
        case "linear" | "softmax" as kind:
            described = described_list(content["description"], rows, content["features"])
            sums = np.array(content["coefficients"]) @ described + content["intercepts"]
            if kind == "linear":
                weights[content["rows"][int(sums.argmax())]] = 1.0
            else:
                odds = np.exp(sums - sums.max())
                weights[content["rows"]] = odds / odds.sum()
        case "nearest-centre" | "near-centres" as kind:
            described = described_list(content["description"], rows, content["features"])
            squares = ((np.array(content["centres"]) - described) ** 2).sum(axis=1)
            if kind == "nearest-centre":
                weights[int(squares.argmin())] = 1.0
            else:
                likely = np.exp((squares.min() - squares) / (2 * content["width"]))
                used = np.argsort(-likely, kind="stable")[: content["n_used"]]
                weights[used] = likely[used] / likely.sum()
    return weights


def _group_of_category(content: Mapping[str, Any], rows: Floats, query_id: Any) -> int | None:
    """The group of a list. None: a service has to choose."""
    known = dict(zip(content["categories"], content["category_groups"], strict=True))
    feature = content["by"].get("feature")
    category: str | float = str(query_id)
    if feature is not None:
        category = float(rows[0, content["features"].index(feature)])
    group: int | None = known.get(category)
    if group is None and content["others"] == "refuse":
        raise ValueError(
            f"Query {query_id} has the category {category!r}, for which there is no model. The "
            f"categories are {', '.join(map(repr, known))}."
        )
    return group


def described_list(
    description: Mapping[str, Any], rows: Floats, feature_names: Sequence[str]
) -> Floats:
    """The numbers that describe a list.

    Parameters
    ----------
    description : mapping
        The entry `description` of router.json.
    rows : ndarray of shape (n_documents, n_features)
        The documents of one list.
    feature_names : sequence of str

    Examples
    --------
    >>> top = {"kind": "top-documents", "n": 2, "by": "a", "columns": ["b"]}
    >>> top |= {"fill": [0.0, 0.0], "divide_by": [1.0, 10.0]}
    >>> described_list(top, np.array([[3.0, 70.0], [1.0, 10.0], [2.0, 50.0]]), ["a", "b"])
    array([6.])
    """
    rows = _filled(rows, np.array(description["fill"])) / description["divide_by"]
    kind, n = description["kind"], min(description.get("n", len(rows)), len(rows))
    described: Floats
    match kind:
        case "top-documents":
            by = rows[:, feature_names.index(description["by"])]
            described = _shares(by, n) @ rows / n
        case "top-values":
            described = np.sort(rows, axis=0)[::-1][:n].mean(axis=0)
        case _:
            described = _moment(kind, rows)
    if "columns" in description:
        return described[[feature_names.index(name) for name in description["columns"]]]
    if "components" in description:
        described = np.array(description["components"]) @ (described - description["subtract"])
    return described


def _filled(rows: Floats, fill: Floats) -> Floats:
    """Rows with missing values replaced by the median of the others, or by `fill` if all miss."""
    missing: Flags = np.isnan(rows)
    filled = rows.copy()
    for column in np.flatnonzero(missing.any(axis=0)):
        present = rows[~missing[:, column], column]
        filled[missing[:, column], column] = np.median(present) if len(present) else fill[column]
    return filled


def _shares(values: Floats, n: int) -> Floats:
    """The share of each document in the first n places. Documents tied at the cut share evenly."""
    last = np.sort(values)[::-1][n - 1]
    above, tied = values > last, values == last
    shares: Floats = above + tied * (n - above.sum()) / tied.sum()
    return shares


def _moment(kind: str, rows: Floats) -> Floats:
    mean: Floats = rows.mean(axis=0)
    if kind == "mean":
        return mean
    # Relative to the first document: if all are equal, the differences are exactly 0.
    rest = rows - rows[0]
    rest -= rest.mean(axis=0)
    variance: Floats = (rest**2).mean(axis=0)
    if kind == "variance":
        return variance
    deviation = np.sqrt(variance)
    skew: Floats = ((rest / np.where(deviation > 0, deviation, 1.0)) ** 3).mean(axis=0)
    return skew
