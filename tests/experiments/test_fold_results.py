from dataclasses import replace

import numpy as np
import pytest

from localrank.data import folds, make_queries
from localrank.evaluation import correct, paired_test, run
from localrank.evaluation.significance import corrected
from localrank.experiments import bound_means, mean_of_folds
from localrank.measures import NDCG, AveragePrecision
from localrank.recipes import local_rank


@pytest.fixture(scope="module")
def parts():
    dataset, _ = make_queries(60, n_documents=(6, 12), n_features=6)
    return list(folds(dataset, 3))


def test_bounds_are_means_over_the_queries_of_all_folds(parts):
    measure = NDCG(5)
    result = run({"a": local_rank(3)}, parts, measure=measure, n_controls=2)["a"]
    selected, best, control = bound_means(result, measure)
    bounds = [fold_run.bound for fold_run in result.runs]
    assert selected == result.mean(measure) <= best
    assert best == pytest.approx(np.concatenate([bound.values for bound in bounds]).mean())
    controls = np.concatenate([bound.control for bound in bounds], axis=1)
    assert control == pytest.approx(controls.mean())


def test_folds_of_different_sizes_count_alike(parts):
    uneven = [parts[0], replace(parts[1], test=parts[1].test.select(range(3)))]
    result = run({"a": local_rank(2)}, uneven)["a"]
    values = result.values("map")
    expected = (values[:-3].mean() + values[-3:].mean()) / 2
    assert mean_of_folds(result, AveragePrecision()) == pytest.approx(expected)
    assert expected != pytest.approx(values.mean())


def test_one_group_is_its_own_bound(parts):
    measure = NDCG(5)
    result = run({"a": local_rank(1)}, parts, measure=measure, n_controls=2)["a"]
    assert bound_means(result, measure) == (result.mean(measure),) * 3


def test_tests_are_corrected_for_their_number():
    values = np.random.default_rng(0).normal(size=(3, 20))
    tests = {
        name: paired_test(row, row[::-1] - 0.4) for name, row in zip("abc", values, strict=True)
    }
    p_values = correct({name: test.p_value for name, test in tests.items()})
    assert {name: t.corrected_p_value for name, t in corrected(tests).items()} == p_values
