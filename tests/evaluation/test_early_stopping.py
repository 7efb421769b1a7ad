import numpy as np
import pytest

from localrank import load
from localrank.data import make_queries
from localrank.evaluation import training_curves
from localrank.measures import parse_measure
from localrank.measures.base import mean_of_queries
from localrank.rankers import GBRT, AdaRank, Ensemble, LambdaMART, McRank, RankBoost, RankSVM


@pytest.fixture(scope="module")
def split():
    dataset, _ = make_queries(60, n_features=6, random_state=2)
    return dataset.select(np.arange(40)), dataset.select(np.arange(40, 60))


@pytest.mark.parametrize("measure", ["ndcg@5", "oer"])
@pytest.mark.parametrize(
    "ranker",
    [
        GBRT(20, patience=3),
        McRank(20, patience=3),
        RankBoost(20, patience=3),
        AdaRank(20),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_the_best_round_of_a_curve_is_the_model(ranker, measure, split, tmp_path):
    train, valid = split
    ranker = type(ranker)(**ranker.get_params() | {"measure": measure}).fit(train, valid=valid)
    ranker.save(tmp_path / "model.localrank")
    curves = training_curves(load(tmp_path / "model.localrank"))
    ((name, curve),) = curves.curves.items()
    kept = getattr(ranker, "n_trees_", None) or ranker.n_rounds_
    reached = mean_of_queries(parse_measure(measure).of_rows(valid, ranker.predict_rows(valid)))
    assert curves.best(name) == (kept, pytest.approx(reached, abs=1e-9))
    np.testing.assert_array_equal(curve[:, 0], 1 + np.arange(len(curve)))


def test_parts_have_curves_with_names_of_their_own(split):
    train, valid = split
    trees = [LambdaMART(10, random_state=seed) for seed in (0, 1)]
    curves = training_curves(Ensemble([*trees, GBRT(10)]).fit(train, valid=valid))
    assert list(curves.curves) == ["LambdaMART 1", "LambdaMART 2", "GBRT"]
    assert "GBRT" in repr(curves)
    frame = curves.to_frame("pandas")
    values = frame[frame["model"] == "LambdaMART 2"]["value"].to_numpy()
    np.testing.assert_array_equal(values, curves.curves["LambdaMART 2"][:, 1])
    assert frame["round"].tolist() == [*range(1, 11)] * 3
    (panel,) = curves.plot().axes
    assert len(panel.lines) == 3


def test_a_model_that_nothing_stopped_has_no_curves(split):
    train, valid = split
    ranker = GBRT(5).fit(train, valid=valid)
    assert len(ranker.curve_) == 5
    assert not hasattr(ranker.fit(train), "curve_")
    for model in (ranker, RankSVM().fit(train, valid=valid)):
        with pytest.raises(ValueError, match="has no curves: validation queries did not stop it"):
            training_curves(model)
