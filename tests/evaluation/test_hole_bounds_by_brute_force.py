"""Bounds of unjudged documents, against all grades that they could have."""

import itertools

import numpy as np
import pytest

from localrank.data import RankingDataset
from localrank.evaluation._known_bounds import hole_bounds
from localrank.evaluation._places import places_of
from localrank.evaluation.unjudged_documents import holes
from localrank.measures import parse_measure

# The second query has no holes, and all grades.
WITHOUT_HOLES = [2.0, 1.0, 0.0]


def with_labels(labels):
    n = len(labels)
    return RankingDataset.from_arrays(
        np.empty((n + 3, 0)),
        [*labels, *WITHOUT_HOLES],
        ["a"] * n + ["b"] * 3,
        document_ids=[f"d{i}" for i in range(n + 3)],
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "recall@2", "recall", "recall(rel=2)@3", "recall(ties=input)@3",
        "rbp", "rbp(p=0.5)@3", "rbp(rel=2,ties=document_id)", "p", "p(short=shrink)@3",
    ],
)  # fmt: skip
def test_bounds_are_the_extremes_over_all_grades(name, tied):
    measure, rng = parse_measure(name), np.random.default_rng(tied)
    for _ in range(25):
        n = int(rng.integers(2, 7))
        labels = rng.choice([-1.0, -1.0, -1.0, 0.0, 1.0, 2.0], size=n)
        runs = []
        for _ in range(2):
            scores = rng.integers(0, 3, n) if tied else rng.permutation(n)
            # Some documents were not retrieved.
            scores = np.where(rng.random(n) < 0.25, -np.inf, scores)
            runs.append(np.concatenate([scores, [3.0, 2.0, 1.0]]))
        at = np.flatnonzero(labels < 0)
        values = []
        for grades in itertools.product([0.0, 1.0, 2.0], repeat=len(at)):
            labels[at] = grades
            judged = with_labels(labels)
            values.append([measure.of_rows(judged, run)[0] for run in runs])
        labels[at] = -1.0
        dataset = with_labels(labels)
        bounds = hole_bounds(dataset, measure)
        places = [places_of(dataset, run, measure.ties) for run in runs]
        first, second = np.array(values).T
        ends = [end[0] for end in bounds.of_run(places[0])]
        assert ends == pytest.approx([first.min(), first.max()], abs=1e-12)
        ends = [end[0] for end in bounds.of_difference(*places)]
        assert ends == pytest.approx([(first - second).min(), (first - second).max()], abs=1e-12)
        if_relevant = bounds.if_relevant(places[0])
        for row in at:
            labels[at] = 0.0
            labels[row] = 2.0
            alone = measure.of_rows(with_labels(labels), runs[0])[0]
            assert if_relevant[row] == pytest.approx(alone, abs=1e-12)


def test_a_query_without_unjudged_documents_keeps_the_value_of_empty_queries():
    dataset = RankingDataset.from_arrays(
        np.empty((4, 0)), [0.0, 0.0, 1.0, -1.0], list("aabb"), document_ids=list("wxyz")
    )
    scores = {"one": np.array([2.0, 1.0, 2.0, 1.0]), "two": np.array([1.0, 2.0, 1.0, 2.0])}
    run = holes(dataset, scores, "ndcg(empty=1)@10", baseline="one").runs["one"]
    assert (run.low[0], run.as_judged[0], run.high[0]) == (1, 1, 1)
