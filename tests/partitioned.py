"""Datasets written to partitions of unequal sizes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from localrank.data import RankingDataset, open_partitions


def written(dataset: RankingDataset, folder: Path, n_parts: int = 5, seed: int = 0):
    """The queries of a dataset in random order, in files of random sizes, opened."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(dataset.n_queries)
    cuts = np.sort(rng.choice(np.arange(1, dataset.n_queries), n_parts - 1, replace=False))
    folder.mkdir(parents=True, exist_ok=True)
    names = dataset.feature_names or [str(i + 1) for i in range(dataset.n_features)]
    for number, queries in enumerate(np.split(order, cuts)):
        part = dataset.taken(queries)
        columns = {"qid": part.query_ids[part.query_index], "label": part.labels}
        columns |= dict(zip(names, part.features.T, strict=True))
        parquet.write_table(pa.table(columns), folder / f"part-{number:03d}.parquet")
    return open_partitions(folder)
