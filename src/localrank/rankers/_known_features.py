"""What a ranker remembers about its training data, and which data it refuses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Integers
from localrank._base.estimator import Estimator, is_estimator
from localrank._base.rules import Rule, Rules, Sizes, facts, n_inputs, optional, parts_of, texts
from localrank.data import RankingDataset
from localrank.data._filling import Filling
from localrank.data.drawing import SampleWarning
from localrank.rankers._inputs import MOST_DOCUMENTS, check_same_features, has_two_labels


def _is_filling(value: Any, sizes: Sizes) -> bool:
    """Whether a filling fits the ranker's features. Sets "n_features", its number of columns."""
    n_inputs = sizes["n_inputs"]
    fits = value is None or (isinstance(value, Filling) and len(value.values) == n_inputs)
    sizes["n_features"] = n_inputs if value is None or not fits else value.n_columns
    return fits


# Largest number of models that a warning names.
_MOST_TOLD = 3


class KnowsFeatures(Estimator):
    """The part of `Ranker` that knows its training features, and fills missing values."""

    # "n_features" is the number of columns that `_fit` and `_predict` see, indicators included.
    _fitted: ClassVar[Rules] = {
        "n_features_in_": n_inputs,
        "feature_names_in_": optional(texts("n_inputs")),
        "filling_": Rule(_is_filling, "a Filling of all features", may_lack=True),
        "training_data_": facts,
    }

    training_data_: dict[str, Any]

    # If `_fit` learned from some of the queries only: their numbers, until they are remembered.
    _part: dict[str, Any] | None = None

    # Whether `_fit` and `_predict` see a missing value as NaN, not filled.
    _sees_missing: ClassVar[bool] = False

    @property
    def accepts_missing(self) -> bool:
        """Whether features may be missing (NaN): yes, unless a part refuses them."""
        return not any(getattr(part, "missing", None) == "refuse" for part in parts_of(self))

    def column_labels(self, dataset: RankingDataset) -> tuple[str, ...]:
        """Labels for display of the columns that the model sees: features, then indicators.

        Parameters
        ----------
        dataset : RankingDataset
            The dataset that names the features.
        """
        labels = tuple(dataset.feature_label(column) for column in range(dataset.n_features))
        return labels if self._sees_missing else self._filling.names(labels)

    @property
    def _filling(self) -> Filling:
        """The learned filling, or the one for complete training data."""
        learned: Filling | None = getattr(self, "filling_", None)
        return learned or Filling.unlearned(self.n_features_in_)

    def _remember(self, dataset: RankingDataset) -> None:
        self.n_features_in_ = dataset.n_features
        self.__dict__.pop("feature_names_in_", None)
        if dataset.feature_names is not None:
            self.feature_names_in_ = np.array(dataset.feature_names)
        labels, counts = np.unique(dataset.labels, return_counts=True)
        self.training_data_ = {
            "n_queries": dataset.n_queries,
            "n_queries_with_one_label": int(np.sum(~has_two_labels(dataset))),
            "n_documents": dataset.n_documents,
            "n_labels": len(labels),
            "most_frequent_labels": {
                f"{labels[i]:g}": int(counts[i]) for i in np.sort(np.argsort(-counts)[:10])
            },
        }
        if self._part is not None:
            self.training_data_["learned_from"] = [self._part]
            del self._part

    def _learns_from_part(
        self, dataset: RankingDataset, teaching: Integers, some: Integers
    ) -> None:
        """Note, in `_fit`, that only some of the teaching queries are learned from."""
        if len(some) == len(teaching):
            return
        counts = {
            "n_queries": len(some),
            "of_n_queries": len(teaching),
            "n_documents": int(dataset.query_sizes[some].sum()),
            "of_n_documents": int(dataset.query_sizes[teaching].sum()),
        }
        self._part = {"ranker": type(self).__name__, **counts}

    def _tell_parts(self) -> None:
        """Warn and remember which models, this one or inner ones, learned from a part."""
        parts: list[dict[str, Any]] = []
        for ranker in _fitted_parts(self):
            parts += [
                part
                for part in getattr(ranker, "training_data_", {}).get("learned_from", [])
                if part not in parts
            ]
        if not parts:
            return
        self.training_data_ = {**self.training_data_, "learned_from": parts}
        told = [
            f"{part['ranker']} learned from {part['n_queries']:,} of {part['of_n_queries']:,} "
            f"queries ({part['n_documents']:,} of {part['of_n_documents']:,} documents)"
            for part in parts[:_MOST_TOLD]
        ]
        if len(parts) > _MOST_TOLD:
            told.append(f"{len(parts) - _MOST_TOLD:,} more models likewise")
        warnings.warn(
            f"{'; '.join(told)}. Each takes whole queries with at most {MOST_DOCUMENTS:,} "
            f"documents, because more would take too much memory.",
            SampleWarning,
            stacklevel=3,
        )

    def _remember_sample(self, dataset: RankingDataset, drawn: Integers, limit: int) -> None:
        """Warn and remember which part of the queries was drawn for training."""
        counts = {
            "n_queries": len(drawn),
            "of_n_queries": dataset.n_queries,
            "n_documents": int(dataset.query_sizes[drawn].sum()),
            "of_n_documents": dataset.n_documents,
        }
        self.training_data_ = {**self.training_data_, "drawn": {"max_documents": limit, **counts}}
        warnings.warn(
            f"{type(self).__name__} was trained on {counts['n_queries']:,} of "
            f"{counts['of_n_queries']:,} queries ({counts['n_documents']:,} of "
            f"{counts['of_n_documents']:,} documents), drawn by their ids. "
            f"max_documents={counts['of_n_documents']} takes all.",
            SampleWarning,
            stacklevel=4,
        )

    def _check_same(self, dataset: RankingDataset) -> None:
        """Refuse data that the fitted ranker cannot score."""
        names = getattr(self, "feature_names_in_", None)
        trained = None if names is None else tuple(names.tolist())
        check_same_features(type(self).__name__, self.n_features_in_, trained, dataset)
        self._check_values(dataset)

    def _check_values(self, dataset: RankingDataset) -> None:
        # Looking for missing values is a pass over all features.
        if self.accepts_missing or not dataset.has_missing:
            return
        refusing = [part for part in parts_of(self) if getattr(part, "missing", "") == "refuse"]
        n_missing = sum(np.isnan(block).sum(axis=0) for _, block in dataset.feature_blocks())
        column = int(np.argmax(n_missing > 0))
        raise ValueError(
            f"{type(refusing[0]).__name__} was given missing='refuse', and "
            f"{dataset.feature_label(column)} has missing values ({n_missing[column]:,} of "
            f"{dataset.n_documents:,}). Train it with missing='impute', the default, which fills "
            f"them with the medians of their queries; on the command line, leave out "
            f"--set ...missing=refuse."
        )


def _fitted_parts(component: Any) -> Iterator[Any]:
    """A fitted component, and all components among its fitted attributes, recursively."""
    yield component
    for name, value in vars(component).items():
        if name.endswith("_"):
            for part in value if isinstance(value, list | tuple) else [value]:
                if is_estimator(part):
                    yield from _fitted_parts(part)
