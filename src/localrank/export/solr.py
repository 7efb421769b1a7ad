"""Apache Solr's learning-to-rank module."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.export.base import ExportedModel, Files, Target
from localrank.export.solr_emulation import solr_scores
from localrank.export.solr_readings import Reading, comparisons, node, tells_missing
from localrank.export.solr_readme import readme
from localrank.formulas import Formula, Linear, NotExportable, Routed, TreeSum
from localrank.trees import nested

_PACKAGE = "org.apache.solr.ltr"
# Names that mean something else in every collection.
_TAKEN = ("id", "score")
# Features of the store in the order of the columns, then further readings of some, then a constant.
_Store = list[dict[str, Any]]


@declare("solr", "Apache Solr's learning-to-rank module")
class Solr(Target):
    """A feature store, a model and fields for Solr's learning-to-rank module.

    Trees become a `MultipleAdditiveTreesModel`, a linear model a `LinearModel`. Every split sends
    every float32 value where the ranker sends it; scores differ by the rounding of float32.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60)
    >>> sorted(Solr().files(exported_model(RankSVM().fit(dataset))))
    ['README.md', 'features.json', 'model.json', 'schema.json']
    """

    def files(self, model: ExportedModel) -> dict[str, str | bytes]:
        ranker, formula = str(model.facts.get("ranker", model.name)), model.formula
        fields = field_names(model.feature_names)
        if isinstance(formula, TreeSum):
            content, store = _trees(formula, fields)
        elif isinstance(formula, Linear):
            content, store = _linear(formula, fields)
        else:
            raise _refusal(ranker, formula)
        if not np.isfinite(np.array(_numbers(formula), np.float32)).all():
            raise NotExportable(
                ranker,
                "it has a number that is beyond the range of float32, in which Solr computes",
                "Divide the relevance labels by a power of ten and train again.",
            )
        named = {"store": model.name}
        return {
            "features.json": _lines([named | feature for feature in store]),
            "model.json": json.dumps({"name": model.name} | named | content, indent=1) + "\n",
            "schema.json": json.dumps({"add-field": list(map(_field, fields))}, indent=1) + "\n",
            "README.md": readme(model, fields),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        store, model = (json.loads(files[name]) for name in ("features.json", "model.json"))
        return solr_scores(store, model, dataset.features).astype(np.float64)


def field_names(names: Sequence[str]) -> list[str]:
    """The features' names as Solr takes them for fields: letters, digits and underscores.

    Parameters
    ----------
    names : sequence of str

    Examples
    --------
    >>> field_names(["bm25 of title", "bm25.of.title", "2gram", "score"])
    ['bm25_of_title', 'bm25_of_title_', 'f_2gram', 'f_score']
    """
    fields: list[str] = []
    for name in names:
        field = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match("[A-Za-z]", field) or field in _TAKEN:
            field = f"f_{field}"
        fields.append(_new(field, fields))
    return fields


def _new(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores after it where it is taken."""
    while name in taken:
        name += "_"
    return name


def _trees(formula: TreeSum, fields: Sequence[str]) -> tuple[dict[str, Any], _Store]:
    trees = formula.trees
    written = comparisons(trees)
    missing = tells_missing(trees)
    store = [_value_of(field, field, column in missing) for column, field in enumerate(fields)]
    names: dict[Reading, str] = {}
    readings = {comparison.reading for comparison in written.values()}
    for reading in sorted(readings, key=lambda each: (each.feature, -abs(each.divisor))):
        field = fields[reading.feature]
        if field in names.values():
            # A model takes each feature of the store once.
            name = _new(f"{field}_again", [feature["name"] for feature in store])
            store.append(_value_of(name, field, reading.feature in missing))
            names[reading] = name
        else:
            names[reading] = field
    content = {
        "class": f"{_PACKAGE}.model.MultipleAdditiveTreesModel",
        "features": [_normalized(name, each.divisor) for each, name in names.items()]
        or [{"name": fields[0]}],
        "params": {
            "trees": [{"weight": "1", "root": node(tree, names, written)} for tree in nested(trees)]
        },
    }
    return content, store


def _linear(formula: Linear, fields: Sequence[str]) -> tuple[dict[str, Any], _Store]:
    store = [_value_of(field, field, tells_missing=False) for field in fields]
    weights = {
        field: weight
        for field, weight in zip(fields, formula.weights.tolist(), strict=True)
        if weight
    }
    if formula.constant or not weights:
        name = _new("constant", fields)
        store.append(
            {"name": name, "class": f"{_PACKAGE}.feature.ValueFeature", "params": {"value": 1}}
        )
        weights[name] = float(formula.constant)
    content = {
        "class": f"{_PACKAGE}.model.LinearModel",
        "features": [{"name": name} for name in weights],
        "params": {"weights": weights},
    }
    return content, store


def _value_of(name: str, field: str, tells_missing: bool) -> dict[str, Any]:
    params = {"field": field}
    if tells_missing:
        params["defaultValue"] = "NaN"
    return {"name": name, "class": f"{_PACKAGE}.feature.FieldValueFeature", "params": params}


def _normalized(name: str, divisor: float) -> dict[str, Any]:
    if divisor == 1:
        return {"name": name}
    params = {"min": "0", "max": str(np.float32(divisor))}
    return {"name": name, "norm": {"class": f"{_PACKAGE}.norm.MinMaxNormalizer", "params": params}}


def _field(name: str) -> dict[str, Any]:
    return {"name": name, "type": "pfloat", "indexed": False, "stored": False, "docValues": True}


def _lines(entries: Sequence[Any]) -> str:
    """A JSON list with a line for each entry."""
    return "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n"


def _numbers(formula: Linear | TreeSum) -> Floats:
    if isinstance(formula, TreeSum):
        return formula.trees.leaf_values
    return np.append(formula.weights, formula.constant)


def _refusal(ranker: str, formula: Formula) -> NotExportable:
    if isinstance(formula, Routed):
        return NotExportable(
            ranker,
            "it chooses a model for each query, and a Solr query names one model",
            "Call it as a service instead: localrank serve.",
        )
    if formula.looks_at_list:
        return NotExportable(
            ranker,
            "it compares the documents of a list with each other, and Solr scores each alone",
            "Take a ranker without within-query steps, such as an ensemble with combine='fixed'.",
        )
    return NotExportable(
        ranker,
        "Solr has models of trees and linear models, but none that adds up both",
        "Export one of its members.",
    )
