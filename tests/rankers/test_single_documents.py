"""Documents that come alone, for rankers that compare the documents of a query."""

import warnings

import numpy as np
import pytest

from localrank import load
from localrank.rankers import GBRT, Ensemble, ListwiseNet, QueryCoordinates, RankSVM
from localrank.recipes import best, fast, local_rank

RELATIVE = {
    "fast": lambda: fast(5, min_leaf_documents=5),
    "fixed": lambda: fast(5, min_leaf_documents=5, combine="fixed"),
    "coordinates": lambda: QueryCoordinates(GBRT(5, min_leaf_documents=5)),
    "ensemble": lambda: Ensemble([RankSVM(), RankSVM(C=0.1)]),
    "nets": lambda: ListwiseNet(n_nets=1),
    "local": lambda: local_rank(2, ranker=RankSVM()),
}


@pytest.fixture
def queries(queries):
    """Queries whose features have no names, as arrays of single documents have none."""
    return queries.with_features(queries.features)


def quiet(ranker, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ranker.predict(*arguments, **named)


@pytest.mark.parametrize("name", RELATIVE)
def test_single_documents_are_said_to_need_their_lists(name, queries, tmp_path):
    ranker = RELATIVE[name]().fit(queries)
    ranker.save(tmp_path / "model.localrank")
    ranker = load(tmp_path / "model.localrank")
    with pytest.warns(UserWarning, match="3 of 3 queries have one document, and") as caught:
        ranker.predict(queries.features[:3], qid=[1, 2, 3])
    assert caught[0].filename == __file__
    quiet(ranker, queries.features[:3], qid=[1, 1, 1])


def test_lists_among_them_and_a_single_list_are_normal(queries):
    ranker = RELATIVE["fast"]().fit(queries)
    quiet(ranker, queries)
    quiet(ranker, queries.features[:1], qid=[1])
    # Eight single documents and two lists of two.
    quiet(ranker, queries.features[:12], qid=[1, 1, 2, 2, *range(3, 11)])
    with pytest.warns(UserWarning, match="9 of 10 queries have one document"):
        ranker.predict(queries.features[:11], qid=[1, 1, *range(2, 11)])


def test_rankers_that_score_documents_alone_say_nothing(queries):
    for ranker in (GBRT(5, min_leaf_documents=5), RankSVM()):
        quiet(ranker.fit(queries), queries.features[:3], qid=[1, 2, 3])


@pytest.mark.slow
def test_best_is_relative(queries):
    ranker = best(5, min_leaf_documents=5).fit(queries)
    with pytest.warns(UserWarning, match="3 of 3 queries have one document"):
        assert np.ptp(ranker.predict(queries.features[:3], qid=[1, 2, 3])) == 0
