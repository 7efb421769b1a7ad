import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.listwise_net._scoring import fill_inputs, net_scores
from localrank.rankers.query_coordinates._coordinates import coordinates


def test_scores_are_the_formula(rng):
    inputs = rng.normal(size=(8, 5)).astype(np.float32)
    hidden = rng.normal(size=(2, 3, 5)).astype(np.float32)
    bias, output = rng.normal(size=(2, 2, 3)).astype(np.float32)
    skip = rng.normal(size=(2, 5)).astype(np.float32)
    scores = np.empty((2, 8))
    net_scores(inputs, hidden, bias, output, skip, scores)
    expected = [
        np.maximum(inputs @ hidden[net].T + bias[net], 0) @ output[net] + inputs @ skip[net]
        for net in range(2)
    ]
    assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_equal_documents_have_equal_scores_wherever_they_stand(rng):
    row = rng.normal(size=37).astype(np.float32)
    inputs = rng.normal(size=(16, 37)).astype(np.float32)
    inputs[[0, 5, 10, 15]] = row
    hidden = rng.normal(size=(3, 7, 37)).astype(np.float32)
    bias, output = rng.normal(size=(2, 3, 7)).astype(np.float32)
    skip = rng.normal(size=(3, 37)).astype(np.float32)
    scores = np.empty((3, 16))
    net_scores(inputs, hidden, bias, output, skip, scores)
    assert (scores[:, [0, 5, 10, 15]] == scores[:, [0]]).all()


def filled(features, offsets):
    table = coordinates(features, offsets, "zpa")
    inputs = np.zeros((len(features), table.shape[1] - features.shape[1]), np.float32)
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
