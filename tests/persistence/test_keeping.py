"""Training that was cut off goes on where it was, and ends with the same model."""

import subprocess
import sys
import time
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written

from localrank.data import make_queries, write_letor
from localrank.persistence import keeping, kept_models
from localrank.rankers import Ensemble, LambdaMART, MultipleHyperplaneRanker, RankSVM
from localrank.recipes import best, local_rank


class Counting(RankSVM):
    """Says which models were trained, and fails when it has trained so many."""

    trained: ClassVar[list] = []
    most: ClassVar[float] = np.inf

    def _fit(self, dataset, query_weights, valid):
        if len(Counting.trained) >= Counting.most:
            raise RuntimeError("cut off")
        super()._fit(dataset, query_weights, valid)
        Counting.trained.append(self.C)


@pytest.fixture
def n_trained(monkeypatch):
    """How many models it takes to train a ranker with a folder; it may be cut off."""

    def count(ranker, dataset, folder, most=np.inf, **arguments):
        monkeypatch.setattr(Counting, "trained", [])
        monkeypatch.setattr(Counting, "most", most)
        with kept_models(folder):
            if most < np.inf:
                with pytest.raises(RuntimeError, match="cut off"):
                    ranker.fit(dataset, **arguments)
            else:
                ranker.fit(dataset, **arguments)
        return len(Counting.trained)

    return count


def content(model, path):
    model.save(path)
    return path.read_bytes()


RANKERS = {
    "groups": lambda: local_rank(5, ranker=Counting()),
    "ensemble": lambda: Ensemble([Counting(C) for C in (0.1, 0.3, 1.0, 3.0, 10.0)]),
    "equal rankers": lambda: Ensemble([Counting()] * 5),
}


@pytest.mark.parametrize("name", RANKERS)
def test_after_a_failure_only_what_is_missing_is_trained(name, queries, tmp_path, n_trained):
    ranker, folder = RANKERS[name](), tmp_path / "made" / "models"
    assert n_trained(ranker, queries, folder, most=2) == 2
    assert len(list(folder.iterdir())) == 2
    assert n_trained(ranker, queries, folder) == 3
    plain = RANKERS[name]().fit(queries)
    assert content(ranker, tmp_path / "one") == content(plain, tmp_path / "two")
    assert n_trained(ranker, queries, folder) == 0
    assert content(ranker, tmp_path / "one") == content(plain, tmp_path / "two")


@pytest.mark.parametrize(
    ("make", "n_kept"),
    [
        (lambda: Ensemble([LambdaMART(5), RankSVM(), local_rank(2)], n_jobs=2), 3),
        (lambda: local_rank(3, ranker=LambdaMART(5), n_jobs=2), 3),
        (lambda: local_rank(2, ranker=Ensemble([LambdaMART(5), RankSVM()])), 2 + 4),
        (lambda: best(5), 2 + 6),
        (lambda: MultipleHyperplaneRanker(sampling_rate=0.5, pairs="all"), 10),
    ],
)
def test_a_model_of_kept_parts_is_saved_as_the_same_bytes(make, n_kept, queries, tmp_path):
    valid = make_queries(20, n_features=8, n_types=2, random_state=7)[0]
    expected = content(make().fit(queries, valid=valid), tmp_path / "plain")
    with kept_models(tmp_path / "models"):
        first = make().fit(queries, valid=valid)
        n_files = len(list((tmp_path / "models").iterdir()))
        again = make().fit(queries, valid=valid)
    assert n_files == len(list((tmp_path / "models").iterdir())) == n_kept
    assert content(first, tmp_path / "first") == content(again, tmp_path / "again") == expected


def negated(dataset):
    features = dataset.features.copy()
    features[-1] *= -1
    return dataset.replaced(features=features)


def relabelled(dataset):
    return dataset.replaced(relevance=dataset.labels[::-1].copy())


@pytest.mark.parametrize(
    "change",
    [
        negated,
        relabelled,
        lambda dataset: dataset.select(range(59)),
        lambda dataset: dataset.replaced(query_ids=dataset.query_ids + 1),
        lambda dataset: dataset.replaced(features=dataset.features.astype(np.float32)),
        lambda dataset: dataset.replaced(feature_names=tuple("abcdefgh")),
    ],
)
def test_other_data_is_trained_anew(change, queries, tmp_path, n_trained):
    ranker = Ensemble([Counting()])
    assert n_trained(ranker, queries, tmp_path) == 1
    assert n_trained(ranker, change(queries), tmp_path) == 1
    assert n_trained(ranker, queries, tmp_path) == 0


@pytest.mark.filterwarnings("ignore:.*with the same documents")
@pytest.mark.parametrize("change", [negated, relabelled, lambda dataset: dataset.select(range(59))])
def test_other_validation_queries_are_trained_anew(change, queries, tmp_path, n_trained):
    ranker = Ensemble([Counting()])
    assert n_trained(ranker, queries, tmp_path) == 1
    assert n_trained(ranker, queries, tmp_path, valid=queries) == 1
    assert n_trained(ranker, queries, tmp_path, valid=change(queries)) == 1
    assert n_trained(ranker, queries, tmp_path, valid=queries) == 0


def test_other_weights_and_parameters_are_trained_anew(queries, tmp_path, n_trained):
    assert n_trained(Ensemble([Counting()]), queries, tmp_path) == 1
    weights = np.ones(60)
    assert n_trained(Ensemble([Counting()]), queries, tmp_path, query_weight=weights) == 1
    weights[7] = 2
    assert n_trained(Ensemble([Counting()]), queries, tmp_path, query_weight=weights) == 1
    assert n_trained(Ensemble([Counting(2.0)]), queries, tmp_path) == 1
    assert n_trained(Ensemble([Counting(), Counting(2.0)]), queries, tmp_path) == 0


def test_a_group_is_trained_anew_where_it_draws_other_queries(queries, tmp_path, n_trained):
    ranker = local_rank(1, ranker=Counting())
    assert n_trained(ranker, queries, tmp_path) == 1
    for limit, n in ((300, 1), (200, 1), (300, 0)):
        with pytest.warns(UserWarning, match="was trained on"):
            assert n_trained(ranker, queries, tmp_path, max_documents=limit) == n


def test_of_changed_data_only_the_groups_that_it_changed_are_trained(queries, tmp_path, n_trained):
    ranker = local_rank(4, ranker=Counting())
    assert n_trained(ranker, queries, tmp_path) == 4
    weights = np.ones(60)
    n_trained(ranker, queries, tmp_path, query_weight=weights)
    weights[ranker.groups_[2]] = 3
    assert n_trained(ranker, queries, tmp_path, query_weight=weights) == 1


def test_features_of_other_queries_do_not_matter(queries):
    def name(dataset, first, end):
        lesson = keeping.Lesson(RankSVM(), dataset, queries=np.arange(first, end))
        return keeping._names([lesson])

    assert name(queries, 0, 59) == name(negated(queries), 0, 59)
    assert name(queries, 1, 60) != name(negated(queries), 1, 60)


def test_other_versions_are_trained_anew(queries, tmp_path, n_trained, monkeypatch):
    ranker = Ensemble([Counting()])
    assert n_trained(ranker, queries, tmp_path) == 1
    monkeypatch.setattr(keeping, "library_versions", lambda: {"lightgbm": "99"})
    assert n_trained(ranker, queries, tmp_path) == 1


@pytest.mark.parametrize("damage", [lambda b: b[:-10], lambda b: b"", lambda b: b"x" + b])
def test_a_damaged_file_is_trained_anew(damage, queries, tmp_path, n_trained):
    ranker = local_rank(3, ranker=Counting())
    assert n_trained(ranker, queries, tmp_path) == 3
    path = sorted(tmp_path.iterdir())[1]
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert n_trained(ranker, queries, tmp_path) == 1
    assert path.read_bytes() == whole


def test_nothing_is_kept_outside_the_block_or_with_none(queries, tmp_path, n_trained):
    ranker = Ensemble([Counting()])
    with kept_models(tmp_path), kept_models(None):
        ranker.fit(queries)
    ranker.fit(queries)
    assert not list(tmp_path.iterdir())


def test_partitions_and_memory_have_the_same_models(queries, tmp_path, n_trained):
    parts = written(queries, tmp_path / "parts")
    ranker = local_rank(3, ranker=Counting())
    assert n_trained(ranker, parts, tmp_path / "models", most=2) == 2
    assert n_trained(ranker, parts, tmp_path / "models") == 1
    assert n_trained(ranker, parts.in_memory(), tmp_path / "models") == 0
    assert_array_equal(
        ranker.predict(queries), local_rank(3, ranker=RankSVM()).fit(queries).predict(queries)
    )


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--dask", "local:2"]])
def test_a_killed_command_goes_on_where_it_was(options, tmp_path):
    if options:
        pytest.importorskip("distributed")
    data, models = tmp_path / "data.txt", tmp_path / "models"
    write_letor(make_queries(90, n_documents=(3, 12), n_features=6, random_state=3)[0], data)

    def command(output, *options):
        options = [*options, "--method", "local-rank", "--set", "n_clusters=6", "--n-jobs", "1"]
        options += ["--set", "ranker=lambdamart", "--set", "ranker__n_trees=1000"]
        command = [sys.executable, "-m", "localrank", "train", str(data)]
        return [*command, "-o", str(tmp_path / output), *options]

    def kept():
        return {path: path.stat().st_mtime_ns for path in models.glob("*.localrank")}

    resumable = command("resumed", *options, "--keep", str(models))
    client = subprocess.Popen(resumable, stderr=subprocess.PIPE)
    try:
        while not kept():
            assert client.poll() is None, client.stderr.read().decode()
            time.sleep(0.01)
    finally:
        client.kill()
        client.wait()
        client.stderr.close()
    before = kept()
    assert not (tmp_path / "resumed").exists()
    subprocess.run(resumable, capture_output=True, check=True)
    after = kept()
    assert 0 < len(before) < len(after) == 6
    assert all(after[path] == time for path, time in before.items())
    subprocess.run(command("plain"), capture_output=True, check=True)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "plain").read_bytes()
