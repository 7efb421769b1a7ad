"""Tables of numbers from JSON: those of the decoder to the last bit, or none."""

import json
import math
import struct

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.serving._number_tables import number_table

DECODER = msgspec.json.Decoder(list[dict[str, float | None] | list[float | None]])
SEPARATORS = [(",", ":"), (", ", ": "), (" ,\n\t", " : ")]

floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(
    floats,
    floats.map(lambda x: round(x, 6)),
    st.integers(-(10**25), 10**25),
    st.integers(0, 9),
    st.none(),
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def decoded(documents):
    """The same by the decoder: a slow way that surely rounds as Python does."""
    rows = DECODER.decode(b"[" + b",".join(documents) + b"]")
    if isinstance(rows[0], dict):
        return np.array([list(row.values()) for row in rows], np.float64), list(rows[0])
    return np.array(rows, np.float64), None


def bits(array):
    return [struct.pack("<d", x) if not math.isnan(x) else "missing" for x in array.ravel()]


@given(st.data())
def test_numbers_are_those_of_the_decoder_or_left_to_it(data):
    width = data.draw(st.integers(1, 5))
    keys = data.draw(st.none() | st.lists(names, min_size=width, max_size=width, unique=True))
    separators = data.draw(st.sampled_from(SEPARATORS))
    rows = data.draw(st.lists(st.lists(values, min_size=width, max_size=width), min_size=1))
    ascii_only = data.draw(st.booleans())
    documents = [
        json.dumps(
            row if keys is None else dict(zip(keys, row, strict=True)),
            separators=separators,
            ensure_ascii=ascii_only,
        ).encode()
        for row in rows
    ]
    read = number_table(documents)
    expected, expected_names = decoded(documents)
    # Left to the decoder: more than 19 digits, exponents beyond those of data, and -0.
    if read is not None:
        table, told = read
        assert bits(table) == bits(expected)
        assert told == expected_names


@pytest.mark.parametrize("digits", [6, 17])
@pytest.mark.parametrize("form", [list, dict])
def test_usual_documents_are_not_left_to_the_decoder(rng, digits, form):
    numbers = rng.normal(size=(50, 46)) * 10.0 ** rng.integers(-12, 12, size=(50, 46))
    numbers = np.array([[float(f"{x:.{digits}g}") for x in row] for row in numbers])
    keys = [f"feature_{column}" for column in range(46)]
    for separators in SEPARATORS:
        documents = [
            json.dumps(
                row if form is list else dict(zip(keys, row, strict=True)), separators=separators
            ).encode()
            for row in numbers.tolist()
        ]
        table, told = number_table(documents)
        assert_array_equal(table, numbers)
        assert told == (None if form is list else keys)


@pytest.mark.parametrize(
    "documents",
    [
        ["[1,2]", "[1]"],
        ["[1,2]", "[1,2,3]"],
        ["[1]", "[1,2]", "[]"],
        ["[1,2]", "[1, 2]"],
        ["[1,2]", '[1,"2"]'],
        ["[1,2]", "[1,true]"],
        ["[1,2]", "[1,nul]"],
        ["[1,2]", '{"a":1,"b":2}'],
        ['{"a":1,"b":2}', '{"b":1,"a":2}'],
        ['{"a":1,"b":2}', '{"a":1,"c":2}'],
        ['{"a":1,"a":2}', '{"a":1,"a":2}'],
        ['{"a":1}', '{"a":{"a":1}}'],
        ["[]", "[]"],
        ["{}"],
        ["1", "2"],
        ['"1"'],
        ["null"],
        ["[[1]]"],
        ["[1e400]"],
        ["[-0]"],
        ["[123456789012345678901234567890]"],
        ["[1]", "[12345678901234567890.5]"],
        ["[1]", "[2] "],
    ],
)
def test_other_documents_are_left_to_the_decoder(documents):
    assert number_table([document.encode() for document in documents]) is None


def test_names_that_look_like_values_are_names():
    documents = [rb'{"1,2":3,"a\"b]":4,"}":null}', rb'{"1,2":-5.5,"a\"b]":1e3,"}":0}']
    table, told = number_table(documents)
    assert_array_equal(table, [[3, 4, np.nan], [-5.5, 1000, 0]])
    assert told == ["1,2", 'a"b]', "}"]


def test_nothing_is_read_behind_the_end(rng):
    # Wrong lengths end the reading; the text around is never part of a number.
    for _ in range(300):
        documents = [json.dumps(rng.integers(0, 99, size=3).tolist()).encode() for _ in range(3)]
        documents[-1] = documents[-1][: rng.integers(1, len(documents[-1]))]
        assert number_table(documents) is None
