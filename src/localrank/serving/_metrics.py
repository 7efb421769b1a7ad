"""What the service counts, for Prometheus."""

from __future__ import annotations

import os
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Upper bounds of the bins.
SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
DOCUMENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
CORRELATIONS = (0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
OVERLAPS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


class Metrics:
    """Counters of one worker. `exposed` adds up the counters of all workers.

    Workers share files in the folder that `PROMETHEUS_MULTIPROC_DIR` names.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        gauge = partial(Gauge, multiprocess_mode="livesum", registry=self._registry)
        self.requests = counter("localrank_requests", "Requests to rank.", ["model", "status"])
        self.seconds = histogram(
            "localrank_request_seconds",
            "Time from a request's arrival to its answer.",
            ["model"],
            buckets=SECONDS,
        )
        self.lists = counter("localrank_lists", "Lists ranked.", ["model"])
        self.documents = histogram(
            "localrank_list_documents", "Documents in a ranked list.", ["model"], buckets=DOCUMENTS
        )
        self.pending = gauge(
            "localrank_pending_requests", "Requests that wait or are being ranked."
        )
        self.clicks = counter(
            "localrank_clicks", "Requests that brought clicks on a list.", ["status"]
        )
        self.reloads = counter(
            "localrank_reloads", "New model files, loaded or refused.", ["model", "result"]
        )
        self.stale = Gauge(
            "localrank_stale",
            "1 if the newest file of a model could not be loaded: the last good one answers.",
            ["model"],
            multiprocess_mode="livemax",
            registry=self._registry,
        )
        self.replaced = counter(
            "localrank_replaced_workers", "Workers replaced because work did not end."
        )
        self.ready = gauge("localrank_ready", "Workers that can answer with every model.")
        self.shadow_correlation = histogram(
            "localrank_shadow_correlation",
            "Spearman's rank correlation of the shadow model's ranking with the answer.",
            ["model", "shadow"],
            buckets=CORRELATIONS,
        )
        self.shadow_overlap = histogram(
            "localrank_shadow_overlap",
            "Share of the first ten documents that the shadow model ranks among its first ten too.",
            ["model", "shadow"],
            buckets=OVERLAPS,
        )
        self.shadow_skipped = counter(
            "localrank_shadow_skipped",
            "Lists that the shadow model did not rank: it was busy, or refused them.",
            ["shadow"],
        )

    def exposed(self) -> bytes:
        """All counters as text."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        all_workers = CollectorRegistry()
        multiprocess.MultiProcessCollector(all_workers)  # type: ignore[no-untyped-call]
        return generate_latest(all_workers)
