import re
from dataclasses import replace

import numpy as np
import pytest
from vespa_columns import columns_of, with_columns

from localrank.data import RankingDataset
from localrank.export import ExportedModel, NotExportable, Vespa
from localrank.formulas import (
    Column,
    Linear,
    Net,
    OnColumns,
    Routed,
    ServiceRouter,
    Standardised,
    TreeSum,
    WeightedSum,
)
from localrank.rankers import LambdaMART

N_FEATURES = 8


def exported(formula, names=None):
    names = names or tuple(f"f{number}" for number in range(1, N_FEATURES + 1))
    return ExportedModel("web", formula, tuple(names), {"ranker": "SomeRanker"})


def profile_of(formula):
    return Vespa().files(exported(formula))["schemas/web/web.profile"]


def emulated(formula, dataset):
    return Vespa().scores(Vespa().files(exported(formula)), dataset)


@pytest.fixture(scope="module")
def gapped(queries) -> RankingDataset:
    """Queries with ties and missing values."""
    rng = np.random.default_rng(5)
    features = queries.features.round(1)
    features[rng.random(features.shape) < 0.1] = np.nan
    features[:, 0] = np.nan_to_num(features[:, 0])
    return queries.with_features(features)


@pytest.fixture(scope="module")
def trees(queries) -> TreeSum:
    return LambdaMART(20, n_leaves=6).fit(queries).formula()


@pytest.fixture
def linear(rng) -> Linear:
    weights = rng.normal(size=N_FEATURES)
    weights[2] = 0
    return Linear(weights, 0.3)


@pytest.fixture
def net(rng) -> Net:
    return Net(
        rng.normal(size=(4, N_FEATURES)),
        rng.normal(size=4),
        rng.normal(size=4),
        rng.normal(size=N_FEATURES),
        rng.normal(size=N_FEATURES),
        rng.uniform(0.1, 0.5, size=N_FEATURES),
        2.5,
    )


@pytest.fixture(scope="module")
def on_columns(gapped) -> OnColumns:
    term = LambdaMART(30, n_leaves=8).fit(with_columns(gapped)).formula()
    return OnColumns(columns_of(N_FEATURES), term, with_columns)


def test_trees_are_exact(trees, queries):
    np.testing.assert_array_equal(emulated(trees, queries), trees.score(queries))


def test_trees_are_exact_where_values_are_missing(gapped):
    trees = LambdaMART(20).fit(gapped).formula()
    np.testing.assert_array_equal(emulated(trees, gapped), trees.score(gapped))


def test_linear_models_are_exact_up_to_rounding(linear, queries):
    np.testing.assert_allclose(emulated(linear, queries), linear.score(queries), atol=1e-14)
    assert "feature_f3" not in profile_of(linear)


def test_models_without_features_are_their_constant(queries):
    scores = emulated(Linear(np.zeros(N_FEATURES), 2.5), queries)
    np.testing.assert_array_equal(scores, np.full(queries.n_documents, 2.5))


def test_sums_of_trees_nets_and_linear_models_are_exact_up_to_rounding(trees, linear, net, queries):
    other = replace(net, most=1.0, bias=-net.bias)
    both = WeightedSum((trees, linear, net, other), np.array([1.0, -0.5, 2.0, 3.0]), 0.25)
    np.testing.assert_allclose(emulated(both, queries), both.score(queries), rtol=1e-12, atol=1e-12)


def test_coordinates_within_the_query_are_exact(on_columns, gapped):
    np.testing.assert_array_equal(emulated(on_columns, gapped), on_columns.score(gapped))


def test_coordinates_are_computed_in_the_global_phase(on_columns, trees):
    assert "global-phase" in profile_of(on_columns)
    assert "match-features" in profile_of(on_columns)
    assert "global-phase" not in profile_of(trees)


def test_trees_on_products_are_computed_in_the_global_phase(trees, linear, queries):
    columns = tuple(Column("product", number, number) for number in range(N_FEATURES))
    squares = queries.with_features(queries.features**2)
    for term in (LambdaMART(10).fit(squares).formula(), linear):
        formula = OnColumns(columns, term, lambda _: squares)
        assert ("global-phase" in profile_of(formula)) == isinstance(term, TreeSum)
        np.testing.assert_allclose(emulated(formula, queries), formula.score(queries), atol=1e-13)


def test_a_column_of_several_models_is_one_function(linear):
    columns = tuple(Column("min-max", number) for number in range(N_FEATURES))
    each = OnColumns(columns, linear, lambda dataset: dataset)
    profile = profile_of(WeightedSum((each, each), np.ones(2)))
    assert profile.count("normalize_linear(feature_f1)") == 1


def test_trees_stand_in_no_function(on_columns, trees, linear):
    both = WeightedSum((on_columns, trees, linear), np.ones(3))
    functions = re.findall(r"function \w+\(\) {\s*expression: (.*)", profile_of(both))
    assert functions
    assert not [text for text in functions if "lightgbm" in text or "if" in text]


def test_the_query_names_the_group_that_ranks(trees, linear, on_columns, gapped):
    groups = (trees, on_columns, TreeSum(trees.trees))
    router = ServiceRouter(lambda _: np.empty((0, 3)), "it is made up", blends=False)
    files = Vespa().files(exported(Routed(router, groups)))
    for number, group in enumerate(groups):
        np.testing.assert_array_equal(
            Vespa().group_scores(files, gapped, number), group.score(gapped)
        )
    assert "query(group)" in files["README.md"]


def test_features_may_have_any_name(trees, queries):
    names = ["if", "a b", "a.b", "é", "attribute", "x", "lightgbm", "query"]
    files = Vespa().files(exported(trees, names))
    np.testing.assert_array_equal(Vespa().scores(files, queries), trees.score(queries))


def test_fields_of_type_float_round_the_features(linear, queries):
    files = Vespa().files(exported(linear))
    files["schemas/web.sd"] = files["schemas/web.sd"].replace("type double", "type float")
    rounded = queries.with_features(queries.features.astype(np.float32))
    np.testing.assert_allclose(Vespa().scores(files, queries), linear.score(rounded), atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        ("deviation", 'engine-coordinates.*parts="md"'),
        ("percentile", 'parts="md"'),
        ("robust-deviation", 'parts="md"'),
        ("aggregate", 'parts="md"'),
        ("filled", "trees, which handle missing values"),
    ],
)
def test_columns_that_vespa_cannot_make_are_refused(kind, instead, linear):
    made = OnColumns((Column(kind, 0),), linear, lambda dataset: dataset)
    with pytest.raises(NotExportable, match=f"over the hits of a query. Use .*{instead}"):
        profile_of(made)
    # Fixed scales alone would not help.
    with pytest.raises(NotExportable, match=f"over the hits of a query. Use .*{instead}"):
        profile_of(Standardised(made))


def test_the_query_chooses_among_any_number_of_groups(queries):
    routed = Routed(None, tuple(Linear(np.full(1, float(number))) for number in range(301)))
    one = queries.with_features(np.ones((queries.n_documents, 1)))
    files = Vespa().files(ExportedModel("web", routed, ("f1",)))
    for group in (0, 1, 149, 150, 151, 299, 300):
        assert (Vespa().group_scores(files, one, group) == group).all()


def test_scores_standardised_within_the_query_are_refused(linear):
    with pytest.raises(NotExportable, match='standardises.*mean and deviation.*combine="fixed"'):
        profile_of(WeightedSum((Standardised(linear),), np.ones(1)))


def test_coordinates_of_coordinates_are_refused(linear):
    inner = OnColumns((Column("min-max", 0),), linear, lambda dataset: dataset)
    with pytest.raises(NotExportable, match="normalizes over the hits of a query only once"):
        profile_of(OnColumns((Column("min-max", 0),), inner, lambda dataset: dataset))
