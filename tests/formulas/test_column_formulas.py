"""Columns made by rankers, compared with their definitions list by list."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import median_abs_deviation, rankdata

from localrank.data import RankingDataset
from localrank.formulas import Column, Linear, OnColumns
from localrank.rankers import MLR, ListwiseNet, Quadratic, QueryCoordinates, RankSVM


@pytest.fixture(scope="module")
def lists():
    """Lists of 1 to 12 documents with ties, and a feature that is constant in some."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), rng.integers(1, 13, 30))
    features = rng.normal(size=(len(qid), 4)).round(1)
    features[:, 3] = qid % 3 + (qid % 2 == 0) * features[:, 3]
    return RankingDataset.from_arrays(features, rng.integers(0, 3, len(qid)), qid)


def varies(x):
    return len(set(x.tolist())) > 1


def deviation(x):
    return (x - x.mean()) / x.std() if varies(x) else np.zeros(len(x))


def percentile(x):
    return rankdata(x) / len(x)


def robust(x):
    if not varies(x):
        return np.zeros(len(x))
    scale = 1.4826 * median_abs_deviation(x) + 0.1 * x.std()
    return np.clip((x - np.median(x)) / scale, -20, 20)


def min_max_zero(x):
    return (x - x.min()) / (x.max() - x.min()) if varies(x) else np.zeros(len(x))


def min_max(x):
    return min_max_zero(x) if varies(x) else np.full(len(x), 0.5)


def rank_difference(x):
    """Number of documents with a smaller value, less the number with a larger one."""
    return np.array([(x < value).sum() - (x > value).sum() for value in x], float)


def of_all(number, X):
    """An aggregate that is not a principal component."""
    P = np.column_stack([percentile(x) for x in X.T if varies(x)] or [percentile(X[:, 0])])
    fused = (10 / (10 + len(X) * (1 - P))).mean(axis=1)
    numbers = {0: P.mean(axis=1), 2: fused, 8: P.std(axis=1)}
    if number in numbers:
        return numbers[number]
    return percentile(numbers[number - 1].round(10)) if number - 1 in numbers else None


def standard(x):
    return None if x is None else deviation(x.round(12))


def slow(column, X):
    """A column of one list by its definition; None for components."""
    if column.kind in ("aggregate", "standard-aggregate"):
        values = of_all(column.feature, X)
        return values if column.kind == "aggregate" else standard(values)
    x = X[:, column.feature]
    missing = np.isnan(x)
    match column.kind:
        case "feature":
            return x
        case "product":
            return x * X[:, column.other]
        case "deviation":
            return deviation(x)
        case "percentile":
            return percentile(x)
        case "robust-deviation":
            return robust(x)
        case "min-max-zero":
            return min_max_zero(x)
        case "min-max":
            return min_max(x)
        case "rank-difference":
            return rank_difference(x)
        case "cut-deviation":
            return np.clip(deviation(x), -4, 4)
        case "centred-percentile":
            return (percentile(x) - 0.5) * np.sqrt(12)
        case "filled":
            return np.where(missing, np.median(x[~missing]), x)
        case "missing":
            return missing.astype(float)
    raise AssertionError(column.kind)


def check_columns(formula, dataset, atol=1e-10):
    made = formula.make(dataset).features
    assert made.shape == (dataset.n_documents, len(formula.columns))
    for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        for values, column in zip(made[begin:end].T, formula.columns, strict=True):
            expected = slow(column, dataset.features[begin:end])
            if expected is not None:
                assert_allclose(values, expected, atol=atol, err_msg=str(column))


@pytest.mark.parametrize(
    ("ranker", "kinds"),
    [
        (RankSVM(scaling="query"), ["min-max-zero"]),
        (Quadratic(RankSVM()), ["feature", "product"]),
        (MLR(), ["product"]),
        (QueryCoordinates(RankSVM(), parts="zb"), ["feature", "deviation", "robust-deviation"]),
        (QueryCoordinates(RankSVM(), parts="md"), ["feature", "min-max", "rank-difference"]),
        (QueryCoordinates(RankSVM(), parts="pa"), ["feature", "percentile", "aggregate"]),
    ],
    ids=repr,
)
def test_columns_are_what_they_say(ranker, kinds, lists):
    formula = ranker.fit(lists).formula()
    assert list(dict.fromkeys(column.kind for column in formula.columns)) == kinds
    check_columns(formula, lists)


def test_columns_of_nets_are_what_they_say(lists):
    formula = ListwiseNet(1, n_units=2).fit(lists).formula()
    kinds = {"cut-deviation", "centred-percentile", "standard-aggregate"}
    assert {column.kind for column in formula.columns} == kinds
    check_columns(formula, lists, atol=2e-6)


def test_filled_columns_are_what_they_say(lists):
    features = lists.features.copy()
    # Never the first of a list, so that each has a median.
    others = np.setdiff1d(np.arange(len(features)), lists.offsets[:-1])
    features[others[::3], 1] = np.nan
    features[others[::4], 2] = np.nan
    holed = lists.with_features(features)
    formula = RankSVM().fit(holed).formula()
    assert {column.kind for column in formula.columns} == {"filled", "missing"}
    check_columns(formula, holed)


def test_what_no_document_has_is_filled_by_training_lists():
    X = np.array([[1.0], [3.0], [np.nan], [7.0], [8.0], [np.nan], [np.nan]])
    qid = [1, 1, 1, 2, 2, 3, 3]
    formula = RankSVM().fit(X, [0, 1, 1, 0, 1, 0, 1], qid=qid).formula()
    made = formula.make(RankingDataset.from_arrays(X, qid=qid)).features
    # The medians of the lists are 2 and 7.5.
    assert_allclose(made[5:], [[4.75, 1.0], [4.75, 1.0]])


@pytest.mark.parametrize(
    ("kinds", "looks"),
    [(["feature", "product", "missing"], False), (["feature", "percentile"], True)],
)
def test_columns_of_the_list_look_at_it(kinds, looks):
    columns = tuple(Column(kind, 0, 0) for kind in kinds)
    formula = OnColumns(columns, Linear(np.ones(len(kinds))), lambda dataset: dataset)
    assert formula.looks_at_list == looks
    assert formula.members == (formula.term,)
