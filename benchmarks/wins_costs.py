"""What the recipes cost beside global models: training on a fold, and ranking one list.

Run with `python benchmarks/wins_costs.py`. MQ2007 (85 %) from the folder in LOCALRANK_DATA or from
`../shared/data` beside the project, made-up queries where it is not there. One thread.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from measuring import mq2007_fold, options, seconds, sized

from localrank.rankers import LambdaMART, ListwiseNet
from localrank.recipes import best, fast, global_ensemble, global_mixed, one

N_TREES, N_LISTS = sized((300, 200), (5, 2))
METHODS = {
    "LambdaMART": LambdaMART(N_TREES),
    "`ListwiseNet`": ListwiseNet(),
    "2 LambdaMARTs": global_ensemble(2, ranker=LambdaMART(N_TREES)),
    "`fast`": fast(N_TREES),
    "6 LambdaMARTs": global_ensemble(6, ranker=LambdaMART(N_TREES)),
    "6 mixed": global_mixed(6, n_trees=N_TREES),
    "`best`": best(N_TREES),
    "`one`": one(N_TREES),
}


def main() -> None:
    options(__doc__).parse_args()
    train, valid, title = mq2007_fold()
    ranked = valid.select([int(np.argmin(np.abs(valid.query_sizes - 100)))])
    training = {name: seconds(partial(ranker.fit, train)) for name, ranker in METHODS.items()}
    # Side by side, so that a busy moment hits all alike.
    times = [
        [seconds(partial(ranker.predict, ranked)) for ranker in METHODS.values()]
        for _ in range(N_LISTS)
    ]
    print(f"| {title} | training | a list of {ranked.n_documents} documents |\n|---|---|---|")
    for name, median in zip(METHODS, np.median(times, axis=0), strict=True):
        print(f"| {name} | {training[name]:.1f} s | {1000 * median:.2f} ms |")


if __name__ == "__main__":
    main()
