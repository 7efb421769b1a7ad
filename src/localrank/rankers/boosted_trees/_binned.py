"""Features in LightGBM's bins, a byte or less each, filled a few queries at a time.

LightGBM chooses the bins from a sample of at most 200,000 rows, then puts each value into its bin.
Given an array, it copies the sample with an index beside each value, and the whole array must
exist in the order of training. Given blocks of rows, it needs neither. The bins, and so the trees,
are the same as for the whole array, to the last bit.

Blocks of rows are a private part of LightGBM. This is the only module that knows it: a version
without it gets the whole array, which needs more memory and gives the same trees.
"""

from __future__ import annotations

import warnings
from threading import Lock
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset

# LightGBM treats smaller values as zero, and leaves zeros out of a sample.
_ZERO = float(np.float32(1e-35))
# Number of rows from which LightGBM chooses bins. With more than MANY documents, the sample takes
# at most SAMPLE_BYTES, but has at least LEAST rows.
N_SAMPLED, MANY, SAMPLE_BYTES, LEAST = 200_000, 500_000, 2**28, 20_000
# Models may be trained side by side. Only one of them holds its sample at a time.
_sampling = Lock()


class _Binned(lightgbm.Dataset):
    """LightGBM's dataset that draws its sample with all parameters."""

    def get_params(self) -> dict[str, Any]:
        # LightGBM would leave out the seed here, although it uses the seed for an array.
        return dict(self.params or {})


def binned(dataset: RankingDataset, parameters: dict[str, Any]) -> Any:
    """The features of a dataset in bins, without labels and groups.

    Parameters
    ----------
    dataset : RankingDataset
    parameters : dict
        LightGBM's parameters for training. The seed and the smallest leaf affect the bins.
    """
    n = dataset.n_documents
    # LightGBM compares parameters of two datasets, which arrays do not allow.
    parameters = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in parameters.items()
    }
    if dataset.categories:
        names = dataset.feature_names or ()
        columns_of_categories = sorted(names.index(name) for name in dataset.categories)
        parameters["categorical_feature"] = ",".join(map(str, columns_of_categories))
    if n > MANY:
        n_rows = max(SAMPLE_BYTES // (8 * dataset.n_features), LEAST)
        parameters = parameters | {"bin_construct_sample_cnt": min(n_rows, N_SAMPLED)}
    try:
        # Validation queries need it, and must be binned in the same way.
        if not hasattr(lightgbm.Dataset, "_init_from_ref_dataset"):
            raise AttributeError("_init_from_ref_dataset")
        data = _Binned(None, params=parameters)
        with _sampling:
            rows = data._create_sample_indices(total_nrow=n)
            columns, places = _sample(dataset, rows)
            data._init_from_sample(columns, places, len(rows), n)
            del columns, places
        return _filled(data, dataset)
    except (AttributeError, TypeError) as error:
        _warn(error)
        return lightgbm.Dataset(dataset.in_memory().features, params=parameters)


def binned_like(train: Any, dataset: RankingDataset) -> lightgbm.Dataset:
    """Validation queries in the bins of the training queries, with labels and groups."""
    held_out = None
    parameters = dict(train.params or {})
    # Other training queries have no bins until LightGBM trains.
    if isinstance(train, _Binned) and train._handle is not None:
        try:
            data = _Binned(None, reference=train, params=parameters)
            data._init_from_ref_dataset(dataset.n_documents, train._handle)
            held_out = _filled(data, dataset)
        except (AttributeError, TypeError) as error:
            _warn(error)
    if held_out is None:
        held_out = type(train)(dataset.in_memory().features, reference=train, params=parameters)
    return held_out.set_label(dataset.labels).set_group(dataset.query_sizes)


def _warn(error: Exception) -> None:
    warnings.warn(
        f"LightGBM {lightgbm.__version__} takes no blocks of rows ({type(error).__name__}: "
        f"{error}): it gets the whole array, which needs more memory. The trees are the same.",
        RuntimeWarning,
        stacklevel=3,
    )


def _filled(data: _Binned, dataset: RankingDataset) -> lightgbm.Dataset:
    for _, block in dataset.feature_blocks():
        data._push_rows(np.ascontiguousarray(block))
    return data


def _sample(
    dataset: RankingDataset, rows: NDArray[np.int32]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int32]]]:
    """Nonzero values of some rows, column by column, and their places. `rows` ascend."""
    table = np.empty((dataset.n_features, len(rows)))
    for block_rows, block in dataset.feature_blocks():
        first, last = np.searchsorted(rows, [block_rows.start, block_rows.stop])
        if first < last:
            table[:, first:last] = block[rows[first:last] - block_rows.start].T
    all_places = np.arange(len(rows), dtype=np.int32)
    columns, places = [], []
    for column in table:
        kept = np.abs(column) > _ZERO
        kept |= np.isnan(column)
        n_kept = int(np.count_nonzero(kept))
        if n_kept < len(rows):
            column[:n_kept] = column[kept]
        columns.append(column[:n_kept])
        places.append(all_places if n_kept == len(rows) else all_places[kept])
    return columns, places
