"""Clicks of made-up people on lists of real queries, to see what a method makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.rules import Rule, number, whole
from localrank._kernels.sorting import argsort_descending
from localrank.clicks.behaviour import Behaviour
from localrank.data import RankingDataset
from localrank.data._offsets import offsets_of
from localrank.data.click_log import ClickLog
from localrank.measures._ties import checked_scores
from localrank.rankers.base import Ranker

Ranking: TypeAlias = Ranker | ArrayLike

# Sessions that are drawn at a time: what one takes stays in the processor's cache.
_AT_A_TIME = 2**14


def simulate_clicks(
    dataset: RankingDataset,
    ranker: Ranking | Mapping[str, Ranking],
    behaviour: Behaviour | Mapping[str, Behaviour],
    *,
    n_sessions: int,
    depth: int = 10,
    shuffle: float = 0.0,
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
) -> ClickLog:
    """Draw sessions: a query at random, its list, and clicks by a behaviour.

    The relevance of a document with label y is r = (2^y - 1) / (2^m - 1), where m is the largest
    label of the dataset. Labels below 0 count as 0.

    Parameters
    ----------
    dataset : RankingDataset
        Queries with labels. The log has its ids of queries and documents. Documents without ids
        get the number of their row in the input.
    ranker : Ranker, scores, or mapping of names to them
        Who made the lists: a fitted ranker, or a score for each document in input order. With
        several by name, each session has the list of one of them, at random with equal chance.
    behaviour : Behaviour, or mapping of names to behaviours
        How people click. With several by name, each session belongs to a group of that name.
    n_sessions : int
    depth : int, default=10
        At most this many documents in a list.
    shuffle : float, default=0.0
        Standard deviation of noise on the ranks, in positions. 0: each ranker always shows a query
        the same list. Documents must be shown at several positions to learn how much is seen:
        `shuffle=1` or several rankers do that.
    groups : array-like of str of shape (n_queries,), optional
        The group of each query, in the order of `dataset.query_ids`. None: if there are several
        behaviours, each session's group is drawn with equal chance, whatever the query is.
    random_state : int or None, default=0
        Seed. None: new sessions at each call.

    Returns
    -------
    ClickLog
        With `rankers` and `groups` where there are several by name.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50)
    >>> scores = dataset.features[:, -1]
    >>> simulate_clicks(dataset, scores, PositionBehaviour(eta=1), n_sessions=1000, shuffle=1)
    ClickLog: 1,000 sessions, 50 queries, 589 documents of queries, 10,000 impressions, 565 clicks
    """
    for name, value, rule in (
        ("n_sessions", n_sessions, whole(1)),
        ("depth", depth, whole(1)),
        ("shuffle", shuffle, number(least=0)),
    ):
        _check(name, value, rule)
    relevance = _relevance_of(dataset)
    rankers: Mapping[str, Ranking] = ranker if isinstance(ranker, Mapping) else {"": ranker}
    behaviours = behaviour if isinstance(behaviour, Mapping) else {"": behaviour}
    _check_named(rankers, behaviours)
    rankings = np.stack([_ranking(dataset, one) for one in rankers.values()])
    group_names = tuple(behaviours)
    of_queries = None if groups is None else _codes(groups, group_names, dataset)

    rng = np.random.default_rng(random_state)
    queries = rng.integers(dataset.n_queries, size=n_sessions)
    made_by = rng.integers(len(rankers), size=n_sessions)
    if of_queries is None:
        session_groups = rng.integers(len(behaviours), size=n_sessions)
    else:
        session_groups = of_queries[queries]

    offsets = offsets_of(np.minimum(dataset.query_sizes, depth)[queries])
    rows = np.empty(offsets[-1], np.int64)
    clicks = np.empty(offsets[-1], np.bool_)
    for begin in range(0, n_sessions, _AT_A_TIME):
        some = slice(begin, min(begin + _AT_A_TIME, n_sessions))
        lists, there = _lists(dataset, rankings, queries[some], made_by[some], depth, shuffle, rng)
        clicked = np.zeros(lists.shape, np.bool_)
        for place, one in enumerate(behaviours.values()):
            members = session_groups[some] == place
            clicked[members] = one.clicks(relevance[lists[members]], rng)
        written = slice(offsets[some.start], offsets[some.stop])
        rows[written], clicks[written] = lists[there], clicked[there]
    return _log(
        dataset, queries, offsets, rows, clicks,
        rankers=made_by if isinstance(ranker, Mapping) else None,
        ranker_names=tuple(rankers) if isinstance(ranker, Mapping) else (),
        groups=session_groups if isinstance(behaviour, Mapping) else None,
        group_names=group_names if isinstance(behaviour, Mapping) else (),
    )  # fmt: skip


def _check(name: str, value: object, rule: Rule) -> None:
    if not rule.holds(value, {}):
        raise ValueError(
            f"The '{name}' argument of simulate_clicks must be {rule.words}. Got {value!r} instead."
        )


def _check_named(rankers: Mapping[str, Ranking], behaviours: Mapping[str, Behaviour]) -> None:
    if not rankers:
        raise ValueError("The 'ranker' argument of simulate_clicks has no ranker. One is needed.")
    if not behaviours:
        raise ValueError("The 'behaviour' argument of simulate_clicks is empty. One is needed.")
    for one in behaviours.values():
        if not isinstance(one, Behaviour):
            raise ValueError(
                f"The 'behaviour' argument of simulate_clicks must be a Behaviour, such as "
                f"PositionBehaviour(). Got {one!r} instead."
            )


def _relevance_of(dataset: RankingDataset) -> Floats:
    """The relevance of each row."""
    if dataset.relevance is None:
        raise ValueError("Clicks are drawn from labels. The dataset has none.")
    labels = np.maximum(dataset.relevance, 0)
    if not (most := labels.max()) > 0:
        raise ValueError("Clicks are drawn from labels. No document has a label above 0.")
    # (2^y - 1) / (2^m - 1), which does not overflow in this form.
    relevance: Floats = np.exp2(labels - most) * (1 - np.exp2(-labels)) / (1 - np.exp2(-most))
    return relevance


def _ranking(dataset: RankingDataset, ranker: Ranking) -> Integers:
    """The rows, each query's best first."""
    scores = ranker.predict(dataset) if isinstance(ranker, Ranker) else ranker
    return argsort_descending(checked_scores(dataset, scores), dataset.offsets)


def _codes(groups: ArrayLike, names: tuple[str, ...], dataset: RankingDataset) -> Integers:
    if names == ("",):
        raise ValueError(
            "The 'groups' argument of simulate_clicks needs a mapping of groups to behaviours. "
            "Got one behaviour."
        )
    given = np.asarray(groups)
    if given.shape != (dataset.n_queries,):
        raise ValueError(
            f"The 'groups' argument of simulate_clicks must have one name per query: "
            f"{dataset.n_queries:,}. Got shape {given.shape} instead."
        )
    of_queries = np.full(len(given), -1)
    for code, name in enumerate(names):
        of_queries[given == name] = code
    if (unknown := np.flatnonzero(of_queries < 0)).size:
        raise ValueError(
            f"The group of query {dataset.query_ids[unknown[0]]} is {str(given[unknown[0]])!r}. "
            f"'behaviour' has {', '.join(map(repr, names))}."
        )
    return of_queries


def _lists(
    dataset: RankingDataset,
    rankings: Integers,
    queries: Integers,
    made_by: Integers,
    depth: int,
    shuffle: float,
    rng: np.random.Generator,
) -> tuple[Integers, Flags]:
    """The rows that each session shows, a line per session, and which places of lines are used."""
    sizes = dataset.query_sizes[queries]
    # Noise hardly ever lifts a document by more than six standard deviations.
    width = min(depth + ceil(6 * shuffle), int(dataset.query_sizes.max()))
    places = np.arange(width)
    if shuffle:
        ranks = places + shuffle * rng.standard_normal((len(queries), width))
        ranks[places >= sizes[:, None]] = np.inf
        places = np.argsort(ranks, axis=1)[:, :depth]
    else:
        places = np.broadcast_to(places[:depth], (len(queries), min(depth, width)))
    there: Flags = np.arange(min(depth, width)) < sizes[:, None]
    ranked = np.where(there, dataset.offsets[queries][:, None] + places, 0)
    return rankings[made_by[:, None], ranked], there


def _log(
    dataset: RankingDataset,
    queries: Integers,
    offsets: Integers,
    rows: Integers,
    clicks: Flags,
    **named: Array | tuple[str, ...] | None,
) -> ClickLog:
    """A log of the queries and documents that were shown."""
    shown = np.zeros(dataset.n_documents, np.bool_)
    shown[rows] = True
    asked = np.zeros(dataset.n_queries, np.bool_)
    asked[queries] = True
    ids = dataset.document_ids
    if ids is None:
        order = dataset.input_order
        ids = np.arange(dataset.n_documents) if order is None else order
        ids = ids.astype(np.str_)
    return ClickLog(
        dataset.query_ids[asked],
        ids[shown],
        offsets_of(dataset.count(shown)[asked]),
        (np.cumsum(asked) - 1)[queries],
        offsets,
        (np.cumsum(shown) - 1)[rows],
        clicks,
        **named,  # type: ignore[arg-type]
    )
