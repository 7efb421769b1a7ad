import unicodedata

import numpy as np
from text.naive_text import is_alone

from localrank.text._characters import ALONE, BREAK, LETTER, MARK, ascii_classes, unicode_classes


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
