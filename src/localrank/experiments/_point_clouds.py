"""Figure 1 of LocalRank's paper: three made-up queries, and the distances between them."""

from __future__ import annotations

import numpy as np

from localrank.data import RankingDataset
from localrank.experiments._base import Reproduction
from localrank.experiments._published import published_cells
from localrank.measures import AveragePrecision
from localrank.rankers import SVMMap
from localrank.representations import Gaussian, Mean, PrincipalComponents, Representation

N_RELEVANT, N_IRRELEVANT = 50, 150
# How far the relevant documents are ahead, and how far q2's mean is from q1's.
AHEAD, SHIFT = 2.0, 95.0
SPREADS = (1.0, 0.8, 0.4)


def point_clouds(random_state: int | None = 0) -> RankingDataset:
    """Three queries: q2 has the shape of q1 around another mean, q3 its mean and another shape.

    Documents are Gaussian, the relevant ones ahead along the widest direction. The paper's numbers
    fit these clouds; the sentence before its numbers says the reverse.

    Examples
    --------
    >>> point_clouds().query_ids
    array(['q1', 'q2', 'q3'], dtype='<U2')
    """
    rng = np.random.default_rng(random_state)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    n = N_RELEVANT + N_IRRELEVANT
    labels = np.repeat([1.0, 0.0], [N_RELEVANT, N_IRRELEVANT])
    ahead = AHEAD * (labels - N_RELEVANT / n)
    clouds = []
    for mean, axes in ((0.0, turn), (SHIFT * turn[2], turn), (0.0, turn[[1, 0, 2]])):
        cloud = rng.normal(size=(n, 3)) * SPREADS
        cloud[:, 0] += ahead
        clouds.append(mean + cloud @ axes)
    names = np.repeat(["q1", "q2", "q3"], n)
    return RankingDataset.from_arrays(np.concatenate(clouds), np.tile(labels, 3), names)


def figure_1(reproduction: Reproduction, random_state: int | None) -> None:
    """Add the figure, which is a table, and whether the distances order the queries like MAP."""
    queries = point_clouds(random_state)
    model = SVMMap().fit(queries.select([0]))
    precision = AveragePrecision()(queries, model.predict(queries))
    columns = {"map": precision[1:]}
    distances: dict[str, Representation] = {
        "principal components": PrincipalComponents(),
        "symmetric KL": Gaussian("kl"),
        "Bhattacharyya": Gaussian("bhattacharyya"),
        "KNN": Mean(),
    }
    for name, representation in distances.items():
        described = representation.fit(queries).transform(queries)
        columns[name] = representation.distances(described[:1], described[1:])[0]
    reproduction.compare(
        "Figure 1: a model of q1 on other queries, and their distances from q1",
        ["query", "value"],
        {(q, k): float(v[i]) for k, v in columns.items() for i, q in enumerate(("q2", "q3"))},
        published_cells(reproduction.experiment, "figure-1", "synthetic"),
        "Made-up queries: q2 has the shape of q1 around another mean, q3 its mean and another "
        "shape. The paper does not give its clouds; only the order of q2 and q3 can agree.",
    )
    q2, q3 = columns["principal components"]
    nearer = [name for name in distances if columns[name][0] < columns[name][1]]
    reproduction.claim(
        "of two queries, the one that a model of q1 ranks better is nearer to q1 by principal "
        "components, and farther by the other distances",
        bool(precision[1] > precision[2]) and nearer == ["principal components"],
        f"MAP {precision[1]:.3f} and {precision[2]:.3f}, distances {q2:.3f} and {q3:.3f}",
    )
