"""Features as LightGBM holds them, a byte or less each, made of a few queries at a time.

LightGBM decides on the bins by a sample of at most 200,000 rows, then puts each value into its
bin. From an array it copies the sample with an index beside each value, and the array has to
exist in the order of training. From blocks of rows neither is needed. The bins, and with them the
trees, are to the last bit those of the whole array.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset
from localrank.data.deferred import feature_blocks, gathered

# What LightGBM takes for zero, which it leaves out of a sample.
_ZERO = float(np.float32(1e-35))
# These are no part of LightGBM's interface: a version without them gets the whole array.
_TAKES_BLOCKS = all(
    hasattr(lightgbm.Dataset, name)
    for name in (
        "_create_sample_indices",
        "_init_from_sample",
        "_init_from_ref_dataset",
        "_push_rows",
    )
)
# Rows that LightGBM chooses bins by. Of more documents than this there are fewer, but no fewer than
# the least, where their columns would take more bytes: as much as all the columns in bins.
N_SAMPLED, MANY, SAMPLE_BYTES, LEAST = 200_000, 500_000, 2**28, 20_000
# Of models trained side by side, only one holds its sample at a time.
_sampling = Lock()


class _Binned(lightgbm.Dataset):
    """LightGBM's dataset, with all parameters in force when the sample is drawn."""

    def get_params(self) -> dict[str, Any]:
        # LightGBM leaves out the seed, which it does not where it is given an array.
        return dict(self.params or {})


def binned(dataset: RankingDataset, parameters: dict[str, Any]) -> Any:
    """The features of a dataset in bins, without labels and groups.

    Parameters
    ----------
    dataset : RankingDataset
    parameters : dict
        LightGBM's, those of training: the seed and the smallest leaf decide on bins.
    """
    n = dataset.n_documents
    if n > MANY:
        n_rows = max(SAMPLE_BYTES // (8 * dataset.n_features), LEAST)
        parameters = parameters | {"bin_construct_sample_cnt": min(n_rows, N_SAMPLED)}
    if not _TAKES_BLOCKS:
        return lightgbm.Dataset(gathered(dataset).features, params=dict(parameters))
    data = _Binned(None, params=dict(parameters))
    with _sampling:
        rows = data._create_sample_indices(total_nrow=n)
        columns, places = _sample(dataset, rows)
        data._init_from_sample(columns, places, len(rows), n)
        del columns, places
    return _filled(data, dataset)


def binned_like(train: Any, dataset: RankingDataset) -> lightgbm.Dataset:
    """Held-out queries, labels and groups included, in the bins of training queries."""
    if not _TAKES_BLOCKS:
        held_out = lightgbm.Dataset(gathered(dataset).features, reference=train)
        return held_out.set_label(dataset.labels).set_group(dataset.query_sizes)
    data = _Binned(None, reference=train, params=dict(train.params))
    data._init_from_ref_dataset(dataset.n_documents, train._handle)
    return _filled(data, dataset).set_label(dataset.labels).set_group(dataset.query_sizes)


def _filled(data: _Binned, dataset: RankingDataset) -> lightgbm.Dataset:
    for _, block in feature_blocks(dataset):
        data._push_rows(np.ascontiguousarray(block))
    return data


def _sample(
    dataset: RankingDataset, rows: NDArray[np.int32]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int32]]]:
    """The values of the rows, ascending ones, by column without zeros, and their places."""
    table = np.empty((dataset.n_features, len(rows)))
    for block_rows, block in feature_blocks(dataset):
        first, last = np.searchsorted(rows, [block_rows.start, block_rows.stop])
        if first < last:
            table[:, first:last] = block[rows[first:last] - block_rows.start].T
    everywhere = np.arange(len(rows), dtype=np.int32)
    columns, places = [], []
    for column in table:
        kept = np.abs(column) > _ZERO
        kept |= np.isnan(column)
        n_kept = int(np.count_nonzero(kept))
        if n_kept < len(rows):
            column[:n_kept] = column[kept]
        columns.append(column[:n_kept])
        places.append(everywhere if n_kept == len(rows) else everywhere[kept])
    return columns, places
