import numpy as np
import pytest

from localrank.aggregation import MedianRank
from localrank.data import Fold, make_queries
from localrank.experiments.multiple_hyperplanes import NDCG_10, choose
from localrank.rankers import MultipleHyperplaneRanker, RankSVM

CS = [1e-3, 0.1, 10.0]


@pytest.fixture(scope="module")
def fold():
    dataset, _ = make_queries(60, n_documents=(8, 14), n_features=6, n_types=2)
    return Fold("Fold1", *(dataset.select(range(*ends)) for ends in ((0, 30), (30, 45), (45, 60))))


def test_the_chosen_models_are_those_of_separate_fits(fold):
    best = choose(fold, CS, n_jobs=1)
    for name, make in {
        "RankSVM": RankSVM,
        "MHR, Borda": lambda C: MultipleHyperplaneRanker(RankSVM(C)),
        "MHR, median rank": lambda C: MultipleHyperplaneRanker(RankSVM(C), aggregator=MedianRank()),
        "MHR, adjacent pairs, Borda": lambda C: MultipleHyperplaneRanker(
            RankSVM(C), pairs="adjacent"
        ),
    }.items():
        models = [make(C).fit(fold.train) for C in CS]
        means = [NDCG_10.mean(fold.valid, model.predict(fold.valid)) for model in models]
        C, model = best[name]
        assert CS[int(np.argmax(means))] == C
        expected = models[int(np.argmax(means))].predict(fold.test)
        np.testing.assert_allclose(model.predict(fold.test), expected, atol=1e-12)


def test_adjacent_pairs_are_tried_only_where_there_are_more(fold):
    three = fold.train.labels.clip(max=2)
    part = Fold(
        "Fold1",
        *(
            type(one).from_arrays(one.features, one.labels.clip(max=2), one.query_index)
            for one in (fold.train, fold.valid, fold.test)
        ),
    )
    assert len(np.unique(three)) == 3
    assert "MHR, adjacent pairs, Borda" not in choose(part, CS[:1], n_jobs=1)
