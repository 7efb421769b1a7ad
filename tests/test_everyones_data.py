"""Data as users have it: every ranker and recipe that declares itself learns from it."""

from itertools import pairwise, product

import numpy as np
import pytest
from samples import RANKERS, RECIPES
from scipy.stats import spearmanr

from localrank.data import RankingDataset
from localrank.fusion import Hybrid, ReciprocalRankFusion
from localrank.registry import make_sample

LABELS = {
    "grades": lambda rng, n: rng.integers(0, 3, n),
    "real": lambda rng, n: np.round(rng.random(n), 3) * (rng.random(n) < 0.5),
    "above 30": lambda rng, n: rng.integers(1, 101, n) * (rng.random(n) < 0.5),
    "clicks": lambda rng, n: rng.geometric(0.01, n) * (rng.random(n) < 0.5),
    "negative": lambda rng, n: rng.choice([-2, 0, 1, 3], n),
}
SIZES = {
    "short": [8] * 40,
    "one document": [8] * 40 + [1] * 15,
    "long": [10_050] + [8] * 40,
}


def make(labels="grades", sizes="short", *, one_label=0.0, missing=0.0, seed=0) -> RankingDataset:
    """Queries whose first feature is the label, and the other three are noise.

    A share of the queries have one label, and a share of the values is missing; with it all
    values of a document, and all of a feature.
    """
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(SIZES[sizes])), SIZES[sizes])
    y = np.asarray(LABELS[labels](rng, len(qid)), dtype=float)
    flat = rng.random(qid[-1] + 1) < one_label
    y[flat[qid]] = y.max()
    X = rng.normal(size=(len(qid), 4))
    X[:, 0] = y
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
        X[5], X[:, 3] = np.nan, np.nan
    return RankingDataset.from_arrays(X, y, qid)


ODD = {
    "missing values": {"missing": 0.3},
    "real labels": {"labels": "real"},
    "labels above 30": {"labels": "above 30"},
    "counts of clicks": {"labels": "clicks"},
    "negative labels": {"labels": "negative"},
    "lists of one document": {"sizes": "one document"},
    "lists of one label": {"one_label": 0.5},
    "a list of more than 10,000": {"sizes": "long"},
    "much of it": {"labels": "clicks", "sizes": "one document", "one_label": 0.3, "missing": 0.1},
}
# They compare all pairs of a list.
SLOW = [(name, "a list of more than 10,000") for name in ("RankNet", "LGMML")]


def agreement(dataset: RankingDataset, scores: np.ndarray) -> float:
    """The mean over queries of the rank correlation of scores and labels."""
    values = []
    for begin, end in pairwise(dataset.offsets):
        labels, list_scores = dataset.labels[begin:end], scores[begin:end]
        if np.ptp(labels) > 0:
            values.append(
                spearmanr(labels, list_scores).statistic if np.ptp(list_scores) > 0 else 0.0
            )
    return float(np.mean(values))


@pytest.fixture(params=RANKERS)
def name(request):
    return request.param


@pytest.fixture
def ranker(name):
    return make_sample(RANKERS[name])


def kinds_of_data():
    """Each ranker with each kind of data; a recipe, which only composes, with all of it at once."""
    for name, odd in product(RANKERS, ODD):
        quick = odd == "much of it" if name in RECIPES else (name, odd) not in SLOW
        yield pytest.param(name, odd, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("name", "odd"), list(kinds_of_data()))
def test_a_feature_that_is_the_label_is_learned_from_any_data(ranker, odd):
    train, test = make(**ODD[odd]), make(**ODD[odd], seed=1)
    scores = ranker.fit(train).predict(test)
    assert np.isfinite(scores).all()
    # It learns nothing: it adds ranks.
    if not isinstance(ranker, ReciprocalRankFusion):
        assert agreement(test, scores) > 0.4


def test_validation_queries_may_be_as_odd(ranker):
    odd = {"labels": "clicks", "sizes": "one document", "one_label": 0.3, "missing": 0.1}
    train, test = make(**odd), make(**odd, seed=1)
    scores = ranker.fit(train, valid=make("clicks", "long", seed=2)).predict(test)
    assert np.isfinite(scores).all()


def test_a_model_of_usual_data_ranks_all_other(ranker):
    ranker.fit(make())
    for odd in ODD.values():
        dataset = make(**odd)
        assert np.isfinite(ranker.predict(dataset)).all()
    alone = dataset.select([dataset.n_queries - 1])
    assert alone.n_documents == 1
    assert ranker.predict(alone).shape == (1,)


@pytest.mark.filterwarnings("ignore:20 of 20 queries have one document")
@pytest.mark.parametrize("sizes", [[1] * 20, [5] * 4])
def test_nothing_to_learn_is_said(ranker, sizes):
    """Each list has one label, as lists of one document have."""
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(0).normal(size=(20, 4))
    if isinstance(ranker, ReciprocalRankFusion | Hybrid):
        # Without anything to learn they fuse lists as they are.
        assert np.isfinite(ranker.fit(X, qid % 2, qid=qid).predict(X, qid=qid)).all()
        return
    with pytest.raises(ValueError, match="There is nothing to learn: no query has two different"):
        ranker.fit(X, qid % 2, qid=qid)


def test_no_documents_are_refused(ranker):
    ranker.fit(make())
    for method in (ranker.fit, ranker.predict):
        labels = {"y": []} if method == ranker.fit else {}
        with pytest.raises(ValueError, match="There are no documents"):
            method(np.empty((0, 4)), qid=[], **labels)
