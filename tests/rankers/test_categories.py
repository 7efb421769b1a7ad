"""Features of categories at the door of rankers."""

import copy

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import localrank
from localrank.data import ColumnWarning, RankingDataset
from localrank.evaluation import permutation_importance
from localrank.rankers import (
    GBRT,
    CrossEntropyMART,
    LambdaMART,
    McRank,
    RandomForest,
    RankSVM,
    distil,
)
from localrank.rankers.boosted_trees import _binned
from localrank.recipes import local_rank
from localrank.representations import Mean

TREES = [
    LambdaMART(10, min_leaf_documents=5),
    CrossEntropyMART(10, min_leaf_documents=5),
    GBRT(10, min_leaf_documents=5),
    RandomForest(10, n_leaves=15),
]
N, N_COLOURS = 1200, 30
COLOURS = np.array([f"colour {i}" for i in range(N_COLOURS)])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, N_COLOURS, N)
    frame = pd.DataFrame({"colour": COLOURS[codes], "bm25": rng.normal(size=N)})
    frame["label"] = np.round(rng.permutation(N_COLOURS)[codes] / 10 + frame["bm25"] / 4 + 1)
    frame["label"] = frame["label"].clip(0, 4)
    frame.loc[::11, "colour"] = None
    frame["qid"] = np.repeat(np.arange(N // 10), 10)
    return frame


@pytest.fixture(scope="module")
def dataset(frame):
    return localrank.data.read_table(frame)


@pytest.mark.parametrize("ranker", TREES, ids=lambda ranker: type(ranker).__name__)
def test_scores_are_those_of_lightgbm(ranker, dataset):
    ranker = copy.deepcopy(ranker).fit(dataset)
    assert ranker.trees_.has_sets
    assert ranker.n_features_in_ == 2
    assert_array_equal(ranker.predict(dataset), ranker.booster.predict(dataset.features))
    constant = localrank.measures.NDCG(10).mean(dataset, np.zeros(N))
    assert ranker.score(dataset) > constant + 0.1
    contributions = ranker.contributions(dataset)
    expected = ranker.booster.predict(dataset.features, pred_contrib=True)
    np.testing.assert_allclose(contributions.values, expected[:, :2], atol=1e-9)


def test_classes_split_by_sets(dataset):
    ranker = McRank(5, min_leaf_documents=5).fit(dataset)
    assert all(trees.has_sets for trees in ranker.class_trees_)


def test_bins_of_blocks_are_those_of_the_whole_array(dataset, monkeypatch):
    ranker = LambdaMART(10, min_leaf_documents=5)
    train, valid = dataset.select(range(60)), dataset.select(range(60, dataset.n_queries))
    scores = ranker.fit(train, valid=valid).predict(dataset)

    def whole(rows, parameters):
        return lightgbm.Dataset(
            rows.in_memory().features, params=parameters, categorical_feature=[0]
        )

    monkeypatch.setattr(_binned, "binned", whole)
    assert_array_equal(ranker.fit(train, valid=valid).predict(dataset), scores)


def test_other_rankers_see_columns_of_0_and_1(frame, dataset):
    ranker = RankSVM().fit(dataset)
    dummies = pd.get_dummies(frame[["colour", "bm25"]], prefix_sep="=", dtype=float)
    dummies = dummies[list(ranker.feature_names_in_)]
    expected = RankSVM().fit(dummies, frame["label"], qid=frame["qid"])
    assert ranker.n_features_in_ == N_COLOURS + 1
    assert_array_equal(ranker.predict(dataset), expected.predict(dummies, qid=frame["qid"]))
    # The columns of 0 and 1 themselves are taken as well.
    assert_array_equal(ranker.predict(dataset.one_hot()), ranker.predict(dataset))


def test_trees_take_columns_of_0_and_1_where_that_is_asked_for(dataset):
    ranker = LambdaMART(5, min_leaf_documents=5, categories="one-hot").fit(dataset)
    assert not ranker.trees_.has_sets
    expected = LambdaMART(5, min_leaf_documents=5).fit(dataset.one_hot())
    assert_array_equal(ranker.predict(dataset), expected.predict(dataset.one_hot()))


@pytest.mark.parametrize("ranker", [LambdaMART(5), RankSVM()], ids=["codes", "columns"])
class TestDoor:
    @pytest.fixture
    def model(self, ranker, dataset):
        return copy.deepcopy(ranker).fit(dataset)

    def test_a_model_remembers_the_values(self, model):
        assert model.categories_ == {"colour": tuple(sorted(COLOURS.tolist()))}

    def test_a_second_fit_forgets_them(self, model, dataset):
        model.fit(dataset.with_features(dataset.features, dataset.feature_names))
        assert not hasattr(model, "categories_")

    def test_values_that_do_not_occur_in_training_are_not_learned(self, ranker, dataset):
        part = dataset.select(np.arange(3))
        model = copy.deepcopy(ranker)
        if isinstance(model, LambdaMART):
            model.min_leaf_documents = 2
        model.fit(part)
        used = np.unique(part.to_frame("dict")["colour"].astype(str))
        assert model.categories_["colour"] == tuple(used[used != "None"].tolist())

    def test_the_order_of_categories_in_training_does_not_matter(
        self, ranker, model, dataset, frame
    ):
        other = pd.CategoricalDtype([*COLOURS[::-1], "never"])
        reversed_table = frame.assign(colour=frame["colour"].astype(other))
        again = copy.deepcopy(ranker).fit(localrank.data.read_table(reversed_table))
        assert_array_equal(again.predict(dataset), model.predict(dataset))

    def test_a_single_document_is_scored(self, model, dataset, frame):
        alone = model.predict(frame.loc[[5], ["colour", "bm25"]], qid=[1])
        assert alone[0] == model.predict(dataset)[5]

    def test_validation_queries_may_have_other_values(self, ranker, dataset, frame):
        others = frame.assign(qid=frame["qid"] + 1000)
        held_out = others.assign(colour=others["colour"].replace("colour 3", "new"))
        missing = others.assign(colour=others["colour"].replace("colour 3", None))
        one, other = (
            copy.deepcopy(ranker)
            .fit(dataset, valid=localrank.data.read_table(table))
            .predict(dataset)
            for table in (held_out, missing)
        )
        assert_array_equal(one, other)

    def test_features_without_names_are_refused(self, model, dataset):
        with pytest.raises(ValueError, match="'colour', which it finds by the name of the feature"):
            model.predict(dataset.features, qid=dataset.query_index)

    def test_data_without_the_feature_is_refused(self, model, frame):
        with pytest.raises(ValueError, match=r"fitted on other features. The dataset lacks 'col"):
            model.predict(frame[["bm25"]], qid=frame["qid"])

    def test_numbers_in_place_of_categories_are_refused(self, model, dataset):
        coded = dataset.with_features(dataset.features, dataset.feature_names)
        with pytest.raises(ValueError, match="held categories in training, such as 'colour 0', "):
            model.predict(coded)

    def test_categories_in_place_of_numbers_are_refused(self, ranker, dataset):
        numbers = dataset.with_features(dataset.features, dataset.feature_names)
        model = copy.deepcopy(ranker).fit(numbers)
        with pytest.raises(ValueError, match="'colour' holds texts or categories, and .* was not"):
            model.predict(dataset)

    def test_a_column_of_missing_values_is_taken(self, model, frame):
        empty = frame[["colour", "bm25"]].assign(colour=None)
        assert np.isfinite(model.predict(empty, qid=frame["qid"])).all()

    def test_permutation_importance_sees_what_the_ranker_sees(self, model, dataset):
        importance = permutation_importance(model, dataset, n_repeats=1)
        assert importance.feature_names == tuple(model.feature_names_in_)


def test_a_text_that_differs_in_nearly_every_document_is_no_category(frame):
    titles = frame.assign(title=[f"title {i}" for i in range(N)])
    message = r"'title' differs in nearly every document: it has 1,200 values in 1,200 documents"
    with pytest.warns(ColumnWarning, match="'title' is different in nearly every row"):
        dataset = localrank.data.read_table(titles)
    for ranker in (LambdaMART(5), RankSVM()):
        with pytest.raises(ValueError, match=message):
            ranker.fit(dataset)


def test_a_small_table_may_have_a_value_for_each_document():
    small = pd.DataFrame({"colour": ["red", "blue", "green"]})
    ranker = RankSVM().fit(small, [2, 1, 0], qid=[1, 1, 1])
    assert ranker.predict(small, qid=[1, 1, 1]).argmax() == 0


def test_local_rankers_explain_and_replace_their_selector(dataset):
    ranker = local_rank(2).fit(dataset)
    assert ranker.explain(dataset, 3).scores.shape == (10,)
    twin = ranker.with_selector(ranker.selector, dataset)
    assert_array_equal(twin.predict(dataset), ranker.predict(dataset))


def test_a_student_of_trees_with_sets_sees_columns_of_0_and_1(dataset):
    teacher = LambdaMART(10, min_leaf_documents=5).fit(dataset)
    student = distil(teacher, dataset)
    assert student.categories_ == teacher.categories_
    assert np.corrcoef(student.predict(dataset), teacher.predict(dataset))[0, 1] > 0.5


def test_descriptions_of_queries_refuse_codes(dataset):
    with pytest.raises(ValueError, match=r"'colour' holds categories. Make columns of 0 and 1"):
        Mean().fit(dataset)
    described = Mean().fit(dataset.one_hot())
    with pytest.raises(ValueError, match=r"was fitted on|'colour' holds categories"):
        described.transform(dataset)


def test_arrays_and_datasets_of_codes_are_numbers_to_a_ranker_of_numbers():
    """Only a frame or a table says which of its columns are categories."""
    dataset = RankingDataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    assert not hasattr(RankSVM().fit(dataset), "categories_")


@pytest.mark.parametrize("categories", ["sets", "one-hot"])
def test_added_trees_know_the_categories_of_the_first(frame, dataset, categories):
    first = frame[~frame["colour"].isin(["colour 0", "colour 11"])]
    parameters = {"min_leaf_documents": 5, "categories": categories, "warm_start": True}
    ranker = LambdaMART(10, **parameters).fit(localrank.data.read_table(first))
    scores = ranker.predict(localrank.data.read_table(first))
    trees = ranker.trees_
    ranker.set_params(n_trees=20).fit(dataset)
    assert set(ranker.categories_["colour"]) >= set(first["colour"].dropna())
    assert ("colour 0" in ranker.categories_["colour"]) == (categories == "sets")
    # The earlier trees say the same of the same documents, though the data has more values.
    seen = localrank.rankers._inputs.admitted_to(ranker, localrank.data.read_table(first), None)
    assert_array_equal(trees.score(seen.features), scores)
    constant = localrank.measures.NDCG(10).mean(dataset, np.zeros(N))
    assert ranker.score(dataset) > constant + 0.1


def test_trees_of_numbers_get_no_trees_of_categories(dataset):
    numbers = dataset.with_features(dataset.features, dataset.feature_names)
    ranker = LambdaMART(3, warm_start=True).fit(numbers).set_params(n_trees=5)
    with pytest.raises(ValueError, match="'colour' holds texts or categories"):
        ranker.fit(dataset)


def test_categories_have_no_direction(dataset):
    with pytest.raises(ValueError, match="for features of numbers: categories do not rise or fall"):
        LambdaMART(3, monotone={"colour": 1}).fit(dataset)
    LambdaMART(3, monotone={"bm25": 1}).fit(dataset)
