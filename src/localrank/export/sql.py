"""SQL: linear models and small trees as one SQL expression."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export._node_tables import ZERO, plain_thresholds
from localrank.export.base import ExportedModel, Files, Target, one_file
from localrank.formulas import (
    Column,
    Formula,
    Linear,
    Net,
    NotExportable,
    OnColumns,
    TreeSum,
    WeightedSum,
)
from localrank.registry import declare
from localrank.trees import Trees
from localrank.trees._columns import DEFAULT_LEFT, MISSING, MISSING_ZERO
from localrank.trees.nested import Leaf, Split, nested

# Limits of databases. SQLite and DuckDB allow expressions 1,000 levels deep, and each tree of a
# sum is one level. Services limit the length of a query, BigQuery to a million characters.
MAX_TREES, MAX_CHARACTERS = 800, 1_000_000
# PostgreSQL allows this many columns in a table, SQLite 2,000.
MAX_COLUMNS = 1600
# PostgreSQL cuts longer names.
MAX_NAME_BYTES = 63
# The file that creates the table of documents.
TABLE = "documents.sql"
# SQLite reads numbers exactly from 1 / _LARGEST to _LARGEST.
_LARGEST, _POWER = 1e18, 2.0**60
# No feature is larger: datasets refuse larger values.
_LARGEST_VALUE = 1e100


@declare("sql", "one SQL expression, for linear models and small trees")
class SQL(Target):
    """Linear models, sums of trees and sums of both as one expression of standard SQL.

    Features are columns of a table `documents`, in double precision; NULL is a missing value. The
    expression compares and adds up as the ranker does: in a database that computes in double
    precision, the scores are equal to the last bit.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> ranker = LambdaMART(2, n_leaves=2).fit(dataset)
    >>> files = SQL().files(exported_model(ranker, "shop"))
    >>> sorted(files)
    ['README.md', 'documents.sql', 'shop.sql']
    >>> bool(np.array_equal(SQL().scores(files, dataset), ranker.predict(dataset)))
    True
    """

    takes = (Linear, TreeSum, WeightedSum, OnColumns)
    holder = "an SQL expression"

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        if f"{model.name.lower()}.sql" == TABLE:
            raise ValueError(
                f"A model for SQL cannot have the name {model.name!r}: the table has this name. "
                "Give the model another name."
            )
        _check_names(model.feature_names)
        columns = [_quoted(name) for name in model.feature_names]
        if not all(map(_is_expression, model.formula.walk())):
            raise self._refusal(model)
        score = "score"
        while score in (name.lower() for name in model.feature_names):
            score += "_"
        expression = _expression(model.formula, [f"d.{column}" for column in columns])
        query = f'SELECT d.*,\n{expression}\nAS "{score}"\nFROM "documents" AS d\n'
        if len(query) > MAX_CHARACTERS:
            raise NotExportable(
                f"A query of {len(query):,} characters",
                f"many databases take at most {MAX_CHARACTERS:,}",
                "Train fewer or smaller trees, or export to onnx.",
            )
        types = ",\n".join(f"  {column} DOUBLE PRECISION" for column in columns)
        return {
            TABLE: f'CREATE TABLE "documents" (\n{types}\n)\n',
            f"{model.name}.sql": query,
            "README.md": _readme(model, score),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        """The scores that SQLite computes: the files are run in memory by Python's `sqlite3`."""
        queries = {name: content for name, content in files.items() if name != TABLE}
        rows = np.asarray(dataset.features, np.float64).astype(object)
        rows[np.isnan(dataset.features)] = None
        with closing(sqlite3.connect(":memory:")) as connection:
            with one_file(files, TABLE) as table:
                connection.execute(table.decode())
                places = ", ".join("?" * dataset.n_features)
                connection.executemany(f'INSERT INTO "documents" VALUES ({places})', rows.tolist())
            with one_file(queries, ".sql") as query:
                scores = np.array([row[-1] for row in connection.execute(query.decode())], float)
                if len(scores) != dataset.n_documents:
                    raise ValueError(f"{len(scores)} scores of {dataset.n_documents} documents")
        return scores

    def _refusal(self, model: ExportedModel) -> NotExportable:
        if all(isinstance(step, Net) or _is_expression(step) for step in model.formula.walk()):
            return NotExportable(
                model.ranker,
                "a net is too long for one expression",
                "Use onnx, or run the model with `localrank serve`.",
            )
        return super()._refusal(model)


def _check_names(names: Sequence[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise NotExportable(
            f"A model with {len(names):,} features",
            f"databases limit the columns of a table, PostgreSQL to {MAX_COLUMNS:,}",
            "Train with fewer features, or export to onnx.",
        )
    first: dict[bytes, str] = {}
    for name in names:
        column = name.lower().encode()[:MAX_NAME_BYTES]
        if column in first:
            raise NotExportable(
                f"A model with the features {first[column]!r} and {name!r}",
                "databases treat these as the same column",
                f"Train with feature names that differ in their first {MAX_NAME_BYTES} bytes, and "
                "in more than upper and lower case.",
            )
        first[column] = name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_expression(step: Formula) -> bool:
    """Whether a step of a formula is an expression of a document's columns."""
    if isinstance(step, OnColumns):
        return {column.kind for column in step.columns} <= {"feature", "product"}
    return isinstance(step, SQL.takes)


def _expression(formula: Formula, columns: list[str]) -> str:
    """The score as an expression of the columns, each an expression itself."""
    match formula:
        case Linear():
            return _linear(formula, columns)
        case TreeSum():
            return _trees(formula.trees, columns)
        case WeightedSum():
            terms = [
                f"{_number(float(weight))} * ({_expression(term, columns)})"
                for weight, term in zip(formula.weights, formula.terms, strict=True)
            ]
            return " +\n".join([_number(formula.constant), *terms])
        case OnColumns():
            made = [_column(column, columns) for column in formula.columns]
            return _expression(formula.term, made)
        case _:
            raise TypeError(formula)


def _column(column: Column, columns: list[str]) -> str:
    if column.kind == "feature":
        return columns[column.feature]
    return f"({columns[column.feature]} * {columns[column.other]})"


def _linear(formula: Linear, columns: list[str]) -> str:
    """A weighted sum, added up in four parts as the rankers do."""
    products = [
        f"{column} * {_number(float(weight))}"
        for column, weight in zip(columns, formula.weights, strict=True)
    ]
    even = len(products) // 4 * 4
    a, b, c, d = (" + ".join(products[lane:even:4]) for lane in range(4))
    a = " + ".join(filter(None, [a, *products[even:]]))
    text = f"(({a}) + ({b})) + (({c}) + ({d}))" if even else a
    return f"{text} + {_number(formula.constant)}" if formula.constant else text


def _trees(trees: Trees, columns: list[str]) -> str:
    """A sum of trees, added up from first to last as the rankers do."""
    if trees.n_trees > MAX_TREES:
        raise NotExportable(
            f"A sum of {trees.n_trees:,} trees",
            f"databases limit the depth of an expression, and more than {MAX_TREES} trees come "
            f"near that limit",
            "Train fewer trees, or export to onnx.",
        )
    plain = replace(trees, thresholds=plain_thresholds(trees))
    sums = [_tree(tree, columns) for tree in nested(plain)]
    # The first term makes the sum double precision, whatever the type of the numbers.
    return "(" + " +\n".join(["CAST(0 AS DOUBLE PRECISION)", *sums]) + ")"


def _tree(tree: Split | Leaf, columns: list[str]) -> str:
    """A tree as one CASE. Nested CASEs could be deeper than databases allow.

    The leaves come from left to right. A document that reaches a leaf's line belongs to none of
    the leaves before it. It therefore goes right wherever the path to this leaf goes right, and
    only the turns to the left need a condition.
    """
    if isinstance(tree, Leaf):
        return _number(tree.value)
    leaves: list[tuple[list[str], float]] = []

    def visit(part: Split | Leaf, turns: list[str]) -> None:
        if isinstance(part, Leaf):
            leaves.append((turns, part.value))
            return
        visit(part.left, [*turns, _goes_left(part, columns)])
        visit(part.right, turns)

    visit(tree, [])
    *cases, (_, last) = leaves
    lines = [f"WHEN {' AND '.join(turns)} THEN {_number(value)}" for turns, value in cases]
    return "\n".join(["CASE", *lines, f"ELSE {_number(last)} END"])


def _goes_left(split: Split, columns: list[str]) -> str:
    column = columns[split.feature]
    is_default_left = bool(split.decision & DEFAULT_LEFT)
    test = f"{column} IS NOT NULL"
    if split.threshold < _LARGEST_VALUE:
        test = f"{column} <= {_number(split.threshold)}"
    if split.decision & MISSING_ZERO:
        if is_default_left:
            return f"({test} OR ABS({column}) <= {_number(ZERO)} OR {column} IS NULL)"
        return f"({test} AND ABS({column}) > {_number(ZERO)})"
    left = is_default_left if split.decision & MISSING else split.threshold >= 0
    return f"({test} OR {column} IS NULL)" if left else test


def _number(value: float) -> str:
    """A text that databases read as exactly this number.

    The exponent makes it a number in double precision. SQLite reads 17 digits exactly if a number
    has ordinary size. Other numbers are written times a power of two, which changes no digit.
    """
    factor = ""
    while abs(value) > _LARGEST:
        value, factor = value / _POWER, f"{factor} * {_POWER:.0f}e0"
    while 0 < abs(value) < 1 / _LARGEST:
        value, factor = value * _POWER, f"{factor} / {_POWER:.0f}e0"
    short = repr(value)
    # SQLite also reads few digits exactly, but not always 14 to 16 digits.
    text = f"{short}e0" if len(short) <= 10 and "e" not in short else f"{value:.16e}"
    return f"({text}{factor})" if factor else text


def _readme(model: ExportedModel, score: str) -> str:
    return f"""# {model.name}.sql

A ranker as one query of standard SQL, written{model.by_localrank}.

- `documents.sql` creates a table `documents` with a column for each feature. Add the columns that
  you need, such as the ids of queries and documents, or create a view of this name with these
  columns.
- `{model.name}.sql` selects all columns of `documents` and the score of each row, `{score}`. A
  higher score is better.

```
SELECT * FROM (… {model.name}.sql …) AS ranked ORDER BY "query", "{score}" DESC
```

## What is exact

Columns must be DOUBLE PRECISION; NULL is a missing value. Thresholds and weights have 17 digits,
which read back as the same numbers. The query compares as the ranker does, and adds up in the same
order: a database that computes in IEEE double precision gives the same scores to the last bit.
Features in single precision are compared as localrank compares the same numbers in double
precision.

The text uses CASE, AND, OR, IS NULL, ABS, CAST, numbers with exponents, and names in double
quotes. It was tested with SQLite and DuckDB. MySQL needs the SQL mode ANSI_QUOTES and a cast AS
DOUBLE.
"""
