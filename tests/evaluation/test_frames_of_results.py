import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, read_table
from localrank.evaluation import (
    best_feature_calibration,
    compare,
    hyperplane_cosines,
    order_error_rates,
    permutation_importance,
    tune,
)
from localrank.evaluation.query_groups import agreement
from localrank.rankers import (
    BestFeature,
    ListwiseLinear,
    MultipleHyperplaneRanker,
    Quadratic,
    RankSVM,
)

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def results_on(dataset):
    """Every result that knows the data it was made from."""
    best = BestFeature().fit(dataset)
    scores = best.predict(dataset)
    comparison = compare({"a": best, "b": BestFeature()}, dataset, ["map"], baseline="a", n_folds=2)
    return [
        comparison,
        comparison.results["b"],
        tune(Quadratic(BestFeature()), {"ranker": [BestFeature()]}, dataset, folds=2),
        permutation_importance(best, dataset, n_repeats=1),
        best_feature_calibration(scores, scores, {"a": scores}, dataset),
        order_error_rates(dataset, {"a": scores}),
    ]


@pytest.fixture(scope="module")
def few(queries) -> RankingDataset:
    return queries.select(range(12))


@pytest.mark.parametrize("library", FRAMES)
def test_results_give_frames_of_the_library_that_the_data_came_in(library, few):
    for result in results_on(read_table(few.to_frame(library))):
        assert isinstance(result.to_frame(), FRAMES[library]), type(result)


def test_results_on_other_data_give_frames_of_the_first_library(few):
    model = MultipleHyperplaneRanker(RankSVM(), pairs="adjacent").fit(few)
    unknown = [hyperplane_cosines(model), agreement([1, 1, 2], ["a", "b", "b"])]
    for result in [*results_on(few), *unknown]:
        assert isinstance(result.to_frame(), pd.DataFrame), type(result)
        for library, kind in FRAMES.items():
            assert isinstance(result.to_frame(library), kind), type(result)


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_trials_holds_parameters_of_several_types(library, few):
    grid = [{"ranker": [BestFeature()]}, {"ranker": [ListwiseLinear()], "ranker__l2": [1, 0.5]}]
    frame = tune(Quadratic(BestFeature()), grid, few, folds=2).to_frame(library)
    assert_array_equal(frame["ranker__l2"].to_numpy(), [float("nan"), 1, 0.5])
    texts = [repr(BestFeature()), *[repr(ListwiseLinear())] * 2]
    assert list(frame["ranker"].to_numpy()) == texts
