"""Checks and conversions of the arguments of `fit` and `predict`."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from functools import partial
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.estimator import check_is_fitted
from localrank._base.rules import fitted_parts, parts_of
from localrank.data import ColumnWarning, RankingDataset
from localrank.data._checks import sum_of_squares
from localrank.data._column_record import ColumnRecord, first_id
from localrank.data._filling import Filling
from localrank.data.errors import AdvisedError, warn
from localrank.data.sampling import Limit, SampleWarning, checked_limit, sampled_queries
from localrank.rankers._categories import as_seen

if TYPE_CHECKING:
    from localrank.rankers.base import Ranker

# At most this many documents for a model that holds more numbers per document than its features.
# Linear models and small nets gain too little from more documents to be worth the memory.
MAX_DOCUMENTS = 250_000


# What to write for arguments of `fit` in other libraries.
_QID = "Write qid=: a query id for each row. Sizes of groups become ids by "
_QID += "numpy.repeat(numpy.arange(len(group)), group)."
_VALID = "Write valid=(X, y, qid), or valid= and a RankingDataset."
_PATIENCE = "Write patience= in the constructor, and valid= in fit."
_MEASURE = "Write measure= in the constructor, such as measure='ndcg@10'."
_MORE_TREES = "Set warm_start=True and a larger n_trees, and fit again."
FIT_HINTS = {
    **dict.fromkeys(("group", "groups", "group_id"), _QID),
    **dict.fromkeys(("eval_set", "eval_group", "eval_qid", "validation_data"), _VALID),
    **dict.fromkeys(("early_stopping_rounds", "callbacks"), _PATIENCE),
    **dict.fromkeys(("eval_metric", "eval_at"), _MEASURE),
    **dict.fromkeys(("init_model", "xgb_model"), _MORE_TREES),
    **dict.fromkeys(("sample_weights", "weight"), "Write sample_weight= or query_weight=."),
}


class MissingQueryIds(BaseException):
    """Raised inside scikit-learn's model selection if `qid` is missing.

    Model selection turns any `Exception` into a score of NaN. This is not an `Exception`.
    """


def as_dataset(X: Any, y: Any, qid: Any) -> RankingDataset:
    """A dataset unchanged, or a dataset made of arrays."""
    if isinstance(X, RankingDataset):
        if y is not None or qid is not None:
            raise ValueError("A RankingDataset has its labels and query ids: leave out y and qid.")
        return X
    if type(X) is not np.ndarray and isinstance(X, str | PathLike):
        raise ValueError(f"Read {str(X)!r} first, with localrank.data.read_letor or read_table.")
    if qid is None:
        raise _missing_query_ids()
    return RankingDataset.from_arrays(X, y, qid)


def _missing_query_ids() -> BaseException:
    text = (
        "The 'qid' argument is missing: one query id for each row of X. scikit-learn passes it on "
        "after sklearn.set_config(enable_metadata_routing=True): "
        "GridSearchCV(...).fit(X, y, qid=qid), cross_validate(..., params={'qid': qid})."
    )
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection"):
            return MissingQueryIds(text)
        frame = frame.f_back
    return ValueError(text)


def same_features(
    name: str,
    n_trained: int,
    trained: tuple[str, ...] | None,
    dataset: RankingDataset,
    record: ColumnRecord | None = None,
) -> RankingDataset:
    """The dataset with its features in the order of the training data's, by their names.

    Refuses a dataset whose features differ in number or name. Warns if the training data's
    features have names and those of the dataset do not. `record` is the training data's.
    """
    given = dataset.feature_names
    if trained is not None and given is not None and trained != given:
        return _in_trained_order(name, trained, given, dataset)
    if dataset.n_features != n_trained:
        raise ValueError(
            f"{name} was fitted on {n_trained} features. The dataset has {dataset.n_features}."
        )
    # A frame that was made of an array has numbers for names. Features of LETOR text never have
    # names: those of the model came from elsewhere, and were not there in training either.
    text = record is not None and record.zero_based is not None
    if trained is not None and given is None and trained[0] != "0" and not text:
        first = ", ".join(trained[:3]) + (", ..." if n_trained > 3 else "")
        warn(
            ColumnWarning(
                f"{name} was fitted on features with names ({first}), and these have none: they "
                f"are taken in that order.",
                "Pass a DataFrame, or a dataset with feature_names.",
                "A table has the names.",
            )
        )
    return dataset


def _in_trained_order(
    name: str, trained: tuple[str, ...], given: tuple[str, ...], dataset: RankingDataset
) -> RankingDataset:
    place = {feature: column for column, feature in enumerate(given)}
    if place.keys() != set(trained):
        missing = [feature for feature in trained if feature not in place]
        known = set(trained)
        surplus = [feature for feature in given if feature not in known]
        differences = [
            f"{kind} {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}"
            for kind, names in (("without", missing), ("with a new", surplus))
            if names
        ]
        raise ValueError(
            f"{name} was fitted on other features. The dataset comes {' and '.join(differences)}."
        )
    columns = np.array([place[feature] for feature in trained])
    return dataset.derived(partial(_rearranged, columns=columns, names=trained))


def _rearranged(
    dataset: RankingDataset, columns: Integers, names: tuple[str, ...]
) -> RankingDataset:
    features = dataset.features.take(columns, axis=1)
    return dataset.replaced(features=features, feature_names=names)


def check_same_base(name: str, trained: ColumnRecord | None, dataset: RankingDataset) -> None:
    """Refuse a dataset whose feature ids begin at another number than the training data's."""
    given = dataset.column_record
    if trained is not None and given is not None and trained.contradicts(given):
        raise ValueError(
            f"{name} was fitted on data whose feature ids begin at {first_id(trained)}. The "
            f"dataset was read as if its ids began at {first_id(given)}, so every feature would "
            f"take the place of its neighbour. Read it with zero_based={trained.zero_based}."
        )


def admitted_to(ranker: Ranker, X: Any, qid: Any) -> RankingDataset:
    """The documents that a fitted ranker is asked to score, as a dataset that it can score."""
    check_is_fitted(ranker, "n_features_in_")
    return checked_same(ranker, as_dataset(X, None, qid))


def checked_same(ranker: Ranker, dataset: RankingDataset) -> RankingDataset:
    """Data as the fitted ranker sees it. Refuses data that it cannot score."""
    door = ranker._door
    dataset = as_seen(ranker, dataset, getattr(ranker, "categories_", None), door.feature_names)
    name = type(ranker).__name__
    record = getattr(ranker, "column_record_", None)
    dataset = same_features(name, ranker.n_features_in_, door.feature_names, dataset, record)
    check_same_base(name, record, dataset)
    if door.refuses_missing:
        check_missing(ranker, dataset)
    if door.needs_vectors:
        check_vectors(ranker, dataset, door.n_dimensions)
    ranker._check_data(dataset)
    return dataset


@dataclass(frozen=True)
class Door:
    """What does not change after `fit`, and would be looked up for every list to score.

    Attributes
    ----------
    feature_names : tuple of str or None
    refuses_missing : bool
        Whether the ranker, or a part of it, refuses missing values.
    row_bytes : int
        Memory to score a document.
    needs_lists : bool
        Whether scores are relative to the other documents of the query.
    needs_vectors : bool
        Whether the ranker, or a part of it, needs the documents' vectors.
    n_dimensions : int or None
        How long the vectors were in training. None: it needs none, or an older version saved it.
    """

    feature_names: tuple[str, ...] | None
    refuses_missing: bool
    row_bytes: int
    needs_lists: bool
    needs_vectors: bool
    n_dimensions: int | None

    @classmethod
    def of(cls, ranker: Ranker) -> Self:
        """The door of a fitted ranker."""
        names = getattr(ranker, "feature_names_in_", None)
        trained = None if names is None else tuple(names.tolist())
        parts = list(fitted_parts(ranker))
        return cls(
            trained,
            not accepts_missing(ranker),
            ranker._row_bytes(),
            needs_lists=any(map(_is_relative, parts)),
            needs_vectors=any(map(reads_vectors, parts)),
            n_dimensions=next(
                (part.n_dimensions_in_ for part in parts if hasattr(part, "n_dimensions_in_")), None
            ),
        )


def _is_relative(part: Any) -> bool:
    """Whether a ranker, or an aggregator, compares the documents of a query."""
    return bool(part.needs.lists if hasattr(part, "needs") else getattr(part, "relative", False))


def reads_vectors(part: Any) -> bool:
    """Whether a ranker itself needs the documents' vectors."""
    needs = getattr(part, "needs", None)
    by_vectors = getattr(part, "neighbours", "vectors") == "vectors"
    return needs is not None and needs.vectors and by_vectors


def check_vectors(ranker: Ranker, dataset: RankingDataset, n_dimensions: int | None = None) -> None:
    """Refuse documents without vectors if a part of the ranker needs them.

    Parameters
    ----------
    ranker : Ranker
    dataset : RankingDataset
    n_dimensions : int, optional
        How long the vectors must be. None: as long as they are.
    """
    vectors = dataset._vectors
    if vectors is not None and n_dimensions in (None, vectors.width):
        return
    fitted = fitted_parts(ranker) if hasattr(ranker, "n_features_in_") else ()
    readers = [part for part in (*parts_of(ranker), *fitted) if reads_vectors(part)]
    if readers and vectors is not None:
        raise ValueError(
            f"{type(ranker).__name__} is fitted on vectors of {n_dimensions} numbers. Those of the "
            f"dataset have {vectors.width}: they come from another encoder."
        )
    if readers:
        raise AdvisedError(
            f"{type(readers[0]).__name__} needs a vector for each document, and the dataset has "
            f"none.",
            "Give them by dataset.with_vectors(vectors), or lists_dataset(lists, vectors=...); "
            "neighbours='features' finds neighbours by the features instead.",
            "Give them with --vectors. Or train with --set neighbours=features, which finds "
            "neighbours by the features.",
        )


def warn_of_single_documents(ranker: Ranker, dataset: RankingDataset) -> None:
    """Warn if documents come alone, and the ranker scores them relative to each other.

    One list of one document is in the right order. Some of them among others are normal.
    """
    n = dataset.n_queries
    # The first test spares counting.
    if not ranker._door.needs_lists or n < 2 or dataset.n_documents > 2 * n:
        return
    n_single = int(np.count_nonzero(dataset.query_sizes == 1))
    if n_single >= 0.9 * n:
        warnings.warn(
            f"{n_single:,} of {n:,} queries have one document, and {type(ranker).__name__} scores "
            f"a document relative to the others of its query: these scores mean nothing. Give "
            f"whole lists, with the same query id for all documents of a query.",
            stacklevel=3,
        )


def accepts_missing(ranker: Ranker) -> bool:
    """Whether features may be missing (NaN): yes, unless a part refuses them."""
    return not any(getattr(part, "missing", None) == "refuse" for part in parts_of(ranker))


def check_missing(ranker: Ranker, dataset: RankingDataset) -> None:
    """Refuse missing values if a part of the ranker refuses them."""
    # Looking for missing values is a pass over all features.
    if accepts_missing(ranker) or not dataset.has_missing:
        return
    refusing = [part for part in parts_of(ranker) if getattr(part, "missing", "") == "refuse"]
    n_missing = sum(np.isnan(block).sum(axis=0) for _, block in dataset.feature_blocks())
    column = int(np.argmax(n_missing > 0))
    raise ValueError(
        f"{type(refusing[0]).__name__} was given missing='refuse', and "
        f"{dataset.feature_label(column)} has missing values ({n_missing[column]:,} of "
        f"{dataset.n_documents:,}). Train it with missing='impute', the default, which fills "
        f"them with the medians of their queries; on the command line, leave out "
        f"--set ...missing=refuse."
    )


def filling_of(ranker: Ranker) -> Filling:
    """The learned filling of a fitted ranker, or the one for complete training data."""
    learned: Filling | None = getattr(ranker, "filling_", None)
    return learned or Filling.unlearned(ranker.n_features_in_)


def filled(ranker: Ranker, block: RankingDataset) -> RankingDataset:
    """Documents without missing values, and with the indicators that the ranker learned."""
    if getattr(ranker, "filling_", None) is None and not block.has_missing:
        return block
    return filling_of(ranker).filled(block)


def finite_scores(ranker: Ranker, dataset: RankingDataset, scores: Floats) -> Floats:
    """The scores, all finite."""
    if not (isfinite(sum_of_squares(scores)) or np.isfinite(scores).all()):
        row = int(np.argmin(np.isfinite(scores)))
        query = dataset.query_ids[dataset.query_index[row]]
        raise ValueError(
            f"{type(ranker).__name__} gives a document of query {query} the score {scores[row]}: "
            f"its features lie too far from those of the training queries, or are too small "
            f"or too large to compute with."
        )
    return scores


def has_two_labels(dataset: RankingDataset) -> Flags:
    """Whether each query has documents with different labels, so there is an order to learn."""
    low, high = dataset.label_bounds
    return np.asarray(low < high)


def is_graded(dataset: RankingDataset) -> Flags:
    """As `has_two_labels`, for a dataset that need not have labels."""
    if dataset.relevance is None:
        return np.zeros(dataset.n_queries, np.bool_)
    return has_two_labels(dataset)


def all_sampled(
    dataset: RankingDataset, limit: int | None, query_weights: Floats | None = None
) -> Integers:
    """Positions of queries with at most `limit` documents in all. None: of all queries."""
    queries = np.arange(dataset.n_queries)
    if limit is None:
        return queries
    teaches = is_graded(dataset)
    if query_weights is not None:
        teaches &= query_weights > 0
    return sampled_queries(dataset, queries, limit, teaches)


def sampled_in_memory(dataset: RankingDataset, max_documents: Limit) -> RankingDataset:
    """Queries with at most `max_documents` documents in all, read into memory."""
    limit = checked_limit(max_documents, dataset)
    if limit is not None:
        dataset = dataset.taken(all_sampled(dataset, limit))
    return dataset.in_memory(views=False)


def sampled_validation(valid: RankingDataset, max_documents: Limit) -> RankingDataset:
    """Validation queries in memory, with a warning if they are only a sample."""
    drawn = sampled_in_memory(valid, max_documents)
    if drawn.n_queries < valid.n_queries:
        warnings.warn(
            f"{drawn.n_queries:,} of {valid.n_queries:,} validation queries ({drawn.n_documents:,} "
            f"of {valid.n_documents:,} documents) are used, drawn by their ids.",
            SampleWarning,
            stacklevel=3,
        )
    return drawn


def held_out_queries(valid: RankingDataset | tuple[Any, Any, Any]) -> RankingDataset:
    """The validation queries as a dataset. At least one query must have two different labels."""
    if not isinstance(valid, RankingDataset):
        if not (isinstance(valid, tuple) and len(valid) == 3):
            raise ValueError("Validation data must be a RankingDataset or a tuple (X, y, qid).")
        valid = as_dataset(*valid)
    if not has_two_labels(valid).any():
        raise ValueError("The validation data decides nothing: no query has two different labels.")
    return valid


def checked_weights(
    dataset: RankingDataset, sample_weight: ArrayLike | None, query_weight: ArrayLike | None
) -> tuple[Floats | None, Floats | None]:
    """Weights of queries and weights of rows, of which at most one is not None.

    Rows have weights if those of a query differ. Both None: all weigh the same.
    """
    if sample_weight is None and query_weight is None:
        return None, None
    if sample_weight is not None and query_weight is not None:
        raise ValueError("Give sample_weight or query_weight, not both.")
    name, given, length = "query_weight", query_weight, dataset.n_queries
    if sample_weight is not None:
        name, given, length = "sample_weight", sample_weight, dataset.n_documents
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (length,):
        raise ValueError(f"{name} needs {length} entries. Got shape {weights.shape} instead.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"{name} must hold finite numbers, 0 or larger.")
    if query_weight is not None:
        return weights, None
    rows = dataset.in_query_order(weights)
    weights = rows[dataset.offsets[:-1]]
    return (None, rows) if (rows != weights[dataset.query_index]).any() else (weights, None)
