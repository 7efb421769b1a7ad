"""Models of groups that share: blended for each query, or trained together."""

from __future__ import annotations

from localrank.declaration import declare
from localrank.grouping import Neighbourhoods
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker, RankSVM
from localrank.recipes.scaling import Scaling, scaled
from localrank.representations import TopDocuments
from localrank.selection import NearestQueries


@declare(
    "query-blend",
    "the models of the most similar training queries, blended",
    kind="local",
    grid={"selector__k": [1, 10, 50], "ranker__C": [0.01, 0.1, 1.0, 10.0]},
    sample={"k": 5},
)
def query_blend(
    k: int = 10,
    *,
    bandwidth: float | None = None,
    n_neighbours: int = 0,
    ranker: Ranker | None = None,
    n_documents: int = 10,
    feature: int | str = "best",
    scaling: Scaling = None,
    n_jobs: int | None = None,
) -> LocalRanker:
    """One model for each training query; those of the k most similar queries are blended [1]_.

    A query is the mean of its top documents under a reference feature. As many models are
    trained as there are queries that teach something.

    Parameters
    ----------
    k : int, default=10
        Training queries whose models rank a query together. With 1, the model of the nearest.
    bandwidth : float, optional
        The distance at which the weight of a model has fallen by the factor e; learned by
        default, see `NearestQueries`.
    n_neighbours : int, default=0
        Queries that a training query's model learns from beside itself.
    ranker : Ranker, optional
        RankSVM() by default.
    n_documents : int, default=10
        Top documents that describe a query.
    feature : int, str or "best", default="best"
        The reference feature, by column or name, or the one that ranks the training queries best.
    scaling : {"standard"} or None, default=None
        Whether features are divided by their spread within queries before queries are described:
        needed where they come in different units. The ranker scales its own features.
    n_jobs : int or None, default=None
        Models trained at the same time; -1 for all cores.

    References
    ----------
    .. [1] Lee, Jiang, Wu, Lee. A Query-Dependent Ranking Approach for Search Engines. WCSE 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> model = query_blend(5).fit(dataset)
    >>> int((model.selector_.weights(dataset, model.models_) > 0).sum(axis=1).max())
    5
    """
    return LocalRanker(
        scaled(TopDocuments(n_documents, feature=feature), scaling),
        Neighbourhoods(n_neighbours),
        RankSVM() if ranker is None else ranker,
        NearestQueries(k, bandwidth),
        n_jobs=n_jobs,
    )
