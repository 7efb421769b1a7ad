"""Boosted trees on more data than one machine holds: LightGBM's distributed training on Dask."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlparse

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import drawn_seed
from localrank.data import Partition, RankingDataset, concatenate
from localrank.data._content_order import content_order
from localrank.rankers._training import admitted, forget, remember, teaching
from localrank.rankers.base import HeldOut, Weights
from localrank.rankers.boosted_trees._boosted_trees import (
    BoostedTrees,
    as_objective,
    boosting_parameters,
    import_lightgbm,
)
from localrank.rankers.boosted_trees._monotone import monotone_parameters

if TYPE_CHECKING:
    from distributed import Client

Trees = TypeVar("Trees", bound=BoostedTrees)
# Features, targets and sizes of lists.
Rows = tuple[Array, Floats, Integers]

# Seconds between two checks that all workers are alive.
LOOK_SECONDS = 1.0
# Minutes that workers wait for each other before the first tree.
WAIT_MINUTES = 10


def exceeds_worker(dataset: RankingDataset, client: Any) -> bool:
    """Whether two copies of the features exceed the memory limit of a worker of the cluster.

    Parameters
    ----------
    dataset : RankingDataset
    client : distributed.Client
    """
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
    size = dataset.n_documents * dataset.n_features * dataset.dtype.itemsize
    return bool(limits) and 2 * size > min(limits)


def fit_on_cluster(
    ranker: Trees,
    dataset: RankingDataset,
    client: Client,
    query_weights: Weights = None,
    valid: HeldOut = None,
) -> Trees:
    """Fit boosted trees on all workers of a cluster together.

    No machine holds all features. Each worker reads some of the partitions and keeps their
    features. Workers send each other sums over them, tree by tree: LightGBM's data-parallel tree
    learner. While it reads, a worker needs memory for two copies of its features. Workers open
    ports to each other.

    With one worker the model is the same as from `fit`, to the last bit. With several workers it
    is the same each time, for the same partitions and number of workers. Another number of workers
    gives another model: the bins of a feature come from the documents of one worker, and sums are
    rounded differently.

    Parameters
    ----------
    ranker : LambdaMART, CrossEntropyMART or GBRT
        The ranker to fit. A worker uses all of its threads, whatever `n_jobs` says.
    dataset : RankingDataset
        The training queries, in files (`open_partitions`). If there are fewer partitions than
        workers, some workers stay idle.
    client : distributed.Client
        Client of the cluster.
    query_weights, valid
        Must be None: weights, of documents too, and validation queries are refused.

    Returns
    -------
    LambdaMART, CrossEntropyMART or GBRT
        The fitted ranker, the same object.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from distributed import Client
    >>> from localrank.data import make_queries, open_partitions
    >>> from localrank.rankers import LambdaMART
    >>> queries, _ = make_queries(60, random_state=0)
    >>> table = pd.DataFrame(queries.features, columns=queries.feature_names)
    >>> table["qid"], table["label"] = queries.query_ids[queries.query_index], queries.relevance
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/part-0.parquet")
    ...     dataset = open_partitions(folder)
    ...     with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...         model = fit_on_cluster(LambdaMART(20), dataset, client)
    >>> np.array_equal(model.predict(queries), LambdaMART(20).fit(queries).predict(queries))
    True
    """
    if not isinstance(ranker, BoostedTrees):
        raise ValueError(
            f"{type(ranker).__name__} cannot be trained by several workers together. LambdaMART, "
            f"CrossEntropyMART and GBRT can; others learn from a part of the queries."
        )
    weighted = query_weights is not None or dataset.document_weights is not None
    if weighted or valid is not None or ranker._continues:
        what = (
            "earlier trees"
            if ranker._continues
            else "weights"
            if weighted
            else "validation queries"
        )
        raise ValueError(
            f"Several workers together train {type(ranker).__name__} without {what}. Leave them "
            f"out, or set max_documents to learn from fewer documents on one machine."
        )
    import_lightgbm()
    teaching(ranker, admitted(ranker, dataset, None, None)[0], None)
    objective, target = ranker._objective(dataset)
    parameters = {
        **boosting_parameters(ranker, ranker._objective_name),
        **monotone_parameters(ranker, dataset),
        **objective,
    }
    together = _Together(client, len(dataset.partitions))
    rows = together.call(
        _rows_in_order, together.placed(dataset, target, drawn_seed(ranker.random_state))
    )
    trained = together.call(
        _trained,
        [
            (part, {**parameters, **network}, ranker.n_trees, ranker._gradient)
            for part, network in zip(rows, together.network(), strict=True)
        ],
    )
    text, ranker.n_trees_ = trained[0].result()
    ranker._keep(text, dataset)
    forget(ranker)
    remember(ranker, dataset)
    if len(together.workers) > 1:
        ranker.training_data_["n_workers"] = len(together.workers)
    return ranker


class _Together:
    """Workers of a cluster that train together. Each call goes to all of them, and waits."""

    def __init__(self, client: Any, most: int) -> None:
        self.client = client
        self.workers = sorted(client.nthreads())[:most]
        if not self.workers:
            raise ValueError("The cluster has no workers.")
        if len(self.workers) > 1 and self.workers[0].startswith("inproc"):
            raise ValueError(
                "Workers that train together must be separate processes, such as those of "
                "LocalCluster(processes=True)."
            )

    def placed(
        self, dataset: RankingDataset, target: Floats, seed: int
    ) -> list[tuple[list[Partition], Any, int]]:
        """Partitions of each worker, and the targets of their rows, which are sent to it."""
        ends = dataset.offsets[dataset.partition_offsets]
        placed = []
        for worker, share in zip(self.workers, _shares(dataset, len(self.workers)), strict=True):
            targets = np.concatenate([target[ends[index] : ends[index + 1]] for index in share])
            sent = self.client.scatter(targets, workers=[worker], hash=False)
            placed.append(([dataset.partitions[index] for index in share], sent, seed))
        return placed

    def network(self) -> list[dict[str, Any]]:
        """LightGBM's parameters for each worker: its threads, and how it finds the others."""
        n_threads = self.client.nthreads()
        threads = [{"num_threads": n_threads.get(worker, 1)} for worker in self.workers]
        if len(self.workers) == 1:
            return threads
        ports = [port.result() for port in self.call(_free_port, [()] * len(self.workers))]
        hosts = [urlparse(worker).hostname for worker in self.workers]
        shared = {
            "tree_learner": "data",
            "pre_partition": True,
            "time_out": WAIT_MINUTES,
            "num_machines": len(self.workers),
            "machines": ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)),
        }
        return [
            {**own_threads, **shared, "local_listen_port": port}
            for own_threads, port in zip(threads, ports, strict=True)
        ]

    def call(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function on each worker. Returns futures: the results stay on the workers."""
        futures = [
            self.client.submit(
                function, *worker_arguments, workers=[worker], allow_other_workers=False, pure=False
            )
            for worker, worker_arguments in zip(self.workers, arguments, strict=True)
        ]
        self._wait(futures)
        return futures

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for all futures. Stop if one fails or a worker is lost: others would wait for it."""
        import distributed

        wait: Any = distributed.wait
        waiting = True
        while waiting:
            try:
                wait(futures, timeout=LOOK_SECONDS)
                waiting = False
            except (TimeoutError, distributed.CancelledError):
                lost = sorted(set(self.workers) - set(self.client.nthreads()))
                ended = {future.status for future in futures} - {"pending", "finished"}
                waiting = not lost and not ended
                if not waiting:
                    unfinished = [future for future in futures if not future.done()]
                    self.client.cancel(unfinished, force=True)
                if lost:
                    raise RuntimeError(
                        f"The worker {lost[0]} was lost while trees were trained, and its part of "
                        f"the data with it. Fit again. If its memory was full, use more workers."
                    ) from None
        for future in futures:
            if future.status != "finished":
                future.result()


def _shares(dataset: RankingDataset, n_workers: int) -> list[list[int]]:
    """Partitions of each worker, with about equal numbers of documents.

    Partitions are dealt out from the largest to the smallest. Each goes to the worker that has the
    fewest documents so far.
    """
    sizes = [partition.n_documents for partition in dataset.partitions]
    shares: list[list[int]] = [[] for _ in range(n_workers)]
    totals = [0] * n_workers
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        worker = totals.index(min(totals))
        shares[worker].append(index)
        totals[worker] += sizes[index]
    return [sorted(share) for share in shares]


def _rows_in_order(partitions: Sequence[Partition], targets: Floats, seed: int) -> Rows:
    """Rows of some partitions, in an order that depends only on their content."""
    dataset = concatenate([partition.read() for partition in partitions])
    rows, queries = content_order(dataset, seed)
    return dataset.features[rows], targets[rows], dataset.query_sizes[queries]


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("", 0))
        return int(listening.getsockname()[1])


def _trained(
    rows: Rows, parameters: dict[str, Any], n_trees: int, gradient_of: Callable[..., Any]
) -> tuple[str, int]:
    """The model as LightGBM's text, and its number of trees. Every worker gets the same."""
    lightgbm = import_lightgbm()

    from localrank.rankers.boosted_trees._binned import keep_as_made

    # LightGBM logs connections before it reads its verbosity.
    logger = logging.getLogger("localrank.lightgbm")
    logger.setLevel(logging.ERROR)
    lightgbm.register_logger(logger)
    features, targets, sizes = rows
    # Each worker has whole queries: it needs no others for the gradient of its documents.
    gradient = gradient_of(targets, sizes, None, parameters["num_threads"])
    if gradient is None:
        train = lightgbm.Dataset(features, targets, group=sizes)
    else:
        parameters = parameters | {"objective": as_objective(gradient)}
        train = lightgbm.Dataset(features, np.zeros(len(features)))
    booster = lightgbm.train(parameters, train, n_trees, callbacks=[keep_as_made])
    text = booster.model_to_string()
    n_trained = booster.current_iteration()
    booster.free_network()
    return text, n_trained
