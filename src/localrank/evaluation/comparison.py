"""Several methods on the same queries, compared query by query, and at equal cost."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from localrank._base.printing import Printed, Table, as_latex, as_markdown, as_text
from localrank.data import Fold, RankingDataset, SampleWarning
from localrank.data import folds as find_folds
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.data.fold import Folds
from localrank.data.sampling import Limit, checked_limit
from localrank.evaluation import _comparison_report as comparison_report
from localrank.evaluation._comparison_overview import Overview, Section, Texts, Words, chart
from localrank.evaluation._opponents import Entrant, Entry, Methods, entries, equal_cost_opponents
from localrank.evaluation.fold_results import fingerprint
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.query_groups import Agreement, agreements, categories_by_query
from localrank.evaluation.runner import MethodResult, run
from localrank.evaluation.significance import PairedTest, corrected
from localrank.evaluation.tuning import Grid
from localrank.measures import Measure, parse_measure
from localrank.persistence import library_versions
from localrank.rankers._inputs import all_sampled, sampled_in_memory
from localrank.registry import METHODS

Tests = dict[str, dict[Measure, PairedTest]]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printed, Plotted):
    """The result of `compare`.

    Attributes
    ----------
    measures : list of Measure
        Methods are tuned and judged by the first.
    baseline : str
    entries : dict from name to Entrant
        Every ranker with its role. The best by the first measure comes first, failed ones last.
    results : dict from name to MethodResult
        The results, in the same order.
    opponents : dict from name to str
        The opponent of each method at equal cost: the stronger one by the first measure. Methods
        without an opponent are left out.
    against_baseline : dict from name to dict from measure to PairedTest
        Tests against the baseline. A gain is an improvement, even if smaller values are better.
        P-values are corrected by Holm's rule over the methods, and over the opponents.
    at_equal_cost : dict from name to dict from measure to PairedTest
        Tests against each method's opponent, corrected by Holm's rule over the methods.
    agreements : dict from name to dict from fold to Agreement
        How the groups that serve the test queries agree with known categories. Empty without
        categories; methods without groups are left out.
    title : str
    made : dict
        Seed, time, versions and data, for the page.
    """

    measures: list[Measure]
    baseline: str
    entries: Mapping[str, Entrant]
    results: dict[str, MethodResult]
    opponents: dict[str, str]
    against_baseline: Tests
    at_equal_cost: Tests
    agreements: dict[str, dict[str, Agreement]]
    title: str
    made: dict[str, Any]

    words: ClassVar[Words] = Words()
    # Documents of each list that the explorer has. None: all.
    n_explored: ClassVar[int | None] = None

    @property
    def sections(self) -> list[Section]:
        """Further sections of the page and of the full text, after the tables of tests."""
        return []

    @property
    def texts(self) -> Texts:
        """Texts of queries and documents, for the explorer."""
        return Texts()

    @property
    def cautions(self) -> list[str]:
        """Reasons for caution about the verdict, in sentences."""
        return []

    @property
    def finished(self) -> dict[str, MethodResult]:
        """The methods that did not fail."""
        return {name: result for name, result in self.results.items() if result.failed is None}

    @property
    def failed(self) -> dict[str, str]:
        """Why each of the other methods failed."""
        return {name: result.failed for name, result in self.results.items() if result.failed}

    @property
    def test(self) -> RankingDataset:
        """The test queries of all folds."""
        return self.results[self.baseline].test

    @property
    def fold_names(self) -> list[str]:
        """The fold of each test query."""
        return self.results[self.baseline].fold_names

    @cached_property
    def overview(self) -> Overview:
        """Everything that printing, pages and frames show."""
        return Overview.of(self)

    @property
    def verdict(self) -> str:
        """Which method leads, and whether any beats the baseline and its opponent, in words."""
        return "\n".join(self.overview.verdict)

    @property
    def cost_notes(self) -> list[str]:
        """Methods with as many models as their opponent, but another cost, in words."""
        return self.overview.cost_notes

    def write(self, folder: str | PathLike[str], *, command: str | None = None) -> None:
        """Write the page, the results, each query's values, and the rankings.

        Parameters
        ----------
        folder : path
            The folder to write. It is made if it does not exist.
        command : str, optional
            The command that was typed, for the page.
        """
        comparison_report.write(self, Path(folder), command)

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per method that did not fail; `library` as in `RankingDataset.to_frame`."""
        return frame_of(columns_of(self.overview.rows()), library, self.test.frame_library)

    def to_text(self) -> str:
        """All tables, bounds, the verdict and notes, as `localrank compare` prints them."""
        return as_text(self.overview.in_full())

    def to_markdown(self) -> str:
        """The table for a Markdown page."""
        return as_markdown(self.overview.on_paper())

    def to_latex(self) -> str:
        """The table for a paper; needs the package booktabs."""
        return as_latex(self.overview.on_paper())

    def chart(self) -> Chart:
        """The gain of each method, to the baseline and at equal cost, with its interval."""
        return chart(self)

    def _shown(self) -> list[str | Table]:
        return self.overview.in_brief()


def compare(
    methods: Methods,
    data: RankingDataset | str | PathLike[str] | Sequence[Fold],
    measures: Sequence[str | Measure] = ("ndcg@10", "ndcg@5", "map"),
    *,
    baseline: str = "lambdamart",
    settings: Sequence[str] = (),
    tune: bool | Mapping[str, Grid] = False,
    n_folds: int = 5,
    n_controls: int = 3,
    max_documents: Limit = "auto",
    categories: Mapping[Any, Any] | int | str | None = None,
    store: str | PathLike[str] | None = None,
    title: str | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Train methods on the same queries, and compare them on the same test queries.

    The single best feature and the baseline are always compared, too; so is the baseline with
    another seed, if it has one. Every method of several models then meets two opponents of equal
    cost, which have the same number of models: the baseline with different seeds, and models of
    different kinds.

    Parameters
    ----------
    methods : str, list of str, or dict from name to Ranker
        Names from `localrank methods`, or "all". Given rankers are not changed: clones are
        trained.
    data : sequence of Fold, path or RankingDataset
        A folder with folds; a dataset is cut into folds. Folds must differ in their test queries.
        Every method gets the validation queries. Some methods ignore them.
    measures : sequence of str or Measure
        Methods are tuned and judged by the first.
    baseline : str, default="lambdamart"
        The method that all others are compared with.
    settings : list of str
        Parameters of methods given by name, such as "local-rank.n_clusters=4".
    tune : bool or dict from name to grid, default=False
        Choose parameters in each fold by its validation queries or, without any, by
        cross-validation over its training queries. True: use the grids of methods given by name.
        Opponents are not tuned.
    n_folds : int, default=5
        Number of parts to cut a dataset into. With three or more, one part validates.
    n_controls : int, default=3
        Number of random groupings for the clairvoyant bound of rankers with groups. 0: no bound.
    max_documents : int, None or "auto", default="auto"
        Methods learn from at most this many documents of each fold. From larger data whole
        queries are sampled by a hash of their ids, the same for every method, and a
        `SampleWarning` says so. Validation queries are sampled the same way. All test queries are
        scored.
        "auto": all of a dataset in memory, 2,000,000 of one in files. None: all.
    categories : mapping, int or str, optional
        Known categories of the queries, to show how groups agree with them: a mapping from query
        ids, or the column or name of a feature with one value for all documents of a query.
    store : path, optional
        A folder for finished work, which is not done again. None stores nothing.
    title : str, optional
        The name of the data.
    n_jobs : int or None, default=None
        Number of threads. None: one. -1: one per core. The result does not depend on it.
    random_state : int or None, default=0
        Seed of the folds of a dataset, of methods given by name, and of opponents.
    say : callable, optional
        Called with a line about each step.

    Returns
    -------
    Comparison
        Print it for the table and the verdict. `write` writes the report.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(90, separation=1)
    >>> methods = {"rank-svm": RankSVM(), "local": local_rank(2, ranker=RankSVM())}
    >>> result = compare(methods, dataset, ["ndcg@10"], baseline="rank-svm", n_folds=3)
    >>> result.opponents["local"], list(result.results)
    ('global-mixed-2', ['local', 'global-mixed-2', 'rank-svm', 'best-feature'])
    >>> result.against_baseline["local"][result.measures[0]].sign
    1
    >>> print(result.verdict)  # doctest: +ELLIPSIS
    By ndcg@10 on 90 test queries, local leads with 0.7556 (+0.0711 against rank-svm, p < 0.001).
    Significantly better than rank-svm: local (+0.0711)...
    """
    start = time.perf_counter()
    parsed = [parse_measure(measure) for measure in measures]
    taking_part = entries(methods, baseline, settings, n_jobs, random_state)
    baseline = next(name for name, entry in taking_part.items() if entry.role == "baseline")
    folds, sampled = sampled_folds(_folds(data, n_folds, random_state), max_documents)
    facts = tested_facts(folds) | sampled
    known = None
    if categories is not None:
        known = categories_by_query((fold.test for fold in folds), categories)
    n_queries, counted = facts["n_queries"], "1 fold" if len(folds) == 1 else f"{len(folds)} folds"
    say(f"Comparing {len(taking_part)} methods on {n_queries:,} test queries, {counted}.")

    def train(names: Mapping[str, Entry]) -> dict[str, MethodResult]:
        return run(
            {name: entry.ranker for name, entry in names.items()},
            folds,
            grids=_grids(tune, methods, names),
            measure=parsed[0],
            n_controls=n_controls,
            keep_failures=True,
            store=None if store is None else Path(store),
            n_jobs=n_jobs,
            say=say,
        )

    # The baseline comes first: if it fails, nothing else is trained.
    results = train({baseline: taking_part[baseline]})
    if results[baseline].failed:
        raise ValueError(f"The baseline {baseline} failed: {results[baseline].failed}")
    others = {name: entry for name, entry in taking_part.items() if name != baseline}
    results |= train(others)
    n_models = {name: results[name].n_models for name in others if not results[name].failed}
    added, rivals = equal_cost_opponents(taking_part, n_models, n_jobs, random_state)
    if added:
        say(f"Opponents at equal cost: {', '.join(added)}.")
        results |= train(added)
    results = best_first(results, parsed[0])
    opponents = _strongest(rivals, results)
    judged = [name for name in results if name in n_models]
    finished = [name for name in results if name in added and not results[name].failed]
    against_baseline = {
        **paired(dict.fromkeys(judged, baseline), results, parsed),
        **paired(dict.fromkeys(finished, baseline), results, parsed),
    }
    everyone = taking_part | added
    done = {name: result for name, result in results.items() if not result.failed}
    agreed = {} if known is None else agreements(done, known)
    if known is not None and not agreed:
        say("No method has groups that could agree with the categories.")
    if title is None:
        title = Path(data).resolve().name if isinstance(data, str | PathLike) else "Comparison"
    return Comparison(
        parsed,
        baseline,
        {name: everyone[name] for name in results},
        results,
        opponents,
        against_baseline,
        paired(opponents, results, parsed),
        agreed,
        title,
        {
            "seed": random_state,
            "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": time.perf_counter() - start,
            "versions": library_versions(),
            "data": facts,
        },
    )


def _folds(
    data: RankingDataset | str | PathLike[str] | Sequence[Fold],
    n_folds: int,
    random_state: int | None,
) -> Sequence[Fold]:
    if isinstance(data, RankingDataset):
        return find_folds(data, n_folds, validation=n_folds > 2, random_state=random_state)
    folds = find_folds(data) if isinstance(data, str | PathLike) else data
    if not len(folds):
        raise ValueError("A comparison needs at least one fold. Got none.")
    return folds


def _grids(
    tune: bool | Mapping[str, Grid], methods: Methods, names: Mapping[str, Entry]
) -> Mapping[str, Grid]:
    if not isinstance(tune, bool):
        return tune
    given = methods if isinstance(methods, Mapping) else {}
    by_name = [name for name in names if tune and name in METHODS and name not in given]
    return {name: METHODS[name].declaration.grid for name in by_name}


def best_first(results: Mapping[str, MethodResult], measure: Measure) -> dict[str, MethodResult]:
    """Results by their mean. Results without a mean come after them, failed ones last."""
    sign = 1 if measure.higher_is_better else -1

    def place(name: str) -> tuple[bool, float]:
        result = results[name]
        mean = math.nan if result.failed else sign * result.mean(measure)
        return bool(result.failed), math.inf if math.isnan(mean) else -mean

    return {name: results[name] for name in sorted(results, key=place)}


def _strongest(
    rivals: Mapping[str, Sequence[str]], results: Mapping[str, MethodResult]
) -> dict[str, str]:
    """The best opponent of each method that did not fail. Results have the best first."""
    opponents = {}
    for name in results:
        finished = [r for r in results if r in rivals.get(name, ()) and not results[r].failed]
        if finished:
            opponents[name] = finished[0]
    return opponents


def paired(
    pairs: Mapping[str, str],
    results: Mapping[str, MethodResult],
    measures: Sequence[Measure],
    test: str = "t",
) -> Tests:
    """Paired tests of methods with their opponents, corrected for the number of methods."""
    tests: Tests = {name: {} for name in pairs}
    for measure in measures:
        alone = {
            name: results[name].against(results[other], measure, test)
            for name, other in pairs.items()
        }
        for name, result in corrected(alone).items():
            tests[name][measure] = result
    return tests


def sampled_folds(
    folds: Sequence[Fold], max_documents: Limit
) -> tuple[Sequence[Fold], dict[str, Any]]:
    """Folds with at most this many training documents, and the sizes of the samples.

    Training and validation queries are read into memory, one fold at a time. Test queries are
    not read.

    Parameters
    ----------
    folds : sequence of Fold
    max_documents : int, None or "auto"
        Learn from at most this many documents, as for `Ranker.fit`.

    Returns
    -------
    folds : sequence of Fold
    facts : dict
        For each fold, the numbers of queries and documents in the sample, and of all. Empty:
        nothing was left out.

    Examples
    --------
    >>> import warnings
    >>> from localrank.data import folds, make_queries
    >>> dataset, _ = make_queries(60)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     sampled, facts = sampled_folds(folds(dataset, 3), 500)
    >>> facts["training_queries"], sampled[0].train.n_queries
    ([(12, 20), (12, 20), (12, 20)], 12)
    """
    if max_documents == "auto" and all(fold.train.default_limit is None for fold in folds):
        return folds, {}
    queries, documents = [], []
    for fold in folds:
        sample = all_sampled(fold.train, checked_limit(max_documents, fold.train))
        queries.append((len(sample), fold.train.n_queries))
        documents.append((int(fold.train.query_sizes[sample].sum()), fold.train.n_documents))
        # Release the fold before the next one is read.
        del fold
    made = Folds([partial(_sampled_fold, folds, i, max_documents) for i in range(len(folds))])
    if all(n == total for n, total in queries):
        return made, {}
    least = min(range(len(queries)), key=lambda i: queries[i][0] / queries[i][1])
    (n, total), (rows, all_rows) = queries[least], documents[least]
    where = f" of {folds[least].name}" if len(folds) > 1 else ""
    warnings.warn(
        f"Methods learn from {n:,} of {total:,} training queries{where} ({rows:,} of "
        f"{all_rows:,} documents), drawn by their ids. Validation queries are drawn the same way. "
        f"max_documents={max(map(max, documents))} uses all.",
        SampleWarning,
        stacklevel=3,
    )
    return made, {"training_queries": queries, "training_documents": documents}


def _sampled_fold(folds: Sequence[Fold], index: int, max_documents: Limit) -> Fold:
    fold = folds[index]
    valid = None if fold.valid is None else sampled_in_memory(fold.valid, max_documents)
    return Fold(fold.name, sampled_in_memory(fold.train, max_documents), valid, fold.test)


def tested_facts(folds: Sequence[Fold]) -> dict[str, Any]:
    """Facts about the data, for the page. Warns of queries that are in both training and test."""
    labels: Counter[float] = Counter()
    n_queries = n_documents = n_features = 0
    digest = hashlib.sha256()
    for fold in folds:
        _warn_of_shared_queries(fold)
        values, counts = np.unique(fold.test.labels, return_counts=True)
        labels.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        n_queries += fold.test.n_queries
        n_documents += fold.test.n_documents
        n_features = fold.test.n_features
        digest.update(fingerprint(fold).encode())
        # Release the fold before the next one is read.
        del fold
    return {
        "n_queries": n_queries,
        "n_documents": n_documents,
        "n_features": n_features,
        "labels": {f"{label:g}": labels[label] for label in sorted(labels)},
        "folds": len(folds),
        "sha256": digest.hexdigest(),
    }


def _warn_of_shared_queries(fold: Fold) -> None:
    shared = np.intersect1d(fold.train.query_ids, fold.test.query_ids)
    if shared.size:
        warnings.warn(
            f"{fold.name}: {shared.size:,} query ids, such as {shared[0]}, are in both the "
            f"training and the test part. If they are the same queries, the results are too "
            f"good.",
            stacklevel=4,
        )
