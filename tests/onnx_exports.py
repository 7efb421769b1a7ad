"""Formulas and steps as ONNX graphs, and what computes these: NumPy and the real onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from engines.in_onnxruntime import rank_in_onnxruntime
from onnx import helper

from localrank.data import RankingDataset
from localrank.export import ONNX, ExportedModel
from localrank.export.onnx._steps import IR_VERSION, ML_DOMAIN, ML_OPSET, OPSET, Steps
from localrank.export.onnx.target import numpy_evaluator

RUNTIMES = {"numpy": ONNX().scores, "onnxruntime": rank_in_onnxruntime}
in_every_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


def files_of(formula, n_features):
    names = tuple(f"f{number}" for number in range(1, n_features + 1))
    return ONNX().files(ExportedModel("some_model", formula, names))


def scores_in(runtime, formula, dataset):
    """The scores of a formula, in a runtime."""
    return RUNTIMES[runtime](files_of(formula, dataset.n_features), dataset)


def made_in(runtime, build, tables):
    """What steps make of each table, in a runtime.

    `build(steps, table)` returns a matrix.
    """
    steps = Steps()
    made = steps.apply("Identity", build(steps, steps.given("table")))
    double = onnx.TensorProto.DOUBLE
    graph = helper.make_graph(
        steps.nodes,
        "graph",
        [helper.make_tensor_value_info("table", double, [None, tables[0].shape[1]])],
        [helper.make_tensor_value_info(made.name, double, [None, None])],
        initializer=steps.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    if runtime == "numpy":
        session = numpy_evaluator(model)
    else:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    with np.errstate(all="ignore"):
        return [session.run(None, {"table": np.array(table, float)})[0] for table in tables]


def lists(*tables):
    """A dataset of several lists."""
    sizes = [len(table) for table in tables]
    return RankingDataset.from_arrays(
        np.concatenate(tables), qid=np.repeat(np.arange(len(tables)), sizes)
    )


def random_lists(rng, n_lists, n_features=5, *, missing=0.0, most=70):
    """Tables with equal values, constant and nearly constant columns, and all magnitudes."""
    tables = []
    for _ in range(n_lists):
        n = int(rng.integers(1, most))
        table = rng.normal(size=(n, n_features)) * 10.0 ** rng.integers(-8, 9, n_features)
        table[:, 0] = rng.integers(0, 4, n)
        table[:, 1] = 3.3
        table[:, 2] = 1 + rng.integers(0, 9, n) * 2.0**-52
        table[:, 3] = np.where(rng.random(n) < 0.8, 0.0, table[:, 3])
        table[rng.random(table.shape) < missing] = np.nan
        tables.append(table)
    return tables


def same(actual, expected):
    """Whether arrays are equal to the last bit, and NaN where the other is."""
    return np.array_equal(actual, expected, equal_nan=True)
