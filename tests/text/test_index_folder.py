import hashlib
import json
import os
import shutil
import socket
import sys
import tracemalloc
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.persistence.files import load_part, read_manifest, save_model
from localrank.rankers import RankSVM
from localrank.text import Analyzer, FeatureExtractor, load_extractor
from localrank.text import _corpus as corpus
from localrank.text import _index_folder as index_folder
from localrank.text._index_folder import EXTRACTOR_FILE, ArrayFile, StoredIndex

FIELDS = ["title", "body"]
QUERIES = {"q1": "1 2 2 5", "q2": "11 nothing 3 6", "q3": "4 1 7 9 12 1"}


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of a few documents, and blocks of a few postings."""
    monkeypatch.setattr(corpus, "PART_CHARACTERS", 100)
    monkeypatch.setattr(index_folder, "BLOCK_POSTINGS", 25)


def random_corpus(seed, n_documents=120, longest=30):
    rng = np.random.default_rng(seed)

    def text(most):
        return " ".join(map(str, rng.zipf(1.5, size=rng.integers(0, most))))

    for number in range(n_documents):
        title, body = text(5), text(longest)
        yield {"id": f"d{number}é", "title": title, "body": body, "clicks": float(number % 7)}


def extractor_of(fields=FIELDS, **parameters):
    return FeatureExtractor(fields, **{"features": "all", "columns": ["clicks"], **parameters})


def assert_same_answers(extractor, other):
    """Equal to the last bit."""
    run, again = (each.retrieve(QUERIES, 15) for each in (extractor, other))
    assert_array_equal(again.query_ids, run.query_ids)
    assert_array_equal(again.document_ids, run.document_ids)
    assert_array_equal(again.scores, run.scores)
    dataset, same = (each.transform(QUERIES, run) for each in (extractor, other))
    assert dataset.feature_names == same.feature_names
    assert_array_equal(same.features, dataset.features)
    given = [{"title": "1 5", "body": "2 2 new 9"}, {"body": "12", "clicks": 3}]
    for query in QUERIES.values():
        tables = (each.features_of(query, given) for each in (extractor, other))
        assert_array_equal(*tables)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"fields": ["body"], "columns": (), "variant": "robertson"},
        {"fields": {"all": ["title", "body"], "title": "title"}, "variant": "atire", "b": 0.3},
        {"analyzer": Analyzer(stopwords=["1"]), "features": "letor"},
        {"features": ["definition", "window"]},
    ],
)
def test_an_index_in_a_folder_answers_as_one_in_memory(tmp_path, seed, parameters):
    in_memory = extractor_of(**parameters).fit(random_corpus(seed))
    in_folder = extractor_of(**parameters).fit(random_corpus(seed), folder=tmp_path / "index")
    opened = load_extractor(tmp_path / "index")
    assert_same_answers(in_memory, in_folder)
    assert_same_answers(in_memory, opened)
    assert opened.index_.n_bytes == in_memory.index_.n_bytes
    assert opened.index_.document_ids.dtype == in_memory.index_.document_ids.dtype


def test_postings_stay_in_files(tmp_path):
    opened = extractor_of().fit(random_corpus(0), folder=tmp_path / "index")
    assert all(stream.is_mapped for stream in opened.index_.streams)
    assert not any(
        stream.is_mapped for stream in extractor_of().fit(random_corpus(0)).index_.streams
    )
    opened.retrieve(QUERIES)
    assert "weights" not in vars(opened._features)


def test_texts_without_a_word_are_an_index_too(tmp_path):
    documents = [{"id": 1, "title": "", "body": "!", "clicks": 3}]
    extractor_of().fit(documents, folder=tmp_path)
    opened = load_extractor(tmp_path)
    assert len(opened.retrieve(QUERIES).scores) == 0
    expected = extractor_of().fit(documents).features_of("a", [{"body": "a"}])
    assert_array_equal(opened.features_of("a", [{"body": "a"}]), expected)


def test_a_folder_can_be_moved_and_saved_as_one_file(tmp_path):
    extractor = extractor_of().fit(random_corpus(1), folder=tmp_path / "a" / "index")
    extractor.save(tmp_path / "one.localrank")
    shutil.move(tmp_path / "a", tmp_path / "b")
    opened = load_extractor(tmp_path / "b" / "index" / EXTRACTOR_FILE)
    assert_same_answers(opened, load_extractor(tmp_path / "one.localrank"))


def test_a_second_fit_leaves_the_folder_behind(tmp_path):
    extractor = extractor_of().fit(random_corpus(1), folder=tmp_path)
    assert_same_answers(extractor.fit(random_corpus(2)), extractor_of().fit(random_corpus(2)))
    assert_same_answers(load_extractor(tmp_path), extractor_of().fit(random_corpus(1)))


def test_memory_is_for_a_part_and_not_for_the_index(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "PART_CHARACTERS", 2**16)
    monkeypatch.setattr(index_folder, "BLOCK_POSTINGS", 2**14)
    words = [f"w{number}" for number in range(2000)]
    rng = np.random.default_rng(0)

    def documents():
        for number in range(800):
            chosen = rng.integers(0, 2000, size=600).tolist()
            body = " ".join([words[w] for w in chosen])
            yield {"id": number, "title": "a", "body": body, "clicks": 1}

    extractor_of().fit(random_corpus(0), folder=tmp_path / "warm")
    tracemalloc.start()
    try:
        extractor = extractor_of().fit(documents(), folder=tmp_path / "index")
        _, built = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        opened = load_extractor(tmp_path / "index")
        opened.dataset(["w1 w2", "w3 a"], depth=20)
        _, used = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert extractor.index_.n_bytes > 8e6
    assert built < 0.25 * extractor.index_.n_bytes
    assert used < 0.25 * extractor.index_.n_bytes


@pytest.mark.usefixtures("small_parts")
def test_a_build_that_fails_leaves_nothing(tmp_path):
    def documents():
        yield from random_corpus(0)
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        extractor_of().fit(documents(), folder=tmp_path / "new" / "index")
    assert list(tmp_path.iterdir()) == [tmp_path / "new"]
    with pytest.raises(ValueError, match="'d0é' appears twice"):
        extractor_of().fit([*random_corpus(0), *random_corpus(0)], folder=tmp_path / "new")
    assert list(tmp_path.rglob("*")) == [tmp_path / "new"]
    with pytest.raises(ValueError, match="has no document"):
        extractor_of().fit([], folder=tmp_path / "new")


def test_what_cannot_be_saved_is_refused_before_the_corpus_is_read(tmp_path):
    def documents():
        raise AssertionError("read")
        yield

    with pytest.raises(ValueError, match="A function cannot be saved"):
        extractor_of(analyzer=lambda text: text.split()).fit(documents(), folder=tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty. Give a new folder for the index"):
        extractor_of().fit(random_corpus(0), folder=tmp_path)
    with pytest.raises(ValueError, match=r"mine.txt is a file. Give a folder for the index"):
        extractor_of().fit(random_corpus(0), folder=tmp_path / "mine.txt")
    with pytest.raises(
        ValueError, match=f"has no {EXTRACTOR_FILE}. The folder is not an index, or"
    ):
        load_extractor(tmp_path)


def test_what_makes_a_folder_an_index_is_written_last(tmp_path, monkeypatch):
    written = []

    def killed(_, path, *arguments):
        written.extend(file.name for file in path.parent.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(index_folder, "save_model", killed)
    with pytest.raises(KeyboardInterrupt):
        extractor_of().fit(random_corpus(0), folder=tmp_path)
    assert len(written) == 19
    assert EXTRACTOR_FILE not in written
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path):
    extractor_of().fit(random_corpus(0), folder=tmp_path / "index")
    return tmp_path / "index"


def test_every_damaged_missing_or_foreign_file_is_named(folder, tmp_path):
    extractor_of().fit(random_corpus(7), folder=tmp_path / "other")
    names = sorted(path.name for path in folder.glob("*.npy"))
    assert len(names) == 19
    for name in names:
        path, content = folder / name, (folder / name).read_bytes()
        damaged = content[:-1] + bytes([content[-1] ^ 1])
        for wrong in (damaged, content[:-3], b"", (tmp_path / "other" / name).read_bytes()):
            if wrong != content:
                path.write_bytes(wrong)
                with pytest.raises(ValueError, match=rf"{name} (is damaged, or|has [\d,]+ bytes)"):
                    load_extractor(folder)
        path.unlink()
        with pytest.raises(ValueError, match=rf"{name} is missing"):
            load_extractor(folder)
        path.write_bytes(content)
    assert load_extractor(folder).n_documents == 120


def test_without_its_file_a_folder_is_an_interrupted_build(folder):
    (folder / EXTRACTOR_FILE).unlink()
    with pytest.raises(ValueError, match="index has no extractor.localrank. .* was interrupted"):
        load_extractor(folder)


def test_a_folder_may_have_the_file_of_an_extractor_in_memory(tmp_path):
    in_memory = extractor_of().fit(random_corpus(0))
    in_memory.save(tmp_path / EXTRACTOR_FILE)
    assert_same_answers(load_extractor(tmp_path), in_memory)


def test_a_file_of_another_kind_is_no_index(folder):
    dataset = load_extractor(folder).dataset({"q1": QUERIES["q1"]}, {"q1": {"d1é": 1}})
    RankSVM().fit(dataset).save(folder / EXTRACTOR_FILE)
    with pytest.raises(ValueError, match="extractor.localrank: .* not a fitted extractor"):
        load_extractor(folder)
    stored = StoredIndex(Analyzer())
    stored.files_, stored.n_documents_ = {}, 1
    stored.extractor.feature_names = ()
    save_model(stored, folder / EXTRACTOR_FILE)
    with pytest.raises(ValueError, match="holds a StoredIndex, not a fitted extractor"):
        load_extractor(folder)


def changed(values, place, value):
    values = values.copy()
    values[place] = value
    return values


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("stream1.documents", lambda v: changed(v, 3, 120), "parts of Stream do not fit"),
        ("stream1.documents", lambda v: changed(v, 3, -1), "documents of Stream must be whole"),
        ("stream1.documents", lambda v: v[:-1], "counts of Stream must be whole numbers"),
        ("stream2.begins", lambda v: changed(v, 3, v[-1]), "parts of Stream do not fit"),
        ("stream2.begins", lambda v: np.append(v, v[-1]), "parts of Index do not fit"),
        ("stream0.lengths", lambda v: v[:-1], "do not fit"),
        ("stream1.words", lambda v: changed(v, 0, 2**30), "parts of Stream do not fit"),
        ("terms.begins", lambda v: changed(v, 1, v[-1] + 1), "parts of Vocabulary do not fit"),
        ("ids.letters", lambda v: changed(v, 2, 0xFF), "invalid start byte"),
        ("ids.letters", lambda v: changed(v, 0, 0), "must not contain NUL"),
        ("ids.begins", lambda v: changed(v, 1, v[2]), "must not be missing"),
        ("columns", lambda v: v * 1e300, "columns of Index must be numbers within"),
        ("columns", lambda v: v[:, :0], "parts of FeatureExtractor do not fit"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_though_their_digests_are_right(
    folder, name, change, message
):
    stored = load_part(folder / EXTRACTOR_FILE, lambda _: True, "file")
    path = folder / f"{name}.npy"
    values = change(np.load(path))
    path.unlink()
    with ArrayFile(path, values.dtype.str, values.shape[1:]) as file:
        file.append(values)
    stored.files_ = {**stored.files_, name: tuple(file.facts)}
    save_model(stored, folder / EXTRACTOR_FILE)
    with pytest.raises(ValueError, match=rf"index: the index cannot be used: .*{message}"):
        load_extractor(folder)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (((-1,), "0"), "files_ of StoredIndex must be shapes and digests"),
        (((2.5,), "0"), "files_ of StoredIndex must be shapes and digests"),
        (((2**61, 2**61), "0"), "columns.npy has .* bytes and should have"),
        (None, "does not name columns.npy"),
    ],
)
def test_a_file_with_odd_facts_is_refused(folder, facts, message):
    stored = load_part(folder / EXTRACTOR_FILE, lambda _: True, "file")
    stored.files_ = {**stored.files_, "columns": facts}
    if facts is None:
        del stored.files_["columns"]
    save_model(stored, folder / EXTRACTOR_FILE)
    with pytest.raises(ValueError, match=message):
        load_extractor(folder)


def test_a_file_says_of_how_many_documents_the_index_is(folder):
    manifest = read_manifest(folder / EXTRACTOR_FILE)
    assert manifest["training_data"]["n_documents"] == 120
    assert manifest["n_features"] == len(extractor_of().feature_names)


def test_the_same_texts_make_the_same_files(tmp_path):
    for name in ("one", "other"):
        extractor_of().fit(random_corpus(3), folder=tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) > 10
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.fixture
def keys():
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key = ed25519.Ed25519PrivateKey.generate()
    return key.private_bytes_raw(), key.public_key().public_bytes_raw()


def test_a_signed_folder_is_opened_as_it_was_written_and_not_otherwise(tmp_path, keys):
    private_key, public_key = keys
    folder = tmp_path / "index"
    fitted = extractor_of().fit(random_corpus(1), folder=folder, private_key=private_key)
    for path in (folder, folder / EXTRACTOR_FILE):
        assert_same_answers(fitted, load_extractor(path, public_key=public_key))

    # Signed with another key, and not signed.
    extractor_of().fit(random_corpus(1), folder=tmp_path / "other", private_key=bytes(32))
    extractor_of().fit(random_corpus(1), folder=tmp_path / "unsigned")
    for name in ("other", "unsigned"):
        with pytest.raises(ValueError, match=f"{name}.*not signed with the private key"):
            load_extractor(tmp_path / name, public_key=public_key)

    # A file of another index with its own digests, in place of the signed one.
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    shutil.copy(tmp_path / "unsigned" / EXTRACTOR_FILE, changed)
    with pytest.raises(ValueError, match="not signed with the private key"):
        load_extractor(changed, public_key=public_key)

    (folder / "more.npy").write_bytes(b"")
    with pytest.raises(ValueError, match=r"more.npy is not part of the signed index"):
        load_extractor(folder, public_key=public_key)
    load_extractor(folder)
    (folder / "more.npy").unlink()
    lengths = folder / "stream0.lengths.npy"
    content = bytearray(lengths.read_bytes())
    content[-1] ^= 1
    lengths.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged, or belongs to another index"):
        load_extractor(folder, public_key=public_key)
    lengths.unlink()
    with pytest.raises(ValueError, match=r"lengths.npy is missing"):
        load_extractor(folder, public_key=public_key)


def test_a_key_needs_a_folder_and_is_tried_before_the_work(tmp_path, keys):
    with pytest.raises(ValueError, match="'private_key' parameter of fit signs a folder"):
        extractor_of().fit(random_corpus(1), private_key=keys[0])
    with pytest.raises(ValueError, match="32 bytes"):
        extractor_of().fit(random_corpus(1), folder=tmp_path / "index", private_key=b"short")
    assert not (tmp_path / "index").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links of Unix")
@pytest.mark.parametrize("name", ["stream0.counts.npy", EXTRACTOR_FILE])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder", "link", "loop"])
def test_what_is_no_file_of_the_folder_is_refused_and_not_waited_for(tmp_path, name, kind):
    extractor_of().fit(random_corpus(1), folder=tmp_path / "i")
    path = tmp_path / "i" / name
    path.rename(tmp_path / "elsewhere")
    with closing(socket.socket(socket.AF_UNIX)) as server:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            # A path of a socket has at most 107 bytes.
            server.bind(os.path.relpath(path))
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to({"device": "/dev/zero", "link": tmp_path / "elsewhere"}.get(kind, path))
        said = "counts.npy is not a file, but" if (name[0], kind) == ("s", "pipe") else name
        with pytest.raises(ValueError, match=said):
            load_extractor(tmp_path / "i")


def test_a_folder_whose_extractor_names_no_arrays_is_refused(tmp_path):
    extractor_of().fit(random_corpus(1), folder=tmp_path / "i")
    path = tmp_path / "i" / EXTRACTOR_FILE
    head, _, manifest, state, arrays = path.read_bytes().split(b"\n", 4)
    changed = json.dumps(json.loads(state) | {"fitted": {}}).encode()
    body = b"\n".join([manifest, changed, arrays])
    digest = hashlib.sha256(head + b"\n" + body).hexdigest().encode()
    path.write_bytes(b"\n".join([head, digest + b" ", body]))
    with pytest.raises(ValueError, match="it holds a StoredIndex, not a fitted extractor"):
        load_extractor(tmp_path / "i")
