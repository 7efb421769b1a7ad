"""Speed of every ranker beside its strongest peer, one thread: runs the scripts named below.

Run with `python benchmarks/rankers.py`, or one of the scripts alone.
"""

from __future__ import annotations

import os

# Before numpy is loaded: these are measurements of one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import boosted_trees
import speed_rank_boost
import speed_rank_svm
import speed_svm_map


def main() -> None:
    for script in (speed_rank_svm, speed_svm_map, speed_rank_boost, boosted_trees):
        print(f"\n== {script.__name__}")
        script.main()


if __name__ == "__main__":
    main()
