from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from scipy.spatial.distance import cdist

import localrank
from localrank.data import RankingDataset, make_queries
from localrank.measures import NDCG
from localrank.rankers import LGMML
from localrank.rankers.lgmml._gmml import GMML
from localrank.rankers.lgmml._training import Training
from localrank.representations import PrincipalComponents

QUICK = {"n_metrics": 12, "n_iterations": 200}


@pytest.fixture(scope="module")
def fitted(queries):
    return LGMML(unseen="nearest", **QUICK).fit(queries)


def with_unseen(ranker, unseen):
    """The same model, with other weights for the queries it ranks."""
    other = LGMML(**{**ranker.get_params(), "unseen": unseen})
    other.__dict__.update({name: value for name, value in vars(ranker).items() if name[-1] == "_"})
    return other


def of_query(dataset, query):
    return slice(dataset.offsets[query], dataset.offsets[query + 1])


def rows_of(ranker, dataset):
    """The row of each training query in the weights of a model with `unseen="nearest"`."""
    scaled = dataset.with_features(dataset.features / ranker.metrics_.scale)
    components = ranker.representation_.transform(scaled)
    rows = ranker.representation_.distances(components, ranker.descriptions_).argmin(axis=1)
    assert sorted(rows) == list(range(dataset.n_queries))
    return rows


def test_scores_are_those_of_the_formula(fitted, queries):
    metrics, factors = fitted.metrics_, fitted.metrics_.factors()
    weights = fitted.mean_weights_
    scores = with_unseen(fitted, "mean").predict(queries)
    for document in (0, 17, 200):
        expected = 0.0
        for r in range(12):
            v = queries.features[document] / metrics.scale - metrics.anchors[r]
            distance = np.sqrt(v @ factors[r].T @ factors[r] @ v)
            expected -= weights[r] * np.exp(-distance) * distance
        assert scores[document] == pytest.approx(expected, rel=1e-9)


def test_features_are_scaled_by_their_norm(fitted, queries):
    used = queries.select(fitted.learns_from(queries))
    norms = np.linalg.norm(used.features, axis=0)
    assert_allclose(fitted.metrics_.scale, norms / np.sqrt(used.n_documents), rtol=1e-12)


@pytest.mark.parametrize(("level", "t"), [(None, 0.5), (2, 0.5), (None, 0.2)])
def test_each_metric_is_the_geometric_mean_metric_of_a_query(queries, level, t):
    ranker = LGMML(10, sampling_rate=1.0, relevance_level=level, t=t, n_iterations=0).fit(queries)
    metrics = ranker.metrics_
    scaled = queries.features / metrics.scale
    factors = []
    for r, anchor in enumerate(metrics.anchors):
        row = np.flatnonzero(np.abs(scaled - anchor).max(axis=1) < 1e-12)[0]
        query = queries.query_index[row]
        rows = of_query(queries, query)
        documents, labels = scaled[rows], queries.labels[rows]
        relevant = labels >= (level or 1)
        gmml = GMML(t, ridge=0.01).fit(documents[relevant], documents[labels == 0])
        metric = metrics.factors()[r].T @ metrics.factors()[r]
        factors.append(np.sqrt(np.linalg.det(metric) / np.linalg.det(gmml.metric_)) ** (1 / 8))
        assert_allclose(metric, gmml.metric_ * factors[-1] ** 2, rtol=1e-7)
        # The anchor is the relevant document from which the query is sorted best.
        alone = queries.select([query])
        values = [NDCG().mean(alone, -row) for row in gmml.distances(documents, documents)]
        best = np.where(relevant, values, -1)
        assert best[row - rows.start] == best.max()
    # All distances have the same factor.
    assert_allclose(factors, factors[0], rtol=1e-9)


@pytest.mark.parametrize("n_metrics", [12, 40])
def test_no_query_gives_two_metrics_while_there_are_others(queries, n_metrics):
    anchors = LGMML(n_metrics, n_iterations=0).fit(queries).metrics_.anchors
    scaled = queries.features / LGMML(1, n_iterations=0).fit(queries).metrics_.scale
    rows = np.abs(scaled[:, None] - anchors).max(axis=2).argmin(axis=0)
    assert len(set(queries.query_index[rows])) == n_metrics


def test_the_median_training_distance_is_one(fitted, queries):
    used = queries.select(fitted.learns_from(queries))
    assert np.median(fitted.metrics_.distances(used.features)) == pytest.approx(1.0)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_under_monotone_a_farther_document_never_scores_higher_for_one_metric(seed):
    dataset, _ = make_queries(8, n_documents=(3, 12), n_features=5, n_types=2, random_state=seed)
    ranker = LGMML(1, scale="monotone", unseen="uniform", n_iterations=0).fit(dataset)
    used = dataset.select(ranker.learns_from(dataset))
    distances = ranker.metrics_.distances(used.features)[:, 0]
    assert distances.max() == pytest.approx(1.0)
    scores = ranker.predict(used)[np.argsort(distances)]
    assert (np.diff(scores) <= 1e-15).all()


def test_under_median_a_farther_document_may_score_higher(queries):
    ranker = LGMML(1, unseen="uniform", n_iterations=0).fit(queries)
    distances = ranker.metrics_.distances(queries.features)[:, 0]
    scores = ranker.predict(queries)
    near, far = distances <= 1, distances > 1
    assert (np.diff(scores[near][np.argsort(distances[near])]) <= 1e-15).all()
    assert (np.diff(scores[far][np.argsort(distances[far])]) >= -1e-15).all()


def test_a_distance_has_no_direction(queries):
    # A document better than the anchor scores the same as one that is as much worse.
    ranker = LGMML(1).fit(queries.replaced(feature_names=None))
    anchor = ranker.metrics_.anchors[0] * ranker.metrics_.scale
    step = np.random.default_rng(0).normal(size=(20, 8))
    better = ranker.predict(anchor + step, qid=np.zeros(20))
    assert_allclose(ranker.predict(anchor - step, qid=np.zeros(20)), better, rtol=1e-9)


def test_each_query_learns_to_order_its_own_documents(queries):
    ranker = LGMML(20, unseen="nearest").fit(queries)
    used = queries.select(ranker.learns_from(queries))
    distances = ranker.metrics_.distances(used.features)
    values, rows = -distances * np.exp(-distances), rows_of(ranker, used)
    before, after = [], []
    for query in range(used.n_queries):
        members = of_query(used, query)
        above = used.labels[members][:, None] > used.labels[members]
        for weights, wrong in ((np.ones(20), before), (ranker.weights_[rows[query]], after)):
            scores = values[members] @ weights
            wrong.append(np.mean((scores[:, None] <= scores)[above]))
    assert np.mean(after) < 0.6 * np.mean(before)


def test_without_steps_all_weights_are_equal(queries):
    mean = LGMML(12, n_iterations=0).fit(queries)
    assert_array_equal(mean.weights_, 1.0)
    uniform = LGMML(12, unseen="uniform").fit(queries)
    assert_allclose(mean.predict(queries), uniform.predict(queries))


def test_the_mean_of_weights_is_weighted_as_the_queries(queries):
    weights = np.random.default_rng(0).uniform(size=60) * (np.arange(60) % 3 > 0)
    ranker = LGMML(unseen="nearest", **QUICK).fit(queries, query_weight=weights)
    used = ranker.learns_from(queries) & (weights > 0)
    assert ranker.weights_.shape == (used.sum(), 12)
    rows = rows_of(ranker, queries.select(used))
    expected = np.average(ranker.weights_[rows], axis=0, weights=weights[used])
    assert_allclose(ranker.mean_weights_, expected)


def test_queries_that_weigh_nothing_are_as_good_as_absent(queries):
    weights = (np.arange(60) < 40).astype(float)
    by_weight = LGMML(**QUICK).fit(queries, query_weight=weights)
    absent = LGMML(**QUICK).fit(queries.select(np.arange(40)))
    assert_array_equal(by_weight.predict(queries), absent.predict(queries))


def test_a_query_that_weighs_most_gives_most_metrics(queries):
    used = np.flatnonzero(LGMML().learns_from(queries))
    weights = np.ones(60)
    weights[used[0]] = len(used) - 1  # half of all
    metrics = (
        LGMML(20, sampling_rate=0.5, n_iterations=0).fit(queries, query_weight=weights).metrics_
    )
    documents = queries.features[of_query(queries, used[0])] / metrics.scale
    assert (cdist(metrics.anchors, documents).min(axis=1) < 1e-9).sum() == 10


def test_a_nearest_query_lends_its_weights(fitted, queries):
    used = queries.select(fitted.learns_from(queries))
    scaled = used.with_features(used.features / fitted.metrics_.scale)
    representation = PrincipalComponents().fit(scaled)
    assert fitted.representation_.n_components_ == representation.n_components_
    components = representation.transform(scaled)
    scores = fitted.predict(queries)
    for query in (0, 13, 31):
        alone = queries.select([query])
        scaled = alone.with_features(alone.features / fitted.metrics_.scale)
        description = representation.transform(scaled)
        nearest = components[np.argmin(representation.distances(description, components)[0])]
        row = np.abs(fitted.descriptions_ - nearest).max(axis=(1, 2)).argmin()
        distances = fitted.metrics_.distances(alone.features)
        expected = -(distances * np.exp(-distances)) @ fitted.weights_[row]
        assert_allclose(scores[of_query(queries, query)], expected, rtol=1e-9)


@pytest.mark.parametrize("unseen", ["mean", "uniform", "nearest"])
def test_the_order_of_lines_does_not_matter_whatever_the_weights(queries, unseen):
    order = np.random.default_rng(3).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    ranker = LGMML(unseen=unseen, **QUICK)
    expected = ranker.fit(queries).predict(queries)
    assert_allclose(ranker.fit(mixed).predict(queries), expected, rtol=1e-9)


def test_the_unit_of_each_feature_does_not_matter(queries):
    units = 10.0 ** np.arange(-4, 4) / 3
    other = queries.with_features(queries.features * units)
    expected = LGMML(**QUICK).fit(queries).predict(queries)
    assert_allclose(LGMML(**QUICK).fit(other).predict(other), expected, rtol=1e-6)


@pytest.mark.parametrize("unseen", ["mean", "nearest"])
def test_a_path_has_the_models_of_separate_fits(queries, unseen):
    margins, steps = [0.1, 1.0, 0.1, 0.001], [0.1, 0.1, 1.0, 0.01]
    holed = queries.features.copy()
    holed[::7, 2] = np.nan
    data = queries.with_features(holed, [f"f{k}" for k in range(8)])
    path = LGMML(unseen=unseen, **QUICK).fit_path(data, margins=margins, steps=steps)
    for margin, step, model in zip(margins, steps, path, strict=True):
        alone = LGMML(unseen=unseen, margin=margin, step=step, **QUICK).fit(data)
        assert model.get_params() == alone.get_params()
        assert vars(model).keys() == vars(alone).keys()
        assert_array_equal(model.weights_, alone.weights_)
        assert_array_equal(model.mean_weights_, alone.mean_weights_)
        assert_array_equal(model.predict(data), alone.predict(data))
    assert np.ptp([model.weights_.sum() for model in path]) > 1


def test_a_path_checks_its_parameters(queries):
    with pytest.raises(ValueError, match="'step' parameter of LGMML must be"):
        LGMML(**QUICK).fit_path(queries, margins=[1.0, 1.0], steps=[0.1, 0.0])


def test_the_seed_decides_what_is_drawn(queries):
    by_seed = [LGMML(random_state=seed, **QUICK).fit(queries).predict(queries) for seed in (0, 1)]
    assert np.abs(by_seed[0] - by_seed[1]).max() > 1e-3


def music(n_queries=1, seed=0):
    """Songs around each query song. Relevant songs are near it in two of the features."""
    rng = np.random.default_rng(seed)
    apart = rng.normal(size=(n_queries, 40, 6))
    relevant = (apart[..., :2] ** 2).sum(axis=2) < 1.5
    return RankingDataset.from_arrays(
        apart.reshape(-1, 6), relevant.ravel(), np.repeat(np.arange(n_queries), 40)
    )


def moved(dataset, seed=5):
    """The same songs at other places in the space, and the vectors of their queries."""
    vectors = np.random.default_rng(seed).integers(-8, 8, size=(dataset.n_queries, 6)) / 4
    # Sums of few digits, so that nothing is rounded.
    return dataset.with_features(np.rint(64 * dataset.features) / 64), vectors


@pytest.mark.parametrize("unseen", ["mean", "nearest"])
@pytest.mark.parametrize("given", ["columns", "dict"])
def test_query_vectors_are_taken_off_as_by_hand_to_the_last_bit(given, unseen):
    by_hand, vectors = moved(music(20))
    documents = by_hand.features + vectors[by_hand.query_index]
    if given == "dict":
        dataset, where = by_hand.with_features(documents), dict(enumerate(vectors))
    else:
        columns = np.column_stack([vectors[by_hand.query_index], documents])
        dataset, where = by_hand.with_features(columns), list(range(6))
    expected = LGMML(query_vectors="origin", unseen=unseen, **QUICK).fit(by_hand)
    ranker = LGMML(query_vectors=where, unseen=unseen, **QUICK).fit(dataset)
    assert_array_equal(ranker.metrics_.anchors, 0.0)
    assert_array_equal(ranker.metrics_.scale, expected.metrics_.scale)
    assert_array_equal(ranker.weights_, expected.weights_)
    assert_array_equal(ranker.predict(dataset), expected.predict(by_hand))


def test_one_metric_with_the_query_as_anchor_is_the_global_metric():
    dataset, vectors = moved(music())
    songs = dataset.with_features(dataset.features + vectors)
    ranker = LGMML(1, sampling_rate=1.0, query_vectors={0: vectors[0]}, scale="monotone")
    ranker.fit(songs)
    # Subtracting the query does not change differences between its documents.
    scaled, query = songs.features / ranker.metrics_.scale, vectors / ranker.metrics_.scale
    relevant = songs.labels > 0
    gmml = GMML(ridge=0.01).fit(scaled[relevant], scaled[~relevant])
    distances = gmml.distances(query, scaled)[0]
    assert_array_equal(np.argsort(-ranker.predict(songs)), np.argsort(distances))


def test_metrics_at_the_query_rank_new_queries_by_their_distance_to_it():
    train, test = music(20), music(20, seed=1)
    ranker = LGMML(10, query_vectors="origin", scale="monotone").fit(train)
    euclidean = -np.linalg.norm(test.features, axis=1)
    assert ranker.score(test) > NDCG(10).mean(test, euclidean) + 0.05


def test_without_query_vectors_anchors_are_documents():
    ranker = LGMML(10, n_iterations=0).fit(music(20))
    assert (np.abs(ranker.metrics_.anchors).max(axis=1) > 0).all()


@pytest.mark.parametrize("given", ["columns", "dict", "origin"])
def test_a_saved_model_knows_where_queries_are(given, tmp_path):
    dataset, vectors = moved(music(20))
    known = {str(query): vector for query, vector in enumerate(vectors)}
    columns = np.column_stack([vectors[dataset.query_index], dataset.features])
    where = {"columns": list(range(6)), "dict": known, "origin": "origin"}[given]
    data = dataset.with_features(columns) if given == "columns" else dataset
    ranker = LGMML(query_vectors=where, **QUICK).fit(data)
    ranker.save(tmp_path / "m.localrank")
    loaded = localrank.load(tmp_path / "m.localrank")
    assert_array_equal(loaded.predict(data), ranker.predict(data))


def test_the_relevance_level_decides_what_metrics_bring_together(queries):
    with pytest.raises(
        ValueError, match=r"relevant documents \(a label of 9 or more, by relevance_level=9\)"
    ):
        LGMML(relevance_level=9).fit(queries)
    scores = [
        LGMML(relevance_level=level, **QUICK).fit(queries).predict(queries) for level in (1, 3)
    ]
    assert_array_equal(scores[0], LGMML(**QUICK).fit(queries).predict(queries))
    assert np.abs(scores[1] - scores[0]).max() > 1e-3


def metrics_of_all_queries(dataset, level):
    """The metrics learned from all documents of each query, sorted."""
    used = dataset.select(LGMML(relevance_level=level).learns_from(dataset))
    n = used.n_queries
    metrics = Training.prepare(used, np.full(n, 1 / n)).learn_metrics(
        n,
        relevance_level=level,
        sampling_rate=1.0,
        t=0.5,
        ridge=0.01,
        at_query=True,
        rng=np.random.default_rng(0),
        n_jobs=1,
    )
    factors = metrics.factors()
    return factors[np.argsort(np.trace(factors, axis1=1, axis2=2))]


def test_documents_between_irrelevant_and_relevant_take_part_in_no_metric(queries):
    # Other documents with label 1, and the same scale of features.
    between = queries.labels == 1
    other = queries.with_features(np.where(between[:, None], -1, 1) * queries.features)
    assert between.sum() > 100
    assert_allclose(metrics_of_all_queries(other, 2), metrics_of_all_queries(queries, 2), rtol=1e-9)
    changed = metrics_of_all_queries(other, 1) - metrics_of_all_queries(queries, 1)
    assert np.abs(changed).max() > 0.1


def test_a_query_teaches_if_it_has_relevant_documents_and_ones_of_label_0():
    lists = [[0, 1, 2], [0, 1, 1], [1, 2, 2], [-1, 0, 2], [0, 0, 0], [-1, 1, 2]]
    dataset = RankingDataset.from_arrays(
        np.zeros((18, 1)), np.ravel(lists), np.repeat(np.arange(6), 3)
    )
    by_level = {level: LGMML(relevance_level=level).learns_from(dataset) for level in (None, 2)}
    assert_array_equal(by_level[None], [True, True, False, True, False, True])
    assert_array_equal(by_level[2], [True, False, False, True, False, True])


@pytest.mark.parametrize("level", [None, 3])
def test_labels_that_begin_above_0_are_refused_with_the_rule(queries, level):
    with pytest.raises(
        ValueError,
        match=rf"both relevant documents \(a label .*, by relevance_level={level}\) and irrelevant "
        r"ones \(a label of 0 or less\)",
    ):
        LGMML(relevance_level=level).fit(
            queries.features, queries.labels + 1, qid=queries.query_index
        )


def test_a_document_infinitely_far_scores_a_number(fitted, queries):
    far = queries.replaced(features=np.full_like(queries.features, 1e100))
    assert np.isfinite(with_unseen(fitted, "mean").predict(far)).all()


def test_huge_queries_keep_the_matrices_invertible():
    rng = np.random.default_rng(0)
    features = np.repeat(rng.normal(size=(3000, 1)), 4, axis=1)
    features[0] *= 1e4
    dataset = RankingDataset.from_arrays(features, rng.integers(2, size=3000), np.zeros(3000))
    ranker = LGMML(2, ridge=1e-12, n_iterations=10).fit(dataset)
    assert np.isfinite(ranker.predict(dataset)).all()


def test_blocks_of_queries_cover_each_once():
    from localrank.rankers.lgmml._training import _BLOCK, _blocks_of_queries

    offsets = np.cumsum([0, 5, 2 * _BLOCK, 1, _BLOCK - 1, 1, 7])
    blocks = list(_blocks_of_queries(offsets))
    assert [(b.start, b.stop) for b in blocks] == [(0, 1), (1, 2), (2, 4), (4, 6)]
    assert all(a.stop == b.start for a, b in pairwise(blocks))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_metrics": 0}, "'n_metrics' parameter of LGMML must be a whole number from 1 to"),
        ({"n_iterations": -1}, "'n_iterations'"),
        ({"sampling_rate": 1.5}, "'sampling_rate' .* above 0, at most 1. Got 1.5 instead"),
        ({"margin": -0.1}, "'margin'"),
        ({"step": 0}, "'step'"),
        ({"ridge": 0}, "'ridge'"),
        ({"t": 1.5}, "'t' parameter of LGMML must be .* from 0 to 1. Got 1.5 instead"),
        ({"relevance_level": -1}, "'relevance_level'"),
        ({"unseen": "median"}, "must be 'mean', 'uniform' or 'nearest'. Got 'median' instead"),
        (
            {"query_vectors": "zero"},
            "must be 'origin', None, a list of columns, or .* Got 'zero'",
        ),
        ({"query_vectors": [1]}, "must be half of the 8 columns of the dataset"),
        ({"scale": None}, "must be 'median' or 'monotone'. Got None instead"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        LGMML(**parameters).fit(queries)
