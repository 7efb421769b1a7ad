import tracemalloc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, folds, make_queries, read_letor, write_letor


def part(number: int) -> RankingDataset:
    """Two queries named after the part."""
    ids = [10 * number + 1, 10 * number + 2]
    return RankingDataset.from_arrays([[number], [number]], [0, 1], ids)


def parts_of(dataset: RankingDataset) -> list[int]:
    return sorted({int(query) // 10 for query in dataset.query_ids})


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_parts_rotate_as_in_letor(tmp_path, suffix):
    for number in range(1, 6):
        write_letor(part(number), tmp_path / f"S{number}.txt{suffix}")
    parts = [
        (fold.name, parts_of(fold.train), parts_of(fold.valid), parts_of(fold.test))
        for fold in folds(tmp_path)
    ]
    assert parts == [
        ("Fold1", [1, 2, 3], [4], [5]),
        ("Fold2", [2, 3, 4], [5], [1]),
        ("Fold3", [3, 4, 5], [1], [2]),
        ("Fold4", [1, 4, 5], [2], [3]),
        ("Fold5", [1, 2, 5], [3], [4]),
    ]


def test_parts_without_validation_leave_one_out(tmp_path):
    for number in range(1, 4):
        write_letor(part(number), tmp_path / f"S{number}.txt")
    parts = [
        (parts_of(fold.train), fold.valid, parts_of(fold.test))
        for fold in folds(tmp_path, validation=False)
    ]
    assert parts == [([2, 3], None, [1]), ([1, 3], None, [2]), ([1, 2], None, [3])]


def test_whole_folds_are_read_as_they_are_in_numerical_order(tmp_path):
    for number in (2, 10, 1):
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        for position, role in enumerate(("train", "vali", "test")):
            write_letor(part(10 * number + position), folder / f"{role}.txt")
    read = list(folds(tmp_path))
    assert [fold.name for fold in read] == ["Fold1", "Fold2", "Fold10"]
    assert [parts_of(fold.valid) for fold in read] == [[11], [21], [101]]


def test_one_split_is_one_fold(tmp_path):
    write_letor(part(1), tmp_path / "train.txt")
    write_letor(part(2), tmp_path / "test.txt")
    (fold,) = folds(tmp_path)
    assert (parts_of(fold.train), fold.valid, parts_of(fold.test)) == ([1], None, [2])


def test_parts_that_do_not_show_the_last_features_are_widened(tmp_path):
    for number, line in enumerate(("0 qid:1 1:1 5:1", "0 qid:2 1:1", "0 qid:3 2:1"), start=1):
        (tmp_path / f"S{number}.txt").write_text(line + "\n")
    with pytest.warns(UserWarning, match=r"S2.txt: the largest feature id is 1, but 5 in S1.txt"):
        made = folds(tmp_path)
    for fold in made:
        assert {fold.train.n_features, fold.valid.n_features, fold.test.n_features} == {5}
    assert_array_equal(fold.train.features, [[0, 1, 0, 0, 0]])


def test_made_folds_test_every_query_once_and_share_none():
    dataset, _ = make_queries(23, n_documents=(1, 3))
    made = list(folds(dataset, 5))
    tested = np.concatenate([fold.test.query_ids for fold in made])
    assert_array_equal(np.sort(tested), np.sort(dataset.query_ids))
    for fold in made:
        together = [*fold.train.query_ids, *fold.valid.query_ids, *fold.test.query_ids]
        assert_array_equal(np.sort(together), np.sort(dataset.query_ids))
        assert fold.test.n_queries in (4, 5)


def test_made_folds_depend_on_the_seed_alone():
    dataset, _ = make_queries(30, n_documents=(1, 3))
    tests = [next(iter(folds(dataset, random_state=seed))).test.query_ids for seed in (0, 0, 1)]
    assert_array_equal(tests[0], tests[1])
    assert not np.array_equal(tests[0], tests[2])
    assert not np.array_equal(tests[0], dataset.query_ids[-6:])


def test_made_folds_hold_the_queries_of_their_parts_in_the_order_of_the_dataset():
    dataset, _ = make_queries(23, n_documents=(1, 9))
    order = np.random.default_rng(3).permutation(23)
    parts = [np.sort(part) for part in np.array_split(order, 4)]
    for number, made in enumerate(folds(dataset, 4, random_state=3)):
        turned = [*parts[number:], *parts[:number]]
        taken = {
            "train": np.sort(np.concatenate(turned[:2])),
            "valid": turned[2],
            "test": turned[3],
        }
        for role, positions in taken.items():
            copy = dataset.select(positions)
            for name in ("features", "labels", "offsets", "query_ids"):
                assert_array_equal(getattr(getattr(made, role), name), getattr(copy, name))


def test_made_folds_are_views_that_take_little_room():
    dataset, _ = make_queries(50, n_documents=(20, 20), n_features=200)
    tracemalloc.start()
    made = list(folds(dataset, 5))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(made) == 5
    assert used < 0.2 * dataset.features.nbytes


@pytest.fixture
def alive(monkeypatch):
    """How many datasets that were read still exist, each time another one is."""
    read, counts = weakref.WeakSet(), []

    def counted(*arguments, **options):
        counts.append(len(read))
        dataset = read_letor(*arguments, **options)
        read.add(dataset)
        return dataset

    monkeypatch.setattr("localrank.data.fold.read_letor", counted)
    return counts


def test_whole_folds_are_read_one_at_a_time(tmp_path, alive):
    for number in (1, 2, 3):
        (tmp_path / f"Fold{number}").mkdir()
        for role in ("train", "test"):
            write_letor(part(number), tmp_path / f"Fold{number}" / f"{role}.txt")
    made = folds(tmp_path)
    assert len(made) == 3
    assert not alive
    for one in made:
        assert one.train.n_queries == 2
        del one
    assert alive == [0, 1] * 3
    assert [one.name for one in made[1:]] == ["Fold2", "Fold3"]


def test_one_split_is_read_once_however_often_it_is_asked_for(tmp_path, alive):
    for role in ("train", "test"):
        write_letor(part(1), tmp_path / f"{role}.txt")
    made = folds(tmp_path)
    assert [one.name for one in made] == [one.name for one in made]
    assert len(alive) == 2


def test_files_of_parts_are_read_once_and_held_once(tmp_path, alive):
    for number in range(1, 6):
        write_letor(part(number), tmp_path / f"S{number}.txt")
    made = folds(tmp_path)
    assert len(list(made)) == len(alive) == 5
    parts = [part for one in made for part in (one.train, one.valid, one.test)]
    tables = {id(part.table_and_rows()[0]) for part in parts}
    assert len(tables) == 1


@pytest.mark.parametrize("n_folds", [2, 31])
def test_an_impossible_number_of_folds_is_refused(n_folds):
    dataset, _ = make_queries(30, n_documents=(1, 3))
    with pytest.raises(ValueError, match=rf"between 3 and the number of queries \(30\).*{n_folds}"):
        folds(dataset, n_folds)


def test_a_folder_without_folds_says_what_was_looked_for(tmp_path):
    with pytest.raises(ValueError, match="no folds found. Looked for Fold1/train.txt"):
        folds(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent: no such folder"):
        folds(tmp_path / "absent")


def test_a_fold_without_a_test_part_is_named(tmp_path):
    (tmp_path / "Fold1").mkdir()
    write_letor(part(1), tmp_path / "Fold1" / "train.txt")
    with pytest.raises(FileNotFoundError, match="Fold1: there is no test.txt"):
        list(folds(tmp_path))


def test_mq2008_has_its_published_folds(benchmark_data):
    if not (benchmark_data / "MQ2008").is_dir():
        pytest.skip("no MQ2008 in the benchmark data")
    first = next(iter(folds(benchmark_data / "MQ2008")))
    assert (first.train.n_queries, first.valid.n_queries, first.test.n_queries) == (471, 157, 156)
    fifth_part = read_letor(next((benchmark_data / "MQ2008").glob("S5.txt*")))
    assert_array_equal(first.test.query_ids, fifth_part.query_ids)
