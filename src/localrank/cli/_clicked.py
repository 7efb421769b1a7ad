"""Logs of clicks as training data, and what rankings would do with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank.cli._inputs import DataOptions

if TYPE_CHECKING:
    from localrank.clicks import ClickLog
    from localrank.data import RankingDataset


def read_with_features(
    paths: Sequence[Path], options: DataOptions, log_options: DataOptions, like: Any = None
) -> tuple[ClickLog, RankingDataset, str]:
    """A log of clicks, the features of its documents, and the name of what tells what is seen.

    Parameters
    ----------
    paths : sequence of Path
        The files of the log.
    options : dict
        As a user gave them. "features" are the files of features, "clicks" the name, "rates" where
        grades begin, which is not read here; what is left goes to the reader of features.
    log_options : dict
        For the reader of the log.
    like : RankingDataset or Ranker, optional
    """
    from localrank.cli._inputs import read_clicks, read_data
    from localrank.clicks.naming import BIASES, check_bias

    options = dict(options)
    files, name = options.pop("features", []), options.pop("clicks", next(iter(BIASES)))
    options.pop("rates", None)
    check_bias(name)
    if not files:
        raise ValueError(
            f"{paths[0]} is a log of clicks, which has no features. Give them: --features "
            f"features.parquet, a file of any format with the ids of queries and documents."
        )
    log = read_clicks(paths, log_options)
    features = read_data([Path(file) for file in files], options, labels="optional", like=like)
    return log, features, name


def clicked_data(
    log: ClickLog, features: RankingDataset, name: str, rates: Sequence[float] | None = None
) -> RankingDataset:
    """What a log says of relevance, as training data; how it was seen is said, too."""
    from localrank.cli._tables import say
    from localrank.clicks import relevance_dataset
    from localrank.clicks.naming import fitted_bias

    say(f"{log}".removeprefix("ClickLog: "))
    bias = fitted_bias(name, log, features, say)
    curve = getattr(bias, "examination_", None)
    if curve is not None and np.ndim(curve) == 1:
        say(f"Seen, from the first position on: {' '.join(f'{p:.3f}' for p in curve)}")
    return relevance_dataset(log, features, bias, rates=rates, say=say)
