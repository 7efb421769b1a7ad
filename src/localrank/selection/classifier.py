"""Groups predicted by a classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import clone
from localrank._base.rules import Rule, Rules, check_together, flag, optional, real
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection._linear_classifier import LinearClassifier
from localrank.selection.base import Selector

if TYPE_CHECKING:
    from localrank.formulas import Router

# Folds for measuring the classifier on unseen queries, and bins of its confidence.
N_FOLDS, N_BINS = 5, 10
# Features in a smaller unit would overflow where a query has ordinary ones.
LEAST_UNIT = 1e-150
# Log loss counts a smaller probability of the true group as this one.
LEAST_PROBABILITY = 1e-6


# scikit-learn is imported on use: a model without one of its classifiers loads without it.
def _softmax() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _standardised_softmax() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), _softmax())


def _one_vs_rest() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(LogisticRegression(solver="liblinear"))


def _random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(50, random_state=0)


def _gradient_boosting() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    # Each split sees some of the features, as in a forest: all of them take six times as long.
    # A hundred trees would learn a few hundred queries by heart.
    return GradientBoostingClassifier(n_estimators=30, max_features="sqrt", random_state=0)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "one-vs-rest": _one_vs_rest,
    "softmax": _softmax,
    "standardised-softmax": _standardised_softmax,
    "random-forest": _random_forest,
    "gradient-boosting": _gradient_boosting,
}
NAMES = ", ".join(map(repr, CLASSIFIERS))

# The number of the group, if all training queries are in one.
a_classifier = Rule(
    lambda value, _: type(value) is int or hasattr(value, "predict_proba"),
    "a classifier of scikit-learn, or a group",
)


@declare("classifier", "the group that a classifier predicts")
class Classifier(Selector):
    """Predicts the group of a query by a classifier trained on the training queries [1].

    Parameters
    ----------
    classifier : str or classifier of scikit-learn, default="softmax"
        A name, or a classifier of scikit-learn with `predict_proba`. "one-vs-rest", "softmax" and
        "standardised-softmax" are logistic regression with C = 1. The first has a regression for
        each group against all others, by liblinear: the default of scikit-learn 0.20.3, which the
        paper names. The second has one regression for all groups, of descriptions divided by their
        largest value. The third standardises the descriptions before, which features in different
        units need; on normalised features it is less well calibrated. "random-forest" has 50
        trees, "gradient-boosting" 30 for each group, and both the seed 0. None:
        "standardised-softmax", as in older model files.
    hard : bool, default=True
        True: the most probable group gets all the weight (selective). False: each group's weight
        is its probability (fusion).
    representation : Representation, optional
        How queries are described, as points. None: use the grouping's representation.

    Attributes
    ----------
    classifier_ : LinearClassifier, classifier or int
        The fitted classifier. A logistic regression is kept as arrays, so that a model predicts
        without scikit-learn. An int if all training queries are in one group: that group.
    accuracy_ : float
        Share of training queries whose group is predicted right by a classifier that has not
        seen them (five folds). Compare it with `majority_`.
    majority_ : float
        Share of the largest group: the accuracy of always choosing it.
    calibration_error_ : float
        Expected calibration error: the mean difference between confidence and accuracy over ten
        bins of confidence, on queries that the classifier has not seen.
    log_loss_ : float
        Mean of -log p, where p is the probability of the query's group, on the same queries.
        Smaller is better. It judges all probabilities, as fusion uses them.

    References
    ----------
    1. Cremers, Kaur, Koesomo. Adaptive Training With K-Means and Hierarchical Clustering.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.representations import Mean
    >>> dataset, types = make_queries(200, separation=2.0)
    >>> mean = Mean().fit(dataset)
    >>> selector = Classifier(hard=False)
    >>> selector = selector.fit(dataset, Groups.from_labels(types), mean, mean.transform(dataset))
    >>> selector.weights(dataset, []).sum(axis=1).min().round(9)
    np.float64(1.0)
    >>> selector.accuracy_ > selector.majority_ + 0.5
    True
    """

    _parameters: ClassVar[Rules] = {
        "classifier": Rule(
            lambda value, _: (
                value in CLASSIFIERS
                if isinstance(value, str)
                else value is None or hasattr(value, "predict_proba")
            ),
            f"{NAMES} or a classifier of scikit-learn that has predict_proba",
        ),
        "hard": flag,
    }

    _fitted: ClassVar[Rules] = {
        "classifier_": a_classifier,
        "accuracy_": real,
        "majority_": real,
        "calibration_error_": real,
        # Older files lack it.
        "log_loss_": optional(real),
    }

    def __init__(
        self,
        classifier: Any = "softmax",
        *,
        hard: bool = True,
        representation: Representation | None = None,
    ) -> None:
        self.classifier = classifier
        self.hard = hard
        self.representation = representation

    def _fit(self, groups: Groups) -> None:
        self._check_points()
        counts = np.bincount(groups.home, minlength=len(groups))
        self.majority_ = float(counts.max() / counts.sum())
        order = self._content_order(groups.home)
        self.classifier_ = self._trained(order, groups.home)
        self._judge(self._out_of_fold(groups.home, order), groups.home)

    def _check_fitted(self) -> None:
        known = self.classifier_
        groups = np.array([known]) if isinstance(known, int) else known.classes_
        within = groups.dtype.kind == "i" and groups.min() >= 0 and groups.max() < self.n_groups_
        check_together(self, holds=bool(within))

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        descriptions = self.representation_.transform_rows(dataset)
        probabilities = self._probabilities(self.classifier_, descriptions)
        return self._all_on(probabilities.argmax(axis=1)) if self.hard else probabilities

    @property
    def blends(self) -> bool:
        return not self.hard

    def router(self) -> Router:
        from localrank.formulas import Description, LinearRouter

        description, rows = Description.of(self.representation_), self._linear_rows()
        if description is None or rows is None:
            return super().router()
        return LinearRouter(partial(self.weights, models=()), description, *rows, self.hard)

    def _no_router(self) -> str:
        if self._linear_rows() is not None:
            return super()._no_router()
        return "its classifier is not a logistic regression"

    def _linear_rows(self) -> tuple[Floats, Floats, Integers] | None:
        """Coefficients and intercepts whose softmax gives the probabilities, and their groups."""
        known = self.classifier_
        if isinstance(known, int):
            n_dimensions = self.descriptions_.shape[1]
            return np.zeros((1, n_dimensions)), np.zeros(1), np.array([known])
        rows = known.softmax_rows() if isinstance(known, LinearClassifier) else None
        return None if rows is None else (*rows, known.classes_)

    def _trained(self, queries: Integers, home: Integers) -> Any:
        """A classifier trained on these queries; their group if all are in one."""
        if len(np.unique(home[queries])) == 1:
            return int(home[queries[0]])
        classifier, points = self._new(), self.descriptions_[queries]
        if self.classifier != "softmax":
            classifier.fit(points, home[queries])
            return LinearClassifier.of(classifier) or classifier
        # Coefficients are held small, which must not depend on the unit of the descriptions.
        unit = max(float(np.abs(points).max()), LEAST_UNIT)
        linear = LinearClassifier.of(classifier.fit(points / unit, home[queries]))
        assert linear is not None
        return replace(linear, scale_=np.full(points.shape[1], unit))

    def _new(self) -> Any:
        """A classifier to train."""
        if self.classifier is None:
            return _standardised_softmax()
        if isinstance(self.classifier, str):
            return CLASSIFIERS[self.classifier]()
        return clone(self.classifier)

    def _probabilities(self, classifier: Any, descriptions: Array) -> Floats:
        weights = np.zeros((len(descriptions), self.n_groups_))
        if isinstance(classifier, int):
            weights[:, classifier] = 1.0
        else:
            weights[:, classifier.classes_] = classifier.predict_proba(descriptions)
        return weights

    def _out_of_fold(self, home: Integers, order: Integers) -> Floats:
        """Probabilities of each training query by a classifier that has not seen it."""
        from sklearn.model_selection import KFold

        n = len(home)
        probabilities = np.full((n, self.n_groups_), np.nan)
        if n < 2:
            return probabilities
        for seen, unseen in KFold(min(N_FOLDS, n), shuffle=True, random_state=0).split(home):
            classifier, asked = self._trained(order[seen], home), order[unseen]
            probabilities[asked] = self._probabilities(classifier, self.descriptions_[asked])
        return probabilities

    def _judge(self, probabilities: Floats, home: Integers) -> None:
        """Measure probabilities of unseen queries."""
        if np.isnan(probabilities).any():
            self.accuracy_ = self.calibration_error_ = self.log_loss_ = float("nan")
            return
        right = probabilities.argmax(axis=1) == home
        confidence = probabilities.max(axis=1)
        bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
        errors = [abs(np.sum((confidence - right)[bins == number])) for number in range(N_BINS)]
        of_home = probabilities[np.arange(len(home)), home]
        self.accuracy_ = float(right.mean())
        self.calibration_error_ = float(np.sum(errors) / len(home))
        self.log_loss_ = float(-np.log(np.maximum(of_home, LEAST_PROBABILITY)).mean())
