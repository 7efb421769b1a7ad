"""Several datasets as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from localrank._base.arrays import Array
from localrank.data._categories import joined as joined_categories
from localrank.data._checks import first_repeated, joined_ids
from localrank.data._offsets import offsets_of
from localrank.data._row_vectors import joined_vectors
from localrank.data._sources import joined_files
from localrank.data.dataset import RankingDataset


def concatenate(datasets: Sequence[RankingDataset]) -> RankingDataset:
    """Put datasets with different queries one after another.

    The input order of the result is the order of its rows. All parts need the same feature names.
    Labels, document ids and vectors are kept if every part has them. Features that are in files
    stay there if those of all parts are.

    Examples
    --------
    >>> parts = [RankingDataset.from_arrays([[i]], y=[i], qid=[i]) for i in range(3)]
    >>> concatenate(parts).query_ids
    array([0, 1, 2])
    """
    if isinstance(datasets, RankingDataset) or not datasets:
        raise ValueError("concatenate needs a list of datasets, at least one.")
    first = datasets[0]
    for other in datasets[1:]:
        if other.n_features != first.n_features:
            raise ValueError(
                f"Datasets to concatenate need the same features. "
                f"Got {first.n_features} and {other.n_features} of them."
            )
        if other.feature_names != first.feature_names:
            raise ValueError("Datasets to concatenate need the same feature names.")
        if first.column_record is not None and first.column_record.contradicts(other.column_record):
            raise ValueError(
                "Datasets to concatenate need feature ids that begin at the same number. Some were "
                "read with zero_based=True, others without."
            )
    datasets = joined_categories(datasets)
    # Strings of very unequal length have a different type.
    if len({part.query_ids.dtype.kind.replace("T", "U") for part in datasets}) > 1:
        raise ValueError("Datasets to concatenate need query ids of the same kind.")
    query_ids = joined_ids([part.query_ids for part in datasets])
    if (repeated := first_repeated(query_ids)) is not None:
        raise ValueError(f"Query {repeated!r} is in two of the datasets to concatenate.")

    def joined(
        values: list[Array | None],
        join: Callable[[Sequence[Array]], Array] = np.concatenate,
    ) -> Array | None:
        present = [value for value in values if value is not None]
        return join(present) if len(present) == len(values) else None

    arrays = {
        "relevance": joined([part.relevance for part in datasets]),
        "offsets": offsets_of(np.concatenate([part.query_sizes for part in datasets])),
        "query_ids": query_ids,
        "feature_names": first.feature_names,
        "frame_library": first.frame_library,
        "categories": datasets[0].categories,
        "column_record": first.column_record,
    }
    files = joined_files([part._source for part in datasets])
    if files is not None:
        return RankingDataset._checked(features=files, **arrays)
    return RankingDataset._checked(
        features=np.concatenate([part.features for part in datasets]),
        document_ids=joined([part.document_ids for part in datasets], joined_ids),
        _vectors=joined_vectors([part._vectors for part in datasets]),
        _query_vectors=joined_vectors([part._query_vectors for part in datasets]),
        **arrays,
    )
