"""Other libraries' rankers as their users call them: each with options of its library.

Labels and features go in as they are, a query as a group. A peer's file is the library's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Array
from localrank._base.rules import Rules, whole
from localrank.data import RankingDataset
from localrank.rankers import Ranker
from localrank.rankers.base import HeldOut, Needs, Weights
from localrank.rankers.boosted_trees.symmetric_trees import import_catboost

Options = Mapping[str, Any]


class Peer(Ranker):
    """A model of another library, with the library's defaults but for `n_trees` and `options`.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    options : mapping, optional
        Options by the library's names.
    n_jobs : int or None, default=None
        Number of threads. None: one. -1: one for each core.
    random_state : int, default=0
        Seed.
    """

    needs: ClassVar[Needs] = Needs(missing=True, order="given")
    _parameters: ClassVar[Rules] = {"n_trees": whole(1)}
    # The module of the library, and its number of trees by default.
    library: ClassVar[str]
    default_trees: ClassVar[int] = 100

    def __init__(
        self,
        n_trees: int,
        options: Options | None = None,
        *,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _trained(self, dataset: RankingDataset, options: dict[str, Any], n_jobs: int) -> Any:
        """A model of the library."""

    @abstractmethod
    def _write(self, path: str) -> None:
        """Write the model to a file, as users of the library do."""

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self.model_ = self._trained(dataset, dict(self.options or {}), self.n_jobs or 1)

    def _predict(self, dataset: RankingDataset) -> Array:
        return np.asarray(self.model_.predict(dataset.features), np.float64)

    def save(self, path: str | PathLike[str], *, private_key: bytes | None = None) -> None:
        """Write the library's own file, which `localrank.load` does not read."""
        self._write(str(path))


class LightGBMPeer(Peer):
    """LightGBM's `LGBMRanker`: lambdarank."""

    library = "lightgbm"

    def _trained(self, dataset: RankingDataset, options: dict[str, Any], n_jobs: int) -> Any:
        from lightgbm import LGBMRanker

        options |= {"n_estimators": self.n_trees, "random_state": self.random_state}
        model = LGBMRanker(n_jobs=n_jobs, verbose=-1, **options)
        return model.fit(dataset.features, dataset.labels, group=np.diff(dataset.offsets))

    def _write(self, path: str) -> None:
        self.model_.booster_.save_model(path)


class XGBoostPeer(Peer):
    """XGBoost's `XGBRanker`. Its objective is an option."""

    library = "xgboost"

    def _trained(self, dataset: RankingDataset, options: dict[str, Any], n_jobs: int) -> Any:
        from xgboost import XGBRanker

        options |= {"n_estimators": self.n_trees, "random_state": self.random_state}
        model = XGBRanker(n_jobs=n_jobs, **options)
        return model.fit(dataset.features, dataset.labels, qid=dataset.query_index)

    def _write(self, path: str) -> None:
        with open(path, "wb") as file:
            file.write(self.model_.get_booster().save_raw("ubj"))


class CatBoostPeer(Peer):
    """CatBoost's symmetric trees. Their loss is an option."""

    library = "catboost"
    default_trees = 1000

    def _trained(self, dataset: RankingDataset, options: dict[str, Any], n_jobs: int) -> Any:
        catboost = import_catboost()
        options |= {"iterations": self.n_trees, "random_seed": self.random_state}
        options |= {"verbose": False, "allow_writing_files": False, "thread_count": n_jobs}
        pool = catboost.Pool(dataset.features, dataset.labels, group_id=dataset.query_index)
        return catboost.CatBoostRanker(**options).fit(pool)

    def _write(self, path: str) -> None:
        self.model_.save_model(path)


class HistogramPeer(Peer):
    """scikit-learn's `HistGradientBoostingRegressor` on the labels; queries do not matter to it."""

    library = "sklearn"

    def _trained(self, dataset: RankingDataset, options: dict[str, Any], n_jobs: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

        options |= {"max_iter": self.n_trees, "random_state": self.random_state}
        with threadpool_limits(None if n_jobs < 0 else n_jobs, "openmp"):
            return HistGradientBoostingRegressor(**options).fit(dataset.features, dataset.labels)

    def _write(self, path: str) -> None:
        import joblib

        joblib.dump(self.model_, path)


# A peer, its number of trees, and its options.
PeerSetting = tuple[type[Peer], int, dict[str, Any]]


def _settings(
    kind: type[Peer], of_all: Options, *several: tuple[int | None, Options]
) -> list[PeerSetting]:
    """The settings of a peer. The first is the default. Without a number of trees, its own."""
    settings = ((None, {}), *several)
    return [(kind, n or kind.default_trees, {**of_all, **more}) for n, more in settings]


LIGHTGBM, XGBOOST, XGBOOST_PAIRS = (
    "LightGBM lambdarank",
    "XGBoost rank:ndcg",
    "XGBoost rank:pairwise",
)
CATBOOST, YETI, HISTOGRAM = "CatBoost QueryRMSE", "CatBoost YetiRank", "scikit-learn regression"
_XGBOOST: Sequence[tuple[int | None, Options]] = (
    (None, {"learning_rate": 0.1}),
    (None, {"learning_rate": 0.1, "max_depth": 4}),
    (300, {"learning_rate": 0.05, "max_depth": 4}),
)
# YetiRank takes fifteen times as long as QueryRMSE on long lists, so it gets a tenth of the trees,
# with ten times the rate.
YETI_TREES, YETI_RATE = 100, 0.3
SETTINGS: dict[str, list[PeerSetting]] = {
    LIGHTGBM: _settings(
        LightGBMPeer,
        {},
        (200, {"learning_rate": 0.05, "num_leaves": 15}),
        (300, {"learning_rate": 0.05, "num_leaves": 7, "min_child_samples": 50}),
        (None, {"learning_rate": 0.05}),
    ),
    XGBOOST: _settings(XGBoostPeer, {"objective": "rank:ndcg"}, *_XGBOOST),
    XGBOOST_PAIRS: _settings(XGBoostPeer, {"objective": "rank:pairwise"}, *_XGBOOST),
    CATBOOST: _settings(
        CatBoostPeer,
        {"loss_function": "QueryRMSE"},
        (300, {"learning_rate": 0.1}),
        (300, {"learning_rate": 0.05}),
        (300, {"learning_rate": 0.1, "depth": 4}),
    ),
    YETI: [
        (CatBoostPeer, n, {"loss_function": "YetiRank", "learning_rate": rate, **more})
        for n, rate, more in (
            (YETI_TREES, YETI_RATE, {}),
            (YETI_TREES, YETI_RATE / 2, {}),
            (YETI_TREES // 2, YETI_RATE, {}),
            (YETI_TREES, YETI_RATE, {"depth": 4}),
        )
    ],
    HISTOGRAM: _settings(
        HistogramPeer,
        {},
        (None, {"learning_rate": 0.05}),
        (200, {"learning_rate": 0.05, "max_leaf_nodes": 15}),
        (300, {"learning_rate": 0.05, "max_leaf_nodes": 7, "min_samples_leaf": 50}),
    ),
}
PEERS = tuple(SETTINGS)


def installed() -> list[str]:
    """The peers whose libraries are here."""
    return [name for name, ((kind, *_), *_) in SETTINGS.items() if find_spec(kind.library)]


def peers(seed: int, most_trees: int | None = None) -> dict[str, list[Ranker]]:
    """The settings of every installed peer. The first has the default parameters.

    Parameters
    ----------
    seed : int
    most_trees : int, optional
        The largest number of trees. None: no limit.

    Examples
    --------
    >>> peers(5)["scikit-learn regression"][1]
    HistogramPeer(n_trees=100, options={'learning_rate': 0.05}, random_state=5)
    """
    return {
        name: [
            kind(min(n, most_trees or n), options, random_state=seed)
            for kind, n, options in SETTINGS[name]
        ]
        for name in installed()
    }
