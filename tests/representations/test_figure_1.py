"""The synthetic experiment of the LocalRank paper, section 2.4 and Figure 1."""

import numpy as np
import pytest

from localrank.data import RankingDataset
from localrank.measures import AveragePrecision
from localrank.rankers import SVMMap
from localrank.representations.gaussian import Gaussian
from localrank.representations.moments import Mean
from localrank.representations.principal_components import PrincipalComponents

N_RELEVANT, N_IRRELEVANT = 50, 150


def cloud(mean, turn, rng):
    """Gaussian documents around a mean, the relevant ones ahead along the widest direction."""
    labels = np.repeat([1, 0], [N_RELEVANT, N_IRRELEVANT])
    scores = rng.normal(size=(len(labels), 3)) * [1.0, 0.8, 0.4]
    ahead = N_IRRELEVANT / len(labels) * labels - N_RELEVANT / len(labels) * (1 - labels)
    scores[:, 0] += 2.0 * ahead
    return mean + scores @ turn, labels


@pytest.fixture(scope="module", params=range(5))
def figure(request):
    """Queries q1, q2 with its shape around another mean, q3 with its mean and another shape."""
    rng = np.random.default_rng(request.param)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    shift = 8.0 * turn[2]
    clouds = [
        cloud(np.zeros(3), turn, rng),
        cloud(shift, turn, rng),
        cloud(np.zeros(3), turn[[1, 0, 2]], rng),
    ]
    features, labels = (np.concatenate(parts) for parts in zip(*clouds, strict=True))
    return RankingDataset.from_arrays(features, labels, np.repeat(["q1", "q2", "q3"], 200))


def distances_from_q1(representation, figure):
    descriptions = representation.fit(figure).transform(figure)
    return representation.distances(descriptions[:1], descriptions[1:])[0]


def test_a_model_of_q1_ranks_q2_better_than_q3(figure):
    model = SVMMap().fit(figure.select([0]))
    q2, q3 = AveragePrecision()(figure, model.predict(figure))[1:]
    assert q2 > q3


@pytest.mark.parametrize("n_components", [0.8, 1, 2])
def test_principal_components_find_q2_nearer(figure, n_components):
    q2, q3 = distances_from_q1(PrincipalComponents(n_components), figure)
    assert q2 < q3


@pytest.mark.parametrize(
    "representation", [Gaussian("kl"), Gaussian("bhattacharyya"), Mean()], ids=["KL", "B", "mean"]
)
def test_other_measures_find_q3_nearer(figure, representation):
    q2, q3 = distances_from_q1(representation, figure)
    assert q3 < q2
