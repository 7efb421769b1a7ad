"""The recipe for lists of several retrievers."""

from __future__ import annotations

from localrank.fusion import Hybrid
from localrank.measures import Measure
from localrank.recipes.two_views import best
from localrank.registry import declare


@declare(
    "hybrid",
    "lists fused by weights from judged queries: average, tuned, neighbours, best",
    kind="local",
    sample={"n_trees": 15, "min_leaf_documents": 5, "n_folds": 2},
)
def hybrid(
    *,
    measure: str | Measure = "ndcg@10",
    n_folds: int = 3,
    n_neighbours: int = 10,
    n_trees: int = 300,
    min_leaf_documents: int = 50,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Hybrid:
    """Hybrid search: the lists of several retrievers, fused as the judged queries allow.

    With fewer than five judged queries, it ranks by the average of z-scores. With five or more, it
    mixes up to four rankings: the average, a sum with tuned weights, the mean score of a document's
    neighbours (if there are vectors), and `best` on all columns. Cross-validation on the judged
    queries weighs them: see `Hybrid`. Its attribute `choice_` gives the weights in words.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        The measure that tuning maximises. Together with average precision, it weighs the members.
    n_folds : int, default=3
        Folds of the cross-validation. `best` is trained once for each fold, and once on all
        queries.
    n_neighbours : int, default=10
        Number of nearest documents that are a document's neighbours.
    n_trees : int, default=300
        Trees of `best`.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    n_jobs : int or None, default=None
        Models of `best` trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of `best`.

    Examples
    --------
    >>> from localrank.fusion import lists_dataset
    >>> lists = {"bm25": {"q": {"a": 9.0, "b": 7.0}}, "dense": {"q": {"b": 0.8, "c": 0.7}}}
    >>> ranker = hybrid().fit(lists_dataset(lists))
    >>> print(ranker.choice_)
    The average of z-scores: at least 5 judged queries are needed to learn anything. Got 0.
    >>> ranker.predict(lists_dataset(lists))
    array([ 0.,  0., -1.])
    """
    learned = best(
        n_trees,
        min_leaf_documents=min_leaf_documents,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    return Hybrid(learned, measure=measure, n_folds=n_folds, n_neighbours=n_neighbours)
