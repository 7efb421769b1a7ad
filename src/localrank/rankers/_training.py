"""What `fit` does: admit the data, draw queries, order rows, fill, learn, and remember."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.estimator import drawn_seed
from localrank._base.parallel import one_blas_thread
from localrank._base.rules import (
    Rule,
    Rules,
    Sizes,
    check_parameters,
    facts,
    fitted_parts,
    floats,
    instance,
    n_inputs,
    optional,
    parts_of,
    texts,
    whole,
)
from localrank.data import RankingDataset
from localrank.data._as_arrays import library_of
from localrank.data._categories import Categories
from localrank.data._checks import check_index
from localrank.data._column_record import ColumnRecord
from localrank.data._content_order import content_order
from localrank.data._filling import Filling
from localrank.data._no_features import warn_of_suspects
from localrank.data._shared_queries import warn_of_training_queries
from localrank.data.errors import AdvisedError
from localrank.data.sampling import SampleWarning
from localrank.rankers._categories import as_seen, categories_rule, learned_from
from localrank.rankers._inputs import (
    MAX_DOCUMENTS,
    all_sampled,
    as_dataset,
    check_missing,
    check_same_base,
    check_vectors,
    checked_weights,
    has_two_labels,
    held_out_queries,
    is_graded,
    reads_vectors,
    same_features,
)
from localrank.rankers._shared_rows import made_once

if TYPE_CHECKING:
    from localrank.rankers.base import HeldOut, Ranker, Weights

    AnyRanker = TypeVar("AnyRanker", bound=Ranker)


def _is_filling(value: Any, sizes: Sizes) -> bool:
    """Whether a filling fits the ranker's features. Sets "n_features", its number of columns."""
    n_inputs = sizes["n_inputs"]
    fits = value is None or (isinstance(value, Filling) and len(value.values) == n_inputs)
    sizes["n_features"] = n_inputs if value is None or not fits else value.n_columns
    return fits


# What every fitted ranker remembers. "n_features" is the number of columns that `_fit` and
# `_predict` see, indicators included.
REMEMBERED: Rules = {
    "n_features_in_": n_inputs,
    "feature_names_in_": optional(texts("n_inputs")),
    "filling_": Rule(_is_filling, "a Filling of all features", may_lack=True),
    "categories_": categories_rule,
    "training_data_": facts,
    "column_record_": optional(instance(ColumnRecord)),
    "curve_": optional(floats(None, 2)),
    "n_dimensions_in_": optional(whole(1)),
}
# At most this many models are named in a warning.
_MAX_NAMED = 3


def admitted(
    ranker: Ranker,
    X: Any,
    y: Any,
    qid: Any,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    valid: RankingDataset | tuple[Any, Any, Any] | None = None,
) -> tuple[RankingDataset, Weights, HeldOut, Categories | None]:
    """Check the arguments of `fit`: training queries, weights, validation queries, categories."""
    check_parameters(ranker)
    given = as_dataset(X, y, qid)
    if library_of(X) is not None:
        warn_of_suspects(given, "frame")
    dataset, categories = learned_from(ranker, given)
    name = type(ranker).__name__
    if dataset.n_features == 0:
        raise ValueError(f"{name} has nothing to learn from: the dataset has no features.")
    graded = has_two_labels(dataset) if ranker.needs.labels else is_graded(dataset)
    teaches = graded if ranker.needs.labels else ranker.learns_from(dataset)
    if not teaches.any():
        raise ValueError("There is nothing to learn: no query has two different labels.")
    check_missing(ranker, dataset)
    check_vectors(ranker, dataset)
    check_index(X, sample_weight=sample_weight)
    if dataset.document_weights is not None:
        if sample_weight is None and query_weight is None:
            sample_weight = dataset.in_input_order(dataset.document_weights)
        dataset = dataset.replaced(document_weights=None)
    weights, document_weights = checked_weights(dataset, sample_weight, query_weight)
    largest = weights
    if document_weights is not None:
        _check_weighs_documents(ranker)
        dataset = dataset.replaced(document_weights=document_weights)
        largest = np.maximum.reduceat(document_weights, dataset.offsets[:-1])
    if largest is not None and not (largest[teaches] > 0).any():
        raise ValueError("There is nothing to learn: queries with two labels weigh nothing.")
    held_out = None if valid is None else held_out_queries(valid)
    if held_out is not None:
        held_out = as_seen(ranker, held_out, categories, dataset.feature_names)
        held_out = same_features(name, dataset.n_features, dataset.feature_names, held_out)
        check_same_base(name, dataset.column_record, held_out)
        check_missing(ranker, held_out)
        width = None if dataset._vectors is None else dataset._vectors.width
        check_vectors(ranker, held_out, width)
        warn_of_training_queries(dataset, held_out, stacklevel=3)
    return dataset, weights, held_out, categories


def weighs_documents(ranker: Ranker) -> bool:
    """Whether documents of a query may have different weights."""
    weighs = ranker.needs.document_weights
    if weighs is None:
        inner = _inner(ranker)
        return bool(inner) and all(map(weighs_documents, inner))
    return weighs


def _inner(ranker: Ranker) -> list[Ranker]:
    """The rankers among the parameters, inner ones included."""
    return [part for part in parts_of(ranker) if part is not ranker and hasattr(part, "needs")]


def _check_weighs_documents(ranker: Ranker) -> None:
    if not weighs_documents(ranker):
        last = [part for part in (ranker, *_inner(ranker)) if not weighs_documents(part)][-1]
        raise ValueError(
            f"{type(last).__name__} weighs queries, because it compares the documents of a "
            f"query with each other: sample_weight must be the same for all documents of a "
            f"query. LambdaMART, CrossEntropyMART and GBRT take a weight for each document."
        )


def fit_sampled(
    ranker: Ranker,
    dataset: RankingDataset,
    query_weights: Weights,
    valid: HeldOut,
    limit: int | None,
) -> None:
    """Learn from queries with at most `limit` documents in all. None: from all queries."""
    if limit is None or ranker.needs.partitions:
        ranker.fit_rows(dataset, query_weights, valid)
        return
    drawn = all_sampled(dataset, limit, query_weights)
    weights = None if query_weights is None else query_weights[drawn]
    ranker.fit_rows(dataset.taken(drawn), weights, valid)
    remember_sample(ranker, dataset, drawn, limit)


def ordered(
    ranker: Ranker, dataset: RankingDataset, query_weights: Weights = None
) -> tuple[RankingDataset, Weights]:
    """Training rows and weights in the order that the ranker needs."""
    needs, weights = ranker.needs, query_weights
    dataset = dataset.in_memory(views=False, files=not needs.partitions)
    if needs.order != "given":
        seed = drawn_seed(ranker.random_state) if needs.order == "random" else 0
        if needs.blocks:
            given = dataset
            kind = f"{needs.order} order"
            dataset, queries = made_once(kind, given, seed, lambda: _mixed(given.view(), seed))
        else:
            dataset, queries = _mixed(dataset, seed)
        weights = None if weights is None else weights[queries]
    return dataset.in_memory(views=not needs.blocks, files=not needs.partitions), weights


def _mixed(dataset: RankingDataset, seed: int) -> tuple[RankingDataset, Integers]:
    """The dataset in the order of its content, and the order of its queries."""
    rows, queries = content_order(dataset, seed)
    return dataset.reordered(rows, queries), queries


def learn(
    ranker: AnyRanker,
    dataset: RankingDataset,
    query_weights: Weights = None,
    valid: HeldOut = None,
) -> AnyRanker:
    """Learn from rows that are already in order, and remember them."""
    ranker._check_data(dataset)
    needs = ranker.needs
    if valid is not None and not needs.blocks:
        valid = valid.in_memory()
    filling, seen, seen_valid = None, dataset, valid
    if not needs.missing:
        filling = Filling.learned(dataset)
        in_use = filling or Filling.unlearned(dataset.n_features)
        seen = in_use.filled(dataset)
        seen_valid = None if valid is None else in_use.filled(valid)
    forget(ranker)
    # Sums over several threads are rounded differently on different machines.
    with one_blas_thread():
        ranker._fit(seen, query_weights, seen_valid)
    remember(ranker, dataset)
    if filling is not None:
        ranker.filling_ = filling
    return ranker


def teaching(ranker: Ranker, dataset: RankingDataset, query_weights: Weights) -> Flags:
    """Which queries to learn from: those of positive weight. Raises an error if none is."""
    teaches = ranker.learns_from(dataset)
    if query_weights is not None:
        teaches = teaches & (query_weights > 0)
    if not teaches.any():
        fault = f"There is nothing to learn: no query of positive weight has {ranker._lesson()}."
        low, high = dataset.label_bounds
        if low.min() > 0 and (low < high).any():
            raise AdvisedError(
                f"{fault} All labels are above 0.",
                "Set 'relevance_level', or make grades: relevance_dataset has 'rates' for clicks.",
                "Make grades from 0: of clicks, with --rates 0.1,0.3.",
            )
        raise ValueError(fault)
    return teaches


def learns_from_part(
    ranker: Ranker, dataset: RankingDataset, lessons: Integers, some: Integers
) -> None:
    """Note, in `_fit`, that only some of the teaching queries are learned from."""
    if len(some) < len(lessons):
        counts = {
            "n_queries": len(some),
            "of_n_queries": len(lessons),
            "n_documents": int(dataset.query_sizes[some].sum()),
            "of_n_documents": int(dataset.query_sizes[lessons].sum()),
        }
        part = {"ranker": type(ranker).__name__, **counts}
        ranker.training_data_ = {"learned_from": [part]}


def forget(ranker: Ranker) -> None:
    """Drop what an earlier fit remembered."""
    remembered = ("training_data_", "feature_names_in_", "filling_", "categories_", "curve_")
    for name in (*remembered, "n_dimensions_in_", "_door"):
        ranker.__dict__.pop(name, None)


def remember(ranker: Ranker, dataset: RankingDataset) -> None:
    """Remember the features, and the numbers of queries, documents and labels."""
    ranker.n_features_in_ = dataset.n_features
    if dataset.feature_names is not None:
        ranker.feature_names_in_ = np.array(dataset.feature_names)
    if dataset._vectors is not None and reads_vectors(ranker):
        ranker.n_dimensions_in_ = dataset._vectors.width
    known = np.empty(0) if dataset.relevance is None else dataset.relevance
    labels, counts = np.unique(known, return_counts=True)
    ranker.training_data_ = {
        "n_queries": dataset.n_queries,
        "n_queries_with_one_label": int(np.sum(~is_graded(dataset))),
        "n_documents": dataset.n_documents,
        "n_labels": len(labels),
        "most_frequent_labels": {
            f"{labels[i]:g}": int(counts[i]) for i in np.sort(np.argsort(-counts)[:10])
        },
        # What `_fit` noted by `learns_from_part`.
        **vars(ranker).get("training_data_", {}),
    }


def remember_categories(ranker: Ranker, categories: Categories | None) -> None:
    """Remember the values of the features of categories."""
    if categories:
        ranker.categories_ = dict(categories)


def remember_columns(ranker: Ranker, dataset: RankingDataset) -> None:
    """Remember what was said of the columns when the data was read.

    Only the model that users call needs it: its parts get data that it has admitted.
    """
    ranker.__dict__.pop("column_record_", None)
    if dataset.column_record not in (None, ColumnRecord()):
        ranker.column_record_ = dataset.column_record


def remember_curve(ranker: Ranker, values: Sequence[float] | Floats, n_before: int = 0) -> None:
    """Remember, in `_fit`, the measure of the validation queries after each round.

    Parameters
    ----------
    ranker : Ranker
    values : sequence of float
        NaN: the measure skips all queries, and there is no curve.
    n_before : int, default=0
        Rounds of an earlier fit, which this one adds to.
    """
    if len(values) and np.isfinite(values).all():
        rounds = n_before + 1 + np.arange(len(values))
        ranker.curve_ = np.column_stack([rounds, values])


def tell_parts(ranker: Ranker) -> None:
    """Warn and remember which models, this one or inner ones, learned from a part."""
    parts: list[dict[str, Any]] = []
    for fitted in fitted_parts(ranker):
        parts += [
            part
            for part in getattr(fitted, "training_data_", {}).get("learned_from", [])
            if part not in parts
        ]
    if not parts:
        return
    ranker.training_data_ = {**ranker.training_data_, "learned_from": parts}
    told = [
        f"{part['ranker']} learned from {part['n_queries']:,} of {part['of_n_queries']:,} "
        f"queries ({part['n_documents']:,} of {part['of_n_documents']:,} documents)"
        for part in parts[:_MAX_NAMED]
    ]
    if len(parts) > _MAX_NAMED:
        told.append(f"{len(parts) - _MAX_NAMED:,} more models likewise")
    warnings.warn(
        f"{'; '.join(told)}. Each uses whole queries with at most {MAX_DOCUMENTS:,} "
        f"documents, because more would need too much memory.",
        SampleWarning,
        stacklevel=3,
    )


def remember_sample(ranker: Ranker, dataset: RankingDataset, drawn: Integers, limit: int) -> None:
    """Warn and remember which part of the queries was drawn for training."""
    counts = {
        "n_queries": len(drawn),
        "of_n_queries": dataset.n_queries,
        "n_documents": int(dataset.query_sizes[drawn].sum()),
        "of_n_documents": dataset.n_documents,
    }
    ranker.training_data_ = {**ranker.training_data_, "drawn": {"max_documents": limit, **counts}}
    warnings.warn(
        f"{type(ranker).__name__} was trained on {counts['n_queries']:,} of "
        f"{counts['of_n_queries']:,} queries ({counts['n_documents']:,} of "
        f"{counts['of_n_documents']:,} documents), drawn by their ids. "
        f"max_documents={counts['of_n_documents']} uses all.",
        SampleWarning,
        stacklevel=5,
    )
