"""Elasticsearch's built-in learning to rank, without the plugin."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.export._node_tables import NodeTable, node_tables, singles
from localrank.export.base import (
    ExportedModel,
    Files,
    Target,
    check_single_range,
    columns_by_name,
    one_file,
    trees_of,
)
from localrank.formulas import TreeSum
from localrank.registry import declare


@declare("elastic", "Elasticsearch's built-in learning to rank, a trained model")
class Elastic(Target):
    """The body of `PUT _ml/trained_models/NAME`, in the form that eland writes.

    Elasticsearch compares with `<=` in double precision and adds up the trees with a compensated
    sum, so the trees need no change. It adds a constant so that no score is below 0, and rounds
    each score to single precision at the end. Missing values go where the trees send them.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> model = exported_model(LambdaMART(2).fit(dataset))
    >>> body = json.loads(Elastic().files(model)["model.json"])
    >>> list(body)
    ['description', 'inference_config', 'definition']
    """

    takes = (TreeSum,)
    holder = "Elasticsearch's trained model"

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        _check_name(model.name)
        trees = trees_of(model, self.holder)
        check_single_range(model, "Elasticsearch")
        names = list(model.feature_names)
        ensemble = {
            "target_type": "regression",
            "feature_names": names,
            "trained_models": [
                {
                    "tree": {
                        "target_type": "regression",
                        "feature_names": names,
                        "tree_structure": _nodes(table),
                    }
                }
                for table in node_tables(trees)
            ],
            "aggregate_output": {"weighted_sum": {}},
        }
        body = {
            "description": f"{model.ranker}, exported by localrank",
            "inference_config": {
                "learning_to_rank": {"feature_extractors": [_extractor(name) for name in names]}
            },
            "definition": {"trained_model": {"ensemble": ensemble}},
        }
        return {
            "model.json": json.dumps(body),
            "README.md": _README.format(name=model.name),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        numbers = columns_by_name(dataset)
        with one_file(files, "model.json") as text:
            body = json.loads(text)
            extractors = [
                extractor["query_extractor"]
                for extractor in body["inference_config"]["learning_to_rank"]["feature_extractors"]
            ]
            columns = {
                extractor["feature_name"]: numbers[_field(extractor["query"])]
                for extractor in extractors
            }
            tables = [
                _table(model["tree"], columns)
                for model in body["definition"]["trained_model"]["ensemble"]["trained_models"]
            ]
        # Features are scores of queries, and these have single precision.
        features = singles(dataset.features)
        features[np.isinf(features)] = np.nan
        totals = _compensated_sum([table.outputs(features, np.less_equal) for table in tables])
        leaves = [table.values[table.features < 0] for table in tables]
        least = _compensated_sum([values.min(keepdims=True) for values in leaves])[0]
        return singles(totals - min(least, 0.0))


def _check_name(name: str) -> None:
    if not re.fullmatch("[a-z0-9]([a-z0-9_]{,62}[a-z0-9])?", name):
        raise ValueError(
            f"The name of a trained model in Elasticsearch must be at most 64 lower-case letters, "
            f"digits and underscores, without an underscore at either end. Got {name!r} instead."
        )


def _extractor(name: str) -> dict[str, Any]:
    """A query for the value of the field with the feature's name. No field: a missing value."""
    query = {
        "function_score": {
            "query": {"exists": {"field": name}},
            "field_value_factor": {"field": name},
            "boost_mode": "replace",
        }
    }
    return {"query_extractor": {"feature_name": name, "query": query}}


def _field(query: dict[str, Any]) -> str:
    return str(query["function_score"]["field_value_factor"]["field"])


def _nodes(table: NodeTable) -> list[dict[str, Any]]:
    return [
        {"node_index": row, "leaf_value": float(table.values[row])}
        if feature < 0
        else {
            "node_index": row,
            "split_feature": int(feature),
            "threshold": float(table.thresholds[row]),
            "decision_type": "lte",
            "default_left": bool(table.default_lefts[row]),
            "left_child": int(table.lefts[row]),
            "right_child": int(table.rights[row]),
        }
        for row, feature in enumerate(table.features)
    ]


def _table(tree: dict[str, Any], columns: dict[str, int]) -> NodeTable:
    nodes = sorted(tree["tree_structure"], key=lambda node: node["node_index"])

    def column(name: str, absent: Any) -> Array:
        return np.array([node.get(name, absent) for node in nodes])

    return NodeTable(
        features=np.array(
            [
                columns[tree["feature_names"][node["split_feature"]]]
                if "split_feature" in node
                else -1
                for node in nodes
            ]
        ),
        thresholds=column("threshold", 0.0),
        lefts=column("left_child", -1),
        rights=column("right_child", -1),
        default_lefts=column("default_left", False),
        values=column("leaf_value", 0.0),
    )


def _compensated_sum(terms: list[Array]) -> Floats:
    """The sum of Java's `DoubleStream.sum`, after Kahan."""
    total = np.zeros(len(terms[0]))
    lost = np.zeros(len(terms[0]))
    for term in terms:
        added = term - lost
        following = total + added
        lost = (following - total) - added
        total = following
    return total - lost


_README = """# {name} for Elasticsearch's learning to rank

This is a built-in feature of Elasticsearch 8.15 and later. It needs no plugin, but it needs an
Enterprise or trial licence.

Index each feature as a field of type `float` with the feature's name. Then:

```sh
curl -X PUT "$HOST/_ml/trained_models/{name}" -H 'Content-Type: application/json' -d @model.json
```

Search, and let the model rank the best 100 documents:

```json
{{
  "query": {{"match": {{"title": "your words"}}}},
  "rescore": {{
    "window_size": 100,
    "learning_to_rank": {{"model_id": "{name}", "params": {{}}}}
  }}
}}
```

**Features that are queries**: replace the `query` of a feature in `feature_extractors` with your
query, such as `{{"match": {{"title": "{{{{words}}}}"}}}}`, and give `words` in `params` of the
search. Keep the feature's name.

**Negative values**: Lucene refuses queries with negative scores, and therefore negative feature
values. Add a constant to such a feature before training and in the index.

**Exactness**: Elasticsearch compares with `<=` in double precision, as the model does. Feature
values are scores of queries and have single precision. Elasticsearch adds a constant so that no
score is below zero, and rounds each score to single precision: documents with nearly equal scores
may be tied. `localrank export --verify` shows whether any document moves.

**Missing values**: if a document does not have the field, the value is missing and goes where the
model sends missing values.

Tested with the inference code of Elasticsearch 8.19.21.
"""
