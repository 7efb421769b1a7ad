"""Computes ranking expressions of Vespa for lists of documents.

It knows the part of the language that exports write: numbers, + - * /, ==, <, calls, and names of
functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|\"(?P<text>[^\"]*)\"|(?P<sign>==|[-+*/(),<]))"
)
# A normalizer ignores values beyond the range of single precision.
_FLOAT_MAX = float(np.finfo(np.float32).max)
# `reciprocal_rank` adds this to ranks by default.
_K = 60.0

Value = Any  # a number, or one per document


class Expressions:
    """The values of expressions for all documents of a dataset, in double precision.

    Parameters
    ----------
    functions : mapping
        Expressions by the names of functions.
    dataset : RankingDataset
        The documents. Normalizers look at whole lists.
    features : mapping of callables
        The rank features by name, such as `attribute`: functions of the argument in parentheses.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [3.0], [2.0]], qid=[1, 1, 1])
    >>> expressions = Expressions(
    ...     {"x": "attribute(x)", "m": "normalize_linear(x)"},
    ...     dataset,
    ...     {"attribute": lambda name: dataset.features[:, 0]},
    ... )
    >>> expressions.value("0.5 * m + if (x == 3, 10, 0)")
    array([ 0.  , 10.5 ,  0.25])
    """

    def __init__(
        self,
        functions: Mapping[str, str],
        dataset: RankingDataset,
        features: Mapping[str, Callable[[str], Value]],
    ) -> None:
        self._functions = functions
        self._dataset = dataset
        self._features = features
        self._known: dict[str, Value] = {}

    def function(self, name: str) -> Value:
        """The value of a function."""
        if name not in self._known:
            self._known[name] = self.value(self._functions[name])
        return self._known[name]

    def value(self, expression: str) -> Value:
        """The value of an expression."""
        return _Reading(expression, self._called, self.function).value()

    def _called(self, name: str, arguments: list[Any]) -> Value:
        if name in self._features:
            return self._features[name](arguments[0])
        with np.errstate(invalid="ignore"):
            match name:
                case "if":
                    return np.where(*arguments)
                case "max":
                    return np.maximum(*arguments)
                case "min":
                    return np.minimum(*arguments)
                case "floor":
                    return np.floor(arguments[0])
                case "isNan":
                    return np.isnan(arguments[0]).astype(np.float64)
                case "normalize_linear":
                    return normalize_linear(arguments[0], self._dataset.offsets)
                case "reciprocal_rank":
                    return reciprocal_rank(arguments[0], self._dataset.offsets)
        raise ValueError(f"The expression calls {name!r}, which no export writes.")


def normalize_linear(values: Floats, offsets: Integers) -> Floats:
    """Scale each list linearly: the smallest value becomes 0, the largest 1. All equal: 1/2.

    The steps and the rounding are Vespa's. Values that are not finite in single precision are
    ignored.

    Examples
    --------
    >>> normalize_linear(np.array([1.0, np.nan, 2.0, 5.0, 7.0]), np.array([0, 4, 5]))
    array([0.  ,  nan, 0.25, 1.  , 0.5 ])
    """
    begins, sizes = offsets[:-1], np.diff(offsets)
    counted = np.abs(values) < _FLOAT_MAX
    low = np.minimum.reduceat(np.where(counted, values, _FLOAT_MAX), begins)
    high = np.maximum.reduceat(np.where(counted, values, -_FLOAT_MAX), begins)
    varies = high > low
    with np.errstate(over="ignore"):
        scale = np.where(varies, 1.0 / np.where(varies, high - low, 1.0), 0.0)
    middle = (low + high) * 0.5
    result: Floats = 0.5 + np.repeat(scale, sizes) * (values - np.repeat(middle, sizes))
    return result


def reciprocal_rank(values: Floats, offsets: Integers) -> Floats:
    """1 / (60 + rank). The largest value of each list has rank 1.

    Equal values have different ranks, in the order of the hits. Missing values come last.

    Examples
    --------
    >>> 1 / reciprocal_rank(np.array([5.0, 7.0, np.nan, 7.0]), np.array([0, 4]))
    array([63., 61., 64., 62.])
    """
    sizes = np.diff(offsets)
    lists = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-np.where(np.isnan(values), -np.inf, values), lists))
    result = np.empty(len(values))
    result[order] = 1.0 / (_K + 1.0 + (np.arange(len(values)) - np.repeat(offsets[:-1], sizes)))
    return result


class _Reading:
    """One expression, read from left to right and computed while it is read."""

    def __init__(
        self,
        expression: str,
        call: Callable[[str, list[Any]], Value],
        function: Callable[[str], Value],
    ) -> None:
        self._tokens = _tokens(expression)
        self._place = 0
        self._call = call
        self._function = function

    def value(self) -> Value:
        value = self._comparison()
        if self._place < len(self._tokens):
            raise ValueError(f"The expression should end before {self._tokens[self._place][1]!r}.")
        return value

    def _comparison(self) -> Value:
        value = self._sum()
        if self._take("=="):
            return value == self._sum()
        return value < self._sum() if self._take("<") else value

    def _sum(self) -> Value:
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> Value:
        value = self._one()
        while sign := self._take("*", "/"):
            other = self._one()
            value = value * other if sign == "*" else value / other
        return value

    def _one(self) -> Value:
        if self._take("-"):
            return -self._one()
        if self._take("("):
            value = self._comparison()
            self._expect(")")
            return value
        kind, text = self._tokens[self._place]
        self._place += 1
        if kind == "number":
            return float(text)
        if not self._take("("):
            return self._function(text)
        if text in ("attribute", "query", "lightgbm"):
            argument = self._tokens[self._place][1]
            self._place += 1
            self._expect(")")
            return self._call(text, [argument])
        arguments = [self._comparison()]
        while self._take(","):
            arguments.append(self._comparison())
        self._expect(")")
        return self._call(text, arguments)

    def _take(self, *signs: str) -> str:
        """The next token, if it is one of the signs."""
        if self._place < len(self._tokens):
            kind, text = self._tokens[self._place]
            if kind == "sign" and text in signs:
                self._place += 1
                return text
        return ""

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise ValueError(f"The expression lacks {sign!r} at token {self._place + 1}.")


def _tokens(expression: str) -> list[tuple[str, str]]:
    """The kinds and texts of the tokens of an expression."""
    result, place = [], 0
    expression = expression.rstrip()
    while place < len(expression):
        token = _TOKEN.match(expression, place)
        if token is None or token.lastgroup is None:
            raise ValueError(f"The expression cannot be read at {expression[place:][:20]!r}.")
        result.append((token.lastgroup, token[token.lastgroup]))
        place = token.end()
    return result
