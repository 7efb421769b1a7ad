"""Runs and judgments put together: one dataset for the documents of several runs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels import strings
from localrank._kernels.sorting import argsort_descending, read_only
from localrank.data._offsets import offsets_of
from localrank.data._strings import Strings, by_group, first_repeated
from localrank.data.dataset import RankingDataset
from localrank.data.trec import Qrels, Run, position_in_query

# The label of a document that nobody judged.
UNJUDGED = -1.0
# Ids that an error shows of each side.
_N_SHOWN = 3
# Ids of each side that an error compares in other spellings.
_N_COMPARED = 100_000


@dataclass(frozen=True)
class RunCounts:
    """How many of the judged queries and documents a run has.

    Attributes
    ----------
    n_queries : int
        Queries of the run.
    n_unjudged_queries : int
        Queries of the run without judgments. They are left out.
    n_missing_queries : int
        Judged queries that the run lacks. It retrieved nothing for them.
    depths : tuple of (int, float, int)
        Lengths of the lists of judged queries: the shortest, the median, the longest.
    n_documents : int
        Documents in these lists.
    n_judged : int
        Those with a judgment.
    n_tied : int
        Those whose score another document of the list has, too.
    """

    n_queries: int
    n_unjudged_queries: int
    n_missing_queries: int
    depths: tuple[int, float, int]
    n_documents: int
    n_judged: int
    n_tied: int


@dataclass(frozen=True, eq=False, repr=False)
class PooledRuns:
    """The documents of several runs with their judgments.

    Attributes
    ----------
    dataset : RankingDataset
        Every judged query, with its judged documents and those that a run has for it. Without
        features. The label of a document that nobody judged is -1.
    scores : dict of str to ndarray of shape (n_documents,)
        By the name of a run, the score of each document; minus infinity: not retrieved.
    counts : dict of str to RunCounts
        By the name of a run, what it has of the judged queries.
    n_negative : int
        Judged documents with another grade below 0 than -1. Their label is 0.
    same : dict of str to str
        A run that gives the same scores to the same documents as an earlier one, and that one.
    n_open : int
        Lines of the judgments with the grade -1, which says that nobody judged the document.
    """

    dataset: RankingDataset
    scores: dict[str, Floats]
    counts: dict[str, RunCounts]
    n_negative: int
    same: dict[str, str] = field(default_factory=dict)
    n_open: int = 0

    def __repr__(self) -> str:
        n_judged = int(np.sum(self.dataset.labels >= 0))
        return (
            f"PooledRuns of {', '.join(self.scores)}: {self.dataset.n_queries:,} judged queries, "
            f"{self.dataset.n_documents:,} documents, {n_judged:,} of them judged"
        )

    @property
    def notes(self) -> list[str]:
        """What was left out or counts in an unusual way, in sentences."""
        return self.notes_with("By default, measures take the mean over all their orders.")

    def notes_with(self, ties: str) -> list[str]:
        """The notes, with a sentence on how documents of equal scores count."""
        n_queries = self.dataset.n_queries
        notes = []
        if runs := self._with(lambda run: (run.n_unjudged_queries, run.n_queries)):
            notes.append(f"Queries without judgments: {runs}. They are left out.")
        if runs := self._with(lambda run: (run.n_missing_queries, n_queries)):
            notes.append(
                f"Judged queries that are not in the run: {runs}. The run retrieved nothing for "
                f"them."
            )
        for name, counts in self.counts.items():
            if not counts.n_judged:
                notes.append(
                    f"{name}: none of its documents is judged. Are its ids those of the judgments?"
                )
        for name, other in self.same.items():
            notes.append(f"{name} is the same run as {other}: same documents, same scores.")
        if runs := self._with(lambda run: (run.n_tied, run.n_documents)):
            notes.append(
                f"Documents that share their score with another one of their list: {runs}. {ties}"
            )
        if self.n_open:
            notes.append(
                f"Judgments with the grade -1: {self.n_open:,}. It says that nobody judged the "
                f"document."
            )
        if self.n_negative:
            notes.append(
                f"Judgments with a grade below 0, other than -1: {self.n_negative:,}. They count "
                f"as 0: judged, not relevant."
            )
        if len({counts.depths for counts in self.counts.values()}) > 1:
            depths = (
                f"{name} {counts.depths[0]:,} to {counts.depths[2]:,} (median "
                f"{counts.depths[1]:,g})"
                for name, counts in self.counts.items()
            )
            notes.append(f"Runs differ in the lengths of their lists: {'; '.join(depths)}.")
        return notes

    def _with(self, parts: Callable[[RunCounts], tuple[int, int]]) -> str:
        """The runs that have some of all, with both numbers."""
        numbers = {name: parts(counts) for name, counts in self.counts.items()}
        return "; ".join(f"{name} {n:,} of {n_all:,}" for name, (n, n_all) in numbers.items() if n)


def pooled(runs: Mapping[str, Run], qrels: Qrels) -> PooledRuns:
    """Put runs and judgments together, as one dataset with the scores of each run.

    As in `trec_eval -c`, every judged query counts, even if a run lacks it; queries without
    judgments are left out. A judged document that is not in a run was not retrieved by it. A
    document that nobody judged has the label -1; measures count it as not relevant. The grade -1
    says the same, and such lines are left out. Other grades below 0, which are spam in some
    collections, become 0. `PooledRuns.notes` says which of these rules mattered, and how often.

    Parameters
    ----------
    runs : mapping of str to Run
        Runs by name. `as_run` makes them of files, dicts, DataFrames and others.
    qrels : Qrels
        Judgments, as from `as_qrels`.

    Returns
    -------
    PooledRuns
        Queries are in the order of the judgments. Within a query, the documents of the first run
        come first, in its order, then those that only later runs have, then the others that were
        judged.

    Raises
    ------
    ValueError
        A run is empty, has a document twice for a query, or a score that is not finite. A run
        has no judged query. No document of any run is judged.

    Warns
    -----
    UserWarning
        Two runs are the same.

    Notes
    -----
    Beside the runs themselves, it needs 100 bytes for each line of the runs and of the judgments,
    and 4 more for each letter of the longest document id.

    Examples
    --------
    >>> bm25 = Run(np.array(["q", "q"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> dense = Run(np.array(["q"]), np.array(["c"]), np.array([0.9]))
    >>> qrels = Qrels(np.array(["q", "q"]), np.array(["b", "c"]), np.array([1.0, 2.0]))
    >>> both = pooled({"bm25": bm25, "dense": dense}, qrels)
    >>> both.dataset.document_ids, both.dataset.relevance
    (array(['a', 'b', 'c'], dtype='<U1'), array([-1.,  1.,  2.]))
    >>> both.scores["dense"]
    array([-inf, -inf,  0.9])
    >>> both.notes
    ['Runs differ in the lengths of their lists: bm25 2 to 2 (median 2); dense 1 to 1 (median 1).']
    """
    if not runs:
        raise ValueError("There is no run to put together with judgments.")
    for name, run in runs.items():
        _check_lengths(f"The run {name!r}", run.query_ids, run.document_ids, run.scores, "score")
    _check_lengths(
        "The judgments", qrels.query_ids, qrels.document_ids, qrels.relevance, "relevance"
    )
    n_lines = len(qrels.relevance)
    qrels = graded(qrels)
    queries, query_ids, n_unjudged = _numbered_queries(runs, qrels)
    sources: list[Run | Qrels] = [*runs.values(), qrels]
    documents = Strings.joined([Strings.of(np.asarray(source.document_ids)) for source in sources])
    items, offsets = by_group(np.concatenate(queries), len(query_ids))
    numbers, firsts, bounds = documents.numbered_in_groups(items, offsets)
    ends = np.cumsum([len(part) for part in queries]).tolist()
    labels = _by_number("The judgments", qrels, qrels.relevance, numbers[ends[-2] :], len(firsts))
    labels = np.where(labels > -np.inf, np.maximum(labels, 0.0), UNJUDGED)
    scores = {
        name: _by_number(f"The run {name!r}", run, run.scores, numbers[begin:end], len(firsts))
        for (name, run), begin, end in zip(runs.items(), [0, *ends], ends, strict=False)
    }
    dataset = RankingDataset._checked(
        features=np.empty((len(firsts), 0)),
        relevance=labels,
        offsets=bounds,
        query_ids=query_ids,
        document_ids=documents.array(firsts),
        feature_names=None,
        input_order=None,
    )
    counts = {
        name: _counts(dataset, scores[name], n) for name, n in zip(runs, n_unjudged, strict=True)
    }
    if not any(count.n_judged for count in counts.values()):
        raise ValueError(_other_documents(runs, qrels))
    same = _same_runs(scores)
    for name, other in same.items():
        warnings.warn(
            f"The runs {other!r} and {name!r} are the same: same documents, same scores.",
            stacklevel=2,
        )
    n_negative = int(np.sum(np.asarray(qrels.relevance) < 0))
    n_open = n_lines - len(qrels.relevance)
    return PooledRuns(dataset, scores, counts, n_negative, same, n_open)


def graded(qrels: Qrels) -> Qrels:
    """The judgments without lines of the grade -1, which say that nobody judged the document.

    Examples
    --------
    >>> qrels = Qrels(np.array(["q", "q"]), np.array(["a", "b"]), np.array([1.0, -1.0]))
    >>> graded(qrels).document_ids
    array(['a'], dtype='<U1')
    """
    kept = np.asarray(qrels.relevance) != UNJUDGED
    if kept.all():
        return qrels
    if not kept.any():
        raise ValueError(
            "All grades of the judgments are -1, which says that nobody judged the document."
        )
    columns = (qrels.query_ids, qrels.document_ids, qrels.relevance)
    return Qrels(*(np.asarray(column)[kept] for column in columns))


def judged(run: Run, qrels: Qrels) -> tuple[RankingDataset, Floats]:
    """A run's documents with their judgments, as a dataset without features, and the scores.

    As `pooled`, for one run.

    Examples
    --------
    >>> run = Run(np.array(["q", "q"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> dataset, scores = judged(run, Qrels(np.array(["q"]), np.array(["b"]), np.array([1.0])))
    >>> dataset.relevance, scores
    (array([-1.,  1.]), array([2., 1.]))
    """
    both = pooled({run.tag: run}, qrels)
    return both.dataset, both.scores[run.tag]


def align(run: Run, dataset: RankingDataset) -> Floats:
    """The run's score for each document of a dataset, in input order.

    A document that is not in the run was not retrieved: it gets minus infinity. Documents of the
    run that are not in the dataset are left out.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[0.0], [0.0]], qid=[5, 5], document_ids=["a", "b"])
    >>> align(Run(np.array(["5"]), np.array(["b"]), np.array([1.5])), dataset)
    array([-inf,  1.5])
    """
    known = {str(name): number for number, name in enumerate(dataset.query_ids.tolist())}
    queries, _ = _known_queries(run.query_ids, known)
    ids = dataset.document_ids
    if ids is None:
        ids = position_in_query(dataset) + 1
    documents = Strings.joined([Strings.of(ids), Strings.of(np.asarray(run.document_ids))])
    items, offsets = by_group(np.concatenate([dataset.query_index, queries]), dataset.n_queries)
    numbers, firsts, _ = documents.numbered_in_groups(items, offsets)
    n_rows = dataset.n_documents
    if (row := first_repeated(numbers[:n_rows], len(firsts))) is not None:
        query, document = dataset.query_ids[dataset.query_index[row]], documents.names([row])[0]
        raise ValueError(
            f"Query {str(query)!r} of the dataset has two documents with the same id, {document!r}."
        )
    scores = _by_number("The run", run, run.scores, numbers[n_rows:], len(firsts))
    return dataset.in_input_order(scores[numbers[:n_rows]])


def _check_lengths(whose: str, queries: Any, documents: Any, values: Any, name: str) -> None:
    """Refuse a run or judgments that are empty, of unequal lengths, or not finite."""
    lengths = len(queries), len(documents), len(values)
    if len(set(lengths)) > 1:
        raise ValueError(
            f"{whose} must have one query id, document id and {name} for each line. Got "
            f"{lengths[0]:,}, {lengths[1]:,} and {lengths[2]:,} instead."
        )
    if not lengths[0]:
        raise ValueError(f"{whose} must not be empty.")
    wrong = np.flatnonzero(~np.isfinite(np.asarray(values, np.float64)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"{whose}: each {name} must be a finite number. Document {str(documents[row])!r} of "
            f"query {str(queries[row])!r} has {values[row]}."
        )


def _numbered_queries(
    runs: Mapping[str, Run], qrels: Qrels
) -> tuple[list[Integers], Array, list[int]]:
    """For each run, then the judgments: the number of each line's query among the judged ones.

    It is -1 if the query has no judgments. Also the judged queries, and how many queries of each
    run are not among them.
    """
    judged_queries = Strings.of(np.asarray(qrels.query_ids))
    numbers, firsts = judged_queries.numbered()
    known = {name: number for number, name in enumerate(judged_queries.names(firsts))}
    parts, n_unjudged = [], []
    for name, run in runs.items():
        part, n_unknown = _known_queries(run.query_ids, known)
        if n_unknown and not (part >= 0).any():
            raise ValueError(
                _nothing_in_common(
                    f"The run {name!r} and the judgments have no query in common.",
                    ("queries", run.query_ids),
                    ("queries", qrels.query_ids),
                )
            )
        parts.append(part)
        n_unjudged.append(n_unknown)
    return [*parts, numbers], judged_queries.array(firsts), n_unjudged


def _known_queries(ids: Any, known: Mapping[str, int]) -> tuple[Integers, int]:
    """The number of the query of each line, -1 if it is not known, and how many are not."""
    queries = Strings.of(np.asarray(ids))
    numbers, firsts = queries.numbered()
    codes = np.array([known.get(name, -1) for name in queries.names(firsts)], np.int64)
    return codes[numbers], int(np.sum(codes < 0))


def _by_number(
    whose: str, source: Run | Qrels, values: Any, numbers: Integers, n_numbers: int
) -> Floats:
    """The value of each number, minus infinity for those that no line has."""
    if (row := first_repeated(numbers, n_numbers)) is not None:
        raise ValueError(
            f"{whose}: document {str(source.document_ids[row])!r} of query "
            f"{str(source.query_ids[row])!r} occurs twice; a query may have it once."
        )
    result = np.full(n_numbers, -np.inf)
    strings.spread(read_only(numbers, np.int64), read_only(values, np.float64), result)
    return result


def _counts(dataset: RankingDataset, scores: Floats, n_unjudged: int) -> RunCounts:
    retrieved = scores > -np.inf
    sizes = dataset.count(retrieved)
    depths = sizes[sizes > 0]
    return RunCounts(
        n_queries=len(depths) + n_unjudged,
        n_unjudged_queries=n_unjudged,
        n_missing_queries=dataset.n_queries - len(depths),
        depths=(int(depths.min()), float(np.median(depths)), int(depths.max())),
        n_documents=int(depths.sum()),
        n_judged=int(np.sum(retrieved & (dataset.labels >= 0))),
        n_tied=_n_tied(scores[retrieved], offsets_of(depths)),
    )


def _n_tied(scores: Floats, offsets: Integers) -> int:
    """Documents whose score another one of the same list has."""
    ordered = scores[argsort_descending(scores, offsets)]
    same = ordered[1:] == ordered[:-1]
    same[offsets[1:-1] - 1] = False
    return int(np.sum(np.append(same, False) | np.append(False, same)))


def _same_runs(scores: Mapping[str, Floats]) -> dict[str, str]:
    """Runs that equal an earlier one, and that one."""
    same: dict[str, str] = {}
    names = list(scores)
    for place, name in enumerate(names):
        for other in names[:place]:
            if other not in same and np.array_equal(scores[name], scores[other]):
                same[name] = other
                break
    return same


def _other_documents(runs: Mapping[str, Run], qrels: Qrels) -> str:
    looked = "The documents of the runs" if len(runs) > 1 else "The documents of the run"
    return _nothing_in_common(
        f"{looked} have no judgment for any judged query, not one of them.",
        ("documents", next(iter(runs.values())).document_ids),
        ("documents", qrels.document_ids),
    )


# Ways to write an id differently, in words, and how to undo them.
_SPELLINGS: dict[str, Callable[[str], str]] = {
    "without leading zeros": lambda name: name.lstrip("0") or "0",
    "without '.0' at their ends": lambda name: name.removesuffix(".0"),
    "without white space around them": str.strip,
    "in small letters": str.casefold,
    "by their digits alone": lambda name: re.sub(r"\D", "", name).lstrip("0") or name,
}


def _nothing_in_common(message: str, one: tuple[str, Any], other: tuple[str, Any]) -> str:
    """An error for ids of two sides, with examples, and how they would match."""
    kind, ids = one
    ours, theirs = (_different(side) for side in (ids, other[1]))
    shown = (", ".join(map(repr, list(side)[:_N_SHOWN])) for side in (ours, theirs))
    text = "{} Ids of {} are {} in the run and {} in the judgments.".format(message, kind, *shown)
    for words, plain in _SPELLINGS.items():
        common = {plain(name) for name in ours} & {plain(name) for name in theirs}
        if common:
            return f"{text} {len(common):,} of them match {words}: write them in one way."
    return f"{text} Are these judgments of another collection?"


def _different(ids: Any) -> dict[str, None]:
    return dict.fromkeys(map(str, np.asarray(ids)[:_N_COMPARED].tolist()))
