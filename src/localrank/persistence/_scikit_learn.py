"""The classes of scikit-learn that a model file may hold, and their fitted attributes.

Clusterers are parameters and stay unfitted. A file holds the attributes of fitted classifiers that
are listed below, and reading checks them. A decision tree is stored as plain arrays. Gradient
boosting is stored as its trees and their starting point.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.estimator import is_estimator
from localrank._base.rules import (
    Rule,
    Rules,
    Sizes,
    facts,
    floats,
    integers,
    n_features,
    one_of,
    optional,
    texts,
    whole,
)
from localrank._base.scikit_learn_internals import make_boosted, make_tree

CLUSTERERS = {
    "AgglomerativeClustering": "cluster",
    "Birch": "cluster",
    "BisectingKMeans": "cluster",
    "DBSCAN": "cluster",
    "HDBSCAN": "cluster",
    "KMeans": "cluster",
    "MiniBatchKMeans": "cluster",
    "SpectralClustering": "cluster",
}
_INPUT: Rules = {"n_features_in_": n_features}
_CLASSES: Rules = {**_INPUT, "classes_": texts("n_classes")}
_TREE: Rules = {
    **_CLASSES,
    "n_classes_": whole(1, name="n_classes"),
    "n_outputs_": one_of(1),
    "tree_": facts,
}
_FOREST: Rules = {
    **_CLASSES,
    "n_classes_": whole(1, name="n_classes"),
    "n_outputs_": one_of(1),
    "estimators_": Rule(
        lambda value, _: (
            isinstance(value, list) and len(value) > 0 and all(map(is_estimator, value))
        ),
        "a list of trees, not empty",
    ),
}
# `prior_` and `trees_` are not names of scikit-learn: they hold the content of its objects.
_BOOSTED: Rules = {
    **_CLASSES,
    "n_classes_": whole(2, name="n_classes"),
    "prior_": optional(floats("n_classes", above=0)),
    "trees_": Rule(
        lambda value, _: isinstance(value, list) and len(value) > 0, "a list of trees, not empty"
    ),
}
CLASSIFIERS: dict[str, tuple[str, Rules]] = {
    "StandardScaler": (
        "preprocessing",
        {
            **_INPUT,
            "mean_": optional(floats("n_features")),
            "var_": optional(floats("n_features")),
            "scale_": optional(floats("n_features")),
            "n_samples_seen_": whole(1),
        },
    ),
    "LogisticRegression": (
        "linear_model",
        {
            **_CLASSES,
            "coef_": floats(None, "n_features"),
            "intercept_": floats(None),
            "n_iter_": optional(integers(None, below=2**31)),
        },
    ),
    "GaussianNB": (
        "naive_bayes",
        {
            **_CLASSES,
            "theta_": floats("n_classes", "n_features"),
            "var_": floats("n_classes", "n_features", above=0),
            "class_prior_": floats("n_classes"),
            "class_count_": floats("n_classes"),
        },
    ),
    "Pipeline": ("pipeline", {}),
    "DecisionTreeClassifier": ("tree", _TREE),
    "RandomForestClassifier": ("ensemble", _FOREST),
    "ExtraTreeClassifier": ("tree", _TREE),
    "ExtraTreesClassifier": ("ensemble", _FOREST),
    "GradientBoostingClassifier": ("ensemble", _BOOSTED),
    "KNeighborsClassifier": (
        "neighbors",
        {"_fit_X": floats("n_queries", None), "_y": integers("n_queries", below=2**31)},
    ),
}
METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cosine")
NAMES = sorted([*CLUSTERERS, *CLASSIFIERS])
# Fields of a tree's nodes that scoring needs, and the attributes of a tree that hold them.
NODES = {
    "left_child": "children_left",
    "right_child": "children_right",
    "feature": "feature",
    "threshold": "threshold",
    "missing_go_to_left": "missing_go_to_left",
}


def knows(cls: type) -> bool:
    """Whether a class of scikit-learn may be in a model file."""
    return cls.__module__.startswith("sklearn.") and cls.__name__ in NAMES


def state_of(part: Any) -> dict[str, dict[str, Any]]:
    """The parameters and the stored attributes of a part."""
    known = CLASSIFIERS.get(type(part).__name__, ("", {}))[1]
    fitted = {name: getattr(part, name) for name in known if name in vars(part)}
    if "trees_" in known:
        _check_boosted(part.get_params(deep=False))
        fitted |= _boosted_state(part) if fitted else {}
    lost = [name for name, rule in known.items() if name not in fitted and not rule.may_lack]
    if lost and "n_features_in_" in vars(part):
        raise ValueError(
            f"A {type(part).__name__} cannot be saved: this version of scikit-learn stores "
            f"{', '.join(lost)} in another way."
        )
    for name, value in fitted.items():
        if isinstance(value, np.ndarray) and value.dtype == np.int32:
            fitted[name] = value.astype(np.int64)
        elif name == "n_samples_seen_":
            fitted[name] = int(np.max(value))
        elif name == "tree_":
            fitted[name] = _tree_state(value)
    return {"parameters": part.get_params(deep=False), "fitted": fitted}


def built(name: str, parameters: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """A part with this name, with checked attributes."""
    if name not in NAMES:
        raise ValueError(f"it asks for {name!r} of scikit-learn, which a model file may not use")
    if name == "KNeighborsClassifier":
        _check_neighbours(parameters)
    if name == "GradientBoostingClassifier":
        _check_boosted(parameters)
    part = _class(name)(**parameters)
    if not fitted:
        return part
    known, sizes = CLASSIFIERS.get(name, ("", {}))[1], Sizes()
    for attribute, kind in known.items():
        if attribute not in fitted and kind.may_lack:
            continue
        if attribute not in fitted or not kind.holds(fitted[attribute], sizes):
            raise ValueError(f"{attribute} of {name} must be {kind.words}")
    if surplus := fitted.keys() - known.keys():
        raise ValueError(f"{name} has no {', '.join(sorted(surplus))}")
    if "tree_" in fitted:
        tree = _tree(fitted["tree_"], sizes["n_features"], sizes["n_classes"])
        fitted = {**fitted, "tree_": tree}
    if "trees_" in fitted:
        return _boosted(part, fitted)
    if name == "KNeighborsClassifier":
        return part.fit(fitted["_fit_X"], fitted["_y"])
    vars(part).update(fitted)
    return part


def _check_neighbours(parameters: dict[str, Any]) -> None:
    """Allow only distances without further arguments: others trust functions and arrays."""
    plain = all(type(parameters.get(name, "")) is str for name in ("metric", "weights"))
    if not plain or parameters.get("metric", METRICS[0]) not in METRICS:
        raise ValueError(f"metric of KNeighborsClassifier must be one of {', '.join(METRICS)}")
    if parameters.get("metric_params") is not None:
        raise ValueError("metric_params of KNeighborsClassifier must be None")


def _check_boosted(parameters: dict[str, Any]) -> None:
    """Allow only boosting that starts from the shares of the classes, or from zero."""
    init = parameters.get("init")
    if init is not None and init != "zero":
        raise ValueError("init of GradientBoostingClassifier must be None or 'zero' in a file")


def _boosted_state(part: Any) -> dict[str, Any]:
    prior = getattr(part.init_, "class_prior_", None)
    return {
        "prior_": prior,
        "trees_": [[_tree_state(tree.tree_) for tree in stage] for stage in part.estimators_],
    }


def _boosted(classifier: Any, fitted: dict[str, Any]) -> Any:
    """A classifier of boosted trees with its starting point, as after `fit`."""
    from sklearn.dummy import DummyClassifier
    from sklearn.tree import DecisionTreeRegressor

    n_classes, n_features = fitted["n_classes_"], fitted["n_features_in_"]
    per_stage = 1 if n_classes == 2 else n_classes
    prior, stages = fitted.get("prior_"), fitted["trees_"]
    if not all(isinstance(stage, list) and len(stage) == per_stage for stage in stages):
        raise ValueError(f"trees_ must be {per_stage} in each stage")
    if (prior is None) != (classifier.init == "zero"):
        raise ValueError("prior_ must exist, and only if init is not 'zero'")
    estimators = np.empty((len(stages), per_stage), dtype=object)
    for place in np.ndindex(estimators.shape):
        tree = DecisionTreeRegressor()
        tree.n_features_in_, tree.n_outputs_ = n_features, 1
        tree.tree_ = _tree(stages[place[0]][place[1]], n_features, 1)
        estimators[place] = tree
    start: Any = "zero"
    if prior is not None:
        start = DummyClassifier(strategy="prior").fit(np.zeros((n_classes, 1)), range(n_classes))
        start.class_prior_ = prior
    return make_boosted(
        classifier,
        {
            **{name: value for name, value in fitted.items() if name not in ("prior_", "trees_")},
            "estimators_": estimators,
            "init_": start,
            "n_estimators_": len(stages),
            "n_trees_per_iteration_": per_stage,
        },
    )


def _tree_state(tree: Any) -> dict[str, NDArray[Any]]:
    fields = {field: np.ascontiguousarray(getattr(tree, name)) for field, name in NODES.items()}
    return {**fields, "values": tree.value}


def _tree(state: Any, n_features: int, n_values: int) -> Any:
    """A decision tree, checked that every path from the root ends at a leaf."""
    if not isinstance(state, dict) or set(state) != {*NODES, "values"}:
        raise ValueError("a decision tree lacks a field, or a field has a wrong type or shape")
    left, right, feature, threshold, missing = (np.asarray(state[field]) for field in NODES)
    values = np.asarray(state["values"])
    n, place = len(left), np.arange(len(left))
    whole = all(array.dtype == np.int64 for array in (left, right, feature))
    shaped = all(array.shape == (n,) for array in (right, feature, threshold, missing))
    if not n or not whole or not shaped or values.shape != (n, 1, n_values):
        raise ValueError("a decision tree lacks a field, or a field has a wrong type or shape")
    leaf = left == -1
    inner = ~leaf
    sound = (
        (right[leaf] == -1).all()
        and (left[inner] > place[inner]).all()
        and (right[inner] > place[inner]).all()
        and max(left.max(), right.max()) < n
        and (feature[inner] >= 0).all()
        and (feature[inner] < n_features).all()
        and values.dtype == np.float64
        and np.isfinite(values).all()
        and np.isfinite(threshold.astype(np.float64)).all()
    )
    if not sound:
        raise ValueError("a decision tree has a path that does not end at a leaf, or a wrong value")
    arrays = (left, right, feature, threshold.astype(np.float64), missing.astype(np.uint8))
    return make_tree(dict(zip(NODES, arrays, strict=True)), values.copy(), n_features)


@cache
def _class(name: str) -> type:
    module = CLUSTERERS.get(name) or CLASSIFIERS[name][0]
    cls: type = getattr(import_module(f"sklearn.{module}"), name)
    return cls
