"""Files as the tools next door write them, each read in one line."""

import gzip

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from numpy.testing import assert_array_equal

from localrank.data import folds, read_letor, read_table

# From XGBoost's description of its text format, with the sizes of its groups.
ROWS = "1 101:1.2 102:0.03\n0 1:2.1 101:3\n0 0:1.3 1:0.3\n1 0:0.01 1:0.3\n0 0:0.2 1:0.3\n"
SIZES = "2\n3\n"
MSRANK = "0\tLabel\n1\tGroupId\n2\tCateg\twind\n4\tAuxiliary\n"


@pytest.mark.parametrize("ending", [".query", ".group"])
def test_sizes_beside_a_file_tell_its_queries(tmp_path, ending):
    (tmp_path / "train.txt").write_text(ROWS)
    (tmp_path / f"train.txt{ending}").write_text(SIZES)
    dataset = read_letor(tmp_path / "train.txt", zero_based=True)
    assert_array_equal(dataset.query_ids, ["train.txt:1", "train.txt:2"])
    assert_array_equal(dataset.query_sizes, [2, 3])


def test_lightgbm_reads_the_same_queries_labels_and_columns(tmp_path):
    (tmp_path / "train.txt").write_text(ROWS)
    (tmp_path / "train.txt.query").write_text(SIZES)
    theirs = lightgbm.Dataset(tmp_path / "train.txt", params={"verbose": -1}).construct()
    ours = read_letor(tmp_path / "train.txt", zero_based=True)
    assert_array_equal(ours.query_sizes, theirs.get_group())
    assert_array_equal(ours.relevance, theirs.get_label())
    assert ours.n_features == theirs.num_feature()


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_xgboost_reads_the_same_features(tmp_path):
    (tmp_path / "train.txt").write_text(ROWS)
    (tmp_path / "train.txt.group").write_text(SIZES)
    theirs = xgboost.DMatrix(f"{tmp_path / 'train.txt'}?format=libsvm").get_data()
    ours = read_letor(tmp_path / "train.txt", zero_based=True, dtype=np.float32)
    assert_array_equal(ours.features, theirs.toarray())


def test_sizes_lie_beside_compressed_files_too(tmp_path):
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(ROWS.encode()))
    (tmp_path / "train.txt.query").write_text(SIZES)
    assert read_letor(tmp_path / "train.txt.gz", zero_based=True).n_queries == 2


def test_several_files_with_sizes_have_different_queries(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(ROWS)
        (tmp_path / f"{name}.query").write_text(SIZES)
    dataset = read_letor([tmp_path / "a.txt", tmp_path / "b.txt"], zero_based=True)
    assert_array_equal(dataset.query_sizes, [2, 3, 2, 3])
    assert_array_equal(dataset.query_ids, ["a.txt:1", "a.txt:2", "b.txt:1", "b.txt:2"])


def test_query_ids_in_the_lines_count_more_than_sizes(tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:7 1:1\n0 qid:8 1:1\n")
    (tmp_path / "train.txt.query").write_text("2\n")
    assert_array_equal(read_letor(tmp_path / "train.txt").query_ids, [7, 8])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("2\n4\n", r"train.txt.query: its 2 queries have 6 documents, but .*train.txt has 5"),
        ("2\nx\n", "train.txt.query:2: 'x' is not the size of a query"),
        ("2\n0\n3\n", "train.txt.query:2: '0' is not the size of a query"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, sizes, message):
    (tmp_path / "train.txt").write_text(ROWS)
    (tmp_path / "train.txt.query").write_text(sizes)
    with pytest.raises(ValueError, match=message):
        read_letor(tmp_path / "train.txt", zero_based=True)


def test_files_with_sizes_and_the_same_name_are_refused(tmp_path):
    (tmp_path / "b").mkdir()
    for folder in (tmp_path, tmp_path / "b"):
        (folder / "a.txt").write_text("0 1:1\n")
        (folder / "a.txt.query").write_text("1\n")
    with pytest.raises(
        ValueError,
        match="b/a.txt: the file has no query ids, and its queries cannot be named after it",
    ):
        read_letor([tmp_path / "a.txt", tmp_path / "b" / "a.txt"])


def test_parts_with_sizes_rotate(tmp_path):
    for number in (1, 2, 3):
        (tmp_path / f"S{number}.txt").write_text("0 1:1\n0 1:2\n")
        (tmp_path / f"S{number}.txt.query").write_text("1\n1\n")
    tested = [fold.test.query_ids[0] for fold in folds(tmp_path)]
    assert tested == ["S3.txt:1", "S1.txt:1", "S2.txt:1"]


def test_weights_are_ignored_with_a_word(tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:7 1:1\n")
    (tmp_path / "train.txt.weight").write_text("2.5\n")
    with pytest.warns(UserWarning, match="train.txt.weight is not used"):
        read_letor(tmp_path / "train.txt")


def test_a_line_without_a_query_says_where_it_could_be(tmp_path):
    (tmp_path / "train.txt").write_text("0 1:1\n")
    with pytest.raises(ValueError, match=r"train.txt:1: .*'qid:7'.*found '1:1'.*#qid = 7.*\.query"):
        read_letor(tmp_path / "train.txt")


def test_ranklib_files_are_read_as_they_are(tmp_path):
    # Sparse ids and a description of each line; lines of descriptions alone are left out.
    text = "# made by hand\n3 qid:1 1:1 4:0.2 # 1A\n2 qid:1 2:1 5:0 # 1B rambo\n1 qid:x 1:1 # 2A\n"
    (tmp_path / "train.txt").write_text(text)
    dataset = read_letor(tmp_path / "train.txt")
    assert_array_equal(dataset.query_ids, ["1", "x"])
    assert_array_equal(dataset.features, [[1, 0, 0, 0.2, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0]])


def test_feature_ids_may_start_at_0(tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:1 0:1 2:3\n0 qid:1 2:6 1:5 0:4\n")
    dataset = read_letor(tmp_path / "train.txt", zero_based=True)
    assert_array_equal(dataset.features, [[1, 0, 3], [4, 5, 6]])


def test_a_feature_0_is_refused_with_advice(tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:1 0:1\n")
    with pytest.raises(ValueError, match=r"train.txt:1: .*ids start at 1; .*zero_based=True") as e:
        read_letor(tmp_path / "train.txt")
    assert "--zero-based" in e.value.on_command_line  # type: ignore[attr-defined]


@pytest.mark.parametrize("token", [":5", "-1:5", "x:5"])
def test_what_is_no_feature_is_none_from_0_either(tmp_path, token):
    (tmp_path / "train.txt").write_text(f"0 qid:1 {token}\n")
    with pytest.raises(ValueError, match="train.txt:1: feature id .*ids start at 0"):
        read_letor(tmp_path / "train.txt", zero_based=True)


@pytest.mark.parametrize("form", ["#qid = {}", "# qid:{}", "#qid={} docid = D{}"])
def test_query_ids_may_stand_in_comments(tmp_path, form):
    lines = [f"0 1:{i} 2:0.5 {form.format(q, i)}\n" for i, q in enumerate("77a")]
    (tmp_path / "train.txt").write_text("".join(lines))
    dataset = read_letor(tmp_path / "train.txt")
    assert_array_equal(dataset.query_ids, ["7", "a"])
    assert_array_equal(dataset.query_sizes, [2, 1])
    if "docid" in form:
        assert_array_equal(dataset.document_ids, ["D0", "D1", "D2"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 1:1", "expected a query id like 'qid:7' after the label, found nothing"),
        ("0 1:1 # note", "expected a query id like 'qid:7' after the label, found 'note'"),
        (
            "0 qid:7 1:1 #qid = 7",
            "found the query id 'qid:7' after the label; the lines before have it elsewhere",
        ),
        ("0 1:1 #qid =", "is empty or damaged"),
    ],
)
def test_a_line_unlike_the_first_is_refused(tmp_path, line, message):
    (tmp_path / "train.txt").write_text(f"0 1:1 #qid = 7\n{line}\n")
    with pytest.raises(ValueError, match=f"train.txt:2: .*{message}"):
        read_letor(tmp_path / "train.txt")


@pytest.mark.parametrize(
    "names",
    [
        ("trainingset.txt", "validationset.txt", "testset.txt"),
        ("TRAIN.TXT", "VALI.TXT", "TEST.TXT"),
        ("Train.txt", "Valid.txt", "Test.txt"),
    ],
)
def test_folds_go_by_the_names_of_older_collections(tmp_path, names):
    (tmp_path / "FOLD1").mkdir()
    for number, name in enumerate(names):
        (tmp_path / "FOLD1" / name).write_text(f"0 qid:{number} 1:1\n")
    (fold,) = folds(tmp_path)
    queries = [part.query_ids.tolist() for part in (fold.train, fold.valid, fold.test)]
    assert queries == [[0], [1], [2]]


def test_the_parts_of_folds_may_count_features_from_0(tmp_path):
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_text("0 qid:1 0:1 1:2\n")
    (fold,) = folds(tmp_path, zero_based=True)
    assert_array_equal(fold.test.features, [[1, 2]])


# CatBoost.


def catboost_files(folder, description=MSRANK, header=""):
    rows = "2\tq7\tnorth\t0.5\tnote\t3\n0\tq7\tsouth\tNaN\tnote\t4\n1\tq9\tnorth\t1\tnote\t5\n"
    (folder / "train.tsv").write_text(header + rows)
    (folder / "train.cd").write_text(description)
    return folder / "train.tsv"


def test_a_column_description_is_found_beside_a_table(tmp_path):
    dataset = read_table(catboost_files(tmp_path), ignore=["wind"])
    assert_array_equal(dataset.query_ids, ["q7", "q9"])
    assert_array_equal(dataset.relevance, [2, 0, 1])
    # Features are called by their place among the features, as CatBoost does.
    assert dataset.feature_names == ("1", "2")
    assert_array_equal(dataset.features, [[0.5, 3], [np.nan, 4], [1, 5]])


def test_a_column_description_may_be_named_for_any_file(tmp_path):
    catboost_files(tmp_path).rename(tmp_path / "test_small")
    dataset = read_table(
        tmp_path / "test_small", column_description=tmp_path / "train.cd", ignore=["wind"]
    )
    assert dataset.n_documents == 3


def test_ids_and_a_header_of_described_tables_are_understood(tmp_path):
    description = "0\tLabel\n1\tQueryId\n2\tDocId\n4\tAuxiliary\n"
    path = catboost_files(tmp_path, description, header="y\tq\tid\tbm25\tnote\tlength\n")
    dataset = read_table(path)
    assert dataset.feature_names == ("bm25", "length")
    assert_array_equal(dataset.document_ids, ["north", "south", "north"])


def test_declared_categories_are_categories(tmp_path):
    assert set(read_table(catboost_files(tmp_path)).categories) == {"wind"}


def test_weights_of_described_tables_are_ignored_with_a_word(tmp_path):
    path = catboost_files(tmp_path, MSRANK + "5\tWeight\n")
    with pytest.warns(UserWarning, match="train.cd: Weight columns are not used"):
        assert read_table(path, ignore=["wind"]).feature_names == ("1",)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("0\tLabel\n", "train.cd: no column is the GroupId"),
        ("0\tLabel\n1\tGroup\n", r"train.cd:2: '1\\tGroup' describes no column; .*one of GroupId"),
        ("0\tLabel\n0\tNum\n", "train.cd:2: column 0 occurs twice"),
        ("0\tLabel\n6\tNum\n", "train.cd:2: column 6 does not exist: the table has 6 columns"),
        ("0\tLabel\n1\tGroupId\n3\tLabel\n", "train.cd: .*There are two columns 'label'"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path, description, message):
    with pytest.raises(ValueError, match=message):
        read_table(catboost_files(tmp_path, description))


def test_a_description_is_for_files_of_text(tmp_path):
    frame = pd.DataFrame({"qid": [1], "label": [0], "a": [1]})
    frame.to_parquet(tmp_path / "a.parquet")
    for table in (frame, tmp_path / "a.parquet"):
        with pytest.raises(ValueError, match="describes a file|only text tables"):
            read_table(table, column_description=tmp_path / "a.cd")
