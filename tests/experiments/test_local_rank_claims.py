"""Which way the claims about LocalRank point, by results and times that are made up."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from made_up_results import made_up_result

from localrank import LocalRanker
from localrank.data import Fold, make_queries
from localrank.experiments import Reproduction, _local_rank_clusters, local_rank_times
from localrank.experiments._local_rank_clusters import (
    MEASURES,
    SIMILARITIES,
    _curves,
    _similarities,
)
from localrank.experiments.local_rank import METHODS, figure_11, figure_15
from localrank.experiments.local_rank_times import _time_claims
from localrank.grouping import Agglomerative
from localrank.measures import AveragePrecision
from localrank.rankers import RankSVM
from localrank.representations import PrincipalComponents
from localrank.selection import NearestQuery


@pytest.fixture(scope="module")
def fold():
    dataset, _ = make_queries(60, n_documents=(8, 10), n_features=6, n_types=2)
    return Fold("Fold1", *(dataset.select(range(*ends)) for ends in ((0, 20), (20, 30), (30, 60))))


@pytest.fixture
def reproduction():
    return Reproduction("local-rank", "made-up")


@pytest.fixture(scope="module")
def graded(fold):
    """Results that are as good, bad or middling as they say."""

    def result(name, sign):
        made = made_up_result([fold], name, 0, chosen={"C": 1.0})
        if sign == 0:
            return made
        return replace(made, runs=[replace(made.runs[0], scores=sign * fold.test.labels)])

    return result


@pytest.mark.parametrize(("sign", "holds"), [(1, True), (0, None), (-1, False)])
def test_local_rank_is_better_where_its_results_are(reproduction, graded, sign, holds):
    others = (*METHODS, "D&K", "SVMMap, quadratic features")
    results = {name: graded(name, sign if name == "LocalRank" else 0) for name in others}
    figure_11(reproduction, results, results["D&K"])
    figure_15(reproduction, results)
    assert [claim.holds for claim in reproduction.claims] == [holds] * 5
    assert [claim.says.split(", in")[0] for claim in reproduction.claims] == [
        "LocalRank is better than or nearly equal to SVMMap",
        "LocalRank is better than RankBoost",
        "LocalRank is better than KNN",
        "LocalRank is better than D&K",
        "LocalRank has a higher MAP than a global model with quadratic features",
    ]


@pytest.mark.parametrize(
    ("local", "knn", "lazy", "holds"),
    [
        ((10, 2.0), (1000, 1.0), 200.0, [True, True, True]),
        ((10, 1.0), (999, 2.0), 99.0, [False, False, False]),
        ((10, 1.0), (999, 1.05), 100.0, [False, True, None]),
    ],
)
def test_times_are_compared_as_the_claims_say(reproduction, local, knn, lazy, holds):
    last = {"LocalRank, training": local[0], "LocalRank, ranking": local[1]}
    last |= {"KNN, training": knn[0], "KNN, ranking": knn[1], "D&K, ranking": lazy}
    _time_claims(reproduction, last)
    assert [claim.holds for claim in reproduction.claims] == holds
    # 36 hours and 1.1 in its text.
    assert reproduction.claims[0].measured.endswith("more than 33 times")


@pytest.mark.parametrize(("paper", "exact", "holds"), [(2.0, 9.0, True), (2.1, 1.0, False)])
def test_the_time_of_the_papers_hashing_must_be_constant(
    reproduction, monkeypatch, paper, exact, holds
):
    def search(n, rng):
        grown = n > local_rank_times.QUICK_SIZES[0]
        times = {"exact": exact if grown else 1.0, "LSH": paper if grown else 1.0}
        return times | {"centres": 0.5, "LSH, rescored": 7.0}, {"LSH": 0.25, "LSH, rescored": 0.75}

    monkeypatch.setattr(local_rank_times, "_search", search)
    local_rank_times.figure_14(reproduction, quick=True, random_state=0)
    (claim,) = reproduction.claims
    assert claim.holds is holds
    assert f"{paper:.1f} times the time, the exact search {exact:.1f} times" in claim.measured
    assert reproduction.tables[0].rows[-1][1:] == [exact, 0.5, 2 * exact, paper, 0.25, 7.0, 0.75]


@pytest.mark.parametrize(
    ("ours", "others", "best"), [(1, 0, True), (0, 1, False), (0, 0, None), (1, 1, None)]
)
def test_the_best_similarity_is_better_than_all_others(reproduction, graded, ours, others, best):
    compared = [1, 2, 4]
    results = {
        f"{n} by {name}": graded("", 0 if n == 1 else ours if "principal" in name else others)
        for name in SIMILARITIES
        for n in compared
    }
    _similarities(reproduction, compared, results, {name: [0.5] for name in results})
    claim = reproduction.claims[0]
    assert claim.says.startswith("principal components are the best similarity")
    assert claim.holds is best


@pytest.mark.parametrize(
    ("signs", "highest", "falls"),
    [((0, 1, 0), True, True), ((1, 0, -1), False, True), ((0, 0, 1), True, None)],
)
def test_the_peak_is_among_several_clusters_and_falls_with_many(
    reproduction, graded, signs, highest, falls
):
    compared = [1, 2, 4]
    results = {
        f"{n} by {name}": graded("", sign)
        for name in SIMILARITIES
        for n, sign in zip(compared, signs, strict=True)
    }
    _similarities(reproduction, compared, results, {name: [0.5] for name in results})
    assert [claim.holds for claim in reproduction.claims[1:]] == [highest, falls]


def test_a_peak_at_one_cluster_by_one_measure_is_enough_against_the_claim(
    reproduction, graded, fold
):
    # One cluster has the best document first and the others upside down; two have a bad one first.
    labels, offsets = fold.test.labels, fold.test.offsets
    best, worst = (
        np.array([b + choose(labels[b:e]) for b, e in pairwise(offsets)])
        for choose in (np.argmax, np.argmin)
    )
    first, rest = -labels, labels.copy()
    first[best], rest[worst] = 9.0, 9.0
    one, two = (
        replace(made, runs=[replace(made.runs[0], scores=scores)])
        for made, scores in ((graded("", 0), first), (graded("", 0), rest))
    )
    results = {
        f"{n} by {name}": result for name in SIMILARITIES for n, result in ((1, one), (2, two))
    }
    assert two.mean("map") > one.mean("map")
    assert two.mean("ndcg@1") < one.mean("ndcg@1")
    _similarities(reproduction, [1, 2], results, {name: [0.5] for name in results})
    assert reproduction.claims[1].holds is False


@pytest.mark.parametrize(("best", "holds"), [((0.3, 0.4, 0.5), True), ((0.3, 0.5, 0.4), False)])
def test_the_clairvoyant_choice_improves_with_each_number(reproduction, graded, fold, best, holds):
    curve, n = [1, 2, 4], fold.test.n_queries
    results = {f"{c} by principal components": graded("", 0) for c in curve}
    bounds = {
        (c, measure): [(np.full(n, value), np.full(n, 0.25))]
        for c, value in zip(curve, best, strict=True)
        for measure in MEASURES
    }
    _curves(reproduction, curve, results, bounds)
    (claim,) = reproduction.claims
    assert claim.holds is holds
    assert claim.measured.endswith("random groups by +0.2000 on average")
    rows = [row[1:] for row in reproduction.tables[0].rows if row[0] == str(AveragePrecision())]
    assert [row[0] for row in rows] == curve
    assert [row[2:] for row in rows] == [[pytest.approx(value), 0.25] for value in best]


def test_searches_are_timed_among_all_queries_and_among_centres(reproduction, fold, monkeypatch):
    monkeypatch.setattr(
        _local_rank_clusters,
        "_microseconds",
        lambda representation, asked, known: float(len(known)),
    )
    local = LocalRanker(PrincipalComponents(), Agglomerative(4), RankSVM(), NearestQuery())
    choice = _local_rank_clusters.by_centres(local.fit(fold.train), fold)
    _local_rank_clusters.compact_clusters(reproduction, {4: [choice]})
    row = dict(zip(reproduction.tables[0].columns, reproduction.tables[0].rows[0], strict=True))
    assert [row["µs, queries"], row["µs, centres"], row["ratio of µs"]] == [20.0, 4.0, 5.0]
