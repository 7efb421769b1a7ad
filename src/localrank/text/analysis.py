"""Splits texts into terms, in the same way for queries and documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, cast

from localrank._base.arrays import Integers
from localrank._base.estimator import Estimator
from localrank._base.rules import Rule, Rules, flag
from localrank.text._characters import normalised
from localrank.text._word_table import as_lines, begins_of, split_words

# Articles, pronouns, prepositions, conjunctions, auxiliaries, and their parts around apostrophes.
_ENGLISH = """
a about above after again against all also although always am among an and any are aren
around as at be because been before being below between both but by can cannot could
couldn d did didn do does doesn doing don down during each either else etc even ever
every few for from further had hadn has hasn have haven having he hence her here hers
herself him himself his how however i if in into is isn it its itself just ll m may me
might more most much must my myself neither no nor not now of off on once only or other
otherwise our ours ourselves out over own per quite rather re s same shall shan she
should shouldn since so some such t than that the their theirs them themselves then
there therefore these they this those though through thus to too toward towards under
until up upon us ve very was wasn we were weren what whatever when whence whenever where
whereas wherever whether which whichever while who whoever whom whose why will with
within without won would wouldn yet you your yours yourself yourselves
"""
LISTS = {"english": frozenset(_ENGLISH.split())}


Terms = Callable[[str], Sequence[str]]


class Analyzer(Estimator):
    """Splits a text into words and turns them into terms.

    A word is a run of letters, numbers and the marks on them, in any script. A Han or Hiragana
    character is a word by itself. Everything else separates words: blanks, punctuation (`co-op` is
    two words, `don't` is `don` and `t`), underscores, emoji, control characters, NUL, half
    characters. Compatible forms of a character count as one (Unicode's NFKC), and invisible
    characters are left out. Words may have any length.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether to fold upper and lower case, as Unicode defines it: "Straße" equals "STRASSE".
    stopwords : "english", sequence of str or None
        Words to leave out, before stemming. They do not count in a document's length. None: keep
        all words.
    stemmer : str or None
        A language of Snowball's stemmers, such as "english" or "german"; it needs PyStemmer. None:
        keep words as they are.

    Examples
    --------
    >>> Analyzer()("The Café's RÉSUMÉ: 50% naïve_text")
    ['the', 'café', 's', 'résumé', '50', 'naïve', 'text']
    >>> Analyzer(stopwords="english", stemmer="english")("the runners were running")
    ['runner', 'run']
    """

    _parameters: ClassVar[Rules] = {
        "lowercase": flag,
        "stopwords": Rule(
            lambda value, _: _are_stopwords(value),
            f"None, {', '.join(map(repr, LISTS))} or a list of words",
        ),
        "stemmer": Rule(
            lambda value, _: value is None or (isinstance(value, str) and value in stemmers()),
            "None or a language of Snowball's stemmers",
        ),
    }

    def __init__(
        self,
        *,
        lowercase: bool = True,
        stopwords: str | Sequence[str] | None = None,
        stemmer: str | None = None,
    ) -> None:
        self.lowercase = lowercase
        self.stopwords = stopwords
        self.stemmer = stemmer

    def __call__(self, text: str) -> list[str]:
        """The terms of a text, in order."""
        return [term for term in self.terms_of(split_words(self.letters(text))) if term is not None]

    def letters(self, text: str) -> bytes:
        """The normalised text, in which words are looked for."""
        return normalised(text, self.lowercase)

    def lines(self, texts: Sequence[str]) -> tuple[bytes, Integers]:
        """The normalised texts one after another, each with a line end, and where each begins."""
        whole = "\n".join([*texts, ""])
        if whole.isascii():
            return self.letters(whole), begins_of([len(text) + 1 for text in texts])
        return as_lines([self.letters(text) for text in texts])

    @property
    def keeps_words(self) -> bool:
        """Whether every word is a term without change."""
        return self.stopwords is None and self.stemmer is None

    def terms_of(self, words: Sequence[str]) -> Sequence[str | None]:
        """The terms of words. None: the word is left out."""
        if self.keeps_words:
            return words
        left_out = _stopwords(self)
        kept = [word not in left_out for word in words]
        stems = words if self.stemmer is None else _stemmer(self.stemmer).stemWords(list(words))
        return [stem if keep else None for stem, keep in zip(stems, kept, strict=True)]


def stemmers() -> list[str]:
    """The languages of Snowball's stemmers."""
    return list(_pystemmer().algorithms())


def _are_stopwords(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value is None or value in LISTS
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _stopwords(analyzer: Analyzer) -> frozenset[str]:
    given = analyzer.stopwords
    if given is None:
        return frozenset()
    if isinstance(given, str):
        return LISTS[given]
    return _as_words(tuple(given), analyzer.lowercase)


@cache
def _as_words(given: tuple[str, ...], lowercase: bool) -> frozenset[str]:
    """The listed words in normalised form."""
    return frozenset(word for text in given for word in split_words(normalised(text, lowercase)))


@cache
def _stemmer(language: str) -> Any:
    # 0: no cache, because callers ask for each word once.
    return _pystemmer().Stemmer(language, 0)


def _pystemmer() -> Any:
    try:
        import Stemmer
    except ImportError:
        raise ImportError(
            "Stemming needs PyStemmer. Install it with pip install 'localrank[text]'."
        ) from None
    return cast(Any, Stemmer)
