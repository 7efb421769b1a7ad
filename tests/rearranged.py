"""Datasets with the rows of others in another order."""

from localrank.data import RankingDataset


def rearranged(dataset, order):
    """The same documents, row `order[i]` now at position i of the input."""
    return RankingDataset.from_arrays(
        dataset.features[order],
        dataset.labels[order],
        dataset.query_ids[dataset.query_index[order]],
        feature_names=dataset.feature_names,
    )
