"""Encoders: from texts to vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._kernels.vectors import Singles
from localrank.text._bert import Bert
from localrank.text._safetensors import read_tensors

Role = Literal["query", "document"]
# Tokens that are encoded at once, with those that fill up shorter texts. More leave the cache.
_BATCH_TOKENS = 2**10
# Texts that are cut into tokens at once.
_BATCH_TEXTS = 2**12


class Encoder:
    """Turns texts into vectors, and checks the vectors.

    Parameters
    ----------
    encode : callable
        A function from a list of texts to an array of shape (n_texts, n_dimensions).
    name : str
        The name of the encoder in errors.
    for_queries : callable, optional
        The function for queries, if the model encodes them in another way. None: `encode`.

    Attributes
    ----------
    n_dimensions : int or None
        The length of the vectors. None: it has encoded nothing yet.

    Examples
    --------
    >>> encoder = Encoder.of(lambda texts: [[len(text), text.count("a")] for text in texts])
    >>> encoder(["banana", "fig"])
    array([[6., 3.],
           [3., 0.]], dtype=float32)
    >>> Encoder(lambda texts: np.ones((1, 2)), "ones")(["a", "b"])
    Traceback (most recent call last):
    ...
    ValueError: The encoder ones must return one vector for each of 2 texts. Got shape (1, 2)
    instead.
    """

    def __init__(
        self,
        encode: Callable[[list[str]], Any],
        name: str,
        for_queries: Callable[[list[str]], Any] | None = None,
    ) -> None:
        self.encode = encode
        self.name = name
        self.for_queries = for_queries
        self.n_dimensions: int | None = None

    @classmethod
    def of(cls, source: Any) -> Self:
        """An encoder from a function, an object with a method `encode`, or a folder.

        Parameters
        ----------
        source : Encoder, callable, object with a method `encode`, or path
            A model of sentence-transformers has `encode`, and perhaps `encode_query` and
            `encode_document`. A path is a folder that `load_encoder` reads.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, str | PathLike):
            loaded = load_encoder(source)
            return cls(loaded.encode, loaded.name, loaded.for_queries)
        name = getattr(source, "__name__", type(source).__name__)
        if callable(method := getattr(source, "encode", None)):
            method = getattr(source, "encode_document", method)
            return cls(method, name, getattr(source, "encode_query", None))
        if callable(source):
            return cls(source, name)
        raise ValueError(
            "An encoder must be a function from texts to vectors, an object with a method "
            f"'encode', or a folder. Got {name} instead."
        )

    def __call__(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """The vectors of texts, of shape (n_texts, n_dimensions).

        Parameters
        ----------
        texts : sequence of str
            At least one.
        role : "query" or "document", default="document"
            What the texts are.
        """
        encode = self.encode
        if role == "query" and self.for_queries is not None:
            encode = self.for_queries
        given = list(texts)
        try:
            vectors = np.asarray(encode(given))
        except Exception as error:
            raise ValueError(
                f"The encoder {self.name} failed on {len(given):,} texts: "
                f"{type(error).__name__}: {error}"
            ) from error
        right = vectors.ndim == 2 and len(vectors) == len(given) and vectors.shape[1] > 0
        if not right or vectors.dtype.kind not in "iuf":
            kind = "" if vectors.dtype.kind in "iuf" else f" and type {vectors.dtype}"
            raise ValueError(
                f"The encoder {self.name} must return one vector for each of {len(given):,} "
                f"texts. Got shape {vectors.shape}{kind} instead."
            )
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(vectors, np.float32)
        if (wrong := np.flatnonzero(~np.isfinite(vectors).all(axis=1))).size:
            text = given[int(wrong[0])]
            raise ValueError(
                f"The encoder {self.name} must return finite numbers. That of the text "
                f"{text[:40]!r} has NaN or infinity."
            )
        if self.n_dimensions not in (None, vectors.shape[1]):
            raise ValueError(
                f"The encoder {self.name} must always return vectors of the same length. It "
                f"returned {vectors.shape[1]} numbers, and {self.n_dimensions} before."
            )
        self.n_dimensions = int(vectors.shape[1])
        return vectors


def load_encoder(folder: str | PathLike[str]) -> Encoder:
    """Load an encoder from a folder, without torch. Nothing in the folder is executed.

    The folder has `tokenizer.json`, and a model in one of these forms. The extra
    `localrank[dense]` reads them.

    | files | model |
    |---|---|
    | `model.onnx`, or `onnx/model.onnx` | any text encoder that was exported to ONNX |
    | `model.safetensors` and `config.json` with `"model_type": "bert"` | BERT, such as all-MiniLM and many others |
    | `model.safetensors` with an array `embeddings` | one vector for each token (static embeddings), such as those of model2vec |

    The vector of a text is the mean of its tokens' vectors, or the first one, as
    `1_Pooling/config.json` says; without that file it is the mean. It is scaled to length 1, except
    if the folder has a `modules.json` that does not ask for it. Texts are cut off after
    `max_seq_length` tokens, a number in `sentence_bert_config.json`. The `prompts` for queries and
    documents in `config_sentence_transformers.json` are put before the texts. A folder that asks
    for more, such as another layer on top, is refused.

    Parameters
    ----------
    folder : path
    """  # noqa: E501
    path = Path(folder)
    if not (path / "tokenizer.json").is_file():
        raise ValueError(f"{path} is not the folder of an encoder: it has no tokenizer.json.")
    prompts = _json(path / "config_sentence_transformers.json").get("prompts") or {}
    try:
        vectors_of = _model(path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    before = [prompts.get(role) or "" for role in ("document", "query")]
    for_documents, for_queries = (partial(_with_prompt, vectors_of, prompt) for prompt in before)
    return Encoder(for_documents, str(path), for_queries)


def _with_prompt(encode: Callable[[list[str]], Singles], prompt: str, texts: list[str]) -> Singles:
    return encode([prompt + text for text in texts] if prompt else texts)


def _model(path: Path) -> Callable[[list[str]], Singles]:
    config, weights = _json(path / "config.json"), path / "model.safetensors"
    networks = [path / "model.onnx", path / "onnx" / "model.onnx"]
    if found := [network for network in networks if network.is_file()]:
        return _of_tokens(path, config, _onnx(found[0]))
    if not weights.is_file():
        raise ValueError("it has neither model.onnx nor model.safetensors.")
    tensors = read_tensors(weights)
    tables = [name for name in ("embeddings", "embedding.weight") if name in tensors]
    if tables:
        return _static(path, config, tensors, tensors[tables[0]])
    if config.get("model_type") != "bert":
        raise ValueError(
            f"its model_type is {config.get('model_type')!r}. Of safetensors, 'bert' and static "
            f"embeddings are read; export others to model.onnx."
        )
    try:
        network = Bert(tensors, config)
    except (KeyError, TypeError) as error:
        raise ValueError(f"config.json is not that of BERT: {error}.") from None
    return _of_tokens(path, config, network, n_words=len(network.words))


def _of_tokens(
    path: Path,
    config: dict[str, Any],
    network: Callable[[Integers, Integers], Array],
    n_words: int | None = None,
) -> Callable[[list[str]], Singles]:
    """An encoder from a network that gives each token a vector, or each text one."""
    asked = _json(path / "sentence_bert_config.json")
    longest = asked.get("max_seq_length") or config.get("max_position_embeddings") or 512
    tokenizer = _tokenizer(path)
    tokenizer.enable_truncation(int(longest))
    tokenizer.no_padding()
    if n_words is not None and tokenizer.get_vocab_size() > n_words:
        raise ValueError(
            f"tokenizer.json has {tokenizer.get_vocab_size():,} tokens, and the model {n_words:,}."
        )
    pooled, unit = _pooling(path), _has_unit_length(path)
    lower = bool(asked.get("do_lower_case"))

    def encode(texts: list[str]) -> Singles:
        given = [text.lower() for text in texts] if lower else texts
        numbers = []
        for begin in range(0, len(given), _BATCH_TEXTS):
            batch = tokenizer.encode_batch_fast(given[begin : begin + _BATCH_TEXTS])
            numbers += [np.array(encoding.ids, np.int64) for encoding in batch]
        result: Singles | None = None
        for places in _batches(np.array([len(ids) for ids in numbers])):
            longest = max(1, max(len(numbers[place]) for place in places))
            tokens = np.zeros((len(places), longest), np.int64)
            mask = np.zeros_like(tokens)
            for row, place in enumerate(places):
                tokens[row, : len(numbers[place])] = numbers[place]
                mask[row, : len(numbers[place])] = 1
            values = network(tokens, mask)
            vectors = pooled(values, mask) if values.ndim == 3 else values
            if result is None:
                result = np.empty((len(texts), vectors.shape[1]), np.float32)
            result[places] = vectors
        return _of_unit_length(_some(result)) if unit else _some(result)

    return encode


def _some(vectors: Singles | None) -> Singles:
    if vectors is None:
        raise ValueError("there are no texts.")
    return vectors


def _batches(lengths: Integers) -> Iterator[list[int]]:
    """Places of texts of similar lengths, so that little fills up the shorter ones."""
    batch: list[int] = []
    for place in np.argsort(lengths, kind="stable").tolist():
        # The last one is the longest.
        if batch and (len(batch) + 1) * lengths[place] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _onnx(path: Path) -> Callable[[Integers, Integers], Array]:
    try:
        import onnxruntime
    except ImportError:
        raise _missing("onnxruntime") from None
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        # onnxruntime has classes of its own for each kind of damage.
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    inputs = {given.name for given in session.get_inputs()}
    if unknown := inputs - {"input_ids", "attention_mask", "token_type_ids"}:
        raise ValueError(f"{path.name} asks for {min(unknown)!r}, which no tokenizer gives.")
    outputs = [output.name for output in session.get_outputs()]
    output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

    def network(tokens: Integers, mask: Integers) -> Array:
        given = {"input_ids": tokens, "attention_mask": mask}
        given["token_type_ids"] = np.zeros_like(tokens)
        values = session.run([output], {name: given[name] for name in inputs})[0]
        return np.asarray(values)

    return network


def _static(
    path: Path, config: dict[str, Any], tensors: dict[str, Array], table: Array
) -> Callable[[list[str]], Singles]:
    """An encoder from one vector for each token. Tokens that it does not know are left out."""
    tokenizer = _tokenizer(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rows = tensors.get("mapping", np.arange(len(table)))
    weights = tensors.get("weights", np.ones(len(rows), np.float32))
    if table.ndim != 2 or rows.ndim != 1 or weights.shape != rows.shape:
        raise ValueError("the arrays of model.safetensors do not fit each other.")
    if tokenizer.get_vocab_size() > len(rows) or (len(rows) and int(rows.max()) >= len(table)):
        raise ValueError("tokenizer.json has more tokens than the model.")
    unknown = json.loads(tokenizer.to_str())["model"].get("unk_token")
    left_out = tokenizer.token_to_id(unknown) if isinstance(unknown, str) else None
    unit = bool(config.get("normalize", _has_unit_length(path)))

    def encode(texts: list[str]) -> Singles:
        result = np.zeros((len(texts), table.shape[1]), np.float32)
        for begin in range(0, len(texts), _BATCH_TEXTS):
            batch = texts[begin : begin + _BATCH_TEXTS]
            found = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            for place, encoding in enumerate(found, start=begin):
                tokens = np.array([token for token in encoding.ids if token != left_out], np.int64)
                if tokens.size:
                    result[place] = weights[tokens] @ table[rows[tokens]] / tokens.size
        return _of_unit_length(result) if unit else result

    return encode


def _tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise _missing("tokenizers") from None
    try:
        return Tokenizer.from_file(str(path / "tokenizer.json"))
    except Exception as error:
        # tokenizers raises Exception itself.
        raise ValueError(f"tokenizer.json cannot be read: {error}") from None


def _missing(library: str) -> ImportError:
    return ImportError(
        f"Encoders in folders need {library}. Install it with pip install 'localrank[dense]'."
    )


def _pooling(path: Path) -> Callable[[Array, Integers], Array]:
    config = _json(path / "1_Pooling" / "config.json")
    modes = {name for name, asked in config.items() if name.startswith("pooling_mode_") and asked}
    if isinstance(config.get("pooling_mode"), str):
        modes = {f"pooling_mode_{config['pooling_mode']}_tokens"}
    if modes <= {"pooling_mode_mean_tokens"}:
        return _mean
    if modes in ({"pooling_mode_cls_token"}, {"pooling_mode_cls_tokens"}):
        return lambda values, _: values[:, 0]
    raise ValueError(
        f"1_Pooling/config.json asks for {', '.join(sorted(modes))}; the mean of the tokens or "
        f"the first token is known."
    )


def _mean(values: Array, mask: Integers) -> Array:
    weights = mask.astype(np.float32)
    sums = (weights[:, None, :] @ values)[:, 0]
    return np.asarray(sums / np.maximum(weights.sum(axis=1), 1)[:, None])


def _has_unit_length(path: Path) -> bool:
    """Whether vectors get the length 1. Refuses a folder that asks for unknown steps."""
    file = path / "modules.json"
    if not file.is_file():
        return True
    try:
        steps = [str(step["type"]).rpartition(".")[2] for step in json.loads(file.read_bytes())]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"modules.json cannot be read: {error}") from None
    known = {"Transformer", "Pooling", "Normalize", "StaticEmbedding"}
    if unknown := [step for step in steps if step not in known]:
        raise ValueError(
            f"modules.json asks for the step {unknown[0]!r}. Known steps: "
            f"{', '.join(sorted(known))}."
        )
    return "Normalize" in steps


def _of_unit_length(vectors: Singles) -> Singles:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.float32(1)), np.float32)


def _json(path: Path) -> dict[str, Any]:
    """The object in a file, which is empty if there is no file."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold an object.")
    return content
