"""On a cluster the same to the last bit: models, scores, comparisons, tuning."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from cluster_tasks import small_sample
from numpy.testing import assert_array_equal

import localrank
from localrank import rankers, recipes
from localrank._base.distributed import client_in_scope
from localrank.data import folds, make_queries
from localrank.evaluation import compare, permutation_importance, run, tune
from localrank.fusion import NeighbourColumns, SmoothedFusion
from localrank.rankers import Ensemble, LambdaMART, RankSVM
from localrank.recipes import local_rank
from localrank.registry import declared

RECIPES = declared(recipes)
# Rankers that train or score in parallel by themselves.
PARALLEL = ["ensemble", "multiple-hyperplanes", "lgmml", "duh-kirchhoff"]
TIMES = {"train_seconds", "train_cpu_seconds", "predict_seconds"}


@pytest.fixture(scope="module")
def queries():
    return make_queries(60, n_documents=(3, 12), n_features=6, n_types=2, random_state=1)[0]


@cache
def alone(work, *arguments):
    """What work makes without a cluster; done once for all of them."""
    assert client_in_scope() is None
    return work(*arguments)


def file_and_scores(name, queries):
    ranker = small_sample({**declared(rankers), **RECIPES}[name]).fit(queries)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.localrank"
        ranker.save(path)
        return path.read_bytes(), ranker.predict(queries).tobytes()


# Recipes take longest, and work on a cluster by the same calls. One of them is quick enough.
QUICK = [*PARALLEL, "local-rank"]


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in [*RECIPES, *PARALLEL]
    ],
)
def test_models_and_scores_are_the_same(sizes, queries, name):
    with sizes.as_current():
        model, scores = file_and_scores(name, queries)
    expected_model, expected_scores = alone(file_and_scores, name, queries)
    assert scores == expected_scores
    assert model == expected_model


def methods():
    return {
        "trees": LambdaMART(4, min_leaf_documents=5, n_jobs=2),
        "svm": RankSVM(),
        "local": local_rank(2, ranker=RankSVM()),
        "failing": RankSVM(C=-1.0),
    }


def facts(result):
    """All that a run says, without its times."""
    facts = {name: value for name, value in vars(result).items() if name not in TIMES}
    bound = facts.pop("bound")
    arrays = [facts.pop("scores"), facts.pop("groups")]
    if bound is not None:
        arrays += [bound.selected, bound.values, bound.control]
    return repr(facts), [array.tobytes() for array in arrays]


def everything(queries):
    inspected, said = [], []
    results = run(
        methods(),
        folds(queries, 3),
        grids={"svm": {"C": [0.1, 1.0]}},
        n_controls=1,
        keep_failures=True,
        inspect=lambda name, fold, model: inspected.append(
            (name, fold.name, model.predict(fold.test).tobytes())
        ),
        n_jobs=2,
        say=said.append,
    )
    runs = {name: [facts(one) for one in result.runs] for name, result in results.items()}
    return runs, inspected, sorted(line.split(" trained in ")[0] for line in said)


def test_comparisons_are_the_same(sizes, queries):
    with sizes.as_current():
        assert client_in_scope() is sizes
        on_cluster = everything(queries)
    assert on_cluster[0]["failing"][0][0].count("The 'C' parameter of RankSVM must be") == 1
    assert on_cluster == alone(everything, queries)


def tables(queries):
    comparison = compare("rank-svm,local-rank", folds(queries, 3), ["ndcg@5"], n_controls=1)
    return {
        name: (result.scores.tobytes(), result.n_models, result.model_bytes)
        for name, result in comparison.results.items()
    }


@pytest.mark.slow
def test_a_whole_comparison_is_the_same(sizes, queries):
    with sizes.as_current():
        on_cluster = tables(queries)
    assert on_cluster == alone(tables, queries)


def tuned(queries, valid):
    grid = [{"n_trees": [2, 5], "n_leaves": [3, 7]}, {"n_trees": [9]}]
    tuning = tune(LambdaMART(min_leaf_documents=5), grid, queries, 3, valid=valid)
    return tuning.best_parameters, np.array([trial.values for trial in tuning.path])


@pytest.mark.parametrize("n_valid", [0, 20])
def test_tuning_is_the_same(sizes, queries, n_valid):
    valid = queries.select(range(n_valid)) if n_valid else None
    queries = queries.select(range(n_valid, queries.n_queries))
    with sizes.as_current():
        best, values = tuned(queries, valid)
    expected_best, expected = tuned(queries, valid)
    assert best == expected_best
    assert_array_equal(values, expected)


def test_importance_of_features_is_the_same(sizes, queries):
    ranker = RankSVM().fit(queries)
    with sizes.as_current():
        losses = permutation_importance(ranker, queries, n_repeats=2).losses
    assert_array_equal(losses, permutation_importance(ranker, queries, n_repeats=2).losses)


@pytest.fixture(scope="module")
def with_vectors(queries):
    vectors = np.random.default_rng(0).normal(size=(queries.n_documents, 5))
    return queries.with_vectors(vectors)


def models_with_vectors(queries):
    """Files and scores of models whose parts, trained on the cluster, read vectors."""
    members = [NeighbourColumns(LambdaMART(3, min_leaf_documents=5)), SmoothedFusion()]
    rankers = [Ensemble(members), local_rank(2, ranker=SmoothedFusion())]
    found = []
    for ranker in rankers:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.localrank"
            ranker.fit(queries).save(path)
            found.append((path.read_bytes(), localrank.load(path).predict(queries).tobytes()))
    runs = run({"near": SmoothedFusion()}, folds(queries, 3), n_jobs=1)
    return found, [fold.scores.tobytes() for fold in runs["near"].runs]


def test_vectors_travel_with_their_documents(sizes, with_vectors):
    with sizes.as_current():
        made = models_with_vectors(with_vectors)
    assert made == alone(models_with_vectors, with_vectors)
