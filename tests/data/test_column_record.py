"""What is said of columns at training: kept in the model, and used when other data is read."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import localrank
from localrank.data import concatenate, convert, folds, open_partitions, read, read_letor
from localrank.data._column_record import ColumnRecord
from localrank.persistence import read_manifest
from localrank.rankers import BestFeature

ROWS = np.array([[0.1, 5.0, 3.0], [0.9, 4.0, 3.5], [0.2, 7.0, 1.0], [0.8, 1.0, 2.0]])


def letor(path, rows=ROWS, first=1):
    lines = [
        f"{i % 2} qid:{i // 2} "
        + " ".join(f"{first + column}:{value}" for column, value in enumerate(row))
        for i, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def zero_based(tmp_path):
    """A model of a file whose ids begin at 0, and the file."""
    path = letor(tmp_path / "zero.txt", first=0)
    return BestFeature().fit(read_letor(path, zero_based=True)), path


def test_other_data_is_read_with_the_base_of_the_model(zero_based, tmp_path):
    model, path = zero_based
    model.save(tmp_path / "model")
    for known in (model, localrank.load(tmp_path / "model")):
        assert_array_equal(read(path, like=known).features, ROWS)
    assert_array_equal(model.predict(read(path, like=model)), ROWS[:, 0])


def test_another_base_than_the_model_has_is_an_error(zero_based, tmp_path):
    model, path = zero_based
    with pytest.raises(ValueError, match=r"begin at 0\. Leave out zero_based=False"):
        read(path, like=model, zero_based=False)
    other = BestFeature().fit(read_letor(letor(tmp_path / "one.txt")))
    with pytest.raises(ValueError, match=r"begin at 1\. Leave out zero_based=True"):
        read(tmp_path / "one.txt", like=other, zero_based=True)
    with pytest.raises(ValueError, match=r"zero.txt:1: feature id 0 .* start at 1, as in the tr"):
        read(path, like=other)
    with pytest.raises(ValueError, match=r"one.txt:1: feature id 3 .* at 0, as in the training"):
        read(tmp_path / "one.txt", like=model)


def test_predict_and_validation_refuse_features_shifted_by_one(zero_based, tmp_path):
    model, path = zero_based
    text = path.read_text().replace(" 0:", " 3:")  # no id tells where ids begin
    shifted = tmp_path / "shifted.txt"
    shifted.write_text(text)
    data = read_letor(shifted)
    with pytest.raises(ValueError, match=r"begin at 0\. .*as if its ids began at 1.*zero_based=Tr"):
        model.predict(data)
    with pytest.raises(ValueError, match="BestFeature was fitted on data whose feature ids"):
        BestFeature().fit(read_letor(path, zero_based=True), valid=data)
    with pytest.raises(ValueError, match="begin at the same number"):
        concatenate([read_letor(path, zero_based=True), data])
    # Arrays have no ids.
    assert len(model.predict(data.features, qid=[0, 0, 1, 1])) == 4


def test_parts_of_a_dataset_keep_the_record_and_other_features_do_not(zero_based):
    dataset = read_letor(zero_based[1], zero_based=True)
    known = ColumnRecord(zero_based=True)
    for part in (dataset, dataset.select([1]), dataset.view().select([0]).in_memory()):
        assert part.column_record == known
    assert folds(dataset, 2, validation=False)[0].train.column_record == known
    assert dataset.with_features(dataset.features[:, :2]).column_record is None


def test_partitions_say_where_ids_began(zero_based, tmp_path):
    model, path = zero_based
    convert(path, tmp_path / "zero", zero_based=True, partition_size=2)
    opened = open_partitions(tmp_path / "zero")
    assert opened.column_record == opened.partitions[0].read().column_record
    assert opened.column_record == ColumnRecord(zero_based=True)
    model.predict(read(tmp_path / "zero", like=model))
    convert(letor(tmp_path / "one.txt"), tmp_path / "one")
    with pytest.raises(ValueError, match="begin at another number"):
        read(tmp_path / "one", like=model)
    mixed = [*(tmp_path / "zero").iterdir(), *(tmp_path / "one").iterdir()]
    with pytest.raises(ValueError, match="was converted with zero_based, the other without"):
        open_partitions(mixed)


def test_a_model_fitted_again_forgets_the_record(zero_based):
    model, _ = zero_based
    model.fit(ROWS, [0, 1, 0, 1], qid=[0, 0, 1, 1])
    assert not hasattr(model, "column_record_")


def table(path, header="qid,label,bm25,clicks,price", rows=("7,0,1,2,3", "7,1,3,1,4")):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_columns_that_were_left_out_are_left_out_again(tmp_path):
    path = table(tmp_path / "a.csv")
    model = BestFeature().fit(read(path, ignore=["price"]))
    lines = []
    assert read(path, like=model, say=lines.append).feature_names == ("bm25", "clicks")
    assert lines == []
    other = table(
        tmp_path / "b.csv", "qid,url,clicks,age,bm25,price", ["7,x,1,2,3,9", "7,y,2,3,3,9"]
    )
    dataset = read(other, like=model, labels="ignored", say=lines.append)
    assert dataset.feature_names == ("bm25", "clicks")
    assert_array_equal(dataset.features, [[3, 1], [3, 2]])
    assert lines == [
        f"{other}: columns that are not features of the training data are left out: 'url', 'age'"
    ]
    with pytest.raises(ValueError, match="b2.csv: there is no column 'clicks'"):
        read(table(tmp_path / "b2.csv", "qid,label,bm25", ["7,0,1", "7,1,2"]), like=model)


def test_the_manifest_has_the_record(tmp_path, zero_based):
    zero_based[0].save(tmp_path / "letor")
    assert read_manifest(tmp_path / "letor")["columns"] == {"zero_based": True}
    BestFeature().fit(read(table(tmp_path / "a.csv"), ignore=["price"])).save(tmp_path / "table")
    assert read_manifest(tmp_path / "table")["columns"] == {"left_out": ["price"]}


def test_a_file_without_the_last_features_is_refused(tmp_path):
    path = letor(tmp_path / "train.txt")
    model = BestFeature().fit(read_letor(path))
    short = letor(tmp_path / "short.txt", ROWS[:, :2])
    short.write_text(short.read_text().replace("qid:", "qid:b"))
    for like in (model, read_letor(path)):
        with pytest.raises(ValueError, match=r"short.txt: the largest feature id is 2, .* 3 feat"):
            read(short, like=like)
        with pytest.raises(ValueError, match=r"short.txt: the largest feature id is 2"):
            read([path, short], like=like)
    lines = []
    padded = read(short, like=model, n_features=3, say=lines.append)
    assert_array_equal(padded.features, ROWS * [1, 1, 0])
    assert lines == [
        f"{short}: the largest feature id is 2: features beyond it, up to 3 in all, count as 0"
    ]
    # A feature that is written counts, even if it is 0 everywhere.
    written = letor(tmp_path / "written.txt", ROWS * [1, 1, 0])
    assert read(written, like=model).n_features == 3
    with pytest.raises(ValueError, match="was fitted on 3 features. The dataset has 4"):
        model.predict(read(path, like=model, n_features=4))


def test_files_of_one_dataset_with_different_numbers_of_features_are_told(tmp_path):
    paths = [letor(tmp_path / "a.txt"), letor(tmp_path / "b.txt", ROWS[:, :2])]
    paths[1].write_text(paths[1].read_text().replace("qid:", "qid:b"))
    told = r"b.txt: the largest feature id is 2, but 3 in a.txt"
    with pytest.warns(UserWarning, match=told):
        assert read_letor(paths).n_features == 3
    with pytest.warns(UserWarning, match=told):
        convert(paths, tmp_path / "out")
    assert read_letor(paths, n_features=3).n_features == 3


def test_parts_of_a_folder_with_different_numbers_of_features_are_told(tmp_path):
    letor(tmp_path / "train.txt")
    letor(tmp_path / "test.txt", ROWS[:, :2])
    with pytest.warns(UserWarning, match=r"test.txt: the largest feature id is 2, but 3 in train"):
        fold = folds(tmp_path)[0]
    assert fold.test.n_features == 3
    assert folds(tmp_path, n_features=3)[0].test.n_features == 3
