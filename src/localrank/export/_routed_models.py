"""Local models in an engine: a model for each group, and a router that chooses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.data import RankingDataset
from localrank.export.base import ExportedModel, Files, GroupTarget, Target, one_file
from localrank.formulas import NotExportable, Routed, Router
from localrank.formulas.steps import routed_scores

ROUTER = "router.json"


def group_models(model: ExportedModel) -> dict[str, ExportedModel]:
    """The models of the groups by name: NAME_group1, NAME_group2 and so on.

    Parameters
    ----------
    model : ExportedModel
        A model whose formula is `Routed`. Any other model is returned as the only one.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.recipes import pca_queries
    >>> dataset, _ = make_queries(60)
    >>> list(group_models(exported_model(pca_queries(2).fit(dataset), "shop")))
    ['shop_group1', 'shop_group2']
    """
    if not isinstance(model.formula, Routed):
        return {model.name: model}
    names = [f"{model.name}_group{number + 1}" for number in range(len(model.formula.groups))]
    return {
        name: replace(model, name=name, formula=group)
        for name, group in zip(names, model.formula.groups, strict=True)
    }


def files_of(target: Target, model: ExportedModel) -> dict[str, str | bytes]:
    """The files for an engine, also of local models.

    There are three cases for a local model. If the engine can choose between the groups as the
    model does, it is written like any other model. If a query can name its group, one model
    holds all groups. Otherwise each group has a folder of files, named after the group's model.
    In the last two cases a client chooses the group by router.json.

    Parameters
    ----------
    target : Target
    model : ExportedModel
    """
    if not isinstance(model.formula, Routed):
        return target.files(model)
    if target.chooses_groups:
        # If the engine cannot choose by itself, a client chooses, as for other engines.
        with suppress(NotExportable):
            return target.files(model)
    models = group_models(model)
    content = router_file(model.formula, list(models), model.feature_names)
    files: dict[str, str | bytes] = {ROUTER: json.dumps(content, indent=1) + "\n"}
    if isinstance(target, GroupTarget):
        files |= target.files(model)
        files["README.md"] = _text(files["README.md"]) + "\n" + _routing_words(model.formula)
        return files
    for name, group in models.items():
        try:
            files |= {f"{name}/{file}": text for file, text in target.files(group).items()}
        except NotExportable as error:
            what = f"The model of group {name.rpartition('group')[2]} of {len(models)}"
            raise NotExportable(what, error.reason, error.instead) from error
    first = next(iter(models))
    files["README.md"] = (
        f"# {model.name}: a model for each of {len(models)} groups of queries\n\n"
        f"Each folder, such as `{first}/`, holds the model of one group. Its README.md says how to "
        f"upload it and how to query it.\n\n{_routing_words(model.formula)}"
    )
    return files


def scores_of(
    target: Target, files: Files, dataset: RankingDataset, router: Router | None = None
) -> Floats:
    """The scores that an engine computes from the files, also of local models.

    Parameters
    ----------
    target : Target
    files : mapping
    dataset : RankingDataset
    router : Router, optional
        Chooses in place of the service, for lists that router.json leaves to a service.
    """
    if ROUTER not in files and (router is None or target.chooses_groups):
        return target.scores(files, dataset)
    with one_file(files, ROUTER) as text:
        content = json.loads(text)
        names, standardises = content["models"], content["standardised"]
    weights = router_weights(content, dataset)
    asked = np.isnan(weights).any(axis=1)
    if asked.any():
        if router is None:
            raise ValueError(
                f"{ROUTER} leaves the choice of a group for query "
                f"{dataset.query_ids[np.argmax(asked)]} to a service. Give the 'router' argument."
            )
        weights[asked] = router.weights(dataset)[asked]
    lists = np.zeros((len(names), dataset.n_documents))
    for number, name in enumerate(names):
        if weights[:, number].any():
            lists[number] = _group_scores(target, files, dataset, number, f"{name}/")
    return routed_scores(dataset, weights, lists, standardises=standardises)


def _group_scores(
    target: Target, files: Files, dataset: RankingDataset, number: int, folder: str
) -> Floats:
    if isinstance(target, GroupTarget):
        return target.group_scores(files, dataset, number)
    files_of_group = {
        name.removeprefix(folder): content
        for name, content in files.items()
        if name.startswith(folder)
    }
    try:
        return target.scores(files_of_group, dataset)
    except ValueError as error:
        # The message begins with the name of a file in the folder.
        raise ValueError(f"{folder}{error}") from error


def _routing_words(routed: Routed) -> str:
    """A section for README.md: how a client chooses the group."""
    router = routed.router
    lines = ["## Which group ranks a list", ""]
    if not router.needs_service:
        lines.append(
            f"`{ROUTER}` holds the numbers for the choice: describe the list of documents, then "
            "choose. `docs/export/routers.md` of localrank has a client of a few lines."
        )
    else:
        lines.append(
            f"`{ROUTER}` says for which lists `localrank serve` has to choose, and why. Send the "
            "documents to `POST /v1/rank?explain=true`: the answer has `explanation.groups`, each "
            "with its number from 0 and its weight. It also has the ranking itself."
        )
    if router.several:
        scores = "score"
        if routed.standardises:
            scores = "standardised score (minus the list's mean, divided by its deviation)"
        lines += [
            "",
            "Several groups may have a weight for one list. No engine adds up their models: ask "
            f"for the scores of each group with a weight, and add up weight times {scores} in the "
            "client.",
        ]
    return "\n".join(lines) + "\n"


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode()


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
