"""Every method exported to every target, ranked by the emulation and by the real engine.

Run with `python benchmarks/exports.py > docs/export/methods.md`, about ten minutes. Models learn
from the training queries of the first fold of MQ2008, with their defaults, and rank some of its
test queries. Engines are started from their published artefacts as the tests do it
(tests/engines).
"""

from __future__ import annotations

import os

# One thread is enough. This must be set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, SMALL, mq2007_fold, options, sized

from localrank._base.arrays import Floats
from localrank.data import RankingDataset, folds
from localrank.export import (
    ExportedModel,
    NotExportable,
    Target,
    Verification,
    export,
    targets,
    verify,
)
from localrank.export._routed_models import ROUTER, scores_of
from localrank.export.base import Files, GroupTarget
from localrank.export.vespa.application import VERSION
from localrank.export.writing import read_files, target
from localrank.formulas import Formula, Routed, Router
from localrank.rankers import Ranker
from localrank.registry import METHODS, make_ranker

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

# Beside the methods with their defaults: what exports further.
VARIANTS = (
    "global-ensemble combine=fixed",
    "global-mixed combine=fixed",
    "fast combine=fixed",
    "best combine=fixed",
    "query-coordinates parts=zpb",
    "query-coordinates parts=m",
    "rank-svm scaling=query",
)
# Test queries: ONNX's reference evaluator takes a tenth of a second for a list.
N_LISTS = sized(60, 3)
# An engine gets so many models at a time, and no method that has more of them.
MOST_CASES = 12


@dataclass(frozen=True)
class Case:
    """Files and lists for an engine to rank, and the group that the queries name."""

    files: Files
    dataset: RankingDataset
    group: int | None = None


Engine = Callable[[Sequence[Case]], Sequence[Floats]]


class Asked(Target):
    """A target that records the requests to an engine, and later returns its answers.

    Engines are started only once for all models, and a local model makes several requests.
    """

    takes = (Formula,)

    def __init__(self, target: Target) -> None:
        self._target = target
        self.chooses_groups = target.chooses_groups  # type: ignore[misc]
        self.cases: list[Case] = []
        self.answers: list[Floats] = []

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        return self._target.files(model)

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        return self._answered(Case(files, dataset))

    def _answered(self, case: Case) -> Floats:
        if self.answers:
            return self.answers.pop(0)
        self.cases.append(case)
        return np.zeros(case.dataset.n_documents)


class AskedByGroup(Asked, GroupTarget):
    """The same for a target in which a query names its group."""

    def group_scores(self, files: Files, dataset: RankingDataset, group: int) -> Floats:
        return self._answered(Case(files, dataset, group))


def main() -> None:
    options(__doc__).parse_args()
    if SMALL:
        parts = [part.with_features(part.features.astype(np.float32)) for part in mq2007_fold()[:2]]
    else:
        fold = next(iter(folds(DATA / "MQ2008", dtype=np.float32)))
        parts = [fold.train, fold.test]
    models = {}
    for line in sized([*METHODS, *VARIANTS], ["rank-svm", "lambdamart n_trees=3"]):
        method, *settings = line.split()
        print(f"{line} ...", file=sys.stderr)
        models[line] = make_ranker(method, settings, None, 0).fit(parts[0])
    test = parts[1].select(np.arange(N_LISTS))
    print(HEAD.format(n_lists=test.n_queries, n_documents=test.n_documents))
    for name in targets():
        print(f"{name} ...", file=sys.stderr)
        _print_target(name, models, test)


def _print_target(name: str, models: Mapping[str, Ranker], test: RankingDataset) -> None:
    emulated: dict[str, Verification] = {}
    written: dict[str, dict[str, bytes]] = {}
    refused = defaultdict(list)
    for line, ranker in models.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                export(ranker, name, folder)
            except NotExportable as refusal:
                refused[f"{refusal.reason}. {refusal.instead}"].append(line)
                continue
            written[line] = read_files(folder)
            emulated[line] = verify(ranker, name, folder, test)
    engine, real = _real_scores(name, written, models, test)
    print(f"\n## {name}\n")
    print(f"Real engine: {engine}.\n")
    print("| method | emulated: difference | lists alike | real: difference | lists alike |")
    print("|---|---|---|---|---|")
    for line, result in emulated.items():
        print(f"| {line} | {_cells(result)} | {_cells(real.get(line))} |")
    print("\nRefused:\n")
    for reason, lines in refused.items():
        print(f"- {', '.join(lines)}: {reason}")


def _real_scores(
    name: str,
    written: Mapping[str, Files],
    models: Mapping[str, Ranker],
    test: RankingDataset,
) -> tuple[str, dict[str, Verification]]:
    """The engine with its version, and how its scores compare, by method."""
    if SMALL and name in NEED_ARTEFACTS:
        return "left out", {}
    if name not in ENGINES:
        return "its plugin is not published as an artefact; the emulation alone", {}
    version, engine = ENGINES[name]()
    chosen = target(name)
    asked = (AskedByGroup if isinstance(chosen, GroupTarget) else Asked)(chosen)

    def scored() -> dict[str, Floats]:
        return {
            line: scores_of(asked, files, test, _router(models[line]))
            for line, files in written.items()
            if _n_models(files) <= MOST_CASES
        }

    scored()
    for first in range(0, len(asked.cases), MOST_CASES):
        asked.answers += map(_rows, engine(asked.cases[first : first + MOST_CASES]))
    return version, {
        line: Verification.of(test, test.in_query_order(models[line].predict(test)), scores)
        for line, scores in scored().items()
    }


def _n_models(files: Files) -> int:
    return len(json.loads(files[ROUTER])["models"]) if ROUTER in files else 1


def _rows(scores: Floats) -> Floats:
    return np.asarray(scores, np.float64)


def _router(ranker: Ranker) -> Router | None:
    formula = ranker.formula()
    return formula.router if isinstance(formula, Routed) else None


def _solr() -> tuple[str, Engine]:
    rankings_in_solr = import_module("engines.solr_ranking").rankings_in_solr
    return "Solr 8.11.4, embedded", lambda cases: [
        ranking.scores for ranking in rankings_in_solr([(c.files, c.dataset) for c in cases])
    ]


def _vespa() -> tuple[str, Engine]:
    module = import_module("engines.vespa_ranking")

    def ranked(cases: Sequence[Any]) -> Sequence[Floats]:
        asked = [
            module.Case(
                c.files, c.dataset, () if c.group is None else [c.group] * c.dataset.n_queries
            )
            for c in cases
        ]
        return list(module.rankings_in_vespa(asked)[0])

    return (
        f"Vespa {VERSION}: its compiler, importer, evaluator and global phase, in Java",
        ranked,
    )


def _in_file_engines(name: str, version: str, function: str) -> Callable[[], tuple[str, Engine]]:
    def engine() -> tuple[str, Engine]:
        module = import_module(f"engines.{name}")
        rank = getattr(module, function)
        if function.startswith("all_"):
            return version, lambda cases: list(rank([(c.files, c.dataset) for c in cases]))
        return version, lambda cases: [rank(c.files, c.dataset) for c in cases]

    return engine


def _installed(package: str) -> str:
    return f"{package} {metadata.version(package)}"


def _cells(result: Verification | None) -> str:
    if result is None:
        return " | "
    return f"{result.largest_difference:.1e} | {result.n_equal_lists} of {result.n_lists}"


ENGINES: dict[str, Callable[[], tuple[str, Engine]]] = {
    "elastic": _in_file_engines(
        "file_engines", "Elasticsearch 8.19.21, its inference code", "all_in_elastic"
    ),
    "lightgbm": _in_file_engines("file_engines", _installed("lightgbm"), "rank_in_lightgbm"),
    "onnx": _in_file_engines("in_onnxruntime", _installed("onnxruntime"), "rank_in_onnxruntime"),
    "ranklib": _in_file_engines(
        "file_engines", "RankLib, as RankyMcRankFace 0.2.0", "all_in_ranklib"
    ),
    "solr": _solr,
    "sql": _in_file_engines("databases", _installed("duckdb"), "rank_in_duckdb"),
    "treelite": _in_file_engines("file_engines", _installed("treelite"), "rank_in_treelite"),
    "vespa": _vespa,
    "xgboost-json": _in_file_engines("file_engines", _installed("xgboost-cpu"), "rank_in_xgboost"),
}

# Engines that are started from artefacts, not from Python packages.
NEED_ARTEFACTS = ("elastic", "ranklib", "solr", "vespa")

HEAD = """\
# Every method in every engine

Each method is trained with its defaults on the training queries of the first fold of MQ2008, and
exported. This page compares the scores of the exported files with the scores of the model, on
{n_lists} test queries with {n_documents:,} documents. Features are in single precision, as in the
engines. `python benchmarks/exports.py` makes this page.

- *Difference*: the largest difference between the two scores of a document. A constant that is
  added to all scores does not count.
- *Lists alike*: the lists in which every document has the same rank.
- *Emulated*: `--verify` computes the scores from the files, in the engine's arithmetic.
- *Real*: the engine itself, or its published code, computes the scores from the same files. Methods
  with more than twelve groups are left out.

A local model (`adaptive-training`, `local-rank` and others) is exported as one model per group.
Its scores are those of the group that [the router](routers.md) chooses."""


if __name__ == "__main__":
    main()
