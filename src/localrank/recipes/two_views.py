"""Recipes that re-coordinate: models on the features and relative to the query, averaged."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

from localrank.aggregation import MeanScore
from localrank.rankers import (
    GBRT,
    CrossEntropyMART,
    Distilled,
    Ensemble,
    LambdaMART,
    ListwiseNet,
    QueryCoordinates,
    Ranker,
    RankSVM,
)
from localrank.rankers._gains import Gain
from localrank.rankers.distilled import student_in_coordinates
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION
from localrank.recipes._arguments import Combine, combining
from localrank.registry import declare


@declare(
    "best",
    "six models, on the features and relative to the query's documents",
    kind="local",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def best(
    n_trees: int = 300,
    *,
    n_leaves: int = 7,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    combine: Combine = "standardised",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Ensemble:
    """The strongest recipe: re-coordinates, and averages six models of two views.

    A value can be compared with all documents, or with the other documents of its query. These
    are two views of a document, and models of different views err on different queries. `best`
    uses both:

    - on the features: LambdaMART and GBRT;
    - in the coordinates within the query (`QueryCoordinates`): LambdaMART, CrossEntropyMART and
      RankSVM;
    - on the features, with coordinates of its own: `ListwiseNet`.

    The six scores are standardised within the query and averaged. Regression needs values that
    compare across queries; linear models and nets gain from values that compare within one.
    RankSVM is strong with few training queries, nets with many.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees in LambdaMART and GBRT. CrossEntropyMART needs fewer and has half as many.
    n_leaves : int, default=7
        Number of leaves in each tree. Small trees suit collections of a thousand queries; raise the
        number for larger ones.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    gain : {"exponential", "linear"}, list of float or None, default=None
        The worth of each label to LambdaMART and CrossEntropyMART.
        None: exponential for labels up to 30, otherwise linear.
    combine : {"standardised", "fixed"}, default="standardised"
        How scores are made comparable before they are averaged. "standardised": within each
        query. "fixed": divided by scales learned in training (`FixedScale`), so that the result
        is a weighted sum of the models' scores.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the tree models and the nets.

    Notes
    -----
    Validation queries do not stop the trees early. Early stopping improves each model alone, but it
    worsens their mean. Trees use missing values as they are; RankSVM and the nets fill them with
    the query's median. The nets learn from at most 250,000 documents, and so does RankSVM on more
    than 500 columns: they hold several times the data in memory.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> ranker = best(n_trees=20).fit(dataset)
    >>> first, second = ranker.rankers_
    >>> [type(model).__name__ for model in first.rankers_]
    ['LambdaMART', 'GBRT', 'ListwiseNet']
    >>> [type(model).__name__ for model in second.ranker_.rankers_]
    ['LambdaMART', 'CrossEntropyMART', 'RankSVM']
    """
    kinds = partial(tree_kinds, n_trees, n_leaves, min_leaf_documents, random_state, gain)
    lambda_mart, _, gbrt = kinds()
    nets = ListwiseNet(gain=gain, random_state=random_state)
    first = Ensemble([lambda_mart, gbrt, nets], aggregator=combining(combine), n_jobs=n_jobs)
    local = [*kinds(feature_fraction=COORDINATES_FRACTION)[:2], RankSVM()]
    second = QueryCoordinates(Ensemble(local, aggregator=combining(combine), n_jobs=n_jobs))
    # Each view's score is already a mean of three on one scale.
    return Ensemble([first, second], aggregator=MeanScore(), stop_early=False)


@declare(
    "fast",
    "two models, one on the features, one relative to the query's documents",
    kind="local",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def fast(
    n_trees: int = 300,
    *,
    n_leaves: int = 7,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    combine: Combine = "standardised",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Ensemble:
    """`best` with a third of its models: re-coordinates, with one model for each view.

    LambdaMART learns on the features, CrossEntropyMART in the coordinates within the query. Their
    scores are averaged.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees in LambdaMART. CrossEntropyMART has half as many.
    n_leaves : int, default=7
        Number of leaves in each tree.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    gain : {"exponential", "linear"}, list of float or None, default=None
        The worth of each label to LambdaMART and CrossEntropyMART.
        None: exponential for labels up to 30, otherwise linear.
    combine : {"standardised", "fixed"}, default="standardised"
        How scores are made comparable before they are averaged. "standardised": within each
        query. "fixed": divided by scales learned in training (`FixedScale`), so that the result
        is a weighted sum of the models' scores.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the models.

    Examples
    --------
    >>> fast(n_trees=100).rankers[1].ranker.n_trees
    50
    """
    kinds = partial(tree_kinds, n_trees, n_leaves, min_leaf_documents, random_state, gain)
    plain, local = kinds()[0], kinds(feature_fraction=COORDINATES_FRACTION)[1]
    return Ensemble(
        [plain, QueryCoordinates(local)],
        aggregator=combining(combine),
        stop_early=False,
        n_jobs=n_jobs,
    )


@declare(
    "one",
    "one model, relative to the query's documents, that learns the scores of best",
    kind="local",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def one(
    n_trees: int = 300,
    *,
    n_leaves: int = 31,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Distilled:
    """One model that ranks almost as well as the six of `best`, in a fraction of the time.

    `best` is trained first. Boosted regression trees in the coordinates within the query then learn
    its scores of the training documents. Only these trees are kept. The trees are larger than those
    of `best`, and there are more of them, because the scores of six models hold more than labels.
    On public collections the model ranks as well as six global models of different kinds, and 0.004
    NDCG@10 below `best`. To learn from lists without labels as well, see
    `localrank.rankers.distil`.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees in the models that it learns from. The model has twice as many.
    n_leaves : int, default=31
        Number of leaves in each tree of the model. The models that it learns from have 7.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    gain : {"exponential", "linear"}, list of float or None, default=None
        The worth of each label to the models that it learns from.
        None: exponential for labels up to 30, otherwise linear.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the models.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> one(n_trees=20).fit(dataset).n_models_
    1
    """
    trees: dict[str, Any] = {"min_leaf_documents": min_leaf_documents}
    trees |= {"random_state": random_state}
    teacher = best(n_trees, gain=gain, n_jobs=n_jobs, **trees)
    return Distilled(teacher, student_in_coordinates(2 * n_trees, n_leaves, n_jobs=n_jobs, **trees))


@declare(
    "query-coordinates",
    "LambdaMART on features relative to the query's documents",
    kind="local",
    sample={"ranker": "lambdamart"},
)
def query_coordinates(
    ranker: Ranker | None = None,
    *,
    parts: str = "zpab",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> QueryCoordinates:
    """Re-coordinates alone: one ranker on documents relative to the others of their query.

    Parameters
    ----------
    ranker : Ranker, optional
        The ranker to train. None: LambdaMART, with a smaller share of the columns for each tree
        because there are four times as many.
    parts : str, default="zpab"
        The coordinates of each feature, as in `QueryCoordinates`.
    n_jobs : int or None, default=None
        Threads of the default ranker. A ranker that is passed in keeps its own.
    random_state : int or None, default=0
        Seed of the default ranker. A ranker that is passed in keeps its own.

    Examples
    --------
    >>> query_coordinates().ranker.feature_fraction
    0.18
    """
    if ranker is None:
        ranker = LambdaMART(
            feature_fraction=COORDINATES_FRACTION, n_jobs=n_jobs, random_state=random_state
        )
    return QueryCoordinates(ranker, parts=parts)


def tree_kinds(
    n_trees: int,
    n_leaves: int = 7,
    min_leaf_documents: int = 50,
    random_state: int | None = 0,
    gain: Gain = None,
    **more: Any,
) -> list[Ranker]:
    """LambdaMART, CrossEntropyMART with half as many trees, and GBRT, which has no gain."""
    if not isinstance(n_trees, Integral):
        raise ValueError(
            f"The 'n_trees' argument of a recipe must be a whole number. Got {n_trees!r} instead."
        )
    more |= {"n_leaves": n_leaves, "min_leaf_documents": min_leaf_documents}
    more |= {"random_state": random_state}
    half = max(n_trees // 2, 1)
    return [
        LambdaMART(n_trees, gain=gain, **more),
        CrossEntropyMART(half, gain=gain, **more),
        GBRT(n_trees, **more),
    ]
