"""The papers' combinations of parts, each as a function that returns a `LocalRanker`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

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
from localrank.recipes._arguments import Scaling, scaled, wrong
from localrank.registry import declare
from localrank.representations import PrincipalComponents, RelevantMean, TopDocuments, TopScores
from localrank.selection import AllGroups, Classifier, NearestCentroid, NearestQuery
from localrank.selection._query_search import Index


@declare(
    "local-rank",
    "one model per cluster of queries, by the principal components of their documents",
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
    """LocalRank: splits queries by the shape of their clouds of documents [1].

    Training queries are clustered by complete link. The distance of two queries is 1 minus the
    similarity of their principal components. A new query is ranked by one model: that of the
    cluster of its most similar training query. With more than 5,000 training queries a sample is
    clustered, and the other queries join its clusters: see `Agglomerative`.

    Parameters
    ----------
    n_clusters : int, default=4
        Number of clusters. With 1, the ranker alone.
    ranker : Ranker, optional
        The ranker to train on each cluster. None: SVMMap().
    n_components : float or int, default=0.8
        Share of a cloud's variance that the components reach on average (float), or number of
        components (int).
    scaling : {"standard"} or None, default=None
        Scaling of features before queries are described. "standard": divide each feature by its
        spread within queries, as features in different units need. None: no scaling. The ranker
        scales its features itself either way.
    index : {"auto", "exact", "lsh", "cells"}, LSH or Cells, default="auto"
        How to find the most similar training query, as in `NearestQuery`.
    min_queries : int, default=1
        Queries that a cluster needs. A smaller one is merged into its nearest cluster.
    n_jobs : int or None, default=None
        Clusters trained at the same time. None: one. -1: one per core.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
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
    "one model per cluster of queries, refined by how well each model ranks each query",
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
    select: Literal["selective", "fusion", "equal"] = "selective",
    classifier: Any = "softmax",
    n_documents: int = 10,
    feature: int | str = "best",
    n_folds: int | None = None,
    scaling: Scaling = None,
    min_queries: int = 1,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> LocalRanker:
    """Adaptive training: splits queries by which model ranks them well [1, 2].

    Training queries are first clustered by the mean of their relevant documents. They are then
    clustered twice more by their performance profiles: the values of eight measures under each
    cluster's model. A new query is described by the mean of its top documents under the best
    feature. A classifier predicts its cluster from that.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of clusters. With 1, the ranker alone.
    ranker : Ranker, optional
        The ranker to train on each cluster. None: LambdaMART(500).
    grouping : {"kmeans", "ward"}, Grouping or clusterer, default="kmeans"
        How to cluster. A name makes `n_clusters` clusters; a grouping has its own number.
    rounds : int, default=3
        Number of clusterings in all. With 1 nothing is refined.
    select : {"selective", "fusion", "equal"}, default="selective"
        "selective": the most probable cluster's model ranks the query. "fusion": each model's score
        is weighted by the probability of its cluster. "equal": all models count the same, by
        standardised scores, and nothing is predicted; see `AllGroups`.
    classifier : str or classifier of scikit-learn, default="softmax"
        What predicts the cluster: "one-vs-rest" (that of [2]), "softmax", "standardised-softmax",
        "random-forest", "gradient-boosting" or a classifier of scikit-learn, as in `Classifier`. Of
        these, the default has the smallest log loss on queries of three collections that a
        classifier has not seen. Features in different units need `scaling="standard"`.
    n_documents : int, default=10
        Number of top documents that describe a new query.
    feature : int, str or "best", default="best"
        The feature that ranks the top documents, by column or name. "best": the one that ranks
        the training queries best.
    n_folds : int or None, default=None
        Number of folds for the profiles. None: the papers' way, in which a query's profile comes
        from models that have also learned from it. A number: profiles come from models that have
        not learned from the query. Training then costs that many times as much.
    scaling : {"standard"} or None, default=None
        Scaling of features before queries are described. "standard": divide each feature by its
        spread within queries, as features in different units need. None: no scaling.
    min_queries : int, default=1
        Queries that a cluster needs. A smaller one is merged into its nearest cluster.
    n_jobs : int or None, default=None
        Clusters trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the clustering, and of the default ranker.

    References
    ----------
    1. Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.
    2. Cremers, Kaur, Koesomo. Adaptive Training With K-Means and Hierarchical Clustering.

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
    if select not in ("selective", "fusion", "equal"):
        raise wrong("select", select, "'selective', 'fusion' or 'equal'")
    top = scaled(TopDocuments(n_documents, feature=feature), scaling)
    chooser = Classifier(classifier, hard=select == "selective", representation=top)
    return LocalRanker(
        scaled(RelevantMean(), scaling),
        Refined(
            clusterers[grouping] if isinstance(grouping, str) else grouping,
            rounds=rounds,
            n_folds=n_folds,
            random_state=random_state,
        ),
        LambdaMART(500, random_state=random_state) if ranker is None else ranker,
        AllGroups(representation=top) if select == "equal" else chooser,
        min_queries=min_queries,
        n_jobs=n_jobs,
    )


@declare(
    "pca-queries",
    "one model per cluster of queries, by their highest feature values",
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
    """Splits queries by the principal components of their highest feature values [1].

    Training queries are clustered by bisecting k-means. A new query is ranked by the model of
    the cluster with the nearest centre.

    Parameters
    ----------
    n_clusters : int, default=4
        Number of clusters. With 1, the ranker alone.
    ranker : Ranker, optional
        The ranker to train on each cluster. None: RankSVM().
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
    n_jobs : int or None, default=None
        Clusters trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the clustering.

    References
    ----------
    1. Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation.

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
    "one model per training query and its neighbours",
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
    """Splits into neighbourhoods: one model per training query and its nearest queries [1].

    A query is described by the mean of its top documents under a reference feature. The model of
    its nearest training query ranks it. Each training query gets a model, up to 2,000. With more
    training queries a sample of 2,000 gets models: see `Neighbourhoods`.

    Parameters
    ----------
    n_neighbours : int, default=50
        Number of neighbours that a training query's model learns from, besides the query itself.
        With all training queries as neighbours, the ranker alone.
    ranker : Ranker, optional
        The ranker to train on each neighbourhood. None: RankSVM().
    n_documents : int, default=10
        Number of top documents that describe a query.
    feature : int, str or "best", default="best"
        The reference feature, by column or name (BM25 in the paper). "best": the one that ranks
        the training queries best.
    columns : sequence of int or str, optional
        The features that describe a query. None: all of them.
    scaling : {"standard"} or None, default=None
        Scaling of features before queries are described. "standard": divide each feature by its
        spread within queries, as features in different units need. None: no scaling. The ranker
        scales its features itself either way.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.

    References
    ----------
    1. Geng, Liu, Qin, Arnold, Li, Shum. Query Dependent Ranking Using K-Nearest Neighbor.
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
