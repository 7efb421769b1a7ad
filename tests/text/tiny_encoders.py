"""Small encoders in folders, written with other libraries than those that localrank reads with."""

import json

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rice", "tea", "water", "boil", "fern", "green"]
SIZE, WIDE, HEADS = 12, 20, 3


def write_tokenizer(folder, special=True):
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    tokenizer.save(str(folder / "tokenizer.json"))


def write_json(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def bert_tensors(n_layers=2, seed=0):
    draw = np.random.default_rng(seed).normal
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": (16, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.LayerNorm.weight": (SIZE,),
        "embeddings.LayerNorm.bias": (SIZE,),
    }
    for layer in range(n_layers):
        parts = {
            "attention.self.query": (SIZE, SIZE),
            "attention.self.key": (SIZE, SIZE),
            "attention.self.value": (SIZE, SIZE),
            "attention.output.dense": (SIZE, SIZE),
            "intermediate.dense": (WIDE, SIZE),
            "output.dense": (SIZE, WIDE),
            "attention.output.LayerNorm": (SIZE,),
            "output.LayerNorm": (SIZE,),
        }
        for name, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    return {name: draw(size=shape).astype(np.float32) for name, shape in shapes.items()}


BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "intermediate_size": WIDE,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 16,
}


def write_bert(folder, tensors=None, config=None):
    write_tokenizer(folder)
    save_file(bert_tensors() if tensors is None else tensors, folder / "model.safetensors")
    write_json(folder / "config.json", BERT if config is None else config)
    return folder


def naive_bert(tensors, tokens):
    """The vectors of one text's tokens, token by token and head by head, in float64."""
    from math import erf, exp, sqrt

    w = {name: values.astype(float) for name, values in tensors.items()}

    def norm(x, name):
        x = (x - x.mean()) / sqrt(((x - x.mean()) ** 2).mean() + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x, name):
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    embedded = [
        w["embeddings.word_embeddings.weight"][token]
        + w["embeddings.position_embeddings.weight"][place]
        + w["embeddings.token_type_embeddings.weight"][0]
        for place, token in enumerate(tokens)
    ]
    rows = [norm(x, "embeddings.LayerNorm") for x in embedded]
    size = SIZE // HEADS
    for layer in range(2):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            [dense(x, f"{name}.attention.self.{part}") for x in rows]
            for part in ("query", "key", "value")
        )
        new = []
        for i, x in enumerate(rows):
            seen = np.zeros(SIZE)
            for head in range(HEADS):
                part = slice(head * size, (head + 1) * size)
                weights = [exp(q[i][part] @ other[part] / sqrt(size)) for other in k]
                values = sum(a * other[part] for a, other in zip(weights, v, strict=True))
                seen[part] = values / sum(weights)
            x = norm(
                x + dense(seen, f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            wide = dense(x, f"{name}.intermediate.dense")
            wide = np.array([a * (1 + erf(a / sqrt(2))) / 2 for a in wide])
            new.append(norm(x + dense(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm"))
        rows = new
    return np.array(rows)


def write_onnx(folder, name="model.onnx", output="last_hidden_state"):
    """A network that gives each token a row of a table."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    write_tokenizer(folder)
    table = np.random.default_rng(1).normal(size=(len(WORDS), 5)).astype(np.float32)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["n", "t"])
    rows = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", "t", 5])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], [output])]
    graph = helper.make_graph(
        nodes, "tiny", [ids, mask], [rows], [numpy_helper.from_array(table, "table")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / name)
    return table
