import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import Fold, folds, make_queries
from localrank.experiments import Reproduction, Setting
from localrank.experiments import recipe_members as members_module
from localrank.experiments import where_coordinates_pay as module
from localrank.experiments.where_coordinates_pay import (
    RANDOM,
    TOP,
    cut,
    cut_folds,
    cut_rows,
    list_lengths,
)
from localrank.rankers import BestFeature, RankSVM
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates

LENGTH = 8


@pytest.fixture(scope="module")
def dataset():
    return make_queries(30, n_documents=(4, 20), n_features=5, random_state=5)[0]


@pytest.fixture(scope="module")
def fold(dataset):
    first = folds(dataset, 3)[0]
    return Fold(first.name, first.train, None, first.test)


def documents(part):
    """The documents of each query, with their labels, as a set."""
    rows = np.column_stack([part.features, part.labels])
    return {
        query: set(map(tuple, rows[begin:end]))
        for query, begin, end in zip(
            part.query_ids, part.offsets[:-1], part.offsets[1:], strict=True
        )
    }


@pytest.mark.parametrize("way", [RANDOM, TOP])
def test_cuts_keep_whole_documents_and_have_the_length(fold, way):
    plain, _ = cut_folds(fold, way, LENGTH, 0)
    for part, before in ((plain.train, fold.train), (plain.test, fold.test)):
        assert (part.query_ids == before.query_ids).all()
        assert (part.query_sizes == np.minimum(before.query_sizes, LENGTH)).all()
        all_documents = documents(before)
        for query, kept in documents(part).items():
            assert kept <= all_documents[query]


def test_the_same_seed_gives_the_same_cut_and_another_a_different_one(fold):
    one, same, other = (cut_folds(fold, RANDOM, LENGTH, seed)[0] for seed in (1, 1, 2))
    assert (one.train.features == same.train.features).all()
    assert (one.test.features == same.test.features).all()
    assert not np.array_equal(one.test.features, other.test.features)


def test_longer_cuts_of_a_seed_hold_the_shorter(fold):
    short, long = (documents(cut_folds(fold, RANDOM, n, 3)[0].test) for n in (4, LENGTH))
    assert all(short[query] <= long[query] for query in short)


def test_random_cuts_do_not_favour_any_documents(dataset):
    rng = np.random.default_rng(0)
    counts = np.zeros(dataset.n_documents)
    for _ in range(400):
        counts[cut_rows(dataset, rng.random(dataset.n_documents), 4)] += 1
    expected = np.minimum(4 / dataset.query_sizes, 1)[dataset.query_index]
    assert_allclose(counts / 400, expected, atol=0.11)


def test_the_top_has_the_highest_values_of_the_best_training_feature(fold):
    column = BestFeature().fit(fold.train).feature_
    plain, _ = cut_folds(fold, TOP, LENGTH, 0)
    for query in range(fold.test.n_queries):
        begin, end = fold.test.offsets[query : query + 2]
        highest = np.sort(fold.test.features[begin:end, column])[::-1][:LENGTH]
        begin, end = plain.test.offsets[query : query + 2]
        assert_allclose(np.sort(plain.test.features[begin:end, column])[::-1], highest)


def test_test_labels_do_not_decide_the_cut(fold):
    column = (BestFeature().fit(fold.train).feature_ + 1) % fold.test.n_features
    other = fold.test.replaced(relevance=(fold.test.features[:, column] > 0.5).astype(float))
    assert BestFeature().fit(other).feature_ == column
    for way in (RANDOM, TOP):
        one, _ = cut_folds(fold, way, LENGTH, 0)
        two, _ = cut_folds(Fold(fold.name, fold.train, None, other), way, LENGTH, 0)
        assert (one.test.features == two.test.features).all()


@pytest.mark.parametrize("way", [RANDOM, TOP])
def test_whole_coordinates_are_those_before_the_cut(fold, way):
    plain, whole = cut_folds(fold, way, LENGTH, 0)
    width = fold.train.n_features
    for cut_part, part, before in (
        (plain.train, whole.train, fold.train),
        (plain.test, whole.test, fold.test),
    ):
        assert (part.features[:, :width] == cut_part.features).all()
        assert (part.labels == cut_part.labels).all()
        known = documents(query_coordinates(before))
        assert all(kept <= known[query] for query, kept in documents(part).items())
        # The cut list itself has other coordinates.
        assert not np.allclose(part.features, query_coordinates(cut_part).features)


def test_rows_of_a_cut_keep_their_order(dataset):
    rows = cut_rows(dataset, np.zeros(dataset.n_documents), 3)
    first = dataset.offsets[:-1, None] + np.arange(3)
    assert (rows == first.ravel()).all()
    assert (cut(dataset, rows).labels == dataset.labels[rows]).all()


@pytest.fixture
def cheap(monkeypatch):
    """Linear models in the place of all, which differ by their kind and seed."""
    real = members_module.kinds

    def kinds(seed, n_trees, **options):
        names = real(seed, n_trees)
        return {name: RankSVM(10.0 ** (i - 3) * (1 + seed)) for i, name in enumerate(names)}

    monkeypatch.setattr(members_module, "kinds", kinds)
    monkeypatch.setattr(members_module, "ListwiseNet", lambda **_: RankSVM())


@pytest.fixture
def reproduction(dataset, cheap, tmp_path):
    result = Reproduction("where-coordinates-pay", "OHSUMED")
    sources = {name: lambda seed: folds(dataset, 3) for name in ("OHSUMED", "ClueWeb09")}
    setting = Setting(tmp_path, quick=True, seeds=(0, 1000), n_jobs=1, say=lambda line: None)
    list_lengths(result, setting, sources)
    return result


@pytest.mark.slow
def test_every_cut_has_a_table_of_all_comparisons(reproduction):
    assert len(reproduction.tables) == 2
    for table in reproduction.tables:
        assert list(table.columns) == ["", "measure", "10", "20", "per doubling"]
        assert len(table.rows) == 2 * 3 * len(module.LENGTH_PAIRS)
        assert f"the {2 * 3 * len(table.rows)} comparisons" in table.note


@pytest.mark.slow
def test_lists_that_are_not_cut_have_the_same_coordinates_both_ways(reproduction, dataset):
    # The made-up lists have 20 documents at most, and the cheap models alone are linear, which
    # the order of columns does not matter to.
    assert dataset.query_sizes.max() <= 20
    cells = {row[0]: row[2:4] for row in reproduction.tables[0].rows}
    for ours, other in module.LENGTH_PAIRS:
        cut_to_10, whole_of_10 = (cells[f"{ours}{w} − {other}"][0] for w in ("", module.WHOLE))
        not_cut, whole = (cells[f"{ours}{w} − {other}"][1] for w in ("", module.WHOLE))
        assert not_cut == whole
        assert cut_to_10 != whole_of_10
        assert cells[f"{ours}{module.WHOLE} − {ours}"][1].startswith("+0.0000 [+0.0000, +0.0000]")
