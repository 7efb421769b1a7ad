import pytest
from made_up_results import made_up_result
from numpy.testing import assert_array_equal

from localrank.data import folds


@pytest.fixture
def result(queries):
    made = made_up_result(list(folds(queries, 3)), "made up", 0)
    made.mean("ndcg@10")
    made.mean("map")
    return made


def test_the_frame_has_a_row_per_query_and_a_column_per_measure_asked_for(result):
    frame = result.to_frame("pandas")
    assert frame.columns.tolist() == ["query", "fold", "ndcg@10", "map"]
    assert_array_equal(frame["query"], result.test.query_ids)
    assert_array_equal(frame["map"], result.values("map"))
    assert frame["fold"].tolist() == result.fold_names


def test_the_plot_has_the_mean_of_each_fold(result):
    (axes,) = result.plot().axes
    assert [bars.get_label() for bars in axes.containers] == ["ndcg@10", "map"]
    means = [bar.get_height() for bar in axes.containers[1]]
    assert means == list(result.fold_means("map").values())
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["Fold1", "Fold2", "Fold3"]


def test_the_plot_is_written(result, tmp_path):
    result.save_plot(tmp_path / "folds.svg")
    assert ">Fold2</text>" in (tmp_path / "folds.svg").read_text()
