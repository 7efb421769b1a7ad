"""Adaptive training and best-feature calibration, beside the paper's Table 2.

Run with `python benchmarks/adaptive.py [COLLECTION ...]`. Collections from the folder in
LOCALRANK_DATA or from `../shared/data` beside the project. The experiment is that of
`localrank reproduce adaptive-training`: five folds, LambdaMART of 500 trees, 5 clusters, k-means
and Ward, three rounds. Writes tables and plots into the folder `plots`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from measuring import DATA, collections, seconds

from localrank.data import folds
from localrank.experiments.adaptive_training import adaptive, reproduce


def efficiency() -> None:
    """One fold with one job and with two."""
    fold = next(iter(folds(DATA / "MQ2007-85")))
    one, two = (
        seconds(lambda: adaptive("kmeans", n_jobs=jobs).fit(fold.train))  # noqa: B023
        for jobs in (1, 2)
    )
    print(f"\none fold, k-means: {one:.1f} s with one job, {two:.1f} s with two: {one / two:.2f} x")


def main() -> None:
    for folder in collections("MQ2007-85", "MQ2008"):
        found = reproduce(list(folds(folder)), folder.name)
        command = f"python benchmarks/adaptive.py {folder.name}"
        found.write(Path("plots") / f"adaptive-{folder.name}", command)
        print(found.markdown(command, figures=False))
    if (DATA / "MQ2007-85").is_dir() and not sys.argv[1:]:
        efficiency()


if __name__ == "__main__":
    main()
