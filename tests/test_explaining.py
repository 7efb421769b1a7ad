"""What every ranker promises about its explanations, and its ranked lists."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from samples import RANKERS
from sklearn.exceptions import NotFittedError

from localrank import rankers, recipes
from localrank.aggregation import (
    Borda,
    FixedScale,
    MarkovChain,
    MeanScore,
    MedianRank,
    WeightedBorda,
    ZScore,
)
from localrank.data import RankingDataset, read_table
from localrank.data import dataset as datasets
from localrank.rankers import (
    GBRT,
    BestFeature,
    Ensemble,
    LambdaMART,
    ListwiseLinear,
    Quadratic,
    QueryCoordinates,
    RankBoost,
    RankSVM,
)
from localrank.rankers._contributions import TOGETHER

# Their scores are no sums over features, or are made of places alone.
NOT_ADDITIVE = {"LGMML", "DuhKirchhoff", "MultipleHyperplaneRanker", "McRank", "NestedRanker"}
# Nothing in them weighs features.
WITHOUT_IMPORTANCES = {"LGMML", "DuhKirchhoff"}


def additive(names):
    return sorted(set(RANKERS) - names)


# They score in single precision, and some processors add up the rows of a block differently.
NETS = {"ListwiseNet", "RankNet", "best", "hybrid"}


@pytest.mark.parametrize("name", additive(NOT_ADDITIVE))
def test_contributions_sum_to_the_scores(name, trained, queries):
    ranker = trained(name)
    order = np.random.default_rng(0).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    for dataset in (queries, mixed):
        contributions = ranker.contributions(dataset)
        assert contributions.values.shape == (queries.n_documents, queries.n_features)
        sums = contributions.base + contributions.together + contributions.values.sum(axis=1)
        scores = ranker.predict(dataset)
        assert_allclose(sums, scores, rtol=1e-9, atol=1e-9 * np.abs(contributions.values).max())
        assert_allclose(contributions.scores, sums, rtol=1e-12, atol=1e-12)
    values = ranker.contributions(queries).values
    rounding = np.abs(values).max() * (4 * np.finfo(np.float32).eps if name in NETS else 1e-9)
    assert_allclose(ranker.contributions(mixed).values, values[order], rtol=0, atol=rounding)


@pytest.mark.parametrize("name", additive(NOT_ADDITIVE))
def test_the_base_is_one_for_a_query(name, trained, queries):
    base = trained(name).contributions(queries).base
    assert_allclose(base, base[queries.offsets[:-1]][queries.query_index], atol=1e-12)


@pytest.mark.parametrize("name", additive(NOT_ADDITIVE))
def test_centred_contributions_have_mean_zero_and_the_same_sums(name, trained, queries):
    centred = trained(name).contributions(queries).centred()
    sums = np.add.reduceat(centred.entries, queries.offsets[:-1])
    size = np.abs(centred.entries).max()
    assert_allclose(sums, 0.0, atol=1e-9 * size)
    assert_allclose(centred.scores, trained(name).predict(queries), atol=1e-9 * size)


@pytest.mark.parametrize("name", sorted(NOT_ADDITIVE))
def test_rankers_without_contributions_say_so_and_what_to_do(name, trained, queries):
    with pytest.raises(ValueError, match="no exact contributions .*permutation_importance"):
        trained(name).contributions(queries)


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_importances_are_shares_or_absent(name, trained, queries):
    ranker = trained(name)
    assert hasattr(ranker, "feature_importances_") == (name not in WITHOUT_IMPORTANCES)
    if name in WITHOUT_IMPORTANCES:
        with pytest.raises(AttributeError, match="permutation_importance"):
            ranker.feature_importances_
        return
    shares = ranker.feature_importances_
    assert shares.shape == (queries.n_features,)
    assert (shares >= 0).all()
    assert 0 < shares.sum() <= 1 + 1e-12


def test_an_unfitted_ranker_explains_nothing(queries):
    for call in (RankSVM().contributions, RankSVM().rank):
        with pytest.raises(NotFittedError):
            call(queries)
    with pytest.raises(NotFittedError):
        RankSVM().feature_importances_


def test_contributions_check_what_they_are_given(queries):
    ranker = RankSVM().fit(queries)
    with pytest.raises(ValueError, match="was fitted on 8 features. The dataset has 7"):
        ranker.contributions(queries.features[:, :7], qid=queries.query_index)


def test_a_linear_rankers_are_weight_times_value(queries):
    ranker = RankSVM(scaling=None).fit(queries)
    contributions = ranker.contributions(queries)
    assert_allclose(contributions.values, queries.features * ranker.coef_)
    assert_array_equal(contributions.base, 0.0)
    assert_allclose(ranker.feature_importances_, np.abs(ranker.coef_) / np.abs(ranker.coef_).sum())


def test_rank_boosts_are_the_weak_rankers_of_each_feature(queries):
    ranker = RankBoost(30).fit(queries)
    values = np.zeros(queries.features.shape)
    for feature, threshold, alpha in zip(
        ranker.features_, ranker.thresholds_, ranker.alphas_, strict=True
    ):
        values[:, feature] += alpha * (queries.features[:, feature] > threshold)
    assert_allclose(ranker.contributions(queries).values, values, atol=1e-12)


def test_trees_give_lightgbms_contributions(queries):
    ranker = LambdaMART(20, min_leaf_documents=5).fit(queries)
    expected = ranker.booster.predict(queries.features, pred_contrib=True, num_threads=1)
    contributions = ranker.contributions(queries)
    assert_allclose(contributions.values, expected[:, :-1], atol=1e-12)
    assert_allclose(contributions.base, expected[:, -1])
    gains = ranker.booster.feature_importance("gain")
    assert_allclose(ranker.feature_importances_, gains / gains.sum(), rtol=1e-6)


def test_trees_explain_missing_values(queries):
    features = queries.features.copy()
    features[::3, 1] = np.nan
    holed = queries.with_features(features, queries.feature_names)
    ranker = GBRT(20, min_leaf_documents=5).fit(holed)
    expected = ranker.booster.predict(features, pred_contrib=True, num_threads=1)
    assert_allclose(ranker.contributions(holed).values, expected[:, :-1], atol=1e-12)


def test_a_standardised_ensemble_divides_by_the_deviation_of_each_query(queries):
    members = [RankSVM(), ListwiseLinear(l2=1.0)]
    ensemble = Ensemble(members).fit(queries)
    expected = np.zeros(queries.features.shape)
    for member in ensemble.rankers_:
        values, scores = member.contributions(queries).values, member.predict(queries)
        for begin, end in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
            centred = values[begin:end] - values[begin:end].mean(axis=0)
            expected[begin:end] += centred / scores[begin:end].std() / 2
    contributions = ensemble.contributions(queries)
    assert_allclose(contributions.values, expected, atol=1e-12)
    assert_allclose(contributions.base, 0.0, atol=1e-12)


def test_a_list_of_one_score_has_no_say_in_a_standardised_ensemble(queries):
    one = queries.select([3])
    flat = one.with_features(np.ones_like(one.features), one.feature_names)
    contributions = Ensemble([RankSVM(), RankBoost(5)]).fit(queries).contributions(flat)
    assert_array_equal(contributions.values, 0.0)


@pytest.mark.parametrize("aggregator", [Borda(), WeightedBorda(), MarkovChain(), MedianRank()])
def test_aggregators_of_places_have_no_contributions(aggregator, queries):
    ensemble = Ensemble([RankSVM(), BestFeature()], aggregator=aggregator).fit(queries)
    name = type(aggregator).__name__
    with pytest.raises(ValueError, match=f"Ensemble with {name} .* does not add up scores"):
        ensemble.contributions(queries)
    assert ensemble.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("aggregator", [ZScore(), MeanScore(), FixedScale()])
def test_a_member_without_contributions_is_named(aggregator, queries):
    members = [RankSVM(), rankers.LGMML(n_metrics=5)]
    ensemble = Ensemble(members, aggregator=aggregator).fit(queries)
    with pytest.raises(ValueError, match="LGMML has no exact contributions"):
        ensemble.contributions(queries)
    assert not hasattr(ensemble, "feature_importances_")


def test_columns_of_coordinates_count_for_their_feature(queries):
    ranker = QueryCoordinates(LambdaMART(20, min_leaf_documents=5)).fit(queries)
    inner = ranker.ranker_.contributions(ranker.expanded(queries))
    names = list(ranker.ranker_.feature_names_in_)
    of_f3 = [name for name in names if name.split(" (")[0] == "f3"]
    assert of_f3 == ["f3", "f3 (z)", "f3 (p)", "f3 (b)"]
    columns = [names.index(name) for name in of_f3]
    contributions = ranker.contributions(queries)
    assert_allclose(contributions.values[:, 2], inner.values[:, columns].sum(axis=1), atol=1e-12)
    aggregates = [i for i, name in enumerate(names) if not name.startswith("f")]
    assert len(aggregates) == 9
    assert_allclose(contributions.together, inner.values[:, aggregates].sum(axis=1), atol=1e-12)
    shares = ranker.ranker_.feature_importances_
    assert ranker.feature_importances_[2] == pytest.approx(shares[columns].sum())
    assert ranker.feature_importances_.sum() == pytest.approx(1 - shares[aggregates].sum())


@pytest.mark.parametrize("parts", ["z", "ba", "abpz", "dm", "mad"])
def test_any_parts_of_coordinates_are_given_back(parts, queries):
    ranker = QueryCoordinates(RankSVM(), parts=parts).fit(queries)
    contributions = ranker.contributions(queries)
    assert_allclose(contributions.scores, ranker.predict(queries), atol=1e-9)
    assert ("a" in parts) == (contributions.together != 0).any()


def test_the_order_of_the_parts_of_coordinates_does_not_matter(queries):
    one, other = (
        QueryCoordinates(RankSVM(), parts=parts).fit(queries).contributions(queries)
        for parts in ("zpab", "abpz")
    )
    assert_array_equal(one.entries, other.entries)


def test_large_expansions_are_explained_block_by_block(queries, monkeypatch):
    ranker = QueryCoordinates(RankSVM()).fit(queries)
    expected = ranker.contributions(queries)
    monkeypatch.setattr(datasets, "SCORED_BYTES", 1)
    assert_allclose(ranker.contributions(queries).entries, expected.entries, atol=1e-12)


def test_products_count_half_for_either_feature(queries):
    ranker = Quadratic(RankSVM(C=0.1)).fit(queries)
    inner = ranker.ranker_.contributions(ranker.expanded(queries)).values
    names = list(ranker.ranker_.feature_names_in_)
    expected = np.zeros(queries.n_documents)
    for column, name in enumerate(names):
        factors = name.split("*")
        if name in ("f3", "f3^2"):
            expected += inner[:, column]
        elif "f3" in factors:
            expected += inner[:, column] / 2
    assert_allclose(ranker.contributions(queries).values[:, 2], expected, atol=1e-12)


def test_expansions_may_be_nested(queries):
    ranker = Quadratic(QueryCoordinates(RankSVM(C=0.1), parts="a")).fit(queries)
    contributions = ranker.contributions(queries)
    size = np.abs(contributions.entries).max()
    assert_allclose(contributions.scores, ranker.predict(queries), atol=1e-9 * size)


def test_a_local_model_adds_up_its_groups(queries):
    recipe = recipes.adaptive_training(n_clusters=3, ranker=RankSVM(), select="fusion")
    ranker = recipe.fit(queries)
    weights = ranker.selector_.weights(queries, ranker.models_)[queries.query_index]
    assert ((weights > 0) & (weights < 1)).any()
    parts = [model.contributions(queries).values for model in ranker.models_]
    expected = sum(weight[:, None] * part for weight, part in zip(weights.T, parts, strict=True))
    assert_allclose(ranker.contributions(queries).values, expected, atol=1e-12)
    shares = [model.feature_importances_ for model in ranker.models_]
    means = np.average(shares, axis=0, weights=ranker.groups_.sizes)
    assert_allclose(ranker.feature_importances_, means)


def test_the_largest_contributions_come_first(queries):
    contributions = RankSVM().fit(queries).contributions(queries)
    largest = contributions.largest(3)
    sizes = np.take_along_axis(np.abs(contributions.entries), largest, axis=1)
    assert (np.diff(sizes, axis=1) <= 0).all()
    assert_array_equal(sizes[:, 0], np.abs(contributions.entries).max(axis=1))
    assert contributions.names[-1] == TOGETHER


def rows_of(printed):
    """The rows of the one table that is printed, which stand below its rule."""
    _, rows = re.split("─+\n", repr(printed))
    return rows.splitlines()


def test_a_preference_tells_the_difference_of_two_documents(queries):
    order = np.random.default_rng(1).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    ranker = RankSVM().fit(queries)
    qid = queries.query_index[order]
    above, below = np.flatnonzero(qid == 4)[:2]
    contributions = ranker.contributions(mixed)
    told = contributions.why(above, below)
    scores = ranker.predict(mixed)
    assert told.scores == pytest.approx((scores[above], scores[below]))
    assert told.values.sum() == pytest.approx(scores[above] - scores[below])
    assert (np.diff(np.abs(told.values)) <= 0).all()
    column = queries.feature_names.index(told.names[0])
    assert (
        told.values[0] == contributions.values[above, column] - contributions.values[below, column]
    )
    assert_array_equal(told.features[:, 0], queries.features[order][[above, below], column])
    place = "above" if scores[above] > scores[below] else "below"
    assert f"document {above} is {place} document {below}" in repr(told)
    assert rows_of(told)[0].startswith(f" {told.names[0]} ")


def test_a_preference_prints_at_most_ten_features_and_what_is_left():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 15)), np.repeat([1, 2], 20)
    ids = [f"d{i}" for i in range(40)]
    dataset = RankingDataset.from_arrays(X, X[:, 0] > 0, qid, document_ids=ids)
    told = RankSVM().fit(dataset).contributions(dataset).why("d3", "d7")
    assert repr(told).startswith("Query 1: document d3 is")
    rows = rows_of(told)
    assert len(rows) == 11
    assert rows[-1].startswith(" 5 others ")


def test_contributions_print_the_features_that_decide_rankings(queries):
    contributions = RankSVM().fit(queries).contributions(queries)
    distances = np.abs(contributions.centred().values).mean(axis=0)
    assert rows_of(contributions)[0].split() == [
        queries.feature_names[distances.argmax()],
        f"{distances.max():.4g}",
    ]
    assert "<table" in contributions._repr_html_()
    assert "<table" in contributions.why(0, 1)._repr_html_()


def test_documents_of_different_queries_are_not_compared(queries):
    contributions = RankSVM().fit(queries).contributions(queries)
    last = queries.n_documents - 1
    with pytest.raises(ValueError, match="Document 0 is in query 1, document .* in query 60"):
        contributions.why(0, last)
    with pytest.raises(
        ValueError, match=f"has no document -1.* Its {last + 1} .* are 0, 1, 2, .* positions in the"
    ):
        contributions.why(-1, 0)


@pytest.fixture(scope="module")
def shop():
    """Two queries that share a document, with ids that are numbers but not positions."""
    X = np.array([[1.0, 0.0], [2.0, 3.0], [3.0, 1.0], [0.0, 1.0], [2.0, 2.0]])
    return RankingDataset.from_arrays(
        X, [0, 1, 2, 0, 1], ["tea", "tea", "tea", "rice", "rice"], document_ids=[4, 3, 2, 0, 4]
    )


@pytest.mark.parametrize("kind", [int, str])
def test_documents_with_ids_are_given_by_their_ids(kind, shop):
    ranker = RankSVM().fit(shop)
    contributions = ranker.contributions(shop)
    scores = ranker.predict(shop)
    told = contributions.why(kind(2), kind(3))
    assert (told.query, told.above, told.below) == ("tea", 2, 3)
    assert told.values.sum() == pytest.approx(scores[2] - scores[1])
    assert sorted(told.features[0, :2]) == [1.0, 3.0]
    # Only one query has both.
    assert contributions.why(kind(4), kind(0)).query == "rice"
    assert ranker.explain(shop, "tea").why(kind(4), kind(2)).scores == pytest.approx(scores[[0, 2]])


def test_a_document_that_is_not_there_is_an_error_with_what_is_there(shop):
    ranker = RankSVM().fit(shop)
    contributions = ranker.contributions(shop)
    with pytest.raises(ValueError, match="The data has no document 1. .* are 4, 3, 2, ...$"):
        contributions.why(1, 2)
    with pytest.raises(ValueError, match=r"Query tea has no document 0. .* 3 .* are 4, 3, 2\.$"):
        contributions.why(2, 0, query="tea")
    with pytest.raises(ValueError, match="no query 'teas'. Did you mean 'tea'?.* tea, rice.$"):
        contributions.why(2, 3, query="teas")
    with pytest.raises(ValueError, match="Document 2 is in query tea, document 0 in query rice"):
        contributions.why(2, 0)


def test_a_pair_of_several_queries_or_of_documents_alike_in_name_needs_more(shop):
    twice = shop.replaced(document_ids=np.array(["a", "b", "b", "a", "b"]))
    contributions = RankSVM().fit(shop).contributions(twice)
    with pytest.raises(ValueError, match=r"2 queries have .* why\('a', 'b', query='tea'\)"):
        contributions.why("a", "b")
    with pytest.raises(ValueError, match="Query tea has 2 documents with the id b"):
        contributions.why("a", "b", query="tea")
    assert contributions.why("a", "b", query="rice").query == "rice"


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_ranker_explains_a_query(name, trained, queries):
    ranker, query = trained(name), queries.query_ids[5]
    order = np.random.default_rng(2).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    told = ranker.explain(mixed, str(query))
    positions = np.flatnonzero(queries.query_index[order] == 5)
    assert told.query == query
    assert_array_equal(told.document_ids, positions)
    assert_array_equal(told.labels, queries.labels[order][positions])
    assert_allclose(told.scores, ranker.predict(mixed)[positions], rtol=1e-12, atol=1e-12)
    assert told.member_scores.shape == (len(positions), len(told.members))
    assert (told.contributions is None) == (name in NOT_ADDITIVE)
    assert f"{told.document_ids[told.scores.argmax()]} " in repr(told)
    above, below = positions[np.argsort(-told.scores)[[0, -1]]]
    if name in NOT_ADDITIVE:
        assert told.no_contributions in " ".join(repr(told).split())
        with pytest.raises(ValueError, match="no exact contributions"):
            told.why(above, below)
        return
    assert_allclose(told.contributions.scores, told.scores, atol=1e-9 * np.abs(told.scores).max())
    assert told.why(above, below).values.sum() == pytest.approx(np.ptp(told.scores))
    assert "with the features that contribute most" in repr(told)
    qid = queries.query_ids[queries.query_index[order]]
    frame = pd.DataFrame(mixed.features[mixed.in_input_order(np.arange(len(order)))])
    frame.columns = list(queries.feature_names)
    again = ranker.explain(frame, query, qid=qid)
    assert_array_equal(again.scores, told.scores)
    with pytest.raises(ValueError, match="has no query 'x'"):
        ranker.explain(mixed, "x")


def test_a_ranker_that_merges_lists_tells_those_of_its_members(queries):
    ensemble = Ensemble([RankSVM(), RankBoost(5), RankSVM(C=9.0)], aggregator=Borda()).fit(queries)
    told = ensemble.explain(queries, queries.query_ids[2])
    assert told.members == ("RankSVM", "RankBoost", "RankSVM")
    rows = slice(*queries.offsets[2:4])
    for member, scores in zip(ensemble.rankers_, told.member_scores.T, strict=True):
        assert_array_equal(scores, member.predict(queries)[rows])
    assert re.search("RankSVM 1 +RankBoost +RankSVM 2", repr(told))


def test_other_features_cannot_be_explained(queries):
    ranker = RankSVM().fit(queries)
    renamed = queries.with_features(queries.features, [f"x{i}" for i in range(8)])
    for call in (ranker.predict, ranker.contributions, lambda X: ranker.explain(X, 1)):
        with pytest.raises(ValueError, match="was fitted on other features"):
            call(renamed)


# Ranked lists

FRAMES = {
    "pandas": (pd.DataFrame, pd.DataFrame, lambda frame: frame.to_dict("list")),
    "polars": (pl.DataFrame, pl.DataFrame, lambda frame: frame.to_dict(as_series=False)),
    "pyarrow": (pa.table, pa.Table, lambda frame: frame.to_pydict()),
}


def by_hand(qid, scores):
    """Rows by query as they first appear, then by falling score; equal ones as they came."""
    first = {query: place for place, query in reversed(list(enumerate(qid)))}
    return sorted(range(len(qid)), key=lambda row: (first[qid[row]], -scores[row], row))


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("ids", ["numbers", "texts"])
def test_rank_sorts_as_by_hand_in_the_callers_library(library, ids, rng):
    make, kind, plain = FRAMES[library]
    numbers = rng.integers(0, 12, 100)
    qid = numbers.tolist() if ids == "numbers" else [f"query {n}" for n in numbers]
    # Few different values, so that there are many ties; queries lie scattered.
    values = rng.integers(0, 4, (100, 2)).astype(float)
    y = (values.sum(axis=1) > 3).astype(float)
    X = make({"a": values[:, 0], "b": values[:, 1]})
    ranker = RankSVM().fit(X, y, qid=qid)
    scores = ranker.predict(X, qid=qid)
    ranked = ranker.rank(X, qid=qid)
    assert isinstance(ranked, kind)
    columns = plain(ranked)
    assert list(columns) == ["query", "document", "rank", "score"]
    order = by_hand(qid, scores)
    assert columns["document"] == order
    assert columns["query"] == [qid[row] for row in order]
    assert columns["score"] == scores[order].tolist()
    seen = {}
    for query, rank in zip(columns["query"], columns["rank"], strict=True):
        seen[query] = seen.get(query, 0) + 1
        assert rank == seen[query]
    assert plain(ranker.rank(X, y, qid=qid))["label"] == y[order].tolist()


def test_a_dataset_is_ranked_with_its_ids_and_labels(queries):
    named = RankingDataset.from_arrays(
        queries.features,
        queries.relevance,
        queries.query_index,
        document_ids=[f"d{i}" for i in range(queries.n_documents)],
    )
    ranker = BestFeature().fit(named)
    ranked = ranker.rank(named)
    assert isinstance(ranked, pd.DataFrame)
    assert list(ranked) == ["query", "document", "rank", "score", "label"]
    order = by_hand(named.query_index.tolist(), ranker.predict(named))
    assert ranked["document"].tolist() == [f"d{row}" for row in order]
    assert_array_equal(ranked["label"], queries.labels[order])
    assert_array_equal(ranker.rank(queries.features, qid=queries.query_index)["document"], order)


@pytest.mark.parametrize("library", FRAMES)
def test_a_dataset_is_ranked_in_the_library_it_came_in_or_the_one_asked_for(library, queries):
    _, kind, plain = FRAMES[library]
    ranker = BestFeature().fit(queries)
    asked = ranker.rank(queries, library=library)
    assert isinstance(asked, kind)
    arrays = ranker.rank(queries, library="dict")
    assert plain(asked) == {name: values.tolist() for name, values in arrays.items()}
    dataset = read_table(queries.to_frame(library))
    ranker = BestFeature().fit(dataset)
    assert isinstance(ranker.rank(dataset), kind)
    assert isinstance(ranker.rank(dataset, library="dict"), dict)


def test_without_qid_all_rows_are_one_list(queries):
    ranker = BestFeature().fit(queries.replaced(feature_names=None))
    few = queries.features[:30]
    ranked = ranker.rank(few)
    assert set(ranked["query"]) == {0}
    assert_array_equal(ranked["rank"], np.arange(1, 31))
    assert_array_equal(ranked["document"], by_hand([0] * 30, ranker.predict(few, qid=[0] * 30)))
    assert_array_equal(ranker.rank(few.tolist())["document"], ranked["document"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("test.txt", "Read 'test.txt' first"),
        (pl.DataFrame({"a": [1.0]}).lazy(), "lazy frame. Call its collect"),
        (np.ones(3), "shape|dimension"),
    ],
)
def test_what_is_no_table_is_refused_without_qid_too(X, message, queries):
    with pytest.raises(ValueError, match=message):
        BestFeature().fit(queries).rank(X)


def test_labels_beside_a_dataset_are_refused(queries):
    with pytest.raises(ValueError, match="leave out y and qid"):
        BestFeature().fit(queries).rank(queries, queries.labels)
