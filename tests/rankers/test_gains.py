import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import localrank
from localrank._base.rules import parts_of
from localrank.rankers import CrossEntropyMART, LambdaMART, ListwiseLinear
from localrank.rankers._gains import gains, levels
from localrank.registry import METHODS, make_ranker, parameters

some_labels = st.lists(
    st.one_of(st.integers(-3, 40), st.floats(-1e6, 1e6), st.floats(0, 1)), min_size=2, max_size=30
).map(lambda values: np.array(values, dtype=float))


@given(some_labels)
def test_gains_and_levels_keep_the_order_of_labels(labels):
    order = np.argsort(labels)
    for values in (gains(labels), levels(labels)):
        assert (np.diff(values[order]) >= 0).all()
        assert values.min() >= 0


@given(some_labels)
def test_levels_are_whole_numbers_that_lightgbm_takes(labels):
    assert_array_equal(levels(labels), np.round(levels(labels)))
    assert levels(labels).max() <= 30


def test_grades_stay_as_they_are():
    grades = np.arange(31.0)
    assert levels(grades) is grades
    assert_array_equal(gains(grades), 2**grades - 1)


def test_from_31_on_labels_are_counts():
    assert_array_equal(gains(np.array([0.0, 1.0, 31.0])), [0, 1, 31])


def test_real_grades_gain_by_the_formula_of_ndcg():
    assert_allclose(gains(np.array([0.0, 0.5, 2.33])), [0, 2**0.5 - 1, 2**2.33 - 1])


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_twice_the_count_is_a_level_more(factor):
    counts = factor * np.array([0, 31, 62, 124, 248, 496])
    steps = np.diff(levels(counts)[1:])
    if factor * 496 > 30:
        assert_array_equal(steps, 1)
    assert levels(counts)[[0, -1]].tolist() == [0, 15]


@given(some_labels.map(lambda labels: np.clip(labels, -300, 300)))
def test_a_named_gain_is_one_for_all_labels(labels):
    lowest = min(labels.min(), 0)
    assert_allclose(gains(labels, "linear"), labels - lowest)
    assert_allclose(gains(labels, "exponential"), 2**labels - 2**lowest, atol=1e-12)


def test_a_list_has_the_gains_of_the_labels_from_0():
    assert_array_equal(gains(np.array([2.0, 0.0, 2.0, 3.0]), [1, 2, 2.5, 8]), [2.5, 1, 2.5, 8])


@pytest.mark.parametrize("label", [-1.0, 0.5, 3.0])
def test_a_label_without_a_gain_is_named(label):
    with pytest.raises(ValueError, match=f"3 gains is for the labels 0 to 2. .* label {label:g}"):
        gains(np.array([0.0, label, 1.0]), [0, 1, 3])


def test_an_exponential_gain_too_large_for_a_number_is_refused():
    assert gains(np.array([0.0, 332.0]), "exponential").max() < 1e100
    with pytest.raises(ValueError, match="too large for the label 500: 2\\^500. Use gain='linear'"):
        gains(np.array([0.0, 500.0]), "exponential")


def test_levels_of_gains_of_two_to_a_whole_number_are_exact():
    labels = np.arange(5.0)
    assert_array_equal(levels(labels, [0, 1, 3, 7, 2**30 - 1]), [0, 1, 2, 3, 30])
    assert_array_equal(levels(labels, "exponential"), labels)


@given(st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=9, unique=True).map(sorted))
def test_levels_of_other_gains_are_within_the_root_of_two(worth):
    result = levels(np.arange(1.0, len(worth) + 1), [0.0, *worth])
    if result.max() == 15:
        ratios = 2**result / (2**15 * np.array(worth) / worth[-1])
        assert (ratios > 2**-0.51).all()
        assert (ratios < 2**0.56).all()


KINDS = [LambdaMART, CrossEntropyMART, ListwiseLinear]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "gain",
    [
        *["quadratic", 3, {0: 1}, np.array([0, 1])],
        *[[], [1], [0, 0], [1, 0], [0, 2, 1], [-1, 0]],
        *[[0, np.inf], [0, np.nan], ["a", "b"], [0, True]],
    ],
    ids=str,
)
def test_what_is_no_gain_is_refused(kind, gain, queries):
    with pytest.raises(ValueError, match="The 'gain' parameter of .* must be 'exponential', 'lin"):
        kind(gain=gain).fit(queries)


@pytest.mark.parametrize("kind", KINDS)
def test_gains_that_tell_no_labels_apart_are_said(kind, queries):
    flat = queries.replaced(relevance=np.minimum(queries.labels, 1))
    with pytest.raises(ValueError, match="no query of positive weight has labels of two different"):
        kind(gain=[1, 1, 2]).fit(flat)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gain", ["linear", [0, 1, 2, 5, 9.5], (0, 1, 2, 5, 9)])
def test_gains_are_cloned_and_saved(kind, gain, queries, tmp_path):
    model = clone(kind(gain=gain)).fit(queries)
    model.save(tmp_path / "model.localrank")
    again = localrank.load(tmp_path / "model.localrank")
    assert again.gain == gain
    assert_array_equal(again.predict(queries), model.predict(queries))


@pytest.mark.parametrize(
    "method",
    [name for name, part in METHODS.items() if "gain" in parameters(part)],
)
def test_a_method_hands_its_gains_to_all_rankers_that_have_them(method):
    ranker = make_ranker(method, ["gain=[0,1,5]"], None, 0)
    weighing = [part for part in parts_of(ranker) if "gain" in part.get_params(deep=False)]
    assert weighing
    assert all(part.gain == [0, 1, 5] for part in weighing)


def test_the_recipes_of_several_kinds_take_gains():
    assert {"best", "fast", "global-mixed"} <= {
        name for name, part in METHODS.items() if "gain" in parameters(part)
    }
