import sys

import pytest

from localrank.rankers import Ensemble, LambdaMART, RankSVM, SVMMap
from localrank.recipes import (
    global_ensemble,
    global_mixed,
    global_one,
    quadratic,
    query_coordinates,
)


def kinds(ensemble: Ensemble) -> list[tuple]:
    return [(type(model).__name__, model.random_state) for model in ensemble.rankers]


def test_a_mixed_ensemble_takes_its_kinds_in_turn_with_other_seeds():
    assert kinds(global_mixed(6, random_state=7)) == [
        ("LambdaMART", 7),
        ("CrossEntropyMART", 7),
        ("GBRT", 7),
        ("ListwiseLinear", 7),
        ("LambdaMART", 8),
        ("CrossEntropyMART", 8),
    ]
    assert {seed for *_, seed in kinds(global_mixed(6, random_state=None))} == {None}


def test_symmetric_trees_are_among_the_kinds_if_asked_for():
    assert kinds(global_mixed(7, symmetric=True, random_state=7)) == [
        ("LambdaMART", 7),
        ("SymmetricTrees", 7),
        ("CrossEntropyMART", 7),
        ("GBRT", 7),
        ("ListwiseLinear", 7),
        ("LambdaMART", 8),
        ("SymmetricTrees", 8),
    ]
    sizes = [global_mixed(2, n_trees=n, symmetric=True).rankers[1].n_trees for n in (1, 30, 300)]
    assert sizes == [2, 50, 500]
    teacher = global_one(30, symmetric=True).ranker
    assert kinds(teacher) == kinds(global_mixed(6, symmetric=True))


def test_what_is_installed_changes_no_recipe(monkeypatch):
    expected = [kinds(global_mixed()), kinds(global_one().ranker)]
    monkeypatch.setitem(sys.modules, "catboost", None)
    assert [kinds(global_mixed()), kinds(global_one().ranker)] == expected
    assert "SymmetricTrees" not in str(expected)


def test_a_mixed_ensemble_passes_its_parameters_on():
    trees = global_mixed(3, n_trees=21, n_leaves=4, min_leaf_documents=9).rankers
    assert [model.n_trees for model in trees] == [21, 10, 21]
    assert {(model.n_leaves, model.min_leaf_documents) for model in trees} == {(4, 9)}


def test_an_ensemble_is_of_one_ranker_that_differs_by_its_seed():
    members = global_ensemble(3, ranker=LambdaMART(9, n_leaves=4), random_state=7).rankers
    assert [(m.n_trees, m.n_leaves, m.random_state) for m in members] == [
        (9, 4, 7),
        (9, 4, 8),
        (9, 4, 9),
    ]
    assert [m.C for m in global_ensemble(2, ranker=RankSVM(3.0)).rankers] == [3.0, 3.0]
    assert {m.random_state for m in global_ensemble(2, random_state=None).rankers} == {None}


@pytest.mark.parametrize("make", [global_ensemble, global_mixed])
def test_models_of_an_ensemble_are_trained_at_the_same_time(make):
    assert make(2, n_jobs=3).n_jobs == 3


@pytest.mark.parametrize("make", [global_ensemble, global_mixed])
@pytest.mark.parametrize("n_models", [0, -1, 2.5, "many"])
def test_an_ensemble_has_a_whole_number_of_models(make, n_models):
    with pytest.raises(ValueError, match=f"whole number, 1 or larger. Got '?{n_models}'? instead"):
        make(n_models)


def test_coordinates_take_any_ranker_and_lambdamart_by_default():
    default = query_coordinates(n_jobs=2, random_state=5).ranker
    assert isinstance(default, LambdaMART)
    assert (default.feature_fraction, default.n_jobs, default.random_state) == (0.18, 2, 5)
    given = query_coordinates(RankSVM(C=3.0), parts="z")
    assert (given.ranker.C, given.parts) == (3.0, "z")


def test_products_of_features_take_any_ranker_and_svm_map_by_default():
    assert isinstance(quadratic().ranker, SVMMap)
    given = quadratic(RankSVM(C=3.0), dtype="float32")
    assert (given.ranker.C, given.dtype) == (3.0, "float32")
