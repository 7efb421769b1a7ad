"""What scoring by symmetric trees costs, beside CatBoost's own prediction, one thread.

Run with `python benchmarks/symmetric_trees.py`. CatBoost trains the models on fold 1 of MQ2007 (see
measuring.py), and both score the same arrays: 10,000 documents at once, and lists of 100. The clock
is the processor time of the process, both in turn, the least of many runs. "In rows" is our scoring
of trees of any shape. Scores are equal to the last bit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import catboost
import numpy as np
from measuring import mq2007_fold, options, row, sized

from localrank._base.arrays import Array
from localrank._kernels.sorting import read_only
from localrank.trees import Trees, read_catboost_json
from localrank.trees._columns import columns_of
from localrank.trees._scoring import MAX_TABLES, sum_leaves
from localrank.trees.trees import Scorer, _n_tables, rows_of

# Trees and their depth.
SHAPES = sized(((500, 6), (1_000, 6), (500, 4), (500, 8)), ((10, 6),))
DOCUMENTS = sized((10_000, 100), (100,))
REPEATS = sized(30, 2)


def main() -> None:
    options(__doc__).parse_args()
    train, _, source = mq2007_fold()
    rows = np.ascontiguousarray(np.resize(train.features, (max(DOCUMENTS), train.n_features)))
    for n_trees, depth in SHAPES:
        pool = catboost.Pool(train.features, train.labels, group_id=train.query_index)
        model, trees = trained(pool, n_trees, depth)
        for dtype in (np.float64, np.float32):
            for n_documents in DOCUMENTS:
                cell(model, trees, read_only(rows[:n_documents], dtype), source, depth)


def trained(pool: Any, n_trees: int, depth: int) -> tuple[Any, Trees]:
    """CatBoost's model, and the same as arrays."""
    settings: dict[str, Any] = {"loss_function": "QueryRMSE", "iterations": n_trees}
    settings |= {"depth": depth, "thread_count": 1}
    settings |= {"logging_level": "Silent", "allow_writing_files": False}
    model = catboost.CatBoost(settings).fit(pool)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        return model, read_catboost_json(path.read_text())


def cell(model: Any, trees: Trees, rows: Array, source: str, depth: int) -> None:
    """Time one model on one array."""
    in_rows = scorer_in_rows(trees, rows.dtype)
    calls: dict[str, Callable[[], Array]] = {
        "ours": lambda: trees.score(rows),
        "CatBoost": lambda: model.predict(rows, "RawFormulaVal", thread_count=1),
        "in rows": lambda: in_rows.score(rows),
    }
    expected = calls["CatBoost"]()
    times = dict.fromkeys(calls, np.inf)
    for name, call in calls.items():
        np.testing.assert_array_equal(call(), expected, err_msg=name)
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = process_time()
            call()
            times[name] = min(times[name], process_time() - start)
    unit = 1e6 / len(rows)
    row(
        f"symmetric trees: {trees.n_trees:,} of depth {depth}, {len(rows):,} documents in "
        f"{rows.dtype}, {source}",
        times["ours"] * unit,
        "µs a document",
        peer="CatBoost",
        theirs=times["CatBoost"] * unit,
        aim=1.0,
    )
    print(f"  in rows, as trees of any shape: {times['in rows'] * unit:.3f} µs a document")


def scorer_in_rows(trees: Trees, dtype: Any) -> Scorer:
    """The scorer of trees of any shape."""
    scorer = Scorer(trees, dtype)
    _, _, split_columns, cuts = columns_of(trees, dtype)
    n_tables = min(_n_tables(), MAX_TABLES)
    scorer._add_scores = sum_leaves
    scorer._trees = (*rows_of(trees, split_columns, cuts), n_tables)
    return scorer


if __name__ == "__main__":
    main()
