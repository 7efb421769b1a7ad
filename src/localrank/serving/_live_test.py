"""The answer to a request that two models share in a live test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from localrank._base.arrays import Floats
from localrank.clicks.interleaving import team_draft
from localrank.data.feature_logs._values import as_id
from localrank.serving._list_ids import MAX_POSITIONS, ListIds
from localrank.serving._lists import Lists
from localrank.serving._messages import Id, LiveRanking, LiveRankings, Place, Refused
from localrank.serving._models import Loaded
from localrank.serving._ranking import best_first

_encoder = msgspec.json.Encoder()


def live_answer(
    models: Sequence[Loaded],
    lists: Sequence[Lists],
    scores: Sequence[Floats],
    list_ids: ListIds | None,
    *,
    batch: bool,
    top: int | None = None,
) -> bytes:
    """The body of the answer.

    Parameters
    ----------
    models : (Loaded, Loaded)
    lists : (Lists, Lists)
        The lists of the request in the form that each model takes.
    scores : (ndarray, ndarray)
        The scores of all rows by each model.
    list_ids : ListIds or None
        Where ids of lists come from. None: clicks are not accepted.
    batch : bool
    top : int, optional
    """
    rankings = [
        _interleaved(models, lists, scores, number, list_ids, top)
        for number in range(len(lists[0].queries))
    ]
    return _encoder.encode(LiveRankings(rankings) if batch else rankings[0])


def _interleaved(
    models: Sequence[Loaded],
    lists: Sequence[Lists],
    scores: Sequence[Floats],
    number: int,
    list_ids: ListIds | None,
    top: int | None,
) -> LiveRanking:
    """One list of the request, ranked by both models."""
    ids = [each.ids[number] for each in lists]
    query = lists[0].queries[number]
    if list_ids is not None and (query is None or not all(each.named for each in lists)):
        raise Refused(
            422,
            "A live test needs the ids of the query and of all documents: its log would not tell "
            "what was clicked.",
        )
    # Models with indexes of their own may find different documents, which only ids can tell apart.
    keys: list[Sequence[Any]] = [range(len(one)) if ids[0] == ids[1] else one for one in ids]
    if list_ids is not None or ids[0] != ids[1]:
        for one in ids:
            if len(set(map(str, one))) < len(one):
                raise Refused(422, "A live test needs documents with different ids.")
    parts = [
        each[slice(*list(pairwise(given.dataset.offsets.tolist()))[number])]
        for each, given in zip(scores, lists, strict=True)
    ]
    orders = [best_first(part).tolist() for part in parts]
    picked, teams = team_draft(
        *([keys[side][index] for index in orders[side]] for side in (0, 1)), depth=top
    )
    index_of: list[dict[Any, int]] = [
        {key: index for index, key in enumerate(side)} for side in keys
    ]
    ranking = []
    for key, team in zip(picked, teams, strict=True):
        side = 1 if team == 1 or key not in index_of[0] else 0
        index = index_of[side][key]
        ranking.append(Place(ids[side][index], index, float(parts[side][index])))
    name = ":".join(model.name for model in models)
    issued = None
    if list_ids is not None and ranking:
        assert query is not None
        shown: list[Id] = [place.id for place in ranking[:MAX_POSITIONS]]
        # The log is read by rules that a request need not keep, such as that no id is empty.
        try:
            as_id(query, "The query")
            for document in shown:
                as_id(document, "A document")
        except ValueError as error:
            raise Refused(422, f"The log of a live test cannot have these ids. {error}") from None
        issued = list_ids.issue(query, shown, teams[:MAX_POSITIONS], name)
    return LiveRanking(
        name,
        ":".join(model.version for model in models),
        query,
        len(np.union1d(*(np.array(list(map(str, one))) for one in ids))),
        ranking,
        list=issued,
        teams=teams,
    )
