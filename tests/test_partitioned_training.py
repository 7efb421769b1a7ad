"""Models trained on partitions are those trained in memory, and so is what is learned in passes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written
from samples import RANKERS

from localrank import LocalRanker, recipes, representations
from localrank._base.estimator import clone
from localrank.data import RankingDataset, SampleWarning, make_queries
from localrank.data._content_order import content_order, query_order
from localrank.data._feature_scales import spread_within_queries
from localrank.data._filling import Filling
from localrank.data._offsets import rows_of as rows_of_queries
from localrank.data.partition_files import Partition
from localrank.grouping import Agglomerative, KnownGroups, Refined, kmeans
from localrank.measures import NDCG
from localrank.persistence import read_manifest
from localrank.rankers import GBRT, BestFeature, LambdaMART, RankSVM
from localrank.registry import declared, make_sample
from localrank.representations import Gaussian, Mean, PrincipalComponents, RelevantMean, TopScores
from localrank.selection import Classifier, NearestCentroid, NearestQuery, SameCategory

LOCAL = [name for name, part in RANKERS.items() if isinstance(make_sample(part), LocalRanker)]
REPRESENTATIONS = declared(representations)


@pytest.fixture(scope="module", params=[(3, 0), (7, 1)], ids=["3 parts", "7 parts"])
def partitioned(request, queries, tmp_path_factory):
    n_parts, seed = request.param
    return written(queries, tmp_path_factory.mktemp("parts"), n_parts, seed)


@pytest.fixture(scope="module")
def holed(queries):
    """Queries with missing values, of which two lack a feature altogether."""
    features = queries.features.copy()
    rng = np.random.default_rng(3)
    features[:, :3][rng.random((len(features), 3)) < 0.2] = np.nan
    features[queries.offsets[4] : queries.offsets[6], 1] = np.nan
    return queries.with_features(features)


@pytest.fixture(scope="module")
def holed_parts(holed, tmp_path_factory):
    return written(holed, tmp_path_factory.mktemp("holed"), 5, 2)


def in_order_of(partitioned, dataset):
    """The positions in a dataset of the queries of a partitioned one."""
    place = {query: position for position, query in enumerate(dataset.query_ids.tolist())}
    return np.array([place[query] for query in partitioned.query_ids.tolist()])


def rows_of(partitioned, dataset):
    """The rows of a dataset in the order of a partitioned one."""
    return rows_of_queries(dataset.offsets, in_order_of(partitioned, dataset))[0]


def arrays_of(fitted):
    """The arrays that something has learned."""
    values = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("name", RANKERS)
def test_a_model_on_partitions_is_the_one_in_memory_to_the_last_bit(
    name, trained, queries, partitioned
):
    in_memory = trained(name)
    on_partitions = make_sample(RANKERS[name]).fit(partitioned)
    assert_array_equal(on_partitions.predict(queries), in_memory.predict(queries))
    assert on_partitions.training_data_ == in_memory.training_data_


@pytest.mark.parametrize("name", LOCAL)
def test_missing_values_are_learned_from_alike(name, holed, holed_parts):
    in_memory = make_sample(RANKERS[name]).fit(holed)
    on_partitions = make_sample(RANKERS[name]).fit(holed_parts)
    assert_array_equal(on_partitions.predict(holed), in_memory.predict(holed))


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_queries_are_described_alike(name, holed, holed_parts):
    one, two = (make_sample(REPRESENTATIONS[name]) for _ in range(2))
    described = one.fit(holed).transform(holed)
    order = in_order_of(holed_parts, holed)
    assert_array_equal(two.fit(holed_parts).transform(holed_parts), described[order])


@pytest.mark.parametrize(
    "representation",
    [
        TopScores(3, scaling="standard"),
        TopScores(n_components=4),
        Gaussian("bhattacharyya"),
        PrincipalComponents(),
        representations.Scaled(PrincipalComponents(2)),
    ],
    ids=repr,
)
def test_what_a_representation_learns_depends_on_no_order(representation, queries, tmp_path):
    # A feature that varies between queries only has a variance of its own for Gaussians.
    flat = queries.features.copy()
    flat[:, 0] = queries.query_index * 0.1
    dataset = queries.with_features(flat)
    order = np.random.default_rng(0).permutation(dataset.n_queries)
    layouts = (dataset, dataset.select(order), written(dataset, tmp_path, 7))
    learned = [arrays_of(clone(representation).fit(data)) for data in layouts]
    assert learned[0]
    for key in learned[0]:
        assert_array_equal(learned[0][key], learned[1][key])
        assert_array_equal(learned[0][key], learned[2][key])


def test_fills_are_the_same(holed, holed_parts):
    one, two = Filling.learned(holed), Filling.learned(holed_parts)
    assert_array_equal(one.values, two.values)
    assert_array_equal(one.indicators, two.indicators)
    filled = two.filled(holed_parts)
    expected = one.filled(holed).features
    rows = rows_of(holed_parts, holed)
    assert_array_equal(filled.in_memory().features, expected[rows])
    assert filled.n_features == expected.shape[1]


def test_features_missing_in_different_files_keep_their_indicators(tmp_path):
    features = np.arange(12.0).reshape(6, 2)
    features[0, 0] = features[3, 1] = np.nan
    dataset = RankingDataset.from_arrays(features, np.tile([0, 1, 2], 2), [1, 1, 1, 2, 2, 2])
    parts = written(dataset, tmp_path, 2)
    assert_array_equal(Filling.learned(parts).indicators, [0, 1])


def test_scales_are_the_same(queries, partitioned):
    assert_array_equal(spread_within_queries(queries), spread_within_queries(partitioned))


def test_queries_come_in_the_same_order(queries, partitioned):
    expected = queries.query_ids[content_order(queries)[1]]
    assert_array_equal(partitioned.query_ids[query_order(partitioned)], expected)


@pytest.mark.parametrize("measure", ["ndcg@5", "map(empty=skip)", "oer"])
def test_the_best_feature_is_a_pass_over_all_queries(measure, holed, holed_parts):
    weights = np.random.default_rng(0).random(holed.n_queries)
    order = in_order_of(holed_parts, holed)
    make = BestFeature(measure, both_directions=True)
    one = make.fit(holed, query_weight=weights).values_
    two = BestFeature(measure, both_directions=True).fit(
        holed_parts, query_weight=weights[order], max_documents=200
    )
    assert_array_equal(one, two.values_)


def test_scores_are_those_in_memory(queries, partitioned):
    model = RankSVM().fit(queries)
    assert_array_equal(model.predict(partitioned), model.predict(partitioned.in_memory()))
    assert NDCG(5).mean(partitioned, model.predict(partitioned)) > 0


@pytest.mark.parametrize(
    "grouping", [Refined(kmeans(3), rounds=2), Refined(kmeans(3), rounds=2, n_folds=3)]
)
@pytest.mark.parametrize("hard", [True, False])
def test_refined_groups_and_probabilities_are_the_same(grouping, hard, queries, partitioned):
    def make():
        selector = Classifier(hard=hard, representation=Mean())
        return LocalRanker(RelevantMean(), grouping, RankSVM(), selector, n_jobs=2)

    one, two = make().fit(queries), make().fit(partitioned)
    assert_array_equal(two.predict(queries), one.predict(queries))
    assert_array_equal(two.groups_.home, one.groups_.home[in_order_of(partitioned, queries)])
    assert two.selector_.accuracy_ == one.selector_.accuracy_


@pytest.mark.parametrize("representation", [Mean(), PrincipalComponents(2)], ids=repr)
def test_centres_are_the_same(representation, queries, partitioned):
    def centres(data):
        local = LocalRanker(representation, Agglomerative(3), RankSVM(), NearestCentroid())
        return local.fit(data).selector_.centroids_

    assert_array_equal(centres(queries), centres(partitioned))


def test_categories_of_a_column_are_read_from_files(queries, tmp_path):
    features = queries.features.copy()
    features[:, 0] = queries.query_index % 3
    dataset = queries.with_features(features)
    parts = written(dataset, tmp_path, 4)
    local = [
        LocalRanker(Mean(), KnownGroups(0), RankSVM(), SameCategory(0)).fit(data)
        for data in (dataset, parts)
    ]
    assert_array_equal(local[0].predict(dataset), local[1].predict(dataset))


def test_weights_and_validation_queries_count_alike(queries, partitioned, tmp_path):
    valid, _ = make_queries(30, n_features=queries.n_features, random_state=9)
    parts = written(valid, tmp_path, 3)
    order = in_order_of(partitioned, queries)
    weights = np.random.default_rng(1).random(queries.n_queries)
    names = queries.feature_names
    assert names is None or names == partitioned.feature_names
    for make in (
        lambda: (
            LambdaMART(early_stopping=5)  # type: ignore[call-arg]
            if "early_stopping" in LambdaMART().get_params()
            else LambdaMART()
        ),
        lambda: LocalRanker(Mean(), kmeans(2), LambdaMART(20), NearestCentroid()),
    ):
        one = clone(make()).fit(queries, query_weight=weights, valid=valid)
        two = clone(make()).fit(partitioned, query_weight=weights[order], valid=parts)
        assert_array_equal(one.predict(queries), two.predict(queries))


def test_weights_of_documents_count_alike(queries, partitioned):
    rng = np.random.default_rng(1)
    weights = rng.random(queries.n_documents)
    rows = rows_of(partitioned, queries)
    for make in (
        lambda: GBRT(10, min_leaf_documents=5),
        lambda: LocalRanker(
            Mean(), Agglomerative(3), GBRT(10, min_leaf_documents=5), NearestQuery()
        ),
    ):
        one = make().fit(queries, sample_weight=weights)
        two = make().fit(partitioned, sample_weight=weights[rows])
        assert_array_equal(one.predict(queries), two.predict(queries))


@pytest.mark.parametrize("make", [RankSVM, lambda: recipes.pca_queries(3), recipes.shared_specific])
def test_a_draw_is_the_same_whatever_the_layout(make, queries, partitioned):
    with pytest.warns(SampleWarning):
        one = make().fit(queries, max_documents=300)
    with pytest.warns(SampleWarning):
        two = make().fit(partitioned, max_documents=300)
    assert one.training_data_ == two.training_data_
    assert one.training_data_["drawn"]["n_documents"] < queries.n_documents
    assert_array_equal(one.predict(queries), two.predict(queries))


def test_only_files_with_drawn_queries_are_read(queries, tmp_path, monkeypatch):
    parts = written(queries, tmp_path, 7)
    paths = []
    read = Partition.read
    monkeypatch.setattr(Partition, "read", lambda self: paths.append(self.path) or read(self))
    with pytest.warns(SampleWarning):
        model = RankSVM().fit(parts, max_documents=int(queries.query_sizes.max()))
    n_drawn = model.training_data_["drawn"]["n_queries"]
    assert len(paths) <= n_drawn < 7


def test_a_plain_model_learns_from_the_queries_drawn(queries):
    with pytest.warns(SampleWarning, match="RankSVM was trained on .* drawn by their ids"):
        model = RankSVM().fit(queries, max_documents=400)
    drawn = model.training_data_["drawn"]
    assert drawn["max_documents"] == 400
    assert drawn["n_documents"] == model.training_data_["n_documents"] <= 400
    assert drawn["of_n_documents"] == queries.n_documents
    assert drawn["n_queries"] == model.training_data_["n_queries"]


def test_each_group_has_its_own_draw(queries):
    local = LocalRanker(Mean(), Agglomerative(3), RankSVM(), NearestCentroid())
    limit = 250
    with pytest.warns(SampleWarning, match="LocalRanker was trained on"):
        local.fit(queries, max_documents=limit)
    assert local.training_data_["n_queries"] == queries.n_queries
    sizes = [queries.query_sizes[members].sum() for members in local.groups_]
    assert max(sizes) > limit
    for model, size in zip(local.models_, sizes, strict=True):
        assert (
            limit - queries.query_sizes.max() < model.training_data_["n_documents"] or size < limit
        )
        assert model.training_data_["n_documents"] <= limit
    total = sum(model.training_data_["n_documents"] for model in local.models_)
    assert local.training_data_["drawn"]["n_documents"] == total


def test_groups_that_fit_say_nothing(queries):
    local = LocalRanker(Mean(), Agglomerative(3), RankSVM(), NearestCentroid())
    local.fit(queries, max_documents=queries.n_documents - 1)
    assert "drawn" not in local.training_data_


def test_models_trained_together_share_the_limit(queries):
    with pytest.warns(SampleWarning):
        model = recipes.shared_specific(3).fit(queries, max_documents=450)
    assert model.training_data_["drawn"]["n_documents"] <= 450


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_validation_queries_are_drawn_too_and_that_is_said(queries, monkeypatch):
    seen = []
    fit = RankSVM._fit
    monkeypatch.setattr(
        RankSVM,
        "_fit",
        lambda self, data, weights, valid: seen.append(valid) or fit(self, data, weights, valid),
    )
    small = queries.select(range(4))
    with pytest.warns(SampleWarning, match=f"of {queries.n_queries} validation queries"):
        RankSVM().fit(small, valid=queries, max_documents=small.n_documents)
    assert seen[0].n_documents <= small.n_documents < queries.n_documents


def test_by_default_partitions_are_drawn_from_and_memory_is_not(queries, partitioned, monkeypatch):
    monkeypatch.setattr("localrank.data._sources.Files.default_limit", 300)
    assert "drawn" not in RankSVM().fit(queries).training_data_
    with pytest.warns(SampleWarning):
        assert RankSVM().fit(partitioned).training_data_["drawn"]["max_documents"] == 300
    assert "drawn" not in RankSVM().fit(partitioned, max_documents=None).training_data_


def test_more_than_fits_into_memory_is_refused(partitioned, monkeypatch):
    monkeypatch.setattr("localrank._base.memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"A table of .* documents .* needs about"):
        RankSVM().fit(partitioned, max_documents=None)


def test_a_saved_model_knows_its_draw(queries, tmp_path):
    with pytest.warns(SampleWarning):
        RankSVM().fit(queries, max_documents=400).save(tmp_path / "model.localrank")
    assert read_manifest(tmp_path / "model.localrank")["training_data"]["drawn"]["n_queries"] > 0
