"""Formulas as rank profiles of Vespa."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank.export._node_tables import largest_single_at_most, plain_thresholds
from localrank.formulas import (
    Column,
    Formula,
    Linear,
    Net,
    NotExportable,
    OnColumns,
    Routed,
    TreeSum,
    WeightedSum,
)
from localrank.trees import Leaf, Split, Trees, nested
from localrank.trees._columns import DEFAULT_LEFT, MISSING, MISSING_ZERO

# The number of hits that the global phase looks at. It must not be smaller than the lists.
RERANK_COUNT = 1000

# Functions over the hits of a query that Vespa does not have, by the kind of column.
_LACKING = {
    "deviation": "mean and deviation",
    "cut-deviation": "mean and deviation",
    "percentile": "ranks with ties",
    "centred-percentile": "ranks with ties",
    "robust-deviation": "medians",
    "filled": "medians",
    "min-max-zero": "test whether all values are equal",
    "aggregate": "such statistics",
    "standard-aggregate": "such statistics",
}


class RankProfile:
    """A rank profile that computes a formula, with the files of trees that it uses.

    Trees are in the expression of a phase itself, never in a function: if the global phase calls
    a function with trees, Vespa's container mixes up their inputs.

    Parameters
    ----------
    name : str
    formula : Formula
    feature_names : sequence of str

    Attributes
    ----------
    fields : list of str
        Attribute of each feature.
    functions : dict
        Expressions by the names of functions.
    models : dict
        Contents of the files of trees, by file name.
    n_groups : int
        Number of groups that `query(group)` chooses from. 0: the formula has no groups.
    is_global : bool
        Whether the global phase computes the formula, in a container. False: a content node does.
    """

    def __init__(self, name: str, formula: Formula, feature_names: Sequence[str]) -> None:
        check_model_name(name)
        self.name = name
        self.fields = field_names(feature_names)
        self.functions: dict[str, str] = {}
        self.models: dict[str, str] = {}
        self.n_groups = 0
        self._n_nets = 0
        self._features = [f"feature_{field}" for field in self.fields]
        self._over_hits: set[str] = set()
        check_columns(formula)
        self.is_global = _is_global(formula)
        # Containers compute in double precision. Content nodes may not.
        self._single = () if self.is_global else self._features
        self._expression = self._of(formula, self._features)

    def text(self) -> str:
        """The content of the profile's file."""
        lines = [f"rank-profile {self.name} {{"]
        if self.n_groups:
            lines += ["    inputs {", "        query(group) double: 0", "    }"]
        for name, expression in self.functions.items():
            lines += [f"    function {name}() {{", f"        expression: {expression}", "    }"]
        if self.is_global:
            features = [name for name in self._features if name in self.functions]
            lines += [
                # Chooses the hits that the global phase ranks.
                "    first-phase {",
                "        expression: nativeRank",
                "    }",
                "    match-features {",
                *(f"        {name}" for name in features),
                "    }",
                "    global-phase {",
                f"        rerank-count: {RERANK_COUNT}",
            ]
        else:
            lines.append("    first-phase {")
        return "\n".join([*lines, f"        expression: {self._expression}", "    }", "}", ""])

    def _of(self, formula: Formula, columns: Sequence[str]) -> str:
        """The expression of a formula on columns, which are given by the names of functions."""
        match formula:
            case Linear():
                return self._sum(formula.weights, columns, formula.constant)
            case TreeSum():
                self._define_features(np.unique(formula.trees.split_features).tolist(), columns)
                file = f"{unused(f'{self.name}_trees', self._model_names())}.json"
                self.models[file] = write_trees(formula.trees, columns, self._single)
                return f'lightgbm("{file}")'
            case Net():
                return self._net(formula, columns)
            case WeightedSum():
                terms = [f"({self._of(term, columns)})" for term in formula.terms]
                return self._sum(formula.weights, terms, formula.constant)
            case OnColumns():
                made = [self._column(column, columns) for column in formula.columns]
                return self._of(formula.term, made)
            case Routed():
                return self._routed(formula, columns)
            case _:
                raise TypeError(formula)

    def _routed(self, formula: Routed, columns: Sequence[str]) -> str:
        if self.n_groups:
            raise NotExportable(
                "A choice of groups within another choice of groups",
                "query(group) is one number",
                "Use onnx, or run the model with `localrank serve`.",
            )
        self.n_groups = len(formula.groups)
        members = [self._of(group, columns) for group in formula.groups]
        return _chosen(members, 0)

    def _sum(self, weights: Array, terms: Sequence[str], constant: float = 0.0) -> str:
        used = np.flatnonzero(weights).tolist()
        self._define_features(used, terms)
        parts = [
            terms[i] if weights[i] == 1 else f"{_number(weights[i])} * {terms[i]}" for i in used
        ]
        if constant or not parts:
            parts.append(_number(constant))
        return " + ".join(parts)

    def _net(self, net: Net, columns: Sequence[str]) -> str:
        used = np.flatnonzero(np.any(net.hidden != 0, axis=0) | (net.skip != 0)).tolist()
        self._define_features(used, columns)
        self._n_nets += 1
        net_name = f"net_{self._n_nets}"
        most = _number(net.most)
        inputs = [f"{net_name}_input_{i}" for i in range(len(columns))]
        for i in used:
            value = f"({columns[i]} - {_number(net.mean[i])}) / {_number(net.scale[i])}"
            self.functions[inputs[i]] = f"max(-{most}, min({most}, {value}))"
        units = []
        for number, (weights, bias) in enumerate(zip(net.hidden, net.bias, strict=True)):
            units.append(f"{net_name}_unit_{number}")
            self.functions[units[-1]] = f"max(0, {self._sum(weights, inputs, float(bias))})"
        return self._sum(np.append(net.output, net.skip), [*units, *inputs])

    def _column(self, column: Column, columns: Sequence[str]) -> str:
        """The name of the function that computes a column."""
        kind = str(column.kind)
        base = columns[column.feature]
        if kind == "feature":
            return base
        if kind == "product":
            other = columns[column.other]
            self._define_features([column.feature, column.other], columns)
            name = self._define(f"product_{_short(base)}_{_short(other)}", f"{base} * {other}")
            if {base, other} & self._over_hits:
                self._over_hits.add(name)
            return name
        self._define_features([column.feature], columns)
        if kind == "missing":
            return self._define(f"missing_{_short(base)}", f"isNan({base})")
        if base in self._over_hits:
            raise NotExportable(
                "A coordinate of a coordinate",
                "Vespa normalizes over the hits of a query only once",
                "Use coordinates of features.",
            )
        name = self._min_max(base) if kind == "min-max" else self._rank_difference(base)
        self._over_hits.add(name)
        return name

    def _min_max(self, base: str) -> str:
        return self._define(f"min_max_{_short(base)}", f"normalize_linear({base})")

    def _rank_difference(self, base: str) -> str:
        """The number of hits with a smaller value minus the number with a larger value.

        In both ranks, equal values are in the order of the hits, which cancels in the difference.
        Adding 0 turns -0 into 0. Missing values stay missing.
        """
        rising = self._define(f"rising_{_short(base)}", f"0 + {base}")
        falling = self._define(f"falling_{_short(base)}", f"0 - {base}")
        ranks = f"1 / reciprocal_rank({falling}) - 1 / reciprocal_rank({rising})"
        return self._define(f"rank_difference_{_short(base)}", f"floor(0.5 + {ranks}) + 0 * {base}")

    def _define(self, name: str, expression: str) -> str:
        """Define a function, unless one with this expression exists. Returns its name."""
        taken = {known for known, text in self.functions.items() if text != expression}
        name = unused(name, taken)
        self.functions[name] = expression
        return name

    def _define_features(self, numbers: Sequence[int], columns: Sequence[str]) -> None:
        """Define functions for those of the columns that are features."""
        for number in numbers:
            name = columns[number]
            if name in self._features:
                field = self.fields[self._features.index(name)]
                self.functions.setdefault(name, f"attribute({field})")

    def _model_names(self) -> set[str]:
        return {file.removesuffix(".json") for file in self.models}


def check_columns(formula: Formula) -> None:
    """Refuse columns that Vespa cannot compute over the list."""
    steps = [step for step in formula.walk() if isinstance(step, OnColumns)]
    kinds = {str(column.kind) for step in steps for column in step.columns}
    if lacking := sorted(kinds & _LACKING.keys() - {"filled"}):
        raise NotExportable(
            "A model with coordinates of documents in their list",
            f"Vespa has no {_LACKING[lacking[0]]} over the hits of a query",
            "Use coordinates that Vespa computes: the method engine-coordinates, or "
            'QueryCoordinates(…, parts="md"). Or use onnx.',
        )
    if "filled" in kinds:
        raise NotExportable(
            "A model that replaces missing values with the median of their list",
            f"Vespa has no {_LACKING['filled']} over the hits of a query",
            "Use a method of trees, which handle missing values, such as lambdamart; or onnx.",
        )


def _is_global(formula: Formula) -> bool:
    """Whether a formula uses other hits, or products of features that content nodes may round."""
    for step in formula.walk():
        if isinstance(step, OnColumns):
            kinds = {str(column.kind) for column in step.columns}
            trees = [term for term in step.walk() if isinstance(term, TreeSum)]
            if kinds & {"min-max", "rank-difference"} or ("product" in kinds and trees):
                return True
    return False


def _chosen(members: Sequence[str], first: int) -> str:
    """The expression that chooses the group which the query names. Numbers begin with `first`.

    The groups are halved again and again: parsers have trouble with expressions nested hundreds
    of levels deep.
    """
    if len(members) == 1:
        return members[0]
    half = (len(members) + 1) // 2
    lower, upper = _chosen(members[:half], first), _chosen(members[half:], first + half)
    return f"if (query(group) < {first + half}, {lower}, {upper})"


def _short(name: str) -> str:
    return name.removeprefix("feature_")


def _number(value: float) -> str:
    return repr(float(value))


def write_trees(trees: Trees, columns: Sequence[str], single: Container[str] = ()) -> str:
    """Trees as JSON in the shape of `Booster.dump_model()`.

    Vespa's importer writes `x < threshold` for LightGBM's `x <= threshold`, so each threshold here
    is the next larger number. It sends missing values by `default_left`, whatever `missing_type`
    says, so `default_left` is set to where they go.

    Parameters
    ----------
    trees : Trees
    columns : sequence of str
        Rank features or functions that the splits compare, one per feature number. The file names
        those that it uses.
    single : container of str
        Columns with thresholds of single precision, which Vespa's rounding does not change. Their
        values of single precision go where the trees send them. In other columns, all values do.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> ranker = LambdaMART(1, n_leaves=2).fit(dataset)
    >>> split = json.loads(write_trees(ranker.trees_, ["a"] * dataset.n_features))
    >>> threshold = split["tree_info"][0]["tree_structure"]["threshold"]
    >>> bool(threshold == np.nextafter(ranker.trees_.thresholds[0], np.inf))
    True
    """
    of_single = [number for number, column in enumerate(columns) if column in single]
    is_single = np.isin(trees.split_features, of_single)
    trees = replace(trees, thresholds=_limits(plain_thresholds(trees), is_single))
    used = np.unique(trees.split_features).tolist()
    numbers = {column: number for number, column in enumerate(used)}
    model = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(used) - 1,
        # An objective for which Vespa does not change the sum.
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": [columns[column] for column in used],
        "tree_info": [
            {
                "tree_index": number,
                "num_cat": 0,
                "shrinkage": 1,
                "tree_structure": _node(tree, numbers),
            }
            for number, tree in enumerate(nested(trees))
        ],
        "pandas_categorical": [],
    }
    return json.dumps(model, indent=1) + "\n"


def _limits(thresholds: Floats, is_single: Flags) -> Floats:
    """Limits: a value is less than its limit exactly if it is at most its threshold."""
    with np.errstate(over="ignore"):
        singles = np.nextafter(largest_single_at_most(thresholds).astype(np.float32), np.inf)
    limits: Floats = np.nextafter(thresholds, np.inf)
    # Beyond all numbers of single precision, also after rounding.
    beyond = np.maximum(limits, 2.0**128)
    singles = np.where(np.isfinite(singles), singles.astype(np.float64), beyond)
    return np.where(is_single, singles, limits)


def _node(tree: Split | Leaf, numbers: Mapping[int, int]) -> dict[str, Any]:
    if isinstance(tree, Leaf):
        return {"leaf_value": tree.value}
    return {
        "split_feature": numbers[tree.feature],
        "threshold": tree.threshold,
        "decision_type": "<=",
        "default_left": _missing_left(tree),
        "missing_type": "NaN",
        "left_child": _node(tree.left, numbers),
        "right_child": _node(tree.right, numbers),
    }


def _missing_left(split: Split) -> bool:
    """Whether documents with a missing value go left."""
    kind, zero_left = split.decision & MISSING, split.threshold > 0
    if not kind:
        return zero_left
    left = bool(split.decision & DEFAULT_LEFT)
    if kind == MISSING_ZERO and left != zero_left:
        raise NotExportable(
            "A tree that treats zero as missing",
            "Vespa does not treat zeros as missing values: it compares them with the threshold",
            "Train without zero_as_missing.",
        )
    return left


# A letter, then letters, digits and underscores.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Words that are reserved in the language of schemas.
_RESERVED = {
    "attribute",
    "case",
    "documentid",
    "else",
    "if",
    "index",
    "normalize_linear",
    "position",
    "rankfeatures",
    "reciprocal_rank",
    "reciprocal_rank_fusion",
    "sddocname",
    "select_input",
    "summary",
    "summaryfeatures",
    "switch",
    "tokenize",
    "unpack_bits",
}


def field_names(features: Iterable[str]) -> list[str]:
    """A field name for each feature: the feature's name if Vespa takes it.

    For Vespa, names that differ only in upper and lower case are the same.

    Examples
    --------
    >>> field_names(["bm25", "title length", "if", "BM25"])
    ['bm25', 'field_title_length', 'field_if', 'field_bm25']
    """
    features = list(features)
    kept = {name.lower(): name for name in reversed(features) if _plain(name)}
    taken = set(kept)
    result = []
    for feature in features:
        name = feature
        if kept.get(feature.lower()) != feature:
            name = unused(f"field_{re.sub('[^a-z0-9_]', '_', feature.lower())}", taken)
            taken.add(name)
        result.append(name)
    return result


def _plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _RESERVED


def check_model_name(name: str) -> None:
    """Refuse a name that Vespa uses itself: the model's schema has the same name."""
    if name == "document":
        raise ValueError(
            "A model for Vespa cannot have the name 'document': all schemas inherit from the "
            "schema of this name. Give the model another name."
        )


def unused(name: str, taken: Container[str]) -> str:
    """The name, with a number after it if it is taken.

    Examples
    --------
    >>> unused("net", ["net", "net_2"])
    'net_3'
    """
    number, result = 1, name
    while result in taken:
        number += 1
        result = f"{name}_{number}"
    return result
