"""Everything that stands in the tables of the wins."""

from __future__ import annotations

from functools import partial

from localrank.rankers import (
    LGMML,
    BestFeature,
    Ensemble,
    ListwiseLinear,
    MultipleHyperplaneRanker,
    QueryCoordinates,
    Ranker,
    RankSVM,
    SVMMap,
)
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION
from localrank.recipes import (
    adaptive_training,
    best,
    fast,
    global_ensemble,
    global_mixed,
    local_rank,
    pca_queries,
    query_neighbours,
)
from localrank.recipes.two_views import tree_kinds

N_TREES = 300
BASELINE, SIX = "LambdaMART", "6 LambdaMARTs"
EQUAL_COST = {
    "best": [SIX, "6 mixed", "the kinds of best"],
    "fast": ["2 LambdaMARTs", "2 mixed"],
}
# What the papers' methods are made of, beside which they stand.
MADE_OF = {
    "local_rank": "SVMMap",
    "pca_queries": "RankSVM",
    "query_neighbours": "RankSVM",
    "adaptive_training": BASELINE,
    "multiple hyperplanes": "RankSVM",
}


def wins_methods(seed: int, n_trees: int = N_TREES) -> dict[str, Ranker]:
    """The methods by their names in the tables.

    Parameters
    ----------
    seed : int
        Ensembles count up from it.
    n_trees : int, default=300
        Of LambdaMART and GBRT; CrossEntropyMART has half as many.

    Examples
    --------
    >>> methods = wins_methods(1000)
    >>> [model.random_state for model in methods["2 LambdaMARTs"].rankers]
    [1000, 1001]
    """

    def local(lambda_mart: Ranker) -> dict[str, Ranker]:
        return {
            "local_rank": local_rank(),
            "pca_queries": pca_queries(),
            "adaptive_training": adaptive_training(ranker=lambda_mart, random_state=seed),
        }

    def single(lambda_mart: Ranker, cross_entropy: Ranker, gbrt: Ranker) -> dict[str, Ranker]:
        return {
            "RankSVM": RankSVM(),
            "SVMMap": SVMMap(),
            "ListwiseLinear": ListwiseLinear(random_state=seed),
            "GBRT": gbrt,
            BASELINE: lambda_mart,
            "LambdaMART, cross-entropy": cross_entropy,
        }

    trees = [partial(tree_kinds, n_trees, random_state=seed + turn) for turn in range(2)]
    plain, again = (kinds() for kinds in trees)
    few, few_again = (kinds(feature_fraction=COORDINATES_FRACTION) for kinds in trees)
    mixed = [*few, ListwiseLinear(random_state=seed), *few_again[:2]]
    in_coordinates = {
        **single(*few),
        SIX: global_ensemble(6, ranker=few[0], random_state=seed),
        "6 mixed": Ensemble(mixed),
        **local(few[0]),
    }
    return {
        "best feature": BestFeature(),
        **single(*plain),
        "2 LambdaMARTs": global_ensemble(2, ranker=plain[0], random_state=seed),
        "2 mixed": global_mixed(2, n_trees=n_trees, random_state=seed),
        SIX: global_ensemble(6, ranker=plain[0], random_state=seed),
        "6 mixed": global_mixed(6, n_trees=n_trees, random_state=seed),
        "the kinds of best": Ensemble([*plain, RankSVM(), *again[:2]]),
        **local(plain[0]),
        "query_neighbours": query_neighbours(),
        "multiple hyperplanes": MultipleHyperplaneRanker(),
        "L-GMML": LGMML(random_state=seed),
        **{f"{name}, in coordinates": QueryCoordinates(r) for name, r in in_coordinates.items()},
        "local_rank of models in coordinates": local_rank(ranker=QueryCoordinates(SVMMap())),
        "fast": fast(n_trees, random_state=seed),
        "best": best(n_trees, random_state=seed),
    }
