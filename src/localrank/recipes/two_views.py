"""Models on the features and in the query's coordinates, averaged: what goes beyond the papers."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

from localrank.aggregation import MeanScore
from localrank.declaration import declare
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
from localrank.rankers.distilled import student_in_coordinates
from localrank.rankers.gains import Gain
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION
from localrank.recipes.combining import Combine, combining


@declare(
    "best",
    "models of five kinds, on the features and in the query's coordinates",
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
    """Six models of five kinds, four of them in the coordinates within the query.

    On the features LambdaMART and GBRT; on what `QueryCoordinates` makes of them LambdaMART,
    CrossEntropyMART and RankSVM; and `ListwiseNet`, which has coordinates of its own. The scores
    of the six, standardised within the query, are averaged. What a value means among all documents
    and what it means among those of its query are two views of a document, and models of
    different views err on different queries. Regression needs values that compare across queries,
    linear models and nets gain from those that compare within one. RankSVM is strong where
    training queries are few, nets where they are many.
    Validation queries do not stop the trees: each model alone would gain by it, their mean loses.
    Missing values: trees take them as they are, RankSVM and the nets fill them by the median of
    the query. RankSVM and the nets learn from queries with up to 250,000 documents: they would
    hold several times the data.

    Parameters
    ----------
    n_trees : int, default=300
        Of LambdaMART and GBRT; CrossEntropyMART, which needs fewer, has half as many.
    n_leaves : int, default=7
        Small trees suit collections of a thousand queries; raise it for larger ones.
    min_leaf_documents : int, default=50
    gain : {"exponential", "linear"}, list of float or None, default=None
        What labels are worth to LambdaMART and CrossEntropyMART.
    combine : {"standardised", "fixed"}, default="standardised"
        Whether scores are standardised within the query before they are averaged, or divided by
        fixed scales learned in training (`FixedScale`), which makes their mean a weighted sum.
    n_jobs : int or None, default=None
        Models trained at the same time; -1 for all cores.
    random_state : int or None, default=0

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
    # Their scores are means of three on one scale already.
    return Ensemble([first, second], aggregator=MeanScore(), stop_early=False)


@declare(
    "fast",
    "two models, one on the features, one in the query's coordinates",
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
    """A third of `best`: two models, one for each view of the documents.

    LambdaMART on the features, and CrossEntropyMART on the coordinates within the query.

    Parameters
    ----------
    n_trees : int, default=300
        Of LambdaMART; the other has half as many.
    n_leaves : int, default=7
    min_leaf_documents : int, default=50
    gain : {"exponential", "linear"}, list of float or None, default=None
        What labels are worth to LambdaMART and CrossEntropyMART.
    combine : {"standardised", "fixed"}, default="standardised"
        Whether scores are standardised within the query before they are averaged, or divided by
        fixed scales learned in training (`FixedScale`), which makes their mean a weighted sum.
    n_jobs : int or None, default=None
        Models trained at the same time; -1 for all cores.
    random_state : int or None, default=0

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
    "one model in the query's coordinates that learns the scores of best",
    kind="local",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def one(
    n_trees: int = 300,
    *,
    n_leaves: int = 15,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Distilled:
    """One model that ranks almost as well as the six of `best`, in a fraction of the time.

    `best` is trained, then boosted regression trees in the coordinates of the query learn its
    scores of the training documents. The trees alone are kept. On public collections it ranks as
    well as six global models of different kinds, and 0.003 NDCG@10 below `best`. It can learn
    from lists without labels, too: `localrank.rankers.distil`.

    Parameters
    ----------
    n_trees : int, default=300
        Of the model, and of those that it learns from.
    n_leaves : int, default=15
        Of the model; those that it learns from have 7.
    min_leaf_documents : int, default=50
    gain : {"exponential", "linear"}, list of float or None, default=None
        What labels are worth to the models that it learns from.
    n_jobs : int or None, default=None
        Models trained at the same time; -1 for all cores.
    random_state : int or None, default=0

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
    return Distilled(teacher, student_in_coordinates(n_trees, n_leaves, n_jobs=n_jobs, **trees))


@declare(
    "query-coordinates",
    "LambdaMART on features relative to the query's documents",
    kind="local",
    sample={"ranker": "lambdamart"},
)
def in_coordinates(
    ranker: Ranker | None = None,
    *,
    parts: str = "zpab",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> QueryCoordinates:
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
        ranker = LambdaMART(
            feature_fraction=COORDINATES_FRACTION,
            n_jobs=n_jobs,
            random_state=random_state,
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
    """LambdaMART, CrossEntropyMART with half as many trees, and GBRT, which knows no gain."""
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
