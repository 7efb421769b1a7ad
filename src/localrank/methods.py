"""The methods by name: what the command line offers, with their parameters and help."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

from localrank import aggregation, rankers, recipes
from localrank.rankers import Ranker
from localrank.recipes.two_views import COORDINATES_FRACTION, both_losses

CS = [0.01, 0.1, 1.0, 10.0]
CLUSTERS = [1, 2, 4, 8]


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    make : callable
        A class of rankers, or a recipe.
    summary : str
    kind : {"global", "local"}
        Whether one model serves every query.
    grid : dict
        What is tuned where tuning is asked for.
    """

    make: Callable[..., Ranker]
    summary: str
    kind: Literal["global", "local"] = "global"
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """Names and defaults of its own parameters."""
        signature = inspect.signature(self.make)
        return {name: parameter.default for name, parameter in signature.parameters.items()}


def global_ensemble(
    n_models: int = 5,
    *,
    ranker: Ranker | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> rankers.Ensemble:
    """Models of one kind that differ by their seed: what local methods must beat at equal cost.

    Parameters
    ----------
    n_models : int, default=5
    ranker : Ranker, optional
        LambdaMART() by default; one that has no seed gives the same model n_models times.
    n_jobs : int or None, default=None
    random_state : int or None, default=0
        Of the first model; the others count up from it.

    Examples
    --------
    >>> [model.random_state for model in global_ensemble(3).rankers]
    [0, 1, 2]
    """
    _check_n_models(n_models)
    single = rankers.LambdaMART() if ranker is None else ranker
    seeds = [None if random_state is None else random_state + i for i in range(n_models)]
    seeded = "random_state" in single.get_params(deep=False)
    models = [
        type(single)(**{**single.get_params(deep=False), "random_state": seed})
        if seeded
        else single
        for seed in seeds
    ]
    return rankers.Ensemble(models, n_jobs=n_jobs)


def global_mixed(
    n_models: int = 6,
    *,
    n_trees: int = 300,
    n_leaves: int = 7,
    min_leaf_documents: int = 50,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> rankers.Ensemble:
    """Models of different kinds on the features as they are: the opponent of mixed local models.

    In turn LambdaMART, CrossEntropyMART with half the trees, GBRT and ListwiseLinear, with other
    seeds in each turn.

    Parameters
    ----------
    n_models : int, default=6
    n_trees : int, default=300
    n_leaves : int, default=7
    min_leaf_documents : int, default=50
    n_jobs : int or None, default=None
    random_state : int or None, default=0

    Examples
    --------
    >>> [type(model).__name__ for model in global_mixed(5).rankers]
    ['LambdaMART', 'CrossEntropyMART', 'GBRT', 'ListwiseLinear', 'LambdaMART']
    """

    def kinds(turn: int) -> list[Ranker]:
        seed = None if random_state is None else random_state + turn
        shared: dict[str, Any] = {
            "n_leaves": n_leaves,
            "min_leaf_documents": min_leaf_documents,
            "random_state": seed,
        }
        return [
            *both_losses(n_trees, **shared),
            rankers.GBRT(n_trees, **shared),
            rankers.ListwiseLinear(random_state=seed),
        ]

    _check_n_models(n_models)
    models = [kinds(i // 4)[i % 4] for i in range(n_models)]
    return rankers.Ensemble(models, n_jobs=n_jobs)


def in_coordinates(
    ranker: Ranker | None = None,
    *,
    parts: str = "zpab",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> rankers.QueryCoordinates:
    """A ranker on documents in the coordinates of their query.

    Parameters
    ----------
    ranker : Ranker, optional
        By default LambdaMART, with a smaller share of the columns for each tree, because there
        are four times as many.
    parts : str, default="zpab"
    n_jobs : int or None, default=None
        Threads of the default ranker, and its seed:
    random_state : int or None, default=0

    Examples
    --------
    >>> in_coordinates().ranker.feature_fraction
    0.18
    """
    if ranker is None:
        ranker = rankers.LambdaMART(
            feature_fraction=COORDINATES_FRACTION,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    return rankers.QueryCoordinates(ranker, parts=parts)


def n_models(ranker: Ranker) -> int:
    """How many models a ranker will consist of, as far as it is known before training.

    Examples
    --------
    >>> n_models(recipes.best()), n_models(recipes.local_rank(4)), n_models(rankers.RankSVM())
    (6, 4, 1)
    """
    if isinstance(ranker, rankers.Ensemble):
        return sum(map(n_models, ranker.rankers))
    if isinstance(ranker, rankers.QueryCoordinates | rankers.Quadratic):
        return n_models(ranker.ranker)
    grouping = getattr(ranker, "grouping", None)
    n_clusters = getattr(getattr(grouping, "grouping", grouping), "n_clusters", None)
    return int(n_clusters) if isinstance(n_clusters, Integral) else 1


METHODS: dict[str, Method] = {
    "best-feature": Method(rankers.BestFeature, "the single best feature as a score"),
    "gbrt": Method(rankers.GBRT, "boosted regression trees", grid={"n_leaves": [5, 7, 15]}),
    "lambdamart": Method(
        rankers.LambdaMART, "boosted trees for NDCG", grid={"n_leaves": [5, 7, 15]}
    ),
    "global-ensemble": Method(global_ensemble, "several LambdaMARTs of different seeds, averaged"),
    "global-mixed": Method(global_mixed, "models of different kinds, averaged"),
    "cross-entropy-mart": Method(
        rankers.CrossEntropyMART, "boosted trees on whole lists", grid={"n_leaves": [5, 7, 15]}
    ),
    "listwise-linear": Method(rankers.ListwiseLinear, "linear, from whole lists"),
    "multiple-hyperplanes": Method(
        rankers.MultipleHyperplaneRanker,
        "one hyperplane per pair of relevance levels, rankings aggregated",
    ),
    "rank-boost": Method(
        rankers.RankBoost,
        "boosted thresholds of single features",
        grid={"n_rounds": [30, 100, 300]},
    ),
    "rank-svm": Method(rankers.RankSVM, "linear, from pairs of documents", grid={"C": CS}),
    "svm-map": Method(rankers.SVMMap, "linear, for average precision", grid={"C": CS}),
    "adaptive-training": Method(
        recipes.adaptive_training,
        "clusters refined by how well each cluster's model ranks each query",
        "local",
        {"grouping__grouping__n_clusters": [1, 2, 5]},
    ),
    "best": Method(
        recipes.best,
        "models of four kinds, on the features and in the query's coordinates",
        "local",
    ),
    "duh-kirchhoff": Method(
        rankers.DuhKirchhoff, "a model for each query, in its documents' own directions", "local"
    ),
    "fast": Method(
        recipes.fast, "two models, one on the features, one in the query's coordinates", "local"
    ),
    "lgmml": Method(
        rankers.LGMML, "distances to anchors by local metrics", "local", {"n_metrics": [10, 50]}
    ),
    "local-rank": Method(
        recipes.local_rank,
        "clusters of queries by the principal components of their documents",
        "local",
        {"grouping__n_clusters": CLUSTERS, "ranker__C": CS},
    ),
    "pca-queries": Method(
        recipes.pca_queries,
        "clusters of queries by their highest feature values",
        "local",
        {"grouping__n_clusters": CLUSTERS, "ranker__C": CS},
    ),
    "query-coordinates": Method(
        in_coordinates, "LambdaMART on features relative to the query's documents", "local"
    ),
    "query-neighbours": Method(
        recipes.query_neighbours,
        "a model for each training query and its neighbours",
        "local",
        {"grouping__n_neighbours": [25, 100]},
    ),
}


def make_ranker(
    method: str, settings: Sequence[str], n_jobs: int | None, random_state: int | None
) -> Ranker:
    """A method by name, with `name=value` parameters; threads and seed where it has them.

    Parameters of parts are named as in scikit-learn, `ranker__C=0.1`; `ranker` itself is a
    method's name, and `aggregator` one of borda, markov-chain, median-rank and weighted-borda.

    Examples
    --------
    >>> make_ranker("local-rank", ["n_clusters=3", "ranker=rank-svm", "ranker__C=0.1"], None, 0)
    LocalRanker(grouping=Agglomerative(n_clusters=3), ranker=RankSVM(C=0.1),
                representation=PrincipalComponents(), selector=NearestQuery())
    """
    name = check_method(method)
    parameters = METHODS[name].parameters()
    given: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
    given = {key: value for key, value in given.items() if key in parameters}
    of_parts: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"A setting must read name=value. Got {setting!r} instead.")
        if key == "ranker" and key in parameters:
            given[key] = make_ranker(value, [], None, random_state)
        elif key == "aggregator" and key in parameters:
            given[key] = _aggregator(value)
        elif key in parameters:
            given[key] = _value(value)
        else:
            of_parts[key] = value
        if isinstance(parameters.get(key), bool) and not isinstance(given[key], bool):
            raise ValueError(f"{key} of {name} must be true or false. Got {value!r} instead.")
    ranker = METHODS[name].make(**given)
    nested = {key: value for key, value in ranker.get_params().items() if "__" in key}
    for key, value in of_parts.items():
        if key not in nested:
            hint = suggestion(key, {**parameters, **nested}, parameters)
            raise ValueError(f"{name} has no parameter {key!r}.{hint}")
        ranker.set_params(**{key: _value(value)})
    return ranker


def check_method(name: str) -> str:
    """The name of a method as the registry has it; an error that suggests one otherwise."""
    if name.lower() not in METHODS:
        raise ValueError(f"There is no method {name.lower()!r}.{suggestion(name, METHODS)}")
    return name.lower()


def suggestion(wrong: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """What to say of a name that is not known."""
    near = difflib.get_close_matches(wrong, list(known), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{hint} There are: {', '.join(sorted(known if listed is None else listed))}."


def _check_n_models(n_models: int) -> None:
    if not isinstance(n_models, Integral) or n_models < 1:
        raise ValueError(
            f"The 'n_models' parameter of a global ensemble must be a whole number, 1 or larger. "
            f"Got {n_models!r} instead."
        )


def _aggregator(name: str) -> aggregation.Aggregator:
    known: dict[str, type[aggregation.Aggregator]] = {
        "borda": aggregation.Borda,
        "markov-chain": aggregation.MarkovChain,
        "median-rank": aggregation.MedianRank,
        "weighted-borda": aggregation.WeightedBorda,
    }
    if name.lower() not in known:
        raise ValueError(f"There is no aggregator {name!r}.{suggestion(name, known)}")
    return known[name.lower()]()


def _value(text: str) -> Any:
    """A parameter as Python or JSON would write it, or the text itself."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
