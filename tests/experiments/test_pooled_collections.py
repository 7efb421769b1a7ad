import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import folds, make_queries
from localrank.evaluation import paired_test, run
from localrank.experiments.repeated_runs import ALL, HELD_OUT, Pooled
from localrank.measures import NDCG
from localrank.rankers import BestFeature, RankSVM

MEASURE = NDCG(5)


@pytest.fixture(scope="module")
def pooled():
    """Two methods, the second with another C for each of two seeds, on three collections."""
    results = {}
    for place, name in enumerate(("OHSUMED", "MQ2008", "MSLR-sample")):
        dataset, _ = make_queries(30, n_documents=(6, 12), n_features=6, random_state=place)
        results[name] = [
            run({"feature": BestFeature(), "svm": RankSVM(C)}, folds(dataset, 5))
            for C in (1e-3, 10)
        ]
    return Pooled(results, ["OHSUMED", "MQ2008"])


def test_every_seed_has_its_values(pooled):
    seeds = [result["svm"].values(MEASURE) for result in pooled.results["MQ2008"]]
    assert (seeds[0] != seeds[1]).any()
    assert_array_equal(pooled.by_run("MQ2008", "svm", MEASURE), seeds)
    assert pooled.mean("MQ2008", "svm", MEASURE) == pytest.approx(np.mean(seeds))
    spread = np.std([values.mean() for values in seeds], ddof=1)
    assert pooled.spread("MQ2008", "svm", MEASURE) == pytest.approx(spread)


def test_all_are_the_queries_of_the_pooled_collections(pooled):
    both = [pooled.by_run(name, "svm", MEASURE) for name in pooled.names]
    assert_array_equal(pooled.by_run(ALL, "svm", MEASURE), np.hstack(both))


def test_held_out_are_the_test_queries_of_the_last_two_parts(pooled):
    expected = []
    for name in pooled.names:
        values = pooled.by_run(name, "feature", MEASURE)
        late = np.isin(pooled.results[name][0]["feature"].fold_names, ["Fold1", "Fold5"])
        assert late.sum() == 12
        expected.append(values[:, late])
    assert_array_equal(pooled.by_run(HELD_OUT, "feature", MEASURE), np.hstack(expected))


def test_places_name_what_there_is(pooled):
    assert pooled.places == ["OHSUMED", "MQ2008", ALL, HELD_OUT]
    assert Pooled(pooled.results, ["MQ2008"]).places == ["MQ2008", HELD_OUT]
    assert Pooled(pooled.results, ["MSLR-sample"]).places == ["MSLR-sample"]


def test_a_test_is_of_the_first_method_against_the_second(pooled):
    values = [pooled.by_run(ALL, method, MEASURE) for method in ("svm", "feature")]
    assert pooled.test(ALL, "svm", "feature", MEASURE) == paired_test(*values)


def test_costs_are_of_a_mean_fold_of_each_pooled_collection(pooled):
    expected = 0.0
    for name in pooled.names:
        runs = [run for seed in pooled.results[name] for run in seed["svm"].runs]
        expected += np.mean([run.train_cpu_seconds for run in runs])
    assert pooled.cpu_seconds("svm") == pytest.approx(expected)
    assert pooled.n_models("svm") == 1
