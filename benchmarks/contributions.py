"""What exact contributions of features cost, beside LightGBM's `pred_contrib`, one thread.

Run with `python benchmarks/contributions.py`, or with fewer cells: `--leaves 7 --documents 100`.
Documents are those of fold 1 of MQ2007 (see measuring.py). Both explain the same documents in
turn, in one process. The clock is the processor time of the process, so that other programs
disturb less.
"""

from __future__ import annotations

import os
from statistics import median
from time import process_time

import numpy as np
from measuring import mq2007_fold, options, row, sized

from localrank.rankers import LambdaMART

DOCUMENTS, LEAVES = sized(((20, 100, 2_000), (7, 31, 64)), ((20,), (7,)))
N_TREES, REPEATS = sized((300, 5), (10, 1))
# Documents of one timed run at least, in several lists where lists are short.
RUN = 400


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=DOCUMENTS)
    parser.add_argument("--leaves", type=int, nargs="+", default=LEAVES)
    given = parser.parse_args()
    train, _, source = mq2007_fold()
    features = train.features
    print(f"{source}, {N_TREES} trees, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for n_leaves in given.leaves:
        model = LambdaMART(N_TREES, n_leaves=n_leaves, min_leaf_documents=20).fit(train)
        trees, booster = model.trees_, model.booster
        values, _ = trees.contributions(features[:100])
        theirs = np.asarray(booster.predict(features[:100], pred_contrib=True, num_threads=1))
        np.testing.assert_allclose(values, theirs[:, :-1], atol=1e-9)
        for n_documents in given.documents:
            ours_times, times = [], []
            n_lists = max(1, RUN // n_documents)
            for repeat in range(REPEATS):
                first = repeat * RUN % (len(features) - n_documents)
                rows = features[first : first + n_documents]
                start = process_time()
                for _ in range(n_lists):
                    trees.contributions(rows)
                middle = process_time()
                for _ in range(n_lists):
                    booster.predict(rows, pred_contrib=True, num_threads=1)
                ours_times.append(middle - start)
                times.append(process_time() - middle)
            unit = 1e6 / (n_lists * n_documents)
            row(
                f"contributions: {N_TREES} trees of {n_leaves} leaves, lists of {n_documents:,}",
                median(ours_times) * unit,
                "µs/document",
                peer="LightGBM",
                theirs=median(times) * unit,
            )


if __name__ == "__main__":
    main()
