"""Data is checked at the doors, once, and trusted behind them."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import localrank
from localrank.data import RankingDataset, dataset
from localrank.data import _checks as checks
from localrank.measures import NDCG, base
from localrank.rankers import LambdaMART, Ranker, _inputs, _training
from localrank.recipes import adaptive_training, best, local_rank
from localrank.representations import Representation


@pytest.fixture
def calls(monkeypatch):
    """How often each check, and each change of order, was done."""
    count = Counter()

    def watch(owner, name):
        original = getattr(owner, name)

        def counted(*arguments, **named):
            count[name] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, counted)

    watch(_inputs, "checked_same")
    watch(_training, "admitted")
    watch(Representation, "_check_values")
    watch(RankingDataset, "in_input_order")
    watch(RankingDataset, "in_query_order")
    watch(base, "checked_scores")
    for module in (checks, dataset):
        watch(module, "checked_features")
    return count


@pytest.mark.parametrize(
    "ranker",
    [
        best(10, min_leaf_documents=5),
        local_rank(3),
        adaptive_training(2, ranker=LambdaMART(10, min_leaf_documents=5), select="fusion"),
    ],
)
def test_one_prediction_is_one_check(ranker, queries, calls):
    ranker.fit(queries)
    calls.clear()
    ranker.predict(queries)
    assert calls == {"checked_same": 1, "in_input_order": 1}


def test_arrays_are_converted_once(queries, calls):
    bare = queries.with_features(queries.features)
    ranker = best(10, min_leaf_documents=5).fit(bare)
    calls.clear()
    ranker.predict(queries.features, qid=queries.query_index)
    assert calls == {"checked_same": 1, "in_input_order": 1, "checked_features": 1}


@pytest.mark.parametrize(
    "ranker",
    [
        best(10, min_leaf_documents=5),
        adaptive_training(2, ranker=LambdaMART(10, min_leaf_documents=5)),
        LambdaMART(10, min_leaf_documents=5),
    ],
)
def test_one_fit_is_one_check(ranker, queries, calls):
    train, valid = queries.select(np.arange(40)), queries.select(np.arange(40, 60))
    calls.clear()
    ranker.fit(train, valid=valid)
    assert calls == {"admitted": 1}


def test_one_measurement_is_one_check(queries, calls):
    NDCG(10)(queries, np.zeros(queries.n_documents))
    assert calls == {"checked_scores": 1, "in_query_order": 1}


def entries_of(function):
    """How often each function of the package is entered. Compiled kernels have no caller here."""
    count, package = Counter(), str(Path(localrank.__file__).parent)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and frame.f_back is not None:
            count[f"{code.co_filename[len(package) + 1 :]} {code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_one_list_is_scored_in_one_straight_walk(queries):
    """What does not change after `fit` is decided once: the walk of a second list is short."""
    ranker, one_list = best(10, min_leaf_documents=5).fit(queries), queries.select([7])
    ranker.predict(one_list)
    entries = entries_of(lambda: ranker.predict(one_list))
    assert entries.total() <= 120, "\n".join(f"{n:4} {name}" for name, n in entries.most_common())


def test_a_list_as_an_array_passes_a_short_door(queries):
    """The walk from arrays to the kernels, which takes longer than they do if nobody looks."""
    bare = queries.with_features(queries.features)
    ranker = LambdaMART(10, min_leaf_documents=5).fit(bare)
    one = bare.select([7])
    ranker.predict(one.features, qid=one.query_index)
    entries = entries_of(lambda: ranker.predict(one.features, qid=one.query_index))
    assert entries.total() <= 40, "\n".join(f"{n:4} {name}" for name, n in entries.most_common())


class FirstFeature(Ranker):
    """The simplest ranker that one may write: its scores are a view of the features."""

    def _fit(self, dataset, query_weights, valid):
        pass

    def _predict(self, dataset):
        return dataset.features[:, 0]


def test_scores_are_no_view_of_the_features():
    values = np.array([[1.0], [2.0]])
    scores = FirstFeature().fit(values, [0, 1], qid=[1, 1]).predict(values, qid=[1, 1])
    scores[0] = 5.0
    assert values[0, 0] == 1.0
    assert scores.base is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_is_refused(value):
    class Broken(FirstFeature):
        def _predict(self, dataset):
            return np.where(dataset.features[:, 0] > 1, value, 1e200)

    ranker = Broken().fit([[1.0], [2.0]], [0, 1], qid=["a", "a"])
    # Finite, though their squares are not.
    assert ranker.predict([[0.0], [1.0]], qid=["a", "b"]).tolist() == [1e200, 1e200]
    with pytest.raises(ValueError, match=f"a document of query b the score {value}"):
        ranker.predict([[1.0], [2.0]], qid=["a", "b"])
