"""Every ranker and recipe that declares itself has a formula that scores as it does, or says why
it has none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import RANKERS
from sklearn.exceptions import NotFittedError

import localrank
from localrank import rankers, recipes
from localrank._base.estimator import clone
from localrank.aggregation import Borda, FixedScale, MeanScore, MedianRank, ZScore
from localrank.formulas import (
    Column,
    Linear,
    NotExportable,
    OnColumns,
    Standardised,
    TreeSum,
    WeightedSum,
    simplified,
)
from localrank.rankers import (
    MLR,
    BestFeature,
    Ensemble,
    LambdaMART,
    ListwiseNet,
    MultipleHyperplaneRanker,
    Quadratic,
    QueryCoordinates,
    RankBoost,
    RankSVM,
)
from localrank.registry import make_sample

# Rankers without a formula, with some words of the reason.
WITHOUT = {
    "DuhKirchhoff": "trains a model for each list",
    "LGMML": "distances x to anchors",
    "McRank": "softmax of 5 sums of trees",
    "MultipleHyperplaneRanker": "positions of documents",
    "NeighbourColumns": "compares the vectors of a query's documents",
    "NestedRanker": "stage by stage",
    "ReciprocalRankFusion": "no formula that a search engine knows",
    "SmoothedFusion": "compares the vectors of a query's documents",
}
# Rankers that compute in single precision.
NETS = ("ListNet", "RankNet", "ListwiseNet", "best", "hybrid")


def with_holes(dataset):
    """One feature is missing in some documents, another in whole lists and so in some groups."""
    features = dataset.features.copy()
    features[np.random.default_rng(1).random(dataset.n_documents) < 0.3, 1] = np.nan
    features[dataset.query_index % 4 == 0, 2] = np.nan
    return dataset.with_features(features, dataset.feature_names)


@pytest.fixture(scope="module")
def holed(queries):
    return with_holes(queries)


def check_scores(formula, ranker, dataset, tolerance):
    expected = ranker.predict(dataset)
    largest = np.abs(expected).max()
    assert_allclose(formula.score(dataset), expected, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("data", ["queries", "holed"])
@pytest.mark.parametrize("name", RANKERS)
def test_the_formula_scores_as_the_ranker_does_or_there_is_a_reason(
    name, data, trained, request, tmp_path
):
    dataset = request.getfixturevalue(data)
    ranker = trained(name, dataset)
    if name in WITHOUT:
        with pytest.raises(NotExportable, match=WITHOUT[name]) as error:
            ranker.formula()
        assert error.value.instead.endswith(".")
        return
    formula = ranker.formula()
    tolerance = 1e-6 if name in NETS else 1e-9
    single = dataset.with_features(dataset.features.astype(np.float32), dataset.feature_names)
    for lists in (dataset, single):
        check_scores(formula, ranker, lists, tolerance)
        check_scores(simplified(formula), ranker, lists, tolerance)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.formula().score(dataset), formula.score(dataset))


@pytest.mark.parametrize("name", ["McRank", "LGMML", "MultipleHyperplaneRanker"])
def test_what_is_said_to_take_instead_can_be_exported(name, queries):
    students = {
        "McRank": LambdaMART(5, min_leaf_documents=5),
        "LGMML": rankers.Distilled(make_sample(rankers.LGMML), rankers.GBRT(5)),
        "MultipleHyperplaneRanker": MultipleHyperplaneRanker(aggregator=ZScore()),
    }
    check_scores(students[name].fit(queries).formula(), students[name], queries, 1e-9)


def test_an_unfitted_ranker_has_no_formula():
    with pytest.raises(NotFittedError):
        RankSVM().formula()


@pytest.mark.parametrize("scaling", ["standard", "query", None])
@pytest.mark.parametrize("ranker", [RankSVM(), rankers.TopicalRankSVM(2, n_used=1)], ids=repr)
def test_every_scaling_of_a_linear_ranker_is_in_its_formula(ranker, scaling, queries):
    ranker = clone(ranker).set_params(scaling=scaling).fit(queries)
    check_scores(ranker.formula(), ranker, queries, 1e-12)


def test_scaling_within_the_query_makes_columns_of_the_list(queries):
    formula = RankSVM(scaling="query").fit(queries).formula()
    assert formula.columns == tuple(Column("min-max-zero", i) for i in range(8))
    assert formula.looks_at_list
    assert not RankSVM().fit(queries).formula().looks_at_list


def test_missing_values_in_training_make_columns_of_the_list(queries):
    holed = with_holes(queries)
    formula = RankSVM().fit(holed).formula()
    kinds = [(column.kind, column.feature) for column in formula.columns]
    assert kinds == [*(("filled", i) for i in range(8)), ("missing", 1), ("missing", 2)]
    assert isinstance(LambdaMART(5).fit(holed).formula(), TreeSum)


def test_groups_that_miss_nothing_fill_as_the_others_do(queries):
    holed = with_holes(queries)
    ranker = make_sample(recipes.query_blend).fit(holed)
    has_filling = {hasattr(model, "filling_") for model in ranker.models_}
    assert has_filling == {True, False}
    assert all(isinstance(group, OnColumns) for group in ranker.formula().groups)


def test_members_fill_what_the_ensemble_sees(queries):
    holed = with_holes(queries)
    ranker = Ensemble([LambdaMART(5, min_leaf_documents=5), RankSVM()]).fit(holed)
    trees, linear = ranker.formula().terms
    assert isinstance(trees.term, TreeSum)
    assert isinstance(linear.term, OnColumns)
    assert isinstance(linear.term.term, Linear)


def test_an_ensemble_weighs_its_members_alike(queries):
    members = [LambdaMART(5, min_leaf_documents=5), RankSVM(), RankSVM(C=10.0)]
    standardised = Ensemble(members).fit(queries).formula()
    assert isinstance(standardised, WeightedSum)
    assert all(isinstance(term, Standardised) for term in standardised.terms)
    assert_allclose(standardised.weights, np.full(3, 1 / 3))
    plain = Ensemble(members, aggregator=MeanScore()).fit(queries)
    check_scores(plain.formula(), plain, queries, 1e-12)
    assert not plain.formula().looks_at_list
    trees, linear = simplified(plain.formula()).terms
    assert isinstance(trees, TreeSum)
    assert isinstance(linear, Linear)


def test_an_ensemble_on_fixed_scales_looks_at_one_document(queries):
    members = [LambdaMART(5, min_leaf_documents=5), LambdaMART(3, min_leaf_documents=5)]
    ranker = Ensemble(members, aggregator=FixedScale()).fit(queries)
    formula = simplified(ranker.formula())
    assert isinstance(formula, TreeSum)
    check_scores(formula, ranker, queries, 1e-12)


@pytest.mark.parametrize("aggregator", [Borda(), MedianRank()], ids=repr)
def test_an_ensemble_of_places_has_no_formula(aggregator, queries):
    ranker = Ensemble([RankSVM()], aggregator=aggregator).fit(queries)
    with pytest.raises(NotExportable, match="Ensemble with .* ZScore"):
        ranker.formula()


@pytest.mark.parametrize("ranker", [Quadratic(RankSVM()), QueryCoordinates(RankSVM())], ids=repr)
def test_columns_are_as_many_as_those_that_are_made(ranker, queries):
    formula = clone(ranker).fit(queries).formula()
    assert len(formula.columns) == formula.make(queries).n_features == len(formula.term.weights)


def test_the_best_feature_has_its_direction():
    X, y = [[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [2, 1, 0]
    ranker = BestFeature(both_directions=True).fit(X, y, qid=[1, 1, 1])
    assert_array_equal(ranker.formula().weights, [-1.0, 0.0])


def test_the_best_feature_is_refused_where_documents_lack_it():
    X, y = [[1.0, 5.0], [2.0, np.nan], [3.0, 5.0]], [0, 1, 2]
    ranker = BestFeature().fit(X, y, qid=[1, 1, 1])
    assert not ranker.missing_
    assert_array_equal(ranker.formula().weights, [1.0, 0.0])
    holed = [[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]]
    with pytest.raises(NotExportable, match="lack the feature"):
        BestFeature().fit(holed, y, qid=[1, 1, 1]).formula()


def test_rank_boost_is_a_tree_for_each_feature_it_uses(queries):
    ranker = RankBoost(40).fit(queries)
    trees = ranker.formula().trees
    assert trees.n_trees == len(set(ranker.features_.tolist())) < ranker.n_rounds_
    steps = sum(
        len(set(ranker.thresholds_[ranker.features_ == feature].tolist()))
        for feature in set(ranker.features_.tolist())
    )
    assert len(trees.thresholds) == steps


def test_rank_boost_without_rounds_scores_nothing():
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="found no feature"):
        ranker = RankBoost().fit(X, y, qid=[1, 1, 2, 2])
    dataset = localrank.data.RankingDataset.from_arrays(X, qid=[1, 1, 2, 2])
    assert_array_equal(ranker.formula().score(dataset), np.zeros(4))


@pytest.mark.parametrize("missing", [False, True])
def test_nets_on_the_features_standardise_their_scores_alone(missing, queries):
    dataset = with_holes(queries) if missing else queries
    ranker = ListwiseNet(2, n_units=4, coordinates=False).fit(dataset)
    check_scores(ranker.formula(), ranker, dataset, 1e-6)


@pytest.mark.parametrize(("missing", "scaling"), [(True, "standard"), (False, None)])
def test_a_metric_is_a_weighted_sum_of_products(missing, scaling, queries):
    dataset = with_holes(queries) if missing else queries
    ranker = MLR(scaling=scaling).fit(dataset)
    formula = ranker.formula()
    check_scores(formula, ranker, dataset, 1e-10)
    assert formula.looks_at_list == missing


def test_a_distance_to_the_query_has_no_formula(queries):
    ranker = MLR(query_vectors=[0, 1, 2, 3])
    features = queries.features.copy()
    features[:, :4] = features[queries.offsets[:-1], :4][queries.query_index]
    ranker.fit(queries.with_features(features))
    with pytest.raises(NotExportable, match="vector of the query.*query_vectors=None"):
        ranker.formula()
