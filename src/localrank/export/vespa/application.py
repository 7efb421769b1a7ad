"""Application packages of Vespa."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.export.base import ExportedModel, Files, GroupTarget, one_file
from localrank.export.vespa._rank_profile import RERANK_COUNT, RankProfile, check_columns
from localrank.formulas import (
    Linear,
    Net,
    NotExportable,
    OnColumns,
    Routed,
    TreeSum,
    WeightedSum,
)
from localrank.registry import declare

# The version whose published code the tests run.
VERSION = "8.700.24"

SERVICES = """<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
  </container>
  <content id="content" version="1.0">
    <redundancy>1</redundancy>
    <documents>
      <document type="{name}" mode="index"/>
    </documents>
    <nodes>
      <node hostalias="node1" distribution-key="0"/>
    </nodes>
  </content>
</services>
"""

_GLOBAL_PHASE = f"""
## The global phase

The model is computed in the global phase, in the container, because it looks at the whole list of
hits or needs double precision.

- `rerank-count: {RERANK_COUNT}` must be at least the number of hits of a query. The model does not
  rank hits beyond it, and it computes scales from the best hits of the first phase only.
- `first-phase` chooses these hits. Replace `nativeRank` with your own expression.
- Trees must stay in the expression of the phase. If they are in a function that the global phase
  calls, Vespa {VERSION} mixes up their inputs.
"""
_TREES = """\
Vespa reads `x <= threshold` in LightGBM's files as `x < threshold`. Each threshold here is the next
larger number, so that every document goes the same way. The files are for Vespa only. A document
without an attribute goes where missing values go in localrank.

"""
_TREES_GLOBAL = """\
Containers compute in double precision. Scores differ by the rounding of sums.
"""
_TREES_FIRST = """\
Content nodes may round thresholds and leaves to single precision: they do so in large sums of
trees, and if `vespa.eval.use_fast_forest` is on. Thresholds are numbers of single precision, so
features of single precision always go the same way. Another value may go another way if no number
of single precision lies between it and a threshold. Leaves are rounded.
"""


@declare("vespa", "an application package of Vespa, with a rank profile")
class Vespa(GroupTarget):
    """An application package of Vespa: a schema, a rank profile and files of trees.

    Every split sends every value of single precision where the ranker sends it; in the global
    phase, every value. Scores differ by the rounding of sums. Content nodes may round leaves to
    single precision. The global phase computes min-max scales and rank differences of the query.
    A query names its group with `query(group)`.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60)
    >>> files = Vespa().files(exported_model(RankSVM().fit(dataset), "web"))
    >>> sorted(files)
    ['README.md', 'schemas/web.sd', 'schemas/web/web.profile', 'services.xml']
    """

    takes = (Linear, TreeSum, Net, WeightedSum, OnColumns, Routed)

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        profile = RankProfile(model.name, model.formula, model.feature_names)
        return {
            "README.md": _readme(model, profile),
            "services.xml": SERVICES.format(name=model.name),
            f"schemas/{model.name}.sd": schema_text(model.name, profile.fields),
            f"schemas/{model.name}/{model.name}.profile": profile.text(),
            **{f"models/{file}": content for file, content in profile.models.items()},
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        return self.group_scores(files, dataset, 0)

    def group_scores(self, files: Files, dataset: RankingDataset, group: int) -> Floats:
        """What Vespa computes where every query names a group.

        Parameters
        ----------
        files : mapping
        dataset : RankingDataset
        group : int
            Its number, from 0.
        """
        return _scores(files, dataset, {"group": float(group)})

    def _refusal(self, model: ExportedModel) -> NotExportable:
        # First: the advice for scores would not help a model with such columns.
        check_columns(model.formula)
        return NotExportable(
            "An ensemble that standardises scores within the query",
            "Vespa has no mean and deviation over the hits of a query",
            'Combine with fixed scales, which are learned in training: combine="fixed" of a '
            "recipe, or aggregator=FixedScale() of Ensemble.",
        )


def _scores(files: Files, dataset: RankingDataset, inputs: Mapping[str, float]) -> Floats:
    """The scores that Vespa computes, given the inputs of the queries by name."""
    with one_file(files, "services.xml") as text:
        ElementTree.fromstring(text)
    with one_file(files, ".sd") as schema:
        attributes = _attributes(schema.decode(), dataset)
    with one_file(files, ".profile") as text:
        profile = text.decode()
        functions = dict(re.findall(r"function (\w+)\(\) {\s*expression: (.*)\n", profile))
        phase = re.findall(r"(?:first|global)-phase {[^}]*?expression: (.*)\n", profile)[-1]

        def trees(file: str) -> Value:
            with one_file(files, f"models/{file}") as model:
                return score_trees(
                    model,
                    expressions.function,
                    dataset.n_documents,
                    on_content_node="global-phase" not in profile,
                )

        features = {"attribute": attributes, "query": inputs.__getitem__, "lightgbm": trees}
        expressions = Expressions(functions, dataset, features)
        scores = expressions.value(phase)
    return np.broadcast_to(scores, dataset.n_documents).astype(np.float64)


def _attributes(schema: str, dataset: RankingDataset) -> Callable[[str], Value]:
    """The attributes of documents, in the precision of the schema."""
    fields = re.findall(r"field (\w+) type (double|float) ", schema)
    if len(fields) != dataset.n_features:
        raise ValueError(f"{len(fields)} fields for {dataset.n_features} features")
    numbers = {name: number for number, (name, _) in enumerate(fields)}

    def values(name: str) -> Value:
        kept = np.float32 if fields[numbers[name]][1] == "float" else np.float64
        return dataset.features[:, numbers[name]].astype(kept).astype(np.float64)

    return values


def schema_text(name: str, fields: Sequence[str]) -> str:
    """A schema whose fields are attributes of type double."""
    lines = [f"schema {name} {{", f"    document {name} {{"]
    for field in fields:
        lines += [f"        field {field} type double {{", "            indexing: attribute"]
        lines.append("        }")
    return "\n".join([*lines, "    }", "}", ""])


def _readme(model: ExportedModel, profile: RankProfile) -> str:
    name = model.name
    lines = [
        f"# {name} for Vespa",
        "",
        "This folder is an application package. `vespa deploy` takes it as it is. To add the model "
        "to your application:",
        "",
        f"- Copy `schemas/{name}/{name}.profile` to `schemas/YOUR_SCHEMA/`."
        + (" Copy `models/` to `models/`." if profile.models else ""),
        f"- Each function `feature_…` of the profile is one feature and reads `attribute(…)`. "
        f"`schemas/{name}.sd` has the fields. If Vespa computes a feature, write its expression "
        "instead, such as `bm25(title)`.",
        "- Fields are of type double, as features are in training. Type float halves their memory "
        "and rounds the features.",
    ]
    query = f"ranking.profile={name}"
    if profile.n_groups:
        query += " 'input.query(group)=NUMBER'"
        lines.append(
            f"- The profile has {profile.n_groups} groups of queries. The client chooses the group "
            "of a query and sends its number, from 0."
        )
    lines += ["", "Query:", "", f"    vespa query 'yql=select * from {name} where true' {query}"]
    if profile.is_global:
        lines += _GLOBAL_PHASE.splitlines()
    lines += ["", "## Exactness", ""]
    if profile.models:
        lines += (_TREES + (_TREES_GLOBAL if profile.is_global else _TREES_FIRST)).splitlines()
    else:
        lines.append("Vespa computes in double precision. Scores differ by the rounding of sums.")
    lines += model.renamed(profile.fields).splitlines()
    lines += ["", f"Written by localrank {model.facts.get('localrank', '')} for Vespa 8; tested "]
    lines[-1] += f"with the published Java code of {VERSION}."
    return "\n".join([*lines, ""])


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
        return _Parser(expression, self._called, self.function).value()

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


def reciprocal_rank(values: Floats, offsets: Integers, k: float = _K) -> Floats:
    """1 / (k + rank). The largest value of each list has rank 1.

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
    result[order] = 1.0 / (k + 1.0 + (np.arange(len(values)) - np.repeat(offsets[:-1], sizes)))
    return result


class _Parser:
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


# Content nodes compute large sums of trees in single precision: if a tree has more leaves than
# this, and the mean depth of the leaves, summed over the trees, is more than this.
_LEAVES, _DEPTH = 12, 2500


def in_single_precision(model: str | bytes) -> bool:
    """Whether content nodes round the thresholds and leaves of a file to single precision."""
    roots = [tree["tree_structure"] for tree in json.loads(model)["tree_info"]]
    depths = [_depths(root, 0) for root in roots if "leaf_value" not in root]
    deepness = sum(sum(tree) / len(tree) for tree in depths)
    return deepness > _DEPTH and max(map(len, depths), default=0) > _LEAVES


def _depths(node: Mapping[str, Any], depth: int) -> list[int]:
    """The depth of each leaf."""
    if "leaf_value" in node:
        return [depth]
    children = node["left_child"], node["right_child"]
    return [each for child in children for each in _depths(child, depth + 1)]


def score_trees(
    model: str | bytes,
    column: Callable[[str], Floats],
    n_documents: int,
    *,
    on_content_node: bool = False,
) -> Floats:
    """The scores that Vespa computes from a file of trees: double precision, in the file's order.

    Consecutive trees of one leaf are added up first, as Vespa's compiler does.

    Parameters
    ----------
    model : str or bytes
        Content of a file that `write_trees` wrote.
    column : callable
        A function from the name of a feature to its values, one per document.
    n_documents : int
    on_content_node : bool, default=False
        Whether a content node computes the scores. False: a container does.
    """
    content = json.loads(model)
    used = [column(name) for name in content["feature_names"]]
    rounded = np.float32 if on_content_node and in_single_precision(model) else np.float64
    total = np.zeros(n_documents)
    values = np.empty_like(total)
    roots = [tree["tree_structure"] for tree in content["tree_info"]]
    for is_leaf, group in groupby(roots, key=lambda root: "leaf_value" in root):
        if is_leaf:
            total += sum(root["leaf_value"] for root in group)
            continue
        for root in group:
            with np.errstate(over="ignore"):
                _fill(root, used, np.arange(n_documents), values, rounded)
            total += values
    return total


def _fill(
    node: Mapping[str, Any],
    columns: Sequence[Floats],
    rows: np.ndarray,
    values: Floats,
    rounded: type[np.floating[Any]],
) -> None:
    """Write the leaf values of the documents that reach a node."""
    if not len(rows):
        return
    if "leaf_value" in node:
        values[rows] = rounded(node["leaf_value"])
        return
    value = columns[node["split_feature"]][rows]
    threshold = np.float64(rounded(node["threshold"]))
    left = ~(value >= threshold) if node["default_left"] else value < threshold
    _fill(node["left_child"], columns, rows[left], values, rounded)
    _fill(node["right_child"], columns, rows[~left], values, rounded)
