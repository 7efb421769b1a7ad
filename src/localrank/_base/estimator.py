"""scikit-learn's estimator interface for rankers and their parts, without importing it.

Importing scikit-learn takes longer than loading a model and ranking with it. It is imported only
when it is needed: to train, to search a grid, or by a model that holds one of its classifiers.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

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
        routing = _twin(self).get_metadata_routing()
        for request in (routing, *vars(routing).values()):
            if hasattr(request, "owner"):
                request.owner = self
        return routing

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Choose what scikit-learn's routing passes to `fit`: True, False or an alias."""
        return self._set_request("fit", requests)

    def set_predict_request(self, **requests: bool | str | None) -> Self:
        """Choose what scikit-learn's routing passes to `predict`."""
        return self._set_request("predict", requests)

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Choose what scikit-learn's routing passes to `score`."""
        return self._set_request("score", requests)

    def _set_request(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        routing = self.get_metadata_routing()
        request = getattr(routing, method)
        for name, choice in requests.items():
            if name not in request.requests:
                raise TypeError(f"{type(self).__name__}.{method} takes no {name!r}.")
            request.add_request(param=name, alias=choice)
        # scikit-learn's `clone` looks for it under this name.
        self._metadata_request = routing
        return self

    def _defaults(self) -> dict[str, Any]:
        """Names and defaults of the parameters. A parameter without a default has `empty`."""
        kind: Any = type(self)
        return _defaults_of(kind)

    def _repr_html_(self) -> Any:
        """A notebook shows scikit-learn's diagram, with a box for each part."""
        from sklearn.utils import estimator_html_repr

        return estimator_html_repr(_twin(self))


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator: of localrank, of scikit-learn, or with `get_params`."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def clone(part: Part, *, safe: bool = True) -> Part:
    """An unfitted copy with the same parameters, of a part of localrank or scikit-learn.

    With `safe=False`, other values are copied too.
    """
    # Only training needs it.
    from sklearn.base import clone as cloned

    copy: Part = cloned(part, safe=safe)
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

    return type(cls.__name__, (BaseEstimator, cls), {"_sk_visual_block_": _diagram})


def _diagram(part: Estimator) -> _Block:
    """What scikit-learn draws: the part, and inside it the parts among its parameters."""
    parts: dict[str, Any] = {}
    for name in part._defaults():
        value = getattr(part, name)
        if is_estimator(value):
            parts[name] = value
        elif isinstance(value, list | tuple) and value and all(map(is_estimator, value)):
            parts |= {f"{name}[{place}]": item for place, item in enumerate(value)}
    if not parts:
        return _Block("single", part, type(part).__name__, str(part))
    twins = [_twin(item) if isinstance(item, Estimator) else item for item in parts.values()]
    names = [f"{name}: {type(item).__name__}" for name, item in parts.items()]
    return _Block("parallel", twins, names, [str(item) for item in parts.values()])


@dataclass
class _Block:
    """A box of scikit-learn's diagram, with the attributes that it reads."""

    kind: str
    estimators: Any
    names: Any
    name_details: Any
    name_caption: None = None
    doc_link_label: None = None
    dash_wrapped: bool = True

    def _sk_visual_block_(self) -> _Block:
        return self
