"""From text to rankings on Cranfield, CISI, MED, CACM and NPL: methods compared query by query.

    python benchmarks/text_collections.py [folder for finished work]

prints the tables of docs/reproduction/text-collections.md, and needs about 15 minutes of one core.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import DATA

from localrank._base.arrays import Flags, Floats, Integers
from localrank.data import Fold, RankingDataset, concatenate, folds
from localrank.evaluation import PairedTest, paired_test, run
from localrank.evaluation.runner import judged_queries
from localrank.evaluation.significance import corrected
from localrank.experiments import read_collection
from localrank.experiments.text_collections import TEXT_FILES
from localrank.measures import parse_measure
from localrank.rankers import BestFeature, LambdaMART, MultipleHyperplaneRanker, Ranker, RankSVM
from localrank.recipes import adaptive_training, best, fast, local_rank, pca_queries
from localrank.text import Analyzer, FeatureExtractor, feature_names

FIELDS, DEPTH = ("title", "body"), 100
MEASURES = [parse_measure("ndcg@10"), parse_measure("map")]
BM25, TABLE_1, BEST_FEATURE = "BM25", "MHR, Table 1", "best feature"
# Of boosted trees, here as in the recipes.
N_TREES = 300

Values = dict[str, list[Floats]]


@dataclass(frozen=True, eq=False)
class Lists:
    """The candidates of a collection's queries, and judged documents behind them.

    Attributes
    ----------
    name : str
    n_documents : int
    with_judged : RankingDataset
    retrieved : ndarray of bool, shape (n_documents,)
        Whether a row is a candidate.
    """

    name: str
    n_documents: int
    with_judged: RankingDataset
    retrieved: Flags

    @property
    def candidates(self) -> RankingDataset:
        data, rows = self.with_judged, self.retrieved
        assert data.document_ids is not None
        return RankingDataset.from_arrays(
            data.features[rows],
            data.labels[rows],
            data.query_ids[data.query_index[rows]],
            document_ids=data.document_ids[rows],
            feature_names=data.feature_names,
        )

    @property
    def retrieved_in_tests(self) -> Flags:
        """Whether rows are candidates, of the test queries of all folds."""
        marked = self.with_judged.with_features(self.retrieved[:, None].astype(float))
        parts = [fold.test.features[:, 0] > 0 for fold in folds(marked)]
        return np.concatenate(parts)

    @property
    def tests(self) -> RankingDataset:
        """The test queries of all folds, without features."""
        return concatenate([judged_queries(fold.test) for fold in folds(self.with_judged)])


def main() -> None:
    store = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    start = time.process_time()
    lists = [text_lists(DATA / "text" / name) for name in TEXT_FILES]
    show_collections(lists)
    parts = {part.name: folds(part.candidates) for part in lists}
    separate = {
        part.name: measured(
            part, scores_of(parts[part.name], within(store, part.name)), all_rows=False
        )
        for part in lists
    }
    show("Each collection by itself", lists, separate)
    joint = [joined([parts[part.name][number] for part in lists]) for number in range(5)]
    scores = split(scores_of(joint, within(store, "together")), joint, lists)
    together = {part.name: measured(part, scores[part.name], all_rows=False) for part in lists}
    show("One model for all five collections", lists, together)
    show_gain("One model for all, less one for each", lists, together, separate)
    scores = {
        part.name: scores_of(folds(part.with_judged), within(store, f"{part.name} judged"))
        for part in lists
    }
    everything = {part.name: measured(part, scores[part.name], all_rows=True) for part in lists}
    show("Candidates and judged documents, all ranked", lists, everything)
    added = {part.name: measured(part, scores[part.name], all_rows=False) for part in lists}
    show_gain("Trained with judged documents, less without", lists, added, separate)
    print(f"\n{time.process_time() - start:.0f} s of processor time")


def text_lists(folder: Path) -> Lists:
    """Features of a collection's judged queries, for candidates by BM25 and judged documents."""
    texts = read_collection(folder)
    corpus = [
        {"id": str(number), "title": title, "body": body}
        for number, (title, body) in enumerate(zip(texts.titles, texts.bodies, strict=True), 1)
    ]
    analyzer = Analyzer(stopwords="english", stemmer="english")
    extractor = FeatureExtractor(FIELDS, features="all", analyzer=analyzer).fit(corpus)
    qrels: dict[str, dict[str, float]] = {}
    for query, document, grade in texts.judgments.tolist():
        qrels.setdefault(str(query + 1), {})[str(document + 1)] = grade
    queries = {query: texts.queries[int(query) - 1] for query in qrels}
    names = {query: f"{folder.name}-{query}" for query in queries}
    data = extractor.dataset(
        {names[query]: text for query, text in queries.items()},
        {names[query]: judged for query, judged in qrels.items()},
        DEPTH,
        with_judged=True,
    )
    depths = {
        query: len(extractor.retrieve([text], DEPTH).scores) for query, text in queries.items()
    }
    counts = np.array([depths[query.rpartition("-")[2]] for query in data.query_ids.tolist()])
    place = np.arange(data.n_documents) - data.offsets[data.query_index]
    return Lists(folder.name, len(corpus), data, place < counts[data.query_index])


def methods() -> dict[str, Ranker]:
    return {
        BEST_FEATURE: BestFeature("ndcg@10"),
        "RankSVM": RankSVM(),
        "MHR": MultipleHyperplaneRanker(),
        "LambdaMART": LambdaMART(N_TREES, random_state=0),
        "fast": fast(N_TREES),
        "best": best(N_TREES),
        "local_rank": local_rank(),
        "pca_queries": pca_queries(),
        "adaptive_training": adaptive_training(ranker=LambdaMART(N_TREES, random_state=0)),
    }


def scores_of(parts: Sequence[Fold], store: Path | None) -> dict[str, Floats]:
    """The scores of each method for the test queries of all folds."""
    table_1 = [fold_with(fold, feature_names("mhr", FIELDS)) for fold in parts]
    alone = [fold_with(fold, ["whole.bm25"]) for fold in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = run({BM25: BestFeature()}, alone, store=store, n_jobs=1)
        results |= run(methods(), parts, store=store, n_jobs=1, keep_failures=True, say=say)
        results |= run({TABLE_1: MultipleHyperplaneRanker()}, table_1, store=store, n_jobs=1)
    for name, result in results.items():
        if result.failed:
            say(f"{name} failed: {result.failed}")
    cpu = ", ".join(f"{name} {result.train_cpu_seconds:.0f}" for name, result in results.items())
    say(f"processor seconds: {cpu}")
    return {name: result.scores for name, result in results.items() if not result.failed}


def within(store: Path | None, name: str) -> Path | None:
    """A store of its own: folds of all collections have the same names."""
    return None if store is None else store / name


def fold_with(fold: Fold, names: Sequence[str]) -> Fold:
    """A fold with some of its features."""

    def kept(data: RankingDataset) -> RankingDataset:
        assert data.feature_names is not None
        columns = [data.feature_names.index(name) for name in names]
        return data.with_features(data.features[:, columns], list(names))

    valid = None if fold.valid is None else kept(fold.valid)
    return Fold(fold.name, kept(fold.train), valid, kept(fold.test))


def joined(parts: Sequence[Fold]) -> Fold:
    """The same fold of several collections as one."""
    valid = [fold.valid for fold in parts if fold.valid is not None]
    train, test = [fold.train for fold in parts], [fold.test for fold in parts]
    return Fold(parts[0].name, concatenate(train), concatenate(valid), concatenate(test))


def split(
    scores: Mapping[str, Floats], parts: Sequence[Fold], lists: Sequence[Lists]
) -> dict[str, dict[str, Floats]]:
    """Scores of joined folds, collection by collection."""
    owners = np.concatenate([owners_of(fold.test) for fold in parts])
    return {
        part.name: {name: values[owners == part.name] for name, values in scores.items()}
        for part in lists
    }


def owners_of(data: RankingDataset) -> Integers:
    names = np.array([query.rpartition("-")[0] for query in data.query_ids.tolist()])
    return names[data.query_index]


def measured(part: Lists, scores: Mapping[str, Floats], *, all_rows: bool) -> Values:
    """Values of each measure by query. A document that is not ranked counts as not retrieved."""
    tests, ranked = part.tests, part.retrieved_in_tests
    values: Values = {}
    for name, given in scores.items():
        placed = np.full(tests.n_documents, -np.inf)
        if len(given) == tests.n_documents:
            placed[:] = given if all_rows else np.where(ranked, given, -np.inf)
        else:
            placed[ranked] = given
        values[name] = [measure(tests, placed) for measure in MEASURES]
    return values


def show_collections(lists: Sequence[Lists]) -> None:
    print("| collection | documents | queries | relevant | grades | candidates | recall | bound |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for part in lists:
        relevant = part.with_judged.labels > 0
        query = part.with_judged.query_index
        n_queries = part.with_judged.n_queries
        share = np.bincount(query[relevant & part.retrieved], minlength=n_queries) / np.bincount(
            query[relevant], minlength=n_queries
        )
        ideal = np.where(part.retrieved, part.with_judged.labels, -np.inf)
        bound = np.nanmean(MEASURES[0](judged_queries(part.with_judged), ideal))
        print(
            f"| {part.name} | {part.n_documents:,} | {n_queries} | {relevant.sum():,} | "
            f"{len(np.unique(part.with_judged.labels)) - 1} | {part.retrieved.sum():,} | "
            f"{share.mean():.3f} | {bound:.3f} |"
        )


def show(title: str, lists: Sequence[Lists], values: Mapping[str, Values]) -> None:
    """Means by collection, and differences to BM25 and LambdaMART over all queries."""
    names = list(values[lists[0].name])
    everywhere = [name for name in names if all(name in values[part.name] for part in lists)]
    for place, measure in enumerate(MEASURES):
        print(f"\n### {title}: {measure}\n")
        heads = [*(part.name for part in lists), "all queries", "less BM25", "p", "won/tied/lost"]
        print(f"| method | {' | '.join(heads)} | less LambdaMART | p |")
        print(f"| --- |{' ---: |' * (len(lists) + 1)} --- | ---: | --- | --- | ---: |")
        pooled = {
            name: np.concatenate([values[part.name][name][place] for part in lists])
            for name in everywhere
        }
        against = {other: tests(pooled, other) for other in (BM25, "LambdaMART")}
        for name in sorted(everywhere, key=lambda name: -np.nanmean(pooled[name])):
            means = [f"{np.nanmean(values[part.name][name][place]):.4f}" for part in lists]
            first, second = (against[other].get(name) for other in against)
            record = "" if first is None else f"{first.wins}/{first.ties}/{first.losses}"
            print(
                f"| {name} | {' | '.join(means)} | {np.nanmean(pooled[name]):.4f} | "
                f"{cell(first)} | {record} | {cell(second)} |"
            )
        show_by_collection(measure, place, lists, values, everywhere)


def show_by_collection(
    measure: object,
    place: int,
    lists: Sequence[Lists],
    values: Mapping[str, Values],
    names: Sequence[str],
) -> None:
    """Differences to BM25 within each collection, corrected over methods and collections."""
    all_tests = {
        (name, part.name): paired_test(
            values[part.name][name][place], values[part.name][BM25][place]
        )
        for name in names
        if name != BM25
        for part in lists
    }
    fixed = corrected(all_tests)
    print(f"\n{measure} less BM25, by collection (Holm over all cells)\n")
    print(f"| method | {' | '.join(part.name for part in lists)} |")
    print(f"| --- |{' --- |' * len(lists)}")
    for name in names:
        if name != BM25:
            cells = [short(fixed[name, part.name]) for part in lists]
            print(f"| {name} | {' | '.join(cells)} |")


def show_gain(
    title: str, lists: Sequence[Lists], ours: Mapping[str, Values], other: Mapping[str, Values]
) -> None:
    """What another way to train changes, by method, over all queries."""
    names = [
        name
        for name in ours[lists[0].name]
        if all(name in values[part.name] for values in (ours, other) for part in lists)
    ]
    print(f"\n### {title}\n\n| method | ndcg@10 | p | map | p |\n| --- | --- | ---: | --- | ---: |")
    columns = []
    for place in range(len(MEASURES)):
        pairs = {
            name: [
                np.concatenate([values[part.name][name][place] for part in lists])
                for values in (ours, other)
            ]
            for name in names
            if name != BM25
        }
        columns.append(corrected({name: paired_test(*pair) for name, pair in pairs.items()}))
    for name in columns[0]:
        print(f"| {name} | {cell(columns[0][name])} | {cell(columns[1][name])} |")


def tests(values: Mapping[str, Floats], other: str) -> dict[str, PairedTest]:
    """Each method against another, corrected by Holm's rule."""
    return corrected(
        {
            name: paired_test(of_method, values[other])
            for name, of_method in values.items()
            if name != other
        }
    )


def cell(test: PairedTest | None) -> str:
    if test is None:
        return " | "
    low, high = test.interval
    p = "< 0.001" if test.p < 0.001 else f"{test.p:.3f}"
    return f"{test.mean_difference:+.4f} [{low:+.4f}, {high:+.4f}] | {p}"


def short(test: PairedTest) -> str:
    mark = "" if test.sign == 0 else " *"
    half = (test.interval[1] - test.interval[0]) / 2
    return f"{test.mean_difference:+.3f} ± {half:.3f}{mark}"


def say(text: str) -> None:
    print(f"{time.process_time():.0f} s: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
