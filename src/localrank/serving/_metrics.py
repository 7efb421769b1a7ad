"""What the service counts, for Prometheus."""

from __future__ import annotations

import os

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
        registry = CollectorRegistry()
        self._registry = registry
        self.requests = Counter(
            "localrank_requests", "Requests to rank.", ["model", "status"], registry=registry
        )
        self.seconds = Histogram(
            "localrank_request_seconds",
            "Time from a request's arrival to its answer.",
            ["model"],
            buckets=SECONDS,
            registry=registry,
        )
        self.lists = Counter("localrank_lists", "Lists ranked.", ["model"], registry=registry)
        self.documents = Histogram(
            "localrank_list_documents",
            "Documents in a ranked list.",
            ["model"],
            buckets=DOCUMENTS,
            registry=registry,
        )
        self.pending = Gauge(
            "localrank_pending_requests",
            "Requests that wait or are being ranked.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self.reloads = Counter(
            "localrank_reloads",
            "New model files, loaded or refused.",
            ["model", "result"],
            registry=registry,
        )
        self.ready = Gauge(
            "localrank_ready",
            "Workers that can answer with every model.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self.shadow_correlation = Histogram(
            "localrank_shadow_correlation",
            "Spearman's rank correlation of the shadow model's ranking with the answer.",
            ["model", "shadow"],
            buckets=CORRELATIONS,
            registry=registry,
        )
        self.shadow_overlap = Histogram(
            "localrank_shadow_overlap",
            "Share of the first ten documents that the shadow model ranks among its first ten too.",
            ["model", "shadow"],
            buckets=OVERLAPS,
            registry=registry,
        )
        self.shadow_skipped = Counter(
            "localrank_shadow_skipped",
            "Lists that the shadow model did not rank: it was busy, or refused them.",
            ["shadow"],
            registry=registry,
        )

    def exposed(self) -> bytes:
        """All counters as text."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        all_workers = CollectorRegistry()
        multiprocess.MultiProcessCollector(all_workers)  # type: ignore[no-untyped-call]
        return generate_latest(all_workers)
