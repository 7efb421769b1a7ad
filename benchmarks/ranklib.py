"""RankLib's learners and ours on the first fold of MQ2008: test NDCG@10 and time of training.

Run with `python benchmarks/ranklib.py`. It needs Java and RankLib, which Maven Central has as
`com.o19s:RankyMcRankFace`, a copy that OpenSource Connections maintains:

    mvn dependency:get -Dartifact=com.o19s:RankyMcRankFace:0.2.0 -Dtransitive=false

LOCALRANK_RANKLIB names another jar. RankLib has its default parameters and learns for NDCG@10; so
do ours. Both rank the same test queries, and one measure judges both. Times are of the processor:
RankLib's with starting Java and reading the file, ours of `fit` alone, kernels compiled before.
"""

from __future__ import annotations

import os

# Before numpy is loaded: these are measurements of one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import DATA

from localrank._base.arrays import Floats
from localrank.data import RankingDataset, folds, write_letor
from localrank.measures import NDCG
from localrank.rankers import (
    AdaRank,
    CoordinateAscent,
    ListNet,
    RandomForest,
    Ranker,
    RankNet,
)

JAR = Path(
    os.environ.get(
        "LOCALRANK_RANKLIB",
        Path.home() / ".m2/repository/com/o19s/RankyMcRankFace/0.2.0/RankyMcRankFace-0.2.0.jar",
    )
)
# By RankLib's numbers.
LEARNERS: dict[int, Ranker] = {
    1: RankNet(),
    3: AdaRank(),
    4: CoordinateAscent(),
    7: ListNet(),
    8: RandomForest(),
}


def missing() -> str:
    """What is not there, empty where all is."""
    if shutil.which("java") is None:
        return "there is no Java"
    return "" if JAR.is_file() else f"there is no {JAR} (see benchmarks/ranklib.py)"


def ranklib_scores(
    number: int, train: RankingDataset, test: RankingDataset, *options: str
) -> tuple[Floats, float]:
    """The scores that a learner of RankLib gives test queries, and the time of its training."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_letor(train, folder / "train.txt")
        write_letor(test, folder / "test.txt")
        learner = ["-train", "train.txt", "-ranker", str(number), "-metric2t", "NDCG@10"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _java(folder, *learner, *options, "-save", "model.txt")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        _java(folder, "-load", "model.txt", "-rank", "test.txt", "-score", "scores.txt")
        scores = np.loadtxt(folder / "scores.txt", usecols=2)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return scores, seconds


def _java(folder: Path, *arguments: str) -> None:
    one_thread = ["-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC"]
    command = ["java", *one_thread, "-jar", str(JAR), *arguments, "-silent"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    if missing() or not (DATA / "MQ2008").is_dir():
        sys.exit(missing() or f"there is no {DATA / 'MQ2008'} (set LOCALRANK_DATA)")
    fold = next(iter(folds(DATA / "MQ2008")))
    for number, ranker in LEARNERS.items():
        scores, theirs = ranklib_scores(number, fold.train, fold.test)
        ranker.fit(fold.train.select(range(50)))
        start = time.process_time()
        ranker.fit(fold.train)
        ours = time.process_time() - start
        values = [NDCG(10).mean(fold.test, s) for s in (scores, ranker.predict(fold.test))]
        print(
            f"{number} {type(ranker).__name__:17} RankLib {values[0]:.4f} {theirs:6.2f} s   "
            f"ours {values[1]:.4f} {ours:6.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
