from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import Fold, folds, make_queries, read_letor, write_letor
from localrank.experiments import Setting, chosen, with_validation
from localrank.measures import AveragePrecision
from localrank.rankers import RankSVM

MAP = AveragePrecision()
CS = [1e-4, 0.1, 100.0]


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "MQ2008"
    folder.mkdir()
    dataset, _ = make_queries(60, n_documents=(6, 12), n_features=6)
    for part in range(4):
        write_letor(dataset.select(range(part, 60, 4)), folder / f"S{part + 1}.txt")
    return Setting(folder, n_jobs=1, say=lambda line: None)


def test_the_collection_is_called_like_its_folder(setting, monkeypatch):
    assert setting.data == "MQ2008"
    monkeypatch.chdir(setting.folder)
    assert Setting(Path(".")).data == "MQ2008"


def test_quick_takes_the_first_two_folds(setting):
    names = ["Fold1", "Fold2", "Fold3", "Fold4"]
    assert [fold.name for fold in setting.folds] == names
    assert [fold.name for fold in Setting(setting.folder, quick=True).folds] == names[:2]


def test_several_seeds_are_no_random_state(setting):
    assert Setting(setting.folder, seeds=(7,)).random_state == 7
    with pytest.raises(ValueError, match="takes one seed. Got 2"):
        _ = Setting(setting.folder, seeds=(0, 1)).random_state


def test_parameters_are_chosen_on_the_validation_queries(setting):
    (fold, *_) = setting.folds
    results = setting.run({"svm": RankSVM()}, [fold], grids={"svm": {"C": CS}}, measure=MAP)
    means = [MAP.mean(fold.valid, RankSVM(C).fit(fold.train).predict(fold.valid)) for C in CS]
    best = CS[int(np.argmax(means))]
    assert chosen(results["svm"]) == [f"{best:g}"]
    expected = RankSVM(best).fit(fold.train).predict(fold.test)
    assert_array_equal(results["svm"].scores, expected)


def test_methods_may_differ_from_fold_to_fold(setting):
    parts = setting.folds[:2]
    result = setting.run_each([{"svm": RankSVM(C)} for C in CS[::2]], parts)["svm"]
    expected = [
        MAP(fold.test, RankSVM(C).fit(fold.train).predict(fold.test))
        for C, fold in zip(CS[::2], parts, strict=True)
    ]
    assert_array_equal(result.values(MAP), np.concatenate(expected))
    assert list(result.fold_means(MAP)) == ["Fold1", "Fold2"]


def ids(*parts):
    return [part.query_ids.tolist() for part in parts]


def test_folds_without_validation_hold_out_every_third_training_query():
    dataset, _ = make_queries(13, n_documents=(3, 5))
    train, test = dataset.select(range(10)), dataset.select(range(10, 13))
    (fold,) = with_validation([Fold("split", train, None, test)])
    (every,) = ids(train)
    assert ids(fold.valid) == [every[2::3]]
    assert ids(fold.train) == [[query for query in every if query not in every[2::3]]]
    assert ids(fold.test) == ids(test)


def test_folds_with_validation_stay_as_they_are():
    dataset, _ = make_queries(13, n_documents=(3, 5))
    given = list(folds(dataset, 3))
    assert with_validation(given) == given


def test_each_fold_trains_validates_and_tests_on_parts_of_its_own(setting):
    parts = [read_letor(setting.folder / f"S{part}.txt").query_ids.tolist() for part in range(1, 5)]
    for number, fold in enumerate(setting.validated_folds):
        train, valid, test = ids(fold.train, fold.valid, fold.test)
        turned = parts[number:] + parts[:number]
        assert sorted(train) == sorted(turned[0] + turned[1])
        assert (valid, test) == (turned[2], turned[3])


def test_a_collection_without_a_validation_part_trains_on_all_others(setting, tmp_path):
    # ClueWeb09's own protocol tests fold k on part k.
    copied = tmp_path / "ClueWeb09"
    copied.mkdir()
    for part in setting.folder.iterdir():
        (copied / part.name).write_bytes(part.read_bytes())
    first = Setting(copied).folds[0]
    assert first.valid is None
    assert_array_equal(first.test.query_ids, read_letor(copied / "S1.txt").query_ids)
    others = [read_letor(copied / f"S{part}.txt") for part in (2, 3, 4)]
    assert sorted(first.train.query_ids) == sorted(np.concatenate(ids(*others)))
    # Validation queries come from training, not from the test.
    validated = Setting(copied).validated_folds[0]
    train, valid = ids(validated.train, validated.valid)
    assert sorted(train + valid) == sorted(first.train.query_ids)
    assert ids(validated.test) == ids(first.test)


def test_missing_values_are_told_with_their_place(setting, tmp_path):
    setting.refuse_missing_values()
    copied = tmp_path / "MQ2008"
    copied.mkdir()
    for part in setting.folder.iterdir():
        (copied / part.name).write_bytes(part.read_bytes())
    queries = read_letor(copied / "S4.txt")
    features = queries.features.copy()
    features[queries.offsets[2], 4] = np.nan
    write_letor(queries.replaced(features=features), copied / "S4.txt")
    query = queries.query_ids[2]
    # S4 tests in the first fold.
    with pytest.raises(ValueError, match=f"in Fold1, query {query}, feature 5 is missing"):
        Setting(copied).refuse_missing_values()
