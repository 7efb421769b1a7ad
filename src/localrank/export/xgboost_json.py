"""XGBoost's JSON format."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export._node_tables import (
    NodeTable,
    in_single_precision,
    node_tables,
    siblings_together,
    single_sum,
    singles,
)
from localrank.export.base import (
    ExportedModel,
    Files,
    Target,
    check_single_range,
    one_file,
    trees_of,
)
from localrank.formulas import TreeSum
from localrank.registry import declare

# The oldest version of XGBoost that reads the file.
VERSION = [2, 0, 0]
# XGBoost writes this number as the parent of a root.
NO_PARENT = 2**31 - 1


@declare("xgboost-json", "a JSON file that XGBoost loads")
class XGBoostJSON(Target):
    """A JSON file that `xgboost.Booster(model_file=…)` loads.

    XGBoost compares with `<` in single precision. Thresholds become the next larger number of
    single precision, so that every value of single precision goes the same way. Scores are sums in
    single precision. Missing values go where the trees send them.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> model = exported_model(LambdaMART(2).fit(dataset))
    >>> sorted(XGBoostJSON().files(model))
    ['README.md', 'localrank.json']
    """

    takes = (TreeSum,)
    holder = "XGBoost's file"

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        trees = trees_of(model, self.holder)
        check_single_range(model, "XGBoost")
        tables = [
            siblings_together(in_single_precision(table, "<")) for table in node_tables(trees)
        ]
        learner = {
            "attributes": {"localrank": json.dumps(dict(model.facts), default=str)},
            "feature_names": list(model.feature_names),
            "feature_types": ["float"] * len(model.feature_names),
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(tables))},
                    "iteration_indptr": list(range(len(tables) + 1)),
                    "tree_info": [0] * len(tables),
                    "trees": [
                        _tree(number, table, trees.n_features)
                        for number, table in enumerate(tables)
                    ],
                },
            },
            "learner_model_param": {
                "base_score": "0E0",
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": str(trees.n_features),
                "num_target": "1",
            },
            "objective": {"name": "rank:ndcg", "lambdarank_param": {}},
        }
        return {
            f"{model.name}.json": _json({"learner": learner, "version": VERSION}),
            "README.md": _README.format(name=model.name, n_features=trees.n_features),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        with one_file(files, ".json") as text:
            learner = json.loads(text)["learner"]
            tables = [_table(tree) for tree in learner["gradient_booster"]["model"]["trees"]]
        features = singles(dataset.features)
        return single_sum([table.outputs(features, np.less) for table in tables])


def _json(content: dict[str, Any]) -> str:
    # XGBoost does not decode \\u escapes in names.
    return json.dumps(content, ensure_ascii=False)


def _tree(number: int, table: NodeTable, n_features: int) -> dict[str, Any]:
    n_nodes = len(table.features)
    is_leaf = table.features < 0
    zeros, none = [0.0] * n_nodes, [0] * n_nodes
    parents = np.full(n_nodes, NO_PARENT)
    for children in (table.lefts, table.rights):
        parents[children[~is_leaf]] = np.flatnonzero(~is_leaf)
    return {
        "id": number,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(n_nodes),
            "size_leaf_vector": "1",
        },
        "parents": parents.tolist(),
        "left_children": table.lefts.tolist(),
        "right_children": table.rights.tolist(),
        "split_indices": np.where(is_leaf, 0, table.features).tolist(),
        "split_conditions": np.where(is_leaf, table.values, table.thresholds).tolist(),
        "default_left": table.default_lefts.astype(int).tolist(),
        "base_weights": table.values.tolist(),
        # Facts about training, which prediction does not read.
        "loss_changes": zeros,
        "sum_hessian": zeros,
        "split_type": none,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
    }


def _table(tree: dict[str, Any]) -> NodeTable:
    lefts = np.array(tree["left_children"])
    is_leaf = lefts < 0
    numbers = np.array(tree["split_conditions"], np.float32).astype(np.float64)
    return NodeTable(
        features=np.where(is_leaf, -1, tree["split_indices"]),
        thresholds=np.where(is_leaf, 0.0, numbers),
        lefts=lefts,
        rights=np.array(tree["right_children"]),
        default_lefts=np.array(tree["default_left"], bool),
        values=np.where(is_leaf, numbers, 0.0),
    )


_README = """# {name} for XGBoost

```python
import xgboost

booster = xgboost.Booster(model_file="{name}.json")
scores = booster.inplace_predict(features)  # {n_features} columns, float32
```

XGBoost 2.0 or later reads the file; tested with 3.2.

XGBoost compares with `<` in single precision, LightGBM with `<=` in double precision. The
thresholds are moved so that every float32 value goes the same way. Scores are float32 sums. Missing
values (NaN) go where the model sends them.
"""
