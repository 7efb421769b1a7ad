"""The error for an unknown name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import CO_VARKEYWORDS
from types import CodeType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# Names of parameters in LightGBM, XGBoost, CatBoost, RankLib and scikit-learn, by ours.
_ELSEWHERE = {
    "n_trees": "n_estimators num_iterations num_boost_round num_trees iterations tree",
    "n_rounds": "n_estimators num_boost_round round",
    "n_leaves": "num_leaves max_leaves leaf max_leaf_nodes max_depth depth",
    "min_leaf_documents": "min_child_samples min_data_in_leaf mls min_samples_leaf",
    "feature_fraction": "colsample_bytree colsample_bynode rsm max_features frate",
    "document_fraction": "subsample bagging_fraction srate max_samples",
    "learning_rate": "eta shrinkage lr",
    "l2": "reg_lambda lambda_l2 l2_leaf_reg lambda",
    "patience": "early_stopping_rounds early_stopping_round od_wait estop n_iter_no_change",
    "measure": "eval_metric metric metric2t eval_at",
    "gain": "label_gain",
    "truncation_level": "lambdarank_truncation_level lambdarank_num_pair_per_sample",
    "monotone": "monotone_constraints monotonic_cst",
    "n_jobs": "nthread num_threads thread_count n_threads",
    "random_state": "seed random_seed",
}


def unknown(
    what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None
) -> ValueError:
    """The error for an unknown name, with the nearest known name and a list of names.

    Parameters
    ----------
    what : str
        Beginning of the message.
    name : str
        The unknown name.
    known : iterable of str
        Names that may have been meant.
    listed : iterable of str, optional
        Names to list. None: all known names.

    Examples
    --------
    >>> raise unknown("There is no measure", "ngcd", ["map", "ndcg"])
    Traceback (most recent call last):
    ...
    ValueError: There is no measure 'ngcd'. Did you mean 'ndcg'? There are: map, ndcg.
    """
    spelled = {other.lower(): other for other in known}
    near = [ours for ours, names in _ELSEWHERE.items() if ours in spelled and name in names.split()]
    near = near or get_close_matches(name.lower(), spelled, n=1, cutoff=0.65)
    # A mistyped name begins as the right one and is about as long.
    alike = [o for o in spelled if o[:1] == name[:1].lower() and abs(len(o) - len(name)) <= 2]
    near = near or get_close_matches(name.lower(), alike, n=1, cutoff=0.5)
    hint = f" Did you mean {spelled[near[0]]!r}?" if near else ""
    names = ", ".join(sorted(spelled.values() if listed is None else listed))
    return ValueError(f"{what} {name!r}.{hint} There are: {names}.")


def explaining(function: Function, name: str, hints: Mapping[str, str] | None = None) -> Function:
    """The same function, whose error for an unknown argument says what to write instead.

    Parameters
    ----------
    function : callable
        The function. One that takes any arguments stays as it is.
    name : str
        What the message calls it.
    hints : mapping, optional
        Sentences by the names of unknown arguments. None: the nearest known argument is named.

    Examples
    --------
    >>> def train(n_trees=300): ...
    >>> explaining(train, "train")(n_estimators=100)
    Traceback (most recent call last):
    ...
    TypeError: train has no parameter 'n_estimators'. Did you mean 'n_trees'? There are: n_trees.
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or code.co_flags & CO_VARKEYWORDS:
        return function
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        for argument in named.keys() - set(known):
            if hints is None or argument not in hints:
                listed = [other for other in known if other != "self"]
                raise TypeError(str(unknown(f"{name} has no parameter", argument, listed)))
            raise TypeError(f"{name} has no parameter {argument!r}. {hints[argument]}")
        return function(*arguments, **named)

    return cast(Function, checked)
