"""Apache Solr's learning-to-rank module."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.export._node_tables import plain_thresholds
from localrank.export.base import (
    ExportedModel,
    Files,
    Target,
    check_single_range,
    one_file,
    trees_of,
)
from localrank.export.solr._splits import (
    SLACK,
    ScaledFeature,
    Singles,
    comparisons,
    missing_apart,
    node,
)
from localrank.formulas import Linear, Net, NotExportable, OnColumns, Routed, Standardised, TreeSum
from localrank.registry import declare
from localrank.trees import Trees, nested

_PACKAGE = "org.apache.solr.ltr"
# Names that have a meaning in every collection.
_TAKEN = ("id", "score")
# The features of the store: one per column in order, then second uses of a column, then a constant.
_Store = list[dict[str, Any]]


@declare("solr", "Apache Solr's learning-to-rank module")
class Solr(Target):
    """A feature store, a model and fields for Solr's learning-to-rank module.

    Trees become a `MultipleAdditiveTreesModel`, a linear model a `LinearModel`, a net a
    `NeuralNetworkModel`. Every split sends every float32 value where the ranker sends it. Scores
    differ by the rounding of float32.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60)
    >>> sorted(Solr().files(exported_model(RankSVM().fit(dataset))))
    ['README.md', 'features.json', 'model.json', 'schema.json']
    """

    takes = (TreeSum, Linear, Net)
    holder = "Solr's model"

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        fields = field_names(model.feature_names)
        check_single_range(model, "Solr")
        match model.formula:
            case Linear() as linear:
                content, store = _linear(linear, fields)
            case Net() as net:
                content, store = _net(net, fields)
            case _:
                content, store = _trees(trees_of(model, self.holder), fields)
        in_store = {"store": model.set_name}
        return {
            "features.json": _text([in_store | feature for feature in store]),
            "model.json": _text({"name": model.name} | in_store | content),
            "schema.json": _text({"add-field": [_field(name) for name in fields]}),
            "README.md": readme(model, fields),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        with one_file(files, "schema.json") as text:
            fields = [field["name"] for field in json.loads(text)["add-field"]]
            if len(fields) != dataset.n_features:
                raise ValueError(f"{len(fields)} fields for {dataset.n_features} features")
        with one_file(files, "features.json") as text:
            store = {feature["name"]: feature for feature in json.loads(text)}
        with one_file(files, "model.json") as text:
            scores = solr_scores(fields, store, json.loads(text), dataset.features)
        return scores.astype(np.float64)

    def _refusal(self, model: ExportedModel) -> NotExportable:
        steps = model.formula.walk()
        if any(isinstance(step, OnColumns | Routed | Standardised) for step in steps):
            return super()._refusal(model)
        return NotExportable(
            model.ranker,
            "Solr has models of trees, linear models and nets, but no sums of several models",
            "Use onnx or vespa, or run the model with `localrank serve`.",
        )


def field_names(names: Sequence[str]) -> list[str]:
    """Field names for Solr made from feature names: letters, digits and underscores.

    Parameters
    ----------
    names : sequence of str

    Examples
    --------
    >>> field_names(["bm25 of title", "bm25.of.title", "2gram", "score"])
    ['bm25_of_title', 'bm25_of_title_', 'f_2gram', 'f_score']
    """
    fields: dict[str, None] = {}
    for name in names:
        field = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match("[A-Za-z]", field) or field in _TAKEN:
            field = f"f_{field}"
        fields[_new(field, fields)] = None
    return list(fields)


def _new(name: str, taken: Container[str]) -> str:
    """The name, with underscores after it if it is taken."""
    while name in taken:
        name += "_"
    return name


def _trees(given: Trees, fields: Sequence[str]) -> tuple[dict[str, Any], _Store]:
    # Solr compares values as they are, also those that LightGBM treats as zero.
    trees = replace(given, thresholds=plain_thresholds(given))
    written = comparisons(trees)
    apart = missing_apart(trees)
    store = [_value_of(field, field, column in apart) for column, field in enumerate(fields)]
    names: dict[ScaledFeature, str] = {}
    taken, used = set(fields), set()
    scaled = {comparison.scaled for comparison in written.values()}
    for each in sorted(scaled, key=lambda each: (each.feature, -abs(each.divisor))):
        name = field = fields[each.feature]
        if each.feature in used:
            # A model takes each feature of the store once.
            name = _new(f"{field}_again", taken)
            store.append(_value_of(name, field, each.feature in apart))
        names[each] = name
        taken.add(name)
        used.add(each.feature)
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
    store = [_value_of(field, field, False) for field in fields]
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


def _net(formula: Net, fields: Sequence[str]) -> tuple[dict[str, Any], _Store]:
    features = []
    for field, mean, scale in zip(fields, formula.mean, formula.scale, strict=True):
        params = {"avg": str(np.float32(mean)), "std": str(np.float32(scale))}
        norm = {"class": f"{_PACKAGE}.norm.StandardNormalizer", "params": params}
        features.append({"name": field, "norm": norm})
    content = {
        "class": f"{_PACKAGE}.model.NeuralNetworkModel",
        "features": features,
        "params": {"layers": net_layers(formula)},
    }
    return content, [_value_of(field, field, False) for field in fields]


def _value_of(name: str, field: str, is_apart: bool) -> dict[str, Any]:
    params = {"field": field}
    if is_apart:
        params["defaultValue"] = "NaN"
    return {"name": name, "class": f"{_PACKAGE}.feature.FieldValueFeature", "params": params}


def _normalized(name: str, divisor: float) -> dict[str, Any]:
    if divisor == 1:
        return {"name": name}
    params = {"min": "0", "max": str(np.float32(divisor))}
    return {"name": name, "norm": {"class": f"{_PACKAGE}.norm.MinMaxNormalizer", "params": params}}


def _field(name: str) -> dict[str, Any]:
    return {"name": name, "type": "pfloat", "indexed": False, "stored": False, "docValues": True}


def _text(value: Any) -> str:
    """JSON with one line for each key, and one for each entry of a list."""
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_text(entry).rstrip()}" for key, entry in value.items()]
        return "{\n" + ",\n".join(entries) + "\n}\n"
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]\n"
    return json.dumps(value)


def net_layers(net: Net) -> list[dict[str, Any]]:
    """The layers that compute a net on standardised features, (x - `mean`) / `scale`.

    Solr cannot clip. Two layers with max(·, 0) do the same: a = max(most - v, 0), then
    b = max(2 most - a, 0), which is v + most clipped to [0, 2 most]. The bias of the next layer
    subtracts `most` again. The linear skip s passes the hidden layer as max(s, 0) - max(-s, 0).

    Parameters
    ----------
    net : Net

    Examples
    --------
    >>> one = np.ones(1)
    >>> net = Net(one[:, None], -one, 2 * one, one, mean=one, scale=one, most=4.0)
    >>> for layer in net_layers(net):
    ...     print(layer["matrix"], layer["bias"], layer["activation"])
    [[-1.0]] [4.0] relu
    [[-1.0]] [8.0] relu
    [[1.0], [1.0], [-1.0]] [-5.0, -4.0, 4.0] relu
    [[2.0, 1.0, -1.0]] [0.0] identity
    """
    layers = []
    n_features = len(net.skip)
    weights = np.vstack([net.hidden, net.skip, -net.skip]).astype(np.float64)
    bias = np.append(net.bias, [0.0, 0.0]).astype(np.float64)
    if np.isfinite(net.most):
        opposite = np.where(np.eye(n_features) > 0, -1.0, 0.0)
        layers = [
            _layer(opposite, np.full(n_features, bound)) for bound in (net.most, 2 * net.most)
        ]
        bias -= net.most * weights.sum(axis=1)
    output = np.append(net.output, [1.0, -1.0])[None].astype(np.float64)
    return [*layers, _layer(weights, bias), _layer(output, np.zeros(1), "identity")]


def _layer(matrix: Array, bias: Array, activation: str = "relu") -> dict[str, Any]:
    return {"matrix": matrix.tolist(), "bias": bias.tolist(), "activation": activation}


_TEXT = """\
# {name} for Apache Solr

A {ranker} of localrank {version}. `features.json` and `model.json` are for Solr's
learning-to-rank module; `schema.json` holds the fields. Tested with Solr 8.11.4.

## Before you upload

Switch the module on: `SOLR_MODULES=ltr` for Solr 9 and later, `-Dsolr.ltr.enabled=true` for Solr
8. `solrconfig.xml` needs the query parser. It needs the transformer only if features are logged:

```xml
<queryParser name="ltr" class="org.apache.solr.ltr.search.LTRQParserPlugin"/>
<transformer name="features"
             class="org.apache.solr.ltr.response.transform.LTRFeatureLoggerTransformerFactory">
  <str name="fvCacheName">QUERY_DOC_FV</str>
</transformer>
<!-- within <query> -->
<cache name="QUERY_DOC_FV" class="solr.search.CaffeineCache" size="4096"
       regenerator="solr.search.NoOpRegenerator"/>
```

## Upload

```sh
solr=http://localhost:8983/solr/COLLECTION
curl -X POST -H 'Content-type: application/json' $solr/schema --data-binary @schema.json
curl -X PUT -H 'Content-type: application/json' $solr/schema/feature-store \\
     --data-binary @features.json
curl -X PUT -H 'Content-type: application/json' $solr/schema/model-store \\
     --data-binary @model.json
```

Remove fields from `schema.json` that the schema already has. To replace a model, delete
`$solr/schema/model-store/{name}` first, then `$solr/schema/feature-store/{store}`, and reload the
collection.

The model has a feature store of its own, `{store}`. A store that you log features with stays as it
is: do not delete it, and do not give this one its name.

## Rank

```sh
curl $solr/query --data-urlencode 'q=…' \\
     --data-urlencode 'rq={{!ltr model={name} reRankDocs=100}}' \\
     --data-urlencode 'fl=id,score,[features store={store}]'
```

The model ranks the best `reRankDocs` documents of the query. The documents after them keep their
order. Scores may be negative. Equal scores stay in the order of the index.

## What is exact

- Fields hold the features as float32, and Solr computes in float32: its scores differ from
  localrank's by rounding. `localrank export … --verify` shows by how much.
- Splits of trees decide as in localrank for every float32 value. Solr adds 0.000001 to thresholds;
  they are written so that the sum is right. Features with thresholds near zero are divided by a
  power of two, which loses nothing.
- A missing value counts as zero, unless the model was trained on missing values. Then
  `defaultValue` is NaN, and missing values go where they went in training.
- Before Solr 8.9 the fields must be stored.
"""


def readme(model: ExportedModel, fields: Sequence[str]) -> str:
    """How to upload the files and rank with them."""
    text = _TEXT.format(
        name=model.name,
        store=model.set_name,
        ranker=model.facts.get("ranker", "model"),
        version=model.facts.get("localrank", ""),
    )
    return text + model.renamed(fields)


def solr_scores(
    fields: Sequence[str],
    store: Mapping[str, Mapping[str, Any]],
    model: Mapping[str, Any],
    X: Array,
) -> Singles:
    """The score of each document. Features, sums and products are float32, in Solr's order.

    Parameters
    ----------
    fields : list
        Field of each column of X, as in the schema.
    store : mapping
        The uploaded features by name.
    model : mapping
        The uploaded model.
    X : ndarray of shape (n_documents, n_features)
        Values of the features. NaN: a missing value.
    """
    values = _values(fields, store, model, X)
    params = model["params"]
    match model["class"].rpartition(".")[2]:
        case "LinearModel":
            return _weighted_sum(params["weights"], values, len(X))
        case "MultipleAdditiveTreesModel":
            return _scores_of_trees(params["trees"], values, len(X))
        case "NeuralNetworkModel":
            return _scores_of_net(params["layers"], values)
        case name:
            raise ValueError(f"The model has the class {name}, which no export writes.")


def _values(
    fields: Sequence[str],
    store: Mapping[str, Mapping[str, Any]],
    model: Mapping[str, Any],
    X: Array,
) -> dict[str, Singles]:
    """The normalized values of the model's features, by name."""
    columns = {field: column for column, field in enumerate(fields)}
    values = {}
    for entry in model["features"]:
        params = store[entry["name"]]["params"]
        if "field" in params:
            with np.errstate(over="ignore"):
                column = X[:, columns[params["field"]]].astype(np.float32)
            column[np.isnan(column)] = np.float32(params.get("defaultValue", 0))
        else:
            column = np.full(len(X), np.float32(params["value"]))
        values[entry["name"]] = _divided(entry["norm"], column) if "norm" in entry else column
    return values


def _divided(norm: Mapping[str, Any], column: Singles) -> Singles:
    numbers = {name: np.float32(value) for name, value in norm["params"].items()}
    if norm["class"].endswith("StandardNormalizer"):
        start, unit = numbers["avg"], numbers["std"]
    else:
        start, unit = numbers["min"], numbers["max"] - numbers["min"]
    with np.errstate(over="ignore"):
        return (column - start) / unit


def _weighted_sum(
    weights: Mapping[str, float], values: Mapping[str, Singles], n_documents: int
) -> Singles:
    scores = np.zeros(n_documents, np.float32)
    for name, column in values.items():
        scores += column * np.float32(weights[name])
    return scores


def _scores_of_net(layers: Sequence[Mapping[str, Any]], values: Mapping[str, Singles]) -> Singles:
    inputs: Singles = np.stack(list(values.values()))
    for layer in layers:
        matrix = np.array(layer["matrix"], np.float32)
        units = np.repeat(np.array(layer["bias"], np.float32)[:, None], inputs.shape[1], axis=1)
        for column, row in zip(matrix.T, inputs, strict=True):
            units += column[:, None] * row
        inputs = np.maximum(units, 0) if layer["activation"] == "relu" else units
    scores: Singles = inputs[0]
    return scores


def _scores_of_trees(
    trees: Sequence[Mapping[str, Any]], values: Mapping[str, Singles], n_documents: int
) -> Singles:
    scores = np.zeros(n_documents, np.float32)
    every = np.arange(n_documents)
    for tree in trees:
        leaves = np.empty(n_documents, np.float32)
        _descend(tree["root"], values, every, leaves)
        scores += np.float32(tree["weight"]) * leaves
    return scores


def _descend(
    node: Mapping[str, Any],
    values: Mapping[str, Singles],
    rows: NDArray[np.int64],
    leaves: Singles,
) -> None:
    """Write the leaf values of the rows that reach a node."""
    if "feature" not in node:
        leaves[rows] = np.float32(node["value"])
        return
    goes_left = values[node["feature"]][rows] <= np.float32(node["threshold"]) + SLACK
    _descend(node["left"], values, rows[goes_left], leaves)
    _descend(node["right"], values, rows[~goes_left], leaves)
