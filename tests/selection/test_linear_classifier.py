from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from localrank._base.rules import check_fitted
from localrank.grouping import Groups
from localrank.representations import Mean
from localrank.selection import Classifier
from localrank.selection._linear_classifier import LinearClassifier

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 4)) * [1.0, 100.0, 1e-3, 1.0] + 7.0


LINEAR = {
    "logistic": LogisticRegression(max_iter=1000),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "only centred": make_pipeline(StandardScaler(with_std=False), LogisticRegression()),
    "only divided": make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression(solver="liblinear")),
    "scaled one-vs-rest": make_pipeline(
        StandardScaler(), OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    ),
}


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", LINEAR)
def test_probabilities_are_those_of_scikit_learn_to_the_last_bits(name, n_classes, dtype):
    points, groups = POINTS.astype(dtype), np.arange(60) % n_classes * 2
    theirs = LINEAR[name].fit(points, groups)
    ours = LinearClassifier.of(theirs)
    assert_array_equal(ours.classes_, theirs.classes_)
    # Scores where the exponential overflows are among them.
    asked = np.concatenate([points, 1e6 * points]).astype(dtype)
    expected = theirs.predict_proba(asked)
    # scikit-learn has no probabilities where each class is improbable against the rest.
    has_any = expected.any(axis=1)
    asked, expected = asked[has_any], expected[has_any]
    rounding = 8 * np.finfo(expected.dtype).eps
    assert_allclose(ours.predict_proba(asked), expected, rtol=rounding, atol=np.finfo(dtype).tiny)


def test_softmax_is_equal_bit_for_bit():
    theirs = make_pipeline(StandardScaler(), LogisticRegression()).fit(POINTS, np.arange(60) % 3)
    assert_array_equal(
        LinearClassifier.of(theirs).predict_proba(POINTS), theirs.predict_proba(POINTS)
    )


def test_where_no_class_is_probable_all_are_equally_so():
    classifier = LinearClassifier(np.arange(3), np.ones((3, 1)), np.full(3, -1e5), one_vs_rest=True)
    assert_array_equal(classifier.predict_proba(np.zeros((1, 1))), np.full((1, 3), 1 / 3))


@pytest.mark.parametrize("name", ["logistic", "scaled", "only centred", "only divided"])
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_softmax_of_its_rows_gives_the_probabilities(name, n_classes):
    ours = LinearClassifier.of(LINEAR[name].fit(POINTS, np.arange(60) % n_classes))
    coefficients, intercepts = ours.softmax_rows()
    powers = np.exp(POINTS @ coefficients.T + intercepts)
    expected = powers / powers.sum(axis=1, keepdims=True)
    assert_allclose(ours.predict_proba(POINTS), expected, rtol=1e-9)


def test_three_classes_against_the_rest_are_no_softmax():
    fitted = LINEAR["one-vs-rest"].fit(POINTS, np.arange(60) % 3)
    assert LinearClassifier.of(fitted).softmax_rows() is None


class Unlike(LogisticRegression):
    """A classifier of a user, which may predict in another way."""


@pytest.mark.parametrize(
    "classifier",
    [
        GaussianNB(),
        Unlike(),
        RidgeClassifier(),
        make_pipeline(MinMaxScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), GaussianNB()),
        OneVsRestClassifier(GaussianNB()),
    ],
    ids=repr,
)
def test_other_classifiers_stay_what_they_are(classifier):
    assert LinearClassifier.of(classifier.fit(POINTS, np.arange(60) % 2)) is None


def test_a_selector_keeps_arrays_that_give_the_same_weights(queries):
    mean = Mean().fit(queries)
    descriptions = mean.transform(queries)
    labels = np.arange(queries.n_queries) % 3
    theirs = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    selector = Classifier(theirs, hard=False)
    selector.fit(queries, Groups.from_labels(labels), mean, descriptions)
    assert isinstance(selector.classifier_, LinearClassifier)
    expected = clone(theirs).fit(descriptions, labels).predict_proba(descriptions)
    assert_allclose(selector.weights(queries, []), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "damaged",
    [
        {"classes_": np.array([0])},
        {"classes_": np.arange(4)},
        {"coef_": np.ones((2, 4))},
        {"intercept_": np.ones(1)},
        {"mean_": np.ones(3)},
        {"scale_": np.zeros(4)},
        {"one_vs_rest": 1},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(damaged):
    sound = LinearClassifier(np.arange(3), np.ones((3, 4)), np.ones(3), False, np.ones(4))
    check_fitted(sound)
    with pytest.raises(ValueError, match="LinearClassifier"):
        check_fitted(replace(sound, **damaged))
