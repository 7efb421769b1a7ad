"""The learning-to-rank plugin of Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.export._node_tables import (
    NodeTable,
    in_single_precision,
    knows_missing,
    node_tables,
    siblings_together,
    single_sum,
    singles,
    zero_for_missing,
)
from localrank.export.base import (
    ExportedModel,
    Files,
    Target,
    check_single_range,
    columns_by_name,
    one_file,
    trees_of,
)
from localrank.formulas import Linear, TreeSum
from localrank.registry import declare
from localrank.trees import Trees


class LearningToRankPlugin(Target):
    """A feature set and a model for the plugin. Both engines take the same form.

    The plugin computes in single precision. Trees become `model/xgboost+json`: thresholds are
    moved because the plugin compares with `<`, and a last tree of one leaf adds a constant so that
    no score is below 0. Linear models become `model/linear`, without their constant.
    """

    takes = (TreeSum, Linear)
    engine: ClassVar[str]
    missing_since: ClassVar[str]

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        definition: Any
        check_single_range(model, self.holder)
        if isinstance(model.formula, Linear):
            weights = singles(model.formula.weights).tolist()
            definition = dict(zip(model.feature_names, weights, strict=True))
            kind, learned, facts = "model/linear", False, _LINEAR
        else:
            trees = trees_of(model, self.holder)
            definition, kind = _definition(trees, model.feature_names), "model/xgboost+json"
            learned, facts = knows_missing(trees), _TREES
        features = [_feature(name, learned) for name in model.feature_names]
        body = {"name": model.name, "model": {"type": kind, "definition": json.dumps(definition)}}
        missing = _MISSING_LEARNED if learned else _MISSING_ZERO
        readme = _README + facts + missing
        return {
            "featureset.json": json.dumps({"featureset": {"features": features}}, indent=1),
            "model.json": json.dumps({"model": body}),
            "README.md": readme.format(
                name=model.name,
                set=model.set_name,
                engine=self.engine,
                missing_since=self.missing_since,
            ),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        numbers = columns_by_name(dataset)
        with one_file(files, "featureset.json") as text:
            described = json.loads(text)["featureset"]["features"]
            columns = {feature["name"]: numbers[_field(feature)] for feature in described}
            always_matches = all("exists" not in _query(feature) for feature in described)
        with one_file(files, "model.json") as text:
            model = json.loads(text)["model"]["model"]
            definition = json.loads(model["definition"])
            if model["type"] == "model/linear":
                return _linear_scores(definition, columns, dataset)
            tables = [_table(tree, columns) for tree in definition]
        kept = zero_for_missing if always_matches else singles
        features = kept(dataset.features)
        return single_sum([table.outputs(features, np.less) for table in tables])


def _feature(name: str, learned: bool) -> dict[str, Any]:
    """A stored feature: the value of the field with the same name."""
    factor: dict[str, Any] = {"field": name}
    query: dict[str, Any] = {"exists": {"field": name}}
    if not learned:
        factor["missing"], query = 0, {"match_all": {}}
    return {
        "name": name,
        "params": [],
        "template_language": "mustache",
        "template": {
            "function_score": {
                "query": query,
                "field_value_factor": factor,
                "boost_mode": "replace",
            }
        },
    }


def _query(feature: dict[str, Any]) -> dict[str, Any]:
    query: dict[str, Any] = feature["template"]["function_score"]["query"]
    return query


def _field(feature: dict[str, Any]) -> str:
    return str(feature["template"]["function_score"]["field_value_factor"]["field"])


def _definition(trees: Trees, names: tuple[str, ...]) -> list[dict[str, Any]]:
    tables = [siblings_together(in_single_precision(table, "<")) for table in node_tables(trees)]
    definition = [_nodes(table, table.depths, names, 0) for table in tables]
    # Rounding keeps the order of sums: no score is below the rounded sum of the smallest leaves.
    least = single_sum([table.values[table.features < 0].min(keepdims=True) for table in tables])
    if least[0] < 0:
        definition.append({"nodeid": 0, "leaf": -float(least[0])})
    return definition


def _nodes(table: NodeTable, depths: Integers, names: tuple[str, ...], row: int) -> dict[str, Any]:
    if table.features[row] < 0:
        return {"nodeid": row, "leaf": float(table.values[row])}
    left, right = int(table.lefts[row]), int(table.rights[row])
    return {
        "nodeid": row,
        "depth": int(depths[row]),
        "split": names[table.features[row]],
        "split_condition": float(table.thresholds[row]),
        "yes": left,
        "no": right,
        "missing": left if table.default_lefts[row] else right,
        "children": [_nodes(table, depths, names, child) for child in (left, right)],
    }


def _table(tree: dict[str, Any], columns: Mapping[str, int]) -> NodeTable:
    nodes, rows = [tree], [tree]
    while rows:
        node = rows.pop()
        children = node.get("children", [])
        nodes += children
        rows += children
    place = {node["nodeid"]: row for row, node in enumerate(nodes)}

    def column(value: Any) -> Any:
        return np.array([value(node) for node in nodes])

    return NodeTable(
        features=column(lambda node: columns[node["split"]] if "split" in node else -1),
        thresholds=singles(column(lambda node: float(node.get("split_condition", 0)))),
        lefts=column(lambda node: place[node["yes"]] if "yes" in node else -1),
        rights=column(lambda node: place[node["no"]] if "no" in node else -1),
        default_lefts=column(lambda node: "yes" in node and node["missing"] == node["yes"]),
        values=singles(column(lambda node: float(node.get("leaf", 0)))),
    )


def _linear_scores(
    weights: Mapping[str, float], columns: Mapping[str, int], dataset: RankingDataset
) -> Floats:
    features = zero_for_missing(dataset.features)
    terms = [np.float32(weights[name]) * features[:, column] for name, column in columns.items()]
    return single_sum(terms)


_README = """# {name} for {engine}'s learning-to-rank plugin

**If you log features with a set of your own**, upload the model alone, to that set. It must have
the features of the model, with the same names. Nothing else in the engine changes:

```sh
curl -X POST "$HOST/_ltr/_featureset/YOUR_SET/_createmodel" -H 'Content-Type: application/json' \\
     -d @model.json
```

**If you have no set**, index each feature as a field of type `float` with the feature's name, and
upload a set that reads these fields. Its name must be new: the upload replaces a set of the same
name, and searches that log with it would log other values.

```sh
curl -X PUT  "$HOST/_ltr"   # only once: creates the store of features and models
curl -X POST "$HOST/_ltr/_featureset/{set}" -H 'Content-Type: application/json' \\
     -d @featureset.json
curl -X POST "$HOST/_ltr/_featureset/{set}/_createmodel" -H 'Content-Type: application/json' \\
     -d @model.json
```

Search, and let the model rank the best 100 documents:

```json
{{
  "query": {{"match": {{"title": "your words"}}}},
  "rescore": {{
    "window_size": 100,
    "query": {{
      "query_weight": 0,
      "rescore_query_weight": 1,
      "rescore_query": {{"sltr": {{"model": "{name}", "params": {{}}}}}}
    }}
  }}
}}
```

**Features that are queries**, without a set of your own: replace the `template` of a feature in
featureset.json with your query, such as `{{"match": {{"title": "{{{{keywords}}}}"}}}}`, name
`keywords` in its `params`, and give the value in `params` of the search. Keep the names and their
order. The values must be computed as in training: log them with the same feature set.

**Negative values**: Lucene refuses queries with negative scores, and therefore negative feature
values. Add a constant to such a feature before training and in the index.

**Precision**: the plugin computes in float32. Index float32 values, and train on the same values.
"""

_TREES = """
**Exactness**: the plugin compares with `<` in float32. The thresholds are moved so that every
float32 value goes where the model sends it. Scores are float32 sums. The last tree is a constant,
so that no score is below 0: Lucene refuses negative scores. It does not change the order, but
float32 then keeps fewer digits of the differences: documents with nearly equal scores may be tied.
`localrank export --verify` shows whether any document moves.
"""

_LINEAR = """
**Exactness**: weights and sums are float32. The plugin's linear models have no constant. The
model's constant is left out, which changes no order. Scores may be below zero: use the model in
`rescore`, as above, and not inside `function_score`, which refuses negative scores. Documents
outside the window score 0 and come before documents below zero: ask for at most `window_size`
documents.
"""

_MISSING_ZERO = """
**Missing values** count as 0, in every version of the plugin: `missing` in the feature set says so.
"""

_MISSING_LEARNED = """
**Missing values**: the model learned from documents without some values, and its trees say where
missing values go. If a document does not have a field, the value must stay missing: this needs
{missing_since}. Earlier versions rank such documents differently, without an error.
"""


@declare("elasticsearch-ltr", "the learning-to-rank plugin of Elasticsearch")
class ElasticsearchLTR(LearningToRankPlugin):
    r"""A feature set and a model for the plugin `elasticsearch-learning-to-rank`.

    Examples
    --------
    >>> import numpy as np
    >>> from localrank.export import ExportedModel
    >>> from localrank.formulas import Linear
    >>> weights = Linear(np.array([2.0, -1.0]))
    >>> files = ElasticsearchLTR().files(ExportedModel("sum", weights, ("bm25", "age")))
    >>> print(files["model.json"])
    {"model": {"name": "sum", "model": {"type": "model/linear",
    "definition": "{\"bm25\": 2.0, \"age\": -1.0}"}}}
    """

    engine, holder = "Elasticsearch", "Elasticsearch's plugin"
    missing_since = "release 1.5.9 of the plugin or later"


@declare("opensearch-ltr", "the learning-to-rank plugin of OpenSearch")
class OpenSearchLTR(LearningToRankPlugin):
    r"""A feature set and a model for the plugin `opensearch-ltr`.

    Examples
    --------
    >>> import numpy as np
    >>> from localrank.export import ExportedModel
    >>> from localrank.formulas import Linear
    >>> weights = Linear(np.array([2.0, -1.0]))
    >>> files = OpenSearchLTR().files(ExportedModel("sum", weights, ("bm25", "age")))
    >>> print(files["model.json"])
    {"model": {"name": "sum", "model": {"type": "model/linear",
    "definition": "{\"bm25\": 2.0, \"age\": -1.0}"}}}
    """

    engine, holder = "OpenSearch", "OpenSearch's plugin"
    missing_since = "OpenSearch 3.8 or later"
