"""Each experiment on few made-up queries, and its numbers, which are stored.

`python tests/experiments/small_runs.py [EXPERIMENT...]` stores them anew.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from localrank.data import RankingDataset, make_queries, write_letor
from localrank.evaluation.plots.chart import _lines
from localrank.experiments import EXPERIMENTS, Reproduction, Setting, reproduce
from localrank.experiments.by_name import NEED_EVERY_VALUE, own_seeds
from localrank.persistence import library_versions

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.small_texts import made_up_encoder, write_hybrid, write_texts

STORED = Path(__file__).parent / "stored"
# Results depend on these.
LIBRARIES = ("lightgbm", "numpy", "scikit-learn", "scipy")
# And so do those of some experiments on this one.
WITH_CATBOOST = ("wins", "scoreboard", "all-methods")
# The collections whose names the made-up queries have, so that there are published numbers.
NAMES = {
    "adaptive-training": "MQ2007-85",
    "lgmml": "MSLR-sample",
    "metric-retrieval": "digits",
}
# Modules that take times.
TIMED = ("_base.parallel", "evaluation.runner", "evaluation.tuning", "evaluation.comparison")
# Experiments on texts.
TEXTS = ("text-collections", "known-categories")
# Trees need some documents in each leaf, also where a cluster is one query.
LONG_LISTS = ("adaptive-training", "lgmml", "wins", "scoreboard")
# Experiments that train many models with each seed.
ONE_SEED = ("adaptive-training",)


def small_data(folder: Path, name: str, data: str = "", n_levels: int = 3) -> Path:
    """A folder with the name of a collection, and three parts of made-up queries in it."""
    if name in TEXTS:
        return write_texts(folder / "text")
    if name == "hybrid":
        return write_hybrid(folder / "collections")
    folder = folder / (data or NAMES.get(name, "OHSUMED"))
    sizes = (110, 120) if name in LONG_LISTS else (6, 12)
    dataset, _ = make_queries(45, n_documents=sizes, n_features=8, n_types=2, random_state=3)
    labels = np.minimum(dataset.labels, n_levels - 1)
    # Each query has all labels, so that all can teach.
    for level in range(n_levels):
        labels[dataset.offsets[:-1] + level] = level
    features = dataset.features.copy()
    if name not in NEED_EVERY_VALUE:
        features[dataset.offsets[:-1] + 1, 2] = np.nan
    dataset = RankingDataset.from_arrays(features, labels, dataset.query_index)
    folder.mkdir(parents=True)
    for part in range(3):
        write_letor(dataset.select(range(part, 45, 3)), folder / f"S{part + 1}.txt")
    return folder


def small_run(name: str, folder: Path, n_jobs: int = 1) -> tuple[Reproduction, list[str]]:
    """The result of an experiment, and what it said. Times do not depend on the machine."""
    lines: list[str] = []
    # What is loaded later would read the real clock.
    for module in (f"experiments.{name.replace('-', '_')}", *TIMED):
        import_module(f"localrank.{module}")
    seeds = own_seeds(name, quick=True)[: 1 if name in ONE_SEED else 2]
    # Sums by several threads differ in their last digits.
    encoder = patch("localrank.experiments.hybrid.sentence_encoder", made_up_encoder)
    with made_up_times(), threadpool_limits(1), encoder:
        result = reproduce(name, Setting(folder, True, seeds, n_jobs, say=lines.append))
    return result, lines


@contextmanager
def made_up_times() -> Iterator[None]:
    """Let all times that experiments take come from one clock, which goes on when it is read."""
    steps = np.random.default_rng(0)
    now = 0.0

    def read() -> float:
        nonlocal now
        now += steps.uniform(0.5, 1.5)
        return now

    clock = SimpleNamespace(perf_counter=read, process_time=read, thread_time=read)
    with ExitStack() as patches:
        for name, module in list(sys.modules.items()):
            timed = name.startswith(("localrank.experiments", "localrank.evaluation"))
            timed |= name == "localrank._base.parallel"
            if timed and vars(module).get("time") is time:
                patches.enter_context(patch.object(module, "time", clock))
        yield


def numbers(result: Reproduction) -> dict:
    """The tables and what was measured of each claim. Numbers have nine digits."""
    shown = result.as_json()
    return {
        "tables": [
            [[table["title"]], table["columns"], *([*map(rounded, row)] for row in table["rows"])]
            for table in shown["tables"]
        ],
        "claims": [[claim["says"], claim["measured"]] for claim in shown["claims"]],
    }


def rounded(value):
    return float(f"{value:.9g}") if isinstance(value, float) else value


def machine(name: str) -> dict[str, str]:
    """What the last digits of an experiment depend on."""
    versions = library_versions()
    processors = {it["architecture"] for it in threadpool_info() if "architecture" in it}
    known = {"processor": " ".join(sorted(processors)), **{n: versions[n] for n in LIBRARIES}}
    if name in WITH_CATBOOST:
        known["catboost"] = version("catboost") if find_spec("catboost") else "not installed"
    return known


def store(name: str) -> None:
    """Store the numbers of an experiment."""
    with tempfile.TemporaryDirectory() as folder:
        result, _ = small_run(name, small_data(Path(folder), name))
    record = {"versions": machine(name), **numbers(result)}
    (STORED / f"{name}.json").write_text("\n".join(_lines(record)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or EXPERIMENTS:
        store(name)
        print(STORED / f"{name}.json")
