import pytest

from localrank import aggregation
from localrank.methods import (
    METHODS,
    global_ensemble,
    global_mixed,
    in_coordinates,
    make_ranker,
    n_models,
)
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
    from localrank.evaluation.engine import count_models

    for name in ("best", "fast", "local-rank", "query-coordinates", "rank-svm"):
        ranker = METHODS[name].make()
        assert count_models(ranker.fit(queries)) == n_models(ranker)


def test_jobs_and_seed_reach_a_method_that_has_them():
    trees = make_ranker("LambdaMART", ["n_trees=9"], 3, 7)
    assert (trees.n_trees, trees.n_jobs, trees.random_state) == (9, 3, 7)
    assert repr(make_ranker("rank-svm", ["C=0.5"], 3, 7)) == "RankSVM(C=0.5)"


def test_a_ranker_by_name_has_the_seed_and_leaves_the_jobs_to_its_groups():
    local = make_ranker("local-rank", ["ranker=lambdamart", "ranker__n_trees=9"], 3, 7)
    inner = local.ranker
    assert (inner.n_trees, inner.random_state, inner.n_jobs, local.n_jobs) == (9, 7, None, 3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("borda", aggregation.Borda),
        ("Markov-Chain", aggregation.MarkovChain),
        ("median-rank", aggregation.MedianRank),
        ("weighted-borda", aggregation.WeightedBorda),
    ],
)
def test_aggregators_go_by_their_names(name, kind):
    ranker = make_ranker("multiple-hyperplanes", [f"aggregator={name}"], None, 0)
    assert type(ranker.aggregator) is kind


def test_an_unknown_aggregator_is_refused():
    with pytest.raises(ValueError, match="no aggregator 'bordo'. Did you mean 'borda'"):
        make_ranker("multiple-hyperplanes", ["aggregator=bordo"], None, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("none", None),
        ("null", None),
        ("True", True),
        ("0.5", 0.5),
        ("[1, 2]", [1, 2]),
        ("zpab", "zpab"),
        ("'3'", "3"),
    ],
)
def test_settings_read_as_python_or_json_writes_them(text, value):
    local = make_ranker("local-rank", [f"n_components={text}", f"ranker__C={text}"], None, 0)
    for found in (local.representation.n_components, local.ranker.C):
        assert (found, type(found)) == (value, type(value))


def test_an_unknown_parameter_lists_the_methods_own():
    own = "index, min_queries, n_clusters, n_components, n_jobs, ranker, scaling"
    hint = f"no parameter 'ranker__D'. Did you mean 'ranker__C'. There are: {own}."
    with pytest.raises(ValueError, match=hint):
        make_ranker("local-rank", ["ranker__D=1"], None, 0)
    # Whole parts are no settings.
    with pytest.raises(ValueError, match="local-rank has no parameter 'grouping'"):
        make_ranker("local-rank", ["grouping=4"], None, 0)
