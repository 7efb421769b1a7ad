"""ONNX files: whole rankers as one graph."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.export.base import ExportedModel, Files, Target, one_file
from localrank.export.onnx._scores import scores_of
from localrank.export.onnx._steps import IR_VERSION, ML_DOMAIN, ML_OPSET, OPSET, Steps
from localrank.formulas import Formula
from localrank.registry import declare

if TYPE_CHECKING:
    import onnx
    from onnx.reference import ReferenceEvaluator

# Properties of a file: the names of the features, and whether it takes one list at a time.
FEATURES, ONE_LIST = "features", "one_list"


@declare("onnx", "one ONNX graph, for onnxruntime in any language")
class ONNX(Target):
    """A ranker as one ONNX graph, which onnxruntime computes in many languages.

    The input `features` has a row for each document; NaN is a missing value. The output `scores`
    has a score for each document. Everything is computed in double precision. If the ranker
    compares the documents of a list, the graph takes one list at a time.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> ranker = LambdaMART(20).fit(dataset)
    >>> files = ONNX().files(exported_model(ranker, "shop"))
    >>> sorted(files)
    ['README.md', 'shop.onnx']
    >>> bool(np.array_equal(ONNX().scores(files, dataset), ranker.predict(dataset)))
    True
    """

    # All that there are.
    takes = (Formula,)
    holder = "an ONNX graph"
    chooses_groups = True

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        _check_installed()
        graph = graph_of(model)
        return {
            f"{model.name}.onnx": graph.SerializeToString(deterministic=True),
            "README.md": readme(model),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        """The scores that NumPy computes from the graph, by onnx's reference implementation.

        Two operators are defined here: trees, for speed, and TopK, because older versions of onnx
        order equal values differently from onnxruntime.
        """
        _check_installed()
        import onnx

        features = np.asarray(dataset.features, np.float64)
        with one_file(files, ".onnx") as content:
            graph = onnx.load_model_from_string(content)
            evaluator = numpy_evaluator(graph)
            one_list = takes_one_list(graph)
        bounds = dataset.offsets.tolist() if one_list else [0, dataset.n_documents]
        scores = []
        # There are divisions by zero whose results are not used.
        with np.errstate(all="ignore"):
            for begin, end in pairwise(bounds):
                outputs: Any = evaluator.run(["scores"], {"features": features[begin:end]})
                scores.append(outputs[0])
        return np.concatenate(scores)


def _check_installed() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "The export to ONNX needs onnx. Install it with pip install 'localrank[onnx]'."
        ) from error


def graph_of(model: ExportedModel) -> onnx.ModelProto:
    """The graph of a model, checked by onnx."""
    from onnx import TensorProto, checker, helper

    steps, n_features = Steps(), len(model.feature_names)
    scores = scores_of(steps, model.formula, steps.given("features"), n_features)
    # A constant score is repeated for all documents.
    like = steps.apply("Gather", steps.given("features"), 0, axis=1)
    scores = steps.apply("Expand", scores, steps.apply("Shape", like))
    last = helper.make_node("Identity", [scores.name], ["scores"])
    double, documents = TensorProto.DOUBLE, "n_documents"
    graph = helper.make_graph(
        [*steps.nodes, last],
        model.name,
        [helper.make_tensor_value_info("features", double, [documents, n_features])],
        [helper.make_tensor_value_info("scores", double, [documents])],
        initializer=steps.constants,
    )
    result = helper.make_model(
        graph,
        producer_name="localrank",
        producer_version=str(model.facts.get("localrank", "")),
        opset_imports=[
            helper.make_opsetid("", OPSET),
            helper.make_opsetid(ML_DOMAIN, ML_OPSET),
        ],
        ir_version=IR_VERSION,
    )
    properties = {
        FEATURES: json.dumps(model.feature_names),
        ONE_LIST: json.dumps(model.formula.looks_at_list),
    }
    helper.set_model_props(result, properties)
    checker.check_model(result)
    return result


def takes_one_list(graph: onnx.ModelProto) -> bool:
    """Whether a graph takes one list at a time."""
    properties = {entry.key: entry.value for entry in graph.metadata_props}
    return bool(json.loads(properties[ONE_LIST]))


def numpy_evaluator(graph: onnx.ModelProto) -> ReferenceEvaluator:
    """An evaluator that computes a graph step by step, with two operators defined here."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class TreeEnsemble(OpRun):
        op_domain = ML_DOMAIN

        def _run(self, table: Array, **attributes: Any) -> tuple[Array]:
            return (leaf_sums(attributes, table)[:, None],)

    class TopK(OpRun):
        def _run(
            self, table: Array, k: Array, *, axis: int, largest: int, **_: Any
        ) -> tuple[Array, Array]:
            order = np.argsort(-table if largest else table, axis=axis, kind="stable")
            order = np.take(order, np.arange(int(k[0])), axis=axis)
            return np.take_along_axis(table, order, axis=axis), order

    return ReferenceEvaluator(graph, new_ops=[TreeEnsemble, TopK])


def leaf_sums(attributes: dict[str, Any], table: Array) -> Floats:
    """The result of the operator TreeEnsemble, tree by tree in double precision.

    Parameters
    ----------
    attributes : dict
        Attributes of the operator.
    table : ndarray of shape (n_documents, n_features)
    """
    features, missing_left, roots = (
        np.asarray(attributes[name], np.int64)
        for name in ("nodes_featureids", "nodes_missing_value_tracks_true", "tree_roots")
    )
    sides = {
        side: tuple(
            np.asarray(attributes[f"nodes_{side}{name}"], np.int64) for name in ("nodeids", "leafs")
        )
        for side in ("true", "false")
    }
    splits, leaves = attributes["nodes_splits"], attributes["leaf_weights"]
    nodes = np.tile(roots, (len(table), 1))
    done = np.zeros(nodes.shape, bool)
    rows = np.arange(len(table))[:, None]
    while not done.all():
        inside = np.where(done, 0, nodes)
        values = table[rows, features[inside]]
        left = (values <= splits[inside]) | (np.isnan(values) & (missing_left[inside] != 0))
        following = np.where(left, sides["true"][0][inside], sides["false"][0][inside])
        is_leaf = np.where(left, sides["true"][1][inside], sides["false"][1][inside]) != 0
        nodes = np.where(done, nodes, following)
        done |= is_leaf
    total = np.zeros(len(table))
    for column in nodes.T:
        total += leaves[column]
    return total


RUNTIME = "1.21"


def readme(model: ExportedModel) -> str:
    """How to rank with the file, and what is exact."""
    one_list = model.formula.looks_at_list
    documents = (
        "all documents of one list: scores depend on the other documents"
        if one_list
        else "any number of documents"
    )
    names = "\n".join(f"{number}. `{name}`" for number, name in enumerate(model.feature_names, 1))
    return f"""# {model.name}.onnx

A ranker as one ONNX graph, written{model.by_localrank}.

| | name | type | shape |
|---|---|---|---|
| input | `features` | float64 | (n_documents, {len(model.feature_names)}) |
| output | `scores` | float64 | (n_documents,) |

- `features` takes {documents}. NaN is a missing value. Convert float32 values to float64, which
  changes no value.
- A higher score is better.
- It needs onnxruntime {RUNTIME} or later, on the CPU, for the operator TreeEnsemble of ai.onnx.ml
  5 in double precision.

## Rank with it

```python
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("{model.name}.onnx")
(scores,) = session.run(["scores"], {{"features": features.astype(np.float64)}})
```

## What is exact

Everything is computed in double precision, with the same comparisons and, within lists, the same
order of additions as in localrank. Scores differ at most by the rounding of sums. Features in
single precision are compared as localrank compares the same numbers in double precision.

## Features, in the order of the columns

{names}
"""
