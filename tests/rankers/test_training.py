"""What a ranker reports if it learned from a part of the queries."""

import warnings

import pytest

import localrank
from localrank.data import SampleWarning, make_queries
from localrank.persistence import read_manifest
from localrank.rankers import Ensemble, ListNet, ListwiseNet, RankNet, RankSVM
from localrank.rankers.listwise_net import _net_ranker as net_ranker
from localrank.rankers.rank_svm import _centred_table as centred_table
from localrank.rankers.rank_svm import _pairwise as pairwise
from localrank.recipes import best, local_rank


@pytest.fixture(scope="module")
def dataset():
    return make_queries(60, n_documents=(8, 12), n_features=5, random_state=0)[0]


@pytest.fixture
def small(monkeypatch):
    """Nets, and RankSVM on computed columns, learn from at most 200 documents."""
    monkeypatch.setattr(centred_table, "LARGE_BYTES", 0)
    monkeypatch.setattr("localrank.data._sources.SMALL_BYTES", 0)
    for module in (net_ranker, pairwise):
        monkeypatch.setattr(module, "MAX_DOCUMENTS", 200)


def fitted(ranker, dataset, **arguments):
    """The fitted ranker, and the warnings about samples."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SampleWarning)
        ranker.fit(dataset, **arguments)
    return ranker, [str(one.message) for one in caught]


@pytest.mark.parametrize("ranker", [ListNet(), RankNet(), ListwiseNet(1)])
def test_a_net_says_how_many_of_its_lists_it_learned_from(small, dataset, ranker):
    labels = dataset.labels.copy()
    labels[dataset.query_index < 5] = 0
    given = dataset.replaced(relevance=labels)
    model, told = fitted(ranker, given)
    (part,) = model.training_data_["learned_from"]
    assert part["ranker"] == type(ranker).__name__
    assert part["of_n_queries"] == int(ranker.learns_from(given).sum()) <= 55
    assert 200 - 12 < part["n_documents"] <= 200
    assert 200 / 12 - 1 < part["n_queries"] <= 200 / 8
    teaching = ranker.learns_from(given)
    assert part["of_n_documents"] == given.query_sizes[teaching].sum()
    assert len(told) == 1
    assert f"learned from {part['n_queries']} of {part['of_n_queries']} queries" in told[0]


def test_best_tells_once_and_its_file_says_it(small, dataset, tmp_path):
    model, told = fitted(best(5), dataset)
    parts = model.training_data_["learned_from"]
    assert sorted({part["ranker"] for part in parts}) == ["ListwiseNet", "RankSVM"]
    assert len({str(part) for part in parts}) == len(parts)
    assert len(told) == 1
    assert "RankSVM learned from" in told[0]
    assert "ListwiseNet learned from" in told[0]
    model.save(tmp_path / "best.localrank")
    assert read_manifest(tmp_path / "best.localrank")["training_data"]["learned_from"] == parts
    assert localrank.load(tmp_path / "best.localrank").training_data_["learned_from"] == parts


def test_equal_parts_are_told_once(small, dataset):
    model, told = fitted(Ensemble([ListNet(), ListNet(random_state=1)]), dataset)
    assert len(model.training_data_["learned_from"]) == 1
    assert told[0].count("ListNet learned from") == 1


def test_of_many_parts_three_are_told_and_all_are_kept(small, dataset, monkeypatch):
    monkeypatch.setattr(net_ranker, "MAX_DOCUMENTS", 20)
    model, (told,) = fitted(local_rank(6, ranker=ListNet()), dataset)
    parts = model.training_data_["learned_from"]
    reports = [model.training_data_["learned_from"] for model in model.models_]
    assert parts == [part for i, (part,) in enumerate(reports) if [part] not in reports[:i]]
    assert told.count("ListNet learned from") == 3 < len(parts)
    assert f"; {len(parts) - 3} more models likewise." in told


def test_nothing_is_said_where_all_is_learned_from(small, dataset):
    few = dataset.select(range(15))
    for ranker in (ListNet(), Ensemble([ListNet(), RankSVM()])):
        model, told = fitted(ranker, dataset)
        model, told = fitted(ranker, few)
        assert not told
        assert "learned_from" not in model.training_data_


def test_a_failed_fit_leaves_nothing_to_say(small, dataset, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("cut off")

    ranker = ListNet()
    with monkeypatch.context() as patch:
        patch.setattr(net_ranker, "trained", fail)
        with pytest.raises(RuntimeError, match="cut off"):
            ranker.fit(dataset)
    model, told = fitted(ranker, dataset.select(range(15)))
    assert not told
    assert "learned_from" not in model.training_data_


def test_a_draw_by_ids_is_told_beside(small, dataset):
    model, told = fitted(ListNet(), dataset, max_documents=400)
    assert len(told) == 2
    assert model.training_data_["drawn"]["n_documents"] <= 400
    assert model.training_data_["learned_from"][0]["of_n_documents"] <= 400
