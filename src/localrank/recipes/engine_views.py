"""Models on the features and in coordinates that a search engine computes."""

from __future__ import annotations

from functools import partial

from localrank.aggregation import FixedScale, MeanScore
from localrank.declaration import declare
from localrank.rankers import Ensemble, QueryCoordinates, RankSVM
from localrank.rankers.gains import Gain
from localrank.recipes.two_views import tree_kinds

# What Vespa's global phase computes over the hits that it ranks again.
ENGINE_PARTS = "md"
# Share of the columns for each tree: there are three times as many as features.
ENGINE_FRACTION = 0.25


@declare(
    "engine-coordinates",
    "six trees and linear models, in coordinates that Vespa computes",
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
    """Two views of the documents, as in `best`, of what a search engine computes exactly.

    On the features LambdaMART, GBRT and RankSVM. On the features, where they lie between the
    smallest and the largest of the query, and how many documents are below less how many are
    above (the parts m and d of `QueryCoordinates`): LambdaMART, CrossEntropyMART and RankSVM. The
    scores of the six are divided by scales learned in training and averaged (`FixedScale`).
    Vespa computes all of it over the hits of its global phase.

    Parameters
    ----------
    n_trees : int, default=300
        Of LambdaMART and GBRT; CrossEntropyMART has half as many.
    n_leaves : int, default=7
    min_leaf_documents : int, default=50
    gain : {"exponential", "linear"}, list of float or None, default=None
        What labels are worth to LambdaMART and CrossEntropyMART.
    n_jobs : int or None, default=None
        Models trained at the same time; -1 for all cores.
    random_state : int or None, default=0

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
    # Their scores are means of three on one scale already.
    return Ensemble([first, second], aggregator=MeanScore(), stop_early=False)
