import pytest
from numpy.testing import assert_allclose

from localrank.data import folds, make_queries
from localrank.experiments import Setting
from localrank.experiments.recipe_members import (
    COMPOSED,
    WITH_CATBOOST,
    available,
    members,
    needed,
    train,
    with_recipes,
)
from localrank.rankers import Ensemble, LambdaMART, ListwiseNet, QueryCoordinates, RankSVM
from localrank.recipes import best, fast, global_ensemble, global_mixed
from localrank.recipes.two_views import tree_kinds

SEED, N_TREES = 1000, 8


def few():
    """LambdaMART and CrossEntropyMART with a smaller share of the columns."""
    return tree_kinds(N_TREES, random_state=SEED, feature_fraction=0.18)[:2]


def setting(tmp_path, **options):
    return Setting(tmp_path, n_jobs=1, say=lambda line: None, **options)


@pytest.fixture(scope="module")
def parts():
    dataset, _ = make_queries(40, n_documents=(15, 25), n_features=5, random_state=2)
    return list(folds(dataset, 3))


@pytest.fixture(scope="module")
def results(parts, tmp_path_factory):
    """All recipes, put together from members that were trained once."""
    rankers = members(SEED, N_TREES)
    names = needed(COMPOSED)
    folder = tmp_path_factory.mktemp("members")
    return with_recipes(train(setting(folder), {n: rankers[n] for n in names}, parts, "parts"))


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("best", best(N_TREES, random_state=SEED)),
        ("fast", fast(N_TREES, random_state=SEED)),
        (
            "best without nets",
            Ensemble(
                [
                    *tree_kinds(N_TREES, random_state=SEED),
                    *map(QueryCoordinates, [*few(), RankSVM()]),
                ]
            ),
        ),
        (
            "the kinds of best",
            Ensemble(
                [
                    *tree_kinds(N_TREES, random_state=SEED),
                    ListwiseNet(coordinates=False, random_state=SEED),
                    RankSVM(),
                    LambdaMART(N_TREES, random_state=SEED + 1),
                ]
            ),
        ),
        ("2 LambdaMARTs", global_ensemble(2, ranker=LambdaMART(N_TREES), random_state=SEED)),
        (
            "6 LambdaMARTs, in coordinates",
            QueryCoordinates(global_ensemble(6, ranker=few()[0], random_state=SEED)),
        ),
        ("2 mixed", global_mixed(2, n_trees=N_TREES, random_state=SEED)),
        ("6 mixed", global_mixed(6, n_trees=N_TREES, random_state=SEED)),
        (WITH_CATBOOST, global_mixed(6, symmetric=True, n_trees=N_TREES, random_state=SEED)),
        (
            "6 LambdaMARTs",
            global_ensemble(6, ranker=LambdaMART(N_TREES), random_state=SEED),
        ),
    ],
)
def test_members_put_together_score_as_the_recipe_does(results, parts, name, recipe):
    for run, fold in zip(results[name].runs, parts, strict=True):
        expected = fold.test.in_query_order(recipe.fit(fold.train).predict(fold.test))
        assert_allclose(run.scores, expected, rtol=0, atol=1e-9)


def test_every_recipe_needs_members_that_exist():
    assert set(needed(COMPOSED)) <= set(members(0))


def test_costs_of_members_are_added_up(results):
    parts = [results[name] for name in needed(["fast"])]
    seconds = sum(part.train_cpu_seconds for part in parts)
    assert results["fast"].train_cpu_seconds == pytest.approx(seconds)
    assert results["fast"].n_models == 2
    assert results["best"].n_models == 6


def test_a_member_of_several_recipes_is_needed_once():
    assert needed(["2 mixed", "LambdaMART", "fast"]) == [
        "LambdaMART",
        "CrossEntropyMART",
        "CrossEntropyMART, in coordinates",
    ]


def test_recipes_without_all_members_are_left_out(results):
    few = {name: results[name] for name in needed(["2 mixed"])}
    assert list(with_recipes(few)) == ["LambdaMART", "CrossEntropyMART", "2 mixed"]

    def seeds(seed):
        used = {getattr(r, "random_state", None) for r in members(seed).values()}
        return used - {None}

    assert not seeds(0) & seeds(1000)


def test_finished_members_are_not_trained_again(parts, tmp_path):
    lines = []
    keeping = Setting(tmp_path, n_jobs=1, store=tmp_path, say=lines.append)
    rankers = {"RankSVM": members(0)["RankSVM"]}
    for _ in range(2):
        train(keeping, rankers, parts, "some")
    assert sum("trained" in line for line in lines) == 3


def test_known_collections_are_taken_or_whatever_there_is():
    sources = {"OHSUMED": None, "mine": None}
    assert available(sources, ["ClueWeb09", "OHSUMED"]) == ["OHSUMED"]
    assert available(sources, ["ClueWeb09"]) == ["OHSUMED", "mine"]
