"""How scores come about: groups and neighbours of a local model, members of an ensemble."""

from __future__ import annotations

from localrank.data import RankingDataset
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker
from localrank.rankers.aggregated import Aggregated
from localrank.serving.messages import GroupScores, ModelScores, Neighbour, Reasons

N_NEIGHBOURS = 5


def reasons(ranker: Ranker, dataset: RankingDataset) -> list[Reasons]:
    """For each query of a dataset.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(60)
    >>> ranker = local_rank(3).fit(dataset)
    >>> [group.weight for group in reasons(ranker, dataset.select([7]))[0].groups][0]
    1.0
    """
    if isinstance(ranker, LocalRanker):
        return [_of_groups(ranker, dataset, query) for query in dataset.query_ids]
    if isinstance(ranker, Aggregated):
        return _of_members(ranker, dataset)
    return [Reasons() for _ in range(dataset.n_queries)]


def _of_groups(ranker: LocalRanker, dataset: RankingDataset, query: object) -> Reasons:
    found = ranker.explain(dataset, query, n_neighbours=N_NEIGHBOURS)
    in_use = [int(group) for group in found.weights.nonzero()[0]]
    in_use.sort(key=lambda group: -found.weights[group])
    shown = dict.fromkeys([*in_use, *found.neighbour_groups.tolist()])
    return Reasons(
        groups=[
            GroupScores(
                group,
                float(found.weights[group]),
                int(found.group_sizes[group]),
                found.group_scores[:, group].tolist(),
            )
            for group in shown
        ],
        neighbours=[
            Neighbour(query if isinstance(query, int | str) else str(query), *values)
            for query, *values in zip(
                found.neighbours.tolist(),
                found.neighbour_groups.tolist(),
                found.distances.tolist(),
                found.similarities.tolist(),
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
    """The class of a ranker, and of the one it wraps."""
    name = type(ranker).__name__
    wrapped = getattr(ranker, "ranker", None)
    return name if wrapped is None else f"{name}({_name(wrapped)})"
