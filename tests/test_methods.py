import pytest

from localrank.methods import METHODS, global_ensemble, global_mixed, in_coordinates, n_models
from localrank.rankers import Ensemble, LambdaMART, Quadratic, QueryCoordinates, RankSVM
from localrank.recipes import best, fast, local_rank


def kinds(ensemble: Ensemble) -> list[tuple]:
    return [
        (type(model).__name__, getattr(model, "objective", None), model.random_state)
        for model in ensemble.rankers
    ]


def test_a_mixed_ensemble_takes_its_kinds_in_turn_with_other_seeds():
    assert kinds(global_mixed(6, random_state=7)) == [
        ("LambdaMART", "lambdarank", 7),
        ("LambdaMART", "rank_xendcg", 7),
        ("GBRT", None, 7),
        ("ListwiseLinear", None, 7),
        ("LambdaMART", "lambdarank", 8),
        ("LambdaMART", "rank_xendcg", 8),
    ]
    assert {seed for *_, seed in kinds(global_mixed(6, random_state=None))} == {None}


def test_a_mixed_ensemble_passes_its_parameters_on():
    trees = global_mixed(3, n_trees=21, n_leaves=4, min_leaf_documents=9).rankers
    assert [model.n_trees for model in trees] == [21, 10, 21]
    assert {(model.n_leaves, model.min_leaf_documents) for model in trees} == {(4, 9)}


@pytest.mark.parametrize("make", [global_ensemble, global_mixed])
@pytest.mark.parametrize("n_models", [0, -1, 2.5, "many"])
def test_an_ensemble_has_a_whole_number_of_models(make, n_models):
    with pytest.raises(ValueError, match=f"whole number, 1 or larger. Got '?{n_models}'? instead"):
        make(n_models)


def test_coordinates_take_any_ranker_and_lambdamart_by_default():
    default = in_coordinates(n_jobs=2, random_state=5).ranker
    assert isinstance(default, LambdaMART)
    assert (default.feature_fraction, default.n_jobs, default.random_state) == (0.18, 2, 5)
    given = in_coordinates(RankSVM(C=3.0), parts="z")
    assert (given.ranker.C, given.parts) == (3.0, "z")


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        (RankSVM(), 1),
        (fast(), 2),
        (best(), 6),
        (global_ensemble(3), 3),
        (global_mixed(7), 7),
        (local_rank(4), 4),
        (local_rank(None), 1),
        (QueryCoordinates(local_rank(4)), 4),
        (Ensemble([Quadratic(local_rank(4)), RankSVM()]), 5),
    ],
)
def test_models_are_counted_before_training(ranker, expected):
    assert n_models(ranker) == expected


def test_models_are_counted_as_they_are_after_training(queries):
    from localrank.evaluation.comparison import count_models

    for name in ("best", "fast", "local-rank", "query-coordinates", "rank-svm"):
        ranker = METHODS[name].make()
        assert count_models(ranker.fit(queries)) == n_models(ranker)
