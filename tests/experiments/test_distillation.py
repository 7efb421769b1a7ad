import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import Fold, folds, make_queries
from localrank.experiments import Reproduction, Setting
from localrank.experiments import where_coordinates_pay as module
from localrank.experiments.where_coordinates_pay import (
    TaughtByMore,
    distillation,
    n_labelled,
    shuffled_queries,
)
from localrank.rankers import GBRT, Distilled, RankSVM, distil


@pytest.fixture(scope="module")
def fold():
    dataset, _ = make_queries(45, n_documents=(8, 12), n_features=5, random_state=4)
    first = folds(dataset, 3, validation=False)[0]
    return Fold(first.name, first.train, None, first.test)


def student():
    return GBRT(20, min_leaf_documents=5)


def test_the_teacher_sees_the_labels_of_the_first_third_alone(fold):
    train, test = fold.train, fold.test
    first, rest = train.select(range(10)), train.select(range(10, 30))
    assert n_labelled(train) == 10
    expected = distil(RankSVM().fit(first), first, unlabelled=rest, student=student())
    taught = TaughtByMore(RankSVM(), student()).fit(train)
    assert_array_equal(taught.predict(test), expected.predict(test))
    wrong = rest.replaced(relevance=np.random.default_rng(0).random(rest.n_documents))
    labels = np.concatenate([first.labels, wrong.labels])
    blind = TaughtByMore(RankSVM(), student()).fit(train.replaced(relevance=labels))
    assert_array_equal(blind.predict(test), taught.predict(test))


def test_queries_are_shuffled_by_the_seed(fold):
    one, again, other = (shuffled_queries(fold, seed) for seed in (1, 1, 2))
    assert_array_equal(one.train.query_ids, again.train.query_ids)
    assert (one.train.query_ids != other.train.query_ids).any()
    assert sorted(one.train.query_ids) == sorted(fold.train.query_ids)
    assert one.test is fold.test


def test_each_collection_and_all_have_a_column(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "best", lambda n, random_state: RankSVM())
    monkeypatch.setattr(module, "one", lambda n, random_state: Distilled(RankSVM(), student()))
    reproduction = Reproduction("where-coordinates-pay", "some")
    sources = {
        name: lambda seed, place=place: folds(
            make_queries(30, n_documents=(8, 12), n_features=5, random_state=place)[0],
            3,
            validation=False,
        )
        for place, name in enumerate(("MQ2008", "OHSUMED"))
    }
    distillation(
        reproduction, Setting(tmp_path, True, (0,), n_jobs=1, say=lambda line: None), sources
    )
    gains, means = reproduction.tables
    assert list(gains.columns[2:]) == ["MQ2008", "OHSUMED", "all"]
    assert len(gains.rows) == 6
    for place, name in enumerate(("MQ2008", "OHSUMED")):
        ndcg = {row[0]: float(row[1 + place].split(" / ")[0]) for row in means.rows}
        for row in gains.rows[::2]:
            ours, other = row[0].split(" − ")
            difference = float(row[2 + place].split()[0])
            assert difference == pytest.approx(ndcg[ours] - ndcg[other], abs=2e-4), name
