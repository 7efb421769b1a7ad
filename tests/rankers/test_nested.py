import numpy as np
import pytest
from numpy.testing import assert_array_equal
from recorder import Recorder

from localrank.data import RankingDataset, make_queries
from localrank.rankers import LambdaMART, NestedRanker, RankBoost, RankSVM


@pytest.fixture(scope="module")
def lists():
    return make_queries(30, n_documents=(4, 15), n_features=6, n_types=2, random_state=3)[0]


def subset(dataset, rows):
    """Some documents of a dataset, as plain arrays."""
    qid = dataset.query_ids[dataset.query_index]
    return dataset.features[rows], dataset.labels[rows], qid[rows]


def naive_top(scores, qid, share):
    """Rows in the top share of each query, with all that tie with the last one."""
    rows = []
    for query in np.unique(qid):
        members = np.flatnonzero(qid == query)
        best = np.sort(scores[members])[::-1]
        last = best[int(np.ceil(round(share * len(members), 9))) - 1]
        rows += [row for row in members if scores[row] >= last]
    return np.array(sorted(rows))


def naive_scores(models, X, qid, share):
    """Numbers of documents below, by comparing (stage, score) of all pairs of documents."""
    keys = np.zeros((len(X), 2))
    rows = np.arange(len(X))
    for stage, model in enumerate(models):
        if stage:
            rows = rows[naive_top(keys[rows, 1], qid[rows], share)]
        keys[rows] = np.column_stack(
            [np.full(len(rows), stage), model.predict(X[rows], qid=qid[rows])]
        )
    return np.array(
        [
            sum(tuple(keys[j]) < tuple(keys[i]) for j in np.flatnonzero(qid == qid[i]))
            for i in range(len(X))
        ]
    )


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("ranker", [RankSVM(0.1), RankBoost(4)], ids=repr)
def test_each_stage_learns_from_the_top_of_the_list_before(lists, ranker, share):
    nested = NestedRanker(ranker, n_stages=3, share=share).fit(lists)
    assert len(nested.rankers_) == 3
    models, rows = [], np.arange(lists.n_documents)
    for _ in range(3):
        X, y, qid = subset(lists, rows)
        models.append(type(ranker)(**ranker.get_params()).fit(X, y, qid=qid))
        rows = rows[naive_top(models[-1].predict(X, qid=qid), qid, share)]
    for ours, model in zip(nested.rankers_, models, strict=True):
        assert_array_equal(ours.predict(lists), model.predict(lists))
    X, _, qid = subset(lists, slice(None))
    assert_array_equal(nested.predict(lists), naive_scores(models, X, qid, share))


@pytest.mark.parametrize("ranker", [RankSVM(), LambdaMART(5, min_leaf_documents=5)])
def test_one_stage_or_a_share_of_one_is_the_ranker_alone(lists, ranker):
    alone = ranker.fit(lists).predict(lists)
    for nested in (NestedRanker(ranker, n_stages=1), NestedRanker(ranker, share=1.0)):
        scores = nested.fit(lists).predict(lists)
        for query in range(lists.n_queries):
            rows = lists.query_index == query
            places = [np.unique(values[rows], return_inverse=True)[1] for values in (alone, scores)]
            assert_array_equal(*places)


def test_what_a_stage_keeps_ranks_above_what_it_drops(lists):
    nested = NestedRanker(n_stages=2, share=0.4).fit(lists)
    first, second = (ranker.predict(lists) for ranker in nested.rankers_)
    scores = nested.predict(lists)
    for query in range(lists.n_queries):
        rows = np.flatnonzero(lists.query_index == query)
        n = int(np.ceil(0.4 * len(rows)))
        order = rows[np.argsort(-scores[rows])]
        assert set(order[:n]) == set(rows[np.argsort(-first[rows])][:n])
        assert (np.diff(second[order[:n]]) <= 0).all()
        assert (np.diff(first[order[n:]]) <= 0).all()


def test_documents_that_tie_with_the_last_one_stay(lists):
    X = [[3.0], [1.0], [1.0], [1.0], [0.0]]
    dataset = RankingDataset.from_arrays(X, [2, 1, 0, 1, 0], np.ones(5))
    nested = NestedRanker(RankSVM(scaling=None), n_stages=2, share=0.4).fit(dataset)
    assert nested.rankers_[1].training_data_["n_documents"] == 4
    assert_array_equal(nested.predict(dataset), [4, 1, 1, 1, 0])


def test_training_stops_where_nothing_is_left_to_learn(lists):
    # A perfect first stage keeps documents of one label only.
    X = np.column_stack([lists.labels > 0, np.zeros(lists.n_documents)])
    binary = RankingDataset.from_arrays(X, lists.labels > 0, lists.query_index)
    assert len(NestedRanker(n_stages=5, share=0.01).fit(binary).rankers_) == 1
    # Or only queries that weigh nothing have two labels left.
    y, qid = [1, 1, 0, 0, 1, 0, 1, 0], np.repeat([1, 2], 4)
    X = np.array([[3.0], [2], [1], [0], [0], [3], [1], [2]])
    weighted = NestedRanker(RankSVM(scaling=None), n_stages=2).fit(
        X, y, qid=qid, query_weight=[1, 0]
    )
    assert len(weighted.rankers_) == 1
    assert len(NestedRanker(RankSVM(scaling=None), n_stages=2).fit(X, y, qid=qid).rankers_) == 2


def test_weights_and_validation_queries_go_to_every_stage(lists):
    Recorder.seen.clear()
    weights = np.linspace(0.5, 2, lists.n_queries)
    valid, _ = make_queries(8, n_documents=(4, 9), n_features=6, random_state=8)
    NestedRanker(Recorder(), n_stages=2).fit(lists, query_weight=weights, valid=valid)
    (everything, first, held_out, _), (top, second, cut, _) = Recorder.seen
    Recorder.seen.clear()
    assert_array_equal(everything.features, lists.features)
    for stage_weights in (first, second):
        assert_array_equal(stage_weights, weights)
    for part, whole in ((top, everything), (cut, held_out)):
        # It ranks by the first feature.
        qid = whole.query_ids[whole.query_index]
        rows = naive_top(whole.features[:, 0], qid, 0.5)
        assert_array_equal(part.features, whole.features[rows])
        assert_array_equal(part.labels, whole.labels[rows])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranker": "rank-svm"}, "'ranker' parameter .* must be a ranker"),
        ({"n_stages": 0}, "'n_stages' parameter .* whole number, 1 or larger"),
        ({"share": 0}, "'share' parameter .* finite number above 0, at most 1"),
        ({"share": 1.1}, "'share' parameter .* finite number above 0, at most 1"),
    ],
)
def test_wrong_parameters_are_refused(lists, parameters, message):
    with pytest.raises(ValueError, match=message):
        NestedRanker(**parameters).fit(lists)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("stage", [0, 2])
def test_a_score_that_is_no_number_is_an_error_and_not_a_rank(lists, stage):
    nested = NestedRanker().fit(lists)
    nested.rankers_[stage].coef_ = np.full(lists.n_features, -1.7e308)
    with pytest.raises(ValueError, match="RankSVM gives a document of query .* the score"):
        nested.predict(lists)
