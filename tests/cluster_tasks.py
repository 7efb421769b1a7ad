"""What tests send to workers, which import it by its name, as they do not import tests."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from localrank._base.distributed import in_task
from localrank.rankers import RankSVM
from localrank.registry import make_sample

SMALL = {"n_trees": 4, "n_rounds": 4, "n_metrics": 3, "n_nets": 2, "n_units": 4, "n_epochs": 2}


def small_sample(part):
    """A ranker or recipe as contract tests have it, and trained in a moment."""
    ranker = make_sample(part)
    names = {parameter: parameter.split("__")[-1] for parameter in ranker.get_params()}
    return ranker.set_params(
        **{parameter: SMALL[name] for parameter, name in names.items() if name in SMALL}
    )


def die() -> None:
    """End this worker without a word."""
    assert in_task(), "this would end the tests"
    # A nanny gives up on a worker that ends before it is known to have begun.
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(flag: str) -> None:
    """End this worker without a word, the first time anybody comes here."""
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return
    die()


def process(_, *shared) -> int:
    """The process that does it; it takes a while, so that others have something to do."""
    time.sleep(0.1)
    return os.getpid()


class Counted:
    """Knows how often it was sent."""

    n_sent: ClassVar[int] = 0

    def __getstate__(self):
        type(self).n_sent += 1
        return {"value": 3}


@dataclass(frozen=True, eq=False)
class Lasting:
    """The same for what stays as it is."""

    n_sent: ClassVar[int] = 0

    def __getstate__(self):
        type(self).n_sent += 1
        return {"value": 3}


class DyingInTraining(RankSVM):
    """Its first training on a worker is that worker's end."""

    def __init__(self, C=1.0, *, flag=""):
        super().__init__(C)
        self.flag = flag

    def _fit(self, dataset, query_weights, valid):
        if in_task():
            die_once(self.flag)
        super()._fit(dataset, query_weights, valid)


class DyingInScoring(RankSVM):
    """Its first scoring on a worker is that worker's end."""

    def __init__(self, C=1.0, *, flag=""):
        super().__init__(C)
        self.flag = flag

    def _predict(self, dataset):
        if in_task():
            die_once(self.flag)
        return super()._predict(dataset)


class CountedRanker(RankSVM):
    """Knows how often it was sent."""

    n_sent: ClassVar[int] = 0

    def __getstate__(self):
        type(self).n_sent += 1
        return super().__getstate__()
