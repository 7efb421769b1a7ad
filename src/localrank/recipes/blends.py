"""Group models that help each other: blended for each query, or trained together."""

from __future__ import annotations

from localrank.grouping import Neighbourhoods, bisecting_kmeans
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker, RankSVM, SharedRankSVM
from localrank.recipes._arguments import Scaling, scaled
from localrank.registry import declare
from localrank.representations import TopDocuments, TopScores
from localrank.selection import NearestCentroid, NearestQueries


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
    """Splits to the limit: one model per training query, the k most similar ones blended [1].

    A query is described by the mean of its top documents under a reference feature. Each training
    query that has something to order gets a model. With more than 2,000 training queries only a
    sample of 2,000 gets models: see `Neighbourhoods`.

    Parameters
    ----------
    k : int, default=10
        Number of training queries whose models rank a query together. With 1, the nearest
        query's model ranks alone.
    bandwidth : float, optional
        Distance at which a model's weight has fallen by the factor e. None: learned from the
        training queries, see `NearestQueries`.
    n_neighbours : int, default=0
        Number of neighbours that a training query's model learns from, besides the query itself.
    ranker : Ranker, optional
        The ranker to train. None: RankSVM().
    n_documents : int, default=10
        Number of top documents that describe a query.
    feature : int, str or "best", default="best"
        The reference feature, by column or name. "best": the one that ranks the training queries
        best.
    scaling : {"standard"} or None, default=None
        Scaling of features before queries are described. "standard": divide each feature by its
        spread within queries, as features in different units need. None: no scaling. The ranker
        scales its features itself either way.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.

    References
    ----------
    1. Lee, Jiang, Wu, Lee. A Query-Dependent Ranking Approach for Search Engines. WCSE 2009.

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


@declare(
    "shared-specific",
    "one model per cluster of queries with a shared part, trained together",
    kind="local",
    grid={
        "ranker__shrinkage": [0.1, 1.0, 10.0, 100.0],
        "grouping__n_clusters": [2, 4, 8],
        "ranker__C": [0.01, 0.1, 1.0, 10.0],
    },
    sample={"n_clusters": 3},
)
def shared_specific(
    n_clusters: int = 4,
    *,
    C: float = 1.0,
    shrinkage: float = 1.0,
    h: int = 10,
    n_components: float = 0.95,
    scaling: Scaling = None,
    min_queries: int = 1,
    random_state: int | None = 0,
) -> LocalRanker:
    """Splits with a shared part: one RankSVM per cluster, all trained together [1, 2].

    It describes, clusters and selects queries as `pca_queries` does. `SharedRankSVM` explains what
    is trained. `shared_specific().set_params(grouping=…)` sets another grouping, and likewise
    another selector.

    Parameters
    ----------
    n_clusters : int, default=4
        Number of clusters.
    C : float, default=1.0
        Weight of the loss on pairs of documents, relative to the regularisation.
    shrinkage : float, default=1.0
        Price of the part that is specific to a cluster. A large price gives all clusters the
        same model; a small one lets each cluster learn from its queries alone.
    h : int, default=10
        Number of highest values of each feature that describe a query.
    n_components : float or int, default=0.95
        Share of the variance of these values to keep (float), or number of components (int).
    scaling : {"standard"} or None, default=None
        Scaling of the highest values. "standard": divide those of each feature by their standard
        deviation, as features in different units need. None: no scaling. The ranker scales its
        features itself either way.
    min_queries : int, default=1
        Queries that a cluster needs. A smaller one is merged into its nearest cluster.
    random_state : int or None, default=0
        Seed of the clustering.

    References
    ----------
    1. Ni, Huang, Xie. A Query Dependent Approach to Learning to Rank for Information
       Retrieval. WAIM 2008.
    2. Evgeniou, Pontil. Regularized Multi-Task Learning. KDD 2004.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> model = shared_specific(3, shrinkage=10.0).fit(dataset)
    >>> len({model.objective_ for model in model.models_})
    1
    """
    return LocalRanker(
        TopScores(h, n_components=n_components, scaling=scaling),
        bisecting_kmeans(n_clusters, random_state=random_state),
        SharedRankSVM(C, shrinkage=shrinkage),
        NearestCentroid(),
        min_queries=min_queries,
    )
