import hashlib
import importlib
import json
import os
import re

import numpy as np
import pytest
import skops.io
from numpy.testing import assert_array_equal

import localrank
from localrank.data import make_queries
from localrank.measures import NDCG
from localrank.persistence import MAGIC, MANIFEST, read_manifest
from localrank.rankers import BestFeature, LambdaMART


@pytest.fixture(scope="module")
def fitted():
    dataset, _ = make_queries(20, random_state=0)
    return BestFeature(NDCG(3)).fit(dataset), dataset


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.localrank"
    fitted[0].save(path)
    return path


def forge(path, state: bytes, version: int = 1) -> None:
    """A file with everything in order but its state."""
    body = json.dumps(dict.fromkeys(MANIFEST)).encode() + b"\n" + state
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(MAGIC + str(version).encode() + b"\n" + digest + b"\n" + body)


def test_a_truncated_file_is_refused_wherever_it_ends(saved):
    content = saved.read_bytes()
    for end in {0, 1, 10, 20, 90, 200, len(content) // 2, len(content) - 1}:
        saved.write_bytes(content[:end])
        with pytest.raises(ValueError, match="not a localrank model file|damaged or cut off"):
            localrank.load(saved)


def test_a_flipped_byte_is_noticed_wherever_it_is(saved):
    content = saved.read_bytes()
    for position in np.linspace(0, len(content) - 1, 200).astype(int):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        saved.write_bytes(damaged)
        with pytest.raises(ValueError, match=re.escape(str(saved))):
            localrank.load(saved)


def test_a_zip_of_something_else_is_no_model(tmp_path):
    path = tmp_path / "model.localrank"
    skops.io.dump(np.zeros(3), path)
    with pytest.raises(ValueError, match="not a localrank model file"):
        localrank.load(path)


def test_a_foreign_class_is_refused_and_not_even_imported(tmp_path, monkeypatch):
    package = tmp_path / "foreign_package.py"
    package.write_text(
        "from pathlib import Path\n"
        f"Path({str(tmp_path / 'executed')!r}).touch()\n"
        "class Bomb:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import foreign_package

    state = skops.io.dumps(foreign_package.Bomb())
    (tmp_path / "executed").unlink()
    monkeypatch.delitem(__import__("sys").modules, "foreign_package")
    path = tmp_path / "model.localrank"
    forge(path, state)
    with pytest.raises(ValueError, match=r"asks for foreign_package.Bomb"):
        localrank.load(path)
    assert not (tmp_path / "executed").exists()
    with pytest.raises(ValueError, match="it holds no ranker but Bomb"):
        localrank.load(path, trusted=["foreign_package.Bomb"])
    assert (tmp_path / "executed").exists()


def test_a_function_of_our_own_is_not_a_class_to_build(tmp_path):
    path = tmp_path / "model.localrank"
    forge(path, skops.io.dumps({"run": localrank.persistence.load}))
    with pytest.raises(ValueError, match=r"asks for localrank.persistence.load"):
        localrank.load(path)


@pytest.mark.parametrize("name", ["localrank.__main__.Bomb", "localrank.cli.app.Bomb"])
def test_modules_that_hold_no_rankers_are_not_imported(tmp_path, fitted, monkeypatch, name):
    monkeypatch.setattr(
        importlib, "import_module", lambda module: pytest.fail(f"imported {module}")
    )
    assert not localrank.persistence._is_own_class(name)


def test_a_manifest_of_something_else_is_refused(tmp_path):
    path = tmp_path / "model.localrank"
    for manifest in (b"{}", b"[]", b"not json"):
        body = manifest + b"\n"
        digest = hashlib.sha256(body).hexdigest().encode()
        path.write_bytes(MAGIC + b"1\n" + digest + b"\n" + body)
        with pytest.raises(ValueError, match=r"model.localrank: its manifest is not one"):
            read_manifest(path)


def test_a_state_that_is_no_skops_file_is_refused(tmp_path):
    path = tmp_path / "model.localrank"
    forge(path, b"not a zip")
    with pytest.raises(ValueError, match="cannot be read"):
        localrank.load(path)


def test_a_newer_format_asks_for_an_upgrade(saved):
    content = saved.read_bytes()
    saved.write_bytes(content.replace(MAGIC + b"1", MAGIC + b"2", 1))
    with pytest.raises(ValueError, match="written by a newer localrank"):
        localrank.load(saved)


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        localrank.load(tmp_path / "absent.localrank")


def test_a_failed_save_leaves_the_old_model(saved, fitted, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        LambdaMART(3).fit(fitted[1]).save(saved)
    assert list(saved.parent.iterdir()) == [saved]
    assert_array_equal(localrank.load(saved).predict(fitted[1]), fitted[0].predict(fitted[1]))


def test_a_measure_given_as_a_value_is_saved_with_the_model(saved):
    assert localrank.load(saved).measure == NDCG(3)


def test_the_manifest_tells_what_the_model_is(saved, fitted):
    manifest = read_manifest(saved)
    assert manifest["class"] == "BestFeature"
    assert manifest["parameters"]["measure"] == "ndcg@3"
    assert manifest["training_data"]["n_queries"] == 20
    assert manifest["feature_names"] == list(fitted[1].feature_names)
    assert manifest["versions"]["localrank"] == localrank.__version__


def test_the_manifest_is_a_readable_line_of_the_file(saved):
    assert json.loads(saved.read_bytes().split(b"\n")[2])["class"] == "BestFeature"


def test_saving_the_same_model_twice_gives_models_that_score_alike(tmp_path, fitted):
    dataset = fitted[1]
    ranker = LambdaMART(5).fit(dataset)
    ranker.save(tmp_path / "one")
    localrank.load(tmp_path / "one").save(tmp_path / "two")
    twice = localrank.load(tmp_path / "two")
    assert_array_equal(twice.predict(dataset), ranker.predict(dataset))
