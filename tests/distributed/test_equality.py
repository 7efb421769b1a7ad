"""On a cluster the same to the last bit: models, scores, comparisons, tuning."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank import rankers, recipes
from localrank.data import folds, make_queries
from localrank.declaration import declared
from localrank.distributed import client_in_scope
from localrank.evaluation import compare, permutation_importance, run, tune
from localrank.parts import make_sample
from localrank.rankers import LambdaMART, RankSVM
from localrank.recipes import local_rank

RECIPES = declared(recipes)
# Rankers that train or score in parallel by themselves.
PARALLEL = ["ensemble", "multiple-hyperplanes", "lgmml", "duh-kirchhoff"]
SMALL = {"n_trees": 4, "n_rounds": 4, "n_metrics": 3, "n_nets": 2, "n_units": 4, "n_epochs": 2}
TIMES = {"train_seconds", "train_cpu_seconds", "predict_seconds"}


@pytest.fixture(scope="module")
def queries():
    return make_queries(60, n_documents=(3, 12), n_features=6, n_types=2, random_state=1)[0]


def sample(name):
    ranker = make_sample({**declared(rankers), **RECIPES}[name])
    known = ranker.get_params()
    small = {
        parameter: SMALL[parameter.split("__")[-1]]
        for parameter in known
        if parameter.split("__")[-1] in SMALL
    }
    return ranker.set_params(**small)


def file_and_scores(name, queries, path):
    ranker = sample(name).fit(queries)
    ranker.save(path)
    return path.read_bytes(), ranker.predict(queries).tobytes()


@pytest.fixture(scope="module")
def alone(queries, tmp_path_factory):
    """The model files and scores made without a cluster."""
    assert client_in_scope() is None
    path = tmp_path_factory.mktemp("models") / "model.localrank"
    return {name: file_and_scores(name, queries, path) for name in [*RECIPES, *PARALLEL]}


@pytest.mark.parametrize("name", [*RECIPES, *PARALLEL])
def test_models_and_scores_are_the_same(alone, sizes, queries, tmp_path, name):
    with sizes.as_current():
        model, scores = file_and_scores(name, queries, tmp_path / "model.localrank")
    assert scores == alone[name][1]
    assert model == alone[name][0]


def methods():
    return {
        "trees": LambdaMART(4, min_leaf_documents=5, n_jobs=2),
        "svm": RankSVM(),
        "local": local_rank(2, ranker=RankSVM()),
        "failing": RankSVM(C=-1.0),
    }


def facts(result):
    """All that a run says, without its times."""
    own = {name: value for name, value in vars(result).items() if name not in TIMES}
    bound = own.pop("bound")
    arrays = [own.pop("scores"), own.pop("groups")]
    if bound is not None:
        arrays += [bound.selected, bound.values, bound.control]
    return repr(own), [array.tobytes() for array in arrays]


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
        found = everything(queries)
    assert found[0]["failing"][0][0].count("The 'C' parameter of RankSVM must be") == 1
    assert client_in_scope() is sizes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank.parallel.client_in_scope", lambda: None)
        assert everything(queries) == found


def test_a_whole_comparison_is_the_same(sizes, queries):
    def tables():
        comparison = compare("rank-svm,local-rank", folds(queries, 3), ["ndcg@5"], n_controls=1)
        return {
            name: (result.scores.tobytes(), result.n_models, result.model_bytes)
            for name, result in comparison.results.items()
        }

    with sizes.as_current():
        found = tables()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank.parallel.client_in_scope", lambda: None)
        assert tables() == found


def test_tuning_is_the_same(sizes, queries):
    def tuned(valid):
        grid = [{"n_trees": [2, 5], "n_leaves": [3, 7]}, {"n_trees": [9]}]
        tuning = tune(LambdaMART(min_leaf_documents=5), grid, queries, 3, valid=valid)
        return tuning.best_parameters, np.array([trial.values for trial in tuning.path])

    for valid in (None, queries.select(range(20))):
        with sizes.as_current():
            best, values = tuned(valid)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("localrank.parallel.client_in_scope", lambda: None)
            expected_best, expected = tuned(valid)
        assert best == expected_best
        assert_array_equal(values, expected)


def test_importance_of_features_is_the_same(sizes, queries):
    ranker = RankSVM().fit(queries)
    with sizes.as_current():
        found = permutation_importance(ranker, queries, n_repeats=2).losses
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank.parallel.client_in_scope", lambda: None)
        assert_array_equal(found, permutation_importance(ranker, queries, n_repeats=2).losses)
