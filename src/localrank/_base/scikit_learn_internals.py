"""The private parts of scikit-learn that localrank uses: this is the only module that knows them.

- What `clone` and metadata routing look for (`_metadata_request`, the owner of a request). Without
  them query ids still pass; a choice of what passes on is refused.
- The boxes of a diagram (`_sk_visual_block_`). Without them a notebook shows the text.
- The nodes of a decision tree (`NODE_DTYPE`, `__setstate__`). Without them a tree of a model file
  is walked by numpy.
- The loss of gradient boosting (`_get_loss`). Without it a model file that holds one is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray


def own_routing(routing: Any, owner: Any) -> Any:
    """A metadata routing whose requests belong to another object."""
    for request in (routing, *vars(routing).values()):
        if hasattr(request, "owner"):
            request.owner = owner
    return routing


def set_request(part: Any, method: str, requests: dict[str, bool | str | None]) -> None:
    """Store what scikit-learn's routing passes to a method of a part."""
    routing = part.get_metadata_routing()
    request = getattr(routing, method)
    if not hasattr(request, "requests") or not hasattr(request, "add_request"):
        raise NotImplementedError(
            f"set_{method}_request does not work with this version of scikit-learn: it stores "
            f"requests in another way."
        )
    for name, choice in requests.items():
        if name not in request.requests:
            raise TypeError(f"{type(part).__name__}.{method} takes no {name!r}.")
        request.add_request(param=name, alias=choice)
    # `clone` looks for it under this name.
    part._metadata_request = routing


def copy_requests(part: Any, copy: Any) -> None:
    """Give a clone of a part what `set_request` has stored."""
    if "_metadata_request" in vars(part):
        copy._metadata_request = deepcopy(part._metadata_request)


def diagram(part: Any) -> str:
    """What a notebook shows of a part: a box for each part, or the text."""
    from sklearn.utils import estimator_html_repr

    try:
        return str(estimator_html_repr(part))
    except (AttributeError, TypeError):
        return f"<pre>{escape(repr(part))}</pre>"


def with_diagram(cls: type, base: type, parts_of: Callable[[Any], dict[str, Any]]) -> Any:
    """A class that inherits from both, and whose diagram has a box for each of its parts."""

    def block(part: Any) -> Any:
        parts = parts_of(part)
        if not parts:
            return _Block("single", part, type(part).__name__, str(part))
        names = [f"{name}: {type(item).__name__}" for name, item in parts.items()]
        return _Block("parallel", list(parts.values()), names, list(map(str, parts.values())))

    return type(cls.__name__, (base, cls), {"_sk_visual_block_": block})


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


@dataclass(frozen=True)
class WalkedTree:
    """A decision tree that scores without scikit-learn's own, with equal results."""

    children_left: NDArray[np.int64]
    children_right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    value: NDArray[np.float64]

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """The values of the leaf that each row falls into."""
        nodes, rows = np.zeros(len(X), np.int64), np.arange(len(X))
        while len(rows):
            rows = rows[self.children_left[nodes[rows]] != -1]
            at = nodes[rows]
            values = X[rows, self.feature[at]]
            left = np.where(
                np.isnan(values), self.missing_go_to_left[at] == 1, values <= self.threshold[at]
            )
            nodes[rows] = np.where(left, self.children_left[at], self.children_right[at])
        leaves: NDArray[np.float64] = self.value[nodes, 0]
        return leaves


def make_tree(nodes: dict[str, NDArray[Any]], values: NDArray[np.float64], n_features: int) -> Any:
    """A decision tree of scikit-learn from checked arrays.

    Parameters
    ----------
    nodes : dict of ndarray of shape (n_nodes,)
        Fields of the nodes by scikit-learn's names.
    values : ndarray of shape (n_nodes, 1, n_values)
    n_features : int
    """
    n = len(values)
    try:
        from sklearn.tree._tree import NODE_DTYPE, Tree

        filled = np.zeros(n, NODE_DTYPE)
        for field, content in nodes.items():
            filled[field] = content
        tree = Tree(n_features, np.array([values.shape[2]], np.intp), 1)
        tree.__setstate__({"max_depth": n, "node_count": n, "nodes": filled, "values": values})
    except (ImportError, AttributeError, KeyError, TypeError, ValueError) as error:
        warnings.warn(
            f"This version of scikit-learn stores decision trees in another way "
            f"({type(error).__name__}: {error}). numpy walks those of the file, with the same "
            f"results.",
            RuntimeWarning,
            stacklevel=2,
        )
        left, right, feature, threshold, missing = nodes.values()
        return WalkedTree(left, right, feature, threshold, missing, values)
    return tree


def make_boosted(classifier: Any, fitted: dict[str, Any]) -> Any:
    """A classifier of boosted trees with its attributes and its loss, as after `fit`."""
    trees = [estimator.tree_ for estimator in fitted["estimators_"].ravel()]
    vars(classifier).update(fitted)
    loss = getattr(classifier, "_get_loss", lambda sample_weight: None)(sample_weight=None)
    if loss is None or any(isinstance(tree, WalkedTree) for tree in trees):
        raise ValueError(
            "it holds gradient boosting, which this version of scikit-learn stores in another way. "
            "Use another version, or train the model again"
        )
    classifier._loss = loss
    return classifier
