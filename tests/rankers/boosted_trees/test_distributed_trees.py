"""Training by several worker processes together, on real clusters on one machine."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank.data import RankingDataset, make_queries, open_partitions
from localrank.measures import NDCG
from localrank.rankers import GBRT, CrossEntropyMART, LambdaMART, McRank, RankSVM
from localrank.rankers.boosted_trees._distributed_trees import (
    _shares,
    exceeds_worker,
    fit_on_cluster,
)

distributed = pytest.importorskip("distributed")
pytest.importorskip("lightgbm")

KINDS = [LambdaMART, CrossEntropyMART, GBRT]


@pytest.fixture(scope="module")
def queries():
    """Queries with missing values, those with the highest labels last."""
    made, _ = make_queries(160, n_documents=(5, 30), n_features=10, n_types=2, random_state=0)
    features = made.features.copy()
    features[np.random.default_rng(1).random(features.shape) < 0.1] = np.nan
    dataset = made.with_features(features)
    dataset = dataset.select(np.argsort(dataset.label_bounds[1], kind="stable"))
    assert len(set(dataset.label_bounds[1][[0, -1]])) == 2
    return dataset


def write(dataset, folder, n_partitions, rng=None):
    """Partitions of a dataset. With a generator, their rows are shuffled."""
    folder.mkdir()
    for index, part in enumerate(np.array_split(np.arange(dataset.n_queries), n_partitions)):
        lists = dataset.select(part)
        frame = pd.DataFrame(lists.features, columns=[f"{i + 1}" for i in range(lists.n_features)])
        frame["qid"], frame["label"] = lists.query_ids[lists.query_index], lists.relevance
        if rng is not None:
            order = rng.permutation(lists.n_queries)
            frame = pd.concat(
                [frame[lists.query_index == q].sample(frac=1, random_state=0) for q in order]
            )
        frame.to_parquet(folder / f"part-{index:02}.parquet", index=False)
    return open_partitions(folder)


@pytest.fixture(scope="module")
def train(queries, tmp_path_factory):
    """Every second query, in five files."""
    even = queries.select(np.arange(0, 160, 2))
    return write(even, tmp_path_factory.mktemp("data") / "train", 5)


@pytest.fixture(scope="module")
def test(queries):
    return queries.select(np.arange(1, 160, 2))


def start(**settings):
    return distributed.LocalCluster(threads_per_worker=1, dashboard_address=":0", **settings)


@pytest.fixture(scope="module")
def two():
    """A client of two worker processes."""
    with start(n_workers=2, processes=True) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def alone():
    """A client of one worker."""
    with start(n_workers=1, processes=False) as cluster, distributed.Client(cluster) as client:
        yield client


def small(kind, **settings):
    return kind(30, min_leaf_documents=5, random_state=3, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_one_worker_makes_the_model_of_one_machine(kind, train, test, alone):
    fitted = fit_on_cluster(small(kind), train, alone)
    expected = small(kind).fit(train.in_memory())
    assert_array_equal(fitted.predict(test), expected.predict(test))
    assert fitted.n_trees_ == expected.n_trees_
    assert fitted.training_data_ == expected.training_data_


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_rank_about_as_well_as_one_and_the_same_each_time(kind, train, test, two):
    scores, again = (fit_on_cluster(small(kind), train, two).predict(test) for _ in range(2))
    assert_array_equal(scores, again)
    alone = small(kind).fit(train.in_memory()).predict(test)
    assert (scores != alone).any()
    values = [NDCG(10).mean(test, ranking) for ranking in (scores, alone, -alone)]
    assert abs(values[0] - values[1]) < 0.1 * (values[1] - values[2])


def test_two_workers_learn_from_all_documents(train, two):
    # With squared error, a leaf holds the mean of its labels, whatever was subtracted before.
    model = fit_on_cluster(GBRT(1, learning_rate=1.0, l2=0.0, n_leaves=4), train, two)
    mean = train.labels.mean()
    assert_allclose(model.predict(train.in_memory()).mean(), mean, rtol=1e-6)
    halves = [train.labels[half].mean() for half in np.array_split(np.arange(train.n_documents), 2)]
    assert not np.isclose(halves, mean, rtol=1e-3).any()


def test_the_order_of_rows_in_the_files_does_not_matter(train, test, two, tmp_path, rng):
    other = write(train.in_memory(), tmp_path / "shuffled", 5, rng)
    assert (other.query_ids != train.query_ids).any()
    one, same = (fit_on_cluster(small(LambdaMART), data, two) for data in (train, other))
    assert_array_equal(one.predict(test), same.predict(test))


def test_one_partition_is_trained_on_one_of_two_workers(train, test, two, tmp_path):
    whole = write(train.in_memory(), tmp_path / "whole", 1)
    expected = small(LambdaMART).fit(train.in_memory())
    fitted = fit_on_cluster(small(LambdaMART), whole, two)
    assert_array_equal(fitted.predict(test), expected.predict(test))


def test_the_model_is_saved_and_explained_as_any(train, test, two, tmp_path):
    model = fit_on_cluster(small(LambdaMART), train, two)
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(test), model.predict(test))
    assert_allclose(model.booster.predict(test.features), model.predict(test), rtol=1e-12)
    parts = model.contributions(test)
    assert_allclose(parts.base + parts.values.sum(axis=1), model.predict(test), rtol=1e-9)


def test_partitions_are_shared_out_by_their_documents(queries, tmp_path):
    sizes = [10, 1, 1, 1, 8, 1]
    parts = np.repeat(np.arange(6), sizes)
    lists = RankingDataset.from_arrays(
        np.arange(22.0)[:, None], np.arange(22) % 2, np.arange(22) // 1
    )
    (tmp_path / "uneven").mkdir()
    for part in range(6):
        members = lists.select(np.flatnonzero(parts == part))
        qid = members.query_ids[members.query_index]
        frame = pd.DataFrame({"qid": qid, "label": members.relevance})
        frame["f"] = members.features
        frame.to_parquet(tmp_path / "uneven" / f"{part}.parquet")
    dataset = open_partitions(tmp_path / "uneven")
    assert _shares(dataset, 2) == [[0, 3], [1, 2, 4, 5]]
    assert sorted(index for share in _shares(dataset, 6) for index in share) == list(range(6))
    assert all(_shares(dataset, 6))


@pytest.mark.parametrize("ranker", [RankSVM(), McRank()], ids=str)
def test_rankers_that_workers_cannot_train_together_are_refused(ranker, train, two):
    with pytest.raises(ValueError, match="cannot be trained by several workers together"):
        fit_on_cluster(ranker, train, two)


def test_weights_and_validation_queries_are_refused(train, test, two):
    weights = np.ones(train.n_queries)
    heavy = train.replaced(document_weights=np.ones(train.n_documents))
    with pytest.raises(ValueError, match="train LambdaMART without weights"):
        fit_on_cluster(LambdaMART(), train, two, weights)
    with pytest.raises(ValueError, match="train LambdaMART without weights"):
        fit_on_cluster(LambdaMART(), heavy, two)
    with pytest.raises(ValueError, match="train LambdaMART without validation queries"):
        fit_on_cluster(LambdaMART(), train, two, None, test)


def test_the_smallest_worker_decides_what_is_too_large(train):
    size = train.n_documents * train.n_features * 8

    class Info:
        def __init__(self, *limits):
            self.limits = limits

        def scheduler_info(self, n_workers):
            assert n_workers == -1
            return {"workers": {i: {"memory_limit": limit} for i, limit in enumerate(self.limits)}}

    assert not exceeds_worker(train, Info(2 * size, 2 * size))
    assert exceeds_worker(train, Info(2 * size, 2 * size - 1))
    assert not exceeds_worker(train, Info(0, None))


def test_wrong_parameters_are_refused_as_by_fit(train, two):
    with pytest.raises(ValueError, match="'n_leaves' parameter of LambdaMART must be"):
        fit_on_cluster(LambdaMART(n_leaves=1), train, two)


def test_lists_may_be_longer_than_lightgbm_takes(alone, tmp_path):
    labels = np.arange(10_001) % 2
    long = RankingDataset.from_arrays(labels[:, None] * 1.0, labels, ["a"] * 10_001)
    model = fit_on_cluster(LambdaMART(3), write(long, tmp_path / "long", 1), alone)
    assert model.score(long) == 1.0


def test_workers_in_one_process_are_refused(train):
    with (
        start(n_workers=2, processes=False) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ValueError, match="must be separate processes"),
    ):
        fit_on_cluster(LambdaMART(), train, client)


def test_a_partition_that_is_gone_is_named(train, two, tmp_path):
    data = write(train.in_memory(), tmp_path / "gone", 3)
    path = data.partitions[1].path
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"{path}: no such file"):
        fit_on_cluster(LambdaMART(), data, two)


def test_data_larger_than_a_worker_is_trained_by_all_of_them_together(
    train, test, two, monkeypatch
):
    expected = fit_on_cluster(small(LambdaMART), train, two).predict(test)
    in_memory = small(LambdaMART).fit(train.in_memory()).predict(test)
    with two.as_current():
        assert_array_equal(small(LambdaMART).fit(train).predict(test), in_memory)
        where = "localrank.rankers.boosted_trees._distributed_trees.exceeds_worker"
        monkeypatch.setattr(where, lambda dataset, client: True)
        with pytest.warns(UserWarning, match="several workers together"):
            model = small(LambdaMART).fit(train)
        assert_array_equal(model.predict(test), expected)
        assert model.training_data_["n_workers"] == 2
        with pytest.raises(ValueError, match="without validation queries"):
            small(LambdaMART).fit(train, valid=test)


@pytest.mark.slow
def test_a_lost_worker_ends_the_training_with_an_error(train, two):
    address, pid = min(two.run(os.getpid).items())
    killer = threading.Timer(3.0, os.kill, (pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(RuntimeError, match=f"The worker {address} was lost while trees were"):
        fit_on_cluster(LambdaMART(100_000, n_leaves=50), train, two)
    killer.join()
