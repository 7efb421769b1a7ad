import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from localrank.data._id_table import IdTable
from localrank.data._strings import Strings

TEXTS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20))


def strings(names):
    return Strings.of_bytes([name.encode() for name in names])


@given(TEXTS, TEXTS)
def test_positions_are_those_of_a_dictionary(names, wanted):
    names = list(dict.fromkeys(names))
    known = {name: row for row, name in enumerate(names)}
    table = IdTable(strings(names))
    assert table.first_repeated is None
    assert table.rows(strings(names)).tolist() == list(range(len(names)))
    assert table.rows(strings(wanted)).tolist() == [known.get(name, -1) for name in wanted]


@given(TEXTS.filter(lambda names: len(set(names)) < len(names)))
def test_the_first_repeated_id_is_known(names):
    place = IdTable(strings(names)).first_repeated
    assert place == next(i for i, name in enumerate(names) if name in names[:i])


def test_many_ids_are_all_found():
    names = np.arange(50_000).astype(str)
    table = IdTable(Strings.of(names))
    order = np.random.default_rng(0).permutation(len(names))
    assert (table.rows(Strings.of(names[order])) == order).all()
    assert (table.rows(Strings.of(np.arange(50_000, 60_000).astype(str))) == -1).all()
