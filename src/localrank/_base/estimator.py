"""scikit-learn's estimator interface for rankers and their parts, without importing it.

Importing scikit-learn takes longer than loading a model and ranking with it. It is imported only
when it is needed: to train, to search a grid, or by a model that holds one of its classifiers.
"""

from __future__ import annotations

import inspect
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from localrank._base.scikit_learn_internals import (
    copy_requests,
    diagram,
    own_routing,
    set_request,
    with_diagram,
)

if TYPE_CHECKING:
    # Untyped: parts of one kind have different parameters and fitted attributes.
    from sklearn.base import BaseEstimator as Base
else:
    Base = object

Part = TypeVar("Part")


class Estimator(Base):
    """Parameters by name, as scikit-learn's `clone`, `GridSearchCV` and `Pipeline` expect them.

    A constructor stores its arguments under their names, and nothing else.

    Examples
    --------
    >>> from localrank.rankers import Quadratic, RankSVM
    >>> Quadratic(RankSVM()).set_params(ranker__C=0.1)
    Quadratic(ranker=RankSVM(C=0.1))
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Include the parameters of parts, as `part__parameter`.
        """
        parameters: dict[str, Any] = {}
        for name in sorted(self._defaults()):
            value = parameters[name] = getattr(self, name)
            if deep and is_estimator(value):
                inner = value.get_params()
                parameters |= {f"{name}__{key}": item for key, item in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, and then those of parts, named `part__parameter`."""
        known = self._defaults()
        inner: dict[str, dict[str, Any]] = {}
        for key, value in parameters.items():
            name, has_rest, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {sorted(known)}."
                )
            if has_rest:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        return _twin(self).__sklearn_tags__()

    def get_metadata_routing(self) -> Any:
        """What `fit`, `predict` and `score` take besides X and y, for scikit-learn's routing."""
        return own_routing(_twin(self).get_metadata_routing(), self)

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Choose what scikit-learn's routing passes to `fit`: True, False or an alias."""
        set_request(self, "fit", requests)
        return self

    def set_predict_request(self, **requests: bool | str | None) -> Self:
        """Choose what scikit-learn's routing passes to `predict`."""
        set_request(self, "predict", requests)
        return self

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Choose what scikit-learn's routing passes to `score`."""
        set_request(self, "score", requests)
        return self

    def _defaults(self) -> dict[str, Any]:
        """Names and defaults of the parameters. A parameter without a default has `empty`."""
        kind: Any = type(self)
        return _defaults_of(kind)

    def _repr_html_(self) -> Any:
        """A notebook shows scikit-learn's diagram, with a box for each part."""
        return diagram(_twin(self))


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator: of localrank, of scikit-learn, or with `get_params`."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def clone(part: Part, *, safe: bool = True) -> Part:
    """An unfitted copy with the same parameters, of a part of localrank or scikit-learn.

    With `safe=False`, other values are copied too. It is scikit-learn's `clone`, which is imported
    for its own parts only.
    """
    if isinstance(part, list | tuple | set | frozenset):
        of_kind: Any = type(part)
        items: Part = of_kind([clone(item, safe=safe) for item in part])
        return items
    if not safe and not is_estimator(part):
        return deepcopy(part)
    if not isinstance(part, Estimator):
        from sklearn.base import clone as cloned

        other: Part = cloned(part, safe=safe)
        return other
    kind: Any = type(part)
    given = {name: clone(getattr(part, name), safe=False) for name in part._defaults()}
    copy: Part = kind(**given)
    for name, value in given.items():
        if getattr(copy, name) is not value:
            raise RuntimeError(f"The constructor of {kind.__name__} must store {name!r} as it is.")
    copy_requests(part, copy)
    return copy


def check_is_fitted(part: Any, attribute: str) -> None:
    """Raise scikit-learn's `NotFittedError` if a part has not been fitted."""
    if not hasattr(part, attribute):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(part).__name__} instance is not fitted yet. Call 'fit' with appropriate "
            f"arguments before using this estimator."
        )


def drawn_seed(random_state: Any) -> int:
    """A seed from anything that scikit-learn accepts as `random_state`."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


@cache
def _defaults_of(cls: Any) -> dict[str, Any]:
    return {p.name: p.default for p in inspect.signature(cls).parameters.values()}


def _twin(part: Estimator) -> Any:
    """The same part, attributes included, as an instance of scikit-learn's `BaseEstimator`."""
    kind: Any = type(part)
    cls = _twin_class(kind)
    twin = cls.__new__(cls)
    twin.__dict__ = part.__dict__
    return twin


@cache
def _twin_class(cls: Any) -> Any:
    from sklearn.base import BaseEstimator

    return with_diagram(cls, BaseEstimator, _parts)


def _parts(part: Estimator) -> dict[str, Any]:
    """The parts among the parameters of a part, in lists too, as a diagram shows them."""
    parts: dict[str, Any] = {}
    for name in part._defaults():
        value = getattr(part, name)
        if is_estimator(value):
            parts[name] = value
        elif isinstance(value, list | tuple) and value and all(map(is_estimator, value)):
            parts |= {f"{name}[{place}]": item for place, item in enumerate(value)}
    return {
        name: _twin(item) if isinstance(item, Estimator) else item for name, item in parts.items()
    }
