"""What LambdaMART costs beside calling LightGBM directly with the same parameters, one thread.

Run with `python benchmarks/boosted_trees.py`. Fold 1 of MQ2007 from the folder in LOCALRANK_DATA
or from `../shared/data` beside the project; synthetic queries of that size where neither is.
Both train on the same rows in the same order. With validation queries, LightGBM evaluates its
own NDCG@10 after each tree and LambdaMART evaluates localrank's.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import lightgbm
from measuring import mq2007_fold, seconds

from localrank.data import RankingDataset
from localrank.data._content_order import content_order
from localrank.rankers import LambdaMART

N_TREES, REPEATS, MARK = 100, 7, 1.05


def directly(train: RankingDataset, valid: RankingDataset | None, rows: Any, order: Any) -> None:
    model = LambdaMART(N_TREES)
    data = lightgbm.Dataset(
        train.features[rows], train.labels[rows], group=train.query_sizes[order]
    )
    parameters = {
        "objective": "lambdarank",
        "learning_rate": model.learning_rate,
        "num_leaves": model.n_leaves,
        "min_data_in_leaf": model.min_leaf_documents,
        "min_sum_hessian_in_leaf": 0.0,
        "feature_fraction": model.feature_fraction,
        "lambda_l2": model.l2,
        "lambdarank_truncation_level": model.truncation_level,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    held_out: dict[str, Any] = {}
    if valid is not None:
        parameters |= {"metric": "ndcg", "eval_at": [10]}
        held_out["valid_sets"] = [
            lightgbm.Dataset(valid.features, valid.labels, group=valid.query_sizes, reference=data)
        ]
        held_out["callbacks"] = [lightgbm.early_stopping(N_TREES, verbose=False)]
    lightgbm.train(parameters, data, N_TREES, **held_out)


def main() -> None:
    train, held_out, source = mq2007_fold()
    # Found outside the clock: LightGBM gets its rows in the order it asks for.
    rows, order = content_order(train, 0)
    print(f"{source}: {train.n_queries:,} queries, {N_TREES} trees, median of {REPEATS}")
    for name, valid in (("without validation", None), ("with validation", held_out)):
        model = LambdaMART(N_TREES, patience=N_TREES)
        ours, theirs = [], []
        for _ in range(REPEATS):
            theirs.append(seconds(partial(directly, train, valid, rows, order)))
            ours.append(seconds(partial(model.fit, train, valid=valid)))
        ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
        print(
            f"  {name:18}  LightGBM {median(theirs):.3f} s  LambdaMART {median(ours):.3f} s  "
            f"ratio {ratio:.3f} (mark {MARK})"
        )


if __name__ == "__main__":
    main()
