"""Groups predicted by a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import clone
from localrank._base.rules import Rule, Rules, check_together, flag, real
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection.base import Selector

if TYPE_CHECKING:
    from localrank.formulas import Router

# Folds for measuring the classifier on unseen queries, and bins of its confidence.
N_FOLDS, N_BINS = 5, 10


# The number of the group, if all training queries are in one.
a_classifier = Rule(
    lambda value, _: type(value) is int or hasattr(value, "predict_proba"),
    "a classifier of scikit-learn, or a group",
)


@declare("classifier", "the group that logistic regression predicts")
class Classifier(Selector):
    """Predicts the group of a query by a classifier trained on the training queries [1].

    Parameters
    ----------
    classifier : classifier of scikit-learn, optional
        A classifier with `predict_proba`. None: logistic regression on standardised descriptions.
    hard : bool, default=True
        True: the most probable group gets all the weight (selective). False: each group's weight
        is its probability (fusion).
    representation : Representation, optional
        How queries are described, as points. None: use the grouping's representation.

    Attributes
    ----------
    classifier_ : classifier or int
        The fitted classifier. An int if all training queries are in one group: that group.
    accuracy_ : float
        Share of training queries whose group is predicted right by a classifier that has not
        seen them (five folds). Compare it with `majority_`.
    majority_ : float
        Share of the largest group: the accuracy of always choosing it.
    calibration_error_ : float
        Expected calibration error: the mean difference between confidence and accuracy over ten
        bins of confidence, on queries that the classifier has not seen.

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
            lambda value, _: value is None or hasattr(value, "predict_proba"),
            "a classifier of scikit-learn that has predict_proba",
        ),
        "hard": flag,
    }

    _fitted: ClassVar[Rules] = {
        "classifier_": a_classifier,
        "accuracy_": real,
        "majority_": real,
        "calibration_error_": real,
    }

    def __init__(
        self,
        classifier: Any = None,
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
        self.accuracy_, self.calibration_error_ = self._out_of_fold(groups.home, order)

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
        """Coefficients and intercepts whose softmax gives the probabilities, and their groups.

        None if the classifier is not linear.
        """
        known = self.classifier_
        n_dimensions = self.descriptions_.shape[1]
        if isinstance(known, int):
            return np.zeros((1, n_dimensions)), np.zeros(1), np.array([known])
        *scalers, last = [step for _, step in known.steps] if hasattr(known, "steps") else [known]
        # By name, so that scikit-learn is not imported for models that do not use it.
        names = [type(step).__name__ for step in scalers]
        linear = type(last).__name__ == "LogisticRegression" and set(names) <= {"StandardScaler"}
        if not linear or (len(last.classes_) > 2 and last.solver == "liblinear"):
            return None
        coefficients, intercepts = last.coef_, last.intercept_
        if len(last.classes_) == 2:
            # The odds of the second class against the first.
            coefficients = np.concatenate([np.zeros((1, coefficients.shape[1])), coefficients])
            intercepts = np.append(0.0, intercepts)
        for scaler in reversed(scalers):
            if scaler.scale_ is not None:
                coefficients = coefficients / scaler.scale_
            if scaler.mean_ is not None and scaler.with_mean:
                intercepts = intercepts - coefficients @ scaler.mean_
        return coefficients, intercepts, last.classes_

    def _trained(self, queries: Integers, home: Integers) -> Any:
        """A classifier trained on these queries; their group if all are in one."""
        if len(np.unique(home[queries])) == 1:
            return int(home[queries[0]])
        classifier = _logistic() if self.classifier is None else clone(self.classifier)
        return classifier.fit(self.descriptions_[queries], home[queries])

    def _probabilities(self, classifier: Any, descriptions: Array) -> Floats:
        weights = np.zeros((len(descriptions), self.n_groups_))
        if isinstance(classifier, int):
            weights[:, classifier] = 1.0
        else:
            weights[:, classifier.classes_] = classifier.predict_proba(descriptions)
        return weights

    def _out_of_fold(self, home: Integers, order: Integers) -> tuple[float, float]:
        """Accuracy and calibration error on queries that a classifier has not seen."""
        from sklearn.model_selection import KFold

        n = len(home)
        if n < 2:
            return float("nan"), float("nan")
        probabilities = np.empty((n, self.n_groups_))
        for seen, unseen in KFold(min(N_FOLDS, n), shuffle=True, random_state=0).split(home):
            classifier, asked = self._trained(order[seen], home), order[unseen]
            probabilities[asked] = self._probabilities(classifier, self.descriptions_[asked])
        right = probabilities.argmax(axis=1) == home
        confidence = probabilities.max(axis=1)
        bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
        errors = [abs(np.sum((confidence - right)[bins == number])) for number in range(N_BINS)]
        return float(right.mean()), float(np.sum(errors) / n)


def _logistic() -> Any:
    # Imported here: a model without a classifier loads without scikit-learn.
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
