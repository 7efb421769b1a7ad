"""Reading numbers from bytes, rounded as Python rounds them."""

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank._kernels import numbers, parsing

NUMBER, UNSURE, NO_NUMBER = range(3)


@numba.njit
def parse_number(begin):
    return numbers.parse_number(begin)


def parse(token, after=b" "):
    """Outcome, value and length of the number that a token begins with."""
    margin = bytes(parsing.MARGIN)
    text = np.frombuffer(margin + token.encode() + after + margin, dtype=np.uint8)
    begin = text.ctypes.data + len(margin)
    outcome, value, end = parse_number(begin)
    return outcome, value, end - begin


def assert_parsed_like_python(token, after=b" "):
    outcome, value, size = parse(token, after)
    assert size == len(token)
    assert outcome in (NUMBER, UNSURE)
    if outcome == NUMBER:
        assert np.float64(value).view(np.int64) == np.float64(float(token)).view(np.int64)


DIGITS = st.text("0123456789", max_size=25)
SIGNS = st.sampled_from(["", "", "-", "+"])
TOKENS = st.builds(
    lambda sign, whole, point, fraction, exponent: sign + whole + point + fraction + exponent,
    SIGNS,
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
    st.one_of(
        st.just(""),
        st.builds(lambda e, k: f"{e}{k}", st.sampled_from("eE"), st.integers(-330, 310)),
        st.builds(lambda k: f"e+{k}", st.integers(0, 310)),
    ),
).filter(lambda token: any(c.isdigit() for c in token.lower().split("e")[0]))


@given(token=TOKENS, after=st.sampled_from([b" ", b"\n", b"#", b"\t"]))
@example(token="9007199254740993", after=b" ")
@example(token="9007199254740992.5", after=b" ")
@example(token="1e23", after=b" ")
@example(token="8.41e21", after=b" ")
@example(token="9999999999999999999", after=b" ")
@example(token="18446744073709551615", after=b" ")
@example(token="5e-324", after=b" ")
@example(token="2.2250738585072011e-308", after=b" ")
@example(token="-0", after=b" ")
@settings(max_examples=1000)
def test_number_is_rounded_as_python_rounds_it(token, after):
    assert_parsed_like_python(token, after)


@given(value=st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=500)
def test_shortest_digits_of_a_float_give_it_back(value):
    assert_parsed_like_python(repr(value))


@given(value=st.floats(1e-4, 1e15), n_digits=st.integers(0, 17))
@settings(max_examples=500)
def test_number_with_a_point_is_rounded_as_python_rounds_it(value, n_digits):
    assert_parsed_like_python(f"{value:.{n_digits}f}")


@pytest.mark.parametrize("n_digits", range(1, 20))
@pytest.mark.parametrize("place", range(20))
def test_point_at_any_place_is_understood(n_digits, place):
    digits = "1234567890987654321"[:n_digits]
    assert_parsed_like_python("-" + digits[:place] + "." + digits[place:])


def test_common_numbers_are_not_left_to_python():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(2000), rng.normal(size=2000) * 1e5, rng.random(500) * 1e-9])
    assert all(parse(repr(value))[0] == NUMBER for value in values.tolist())


@pytest.mark.parametrize("token", ["9007199254740993", "1e400", "1" * 20, "1e-320"])
def test_number_that_is_hard_to_round_is_left_to_python(token):
    assert parse(token)[0] == UNSURE


@pytest.mark.parametrize("token", ["", "-", "+", ".", "-.", "e5", "1e", "1e+", "x", "inf", "nan"])
def test_what_is_no_number_is_none(token):
    assert parse(token)[0] == NO_NUMBER


@pytest.mark.parametrize(("token", "size"), [("1x", 1), ("1.5.2", 3), ("1-2", 1), ("1_0", 1)])
def test_number_ends_where_it_cannot_go_on(token, size):
    assert parse(token)[2] == size


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint32])
def test_rows_are_widened_in_place(dtype):
    values = np.array([1, 2, 3, 4, 5, 6, 9, 9, 9], dtype=dtype)
    parsing.respace(values, 3, 2, 3)
    assert_array_equal(values, [1, 2, 0, 3, 4, 0, 5, 6, 0])


def test_rows_are_narrowed_in_place():
    values = np.array([1.0, 2, 0, 3, 4, 0, 5, 6, 0])
    parsing.respace(values, 3, 3, 2)
    assert_array_equal(values[:6], [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("n_zeros", [1, 999_999, 5_000_000])
def test_exponent_is_not_cut_short_by_many_digits_before_it(n_zeros):
    outcome, _, size = parse(f"0.{'0' * n_zeros}1e{n_zeros + 400}")
    assert outcome == UNSURE
    assert size == n_zeros + len(f"0.1e{n_zeros + 400}")


def test_strings_are_spread_over_rows():
    text = np.frombuffer(b"ab\nc\n", dtype=np.uint8)
    letters = np.zeros((2, 3), dtype=np.uint32)
    parsing.spread_letters(text, np.array([2, 1], dtype=np.uint16), letters)
    assert letters.view("U3").ravel().tolist() == ["ab", "c"]
