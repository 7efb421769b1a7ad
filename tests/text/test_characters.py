import unicodedata

import numpy as np
import pytest
from text.naive_text import is_alone

from localrank.text._characters import (
    ALONE,
    BREAK,
    LETTER,
    MARK,
    _combining,
    ascii_classes,
    normalised,
    unicode_classes,
)


def expected_class(code):
    character = chr(code)
    category = unicodedata.category(character)[0]
    if category in "LN":
        return ALONE if is_alone(character) else LETTER
    return MARK if category == "M" else BREAK


def test_every_character_has_the_class_of_its_category_and_name():
    classes = unicode_classes()
    assert len(classes) == 0x110000
    for code in (*range(0x40000), *range(0xE0000, 0x110000, 7)):
        assert classes[code] == expected_class(code), hex(code)


def test_ascii_has_the_same_classes():
    assert np.array_equal(ascii_classes(), unicode_classes()[:0x80])


def test_all_characters_that_are_sorted_among_marks_are_known():
    begins_with_mark = [
        code
        for code in (*range(0xD800), *range(0xE000, 0x110000))
        if unicodedata.combining(unicodedata.normalize("NFKD", chr(code))[0])
    ]
    assert np.flatnonzero(_combining()).tolist() == begins_with_mark


@pytest.mark.parametrize("n", [1, 29, 30])
def test_thirty_marks_of_a_letter_are_normalised_as_unicode_says(n):
    text = "a" + ("\u0301\u0327" * n)[:n]
    assert normalised(f"{text} {text}", True).decode() == unicodedata.normalize(
        "NFKC", f"{text} {text}"
    )


@pytest.mark.parametrize(
    "unit", ["\u0301\u0327", "\uff9e\u0301", "\u0f73\u0301", "\u0301" * 29 + "\u0327\u200c"]
)
def test_no_letter_has_more_marks_than_can_be_sorted_quickly(unit, monkeypatch):
    given = []
    monkeypatch.setattr(
        "localrank.text._characters.unicodedata.normalize",
        lambda form, text: given.append(text) or unicodedata_normalize(form, text),
    )
    result = normalised("a" + unit * 300 + "\u0301", True).decode()
    assert len(given) == 2
    for text in given:
        flags = "".join("m" if _combining()[ord(character)] else " " for character in text)
        # A character with marks of its own may stand before the thirty.
        assert max(map(len, flags.split())) <= 35
    assert result.startswith(("a", "á", "ą"))
    assert len(result) > 300


unicodedata_normalize = unicodedata.normalize
