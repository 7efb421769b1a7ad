"""Rankers that merge lists by ranks, by weights, and with neighbours."""

import warnings

import numpy as np
import pytest
from made_up_lists import made_lists
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank._base.rules import fitted_parts
from localrank.data import RankingDataset
from localrank.formulas import NotExportable
from localrank.fusion import (
    Fusion,
    Hybrid,
    NeighbourColumns,
    ReciprocalRankFusion,
    SmoothedFusion,
    lists_dataset,
)
from localrank.fusion._neighbours import neighbour_columns
from localrank.measures import NDCG
from localrank.rankers import RankSVM
from localrank.recipes import local_rank


@pytest.fixture(scope="module")
def judged():
    lists, qrels, vectors = made_lists()
    return lists_dataset(lists, qrels, vectors)


def z(dataset, name):
    return dataset.features[:, dataset.feature_names.index(f"{name}.z")]


def test_reciprocal_rank_fusion_is_its_formula():
    bm25 = {"q": {"a": 9.0, "b": 7.0, "c": 1.0}}
    dense = {"q": {"c": 0.9, "a": 0.5}}
    dataset = lists_dataset({"bm25": bm25, "dense": dense})
    scores = dict(
        zip(
            dataset.document_ids.tolist(),
            ReciprocalRankFusion(10).fit(dataset).predict(dataset),
            strict=True,
        )
    )
    assert scores == pytest.approx({"a": 1 / 11 + 1 / 12, "b": 1 / 12, "c": 1 / 13 + 1 / 11})


def test_equal_weights_are_the_mean_and_need_no_labels(judged):
    bare = judged.replaced(relevance=None)
    ranker = Fusion("equal").fit(bare)
    assert_allclose(ranker.predict(bare), (z(judged, "list0") + z(judged, "list1")) / 2)


def test_tuned_weights_need_labels(judged):
    with pytest.raises(ValueError, match="no relevance labels"):
        Fusion().fit(judged.replaced(relevance=None))


def test_given_weights_are_divided_by_their_sum(judged):
    ranker = Fusion([1, 3]).fit(judged)
    assert_array_equal(ranker.weights_, [0.25, 0.75])
    assert_allclose(ranker.predict(judged), 0.25 * z(judged, "list0") + 0.75 * z(judged, "list1"))


def test_tuned_weights_of_two_lists_are_the_best_on_the_grid(judged):
    ranker, measure = Fusion().fit(judged), NDCG(10)
    means = [
        measure.mean(judged, Fusion([w, 50 - w]).fit(judged).predict(judged)) for w in range(51)
    ]
    assert measure.mean(judged, ranker.predict(judged)) == pytest.approx(max(means))
    assert ranker.weights_[0] > 0.5


@pytest.mark.parametrize("normalisation", ["z", "min-max"])
def test_more_lists_are_tuned_to_at_least_the_best_list_and_the_average(normalisation):
    lists, qrels, _ = made_lists(noise=(4.0, 1.0, 3.0, 2.0), n_lists=4)
    dataset = lists_dataset(lists, qrels)
    measure = NDCG(10)

    def reached(weights):
        ranker = Fusion(weights, normalisation=normalisation).fit(dataset)
        return measure.mean(dataset, ranker.predict(dataset))

    singles = [reached(row.tolist()) for row in np.eye(4)]
    ranker = Fusion(normalisation=normalisation).fit(dataset)
    assert (ranker.weights_ >= 0).all()
    assert ranker.weights_.sum() == pytest.approx(1.0)
    assert reached("tuned") >= max(*singles, reached("equal"))
    assert ranker.weights_.argmax() == 1


def test_of_equally_good_weights_the_nearest_to_equal_ones_are_taken():
    one = {"q": {"a": 2.0, "b": 1.0}}
    dataset = lists_dataset({"one": one, "other": {"q": {"a": 5.0, "b": 3.0}}}, {"q": {"a": 1}})
    assert_array_equal(Fusion().fit(dataset).weights_, [0.5, 0.5])


def test_the_weight_of_a_query_counts(judged):
    # Only queries on which the noisy list happens to be better.
    by_list = [NDCG(10)(judged, z(judged, name)) for name in ("list0", "list1")]
    better = (by_list[1] > by_list[0]).astype(float)
    weighted = Fusion().fit(judged, query_weight=better).weights_
    assert weighted[1] > Fusion().fit(judged).weights_[1]


@pytest.mark.parametrize("weights", ["best", [], [-1, 2], [0, 0], [np.nan, 1]])
def test_wrong_weights_are_refused(judged, weights):
    with pytest.raises(ValueError, match="'weights' parameter of Fusion must be"):
        Fusion(weights).fit(judged)


def test_another_number_of_weights_is_refused(judged):
    with pytest.raises(ValueError, match="2 numbers, one for each list"):
        Fusion([1, 2, 3]).fit(judged)


def test_a_fusion_of_lists_is_a_linear_formula(judged):
    ranker = Fusion([1, 3], normalisation="min-max").fit(judged)
    formula = ranker.formula()
    assert_allclose(formula.score(judged), ranker.predict(judged))
    names = [judged.feature_names[i] for i in np.flatnonzero(formula.weights)]
    assert names == ["list0.min_max", "list1.min_max"]


def test_a_fusion_of_features_is_a_formula_on_deviations():
    rng = np.random.default_rng(0)
    dataset = RankingDataset.from_arrays(
        rng.normal(size=(40, 3)), rng.integers(0, 2, 40), np.repeat(np.arange(4), 10)
    )
    ranker = Fusion([1, 2, 3]).fit(dataset)
    assert_allclose(ranker.formula().score(dataset), ranker.predict(dataset))
    with pytest.raises(NotExportable, match="equal scores"):
        Fusion([1, 2, 3], normalisation="min-max").fit(dataset).formula()


def test_smoothing_is_its_formula(judged):
    ranker = SmoothedFusion([1, 3], share=0.4, n_neighbours=5).fit(judged)
    f = 0.25 * z(judged, "list0") + 0.75 * z(judged, "list1")
    near = neighbour_columns(judged._vectors, f[:, None], judged.offsets, 5)[:, 0]
    assert_allclose(ranker.predict(judged), 0.6 * f + 0.4 * near)


def test_smoothing_helps_where_relevant_documents_are_alike(judged):
    lists, qrels, vectors = made_lists(seed=1)
    test = lists_dataset(lists, qrels, vectors)
    plain, smoothed = Fusion().fit(judged), SmoothedFusion().fit(judged)
    assert smoothed.share_ > 0
    assert NDCG(10).mean(test, smoothed.predict(test)) > NDCG(10).mean(test, plain.predict(test))


def test_vectors_that_say_nothing_get_no_share():
    lists, qrels, vectors = made_lists(n_queries=60)
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(size=3) for name in vectors}
    dataset = lists_dataset(lists, qrels, noise)
    assert SmoothedFusion().fit(dataset).share_ <= 0.2


def test_no_share_is_the_plain_fusion(judged):
    smoothed = SmoothedFusion("equal", share=0.0).fit(judged)
    assert_allclose(smoothed.predict(judged), Fusion("equal").fit(judged).predict(judged))


def test_given_numbers_of_a_smoothed_fusion_need_no_labels(judged):
    bare = judged.replaced(relevance=None)
    SmoothedFusion("equal", share=0.5).fit(bare).predict(bare)
    with pytest.raises(ValueError, match="no relevance labels"):
        SmoothedFusion("equal").fit(bare)


def test_a_smoothed_fusion_is_served_not_exported(judged):
    with pytest.raises(NotExportable, match="localrank serve"):
        SmoothedFusion("equal", share=0.5).fit(judged).formula()


@pytest.mark.parametrize(
    "ranker", [ReciprocalRankFusion(), Fusion(), SmoothedFusion()], ids=lambda r: type(r).__name__
)
def test_contributions_are_those_of_the_lists(judged, ranker, tmp_path):
    ranker.fit(judged)
    result = ranker.contributions(judged)
    assert_allclose(result.scores, ranker.predict(judged), atol=1e-12)
    used = {judged.feature_names[i] for i in np.flatnonzero(np.abs(result.values).sum(axis=0))}
    assert {name.split(".")[0] for name in used} == {"list0", "list1"}
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(judged), ranker.predict(judged))


@pytest.mark.filterwarnings("ignore:.*was fitted on features with names")
@pytest.mark.parametrize(
    "ranker", [ReciprocalRankFusion(), Fusion("equal")], ids=lambda r: type(r).__name__
)
def test_lists_are_known_by_their_names_in_training(judged, ranker):
    bare = judged.with_features(judged.features)
    assert_array_equal(ranker.fit(judged).predict(bare), ranker.predict(judged))
    # And features without names in training stay lists of their own.
    by_feature = ranker.fit(bare).predict(bare)
    assert_array_equal(ranker.predict(judged), by_feature)


def test_damaged_weights_are_refused_when_loading(judged, tmp_path):
    ranker = Fusion("equal").fit(judged)
    ranker.weights_ = np.array([0.5, 0.25, 0.25])
    ranker.save(tmp_path / "model.localrank")
    with pytest.raises(ValueError, match="do not fit"):
        localrank.load(tmp_path / "model.localrank")


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_an_explanation_says_how_far_the_neighbours_moved_the_score(judged, share):
    ranker = SmoothedFusion([1, 3], share=share, n_neighbours=4).fit(judged)
    told = ranker.explain(judged, "q7")
    near = told.near_documents
    place = judged.query_ids.tolist().index("q7")
    own = Fusion([1, 3]).fit(judged).predict(judged.select([place]))
    assert_allclose(near.moves.sum(axis=1) + near.others, told.scores - own, atol=1e-12)
    assert near.moved == "the score by SmoothedFusion"
    assert near.rows.shape == (len(own), 4)
    assert " -0 " not in repr(told)


def test_a_fusion_has_no_neighbours_to_explain(judged):
    assert Fusion("equal").fit(judged).explain(judged, "q7").near_documents is None


def test_the_part_that_borrows_is_found_inside_hybrid(judged):
    ranker = Hybrid().fit(judged)
    part = next(part for part in fitted_parts(ranker) if isinstance(part, SmoothedFusion))
    near = ranker.explain(judged, "q7").near_documents
    assert_array_equal(near.moves, part.explain(judged, "q7").near_documents.moves)
    for name in ("list0", "list1"):
        assert f"{name}.z" in ranker.explain(judged, "q7").contributions.names


def test_vectors_of_another_length_than_in_training_are_refused(judged, tmp_path):
    short = judged.with_vectors(judged.vectors[:, :2])
    for ranker in (SmoothedFusion("equal", share=0.3), Hybrid(), NeighbourColumns(RankSVM())):
        ranker.fit(judged).save(tmp_path / "model.localrank")
        for model in (ranker, localrank.load(tmp_path / "model.localrank")):
            with pytest.raises(ValueError, match=r"vectors of 3 numbers.*dataset have 2"):
                model.predict(short)
        # Another training forgets the first.
        ranker.fit(short).predict(short)
    Fusion("equal").fit(judged).predict(short)
    with pytest.raises(ValueError, match=r"vectors of 3 numbers.*dataset have 2"):
        NeighbourColumns(RankSVM()).fit(judged, valid=short)


def test_groups_of_a_local_model_may_borrow(judged, tmp_path):
    ranker = local_rank(2, ranker=SmoothedFusion()).fit(judged)
    ranker.save(tmp_path / "local.localrank")
    assert_array_equal(
        localrank.load(tmp_path / "local.localrank").predict(judged), ranker.predict(judged)
    )
    told = ranker.explain(judged, "q7")
    model = ranker.models_[int(np.argmax(told.weights))]
    assert_array_equal(told.near_documents.moves, model.explain(judged, "q7").near_documents.moves)


def test_weights_of_ranks_are_factors_with_the_mean_one(judged):
    terms = ReciprocalRankFusion(10).fit(judged)._terms(judged)
    ranker = ReciprocalRankFusion(10, weights=[1, 3]).fit(judged)
    assert_array_equal(ranker.weights_, [0.5, 1.5])
    assert_allclose(ranker.predict(judged), terms @ [0.5, 1.5])
    assert_allclose(
        ranker.contributions(judged).scores, ranker.predict(judged), rtol=1e-12, atol=1e-12
    )
    assert ranker.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 2, 3, 49])
def test_equal_weights_of_ranks_are_one(n):
    lists = {f"l{place}": {"q": {"a": 1.0, "b": float(place)}} for place in range(n)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = lists_dataset(lists)
    assert (ReciprocalRankFusion().fit(dataset).weights_ == 1).all()


def test_tuned_weights_of_ranks_are_the_best_on_the_grid(judged, tmp_path):
    ranker, measure = ReciprocalRankFusion(weights="tuned").fit(judged), NDCG(10)
    means = [
        measure.mean(judged, ReciprocalRankFusion(weights=[w, 50 - w]).fit(judged).predict(judged))
        for w in range(51)
    ]
    assert measure.mean(judged, ranker.predict(judged)) == pytest.approx(max(means), abs=1e-9)
    assert ranker.weights_[0] > ranker.weights_[1]
    with pytest.raises(ValueError, match="no relevance labels"):
        ReciprocalRankFusion(weights="tuned").fit(judged.replaced(relevance=None))
    ranker.save(tmp_path / "ranks.localrank")
    loaded = localrank.load(tmp_path / "ranks.localrank")
    assert_array_equal(loaded.predict(judged), ranker.predict(judged))
