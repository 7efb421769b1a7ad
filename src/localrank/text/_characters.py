"""The characters that make up words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

BREAK, LETTER, MARK, ALONE = range(4)

# The ranges of characters that are looked at: planes 0 to 3, and the tags.
_RANGES = ((0x80, 0x40000), (0xE0000, 0xE0200))
_N_CODES = 0x110000
# These scripts, Han and Hiragana, do not separate words: each character is a word. Planes 2 and 3
# are for Han characters.
_ALONE = (
    (0x3005, 0x3008),
    (0x3041, 0x30A0),
    (0x3400, 0x4DC0),
    (0x4E00, 0xA000),
    (0xF900, 0xFB00),
    (0x1B001, 0x1B120),
    (0x1B132, 0x1B133),
    (0x1B150, 0x1B153),
    (0x20000, 0x40000),
)
# Invisible characters: soft hyphens, joiners, marks of direction. The zero-width space is a break.
_INVISIBLE = re.compile("[\u00ad\u061c\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


@cache
def ascii_classes() -> NDArray[np.uint8]:
    """The class of each ASCII character."""
    classes = np.zeros(0x80, np.uint8)
    for code in range(0x80):
        classes[code] = LETTER if chr(code).isalnum() else BREAK
    classes.flags.writeable = False
    return classes


@cache
def unicode_classes() -> NDArray[np.uint8]:
    """The class of each character: break, letter or number, mark within a word, or word by itself.

    Examples
    --------
    >>> unicode_classes()[[ord(character) for character in "ä5٣_ 語"]].tolist()
    [1, 1, 1, 0, 0, 3]
    """
    classes = np.zeros(_N_CODES, np.uint8)
    classes[:0x80] = ascii_classes()
    of_category = {"L": LETTER, "N": LETTER, "M": MARK}
    for begin, end in _RANGES:
        first = [unicodedata.category(chr(code))[0] for code in range(begin, end)]
        classes[begin:end] = [of_category.get(category, BREAK) for category in first]
    for begin, end in _ALONE:
        part = classes[begin:end]
        part[part == LETTER] = ALONE
    classes.flags.writeable = False
    return classes


def normalised(text: str, lowercase: bool) -> bytes:
    """A text in UTF-8, normalised: equal characters have one form, and one case if wanted.

    Compatible forms become one (NFKC: "ﬁ" and "fi", full and half width), and invisible characters
    are left out. Lower case is Unicode's case folding: "ß" becomes "ss". Half of a surrogate pair
    is not a letter.

    Examples
    --------
    >>> normalised("Cafe\u0301 ﬁn STRASSE", True).decode()
    'café fin strasse'
    """
    if text.isascii():
        data = text.encode()
        return data.lower() if lowercase else data
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    if lowercase:
        text = unicodedata.normalize("NFKC", text.casefold())
    return text.encode("utf-8", "surrogatepass")
