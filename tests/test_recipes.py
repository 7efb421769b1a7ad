import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_rel
from sklearn.metrics import adjusted_rand_score

from localrank.aggregation import FixedScale
from localrank.data import make_queries
from localrank.formulas import OnColumns, simplified
from localrank.grouping import Agglomerative, Neighbourhoods, Refined, bisecting_kmeans, kmeans
from localrank.measures import NDCG
from localrank.rankers import (
    GBRT,
    CrossEntropyMART,
    Ensemble,
    LambdaMART,
    ListwiseNet,
    QueryCoordinates,
    RankSVM,
    SVMMap,
)
from localrank.recipes import (
    adaptive_training,
    best,
    engine_coordinates,
    fast,
    global_ensemble,
    global_mixed,
    global_one,
    local_rank,
    one,
    pca_queries,
    query_neighbours,
)
from localrank.representations import RelevantMean, Scaled, TopDocuments, TopScores
from localrank.selection import LSH


@pytest.fixture(scope="module")
def typed():
    """Training and test queries of four types that unlabelled documents tell apart."""
    dataset, types = make_queries(320, separation=3.0, random_state=5)
    return dataset.select(range(240)), dataset.select(range(240, 320)), types[:240]


@pytest.fixture(scope="module")
def few(typed):
    """Enough queries to train the trees and nets of a recipe."""
    train, test, _ = typed
    return train.select(range(60)), test.select(range(20))


def test_one_cluster_or_all_neighbours_give_the_global_models_scores(typed):
    train, test, _ = typed
    for recipe in (local_rank(1, ranker=RankSVM()), pca_queries(1), query_neighbours(1000)):
        expected = RankSVM().fit(train).predict(test)
        assert_array_equal(recipe.fit(train).predict(test), expected)
    assert_array_equal(local_rank(1).fit(train).predict(test), SVMMap().fit(train).predict(test))


@pytest.mark.parametrize("recipe", [local_rank(4, ranker=RankSVM()), pca_queries(4)])
def test_clusters_are_the_hidden_types(typed, recipe, record_property):
    train, _, types = typed
    index = adjusted_rand_score(types, recipe.fit(train).groups_.home)
    record_property("adjusted Rand index", index)
    assert index > 0.9


def test_neighbours_are_of_the_same_type(typed):
    train, _, types = typed
    groups = query_neighbours(30).fit(train).groups_
    same = [np.mean(types[groups[g]] == types[query]) for query, g in enumerate(groups.home)]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize(
    "recipe",
    [
        local_rank(4),
        local_rank(4, ranker=RankSVM()),
        local_rank(4, ranker=RankSVM(), index="lsh"),
        pca_queries(4),
        query_neighbours(40),
    ],
)
def test_local_models_beat_the_global_linear_model_where_types_differ(typed, recipe):
    train, test, _ = typed
    local = NDCG(10)(test, recipe.fit(train).predict(test))
    alone = NDCG(10)(test, recipe.ranker.fit(train).predict(test))
    assert local.mean() > alone.mean()
    assert ttest_rel(local, alone).pvalue < 0.001


def test_scaling_makes_features_of_other_units_count_alike(typed):
    train, _, types = typed
    units = np.ones(train.n_features)
    units[-1] = 1e6
    wide = train.with_features(train.features * units)
    for recipe in (local_rank, pca_queries):
        scaled = recipe(4, ranker=RankSVM(), scaling="standard").fit(wide)
        plain = recipe(4, ranker=RankSVM()).fit(wide)
        assert adjusted_rand_score(types, scaled.groups_.home) > 0.9
        assert adjusted_rand_score(types, plain.groups_.home) < 0.5


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (
            local_rank(3, n_components=2, index="lsh", min_queries=6, n_jobs=2),
            {
                "representation__n_components": 2,
                "grouping__n_clusters": 3,
                "grouping__linkage": "complete",
                "selector__index": "lsh",
                "min_queries": 6,
                "n_jobs": 2,
            },
        ),
        (
            adaptive_training(
                3,
                rounds=4,
                n_documents=7,
                feature="bm25",
                n_folds=5,
                scaling="standard",
                min_queries=6,
                n_jobs=2,
                random_state=8,
            ),
            {
                "representation": Scaled(RelevantMean()),
                "grouping": Refined(kmeans(3, random_state=8), rounds=4, n_folds=5, random_state=8),
                "ranker__random_state": 8,
                "selector__representation": Scaled(TopDocuments(7, feature="bm25")),
                "selector__hard": True,
                "min_queries": 6,
                "n_jobs": 2,
            },
        ),
        (
            adaptive_training(3, grouping="ward"),
            {"grouping__grouping": Agglomerative(3, linkage="ward")},
        ),
        (
            pca_queries(
                3, h=7, n_components=2, scaling="standard", min_queries=6, n_jobs=2, random_state=8
            ),
            {
                "representation": TopScores(7, n_components=2, scaling="standard"),
                "grouping": bisecting_kmeans(3, random_state=8),
                "min_queries": 6,
                "n_jobs": 2,
            },
        ),
        (
            query_neighbours(
                3, n_documents=7, feature="bm25", columns=[1, 2], scaling="standard", n_jobs=2
            ),
            {
                "representation": Scaled(TopDocuments(7, feature="bm25", columns=[1, 2])),
                "grouping": Neighbourhoods(3),
                "n_jobs": 2,
            },
        ),
    ],
)
def test_arguments_reach_their_parts(recipe, expected):
    parameters = recipe.get_params()
    assert {name: repr(parameters[name]) for name in expected} == {
        name: repr(value) for name, value in expected.items()
    }


@pytest.mark.parametrize("recipe", [best, fast])
def test_trees_are_as_asked_for_in_every_model(recipe):
    def trees(ranker):
        if isinstance(ranker, Ensemble):
            return [tree for part in ranker.rankers for tree in trees(part)]
        if isinstance(ranker, QueryCoordinates):
            return trees(ranker.ranker)
        return [] if isinstance(ranker, RankSVM | ListwiseNet) else [ranker]

    models = trees(recipe(40, n_leaves=3, min_leaf_documents=9, random_state=8))
    assert len(models) == (4 if recipe is best else 2)
    assert {(t.n_leaves, t.min_leaf_documents, t.random_state) for t in models} == {(3, 9, 8)}


def test_models_of_the_views_are_trained_at_the_same_time():
    plain, coordinates = best(n_jobs=2).rankers
    assert (plain.n_jobs, coordinates.ranker.n_jobs, fast(n_jobs=2).n_jobs) == (2, 2, 2)


def test_an_unknown_scaling_is_refused():
    with pytest.raises(ValueError, match="'scaling' argument of a recipe must be 'standard'"):
        local_rank(scaling="query")


def test_hashing_may_have_parameters_of_its_own(typed):
    train, test, _ = typed
    exact = local_rank(4, ranker=RankSVM()).fit(train).predict(test)
    hashed = local_rank(4, ranker=RankSVM(), index=LSH(2, 40)).fit(train).predict(test)
    assert np.mean(exact == hashed) > 0.95


def views(n_trees: int, seed: int) -> tuple[list, list]:
    """The models of `best`, on the features and in coordinates, one by one."""
    shared = {"n_leaves": 5, "random_state": seed}
    plain = [LambdaMART(n_trees, **shared), GBRT(n_trees, **shared)]
    shared["feature_fraction"] = 0.18
    local = [LambdaMART(n_trees, **shared), CrossEntropyMART(n_trees // 2, **shared), RankSVM()]
    nets = ListwiseNet(random_state=seed)
    return plain, [*(QueryCoordinates(ranker) for ranker in local), nets]


def test_best_averages_six_models_of_two_views(typed):
    train, test, _ = typed
    plain, coordinates = views(20, seed=3)
    six = Ensemble([*plain, *coordinates]).fit(train)
    recipe = best(20, n_leaves=5, random_state=3).fit(train)
    assert_allclose(recipe.predict(test), six.predict(test), rtol=0, atol=1e-12)


def test_fast_averages_one_model_of_each_view(typed):
    train, test, _ = typed
    plain, coordinates = views(20, seed=3)
    two = Ensemble([plain[0], coordinates[1]]).fit(train)
    recipe = fast(20, n_leaves=5, random_state=3).fit(train)
    assert_array_equal(recipe.predict(test), two.predict(test))


def fixed(ranker):
    return Ensemble([ranker], aggregator=FixedScale())


def test_best_with_fixed_scales_is_a_weighted_sum_of_six_models(typed):
    train, test, _ = typed
    plain, coordinates = views(20, seed=3)
    six = [fixed(model).fit(train).predict(test) for model in [*plain, *coordinates]]
    recipe = best(20, n_leaves=5, combine="fixed", random_state=3).fit(train)
    assert_allclose(recipe.predict(test), np.mean(six, axis=0), rtol=1e-9)


def test_other_recipes_with_fixed_scales_are_weighted_sums_too(typed):
    train, test, _ = typed
    shared = {"n_trees": 20, "random_state": 3}
    plain, coordinates = views(20, seed=3)
    trees = [LambdaMART(20, random_state=seed) for seed in (3, 4)]
    made = [
        (fast(20, n_leaves=5, combine="fixed", random_state=3), [plain[0], coordinates[1]]),
        (global_mixed(5, combine="fixed", **shared), global_mixed(5, **shared).rankers),
        (global_ensemble(2, ranker=trees[0], combine="fixed", random_state=3), trees),
        (global_ensemble(2, ranker=RankSVM(), combine="fixed"), [RankSVM(), RankSVM()]),
    ]
    for recipe, members in made:
        expected = np.mean([fixed(model).fit(train).predict(test) for model in members], axis=0)
        assert_allclose(recipe.fit(train).predict(test), expected, rtol=1e-9)


@pytest.mark.parametrize("recipe", [best, fast, global_mixed, global_ensemble])
def test_another_way_to_combine_is_refused(recipe):
    message = "'combine' argument of a recipe must be 'standardised' or 'fixed'. Got 'mean'"
    with pytest.raises(ValueError, match=message):
        recipe(combine="mean")
    assert repr(recipe(combine="standardised")) == repr(recipe())


def test_engine_coordinates_are_a_weighted_sum_of_six_models_of_two_views(typed):
    train, test, _ = typed
    trees = {"n_leaves": 5, "random_state": 3}
    plain = [LambdaMART(20, **trees), GBRT(20, **trees), RankSVM()]
    trees["feature_fraction"] = 0.25
    local = [LambdaMART(20, **trees), CrossEntropyMART(10, **trees), RankSVM()]
    models = [*plain, *(QueryCoordinates(ranker, parts="md") for ranker in local)]
    expected = np.mean([fixed(model).fit(train).predict(test) for model in models], axis=0)
    recipe = engine_coordinates(20, n_leaves=5, random_state=3).fit(train)
    assert recipe.n_models_ == 6
    assert_allclose(recipe.predict(test), expected, rtol=1e-9)


def test_engine_coordinates_export_as_trees_and_linear_models_on_made_columns(typed):
    train, test, _ = typed
    ranker = engine_coordinates(5).fit(train)
    formula = simplified(ranker.formula())
    assert_allclose(formula.score(test), ranker.predict(test), rtol=1e-9)
    kinds = {type(step).__name__ for step in formula.walk()}
    assert kinds == {"WeightedSum", "TreeSum", "Linear", "OnColumns"}
    (made,) = [step for step in formula.walk() if isinstance(step, OnColumns)]
    assert {column.kind for column in made.columns} == {"feature", "min-max", "rank-difference"}


def test_one_learns_the_scores_of_best(typed):
    train, test, _ = typed
    scores = best(20, random_state=3).fit(train).predict(train)
    trees = GBRT(40, n_leaves=9, feature_fraction=0.18, random_state=3)
    student = QueryCoordinates(trees).fit(train.replaced(relevance=train.in_query_order(scores)))
    recipe = one(20, n_leaves=9, random_state=3).fit(train)
    assert recipe.n_models_ == 1
    assert_allclose(recipe.predict(test), student.predict(test), rtol=0, atol=1e-9)


def test_global_one_learns_the_scores_of_six_mixed_models(typed):
    train, test, _ = typed
    scores = global_mixed(6, n_trees=20, random_state=3).fit(train).predict(train)
    trees = GBRT(40, n_leaves=9, random_state=3)
    student = trees.fit(train.replaced(relevance=train.in_query_order(scores)))
    recipe = global_one(20, n_leaves=9, random_state=3).fit(train)
    assert_allclose(recipe.predict(test), student.predict(test), rtol=0, atol=1e-9)


@pytest.mark.parametrize("recipe", [best, fast, one, engine_coordinates])
def test_views_do_not_depend_on_jobs_and_do_on_the_seed(few, recipe):
    train, test = few
    scores = recipe(20).fit(train).predict(test)
    assert_array_equal(recipe(20, n_jobs=2).fit(train).predict(test), scores)
    assert not np.array_equal(recipe(20, random_state=1).fit(train).predict(test), scores)


@pytest.mark.parametrize("recipe", [best, fast, one, global_one, engine_coordinates])
@pytest.mark.parametrize("n_trees", [0, 2.5, "many"])
def test_a_number_of_trees_that_cannot_be_is_refused(typed, recipe, n_trees):
    with pytest.raises(ValueError, match=f"'n_trees' .* whole number.* Got '?{n_trees}'? instead"):
        recipe(n_trees).fit(typed[0])


@pytest.mark.parametrize("recipe", [best, fast, engine_coordinates])
def test_a_single_tree_is_enough_to_train(typed, recipe):
    train, test, _ = typed
    assert np.isfinite(recipe(1).fit(train).predict(test)).all()


@pytest.mark.parametrize("recipe", [best, fast, one, engine_coordinates])
def test_validation_queries_change_no_model(few, recipe):
    train, test = few
    given = recipe(30).fit(train, valid=test)
    assert_array_equal(given.predict(test), recipe(30).fit(train).predict(test))
