"""Whether a text looks like a definition of the query: Table 2 of the paper on hyperplanes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank.text._proximity import Numbers, place_in
from localrank.text.analysis import Analyzer

ARTICLES = ("a", "an", "the")
VERB = "is"
# The words that the paper names as examples of its predefined ones.
NEGATIVE = ("he", "said", "she")
# Personal, possessive, reflexive and demonstrative pronouns.
_PRONOUNS = """
i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
myself yourself himself herself itself ourselves yourselves themselves this that these those
"""
PRONOUNS = frozenset(_PRONOUNS.split())
JOINING = frozenset(("and", "or", "of", "for"))
# Words of documents that features ask for.
ASKED = (VERB, *ARTICLES, *NEGATIVE)

_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)")
_plain = Analyzer(lowercase=False)


def n_sentences(text: str) -> int:
    """Number of sentences: parts with a letter or number between full stops, `!` and `?`.

    Such a mark ends a sentence if a blank or the end of the text follows. So an abbreviation in the
    text ends one too.

    Examples
    --------
    >>> n_sentences("It costs 3.50 today. Really?! Yes"), n_sentences(" ... ")
    (3, 0)
    """
    return sum(any(map(str.isalnum, part)) for part in _SENTENCE_END.split(text))


def query_facts(query: str) -> dict[str, float]:
    """The features of `AS_WRITTEN`, from the query as it was written.

    Examples
    --------
    >>> query_facts("The Department of State")
    {'query_article': 1.0, 'query_capitals': 0.0, 'query_pronoun': 0.0, 'query_joined': 1.0}
    """
    written = _plain(query)
    words = [word.casefold() for word in written]
    return {
        "query_article": float(words[:1] != [] and words[0] in ARTICLES),
        "query_capitals": float(words != [] and all(word[0].isupper() for word in written)),
        "query_pronoun": float(not PRONOUNS.isdisjoint(words)),
        "query_joined": float(not JOINING.isdisjoint(words) or "," in query),
    }


def check_analyzer(analyzer: Any) -> None:
    """Refuse an analyzer that leaves out, splits or joins words that the features ask for."""
    for word in ASKED:
        if len(list(analyzer(word))) != 1:
            raise ValueError(
                f"Features of definition search need an analyzer that keeps words such as "
                f"{word!r}. Leave out its stopwords."
            )


@kernel
def definition_features(
    words: Numbers, begins: Integers, phrase: Integers, asked: Integers, n_articles: int
) -> Floats:
    """The features of `DEFINITION` that come from words, of shape (n_documents, 4).

    Parameters
    ----------
    words : ndarray of int32
        Words of the documents, one after another.
    begins : ndarray of shape (n_documents + 1,)
    phrase : ndarray of int
        The words of the query in order; one below 0 is in no document.
    asked : ndarray of int
        The verb, the articles, and the negative words.
    n_articles : int
    """
    table = np.zeros((len(begins) - 1, 4))
    size = len(phrase)
    verb, articles = asked[0], np.sort(asked[1 : 1 + n_articles])
    negative = np.sort(asked[1 + n_articles :])
    for row in range(len(table)):
        begin, end = begins[row], begins[row + 1]
        n_found = 0
        for at in range(begin, end):
            if place_in(negative, words[at]) >= 0:
                table[row, 1] = 1.0
            if size == 0 or at + size > end:
                continue
            same = 0
            while same < size and words[at + same] == phrase[same]:
                same += 1
            if same < size:
                continue
            n_found += 1
            if at == begin:
                table[row, 0] = 1.0
            behind = at + size
            if (
                behind + 1 < end
                and words[behind] == verb
                and place_in(articles, words[behind + 1]) >= 0
            ):
                table[row, 3] = 1.0
        table[row, 2] = 1.0 if n_found > 1 else 0.0
    return table
