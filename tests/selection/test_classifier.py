import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import localrank
from localrank.data import make_queries
from localrank.grouping import Groups
from localrank.rankers import RankSVM
from localrank.recipes import adaptive_training
from localrank.registry import make_ranker
from localrank.representations import Mean
from localrank.selection import Classifier

SAME = {
    "one-vs-rest": OneVsRestClassifier(LogisticRegression(solver="liblinear")),
    "softmax": LogisticRegression(max_iter=1000),
    "standardised-softmax": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "random-forest": RandomForestClassifier(50, random_state=0),
    "gradient-boosting": GradientBoostingClassifier(
        n_estimators=30, max_features="sqrt", random_state=0
    ),
}
LINEAR = ["one-vs-rest", "softmax", "standardised-softmax"]


@pytest.fixture(scope="module")
def described():
    dataset, types = make_queries(60, n_documents=(5, 9), n_features=4, n_types=3, random_state=0)
    mean = Mean().fit(dataset)
    return dataset, Groups.from_labels(types), mean, mean.transform(dataset)


@pytest.mark.parametrize("name", SAME)
def test_a_name_is_a_classifier_of_scikit_learn(name):
    assert repr(Classifier(name)._new()) == repr(SAME[name])


@pytest.mark.parametrize("name", ["one-vs-rest", "standardised-softmax"])
def test_a_named_classifier_gives_its_probabilities(name, described):
    named, given = (Classifier(c, hard=False).fit(*described) for c in (name, SAME[name]))
    assert_array_equal(named.weights(described[0], []), given.weights(described[0], []))
    assert (named.accuracy_, named.log_loss_) == (given.accuracy_, given.log_loss_)


def test_a_softmax_learns_from_descriptions_in_units_of_the_largest(described):
    dataset, groups, _, points = described
    unit = np.abs(points).max()
    assert unit > 1.5
    expected = LogisticRegression(max_iter=1000).fit(points / unit, groups.home)
    selector = Classifier("softmax", hard=False).fit(*described)
    assert_allclose(selector.weights(dataset, []), expected.predict_proba(points / unit), rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_the_features_does_not_change_a_softmax(described, factor):
    dataset, groups, _, _ = described
    selector = Classifier("softmax", hard=False).fit(*described)
    other = dataset.with_features(dataset.features * factor)
    mean = Mean().fit(other)
    scaled = Classifier("softmax", hard=False).fit(other, groups, mean, mean.transform(other))
    assert_allclose(scaled.weights(other, []), selector.weights(dataset, []), rtol=1e-6)


def test_without_a_name_it_is_a_softmax_and_in_older_files_a_standardised_one():
    assert repr(Classifier()._new()) == repr(SAME["softmax"])
    assert repr(Classifier(None)._new()) == repr(SAME["standardised-softmax"])


def test_it_is_measured_on_queries_that_it_has_not_seen(described):
    """The same numbers by scikit-learn, in the order in which the queries are divided."""
    selector = Classifier("one-vs-rest").fit(*described)
    home, points = described[1].home, selector.descriptions_
    order = selector._content_order(home)
    parts = KFold(5, shuffle=True, random_state=0)
    unseen = cross_val_predict(
        SAME["one-vs-rest"], points[order], home[order], cv=parts, method="predict_proba"
    )
    assert_allclose(selector.log_loss_, log_loss(home[order], unseen), rtol=1e-9)
    right = unseen.argmax(axis=1) == home[order]
    assert selector.accuracy_ == right.mean()
    confidence = unseen.max(axis=1)
    error = 0.0
    for low in np.arange(10) / 10:
        members = (confidence >= low) & (confidence < low + 0.1)
        error += abs(confidence[members].sum() - right[members].sum()) / len(home)
    assert_allclose(selector.calibration_error_, error)
    assert selector.majority_ == np.bincount(home).max() / len(home)


def test_a_group_that_was_thought_impossible_costs_a_finite_loss():
    selector = Classifier()
    selector._judge(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    assert_allclose(selector.log_loss_, -np.log(1e-6) / 2)


@pytest.mark.parametrize("name", ["one-vs-rest", "standardised-softmax"])
def test_a_named_classifier_is_saved_with_its_model(name, queries, tmp_path):
    model = adaptive_training(3, ranker=RankSVM(), classifier=name, select="fusion").fit(queries)
    model.save(tmp_path / "model")
    loaded = localrank.load(tmp_path / "model")
    assert loaded.selector.classifier == name
    assert_array_equal(loaded.predict(queries), model.predict(queries))


def test_the_command_line_names_it():
    model = make_ranker("adaptive-training", ["classifier=random-forest"], None, 0)
    assert model.selector.classifier == "random-forest"


def test_a_wrong_name_is_refused(described):
    with pytest.raises(ValueError, match="must be 'one-vs-rest', 'softmax', .* or a classifier of"):
        Classifier("logistic").fit(*described)
