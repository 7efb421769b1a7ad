"""Local models in an engine: a model for each group, and a router that chooses."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.base import ExportedModel, Files, GroupTarget, Target
from localrank.export.reading import reading
from localrank.export.router_file import router_file, router_weights
from localrank.formulas import NotExportable, Routed, Router
from localrank.formulas.routing import routed_scores

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
    with reading(files, ROUTER) as text:
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
