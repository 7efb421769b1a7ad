"""One measure as each of the known tools computes it, and in what they differ."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from localrank.measures.base import Measure, plain
from localrank.measures.parsing import TOOLS, parse_measure


def by_convention(name: str) -> dict[str, Measure]:
    """The measure with this name as each tool computes it: a dict by convention.

    Tools that do not have the measure, or have it only without a cutoff, are left out. Parameters
    in the name take precedence over all conventions.

    Parameters
    ----------
    name : str
        A name such as "ndcg@10".

    Examples
    --------
    >>> for convention, measure in by_convention("mrr@10").items():
    ...     print(f"{convention:10} {measure}")
    default    mrr@10
    trec_eval  mrr(ties=document_id)@10
    ranklib    mrr(ties=input)@10
    catboost   mrr(rel=0.50000003,ties=pessimistic)@10
    allrank    mrr(empty=1,target=highest,ties=input)@10
    """
    measures = {"default": parse_measure(name)}
    for convention in TOOLS:
        try:
            measures.setdefault(convention, parse_measure(name, convention))
        except ValueError:  # the tool does not have it: the name itself was read before
            continue
    return measures


def differences(measure: Measure, reference: Measure) -> list[str]:
    """How a measure differs from another one of the same kind, in words.

    Examples
    --------
    >>> from localrank.measures import NDCG
    >>> differences(NDCG(10, gain="linear", empty=1), NDCG(10))
    ['a query without a relevant document counts 1', 'gain is the label']
    """
    texts = []
    for parameter in fields(measure):
        value = getattr(measure, parameter.name)
        if value != getattr(reference, parameter.name):
            texts.append(_in_words(measure, parameter.name, value))
    return texts


# What the values of a parameter mean.
_WORDS: dict[tuple[str, Any], str] = {
    ("ties", "averaged"): "equal scores count with the mean over all orders",
    ("ties", "input"): "equal scores in input order",
    ("ties", "pessimistic"): "equal scores worst first",
    ("ties", "document_id"): "equal scores by descending document id, as float32",
    ("ties", "threshold"): "equal scores count at the end of their tie",
    ("gain", "linear"): "gain is the label",
    ("gain", "exponential"): "gain is 2^label - 1",
    ("discount", "letor"): "no discount at rank 2, then log2(rank)",
    ("discount", "log2"): "discount log2(1 + rank)",
    ("short", "zero"): "a query with fewer documents than the cutoff counts 0",
    ("short", "evaluate"): "a query with fewer documents than the cutoff counts",
    ("short", "shrink"): "a shorter list divides by its length",
    ("short", "pad"): "a shorter list divides by the cutoff",
    ("denominator", "reachable"): "divides by the cutoff if more documents are relevant",
    ("denominator", "relevant"): "divides by all relevant documents",
    ("target", "highest"): "only documents with the query's highest label count",
    ("empty", "skip"): "a query without {needed} is left out",
    ("cutoff", None): "all documents",
    ("relevance_level", None): "relevant above label 0",
}


def _in_words(measure: Measure, name: str, value: Any) -> str:
    needed = measure._needed()
    if (name, value) in _WORDS:
        return _WORDS[name, value].format(needed=needed)
    shown = plain(value)
    if name == "empty":
        return f"a query without {needed} counts {shown}"
    if name == "cutoff":
        return f"only the first {shown} documents"
    if name == "relevance_level":
        return f"relevant from label {shown}"
    return f"{measure.short_names.get(name, name)} is {shown}"
