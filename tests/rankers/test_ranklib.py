"""Our learners compared with RankLib's own, if Java and RankLib's jar are installed."""

import importlib.util
import sys
from pathlib import Path

import pytest

from localrank.data import make_queries
from localrank.measures import NDCG
from localrank.rankers import AdaRank, CoordinateAscent, RandomForest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def ranklib():
    """The benchmark that runs RankLib; nothing is downloaded."""
    pytest.importorskip("resource", reason="the benchmark times other processes as Unix does")
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(BENCHMARKS)
    patch.delitem(sys.modules, "measuring", raising=False)
    specification = importlib.util.spec_from_file_location("ranklib", BENCHMARKS / "ranklib.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    patch.undo()
    if module.missing():
        pytest.skip(f"RankLib cannot be run: {module.missing()}")
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ranker", "options"),
    [
        (3, AdaRank(both_directions=False, scaling=None), []),
        (4, CoordinateAscent(2), ["-r", "2"]),
        (8, RandomForest(50), ["-bag", "50"]),
    ],
    ids=["AdaRank", "CoordinateAscent", "RandomForest"],
)
def test_what_ranklib_learns_is_learned_here_as_well(ranklib, number, ranker, options):
    dataset, _ = make_queries(60, n_documents=(5, 15), n_features=6, n_types=1, random_state=4)
    dataset = dataset.with_features(dataset.features)
    train, test = dataset.select(range(40)), dataset.select(range(40, 60))
    scores, _ = ranklib.ranklib_scores(number, train, test, *options)
    assert scores.shape == (test.n_documents,)
    theirs, ours = NDCG(10).mean(test, scores), NDCG(10).mean(test, ranker.fit(train).predict(test))
    assert theirs > 0.55
    assert ours > theirs - 0.05
