"""The papers' combinations of parts, each as a function that returns a `LocalRanker`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from localrank.declaration import declare
from localrank.grouping import (
    Agglomerative,
    Neighbourhoods,
    Refined,
    bisecting_kmeans,
    kmeans,
    ward,
)
from localrank.local_ranker import LocalRanker
from localrank.rankers import LambdaMART, Ranker, RankSVM, SVMMap
from localrank.recipes.scaling import Scaling, scaled, wrong
from localrank.representations import (
    PrincipalComponents,
    RelevantMean,
    TopDocuments,
    TopScores,
)
from localrank.selection import Classifier, NearestCentroid, NearestQuery
from localrank.selection.query_search import Index


@declare(
    "local-rank",
    "clusters of queries by the principal components of their documents",
    kind="local",
    grid={"grouping__n_clusters": [1, 2, 4, 8], "ranker__C": [0.01, 0.1, 1.0, 10.0]},
    sample={"n_clusters": 3},
)
def local_rank(
    n_clusters: int = 4,
    *,
    ranker: Ranker | None = None,
    n_components: float = 0.8,
    scaling: Scaling = None,
    index: Index = "auto",
    min_queries: int = 1,
    n_jobs: int | None = None,
) -> LocalRanker:
    """LocalRank: clusters of queries by the shape of their clouds of documents [1]_.

    Training queries are clustered by complete link on 1 - the similarity of their principal
    components, and a query is ranked by the model of the cluster that its most similar training
    query belongs to. Of more than 5,000 training queries a sample is clustered, and the others
    are sent to its clusters: see `Agglomerative`.

    Parameters
    ----------
    n_clusters : int, default=4
        With 1, the ranker alone.
    ranker : Ranker, optional
        SVMMap() by default.
    n_components : float or int, default=0.8
        Share of a cloud's variance that the components reach on average, or their number.
    scaling : {"standard"} or None, default=None
        Whether features are divided by their spread within queries before queries are described:
        needed where they come in different units. The ranker scales its own features.
    index : {"auto", "exact", "lsh", "cells"}, LSH or Cells, default="auto"
        How the most similar training query is found, as in `NearestQuery`.
    min_queries : int, default=1
        Smaller clusters are merged into their nearest.
    n_jobs : int or None, default=None
        Clusters trained at the same time; -1 for all cores.

    References
    ----------
    .. [1] Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> ranker = local_rank(3).fit(dataset)
    >>> ranker.groups_.sizes.sum()
    np.int64(60)
    """
    return LocalRanker(
        scaled(PrincipalComponents(n_components), scaling),
        Agglomerative(n_clusters),
        SVMMap() if ranker is None else ranker,
        NearestQuery(index),
        min_queries=min_queries,
        n_jobs=n_jobs,
    )


@declare(
    "adaptive-training",
    "clusters refined by how well each cluster's model ranks each query",
    kind="local",
    grid={"grouping__grouping__n_clusters": [1, 2, 5]},
    sample={"n_clusters": 2, "ranker": "rank-svm"},
)
def adaptive_training(
    n_clusters: int = 5,
    *,
    ranker: Ranker | None = None,
    grouping: Any = "kmeans",
    rounds: int = 3,
    select: Literal["selective", "fusion"] = "selective",
    n_documents: int = 10,
    feature: int | str = "best",
    n_folds: int | None = None,
    scaling: Scaling = None,
    min_queries: int = 1,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> LocalRanker:
    """Clusters refined by how well each cluster's model ranks each query [1]_ [2]_.

    Training queries are first clustered by the mean of their relevant documents, then twice more
    by their performance profiles, the values of eight measures under each cluster's model. A
    new query is the mean of its top documents under the best feature, from which logistic
    regression predicts the cluster.

    Parameters
    ----------
    n_clusters : int, default=5
        With 1, the ranker alone.
    ranker : Ranker, optional
        LambdaMART(500) by default.
    grouping : {"kmeans", "ward"}, Grouping or clusterer, default="kmeans"
        A name, of `n_clusters` clusters, or any grouping, which says itself how many.
    rounds : int, default=3
        Clusterings in all; with 1 nothing is refined.
    select : {"selective", "fusion"}, default="selective"
        Whether the most probable cluster's model ranks the query, or the models' scores are
        added up, each times the probability of its cluster.
    n_documents : int, default=10
        Top documents that describe a new query.
    feature : int, str or "best", default="best"
        The feature they are on top by: a column, a name, or the one that ranks the training
        queries best.
    n_folds : int or None, default=None
        None is the papers' way: profiles by models that have learned from the query as well. A
        number makes profiles by models that have not, at so many times the cost.
    scaling : {"standard"} or None, default=None
        Whether features are divided by their spread within queries before queries are described:
        needed where they come in different units.
    min_queries : int, default=1
        Smaller clusters are merged into their nearest.
    n_jobs : int or None, default=None
        Clusters trained at the same time; -1 for all cores.
    random_state : int or None, default=0
        Seed of the clustering, and of the default ranker.

    References
    ----------
    .. [1] Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.
    .. [2] Cremers, Kaur, Koesomo. Adaptive Training With K-Means and Hierarchical Clustering.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(120)
    >>> ranker = adaptive_training(3, ranker=RankSVM()).fit(dataset)
    >>> ranker.n_groups_, len(ranker.groups_.n_changed)
    (3, 2)
    """
    clusterers = {"kmeans": kmeans(n_clusters, random_state=random_state), "ward": ward(n_clusters)}
    if isinstance(grouping, str) and grouping not in clusterers:
        raise wrong("grouping", grouping, "'kmeans', 'ward' or a grouping")
    if select not in ("selective", "fusion"):
        raise wrong("select", select, "'selective' or 'fusion'")
    top = scaled(TopDocuments(n_documents, feature=feature), scaling)
    return LocalRanker(
        scaled(RelevantMean(), scaling),
        Refined(
            clusterers[grouping] if isinstance(grouping, str) else grouping,
            rounds=rounds,
            n_folds=n_folds,
            random_state=random_state,
        ),
        LambdaMART(500, random_state=random_state) if ranker is None else ranker,
        Classifier(hard=select == "selective", representation=top),
        min_queries=min_queries,
        n_jobs=n_jobs,
    )


@declare(
    "pca-queries",
    "clusters of queries by their highest feature values",
    kind="local",
    grid={"grouping__n_clusters": [1, 2, 4, 8], "ranker__C": [0.01, 0.1, 1.0, 10.0]},
    sample={"n_clusters": 3},
)
def pca_queries(
    n_clusters: int = 4,
    *,
    ranker: Ranker | None = None,
    h: int = 10,
    n_components: float = 0.95,
    scaling: Scaling = None,
    min_queries: int = 1,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> LocalRanker:
    """Clusters of queries by the principal components of their highest feature values [1]_.

    Training queries are clustered by bisecting k-means, and a query is ranked by the model of
    the cluster with the nearest centre.

    Parameters
    ----------
    n_clusters : int, default=4
        With 1, the ranker alone.
    ranker : Ranker, optional
        RankSVM() by default.
    h : int, default=10
        How many of each feature's highest values describe a query.
    n_components : float or int, default=0.95
        Share of the variance of these values to keep, or number of components.
    scaling : {"standard"} or None, default=None
        Whether each feature's highest values are divided by their standard deviation: needed
        where features come in different units. The ranker scales its own features.
    min_queries : int, default=1
        Smaller clusters are merged into their nearest.
    n_jobs : int or None, default=None
        Clusters trained at the same time; -1 for all cores.
    random_state : int or None, default=0
        Seed of the clustering.

    References
    ----------
    .. [1] Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> pca_queries(3).fit(dataset).n_groups_
    3
    """
    return LocalRanker(
        TopScores(h, n_components=n_components, scaling=scaling),
        bisecting_kmeans(n_clusters, random_state=random_state),
        RankSVM() if ranker is None else ranker,
        NearestCentroid(),
        min_queries=min_queries,
        n_jobs=n_jobs,
    )


@declare(
    "query-neighbours",
    "a model for each training query and its neighbours",
    kind="local",
    grid={"grouping__n_neighbours": [25, 100]},
    sample={"n_neighbours": 15},
)
def query_neighbours(
    n_neighbours: int = 50,
    *,
    ranker: Ranker | None = None,
    n_documents: int = 10,
    feature: int | str = "best",
    columns: Sequence[int] | Sequence[str] | None = None,
    scaling: Scaling = None,
    n_jobs: int | None = None,
) -> LocalRanker:
    """One model for each training query and its neighbours [1]_.

    A query is the mean of its top documents under a reference feature, and is ranked by the
    model of its nearest training query. As many models are trained as there are queries, up to
    2,000: of more training queries a sample of 2,000 has models, see `Neighbourhoods`.

    Parameters
    ----------
    n_neighbours : int, default=50
        Queries that a training query's model learns from beside itself; with all of them, the
        ranker alone.
    ranker : Ranker, optional
        RankSVM() by default.
    n_documents : int, default=10
        Top documents that describe a query.
    feature : int, str or "best", default="best"
        The reference feature, by column or name (BM25 in the paper), or the one that ranks the
        training queries best.
    columns : sequence of int or str, optional
        The features that describe a query, all by default.
    scaling : {"standard"} or None, default=None
        Whether features are divided by their spread within queries before queries are described:
        needed where they come in different units. The ranker scales its own features.
    n_jobs : int or None, default=None
        Models trained at the same time; -1 for all cores.

    References
    ----------
    .. [1] Geng, Liu, Qin, Arnold, Li, Shum. Query Dependent Ranking Using K-Nearest Neighbor.
       SIGIR 2008.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> len(query_neighbours(10).fit(dataset).models_)
    60
    """
    return LocalRanker(
        scaled(TopDocuments(n_documents, feature=feature, columns=columns), scaling),
        Neighbourhoods(n_neighbours),
        RankSVM() if ranker is None else ranker,
        NearestQuery(),
        n_jobs=n_jobs,
    )
