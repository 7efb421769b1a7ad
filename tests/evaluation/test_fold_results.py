import hashlib
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import Fold, RankingDataset, folds, make_queries
from localrank.data import _sources as sources
from localrank.evaluation.clairvoyance import ClairvoyantBound
from localrank.evaluation.fold_results import FoldResult, Store, described, fingerprint
from localrank.evaluation.query_groups import GroupMap, MappedGroup, StrongFeature
from localrank.measures import NDCG
from localrank.rankers import Ensemble, LambdaMART


@pytest.fixture
def run():
    measure = NDCG(10, gain="linear")
    nan = float("nan")
    return FoldResult(
        "Fold1",
        np.sqrt(np.arange(20.0)),
        np.arange(5),
        1.5,
        2.5,
        0.25,
        n_models=3,
        model_bytes=1234,
        chosen={"C": 0.1, "odd": "x"},
        path=[{"C": 0.1, "mean": 0.5, "standard_error": 0.1, "best": True}],
        bound=ClairvoyantBound(
            measure, 3, np.array([0.1, nan]), np.array([0.3, nan]), np.eye(2) / 3
        ),
        map=GroupMap([0.1], [0.2], [0], ["q"], [MappedGroup(1, [StrongFeature("f", 1 / 3)])]),
    )


def test_a_run_comes_back_whole_by_its_key(tmp_path, run):
    store = Store(tmp_path / "a" / "b")
    store.put("svm", "key", run)
    kept = store.get("Fold1", "svm", "key")
    for name, value in vars(run).items():
        if name in ("scores", "groups"):
            assert_array_equal(getattr(kept, name), value)
        elif name != "bound":
            assert getattr(kept, name) == value
    assert (kept.bound.measure, kept.bound.n_groups) == (run.bound.measure, 3)
    for name in ("selected", "values", "control"):
        assert_array_equal(getattr(kept.bound, name), getattr(run.bound, name))
    for other in (("Fold1", "svm", "other"), ("Fold2", "svm", "key"), ("Fold1", "map", "key")):
        assert store.get(*other) is None


def test_without_a_folder_nothing_is_kept(run):
    store = Store(None)
    store.put("svm", "key", run)
    assert store.get("Fold1", "svm", "key") is None


def test_values_that_json_lacks_are_kept_as_their_text(tmp_path):
    run = FoldResult("Fold1", np.zeros(1), np.zeros(0, dtype=int), chosen={"part": 1 + 2j})
    Store(tmp_path).put("svm", "key", run)
    assert Store(tmp_path).get("Fold1", "svm", "key").chosen == {"part": "(1+2j)"}


def test_a_run_that_is_damaged_anywhere_is_as_it_was_or_not_there(tmp_path, run):
    store = Store(tmp_path)
    store.put("svm", "key", run)
    path = tmp_path / "Fold1" / "svm.npz"
    whole = path.read_bytes()
    for place in range(0, len(whole), 11):
        path.write_bytes(whole[:place])
        assert store.get("Fold1", "svm", "key") is None
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        kept = store.get("Fold1", "svm", "key")
        assert kept is None or np.array_equal(kept.scores, run.scores)


def test_a_file_without_all_of_a_run_is_none(tmp_path):
    path = tmp_path / "Fold1" / "svm.npz"
    path.parent.mkdir()
    for facts in ("{}", "x", '{"key": "key"}', json.dumps({"key": "key", "bound": {}})):
        np.savez(path, facts=np.array(facts))
        assert Store(tmp_path).get("Fold1", "svm", "key") is None


def test_members_of_an_ensemble_are_described_and_threads_are_not():
    def ensemble(seed: int, n_jobs: int = 1) -> Ensemble:
        members = [LambdaMART(3, random_state=i, n_jobs=n_jobs) for i in range(30)]
        members[15].set_params(random_state=seed)
        return Ensemble([Ensemble(members)])

    assert described(ensemble(15)) == described(ensemble(15, n_jobs=2))
    assert described(ensemble(15)) != described(ensemble(99))


def test_a_fingerprint_changes_with_anything_in_any_part():
    def part(features=(0.0, 1.0, 2.0), labels=(0, 1, 0), qid=(1, 1, 2)):
        return RankingDataset.from_arrays(np.array(features)[:, None], labels, qid)

    others = [
        part(features=(0.0, 1.0, 3.0)),
        part(labels=(0, 1, 1)),
        part(qid=(1, 2, 2)),
        part(qid=(1, 1, 3)),
    ]
    marks = [
        fingerprint(Fold("a", *parts))
        for other in [*others, part()]
        for parts in ((other, part(), part()), (part(), other, part()), (part(), part(), other))
    ]
    assert len(set(marks)) == 3 * len(others) + 1
    assert fingerprint(Fold("b", part(), part(), part())) not in marks
    assert fingerprint(Fold("a", part(), None, part())) not in marks


def test_a_fingerprint_changes_with_vectors():
    rows = RankingDataset.from_arrays([[0.0], [1.0]], [0, 1], ["q", "q"])
    first, second = np.eye(2, dtype=np.float32), np.ones((2, 2), np.float32)
    query = np.ones((1, 2), np.float32)
    tests = [
        rows,
        *(rows.with_vectors(v) for v in (first, second)),
        rows.with_vectors(first, query),
    ]
    assert len({fingerprint(Fold("a", rows, None, test)) for test in tests}) == 4
    single = RankingDataset.from_arrays([[0.0], [1.0]], [0, 1], ["q", "r"])
    tests = [single.with_vectors(first), single.with_vectors(None, first)]
    assert len({fingerprint(Fold("a", rows, None, test)) for test in tests}) == 2


def test_a_fingerprint_is_that_of_the_whole_arrays_however_they_are_held(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_BYTES", 500)
    dataset, _ = make_queries(20, n_documents=(1, 9), n_features=5)
    made = folds(dataset, 4)[1]
    digest = hashlib.sha256(b"Fold2")
    for part in (made.train, made.valid, made.test):
        for array in (part.features, part.labels, part.offsets):
            digest.update(array.tobytes())
        digest.update(json.dumps(part.query_ids.tolist()).encode())
    assert fingerprint(made) == digest.hexdigest()
