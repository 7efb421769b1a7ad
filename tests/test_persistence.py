import hashlib
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import localrank
from localrank._base.rules import Rules, floats
from localrank.data import make_queries
from localrank.measures import NDCG
from localrank.persistence import read_manifest
from localrank.persistence.encoding import Reader, Writer
from localrank.persistence.files import MAGIC
from localrank.rankers import BestFeature, LambdaMART, Ranker, RankSVM
from localrank.recipes import adaptive_training, best, local_rank

MANIFEST = {
    "class": "RankSVM",
    "parameters": {},
    "fitted": {},
    "training_data": {"n_queries": 1, "n_documents": 2, "most_frequent_labels": {"0": 1}},
    "n_features": 1,
    "feature_names": None,
    "versions": {},
}


@pytest.fixture(scope="module")
def fitted():
    dataset, _ = make_queries(20, random_state=0)
    return BestFeature(NDCG(3)).fit(dataset), dataset


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.localrank"
    fitted[0].save(path)
    return path


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 0.1])
def test_numbers_that_json_does_not_have_are_kept(number):
    text = json.dumps(Writer().encoded([number]), allow_nan=False)
    assert repr(Reader(memoryview(b""), []).decoded(json.loads(text))) == repr([number])


def forge(path, state, arrays: bytes = b"", version: int = 2) -> None:
    """A file with everything in order but what it says."""
    head = MAGIC + str(version).encode() + b"\n"
    text = state if isinstance(state, bytes) else json.dumps(state).encode()
    body = json.dumps(MANIFEST).encode() + b"\n" + text + b"\n" + arrays
    digest = hashlib.sha256(head + body).hexdigest().encode()
    path.write_bytes(head + digest + b" \n" + body)


def state_of(path) -> tuple[dict, bytes]:
    """What a model file says, and its arrays."""
    _, _, _, state, arrays = path.read_bytes().split(b"\n", 4)
    return json.loads(state), arrays


def refused(path, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        localrank.load(path)
    assert str(path) in str(error.value)


def test_a_truncated_file_is_refused_wherever_it_ends(saved):
    content = saved.read_bytes()
    for end in {0, 1, 10, 20, 90, 200, len(content) // 2, len(content) - 1}:
        saved.write_bytes(content[:end])
        refused(saved, "not a localrank model file|damaged or cut off")


def test_a_flipped_byte_is_noticed_wherever_it_is(saved):
    content = saved.read_bytes()
    for position in np.linspace(0, len(content) - 1, 200).astype(int):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        saved.write_bytes(damaged)
        refused(saved, "model")


@pytest.mark.parametrize("version", [1, 3])
def test_another_format_is_named(saved, version):
    content = saved.read_bytes()
    saved.write_bytes(content.replace(MAGIC + b"2", MAGIC + str(version).encode(), 1))
    refused(saved, f"written by an? (older|newer) localrank .model format {version}")


def test_the_version_is_part_of_what_the_digest_covers(saved):
    content = saved.read_bytes()
    saved.write_bytes(content.replace(MAGIC + b"2\n", MAGIC + b"02\n", 1))
    refused(saved, "damaged or cut off")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"class": "Popen", "parameters": {"args": "true"}}, "asks for 'Popen'"),
        ({"class": "os.system"}, "asks for 'os.system'"),
        ({"class": "Ranker"}, "asks for 'Ranker'"),
        ({"class": ["RankSVM"]}, "cannot be read"),
        ({"scikit-learn": "FunctionTransformer"}, "asks for 'FunctionTransformer'"),
        (
            {"class": "RankSVM", "parameters": {"D": 1}},
            "RankSVM has no parameter 'D'. There are",
        ),
        ({"class": "RankSVM", "parameters": {"C": -1}}, "'C' parameter of RankSVM"),
        ({"class": "RankSVM"}, "holds a RankSVM, not a fitted model"),
        ({"class": "RankSVM", "fitted": {"predict": 1}}, "RankSVM has no predict"),
        ({"class": "RankSVM", "fitted": {"coef_": 1}}, "RankSVM lacks n_features_in_"),
        ({"class": "Borda"}, "holds a Borda, not a fitted model"),
        ({"__reduce__": ["os.system"]}, "unknown kind '__reduce__'"),
        ([1, 2], "holds a list, not a fitted model"),
        ({"array": ["|O", [1], 0]}, "is not known"),
        ({"array": ["<f8", [-1], 0]}, "impossible position or shape"),
        ({"array": ["<f8", [2**40, 2**40], 0]}, "ends after the file"),
        ({"array": ["<f8", [0, 2**62], 0]}, "ends after the file"),
        ({"array": ["<f8", [1], 4]}, "impossible position or shape"),
        ({"array": ["<f8", [True], 0]}, "impossible position or shape"),
        ({"times": ["<U9", {"array": ["<i8", [0], 0]}]}, "is not a type of times"),
        ({"texts": ["a", 1]}, "something that is not a text"),
        ({"measure": "nonsense"}, "no measure 'nonsense'"),
        (b"not json", "cannot be read"),
        ({"class": "RankSVM", "parameters": {"C": 2**64}}, "is not between -2\\^63 and 2\\^64"),
        ({"class": "RankSVM", "parameters": {"C": -(2**63) - 1}}, "is not between"),
        ({"class": "RankSVM", "parameters": {"C": 10**400}}, "is not between"),
        (b'{"class": "RankSVM", "parameters": {"C": 1%s}}' % (b"0" * 10**6), "is not between"),
        (b'{"class": "RankSVM", "parameters": {"C": 1e400}}', "1e400 is too large"),
        (b'{"class": "RankSVM", "parameters": {"C": -1e%s}}' % (b"9" * 99), "is too large"),
        (b'{"class": "RankSVM", "parameters": {"C": NaN}}', "NaN is not a number of JSON"),
        (b'{"class": "RankSVM", "parameters": {"C": -Infinity}}', "-Infinity is not a number"),
        (b'{"class": "Popen", "class": "RankSVM"}', "'class' occurs twice"),
        (b'{"texts": ["\\ud800"]}', "half of a letter"),
        (b'{"texts": ["\\udc00\\uD800"]}', "half of a letter"),
        (b'{"texts": ["\xed\xa0\x80"]}', "cannot be read"),
        ('{"texts": ["a"]}'.encode("utf-16"), "cannot be read"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"class": ' * 20_000, "nested too deeply|cannot be read"),
    ],
)
def test_what_a_file_may_not_say_is_refused(tmp_path, state, message):
    path = tmp_path / "model.localrank"
    forge(path, state, arrays=bytes(64))
    refused(path, message)


def test_loading_imports_no_module_that_a_file_names(tmp_path, monkeypatch):
    (tmp_path / "foreign.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "model.localrank"
    for name in ("foreign", "foreign.Bomb", "localrank.cli.app"):
        forge(path, {"class": name})
        refused(path, "may not use")
    assert not (tmp_path / "executed").exists()


def test_texts_of_very_unequal_length_take_no_more_than_they_are(tmp_path, fitted):
    texts = ["x" * 1_000_000, *map(str, range(100_000))]
    array = localrank.persistence.encoding.as_texts(texts)
    assert array.dtype.kind == "T"
    assert array.tolist() == texts


def corrupted(state, name, change):
    """The state with every value of a name changed."""
    if isinstance(state, dict):
        return {
            key: change(value) if key == name else corrupted(value, name, change)
            for key, value in state.items()
        }
    return [corrupted(item, name, change) for item in state] if isinstance(state, list) else state


def shorter(value):
    dtype, shape, at = value["array"]
    return {"array": [dtype, [shape[0] - 1, *shape[1:]], at]}


@pytest.mark.parametrize(
    ("ranker", "name", "message"),
    [
        (RankSVM(), "coef_", "coef_ of RankSVM must be"),
        (local_rank(3, ranker=RankSVM()), "home_", "home_ of NearestQuery|do not fit"),
        (local_rank(3, ranker=RankSVM()), "home", "do not fit|must be"),
        (local_rank(3, ranker=RankSVM()), "offsets", "do not fit"),
        (local_rank(3, ranker=RankSVM()), "descriptions_", "do not fit"),
        (local_rank(3, ranker=RankSVM(), index="lsh"), "hyperplanes_", "must be|do not fit"),
        (adaptive_training(2, ranker=RankSVM()), "coef_", "coef_ of"),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(tmp_path, queries, ranker, name, message):
    path = tmp_path / "model.localrank"
    ranker.fit(queries).save(path)
    state, arrays = state_of(path)
    forge(path, corrupted(state, name, shorter), arrays)
    refused(path, message)


def test_a_member_of_other_features_is_refused(tmp_path, queries):
    path = tmp_path / "model.localrank"
    best(5, min_leaf_documents=5).fit(queries).save(path)
    state, arrays = state_of(path)
    state["fitted"]["rankers_"][1]["fitted"]["ranker_"]["fitted"]["n_features_in_"] = 7
    forge(path, state, arrays)
    refused(path, "must be|do not fit")


@pytest.mark.parametrize(
    "classifier",
    [
        None,
        LogisticRegression(C=2.0),
        RandomForestClassifier(random_state=0),
        GradientBoostingClassifier(n_estimators=3, subsample=0.5, random_state=0),
        GradientBoostingClassifier(n_estimators=3, init="zero", random_state=0),
        ExtraTreesClassifier(5, random_state=0),
        DecisionTreeClassifier(random_state=0),
        KNeighborsClassifier(3),
        GaussianNB(),
    ],
)
def test_every_classifier_that_saves_also_loads(tmp_path, queries, classifier):
    ranker = adaptive_training(3, ranker=RankSVM(), select="fusion")
    ranker.set_params(selector__classifier=classifier).fit(queries)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(queries), ranker.predict(queries))
    loaded.save(tmp_path / "again.localrank")
    again = localrank.load(tmp_path / "again.localrank")
    assert_array_equal(again.predict(queries), ranker.predict(queries))


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_boosting_of_two_groups_loads(tmp_path, queries, loss):
    ranker = adaptive_training(2, ranker=RankSVM(), select="fusion")
    classifier = GradientBoostingClassifier(loss=loss, n_estimators=3, random_state=0)
    ranker.set_params(selector__classifier=classifier).fit(queries)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    descriptions = ranker.selector_.representation_.transform(queries)
    assert_array_equal(
        loaded.selector_.classifier_.predict_proba(descriptions),
        ranker.selector_.classifier_.predict_proba(descriptions),
    )
    assert_array_equal(loaded.predict(queries), ranker.predict(queries))


def test_boosting_from_another_classifier_is_not_saved(tmp_path, queries):
    ranker = adaptive_training(2, ranker=RankSVM())
    classifier = GradientBoostingClassifier(init=GaussianNB(), n_estimators=2)
    ranker.set_params(selector__classifier=classifier).fit(queries)
    with pytest.raises(ValueError, match="init of GradientBoostingClassifier must be None or"):
        ranker.save(tmp_path / "model.localrank")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            lambda state: state["fitted"].update(trees_=[]),
            "trees_ of Gradient.* must be a list",
        ),
        (lambda state: state["fitted"]["trees_"][0].pop(), "must be 3 in each stage"),
        (
            lambda state: state["fitted"]["trees_"][1][2]["dict"].pop(),
            "tree lacks a field",
        ),
        (lambda state: state["fitted"].update(prior_=None), "prior_ must exist"),
        (lambda state: state["fitted"].update(n_classes_=2), "must be"),
        (lambda state: state["fitted"].update(n_features_in_=1), "does not end at a leaf"),
        (lambda state: state["parameters"].update(init="one"), "must be None or 'zero'"),
        (lambda state: state["parameters"].update(learning_rate="much"), "cannot be read"),
    ],
)
def test_damaged_boosting_is_refused(tmp_path, queries, damage, words):
    ranker = adaptive_training(3, ranker=RankSVM())
    classifier = GradientBoostingClassifier(n_estimators=2, random_state=0)
    ranker.set_params(selector__classifier=classifier).fit(queries)
    path = tmp_path / "model.localrank"
    ranker.save(path)
    state, arrays = state_of(path)
    damage(state["fitted"]["selector_"]["fitted"]["classifier_"])
    forge(path, state, arrays)
    refused(path, words)


def test_a_classifier_that_could_not_be_loaded_is_not_saved(tmp_path, queries):
    ranker = adaptive_training(2, ranker=RankSVM())
    ranker.set_params(selector__classifier=QuadraticDiscriminantAnalysis(reg_param=0.5)).fit(
        queries
    )
    with pytest.raises(ValueError, match="A QuadraticDiscriminantAnalysis cannot be saved. These"):
        ranker.save(tmp_path / "model.localrank")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("field", ["left_child", "right_child", "feature"])
@pytest.mark.parametrize("value", [-7, 0, 10**9])
def test_a_tree_whose_paths_do_not_end_at_a_leaf_is_refused(tmp_path, queries, field, value):
    ranker = adaptive_training(2, ranker=RankSVM())
    ranker.set_params(selector__classifier=DecisionTreeClassifier(random_state=0)).fit(queries)
    path = tmp_path / "model.localrank"
    ranker.save(path)
    state, arrays = state_of(path)
    fields = dict(state["fitted"]["selector_"]["fitted"]["classifier_"]["fitted"]["tree_"]["dict"])
    _, (n_nodes,), at = fields[field]["array"]
    nodes = np.frombuffer(arrays, np.int64, n_nodes, at).copy()
    inner = np.flatnonzero(nodes >= 0)[-1] if field != "feature" else 0
    if field == "feature" and value == 0:
        value = -1
    nodes[inner] = value
    forge(path, state, arrays[:at] + nodes.tobytes() + arrays[at + nodes.nbytes :])
    refused(path, "does not end at a leaf")


class Own(Ranker):
    """A ranker of a user."""

    _fitted: Rules = {"weights_": floats("n_features")}  # noqa: RUF012

    def __init__(self, factor=1.0):
        self.factor = factor

    def _fit(self, dataset, query_weights, valid):
        self.weights_ = self.factor * dataset.features.mean(axis=0)

    def _predict(self, dataset):
        return dataset.features @ self.weights_


def test_own_classes_are_loaded_where_they_are_given(tmp_path, queries):
    path = tmp_path / "model.localrank"
    ranker = Own(2.0).fit(queries)
    ranker.save(path)
    refused(path, "asks for 'Own'")
    loaded = localrank.load(path, classes=[Own])
    assert_array_equal(loaded.predict(queries), ranker.predict(queries))


def test_what_a_class_does_not_declare_is_not_saved(tmp_path, queries):
    ranker = Own().fit(queries)
    ranker.secret_ = object()
    with pytest.raises(ValueError, match="Own cannot be saved: it does not declare secret_"):
        ranker.save(tmp_path / "model.localrank")


def keys():
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    private = ed25519.Ed25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def test_a_signature_shows_who_wrote_a_file(fitted, tmp_path):
    (private, public), (_, other) = keys(), keys()
    path = tmp_path / "model.localrank"
    fitted[0].save(path, private_key=private)
    assert localrank.load(path, public_key=public).feature_ == fitted[0].feature_
    assert localrank.load(path).feature_ == fitted[0].feature_
    with pytest.raises(ValueError, match="not signed with the private key"):
        localrank.load(path, public_key=other)
    state, arrays = state_of(path)
    forge(path, state, arrays)
    with pytest.raises(ValueError, match="not signed with the private key"):
        localrank.load(path, public_key=public)


@pytest.mark.parametrize(
    ("key", "got"),
    [("k" * 32, r"a str instead. bytes.fromhex\(…\)"), (b"k" * 31, "31 bytes"), (3, "a int")],
)
def test_a_key_that_is_none_is_refused_and_not_told(key, got, fitted, tmp_path):
    private, public = keys()
    path = tmp_path / "model.localrank"
    match = f"'private_key' parameter must be an Ed25519 key: 32 bytes. Got {got}"
    with pytest.raises(ValueError, match=match) as told:
        fitted[0].save(path, private_key=key)
    assert "kkk" not in str(told.value)
    assert not path.exists()
    fitted[0].save(path, private_key=private)
    with pytest.raises(ValueError, match=match.replace("private", "public")):
        localrank.load(path, public_key=key)
    assert localrank.load(path, public_key=public).feature_ == fitted[0].feature_


def test_a_manifest_of_something_else_is_refused(tmp_path):
    path = tmp_path / "model.localrank"
    wrong = [{**MANIFEST, name: 0.5} for name in MANIFEST]
    wrong += [{**MANIFEST, "parameters": {"C": 1}}, {**MANIFEST, "feature_names": [1]}]
    wrong += [{**MANIFEST, "training_data": {}}]
    curve = {"ranker": "GBRT", "measure": "map", "rounds": [1], "values": [0.5]}
    wrong += [{**MANIFEST, "curves": [curve | {key: [None]}]} for key in curve]
    wrong += [{**MANIFEST, "curves": curves} for curves in (0.5, [1], [{}])]
    wrong += [{**MANIFEST, "n_features": 10**30}, {**MANIFEST, "feature_names": ["\ud800"]}]
    twice = json.dumps(MANIFEST)[:-1] + ', "class": "RankSVM"}'
    texts = [*map(json.dumps, wrong), "{}", "[]", "not json", twice]
    for manifest in map(str.encode, texts):
        body = manifest + b"\n{}\n"
        digest = hashlib.sha256(MAGIC + b"2\n" + body).hexdigest().encode()
        path.write_bytes(MAGIC + b"2\n" + digest + b" \n" + body)
        with pytest.raises(ValueError, match=r"model.localrank: its manifest is not one"):
            read_manifest(path)


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


def test_saving_the_same_model_twice_gives_the_same_file(tmp_path, fitted):
    dataset = fitted[1]
    LambdaMART(5).fit(dataset).save(tmp_path / "one")
    localrank.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_loaded_model_serves_in_a_fresh_process(saved, fitted, tmp_path):
    code = (
        "import sys, numpy as np, localrank\n"
        f"model = localrank.load({str(saved)!r})\n"
        "print(model.predict(np.eye(model.n_features_in_), qid=[1] * model.n_features_in_).sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(done.stdout) == 1.0


def test_every_line_of_the_head_is_text(saved):
    lines = saved.read_bytes().split(b"\n")
    assert lines[0] == MAGIC + b"2"
    assert re.fullmatch(rb"[0-9a-f]{64} ", lines[1])


def test_a_file_that_names_its_arrays_many_times_is_refused(tmp_path, queries):
    path = tmp_path / "model.localrank"
    localrank.rankers.Ensemble([LambdaMART(3), LambdaMART(3)]).fit(queries).save(path)
    state, arrays = state_of(path)
    members = state["fitted"]["rankers_"]
    state["fitted"]["rankers_"] = [members[0]] * 1000
    forge(path, state, arrays)
    refused(path, "its arrays overlap")


@pytest.mark.parametrize("number", [2**25, 2**31, 2**62])
def test_a_number_of_features_that_would_fill_the_memory_is_refused(tmp_path, fitted, number):
    path = tmp_path / "model.localrank"
    for model in (fitted[0], LambdaMART(3).fit(fitted[1])):
        model.save(path)
        state, arrays = state_of(path)
        state["fitted"].pop("feature_names_in_")
        forge(path, corrupted(state, "n_features_in_", lambda _: number), arrays)
        refused(path, "n_features_in_ of .* must be a whole number from 1 to 16777216")


def test_values_of_a_best_feature_are_as_many_as_the_features(tmp_path, fitted):
    path = tmp_path / "model.localrank"
    fitted[0].save(path)
    state, arrays = state_of(path)
    state["fitted"].pop("feature_names_in_")
    forge(path, corrupted(state, "n_features_in_", lambda _: 2**24), arrays)
    refused(path, "parts of BestFeature do not fit each other")


def test_an_expansion_is_compared_before_it_is_made(tmp_path, queries):
    path = tmp_path / "model.localrank"
    localrank.rankers.Quadratic(LambdaMART(3)).fit(queries).save(path)
    state, arrays = state_of(path)
    state["fitted"].pop("feature_names_in_")
    state["fitted"]["n_features_in_"] = 2**23
    forge(path, state, arrays)
    refused(path, "parts of Quadratic do not fit each other")


def test_more_components_than_features_are_refused(tmp_path, queries):
    path = tmp_path / "model.localrank"
    local_rank(3, ranker=RankSVM()).fit(queries).save(path)
    state, arrays = state_of(path)
    forge(path, corrupted(state, "n_components_", lambda _: 10**9), arrays)
    refused(path, "parts of PrincipalComponents do not fit each other")


@pytest.mark.parametrize("jobs", [10**6, -(10**6), 2**62, 0.5, "2"])
def test_threads_that_no_machine_has_are_refused(tmp_path, queries, jobs):
    path = tmp_path / "model.localrank"
    adaptive_training(2, ranker=RankSVM()).fit(queries).save(path)
    state, arrays = state_of(path)
    forge(path, corrupted(state, "n_jobs", lambda _: jobs), arrays)
    refused(path, "n_jobs must be None or a whole number up to 1024")


def test_numbers_that_collide_as_keys_are_refused(tmp_path, fitted):
    path = tmp_path / "model.localrank"
    fitted[0].save(path)
    state, arrays = state_of(path)
    colliding = [[i % 8 * (2**61 - 1), 0] for i in range(50_000)]
    state["fitted"]["training_data_"] = {"dict": colliding}
    forge(path, state, arrays)
    refused(path, "too many keys that are not texts")


def test_rankers_inside_each_other_are_refused_from_some_depth_on(tmp_path, fitted):
    path = tmp_path / "model.localrank"
    fitted[0].save(path)
    state, arrays = state_of(path)
    for _ in range(200):
        state = {"class": "Quadratic", "parameters": {"ranker": state}}
    forge(path, state, arrays)
    refused(path, "nested too deeply")


def test_a_ranker_of_a_group_that_is_not_asked_at_first_is_tried_too(tmp_path, queries):
    path = tmp_path / "model.localrank"
    lgmml = localrank.rankers.LGMML(3, unseen="nearest", n_iterations=10)
    adaptive_training(2, ranker=lgmml).fit(queries).save(path)
    original, arrays = state_of(path)
    for group in range(len(original["fitted"]["models_"])):
        state = json.loads(json.dumps(original))
        state["fitted"]["models_"][group]["fitted"]["representation_"] = None
        forge(path, state, arrays)
        refused(path, "cannot be read")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "pyfunc"),
        ("metric", {"measure": "ndcg@10"}),
        ("weights", {"measure": "ndcg@10"}),
        ("metric_params", {"dict": [["V", 1]]}),
    ],
)
def test_distances_of_neighbours_that_take_more_are_refused(tmp_path, queries, name, value):
    ranker = adaptive_training(2, ranker=RankSVM())
    ranker.set_params(selector__classifier=KNeighborsClassifier(3)).fit(queries)
    path = tmp_path / "model.localrank"
    ranker.save(path)
    state, arrays = state_of(path)
    forge(path, corrupted(state, name, lambda _: value), arrays)
    refused(path, "of KNeighborsClassifier must be")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_a_file_without_end_is_refused():
    with pytest.raises(ValueError, match="/dev/zero: not a file, but a device or a pipe"):
        localrank.load("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    # The reader of a pipe that nobody writes to would wait: in a process that can be ended.
    script = "import sys, localrank; localrank.load(sys.argv[1])"
    command = [sys.executable, "-c", script, str(tmp_path / "pipe")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "pipe: not a file, but a device or a pipe" in done.stderr


def test_whole_numbers_of_64_bits_and_all_letters_are_kept(tmp_path):
    numbers = [2**63 - 1, -(2**63), 2**64 - 1, "\U0001f600é\\ud800"]
    path = tmp_path / "model.localrank"
    forge(path, {"dict": [["a", numbers]]})
    assert localrank.persistence.files.load_part(path, bool, "list") == {"a": numbers}
