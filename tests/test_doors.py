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
from localrank.rankers import LambdaMART, _inputs, _training
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
