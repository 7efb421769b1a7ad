"""What the recipes cost beside global models: training on a fold, and ranking one list.

Run with `python benchmarks/wins_costs.py`. MQ2007 (85 %) from the folder in LOCALRANK_DATA or from
`../shared/data` beside the project, made-up queries where it is not there. One thread.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from measuring import mq2007_fold, seconds

from localrank.experiments.wins_methods import wins_methods

NAMES = ("LambdaMART", "2 LambdaMARTs", "fast", "6 LambdaMARTs", "6 mixed", "best")
N_LISTS = 200


def main() -> None:
    train, valid, title = mq2007_fold()
    one = valid.select([int(np.argmin(np.abs(valid.query_sizes - 100)))])
    methods = wins_methods(0)
    training = {name: seconds(partial(methods[name].fit, train)) for name in NAMES}
    # Side by side, so that a busy moment hits all alike.
    times = [[seconds(partial(methods[n].predict, one)) for n in NAMES] for _ in range(N_LISTS)]
    print(f"| {title} | training | a list of {one.n_documents} documents |\n|---|---|---|")
    for name, median in zip(NAMES, np.median(times, axis=0), strict=True):
        print(f"| {name} | {training[name]:.1f} s | {1000 * median:.2f} ms |")


if __name__ == "__main__":
    main()
