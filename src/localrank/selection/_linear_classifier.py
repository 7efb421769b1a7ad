"""Linear classifiers as arrays: after training, scikit-learn is not needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import Rules, check_together, flag, floats, integers, optional


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """A trained linear classifier, whose probabilities are those of scikit-learn.

    Its score of a class is linear in the description. With two classes there is one score, and
    the logistic function of it is the probability of the second class. With more, probabilities
    are the softmax of the scores; or, one class against the rest, the logistic function of each
    score, divided by their sum.

    Parameters
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,), or (1,)
    one_vs_rest : bool
    mean_, scale_ : ndarray of shape (n_features,), optional
        Subtracted from descriptions, and what they are divided by after that. None: 0 and 1.

    Examples
    --------
    >>> classifier = LinearClassifier(np.array([0, 1]), np.array([[2.0]]), np.zeros(1))
    >>> classifier.predict_proba(np.array([[0.0], [1.0]])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    _fitted: ClassVar[Rules] = {
        "classes_": integers("n_classes", below=2**31),
        "coef_": floats("n_scores", "n_features"),
        "intercept_": floats("n_scores"),
        "one_vs_rest": flag,
        "mean_": optional(floats("n_features")),
        "scale_": optional(floats("n_features", above=0)),
    }

    classes_: Integers
    coef_: Floats
    intercept_: Floats
    one_vs_rest: bool = False
    mean_: Floats | None = None
    scale_: Floats | None = None

    def _check_fitted(self) -> None:
        n_classes = len(self.classes_)
        n_scores = 1 if n_classes == 2 else n_classes
        check_together(self, holds=n_classes > 1 and len(self.coef_) == n_scores)

    @classmethod
    def of(cls, classifier: Any) -> LinearClassifier | None:
        """The same as a fitted classifier of scikit-learn, if that is linear.

        Known are logistic regression, its one-vs-rest, and both after one `StandardScaler`.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> points, groups = np.array([[0.0], [1.0], [2.0]]), np.array([0, 0, 1])
        >>> LinearClassifier.of(LogisticRegression().fit(points, groups)).classes_
        array([0, 1])
        """
        steps = [step for _, step in getattr(classifier, "steps", [(None, classifier)])]
        names = [_name(step) for step in steps]
        mean = scale = None
        if names[0] == "StandardScaler" and len(steps) == 2:
            mean = steps[0].mean_ if steps[0].with_mean else None
            scale = steps[0].scale_ if steps[0].with_std else None
        elif len(steps) > 1:
            return None
        last = steps[-1]
        one_vs_rest = names[-1] == "OneVsRestClassifier"
        models = last.estimators_ if one_vs_rest else [last]
        if {_name(model) for model in models} != {"LogisticRegression"}:
            return None
        return cls(
            last.classes_,
            np.concatenate([model.coef_ for model in models]),
            np.concatenate([model.intercept_ for model in models]),
            one_vs_rest,
            mean,
            scale,
        )

    def predict_proba(self, descriptions: Array) -> Floats:
        """The probability of each class: a row for each description."""
        # In the precision of descriptions, as scikit-learn does it.
        values = descriptions
        if self.mean_ is not None:
            values = values - self.mean_.astype(values.dtype)
        if self.scale_ is not None:
            values = values / self.scale_.astype(values.dtype)
        scores = values @ self.coef_.T + self.intercept_
        if len(self.classes_) == 2:
            second = _logistic(scores)
            return np.concatenate([1 - second, second], axis=1)
        if self.one_vs_rest:
            probabilities = _logistic(scores)
            # Where no class is probable, all are equally so.
            probabilities[~probabilities.any(axis=1)] = 1.0
        else:
            probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
        result: Floats = probabilities / probabilities.sum(axis=1, keepdims=True)
        return result

    def softmax_rows(self) -> tuple[Floats, Floats] | None:
        """Coefficients and intercepts whose softmax gives the probabilities.

        None for more than two classes, one against the rest: they have none.
        """
        coefficients, intercepts = self.coef_, self.intercept_
        if len(self.classes_) == 2:
            # The odds of the second class against the first.
            coefficients = np.concatenate([np.zeros((1, coefficients.shape[1])), coefficients])
            intercepts = np.append(0.0, intercepts)
        elif self.one_vs_rest:
            return None
        if self.scale_ is not None:
            coefficients = coefficients / self.scale_
        if self.mean_ is not None:
            intercepts = intercepts - coefficients @ self.mean_
        return coefficients, intercepts


def _name(part: Any) -> str:
    """The name of a class of scikit-learn, which is not imported to know it; of others none."""
    kind = type(part)
    return kind.__name__ if kind.__module__.startswith("sklearn.") else ""


def _logistic(scores: Floats) -> Floats:
    with np.errstate(over="ignore"):
        result: Floats = 1 / (1 + np.exp(-scores))
    return result
