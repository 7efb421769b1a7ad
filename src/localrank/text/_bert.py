"""The BERT encoder: token numbers to one vector for each token, without a deep learning library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._kernels.vectors import Singles


class Bert:
    """The forward pass of BERT, in float32 [1]_.

    With H the tokens' vectors of a text, a layer with A attention heads of size s computes

        H' = norm(H + W_o concat_a softmax(Q_a K_a^T / sqrt(s)) V_a)
        H  = norm(H' + W_2 gelu(W_1 H')),   gelu(x) = x (1 + erf(x / sqrt(2))) / 2,

    where norm makes mean 0 and variance 1 of each token's vector, and scales it. Before the first
    layer, H is norm(word + position + segment).

    Parameters
    ----------
    tensors : mapping of str to ndarray
        Weights by the names that they have in files of models.
    config : mapping
        The content of `config.json`.

    References
    ----------
    .. [1] Devlin, Chang, Lee, Toutanova. BERT: Pre-training of Deep Bidirectional Transformers
       for Language Understanding. NAACL 2019.
    """

    def __init__(self, tensors: Mapping[str, Array], config: Mapping[str, Any]) -> None:
        if config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"the activation {config['hidden_act']!r} is not known, only 'gelu'.")
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise ValueError("only absolute positions are known.")
        self.n_heads = int(config["num_attention_heads"])
        self.n_layers = int(config["num_hidden_layers"])
        self.epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._tensors = {name.removeprefix("bert."): values for name, values in tensors.items()}
        self.words = self._tensor("embeddings.word_embeddings.weight", None, None)
        self.n_dimensions = self.words.shape[1]
        if self.n_heads < 1 or self.n_dimensions % self.n_heads:
            raise ValueError(f"{self.n_dimensions} dimensions cannot be {self.n_heads} heads.")
        wide = int(config["intermediate_size"])
        self.positions = self._tensor("embeddings.position_embeddings.weight", None, None)
        segments = self._tensor("embeddings.token_type_embeddings.weight", None, None)
        # Every text is of the first segment.
        self.positions = self.positions + segments[0]
        self.first_norm = self._norm("embeddings.LayerNorm")
        self.layers = []
        for number in range(self.n_layers):
            name, size = f"encoder.layer.{number}", self.n_dimensions
            asked = [self._dense(f"{name}.attention.self.{part}", size, size) for part in _ASKED]
            # One product instead of three.
            joined = tuple(np.concatenate(parts, axis=-1) for parts in zip(*asked, strict=True))
            self.layers.append(
                (
                    joined,
                    self._dense(f"{name}.attention.output.dense", size, size),
                    self._norm(f"{name}.attention.output.LayerNorm"),
                    self._dense(f"{name}.intermediate.dense", wide, size),
                    self._dense(f"{name}.output.dense", size, wide),
                    self._norm(f"{name}.output.LayerNorm"),
                )
            )
        del self._tensors

    def __call__(self, tokens: Integers, mask: Integers) -> Singles:
        """The vectors of tokens, of shape (n_texts, n_tokens, n_dimensions).

        Parameters
        ----------
        tokens : ndarray of shape (n_texts, n_tokens)
        mask : ndarray of shape (n_texts, n_tokens)
            1 for tokens, 0 for what fills up shorter texts.
        """
        n_texts, n_tokens = tokens.shape
        # Texts and tokens are one axis where each token is on its own: larger products are faster.
        rows = (self.words[tokens] + self.positions[:n_tokens]).reshape(-1, self.n_dimensions)
        rows = self._normalised(rows, *self.first_norm)
        hidden = np.where(mask[:, None, None, :] > 0, np.float32(0), np.float32(-np.inf))
        size = self.n_dimensions // self.n_heads
        for asked, out, norm, widened, narrowed, last_norm in self.layers:
            parts = (rows @ asked[0] + asked[1]).reshape(n_texts, n_tokens, 3, self.n_heads, size)
            query, key, value = parts.transpose(2, 0, 3, 1, 4)
            likeness = query @ key.swapaxes(-1, -2) * np.float32(size**-0.5) + hidden
            likeness -= likeness.max(axis=-1, keepdims=True)
            np.exp(likeness, out=likeness)
            likeness /= likeness.sum(axis=-1, keepdims=True)
            seen = (likeness @ value).swapaxes(1, 2).reshape(-1, self.n_dimensions)
            rows = self._normalised(rows + seen @ out[0] + out[1], *norm)
            wide = _gelu(rows @ widened[0] + widened[1])
            rows = self._normalised(rows + wide @ narrowed[0] + narrowed[1], *last_norm)
        result: Singles = rows.reshape(n_texts, n_tokens, self.n_dimensions)
        return result

    def _normalised(self, rows: Singles, scale: Singles, shift: Singles) -> Singles:
        rows -= rows.mean(axis=1, keepdims=True)
        variances = np.einsum("ij,ij->i", rows, rows)[:, None] / np.float32(rows.shape[1])
        rows *= 1 / np.sqrt(variances + np.float32(self.epsilon))
        rows *= scale
        rows += shift
        return rows

    def _tensor(self, name: str, *shape: int | None) -> Singles:
        values = self._tensors.get(name)
        if values is None:
            raise ValueError(f"there is no array {name!r}: this is not a BERT model.")
        if values.ndim != len(shape) or any(
            wanted not in (None, length) for wanted, length in zip(shape, values.shape, strict=True)
        ):
            raise ValueError(f"the array {name!r} has shape {values.shape}, not {shape}.")
        return np.asarray(values, np.float32)

    def _dense(self, name: str, n_out: int, n_in: int) -> tuple[Singles, Singles]:
        weight = self._tensor(f"{name}.weight", n_out, n_in)
        return np.ascontiguousarray(weight.T), self._tensor(f"{name}.bias", n_out)

    def _norm(self, name: str) -> tuple[Singles, Singles]:
        size = self.n_dimensions
        return self._tensor(f"{name}.weight", size), self._tensor(f"{name}.bias", size)


_ASKED = ("query", "key", "value")


def _gelu(values: Singles) -> Singles:
    from scipy.special import erf

    result: Singles = erf(values * np.float32(0.5**0.5))
    result += np.float32(1)
    result *= values
    result *= np.float32(0.5)
    return result
