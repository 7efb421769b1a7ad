"""Features in LightGBM's bins, a byte or less each, filled a few queries at a time.

LightGBM chooses the bins from a sample of at most 200,000 rows, then puts each value into its bin.
Given an array, it copies the sample with an index beside each value, and the whole array must
exist in the order of training. Given blocks of rows, it needs neither. The bins, and so the trees,
are the same as for the whole array, to the last bit.

Blocks of rows are a private part of LightGBM. This is the only module that knows such parts: a
version without blocks gets the whole array, which needs more memory and gives the same trees.
"""

from __future__ import annotations

import warnings
from threading import Lock
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from localrank._kernels.compilation import kernel
from localrank.data import RankingDataset
from localrank.rankers._shared_rows import made_once

# LightGBM treats smaller values as zero, and leaves zeros out of a sample.
_ZERO = float(np.float32(1e-35))
# Number of rows from which LightGBM chooses bins. With more than MANY documents, the sample takes
# at most SAMPLE_BYTES, but has at least LEAST rows.
N_SAMPLED, MANY, SAMPLE_BYTES, LEAST = 200_000, 500_000, 2**28, 20_000
# The seed draws the sample. A feature that cannot be split into two leaves of the smallest size has
# no bins. The other two are about the work itself.
OF_BINS = ("seed", "min_data_in_leaf", "num_threads", "verbosity")
# Bins of more values are not held for the next ranker.
SHARED_BYTES = 2**28
# Models may be trained side by side. Only one of them holds its sample at a time.
_sampling = Lock()


class _Binned(lightgbm.Dataset):
    """LightGBM's dataset that draws its sample with all parameters."""

    def get_params(self) -> dict[str, Any]:
        # LightGBM would leave out the seed here, although it uses the seed for an array.
        return dict(self.params or {})


def binned(dataset: RankingDataset, parameters: dict[str, Any]) -> Any:
    """The features of a dataset in bins, without labels, lists, weights and first scores.

    Rankers that share their rows (`shared_rows`) get the same object, one after the other.

    Parameters
    ----------
    dataset : RankingDataset
    parameters : dict
        LightGBM's parameters for training. Those in `OF_BINS` affect the bins.
    """
    parameters = {name: parameters[name] for name in OF_BINS if name in parameters}
    data = made_once(
        "bins",
        dataset,
        tuple(parameters.items()),
        lambda: _made_bins(dataset, parameters),
        keep=dataset.n_documents * dataset.n_features <= SHARED_BYTES,
    )
    if data._handle is not None:
        for field in ("group", "weight", "init_score"):
            data.set_field(field, None)
    return data


def _made_bins(dataset: RankingDataset, parameters: dict[str, Any]) -> Any:
    n = dataset.n_documents
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


def keep_as_made(environment: Any) -> None:
    """Before each tree: keep LightGBM from being set up a second time for a gradient of ours.

    It would fail on features without a split, and draw other features for a tree than it does
    for an objective of its own.
    """
    has_none = environment.params["objective"] == "none"
    environment.model._Booster__set_objective_to_none = has_none


keep_as_made.before_iteration = True  # type: ignore[attr-defined]


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
    spare = np.empty(len(rows), np.uint64)
    for column in table:
        missing = np.isnan(column)
        kept = np.abs(column) > _ZERO
        kept |= missing
        n_kept = int(np.count_nonzero(kept))
        if n_kept < len(rows):
            column[:n_kept] = column[kept]
        columns.append(column[:n_kept])
        places.append(all_places if n_kept == len(rows) else all_places[kept])
        # LightGBM sorts the values in place: faster if they are sorted. What it leaves behind
        # them, where values are missing, depends on their order.
        if not missing.any():
            sort(column[:n_kept].view(np.uint64), spare)
    return columns, places


# Bits of a digit, and digits of a number of 64 bits.
_BITS, _N_DIGITS = 11, 6


@kernel
def sort(numbers: NDArray[np.uint64], spare: NDArray[np.uint64]) -> None:
    """Sort floats of 64 bits, given as their bits, by one digit after the other.

    Parameters
    ----------
    numbers : ndarray of uint64
        Without NaN.
    spare : ndarray of uint64
        At least as long.
    """
    n, sign = len(numbers), np.uint64(1 << 63)
    width, mask = np.uint64(_BITS), np.uint64((1 << _BITS) - 1)
    counts = np.zeros((_N_DIGITS, 1 << _BITS), np.int64)
    for i in range(n):
        # Bits in the order of the numbers they stand for.
        bits = numbers[i]
        bits = ~bits if bits & sign else bits | sign
        numbers[i] = bits
        for digit in range(_N_DIGITS):
            counts[digit, bits & mask] += 1
            bits >>= width
    one, other = numbers, spare
    for digit in range(_N_DIGITS):
        shift = np.uint64(digit * _BITS)
        places = counts[digit]
        if n == 0 or places[(one[0] >> shift) & mask] == n:
            continue
        begin = 0
        for i in range(len(places)):
            size = places[i]
            places[i] = begin
            begin += size
        for i in range(n):
            value = (one[i] >> shift) & mask
            other[places[value]] = one[i]
            places[value] += 1
        one, other = other, one
    for i in range(n):
        bits = one[i]
        numbers[i] = bits ^ sign if bits & sign else ~bits
