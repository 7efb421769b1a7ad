import subprocess
import sys

import numpy as np
import onnx
import pytest
from engines.in_onnxruntime import rank_in_onnxruntime
from onnx_exports import files_of, lists, same

from localrank.data import read_letor
from localrank.export import ONNX, Verification, export, verify
from localrank.export.writing import exported_model, read_files
from localrank.formulas import Linear, Standardised
from localrank.rankers import LambdaMART
from localrank.recipes import best


@pytest.fixture(scope="module")
def mq2008(benchmark_data):
    dataset = read_letor(benchmark_data / "MQ2008" / "S1.txt.gz")
    return dataset.taken(np.arange(60)), dataset.taken(np.arange(60, 85))


@pytest.fixture(scope="module")
def trained_best(mq2008):
    training, _ = mq2008
    return best(30).fit(training)


def test_the_whole_of_best_is_one_graph_that_ranks_alike_in_onnxruntime(trained_best, mq2008):
    _, dataset = mq2008
    files = ONNX().files(exported_model(trained_best))
    scores = dataset.in_query_order(trained_best.predict(dataset))
    result = Verification.of(dataset, scores, rank_in_onnxruntime(files, dataset))
    assert result.same_order
    # Nets are computed in single precision by the ranker, in double precision by the graph.
    assert result.largest_difference < 1e-6


def test_the_emulation_scores_best_as_onnxruntime_does(trained_best, mq2008):
    dataset = mq2008[1].taken(np.arange(8))
    files = ONNX().files(exported_model(trained_best))
    emulated = ONNX().scores(files, dataset)
    np.testing.assert_allclose(emulated, rank_in_onnxruntime(files, dataset), rtol=0, atol=1e-9)


def test_lambdamart_has_the_bits_of_predict_in_onnxruntime(mq2008):
    training, dataset = mq2008
    ranker = LambdaMART(100).fit(training)
    scores = rank_in_onnxruntime(ONNX().files(exported_model(ranker)), dataset)
    assert same(scores, ranker.predict(dataset))


def test_files_on_disk_are_verified(mq2008, tmp_path):
    training, dataset = mq2008
    ranker = LambdaMART(10).fit(training)
    export(ranker, "onnx", tmp_path / "files", name="shop")
    assert sorted(read_files(tmp_path / "files")) == ["README.md", "shop.onnx"]
    result = verify(ranker, "onnx", tmp_path / "files", dataset)
    assert result.same_order
    assert result.largest_difference == 0


@pytest.mark.parametrize("one_list", [False, True])
def test_the_file_says_what_it_takes(one_list):
    linear = Linear(np.array([1.0, 2.0]))
    files = files_of(Standardised(linear) if one_list else linear, 2)
    model = onnx.load_model_from_string(files["some_model.onnx"])
    properties = {entry.key: entry.value for entry in model.metadata_props}
    assert properties == {"features": '["f1", "f2"]', "one_list": str(one_list).lower()}
    (given,), (made,) = model.graph.input, model.graph.output
    assert (given.name, made.name) == ("features", "scores")
    assert given.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    phrase = "all documents of one list" if one_list else "any number of documents"
    assert phrase in files["README.md"]
    assert "2. `f2`" in files["README.md"]


def test_a_graph_over_documents_takes_lists_together():
    dataset = lists(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    files = files_of(Linear(np.array([10.0, 1.0])), 2)
    assert ONNX().scores(files, dataset).tolist() == [12.0, 34.0, 56.0]


def test_two_exports_of_a_model_are_the_same_file(mq2008):
    model = exported_model(LambdaMART(3).fit(mq2008[0]))
    assert ONNX().files(model) == ONNX().files(model)


def test_onnx_is_loaded_by_those_who_export_only():
    code = "import sys, localrank.export; localrank.export.ONNX(); assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_onnx_the_export_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'localrank\[onnx\]'"):
        files_of(Linear(np.ones(2)), 2)
