"""Query coordinates and the recipes beside global models of equal cost, on real queries.

Run with `python benchmarks/wins.py [COLLECTION ...] [--seed S] [--keep FOLDER]`, and with
`--tables FOLDER FOLDER` for the tables of two finished runs, in Markdown. Collections from the
folder in LOCALRANK_DATA or from `../shared/data` beside the project.

Five folds each, no validation queries: every model has the parameters it has by default, so that
test queries are only scored. With `--validation` the recipes and their opponents get the validation
queries of collections that have them, and stop each model's trees by these. Documents are shuffled
within their queries, and equal scores share their ranks. A run takes one seed (ensembles count up
from it); two runs with seeds far apart show what a seed decides. Differences are tested over the
queries of each collection, and over those of all collections together, by paired t-tests, corrected
by Holm's rule for the number of comparisons in a table.

The models of the recipes were chosen by three-fold cross-validation over the parts S1, S2 and S3
alone, the coordinates by earlier trials on all parts. "Held out" are the test queries of S4 and S5,
which had no part in the choice of the models.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, seconds
from numpy.typing import NDArray

from localrank.data import Fold, RankingDataset, folds
from localrank.evaluation import compare, correct, paired_test
from localrank.measures import Measure, parse_measure
from localrank.rankers import (
    GBRT,
    LGMML,
    BestFeature,
    CrossEntropyMART,
    Ensemble,
    LambdaMART,
    ListwiseLinear,
    MultipleHyperplaneRanker,
    QueryCoordinates,
    Ranker,
    RankSVM,
    SVMMap,
)
from localrank.recipes import (
    adaptive_training,
    best,
    fast,
    global_ensemble,
    global_mixed,
    local_rank,
    pca_queries,
    query_neighbours,
)
from localrank.recipes.two_views import COORDINATES_FRACTION

POOLED = ["MQ2007-85", "MQ2008", "OHSUMED", "ClueWeb09"]
FOR_INFORMATION = "MSLR-sample"
MEASURES = [parse_measure(name) for name in ("ndcg@5", "ndcg@10", "map")]
JUDGED = MEASURES[1:]
EQUAL_COST = {
    "best": ["6 LambdaMARTs", "6 mixed", "the kinds of best"],
    "fast": ["2 LambdaMARTs", "2 mixed"],
}
# What the papers' methods are made of, beside which they stand.
MADE_OF = {
    "local_rank": "SVMMap",
    "pca_queries": "RankSVM",
    "query_neighbours": "RankSVM",
    "adaptive_training": "LambdaMART",
    "multiple hyperplanes": "RankSVM",
}


def methods(seed: int) -> dict[str, Ranker]:
    """Everything in the tables."""

    def trees(**parameters: Any) -> LambdaMART:
        return LambdaMART(random_state=seed, **parameters)

    def cross_entropy(turn: int = 0, **parameters: Any) -> CrossEntropyMART:
        return CrossEntropyMART(150, random_state=seed + turn, **parameters)

    few: dict[str, Any] = {"feature_fraction": COORDINATES_FRACTION}
    mixed = [
        trees(**few),
        cross_entropy(**few),
        GBRT(random_state=seed, **few),
        ListwiseLinear(random_state=seed),
        LambdaMART(random_state=seed + 1, **few),
        cross_entropy(1, **few),
    ]
    kinds = [
        trees(),
        cross_entropy(),
        GBRT(random_state=seed),
        RankSVM(),
        LambdaMART(random_state=seed + 1),
        cross_entropy(1),
    ]
    local: dict[str, Ranker] = {
        "local_rank": local_rank(),
        "pca_queries": pca_queries(),
        "adaptive_training": adaptive_training(ranker=trees(), random_state=seed),
    }
    local_few = local | {
        "adaptive_training": adaptive_training(ranker=trees(**few), random_state=seed)
    }
    single: dict[str, Ranker] = {
        "RankSVM": RankSVM(),
        "SVMMap": SVMMap(),
        "ListwiseLinear": ListwiseLinear(random_state=seed),
        "GBRT": GBRT(random_state=seed),
        "LambdaMART": trees(),
        "LambdaMART, cross-entropy": cross_entropy(),
    }
    single_few = single | {
        "GBRT": GBRT(random_state=seed, **few),
        "LambdaMART": trees(**few),
        "LambdaMART, cross-entropy": cross_entropy(**few),
    }
    return {
        "best feature": BestFeature(),
        **single,
        "2 LambdaMARTs": global_ensemble(2, random_state=seed),
        "2 mixed": global_mixed(2, random_state=seed),
        "6 LambdaMARTs": global_ensemble(6, random_state=seed),
        "6 mixed": global_mixed(6, random_state=seed),
        "the kinds of best": Ensemble(kinds),
        **local,
        "query_neighbours": query_neighbours(),
        "multiple hyperplanes": MultipleHyperplaneRanker(),
        "L-GMML": LGMML(random_state=seed),
        **{f"{name}, in coordinates": QueryCoordinates(r) for name, r in single_few.items()},
        "6 LambdaMARTs, in coordinates": QueryCoordinates(
            global_ensemble(6, ranker=trees(**few), random_state=seed)
        ),
        "6 mixed, in coordinates": QueryCoordinates(Ensemble(mixed)),
        **{f"{name}, in coordinates": QueryCoordinates(r) for name, r in local_few.items()},
        "local_rank of models in coordinates": local_rank(ranker=QueryCoordinates(SVMMap())),
        "fast": fast(random_state=seed),
        "best": best(random_state=seed),
    }


def parts_of(name: str, seed: int, validation: bool = False) -> Iterator[Fold]:
    """The folds of a collection, without validation queries unless asked for, shuffled."""
    rng = np.random.default_rng(seed)

    def shuffled(part: RankingDataset) -> RankingDataset:
        order = np.lexsort((rng.random(part.n_documents), part.query_index))
        queries = part.query_ids[part.query_index[order]]
        return RankingDataset.from_arrays(part.features[order], part.labels[order], queries)

    for fold in folds(DATA / name, validation=name != "ClueWeb09"):
        train, test = shuffled(fold.train), shuffled(fold.test)
        valid = shuffled(fold.valid) if validation and fold.valid is not None else None
        yield Fold(fold.name, train, valid, test)


def run(name: str, seed: int, keep: Path, validation: bool) -> None:
    """Train and score everything on a collection; values and costs go to a file."""
    start = time.perf_counter()
    parts = list(parts_of(name, seed, validation))
    table = methods(seed)
    if validation:
        duellists = {"LambdaMART", *EQUAL_COST, *itertools.chain(*EQUAL_COST.values())}
        table = {method: ranker for method, ranker in table.items() if method in duellists}
    result = compare(
        table,
        parts,
        MEASURES,
        baseline="LambdaMART",
        n_controls=0,
        store=keep / "parts" / name,
        say=lambda text: print(f"{name}, {text}", flush=True),
    )
    for method, found in result.methods.items():
        if found.failed:
            raise RuntimeError(f"{name}: {method} failed: {found.failed}")
    columns: dict[str, Any] = {
        "values": np.array([list(r.values.values()) for r in result.methods.values()]),
        "methods": np.array(list(result.methods)),
        "fold": np.array(result.fold_names),
    }
    for fact in ("n_models", "train_seconds", "predict_seconds"):
        columns[fact] = np.array([r.total(fact) / len(parts) for r in result.methods.values()])
    np.savez_compressed(keep / f"{name}.npz", **columns)
    print(f"{name}: {time.perf_counter() - start:.0f} s in all")


class Found:
    """What runs found: values of methods by collection, averaged over the runs, and costs."""

    def __init__(self, runs: Sequence[Path]) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        for name in [*POOLED, FOR_INFORMATION]:
            if all((run / f"{name}.npz").is_file() for run in runs):
                parts = [dict(np.load(run / f"{name}.npz")) for run in runs]
                # The same queries in the same folds, so that values can be averaged one by one.
                assert all((part["fold"] == parts[0]["fold"]).all() for part in parts)
                means = {
                    key: np.mean([part[key] for part in parts], axis=0)
                    for key in ("values", "n_models", "train_seconds")
                }
                self.files[name] = parts[0] | means
        self.pooled = [name for name in POOLED if name in self.files]
        self.methods: list[str] = self.files[POOLED[0]]["methods"].tolist()
        self.seconds = sum(self.files[name]["train_seconds"] for name in self.pooled)
        self.n_models = self.files[POOLED[0]]["n_models"]

    def values(
        self, name: str, method: str, measure: Measure, pooled: Sequence[str] | None = None
    ) -> NDArray[np.float64]:
        """Of a collection, of all together ("all"), or of the held-out parts of all."""
        row, column = self.methods.index(method), MEASURES.index(measure)
        names = (pooled or self.pooled) if name in ("all", "held out") else [name]
        parts = []
        for each in names:
            file = self.files[each]
            values = file["values"][row, column]
            if name == "held out":
                # Fold k tests on S(k + 4), that of ClueWeb09 on S(k).
                late = ("Fold4", "Fold5") if each == "ClueWeb09" else ("Fold1", "Fold5")
                values = values[np.isin(file["fold"], late)]
            parts.append(values)
        return np.concatenate(parts)


def means_table(found: Found) -> None:
    """Every method on every collection, and how it differs from six LambdaMARTs on all."""
    opponent = "6 LambdaMARTs"
    others = [method for method in found.methods if method != opponent]
    tests = {
        (method, measure): paired_test(
            found.values("all", method, measure), found.values("all", opponent, measure)
        )
        for method in others
        for measure in JUDGED
    }
    p_values = dict(zip(tests, correct([t.p_value for t in tests.values()]), strict=True))
    names = [*found.pooled, "all", *(name for name in found.files if name not in POOLED)]
    print("| | " + " | ".join(map(label, names)) + " | all, to 6 LambdaMARTs | models | training |")
    print("|---|" + "---|" * (len(names) + 3))
    for row, method in enumerate(found.methods):
        cells = [
            " / ".join(f"{found.values(name, method, m).mean():.4f}"[1:] for m in MEASURES)
            for name in names
        ]
        against = ""
        if method != opponent:
            against = ", ".join(
                f"{tests[method, m].mean_difference:+.4f} ({p_text(p_values[method, m])})"
                for m in JUDGED
            )
        costs = f"{found.n_models[row]:.0f} | {found.seconds[row]:.1f} s"
        print(f"| {method} | " + " | ".join(cells) + f" | {against} | {costs} |")


def duels_table(found: Found, opponents: Found | None = None) -> None:
    """The recipes against global models of equal cost, on each collection and on all.

    The opponents may come from other runs, with validation queries where the recipes had none.
    """
    others_found = opponents or found
    names = [*others_found.pooled, "all", "held out"]
    tests = {}
    for ours, others in EQUAL_COST.items():
        for other, name, measure in itertools.product(others, names, JUDGED):
            both = others_found.pooled
            tests[ours, other, name, measure] = paired_test(
                found.values(name, ours, measure, both),
                others_found.values(name, other, measure, both),
            )
    p_values = dict(zip(tests, correct([t.p_value for t in tests.values()]), strict=True))
    print("| | | " + " | ".join(map(label, names)) + " |\n|---|---|" + "---|" * len(names))
    for ours, others in EQUAL_COST.items():
        for other, measure in itertools.product(others, JUDGED):
            cells = []
            for name in names:
                test = tests[ours, other, name, measure]
                corrected = p_text(p_values[ours, other, name, measure])
                cells.append(f"{test.mean_difference:+.4f} ({p_text(test.p_value)}; {corrected})")
            print(f"| {ours} − {other} | {measure} | " + " | ".join(cells) + " |")


def papers_table(found: Found) -> None:
    """The papers' local methods against the model they are made of, and in coordinates."""
    pairs = list(MADE_OF.items())
    for method, other in MADE_OF.items():
        if f"{method}, in coordinates" in found.methods:
            pairs.append((f"{method}, in coordinates", method))
            pairs.append((f"{method}, in coordinates", f"{other}, in coordinates"))
    pairs.append(("local_rank of models in coordinates", "SVMMap, in coordinates"))
    tests = {
        (pair, measure): paired_test(*(found.values("all", method, measure) for method in pair))
        for pair in pairs
        for measure in JUDGED
    }
    p_values = dict(zip(tests, correct([t.p_value for t in tests.values()]), strict=True))
    print("| | against | " + " | ".join(map(str, JUDGED)) + " |\n|---|---|---|---|")
    for pair in pairs:
        cells = [
            f"{tests[pair, m].mean_difference:+.4f} ({p_text(p_values[pair, m])})" for m in JUDGED
        ]
        print(f"| {pair[0]} | {pair[1]} | " + " | ".join(cells) + " |")


def plot(found: Found, path: Path) -> None:
    """The recipes' gains over global models of equal cost, with 95 % intervals."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "wins"}
    from matplotlib import pyplot

    names = [*found.pooled, "all"]
    duels = [("best", other) for other in EQUAL_COST["best"][:2]]
    duels += [("fast", other) for other in EQUAL_COST["fast"]]
    figure, axes = pyplot.subplots(
        1, len(duels), figsize=(10, 3), sharex=True, sharey=True, layout="constrained"
    )
    for axis, (ours, other) in zip(axes, duels, strict=True):
        axis.axvline(0, color="0.6", linewidth=1)
        for measure, marker, shift in zip(JUDGED, "os", (-0.15, 0.15), strict=True):
            for place, name in enumerate(names):
                test = paired_test(
                    found.values(name, ours, measure), found.values(name, other, measure)
                )
                axis.plot(test.interval, [place + shift] * 2, color=f"C{marker == 's':d}")
                shown = {"label": str(measure)} if place == 0 else {}
                axis.plot(
                    test.mean_difference,
                    place + shift,
                    marker,
                    color=f"C{marker == 's':d}",
                    markerfacecolor=None if test.p_value < 0.05 else "white",
                    **shown,
                )
        axis.set_title(f"{ours} − {other}", fontsize=10)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(names)), map(label, names))
    axes[0].invert_yaxis()
    axes[-1].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def label(name: str) -> str:
    """A collection as it should be called: one is not complete."""
    return "MQ2007 (85 %)" if name == "MQ2007-85" else name


def p_text(p_value: float) -> str:
    """Three decimals without the zero, which no p-value here needs."""
    return "< .001" if p_value < 0.001 else f"{p_value:.3f}".removeprefix("0")


def costs() -> None:
    """Training on a fold of MQ2007 and ranking one list, side by side, with one thread."""
    part = next(parts_of("MQ2007-85", 0))
    sizes = part.test.query_sizes
    one = part.test.select([int(np.argmin(np.abs(sizes - 100)))])
    table = methods(0)
    chosen = ["LambdaMART", "2 LambdaMARTs", "fast", "6 LambdaMARTs", "6 mixed", "best"]
    training = {name: seconds(partial(table[name].fit, part.train)) for name in chosen}
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(200):
        for name in chosen:
            times[name].append(seconds(partial(table[name].predict, one)))
    print(f"\n| MQ2007 (85 %), fold 1 | training | a list of {one.n_documents} documents |")
    print("|---|---|---|")
    for name in chosen:
        print(f"| {name} | {training[name]:.1f} s | {1000 * np.median(times[name]):.2f} ms |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="*", default=[*POOLED, FOR_INFORMATION])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("wins"), help="where results go")
    parser.add_argument("--validation", action="store_true", help="stop by validation queries")
    parser.add_argument("--tables", type=Path, nargs="+", help="print the tables of finished runs")
    parser.add_argument("--opponents", type=Path, nargs="+", help="their runs, with --validation")
    parser.add_argument("--plot", type=Path, help="with --tables: draw the recipes' gains as SVG")
    parser.add_argument("--costs", action="store_true", help="time training and one list")
    asked = parser.parse_args()
    if asked.costs:
        costs()
        return
    if asked.tables is None:
        for name in asked.collections:
            if not (DATA / name).is_dir():
                raise SystemExit(f"There is no {DATA / name}: set LOCALRANK_DATA.")
            run(name, asked.seed, asked.keep, asked.validation)
    finished = asked.tables or [asked.keep]
    if len(finished) > 1:
        for keep in finished:
            print(f"\n### {keep.name}\n")
            duels_table(Found([keep]))
        print("\n### The mean of these")
    found = Found(finished)
    for table in (duels_table, papers_table, means_table):
        if table is not papers_table or set(MADE_OF) <= set(found.methods):
            print()
            table(found)
    if asked.opponents:
        print("\nAgainst models stopped by validation queries\n")
        duels_table(found, Found(asked.opponents))
    if asked.plot:
        plot(found, asked.plot)


if __name__ == "__main__":
    main()
