import numpy as np
import pytest
from onnx_exports import files_of, in_every_runtime, lists, random_lists, same, scores_in

from localrank.export import NotExportable
from localrank.formulas import Formula, Linear, Net, Standardised, WeightedSum


@in_every_runtime
@pytest.mark.parametrize("n_features", [5, 8, 11])
def test_weighted_sums_of_features_have_the_bits_of_the_rankers(runtime, n_features, rng):
    dataset = lists(*random_lists(rng, 5, n_features))
    for constant in (0.0, -3.7):
        formula = Linear(rng.normal(size=n_features), constant)
        assert same(scores_in(runtime, formula, dataset), formula.score(dataset))


@in_every_runtime
@pytest.mark.parametrize("n_units", [0, 1, 7])
@pytest.mark.parametrize("most", [2.0, np.inf])
def test_nets_score_to_rounding(runtime, n_units, most, rng):
    dataset = lists(rng.normal(size=(30, 5)) * 3)
    formula = Net(
        hidden=rng.normal(size=(n_units, 5)),
        bias=rng.normal(size=n_units),
        output=rng.normal(size=n_units),
        skip=rng.normal(size=5),
        mean=rng.normal(size=5),
        scale=rng.uniform(0.5, 2, 5),
        most=most,
    )
    scores = scores_in(runtime, formula, dataset)
    np.testing.assert_allclose(scores, formula.score(dataset), rtol=1e-13, atol=1e-13)


@in_every_runtime
def test_equal_documents_have_equal_scores_wherever_they_stand(runtime, rng):
    formula = Net(
        hidden=rng.normal(size=(7, 5)),
        bias=rng.normal(size=7),
        output=rng.normal(size=7),
        skip=rng.normal(size=5),
        mean=np.zeros(5),
        scale=np.ones(5),
        most=4.0,
    )
    dataset = lists(np.repeat(rng.normal(size=(1, 5)), 37, axis=0))
    assert np.ptp(scores_in(runtime, formula, dataset)) == 0


@in_every_runtime
def test_sums_of_standardised_terms_have_the_bits_of_the_rankers(runtime, rng):
    dataset = lists(*random_lists(rng, 20))
    terms = tuple(Standardised(Linear(rng.normal(size=5))) for _ in range(3))
    formula = WeightedSum(terms, np.array([0.5, -2.0, 1 / 3]), 4.0)
    assert same(scores_in(runtime, formula, dataset), formula.score(dataset))


@in_every_runtime
def test_scores_that_differ_by_rounding_are_standardised_to_zero(runtime):
    formula = Standardised(Linear(np.ones(1)))
    rounding = np.array([[1e6], [1e6 + 1e-7], [1e6]])
    more = np.array([[1e6], [1e6 + 1e-5], [1e6]])
    scores = scores_in(runtime, formula, lists(rounding, more, np.zeros((2, 1))))
    assert scores[[0, 1, 2, 6, 7]].tolist() == [0.0] * 5
    np.testing.assert_allclose(scores[3:6], np.array([-1, 2, -1]) / np.sqrt(2), rtol=1e-9)


@in_every_runtime
def test_a_sum_without_terms_is_its_constant_for_every_document(runtime):
    formula = WeightedSum((), np.empty(0), 2.5)
    assert scores_in(runtime, formula, lists(np.zeros((4, 2)))).tolist() == [2.5] * 4


def test_a_step_that_graphs_do_not_have_is_refused():
    class Unknown(Formula):
        def score(self, dataset):
            raise NotImplementedError

    with pytest.raises(NotExportable, match=r"Unknown cannot be exported: a graph has no steps"):
        files_of(WeightedSum((Unknown(),), np.ones(1)), 3)
