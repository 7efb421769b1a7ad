import numpy as np
import pytest

from localrank.data import folds, make_queries
from localrank.evaluation.hyperplanes import hyperplane_cosines, order_error_rates
from localrank.experiments.multiple_hyperplanes import BASELINE, OWN, Diagnostics, methods
from localrank.rankers import MultipleHyperplaneRanker, RankSVM


def test_adjacent_pairs_are_tried_only_where_there_are_more():
    adjacent = "MHR, adjacent pairs, Borda"
    assert set(methods(4)) - set(methods(3)) == {adjacent}
    assert methods(4)[adjacent].pairs == "adjacent"


def test_every_method_is_made_of_rank_svm_and_differs_by_its_aggregator():
    made = [ranker for name, ranker in methods(3).items() if name != BASELINE]
    assert {type(ranker.ranker) for ranker in made} == {RankSVM}
    assert len({type(ranker.aggregator) for ranker in made}) == len(made) == 4


@pytest.fixture(scope="module")
def diagnosed():
    dataset, _ = make_queries(60, n_documents=(8, 14), n_features=6, n_types=2)
    parts = list(folds(dataset, 3))
    singles = [RankSVM().fit(fold.train) for fold in parts]
    several = [MultipleHyperplaneRanker().fit(fold.train) for fold in parts]
    test = type(dataset).from_arrays(
        *(
            np.concatenate([getattr(fold.test, name) for fold in parts])
            for name in ("features", "labels")
        ),
        np.concatenate([fold.test.query_ids[fold.test.query_index] for fold in parts]),
    )
    return Diagnostics.of(singles, several, parts, test), singles, several, parts


def test_diagnostics_are_those_of_each_fold(diagnosed):
    diagnostics, singles, several, parts = diagnosed
    for place, fold in enumerate(parts):
        cosines = hyperplane_cosines(several[place], {BASELINE: singles[place]})
        np.testing.assert_array_equal(diagnostics.cosines[place].cosines, cosines.cosines)
        rates = order_error_rates(fold.train, {BASELINE: singles[place].predict(fold.train)})
        np.testing.assert_array_equal(
            diagnostics.training[place].rates[BASELINE], rates.rates[BASELINE]
        )


def test_test_errors_pool_the_pairs_of_all_folds(diagnosed):
    diagnostics, _, several, parts = diagnosed
    for pair, rate in zip(diagnostics.test.label_pairs, diagnostics.test.rates[OWN], strict=True):
        wrong = total = 0.0
        for many, fold in zip(several, parts, strict=True):
            scores = many.pair_scores(fold.test)[tuple(pair)]
            for begin, end in zip(fold.test.offsets, fold.test.offsets[1:], strict=False):
                labels, own = fold.test.labels[begin:end], scores[begin:end]
                high, low = own[labels == pair[0]], own[labels == pair[1]]
                wrong += np.sum(high[:, None] < low) + 0.5 * np.sum(high[:, None] == low)
                total += high.size * low.size
        assert rate == pytest.approx(wrong / total)
