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
from measuring import DATA, SMALL, mq2007_fold, options, row

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
    options(__doc__).parse_args()
    if missing():
        print(f"skipped: {missing()}")
        return
    if SMALL:
        train, test, source = mq2007_fold()
    elif (DATA / "MQ2008").is_dir():
        fold, source = next(iter(folds(DATA / "MQ2008"))), "MQ2008, fold 1"
        train, test = fold.train, fold.test
    else:
        sys.exit(f"there is no {DATA / 'MQ2008'} (set LOCALRANK_DATA)")
    for number, ranker in list(LEARNERS.items())[: 1 if SMALL else None]:
        scores, theirs = ranklib_scores(number, train, test)
        ranker.fit(train.select(range(min(50, train.n_queries))))
        start = time.process_time()
        ranker.fit(train)
        ours = time.process_time() - start
        values = [NDCG(10).mean(test, s) for s in (scores, ranker.predict(test))]
        name = type(ranker).__name__
        row(f"{name}: training, {source}", ours, "s", peer="RankLib", theirs=theirs)
        print(f"  NDCG@10: ours {values[1]:.4f}, RankLib {values[0]:.4f}", flush=True)


if __name__ == "__main__":
    main()
