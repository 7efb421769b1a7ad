"""What every ranker promises, checked for every ranker and recipe that declares itself."""

import copy
import os
import pickle
import select
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from samples import RANKERS, RECIPES
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold

import localrank
from localrank import rankers
from localrank.data import RankingDataset
from localrank.data import dataset as datasets
from localrank.rankers._expanded import Expanded
from localrank.rankers._inputs import accepts_missing
from localrank.rankers._training import weighs_documents
from localrank.registry import make_sample

# A recipe only composes: how data is taken in and what becomes of odd numbers is up to its parts.
parts_first = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in RECIPES else name for name in RANKERS],
)


@pytest.fixture(params=RANKERS)
def name(request):
    return request.param


@pytest.fixture
def ranker(name):
    return make_sample(RANKERS[name])


@pytest.fixture
def model(name, trained):
    """The ranker, trained once on the queries for all tests. No test may change it."""
    return trained(name)


@pytest.fixture
def model_of_holed(name, trained, holed):
    """The ranker, trained once on missing values for all tests. No test may change it."""
    return trained(name, holed)


def shuffled(dataset: RankingDataset, seed: int = 0) -> tuple[np.ndarray, RankingDataset]:
    """The rows of a dataset in random order, with queries scattered, and the order."""
    order = np.random.default_rng(seed).permutation(dataset.n_documents)
    return order, rearranged(dataset, order)


def parts_of(ranker):
    """The ranker and all rankers inside."""
    yield ranker
    for value in ranker.get_params(deep=False).values():
        for part in value if isinstance(value, list | tuple) else [value]:
            if isinstance(part, rankers.Ranker):
                yield from parts_of(part)


@pytest.mark.parametrize(
    "kind",
    [name for name in dir(rankers) if isinstance(getattr(rankers, name), type)],
)
def test_at_most_two_families_stand_between_a_ranker_and_the_base(kind):
    assert len(getattr(rankers, kind).__mro__) <= 6


def test_the_constructor_only_stores(ranker):
    for name, value in ranker.get_params(deep=False).items():
        assert getattr(ranker, name) is value
    assert not [name for name in vars(ranker) if name.endswith("_")]


def test_a_clone_has_the_same_parameters_and_is_not_fitted(model, queries):
    twin = clone(model)
    assert repr(twin.get_params()) == repr(model.get_params())
    with pytest.raises(NotFittedError):
        twin.predict(queries)


def test_fit_returns_the_ranker_and_scores_are_one_finite_number_per_document(ranker, queries):
    assert ranker.fit(queries) is ranker
    scores = ranker.predict(queries)
    assert scores.shape == (queries.n_documents,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_it_learns_to_rank_better_than_chance(model, queries):
    constant = localrank.measures.NDCG(10).mean(queries, np.zeros(queries.n_documents))
    assert model.score(queries) > constant + 0.05


def test_inputs_stay_unchanged(ranker, queries):
    X, y, qid = (
        queries.features.copy(),
        queries.relevance.copy(),
        queries.query_ids[queries.query_index].copy(),
    )
    before = [X.copy(), y.copy(), qid.copy()]
    ranker.fit(X, y, qid=qid).predict(X, qid=qid)
    for now, then in zip([X, y, qid], before, strict=True):
        assert_array_equal(now, then)


def test_the_same_seed_gives_the_same_model(ranker, model, queries):
    assert_array_equal(ranker.fit(queries).predict(queries), model.predict(queries))


def test_a_second_fit_forgets_the_first(ranker, model, queries):
    ranker.fit(queries.select(np.arange(20))).predict(queries)
    assert_array_equal(ranker.fit(queries).predict(queries), model.predict(queries))


def test_the_order_of_training_rows_does_not_matter(ranker, model, queries):
    _, mixed = shuffled(queries)
    again = ranker.fit(mixed)
    assert_allclose(model.predict(queries), again.predict(queries), rtol=1e-9)


@pytest.fixture(scope="module")
def long_lists(holed):
    """Lists of about 90 documents, some with missing values, some with huge ones."""
    features = holed.features.copy()
    features[:, 3] = np.where(features[:, 3] > 0, 1e100, -1e100)
    values = np.concatenate([holed.features, features])
    qid = np.arange(len(values)) // 90
    return RankingDataset.from_arrays(
        values, np.tile(holed.labels, 2), qid, feature_names=holed.feature_names
    )


@pytest.mark.filterwarnings("ignore::UserWarning")  # from learning on huge values while ranking
def test_predictions_come_back_in_input_order(model, queries, long_lists):
    for dataset in (queries, long_lists):
        order, mixed = shuffled(dataset)
        try:
            expected = model.predict(dataset)
        except ValueError:  # products of huge values have no score
            continue
        # To the last bit, whatever the order of documents and queries.
        assert_array_equal(model.predict(mixed), expected[order])


def test_the_size_of_scored_blocks_changes_no_bit(model, queries, monkeypatch):
    whole = model.predict(queries)
    monkeypatch.setattr(datasets, "SCORED_BYTES", 1)
    assert_array_equal(model.predict(queries), whole)


def test_a_query_is_scored_alike_alone_and_among_others(model, queries):
    alone = model.predict(queries.select([7]))
    among = model.predict(queries)[queries.offsets[7] : queries.offsets[8]]
    assert_allclose(alone, among, rtol=1e-12)


@parts_first
def test_arrays_dataframes_and_datasets_score_the_same(ranker, model, queries):
    qid = queries.query_ids[queries.query_index].astype(str)
    frame = pd.DataFrame(queries.features, columns=list(queries.feature_names))
    by_dataset = model.predict(queries)
    by_array = ranker.fit(queries.features, queries.relevance, qid=qid)
    assert_array_equal(by_array.predict(queries.features, qid=qid), by_dataset)
    by_frame = ranker.fit(frame, pd.Series(queries.relevance), qid=pd.Series(qid))
    assert_array_equal(by_frame.predict(frame, qid=qid), by_dataset)


@parts_first
def test_single_and_double_precision_of_equal_values_rank_alike(ranker, queries):
    values = queries.features.astype(np.float32)
    names = queries.feature_names
    single = queries.with_features(values, names)
    double = queries.with_features(values.astype(np.float64), names)
    by_single = clone(ranker).fit(single).predict(single)
    by_double = ranker.fit(double).predict(double)
    if any(isinstance(part, Expanded) for part in parts_of(ranker)):
        # Computed columns are rounded to the precision of the data, which is like another seed.
        return
    assert_allclose(by_single, by_double, rtol=1e-12, atol=1e-12)


@parts_first
def test_a_negative_zero_is_a_zero(ranker, queries):
    features = np.where(np.abs(queries.features) < 0.5, 0.0, queries.features)
    signed = np.where(features == 0, -0.0, features)
    names = queries.feature_names
    plain = clone(ranker).fit(queries.with_features(features, names))
    other = ranker.fit(queries.with_features(signed, names))
    assert_array_equal(other.predict(queries), plain.predict(queries))


@parts_first
def test_sparse_features_score_the_same(ranker, model, queries):
    qid, sparse = queries.query_index, csr_array(queries.features)
    again = ranker.fit(sparse, queries.relevance, qid=qid)
    assert_array_equal(again.predict(sparse, qid=qid), model.predict(queries))


@pytest.mark.parametrize("name", ["BestFeature", "RankSVM", "SVMMap", "ListwiseLinear"])
def test_the_order_of_features_does_not_matter_to_linear_rankers(ranker, queries):
    order = np.random.default_rng(0).permutation(queries.n_features)
    mixed = queries.with_features(queries.features[:, order])
    plain = queries.with_features(queries.features)
    expected = clone(ranker).fit(plain).predict(plain)
    assert_allclose(ranker.fit(mixed).predict(mixed), expected, rtol=1e-3, atol=1e-3)


@parts_first
def test_float32_features_work(ranker, queries):
    small = queries.with_features(queries.features.astype(np.float32))
    assert np.isfinite(ranker.fit(small).predict(small)).all()


def test_a_saved_ranker_scores_as_before(model, queries, tmp_path):
    scores = model.predict(queries)
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert type(loaded) is type(model)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert_array_equal(loaded.predict(queries), scores)


def test_eight_threads_at_once_score_as_one(model, queries):
    scores = model.predict(queries)
    begin = threading.Barrier(8)

    def predict(_):
        begin.wait(60)
        return model.predict(queries)

    with ThreadPoolExecutor(8) as pool:
        for threaded in pool.map(predict, range(8)):
            assert_array_equal(threaded, scores)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_scores_as_its_parent(ranker, queries):
    few = queries.select(np.arange(10))
    # With as many threads as on a server. A child does not inherit threads.
    jobs = [name for name in ranker.get_params() if name.split("__")[-1] == "n_jobs"]
    scores = ranker.set_params(**dict.fromkeys(jobs, 2)).fit(queries).predict(few)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, ranker.predict(few).tobytes())
        os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], 60)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert ready, "the child does not answer"
    with os.fdopen(read, "rb") as answer:
        assert answer.read() == scores.tobytes()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copied_ranker_scores_as_before(model, queries, again):
    assert_array_equal(again(model).predict(queries), model.predict(queries))


def test_an_unfitted_ranker_cannot_predict_or_be_saved(ranker, queries, tmp_path):
    with pytest.raises(NotFittedError):
        ranker.predict(queries)
    with pytest.raises(NotFittedError):
        ranker.save(tmp_path / "model.localrank")


def test_another_number_of_features_is_refused(model, queries):
    with pytest.raises(ValueError, match="was fitted on 8 features. The dataset has 7"):
        model.predict(queries.with_features(queries.features[:, :7]))


def test_other_feature_names_are_refused(model, queries):
    names = ["f1", "bm25", *queries.feature_names[2:]]
    with pytest.raises(ValueError, match="without 'f2' and with a new 'bm25'"):
        model.predict(queries.with_features(queries.features, names))


def test_a_surplus_feature_is_named(model, queries):
    wide = np.column_stack([queries.features, queries.features[:, 0]])
    with pytest.raises(ValueError, match="comes with a new 'docid'"):
        model.predict(queries.with_features(wide, [*queries.feature_names, "docid"]))


def test_features_in_another_order_are_found_by_name(model, queries):
    swapped = queries.with_features(queries.features[:, ::-1], queries.feature_names[::-1])
    assert_array_equal(model.predict(swapped), model.predict(queries))


def test_a_failed_fit_changes_nothing(model, queries):
    ranker, scores = copy.deepcopy(model), model.predict(queries)
    flat = RankingDataset.from_arrays(np.eye(4), [1, 1, 0, 0], ["a", "a", "b", "b"])
    if does_without_labels(ranker):
        flat = flat.with_features(np.empty((4, 0)))
    with pytest.raises(ValueError, match="nothing to learn"):
        ranker.fit(flat)
    assert_array_equal(ranker.predict(queries), scores)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_validation_data_is_checked_like_training_data(ranker, queries):
    with pytest.raises(ValueError, match="was fitted on|comes without"):
        ranker.fit(queries, valid=queries.with_features(queries.features[:, 1:]))
    with pytest.raises(ValueError, match="decides nothing"):
        ranker.fit(
            queries, valid=(queries.features, np.ones(queries.n_documents), queries.query_index)
        )
    with pytest.raises(ValueError, match=r"a tuple \(X, y, qid\)"):
        ranker.fit(queries, valid=(queries.features, queries.relevance))
    if refuse_missing(ranker):
        holed = queries.replaced(features=np.full_like(queries.features, np.nan))
        with pytest.raises(ValueError, match="was given missing='refuse'"):
            ranker.fit(queries, valid=holed)


def test_data_without_features_is_refused(ranker, queries):
    with pytest.raises(ValueError, match="has no features"):
        ranker.fit(queries.with_features(np.empty((queries.n_documents, 0))))


def test_a_path_instead_of_data_is_refused_with_advice(ranker):
    with pytest.raises(ValueError, match="Read 'train.txt' first"):
        ranker.fit("train.txt")


def test_a_refit_on_unnamed_features_forgets_the_names(model, queries):
    ranker = copy.deepcopy(model).fit(queries.with_features(queries.features))
    renamed = queries.with_features(queries.features, [f"x{i}" for i in range(8)])
    assert ranker.predict(renamed).shape == (queries.n_documents,)


@pytest.fixture(scope="module")
def holed(queries):
    """Two features missing in some documents, one in whole queries, one always."""
    features = queries.features.copy()
    features[np.random.default_rng(0).random(queries.n_documents) < 0.3, 1] = np.nan
    features[::7, 4] = np.nan
    features[queries.query_index % 5 == 0, 2] = np.nan
    features[:, 6] = np.nan
    features[3] = np.nan
    return queries.with_features(features, queries.feature_names)


def test_missing_values_are_taken(ranker, model_of_holed, holed):
    assert accepts_missing(ranker)
    ranker = model_of_holed
    scores = ranker.predict(holed)
    assert np.isfinite(scores).all()
    assert ranker.n_features_in_ == 8
    constant = localrank.measures.NDCG(10).mean(holed, np.zeros(holed.n_documents))
    assert ranker.score(holed) > constant


def test_a_model_of_complete_data_takes_missing_values(model, holed):
    assert np.isfinite(model.predict(holed)).all()


def test_the_order_of_rows_with_missing_values_does_not_matter(ranker, model_of_holed, holed):
    order, mixed = shuffled(holed)
    scores = model_of_holed.predict(holed)
    # NaN has different bits on different machines.
    signed = np.where(np.isnan(mixed.features), -np.nan, mixed.features)
    again = ranker.fit(mixed.replaced(features=signed))
    assert_allclose(again.predict(holed), scores, rtol=1e-9)
    assert_allclose(model_of_holed.predict(mixed), scores[order], rtol=1e-9, atol=1e-12)


def test_a_query_with_missing_values_is_scored_alike_alone_and_among_others(model_of_holed, holed):
    alone = model_of_holed.predict(holed.select([5]))
    among = model_of_holed.predict(holed)[holed.offsets[5] : holed.offsets[6]]
    assert_allclose(alone, among, rtol=1e-12)


def test_a_model_of_missing_values_is_saved_with_its_rule(model_of_holed, queries, holed, tmp_path):
    scores = model_of_holed.predict(holed)
    model_of_holed.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(holed), scores)
    assert_array_equal(loaded.predict(queries), model_of_holed.predict(queries))


def test_a_refit_on_complete_data_forgets_what_was_missing(model, model_of_holed, queries, holed):
    again = copy.deepcopy(model_of_holed).fit(queries)
    assert_array_equal(again.predict(holed), model.predict(holed))


@pytest.fixture(scope="module")
def coloured(queries):
    """The queries with a feature of categories that says something of the label."""
    rng = np.random.default_rng(0)
    colours = np.array(["red", "green", "blue", "black", None], dtype=object)
    frame = pd.DataFrame(queries.features, columns=queries.feature_names)
    noise = rng.integers(0, 2, len(frame))
    frame.insert(3, "colour", colours[((queries.relevance + noise) % 5).astype(int)])
    return frame


@pytest.fixture(scope="module")
def coloured_queries(queries, coloured):
    return RankingDataset.from_arrays(
        coloured, queries.relevance, queries.query_ids[queries.query_index]
    )


@pytest.fixture
def model_of_coloured(name, trained, coloured_queries):
    """The ranker, trained once on categories for all tests. No test may change it."""
    return trained(name, coloured_queries)


def as_categories(frame, order):
    return frame.assign(colour=frame["colour"].astype(pd.CategoricalDtype(order)))


@parts_first
def test_the_order_of_categories_does_not_matter(
    model_of_coloured, queries, coloured, coloured_queries
):
    qid, scores = queries.query_index, model_of_coloured.predict(coloured_queries)
    for order in (["red", "blue", "black", "green"], ["black", "grey", "green", "blue", "red"]):
        frame = as_categories(coloured, order)
        assert_array_equal(model_of_coloured.predict(frame, qid=qid), scores)


@parts_first
def test_a_category_that_was_not_in_training_counts_as_missing(
    model_of_coloured, queries, coloured
):
    new, missing = (
        coloured.assign(colour=coloured["colour"].replace("blue", value))
        for value in ("beige", None)
    )
    scores = model_of_coloured.predict(new, qid=queries.query_index)
    assert_array_equal(scores, model_of_coloured.predict(missing, qid=queries.query_index))
    assert np.isfinite(scores).all()


@parts_first
def test_a_model_of_categories_is_saved_with_its_values(
    model_of_coloured, coloured_queries, coloured, queries, tmp_path
):
    model_of_coloured.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert loaded.categories_ == {"colour": ("black", "blue", "green", "red")}
    scores = model_of_coloured.predict(coloured_queries)
    assert_array_equal(loaded.predict(coloured_queries), scores)
    frame = as_categories(coloured, ["red", "green", "blue", "black"])
    assert_array_equal(loaded.predict(frame, qid=queries.query_index), scores)


def test_missing_values_are_refused_where_that_is_asked_for(ranker, queries, holed):
    if not refuse_missing(ranker):
        return
    assert not accepts_missing(ranker)
    message = (
        r"was given missing='refuse', and f1 has missing values \(1 of .*missing='impute'.*--set"
    )
    with pytest.raises(ValueError, match=message):
        ranker.fit(holed)
    ranker.fit(queries)
    with pytest.raises(ValueError, match=message):
        ranker.predict(holed)


def refuse_missing(ranker):
    """Make all parts refuse missing values that can. Returns these parts."""
    able = [part for part in parts_of(ranker) if "missing" in part.get_params(deep=False)]
    return [part.set_params(missing="refuse") for part in able]


@parts_first
@pytest.mark.parametrize(
    "labels",
    [
        lambda y, rng: np.minimum(rng.poisson(4.0**y - 1), 500),
        lambda y, rng: np.round(0.1 * y * rng.uniform(0.7, 1.3, len(y)), 3),
        lambda y, rng: np.where((y == 0) & (rng.random(len(y)) < 0.5), -2, y),
        lambda y, rng: 20 * y + rng.integers(0, 20, len(y)),
    ],
    ids=["clicks", "shares", "spam", "percent"],
)
@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_any_labels_can_be_learned(ranker, queries, labels):
    relevance = labels(queries.labels, np.random.default_rng(0)).astype(float)
    other = queries.replaced(relevance=relevance)
    scores = ranker.fit(other, valid=other).predict(queries)
    measure = localrank.measures.NDCG(10)
    constant = measure.mean(queries, np.zeros(queries.n_documents))
    assert measure.mean(queries, scores) > constant


def does_without_labels(ranker):
    """Whether the ranker can be fitted without labels, such as one that learns nothing."""
    flat = RankingDataset.from_arrays(np.eye(4), [1, 1, 0, 0], ["a", "a", "b", "b"])
    return not ranker.needs.labels and ranker.learns_from(flat).any()


def test_training_without_labels_is_refused_unless_they_are_not_needed(ranker, queries):
    if does_without_labels(ranker):
        ranker.fit(queries.features, qid=queries.query_index)
        assert np.isfinite(ranker.predict(queries)).all()
        return
    with pytest.raises(ValueError, match="no relevance labels"):
        ranker.fit(queries.features, qid=queries.query_index)


def test_training_without_query_ids_is_refused(ranker, queries):
    with pytest.raises(ValueError, match="'qid' argument is missing"):
        ranker.fit(queries.features, queries.relevance)


def test_labels_beside_a_dataset_are_refused(ranker, queries):
    with pytest.raises(ValueError, match="leave out y and qid"):
        ranker.fit(queries, queries.relevance)


def test_queries_with_nothing_to_order_are_refused(ranker):
    flat = RankingDataset.from_arrays(np.eye(4), [1, 1, 0, 0], ["a", "a", "b", "b"])
    if does_without_labels(ranker):
        assert np.isfinite(ranker.fit(flat).predict(flat)).all()
        return
    with pytest.raises(ValueError, match="no query has two different labels"):
        ranker.fit(flat)


def test_document_weights_of_whole_queries_are_query_weights(ranker, queries):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, queries.n_queries)
    by_query = clone(ranker).fit(queries, query_weight=weights)
    order, mixed = shuffled(queries)
    by_document = ranker.fit(mixed, sample_weight=weights[queries.query_index][order])
    assert_allclose(by_query.predict(queries), by_document.predict(queries), rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"query_weight": [1.0]}, r"query_weight needs 60 entries"),
        ({"query_weight": -np.ones(60)}, "finite numbers, 0 or larger"),
        ({"query_weight": np.zeros(60)}, "weigh nothing"),
        ({"sample_weight": np.arange(1.0)}, "sample_weight needs"),
    ],
)
def test_wrong_weights_are_refused(ranker, queries, weights, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit(queries, **weights)


def test_weights_that_differ_within_a_query_are_taken_or_refused_with_the_reason(
    ranker, model, queries
):
    weights = np.random.default_rng(0).choice([0.2, 5.0], queries.n_documents)
    if not weighs_documents(ranker):
        with pytest.raises(ValueError, match="it compares .* the same for all documents of a"):
            ranker.fit(queries, sample_weight=weights)
        return
    alike = model.predict(queries)
    order, mixed = shuffled(queries)
    again = clone(ranker).fit(mixed, sample_weight=weights[order]).predict(queries)
    scores = ranker.fit(queries, sample_weight=weights).predict(queries)
    assert_allclose(again, scores, rtol=1e-9)
    assert not np.allclose(scores, alike)


@pytest.mark.parametrize(
    "name",
    [name for name, part in RANKERS.items() if "n_jobs" in make_sample(part).get_params()],
)
def test_the_number_of_jobs_does_not_matter(ranker, queries):
    one = clone(ranker).set_params(n_jobs=1).fit(queries).predict(queries)
    two = ranker.set_params(n_jobs=2).fit(queries).predict(queries)
    assert_array_equal(one, two)


def test_validation_queries_may_be_given(ranker, queries):
    train, valid = queries.select(np.arange(40)), queries.select(np.arange(40, 60))
    qid = valid.query_index
    by_dataset = clone(ranker).fit(train, valid=valid).predict(valid)
    frame = pd.DataFrame(valid.features, columns=valid.feature_names)
    by_arrays = ranker.fit(train, valid=(frame, valid.relevance, qid)).predict(valid)
    assert_array_equal(by_dataset, by_arrays)


@parts_first
def test_a_grid_search_over_queries_runs(name, ranker, queries):
    grid = RANKERS[name].declaration.grid
    ends = {name: [values[0], values[-1]] for name, values in list(grid.items())[:1]}
    qid = queries.query_ids[queries.query_index]
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(ranker, ends, cv=GroupKFold(3))
        search.fit(queries.features, queries.relevance, qid=qid, groups=qid)
    results = search.cv_results_["mean_test_score"]
    assert len(set(results)) == 2 if grid else len(results) == 1
    assert search.best_score_ == max(results)
    assert search.best_estimator_.predict(queries).shape == (queries.n_documents,)


def test_wrong_parameters_are_refused_in_one_form(ranker, queries):
    for name, value in ranker.get_params(deep=False).items():
        if name not in ("n_jobs", "random_state"):
            message = f"The '{name}' parameter of {type(ranker).__name__} must be .* Got <object"
            with pytest.raises(ValueError, match=message):
                ranker.set_params(**{name: object()}).fit(queries)
            ranker.set_params(**{name: value})


def test_two_documents_and_one_feature_are_enough(ranker, rng):
    if isinstance(ranker, rankers.LGMML):
        # By default, half of the documents lie where a farther one scores higher, on either side.
        ranker.set_params(scale="monotone")
    features = rng.normal(size=(40, 1))
    labels = (features > np.repeat(features.reshape(20, 2).mean(axis=1), 2)[:, None]).ravel()
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(20), 2))
    assert ranker.fit(dataset).score(dataset) > 0.9


@parts_first
def test_duplicated_documents_work(ranker, queries):
    rows = np.repeat(np.arange(queries.n_documents), 2)
    doubled = rearranged(queries, rows)
    scores = ranker.fit(doubled).predict(doubled)
    assert_array_equal(scores[::2], scores[1::2])
    assert ranker.score(doubled) > 0.5


@parts_first
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_unit_of_the_features_hardly_matters(ranker, model, queries, factor):
    other = queries.with_features(queries.features * factor)
    scaled = ranker.fit(other).score(other)
    assert scaled == pytest.approx(model.score(queries), abs=0.02)


@parts_first
def test_constant_features_do_no_harm(ranker, queries):
    features = np.column_stack([queries.features, np.full(queries.n_documents, 0.1)])
    wide = queries.with_features(features)
    assert ranker.fit(wide).score(wide) > 0.6


@parts_first
def test_queries_with_one_label_are_counted(ranker, queries):
    labels = queries.relevance.copy()
    labels[: queries.offsets[7]] = 1
    dataset = RankingDataset.from_arrays(queries.features, labels, queries.query_index)
    expected = sum(len(set(labels[queries.query_index == query])) == 1 for query in range(60))
    assert expected >= 7
    assert ranker.fit(dataset).training_data_["n_queries_with_one_label"] == expected


def test_scores_that_are_no_numbers_are_an_error(model, queries, monkeypatch):
    scores = np.zeros(queries.n_documents)
    scores[queries.offsets[3]] = np.nan
    monkeypatch.setattr(type(model), "predict_rows", lambda self, dataset: scores)
    with pytest.raises(ValueError, match=f"document of query {queries.query_ids[3]} the score nan"):
        model.predict(queries)


@pytest.mark.filterwarnings("ignore::UserWarning")  # from trees and clusters that find nothing
@parts_first
@pytest.mark.parametrize("factor", [5e-324, 1e-310, 1e-300, 1e90])
def test_tiny_and_huge_features_are_ranked_or_refused(ranker, queries, factor):
    try:
        other = queries.with_features(np.round(4 * queries.features) * factor)
        scores = ranker.fit(other).predict(other)
    except ValueError:
        return
    assert np.isfinite(scores).all()
