"""Explanations of scores: groups and neighbours, members of an ensemble, features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank._base.arrays import Integers
from localrank.data import RankingDataset
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker
from localrank.rankers._aggregated import Aggregated
from localrank.rankers._inputs import admitted_dataset
from localrank.serving._messages import (
    Contribution,
    DocumentContributions,
    GroupScores,
    ModelScores,
    Neighbour,
    Reasons,
)

N_NEIGHBOURS = 5
# The most documents of a list that are explained, and the most features of each.
N_DOCUMENTS, N_FEATURES = 100, 10


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
    dataset = admitted_dataset(ranker, dataset)
    if isinstance(ranker, LocalRanker):
        result = [_of_groups(ranker, dataset, query) for query in dataset.query_ids]
    elif isinstance(ranker, Aggregated):
        result = _of_members(ranker, dataset)
    else:
        result = [Reasons() for _ in range(dataset.n_queries)]
    shown = shown or [np.arange(n) for n in dataset.query_sizes]
    _add_contributions(result, ranker, dataset, shown)
    return result


def _add_contributions(
    result: list[Reasons], ranker: Ranker, dataset: RankingDataset, shown: Sequence[Integers]
) -> None:
    try:
        explained = ranker.contributions(dataset).centred()
    except ValueError as error:
        for reasons_of_query in result:
            reasons_of_query.no_contributions = str(error)
        return
    columns = np.array(explained.names, dtype=object)
    entries, largest = explained.entries, explained.largest(N_FEATURES)
    for reasons_of_query, first, order in zip(result, dataset.offsets[:-1], shown, strict=True):
        reasons_of_query.base = float(explained.base[first])
        for index in order[:N_DOCUMENTS].tolist():
            row = first + index
            most = largest[row][entries[row, largest[row]] != 0]
            values = entries[row, most]
            pairs = zip(columns[most].tolist(), values.tolist(), strict=True)
            reasons_of_query.contributions.append(
                DocumentContributions(
                    index,
                    [Contribution(feature, value) for feature, value in pairs],
                    float(entries[row].sum() - values.sum()),
                )
            )


def _of_groups(ranker: LocalRanker, dataset: RankingDataset, query: object) -> Reasons:
    explanation = ranker.explain(dataset, query, n_neighbours=N_NEIGHBOURS)
    in_use = [int(group) for group in explanation.weights.nonzero()[0]]
    in_use.sort(key=lambda group: -explanation.weights[group])
    shown = dict.fromkeys([*in_use, *explanation.neighbour_groups.tolist()])
    return Reasons(
        groups=[
            GroupScores(
                group,
                float(explanation.weights[group]),
                int(explanation.group_sizes[group]),
                explanation.group_scores[:, group].tolist(),
            )
            for group in shown
        ],
        neighbours=[
            Neighbour(query if isinstance(query, int | str) else str(query), *values)
            for query, *values in zip(
                explanation.neighbours.tolist(),
                explanation.neighbour_groups.tolist(),
                explanation.distances.tolist(),
                explanation.similarities.tolist(),
                strict=True,
            )
        ],
    )


def _of_members(ranker: Aggregated, dataset: RankingDataset) -> list[Reasons]:
    names = [_name(member) for member in ranker.rankers_]
    scores = [member.predict_rows(dataset) for member in ranker.rankers_]
    return [
        Reasons(
            models=[
                ModelScores(name, values[begin:end].tolist())
                for name, values in zip(names, scores, strict=True)
            ]
        )
        for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True)
    ]


def _name(ranker: Ranker) -> str:
    """The name of a ranker's class, with that of the ranker it wraps in parentheses."""
    name = type(ranker).__name__
    wrapped = getattr(ranker, "ranker", None)
    return name if wrapped is None else f"{name}({_name(wrapped)})"
