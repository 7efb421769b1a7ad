import pytest

from localrank.data import make_queries
from localrank.export import NotExportable, export
from localrank.export.writing import exported_model
from localrank.rankers import DuhKirchhoff, LambdaMART


@pytest.fixture(scope="module")
def ranker():
    dataset, _ = make_queries(60)
    return LambdaMART(10).fit(dataset)


def test_an_export_says_what_to_do_with_it(ranker, tmp_path):
    paths = export(ranker, "lightgbm", tmp_path / "new" / "folder")
    assert all(path.is_file() for path in paths)
    assert "README.md" in [path.name for path in paths]


def test_an_unknown_target_is_refused_with_the_known_ones(ranker, tmp_path):
    with pytest.raises(ValueError, match="no export target 'soler'. Did you mean 'solr'.*lightgbm"):
        export(ranker, "soler", tmp_path)


@pytest.mark.parametrize(
    "name", ["", "1st", "my model", "a/b", "../up", "a-b", "é", "a\n", "a\0", "a" * 65]
)
def test_a_name_that_some_engine_would_not_take_is_refused(name, ranker, tmp_path):
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        export(ranker, "lightgbm", tmp_path, name=name)
    assert not any(tmp_path.iterdir())


def test_a_folder_with_other_files_is_refused(ranker, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files, such as notes.txt"):
        export(ranker, "lightgbm", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_export_may_be_written_again(ranker, tmp_path):
    first = export(ranker, "lightgbm", tmp_path)
    assert export(ranker, "lightgbm", tmp_path) == first


def test_a_file_in_the_place_of_the_folder_is_refused(ranker, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(ValueError, match="is a file"):
        export(ranker, "lightgbm", path)


def test_what_cannot_be_exported_leaves_no_files(tmp_path):
    dataset, _ = make_queries(30)
    ranker = DuhKirchhoff().fit(dataset)
    with pytest.raises(NotExportable, match="DuhKirchhoff cannot be exported"):
        export(ranker, "lightgbm", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_features_keep_their_names():
    dataset, _ = make_queries(60)
    names = [f"bm25 of {field}" for field in range(dataset.n_features)]
    named = dataset.with_features(dataset.features, names)
    assert exported_model(LambdaMART(5).fit(named)).feature_names == tuple(names)


def test_features_without_names_have_their_numbers():
    dataset, _ = make_queries(60)
    unnamed = dataset.replaced(feature_names=None)
    names = exported_model(LambdaMART(5).fit(unnamed)).feature_names
    assert names == tuple(f"f{number}" for number in range(1, dataset.n_features + 1))
