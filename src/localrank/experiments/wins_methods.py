"""All methods in the tables of the wins."""

from __future__ import annotations

from localrank.experiments.members import (
    CROSS_ENTROPY,
    GBRT,
    LAMBDA_MART,
    LISTWISE,
    N_TREES,
    NET,
    RANK_SVM,
    WITHOUT_NETS,
    for_coordinates,
    local,
    members,
)
from localrank.rankers import (
    LGMML,
    BestFeature,
    MultipleHyperplaneRanker,
    QueryCoordinates,
    Ranker,
    SVMMap,
)
from localrank.recipes import (
    adaptive_training,
    global_one,
    local_rank,
    one,
    pca_queries,
    query_neighbours,
)

BASELINE, SIX = LAMBDA_MART, "6 LambdaMARTs"
EQUAL_COST = {
    "best": [SIX, "6 mixed", "the kinds of best"],
    "fast": ["2 LambdaMARTs", "2 mixed"],
    "one": [BASELINE, "global one", "6 mixed"],
}
# The model that each of the papers' methods is made of.
MADE_OF = {
    "local_rank": "SVMMap",
    "pca_queries": RANK_SVM,
    "query_neighbours": RANK_SVM,
    "adaptive_training": BASELINE,
    "multiple hyperplanes": RANK_SVM,
}
# The order of the tables.
SINGLE = (RANK_SVM, "SVMMap", LISTWISE, GBRT, BASELINE, CROSS_ENTROPY, NET)
LOCAL = ("local_rank", "pca_queries", "adaptive_training")
SHOWN = (
    "best feature",
    *SINGLE,
    "global one",
    "2 LambdaMARTs",
    "2 mixed",
    SIX,
    "6 mixed",
    "the kinds of best",
    *LOCAL,
    "query_neighbours",
    "multiple hyperplanes",
    "L-GMML",
    *(local(name) for name in (*SINGLE, SIX, "6 mixed", *LOCAL)),
    "local_rank of models in coordinates",
    "one",
    "fast",
    WITHOUT_NETS,
    "best",
)


def wins_methods(seed: int, n_trees: int = N_TREES) -> dict[str, Ranker]:
    """The rankers to train, by name. Means of them are composed from their scores.

    Parameters
    ----------
    seed : int
        Seed of the first member of an ensemble; the next members count up.
    n_trees : int, default=300
        Trees of LambdaMART and GBRT. CrossEntropyMART has half as many.

    Examples
    --------
    >>> wins_methods(1000)["LambdaMART, seed 1"].random_state
    1001
    """

    def papers(lambda_mart: Ranker) -> dict[str, Ranker]:
        return {
            "SVMMap": SVMMap(),
            "local_rank": local_rank(),
            "pca_queries": pca_queries(),
            "adaptive_training": adaptive_training(ranker=lambda_mart, random_state=seed),
        }

    single = members(seed, n_trees)
    few = for_coordinates(seed, n_trees)[LAMBDA_MART]
    return {
        "best feature": BestFeature(),
        **single,
        **papers(single[LAMBDA_MART]),
        "query_neighbours": query_neighbours(),
        "multiple hyperplanes": MultipleHyperplaneRanker(),
        "L-GMML": LGMML(random_state=seed),
        **{local(name): QueryCoordinates(ranker) for name, ranker in papers(few).items()},
        "local_rank of models in coordinates": local_rank(ranker=QueryCoordinates(SVMMap())),
        "global one": global_one(n_trees, random_state=seed),
        "one": one(n_trees, random_state=seed),
    }
