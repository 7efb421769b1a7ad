"""Models on the features and in coordinates that a search engine can compute."""

from __future__ import annotations

from functools import partial

from localrank.aggregation import FixedScale, MeanScore
from localrank.rankers import Ensemble, QueryCoordinates, RankSVM
from localrank.rankers._gains import Gain
from localrank.recipes.two_views import tree_kinds
from localrank.registry import declare

# The parts of `QueryCoordinates` that Vespa's global phase can compute over the hits it re-ranks.
ENGINE_PARTS = "md"
# Share of the columns for each tree: there are three times as many as features.
ENGINE_FRACTION = 0.25


@declare(
    "engine-coordinates",
    "six models like those of best, on values that Vespa can compute",
    kind="local",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def engine_coordinates(
    n_trees: int = 300,
    *,
    n_leaves: int = 7,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Ensemble:
    """Re-coordinates for a search engine: like `best`, from values that Vespa can compute.

    LambdaMART, GBRT and RankSVM learn on the features. LambdaMART, CrossEntropyMART and RankSVM
    learn on the features and two coordinates of each: its place between the query's smallest and
    largest value, and the number of documents below it minus the number above it (parts m and d
    of `QueryCoordinates`). The scores of the six models are divided by scales learned in training
    and averaged (`FixedScale`). Vespa computes all of this over the hits of its global phase.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees in LambdaMART and GBRT. CrossEntropyMART has half as many.
    n_leaves : int, default=7
        Number of leaves in each tree.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    gain : {"exponential", "linear"}, list of float or None, default=None
        The worth of each label to LambdaMART and CrossEntropyMART.
        None: exponential for labels up to 30, otherwise linear.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the tree models.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, n_features=5)
    >>> ranker = engine_coordinates(n_trees=20).fit(dataset)
    >>> first, second = ranker.rankers_
    >>> [type(model).__name__ for model in first.rankers_]
    ['LambdaMART', 'GBRT', 'RankSVM']
    >>> second.ranker_.rankers_[0].n_features_in_
    15
    """
    kinds = partial(tree_kinds, n_trees, n_leaves, min_leaf_documents, random_state, gain)
    lambda_mart, _, gbrt = kinds()
    local = [*kinds(feature_fraction=ENGINE_FRACTION)[:2], RankSVM()]
    scaled = partial(Ensemble, aggregator=FixedScale(), n_jobs=n_jobs)
    first = scaled([lambda_mart, gbrt, RankSVM()])
    second = QueryCoordinates(scaled(local), parts=ENGINE_PARTS)
    # Each view's score is already a mean of three on one scale.
    return Ensemble([first, second], aggregator=MeanScore(), stop_early=False)
