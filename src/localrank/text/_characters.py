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
_MAX_MARKS = 30
# Letters of half width that become marks.
_KATAKANA_MARKS = (0xFF9E, 0xFF9F)
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
    text = _INVISIBLE.sub("", _compatible(text))
    if lowercase:
        text = _compatible(text.casefold())
    return text.encode("utf-8", "surrogatepass")


def _compatible(text: str) -> str:
    """A text in NFKC.

    A joiner is put between every 30 marks, as in Unicode's Stream-Safe Text Format: Python sorts
    the marks of a character in time that grows with the square of their number.
    """
    if len(text) > _MAX_MARKS:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        marks = np.flatnonzero(_combining()[codes])
        if (marks[_MAX_MARKS:] - marks[:-_MAX_MARKS] == _MAX_MARKS).any():
            text = _many_marks().sub("\\g<0>\u034f", text)
    return unicodedata.normalize("NFKC", text)


@cache
def _combining() -> NDArray[np.bool_]:
    """Of each character, whether NFKC joins it to the one before it, or sorts it among marks."""
    table = np.zeros(_N_CODES, np.bool_)
    for code in (*np.flatnonzero(unicode_classes() == MARK).tolist(), *_KATAKANA_MARKS):
        table[code] = unicodedata.combining(unicodedata.normalize("NFKD", chr(code))[0]) > 0
    return table


@cache
def _many_marks() -> re.Pattern[str]:
    """So many marks, and another one behind them."""
    one = f"[{''.join(map(chr, np.flatnonzero(_combining()).tolist()))}]"
    return re.compile(f"{one}{{{_MAX_MARKS}}}(?={one})")
