import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written

from localrank.data import RankingDataset, SampleWarning, folds
from localrank.evaluation import compare
from localrank.evaluation.comparison import sampled_folds
from localrank.evaluation.fold_results import fingerprint
from localrank.rankers import RankSVM
from localrank.recipes import local_rank, pca_queries

METHODS = {"local": local_rank(2, ranker=RankSVM()), "pca": pca_queries(2), "svm": RankSVM()}


@pytest.fixture
def partitioned(queries, tmp_path):
    return written(queries, tmp_path / "data", 5)


def compared(data, **arguments):
    return compare(
        METHODS, data, ["ndcg@10", "map"], baseline="svm", n_folds=3, n_controls=1, **arguments
    )


def assert_same(one, two):
    assert list(one.results) == list(two.results)
    for name in one.results:
        for a, b in zip(one.results[name].runs, two.results[name].runs, strict=True):
            assert_array_equal(a.scores, b.scores)
            assert_array_equal(a.groups, b.groups)
            assert (a.bound is None) == (b.bound is None)
            if a.bound is not None:
                assert_array_equal(a.bound.control, b.bound.control)
            assert a.map == b.map
    assert one.verdict == two.verdict
    assert one.opponents == two.opponents
    assert one.made["data"] == two.made["data"]


def test_a_comparison_on_partitions_is_the_one_in_memory(partitioned):
    assert_same(compared(partitioned), compared(partitioned.in_memory()))


def test_a_comparison_of_drawn_queries_is_the_one_in_memory(partitioned):
    results = []
    for data in (partitioned, partitioned.in_memory()):
        with pytest.warns(SampleWarning, match=r"Methods learn from \d+ of 20 training queries"):
            results.append(compared(data, max_documents=150))
    assert_same(*results)
    drawn = results[0].made["data"]["training_documents"]
    assert all(n <= 150 < total for n, total in drawn)


def test_tuning_sees_the_drawn_queries(partitioned, recwarn):
    warnings.simplefilter("always")
    tuned = [
        compared(data, max_documents=150, tune={"svm": {"C": [0.01, 1.0]}})
        for data in (partitioned, partitioned.in_memory())
    ]
    assert tuned[0].results["svm"].chosen == tuned[1].results["svm"].chosen
    assert_array_equal(tuned[0].results["svm"].scores, tuned[1].results["svm"].scores)


def test_finished_work_is_found_again_in_another_layout(partitioned, tmp_path):
    compared(partitioned, store=tmp_path / "store")
    lines = []
    compared(partitioned.in_memory(), store=tmp_path / "store", say=lines.append)
    assert not [line for line in lines if "trained in" in line]


def test_folds_of_partitions_have_the_digest_of_those_in_memory(partitioned):
    for one, two in zip(folds(partitioned, 4), folds(partitioned.in_memory(), 4), strict=True):
        assert one.train.partitions
        assert fingerprint(one) == fingerprint(two)


def test_training_queries_come_into_memory_and_test_queries_do_not(partitioned):
    made, facts = sampled_folds(folds(partitioned, 3), "auto")
    assert facts == {}
    for fold in made:
        assert type(fold.train) is type(fold.valid) is RankingDataset
        assert fold.test.partitions


def test_folds_in_memory_stay_as_they_are(queries):
    given = folds(queries, 3)
    assert sampled_folds(given, "auto") == (given, {})


def test_every_fold_is_drawn_by_its_own_queries(queries):
    given = folds(queries, 3)
    with pytest.warns(SampleWarning):
        made, facts = sampled_folds(given, 100)
    for fold, whole, (n, total) in zip(made, given, facts["training_queries"], strict=True):
        assert (fold.train.n_queries, whole.train.n_queries) == (n, total)
        assert np.isin(fold.train.query_ids, whole.train.query_ids).all()
        assert fold.train.n_documents <= 100
        assert fold.valid.n_documents <= 100
        assert fold.test.n_queries == whole.test.n_queries


def test_the_warning_names_the_fold_that_loses_most(queries):
    given = folds(queries, 3)
    with pytest.warns(SampleWarning) as caught:
        _, facts = sampled_folds(given, 100)
    shares = [n / total for n, total in facts["training_queries"]]
    assert f"of Fold{1 + int(np.argmin(shares))} " in str(caught[0].message)
    most = max(total for _, total in facts["training_documents"])
    assert f"max_documents={most} uses all" in str(caught[0].message)
