import warnings

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.listwise_net import _scoring
from localrank.rankers.listwise_net._scoring import DOCUMENTS, PackedNets, fill_inputs, net_scores
from localrank.rankers.query_coordinates._coordinates import coordinates


def made_up(rng, n_documents, n_nets, n_units, n_inputs):
    """Inputs, and the parameters of nets: hidden, bias, output and skip."""
    shapes = [(n_documents, n_inputs), (n_nets, n_units, n_inputs)]
    shapes += [(n_nets, n_units), (n_nets, n_units), (n_nets, n_inputs)]
    inputs, *nets = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return inputs, nets


def by_formula(inputs, hidden, bias, output, skip):
    return [
        np.maximum(inputs @ hidden[net].T + bias[net], 0) @ output[net] + inputs @ skip[net]
        for net in range(len(hidden))
    ]


# Numbers of units and nets below, at and above what a processor computes together.
@pytest.mark.parametrize(
    ("n_nets", "n_units", "n_inputs"), [(2, 3, 5), (8, 64, 101), (1, 16, 1), (17, 33, 9)]
)
def test_scores_are_the_formula(rng, n_nets, n_units, n_inputs):
    inputs, nets = made_up(rng, 4 * DOCUMENTS, n_nets, n_units, n_inputs)
    scores = net_scores(inputs, PackedNets.of(*nets))
    exact = by_formula(inputs.astype(np.float64), *(array.astype(np.float64) for array in nets))
    assert_allclose(scores, exact, rtol=1e-4, atol=1e-4)


def test_equal_documents_have_equal_scores_wherever_they_stand(rng):
    inputs, nets = made_up(rng, 4 * DOCUMENTS, 3, 23, 37)
    places = np.arange(4) * (DOCUMENTS + 1)  # first, second, third and fourth of those together
    places = [*places, 4 * DOCUMENTS - 1]
    inputs[places] = inputs[0]
    scores = net_scores(inputs, PackedNets.of(*nets))
    assert (scores[:, places] == scores[:, [0]]).all()


@pytest.mark.parametrize(("n_documents", "n_inputs"), [(DOCUMENTS + 1, 7), (DOCUMENTS, 6)])
def test_inputs_that_do_not_fit_are_refused(rng, n_documents, n_inputs):
    _, nets = made_up(rng, DOCUMENTS, 2, 3, 7)
    inputs = np.zeros((n_documents, n_inputs), np.float32)
    with pytest.raises(ValueError, match="do not fit the nets"):
        net_scores(inputs, PackedNets.of(*nets))


def test_without_instructions_by_hand_nets_score_the_same(rng, monkeypatch):
    inputs, nets = made_up(rng, 2 * DOCUMENTS, 17, 20, 7)
    packed = PackedNets.of(*nets)
    expected = net_scores(inputs, packed)

    def fails(*_):
        raise numba.NumbaError("no such instruction")

    monkeypatch.setattr(_scoring, "_fill_scores", fails)
    with pytest.warns(RuntimeWarning, match="Loops score them, many times slower"):
        assert_allclose(net_scores(inputs, packed), expected, rtol=1e-4, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert_allclose(net_scores(inputs, packed), expected, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(_scoring, "_fill_scores", fails)
    monkeypatch.setattr(_scoring, "fill_scores_in_loops", fails)
    with pytest.raises(numba.NumbaError, match="no such instruction"):
        net_scores(inputs, packed)


def filled(features, offsets):
    table = coordinates(features, offsets, "zpa")
    inputs = np.zeros((len(features), 2 * features.shape[1] + 9), np.float32)
    fill_inputs(table, offsets, features.shape[1], inputs)
    return table, inputs


def test_inputs_are_scaled_coordinates(rng):
    features = rng.standard_t(2, size=(60, 3))
    offsets = np.array([0, 50, 60])
    table, inputs = filled(features, offsets)
    assert np.abs(table[:, 3:6]).max() > 4
    assert_allclose(inputs[:, :3], np.clip(table[:, 3:6], -4, 4), rtol=1e-6)
    assert_allclose(inputs[:, 3:6], (table[:, 6:9] - 0.5) * np.sqrt(12), rtol=1e-6)
    for begin, end in ((0, 50), (50, 60)):
        a = table[begin:end, 9:]
        assert_allclose(inputs[begin:end, 6:], (a - a.mean(axis=0)) / a.std(axis=0), atol=1e-5)


def test_constant_columns_are_neutral(rng):
    features = np.repeat(rng.normal(size=(1, 3)), 7, axis=0)
    _, inputs = filled(features, np.array([0, 7]))
    assert_array_equal(inputs[:, :3], 0)
    assert_array_equal(inputs[:, 6:], 0)


def test_inputs_do_not_depend_on_the_order_of_documents(rng):
    features = rng.normal(size=(40, 4))
    order = rng.permutation(40)
    offsets = np.array([0, 40])
    assert_array_equal(filled(features[order], offsets)[1], filled(features, offsets)[1][order])
