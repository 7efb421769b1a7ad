"""A list for each document that was clicked, in which it alone is relevant."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank.clicks.relevance import examination, pairs_of_rows
from localrank.data import RankingDataset
from localrank.data._offsets import offsets_of, rows_of
from localrank.data._sources import locked
from localrank.data.click_log import ClickLog


def click_lists(
    log: ClickLog, features: RankingDataset, bias: Any = None, *, least_examination: float = 0.01
) -> RankingDataset:
    """One list for each clicked document, with all others that its query showed, weighed by clicks.

    A list has the label 1 for the clicked document and 0 for the others. Its weight is the sum of
    the inverse examination of its clicks. `RankSVM` on these lists is the propensity-weighted SVM
    of [1]_: each click asks its document to score above every other one. A listwise ranker on them
    has the softmax loss with inverse propensities.

    Wherever both were measured, `relevance_dataset` ranked better. In these lists, clicks on
    documents without relevance ask for the wrong order, and nothing is shrunk.

    Parameters
    ----------
    log, features, bias
        As for `relevance_dataset`.
    least_examination : float, default=0.01
        Examination below this counts as this.

    Returns
    -------
    RankingDataset
        Rows refer to those of `features`, and are not copied until they are read.

    References
    ----------
    .. [1] Joachims, Swaminathan, Schnabel. Unbiased Learning-to-Rank with Biased Feedback. WSDM
       2017.

    Examples
    --------
    >>> log = ClickLog.from_sessions(["q", "q"], [["a", "b"], ["a", "b"]], [[0], [0, 1]])
    >>> rows = RankingDataset.from_arrays([[1], [2]], qid=["q"] * 2, document_ids=["a", "b"])
    >>> lists = click_lists(log, rows, [1, 0.5])
    >>> lists.labels, lists.document_weights
    (array([1., 0., 0., 1.]), array([2., 2., 2., 2.]))
    """
    pairs = pairs_of_rows(log, features)
    seen = np.maximum(examination(log, bias), least_examination)
    there = pairs >= 0
    shown = there & (np.bincount(log.pairs, minlength=log.n_pairs) > 0)[pairs]
    weights = np.where(there, np.bincount(log.pairs, log.clicks / seen, log.n_pairs)[pairs], 0.0)
    kept = np.flatnonzero(shown)
    sizes = features.count(shown)
    clicked = kept[weights[kept] > 0]
    if not clicked.size:
        raise ValueError("There is nothing to learn: no document with features was clicked.")
    queries = features.query_index[clicked]
    places, offsets = rows_of(offsets_of(sizes), queries)
    rows = kept[places]
    of_lists = np.repeat(np.arange(len(clicked)), np.diff(offsets))
    lists = features.in_memory().view().with_rows(rows, offsets, queries)
    return lists.replaced(
        query_ids=locked(np.arange(len(clicked))),
        relevance=locked((rows == clicked[of_lists]).astype(np.float64)),
        document_weights=locked(weights[clicked][of_lists].round(10)),
    )
