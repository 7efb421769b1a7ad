"""Explanations of scores: groups and neighbours, members of an ensemble, features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank._base.arrays import Integers
from localrank.data import RankingDataset
from localrank.explanation import LocalExplanation
from localrank.rankers import Ranker
from localrank.rankers._contributions import Contributions
from localrank.rankers._explanation import Explanation, NearDocuments
from localrank.rankers._inputs import admitted_to
from localrank.serving._messages import (
    Contribution,
    DocumentContributions,
    DocumentNeighbours,
    GroupScores,
    ModelScores,
    NearDocument,
    Neighbour,
    Reasons,
)

# The most documents of a list that are explained, and the most features of each.
N_DOCUMENTS, N_FEATURES = 100, 10
# The most neighbours of a document.
N_NEAR = 10


def reasons(
    ranker: Ranker, dataset: RankingDataset, shown: Sequence[Integers] | None = None
) -> list[Reasons]:
    """The explanation of the scores of each query.

    Parameters
    ----------
    ranker : Ranker
    dataset : RankingDataset
        The lists of a request, rows in the order of the request.
    shown : sequence of ndarray, optional
        The documents of each query in the order in which they are shown. None: all, in the order
        of the dataset.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(60)
    >>> ranker = local_rank(3).fit(dataset)
    >>> [group.weight for group in reasons(ranker, dataset.select([7]))[0].groups][0]
    1.0
    """
    dataset = admitted_to(ranker, dataset, None)
    shown = shown or [np.arange(n) for n in dataset.query_sizes]
    return [
        _told(ranker.explain(dataset, query), order)
        for query, order in zip(dataset.query_ids, shown, strict=True)
    ]


def _told(explanation: Explanation, order: Integers) -> Reasons:
    result = Reasons(no_contributions=explanation.no_contributions)
    if isinstance(explanation, LocalExplanation):
        result.groups, result.neighbours = _groups(explanation), _neighbours(explanation)
    result.models = [
        ModelScores(name, scores.tolist())
        for name, scores in zip(explanation.members, explanation.member_scores.T, strict=True)
    ]
    if explanation.contributions is not None:
        result.base = float(explanation.contributions.base[0])
        result.contributions = _contributions(explanation.contributions, order)
    if (near := explanation.near_documents) is not None:
        result.moved = near.moved
        result.near_documents = [_near(near, row) for row in order[:N_DOCUMENTS].tolist()]
    return result


def _near(near: NearDocuments, row: int) -> DocumentNeighbours:
    listed = near.of(row)
    others = float(near.others[row]) + sum(move for *_, move in listed[N_NEAR:])
    return DocumentNeighbours(row, [NearDocument(*each) for each in listed[:N_NEAR]], others)


def _contributions(explained: Contributions, order: Integers) -> list[DocumentContributions]:
    columns = np.array(explained.names, dtype=object)
    entries, largest = explained.entries, explained.largest(N_FEATURES)
    result = []
    for row in order[:N_DOCUMENTS].tolist():
        most = largest[row][entries[row, largest[row]] != 0]
        values = entries[row, most]
        pairs = zip(columns[most].tolist(), values.tolist(), strict=True)
        result.append(
            DocumentContributions(
                row,
                [Contribution(feature, value) for feature, value in pairs],
                float(entries[row].sum() - values.sum()),
            )
        )
    return result


def _groups(explanation: LocalExplanation) -> list[GroupScores]:
    in_use = [int(group) for group in explanation.weights.nonzero()[0]]
    in_use.sort(key=lambda group: -explanation.weights[group])
    shown = dict.fromkeys([*in_use, *explanation.neighbour_groups.tolist()])
    return [
        GroupScores(
            group,
            float(explanation.weights[group]),
            int(explanation.group_sizes[group]),
            explanation.group_scores[:, group].tolist(),
        )
        for group in shown
    ]


def _neighbours(explanation: LocalExplanation) -> list[Neighbour]:
    return [
        Neighbour(query if isinstance(query, int | str) else str(query), *values)
        for query, *values in zip(
            explanation.neighbours.tolist(),
            explanation.neighbour_groups.tolist(),
            explanation.distances.tolist(),
            explanation.similarities.tolist(),
            strict=True,
        )
    ]
