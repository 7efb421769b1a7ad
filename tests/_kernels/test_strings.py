import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank._kernels import strings
from localrank._kernels.sorting import read_only
from localrank.data._strings import Strings, by_group, first_repeated

# Of one to four bytes, halves of pairs among them.
LETTERS = st.sampled_from("ab0 \x7f\x80é\u07ff\u0800語\uffff\ud83d\U00010000😀\U0010ffff")
NAMES = st.lists(st.text(LETTERS, max_size=20), min_size=1, max_size=30)


@given(NAMES)
def test_strings_are_in_utf_8_and_come_back(names):
    packed = Strings.of(np.array(names, dtype=str))
    data = packed.text[: packed.begins[-1]].tobytes()
    assert data == "".join(names).encode("utf-8", "surrogatepass")
    assert packed.array().tolist() == names
    assert packed.names(range(len(names))) == names


@given(st.lists(st.text("ab é語😀", max_size=20), min_size=1, max_size=30))
def test_strings_of_any_width_are_packed_alike(names):
    wide = Strings.of(np.array(names, dtype=np.dtypes.StringDType()))
    fixed = Strings.of(np.array(names, dtype="U30"))
    swapped = Strings.of(np.array(names, dtype=">U30"))
    strided = Strings.of(np.repeat(np.array(names, dtype="U30"), 2)[::2])
    for other in (fixed, swapped, strided):
        assert_array_equal(wide.begins, other.begins)
        assert_array_equal(wide.text, other.text)


@given(NAMES, st.data())
def test_some_strings_in_any_order_come_back(names, data):
    chosen = data.draw(st.lists(st.integers(0, len(names) - 1), max_size=10))
    packed = Strings.of(np.array(names, dtype=str))
    assert packed.array(np.array(chosen, dtype=int)).tolist() == [names[i] for i in chosen]


@given(NAMES)
def test_strings_are_numbered_as_they_come(names):
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    numbers, firsts = Strings.of(np.array(names, dtype=str)).numbered()
    assert numbers.tolist() == [known[name] for name in names]
    assert firsts.tolist() == [names.index(name) for name in known]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.text("ab", max_size=9), st.integers(-1, 3)), min_size=1, max_size=60))
def test_each_group_has_numbers_of_its_own(items):
    names, groups = zip(*items, strict=True)
    order, offsets = by_group(np.array(groups), 4)
    numbers, firsts, bounds = Strings.of(np.array(names, dtype=str)).numbered_in_groups(
        order, offsets
    )
    known = {}
    for group in range(4):
        for place, item in enumerate(items):
            if item[1] == group:
                known.setdefault(item, (len(known), place))
        assert bounds[group + 1] == len(known)
    assert numbers.tolist() == [known[item][0] if item[1] >= 0 else -1 for item in items]
    assert firsts.tolist() == [place for _, place in known.values()]


@given(st.lists(st.integers(-1, 5), max_size=40))
def test_items_are_grouped_in_their_order(groups):
    items, offsets = by_group(np.array(groups, dtype=int), 6)
    for group in range(6):
        expected = [item for item, of in enumerate(groups) if of == group]
        assert items[offsets[group] : offsets[group + 1]].tolist() == expected


@given(st.lists(st.integers(-1, 8), max_size=12))
def test_the_first_repeated_number_is_found(numbers):
    expected = next(
        (i for i, number in enumerate(numbers) if number >= 0 and number in numbers[:i]), None
    )
    assert first_repeated(np.array(numbers, dtype=int), 9) == expected


def test_many_strings_of_one_group_are_told_apart():
    names = np.arange(100_000).astype(str)
    numbers, firsts = Strings.of(np.concatenate([names, names[::-1]])).numbered()
    assert_array_equal(numbers, np.concatenate([np.arange(100_000), np.arange(100_000)[::-1]]))
    assert_array_equal(firsts, np.arange(100_000))


@pytest.mark.parametrize("size", range(20))
def test_strings_that_differ_in_one_byte_have_different_numbers(size):
    names = ["a" * size] + ["a" * i + "b" + "a" * (size - i - 1) for i in range(size)]
    numbers, _ = Strings.of_bytes([name.encode() for name in names]).numbered()
    assert numbers.tolist() == list(range(size + 1))


def test_a_string_does_not_end_where_the_next_begins():
    joined = Strings.joined([Strings.of(np.array(["ab", "c"])), Strings.of(np.array(["a", "bc"]))])
    assert joined.array().tolist() == ["ab", "c", "a", "bc"]
    assert joined.numbered()[0].tolist() == [0, 1, 2, 3]


def test_one_long_string_takes_no_room_from_the_others():
    packed = Strings.of_bytes([b"x" * 1_000_000, *[b"y"] * 10_000])
    ids = packed.array()
    assert ids.dtype == np.dtypes.StringDType()
    assert (ids[0], ids[1]) == ("x" * 1_000_000, "y")


def test_values_go_to_their_numbers():
    result = np.full(3, -np.inf)
    strings.spread(read_only([2, -1, 0], np.int64), read_only([5.0, 6.0, 7.0], np.float64), result)
    assert_array_equal(result, [7.0, -np.inf, 5.0])


def test_there_may_be_no_strings():
    packed = Strings.of(np.array([], dtype="U3"))
    assert len(packed.array()) == len(packed.numbered()[0]) == 0
