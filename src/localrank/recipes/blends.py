"""Models of groups that share: blended for each query, or trained together."""

from __future__ import annotations

from localrank.declaration import declare
from localrank.grouping import Neighbourhoods, bisecting_kmeans
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker, RankSVM, SharedRankSVM
from localrank.recipes.scaling import Scaling, scaled
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
    """One model for each training query; those of the k most similar queries are blended [1]_.

    A query is the mean of its top documents under a reference feature. As many models are
    trained as there are queries that teach something, of more than 2,000 queries those of a
    sample: see `Neighbourhoods`.

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


@declare(
    "shared-specific",
    "clusters whose models have a shared part, trained together",
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
    """Clusters of queries whose RankSVMs have a shared part, all trained together [1]_ [2]_.

    Queries are described, clustered and selected as by `pca_queries`; `SharedRankSVM` says what
    is trained. Any grouping and selector serve: `shared_specific().set_params(grouping=…)`.

    Parameters
    ----------
    n_clusters : int, default=4
    C : float, default=1.0
        Weight of the pairs of documents.
    shrinkage : float, default=1.0
        Price of what is specific to a cluster. A large one makes all clusters have one model, a
        small one leaves each to its own queries.
    h : int, default=10
        How many of each feature's highest values describe a query.
    n_components : float or int, default=0.95
        Share of the variance of these values to keep, or number of components.
    scaling : {"standard"} or None, default=None
        Whether each feature's highest values are divided by their standard deviation: needed
        where features come in different units. The ranker scales its own features.
    min_queries : int, default=1
        Smaller clusters are merged into their nearest.
    random_state : int or None, default=0
        Seed of the clustering.

    References
    ----------
    .. [1] Ni, Huang, Xie. A Query Dependent Approach to Learning to Rank for Information
       Retrieval. WAIM 2008.
    .. [2] Evgeniou, Pontil. Regularized Multi-Task Learning. KDD 2004.

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
