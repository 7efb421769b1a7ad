"""`read`: any format, recognised, with the options of its format."""

import gzip

import numpy as np
import pandas as pd
import pytest

from localrank.data import convert, folds, make_queries, read, read_letor, read_table, write_letor
from localrank.data.errors import AdvisedError
from localrank.rankers import BestFeature, LambdaMART


@pytest.fixture(scope="module")
def queries():
    dataset, _ = make_queries(12, n_documents=(4, 6), n_features=3, n_types=2, random_state=0)
    return dataset


@pytest.fixture
def text(queries, tmp_path):
    write_letor(queries, tmp_path / "train.txt")
    return tmp_path / "train.txt"


@pytest.fixture
def table(queries, tmp_path):
    queries.to_frame("pandas").to_csv(tmp_path / "train.csv", index=False)
    return tmp_path / "train.csv"


def same(one, other):
    assert one.query_ids.tolist() == other.query_ids.tolist()
    assert one.relevance.tolist() == other.relevance.tolist()
    np.testing.assert_array_equal(one.features, other.features)


def test_letor_text_is_what_read_letor_reads(text):
    same(read(text), read_letor(text))
    same(read([str(text)], dtype=np.float32), read_letor(text, dtype=np.float32))


def test_compressed_text_is_decompressed(text):
    path = text.with_name("train.txt.gz")
    path.write_bytes(gzip.compress(text.read_bytes()))
    same(read(path), read_letor(text))


def test_several_files_are_one_dataset(queries, tmp_path):
    for part in range(2):
        write_letor(queries.select(np.arange(part, 12, 2)), tmp_path / f"{part}.txt")
    assert read([tmp_path / "0.txt", tmp_path / "1.txt"]).n_queries == 12


def test_a_table_is_what_read_table_reads(table):
    same(read(table), read_table(table))
    frame = pd.read_csv(table).rename(columns={"label": "clicks"})
    frame.to_parquet(table.with_suffix(".parquet"))
    same(read(table.with_suffix(".parquet"), label="clicks"), read_table(table))


def test_document_ids_are_found_by_the_name_of_their_column(queries, tmp_path):
    frame = queries.to_frame("pandas").assign(document_id=np.arange(queries.n_documents))
    frame.to_parquet(tmp_path / "train.parquet")
    assert read(tmp_path / "train.parquet").document_ids.tolist() == frame["document_id"].tolist()
    assert read(tmp_path / "train.parquet").n_features == 3


def test_a_folder_of_partitions_is_opened(text, tmp_path):
    convert(text, tmp_path / "data", partition_size=20, dtype=np.float64)
    opened = read(tmp_path / "data")
    assert sorted(opened.query_ids.tolist()) == sorted(read_letor(text).query_ids.tolist())
    files = sorted((tmp_path / "data").iterdir())
    assert len(files) > 1
    assert read(files).n_documents == opened.n_documents
    assert read(tmp_path / "data", labels="ignored").relevance is None


def test_a_folder_of_folds_is_answered_with_the_function_for_it(text):
    (text.parent / "Fold1").mkdir()
    for name in ("train.txt", "test.txt"):
        (text.parent / "Fold1" / name).write_bytes(text.read_bytes())
    with pytest.raises(ValueError, match="is a folder without partitions.*localrank.data.folds"):
        read(text.parent)
    assert len(folds(text.parent)) == 1


def test_a_file_without_a_telling_name_is_recognised_by_its_first_bytes(queries, tmp_path):
    (tmp_path / "log").write_text(
        '{"qid": 7, "root": {"children": [{"id": "a", "fields": {"matchfeatures": {"f": 2}}}]}}\n'
    )
    assert read(tmp_path / "log", labels="optional").feature_names == ("f",)
    queries.to_frame("pandas").to_parquet(tmp_path / "train.data")
    with pytest.raises(ValueError, match=r"a table must end in .parquet"):
        read(tmp_path / "train.data")


def test_like_a_model_or_training_data(queries, text, tmp_path):
    (tmp_path / "short.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:2\n")
    train = read(text)
    model = BestFeature().fit(train)
    for like in (train, model):
        assert read(tmp_path / "short.txt", like=like, n_features=3).n_features == 3
    assert read(tmp_path / "short.txt").n_features == 1
    hit = '{"id": "a", "fields": {"matchfeatures": {"f3": 3, "extra": 9, "f1": 1, "f2": 2}}}'
    (tmp_path / "log.jsonl").write_text(f'{{"qid": 7, "root": {{"children": [{hit}]}}}}\n')
    said = []
    named = BestFeature().fit(queries)
    log = read(tmp_path / "log.jsonl", labels="ignored", like=named, say=said.append)
    assert (log.feature_names, log.features.tolist()) == (("f1", "f2", "f3"), [[1, 2, 3]])
    assert said == ["Features of the log that are not used: extra"]
    with pytest.raises(ValueError, match=r"3 features without names. .* with features=\[...\]"):
        read(tmp_path / "log.jsonl", labels="ignored", like=model)


def test_advice_is_in_the_words_of_python_and_of_the_command_line(table, text):
    with pytest.raises(ValueError, match="train.csv is a table, and zero_based is for LETOR text."):
        read(table, zero_based=True)
    with pytest.raises(AdvisedError, match="is read as LETOR text, and label is for") as caught:
        read(text, label="grade")
    assert "and --label is for partitions and tables." in caught.value.on_command_line
    with pytest.raises(AdvisedError, match="'format' argument of read must be one of") as caught:
        read(text, format="xml")
    assert caught.value.on_command_line.startswith("--feature-log must be elasticsearch,")


def test_nothing_to_read_is_refused():
    with pytest.raises(ValueError, match="list of paths is empty"):
        read([])


def test_boosted_trees_read_a_table_like_their_training_data(table):
    # They have a parameter `categories`, which is not what they have learned.
    model = LambdaMART(2, min_leaf_documents=2).fit(read(table))
    assert read(table, like=model).feature_names == read(table).feature_names
