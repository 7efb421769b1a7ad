"""Formulas of text features, transcribed as slowly as they are written."""

import unicodedata
from collections import Counter
from functools import cache
from itertools import pairwise
from math import log, sqrt

INVISIBLE = {0x00AD, 0x061C, 0xFEFF, *range(0x200C, 0x2010), *range(0x202A, 0x202F)} | {
    *range(0x2060, 0x2065),
    *range(0x2066, 0x206A),
}


def words(text):
    """Words of a text, character by character."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(character for character in text if ord(character) not in INVISIBLE)
    text = unicodedata.normalize("NFKC", text.casefold())
    complete, current = [], ""
    for character in text:
        kind = unicodedata.category(character)[0] if ord(character) < 0xF0000 else "C"
        begins = kind in "LN"
        joins = begins and not is_alone(character) and not (current and is_alone(current))
        if joins or (kind == "M" and current):
            current += character
        else:
            if current:
                complete.append(current)
            current = character if begins else ""
    return [*complete, current] if current else complete


def is_alone(word):
    """Whether the first character is of Han or Hiragana, by its name."""
    name = unicodedata.name(word[0], "")
    scripts = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "HENTAIGANA")
    return name.startswith(scripts) or word[0] in "々〆〇"


def spread(values):
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return sum(values), min(values), max(values), mean, variance


def features(query, document, collection, k1=1.2, b=0.75, mu=2000, lam=0.1, delta=0.7):
    """Features of a document, all given as lists of words, by name."""
    n, size = len(collection), sum(map(len, collection))
    average = size / n if size else 1.0
    terms = list(dict.fromkeys(query))
    repeats = Counter(query)
    counts = Counter(document)
    length = len(document)

    @cache
    def df(word):
        return sum(word in other for other in collection)

    @cache
    def cf(word):
        return sum(other.count(word) for other in collection)

    @cache
    def idf(word):
        return log((n + 1) / (df(word) + 0.5))

    def p(word):
        return (cf(word) + 1) / (size + 1)

    def ntf(word):
        return counts[word] / length if length else 0.0

    both = [word for word in terms if counts[word]]
    k = k1 * (1 - b + b * length / average)
    bm25 = sum(repeats[w] * idf(w) * counts[w] / (counts[w] + k) for w in both)
    five = ("sum", "min", "max", "mean", "variance")
    single = "covered covered_ratio boolean cosine lm_abs lm_dir lm_jm bm25 log_bm25 log_tf log_icf"
    single += " log_ntf_idf log_ntf log_ntf_icf log_idf"
    groups = [f"{of}_{what}" for of in ("idf", "tf", "ntf", "tfidf") for what in five]
    result = dict.fromkeys([*single.split(), *groups], 0.0)
    result["length"] = length
    if not terms:
        return result
    result["covered"] = len(both)
    result["covered_ratio"] = len(both) / len(terms)
    for of, value in (
        ("idf", idf),
        ("tf", lambda w: counts[w]),
        ("ntf", ntf),
        ("tfidf", lambda w: counts[w] * idf(w)),
    ):
        for what, number in zip(five, spread([value(w) for w in terms]), strict=True):
            result[f"{of}_{what}"] = number
    result["boolean"] = float(all(counts[w] for w in terms))
    dot = sum(repeats[w] * idf(w) * counts[w] * idf(w) for w in both)
    norms = [sqrt(sum((vector[w] * idf(w)) ** 2 for w in vector)) for vector in (repeats, counts)]
    result["cosine"] = dot / (norms[0] * norms[1]) if dot else 0.0
    result["bm25"] = bm25
    result["log_bm25"] = log(max(bm25, 1e-3))
    for w in query:
        if not length:
            result["lm_abs"] += log(p(w))
            result["lm_jm"] += log(p(w))
        else:
            kept = max(counts[w] - delta, 0) / length
            result["lm_abs"] += log(kept + delta * len(counts) / length * p(w))
            result["lm_jm"] += log((1 - lam) * counts[w] / length + lam * p(w))
        result["lm_dir"] += log((counts[w] + mu * p(w)) / (length + mu))
    for w in both:
        rarity = size / max(cf(w), 1)
        result["log_tf"] += log(counts[w] + 1)
        result["log_icf"] += log(rarity + 1)
        result["log_ntf_idf"] += log(ntf(w) * idf(w) + 1)
        result["log_ntf"] += log(ntf(w) + 1)
        result["log_ntf_icf"] += log(ntf(w) * rarity + 1)
        result["log_idf"] += log(idf(w))
    return result


def window(query, document):
    """Different words of the query by the length of the shortest stretch that has them all."""
    terms = set(query)
    widths = [
        end - begin
        for begin in range(len(document))
        for end in range(begin + 1, len(document) + 1)
        if terms <= set(document[begin:end])
    ]
    return len(terms) / min(widths) if terms and widths else 0.0


def pairs(query, document):
    """Places at which neighbours of the query are neighbours, in the query's order."""
    asked = set(pairwise(query))
    return sum(pair in asked for pair in pairwise(document))
