"""Made-up data of a report: realistic numbers, the same at every call."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from localrank.data import make_queries
from localrank.evaluation import best_feature_calibration
from localrank.measures import parse_measure
from localrank.rankers import BestFeature, RankSVM

MEASURES = ["ndcg@10", "ndcg@5", "map"]
BASELINE, OPPONENT = "lambdamart", "global-ensemble-4"
# How far each method's scores are from the truth, and what it costs.
METHODS = {
    "lambdamart": ("global", 1.00, 1, 1.9, 0.11, 310_000),
    "global-ensemble-4": ("global", 0.93, 4, 7.4, 0.42, 1_240_000),
    "local-rank": ("local", 1.02, 4, 3.1, 0.31, 30_211),
    "adaptive-training": ("local", 1.12, 5, 12.7, 0.48, 1_510_000),
    "query-coordinates": ("global", 0.84, 1, 2.8, 0.19, 322_000),
    "rank-svm": ("global", 1.25, 1, 0.21, 0.004, 1_730),
}


def sample(n_queries: int = 120, *, n_methods: int = len(METHODS), seed: int = 3) -> dict[str, Any]:
    """The data of a page with every section."""
    rng = np.random.default_rng(seed)
    dataset, types = make_queries(n_queries, n_documents=(5, 30), n_types=4, random_state=seed)
    facts = dict(METHODS)
    for number in range(len(METHODS), n_methods):
        facts[f"method-{number + 1}"] = ("local", rng.uniform(0.9, 1.3), 4, 2.0, 0.3, 50_000)
    scores = {
        name: dataset.relevance + noise * rng.normal(0, 1.5, dataset.n_documents)
        for name, (_, noise, *_) in facts.items()
    }
    values = {
        name: {measure: parse_measure(measure)(dataset, given) for measure in MEASURES}
        for name, given in scores.items()
    }
    starts, n_documents = dataset.offsets, np.diff(dataset.offsets).tolist()
    return {
        "title": "Sample queries",
        "measures": MEASURES,
        "baseline": BASELINE,
        "methods": [
            {
                "name": name,
                "role": {BASELINE: "baseline", OPPONENT: "opponent"}.get(name, "method"),
                "kind": kind,
                "summary": "Clusters of queries by their principal components, one SVM for each.",
                "parameters": {"n_clusters": "4", "C": "0.1"} if kind == "local" else {},
                "n_models": n_models,
                "train_seconds": seconds,
                "train_cpu_seconds": 1.5 * seconds,
                "milliseconds_per_query": milliseconds,
                "model_bytes": size,
                "failed": None,
                "means": {measure: float(values[name][measure].mean()) for measure in MEASURES},
                "against_baseline": _against(values, name, BASELINE),
                "opponent": _opponent(name, n_models),
                "at_equal_cost": _against(values, name, _opponent(name, n_models)),
                "chosen": ["n_clusters=4", "n_clusters=8"] if kind == "local" else None,
            }
            for name, (kind, _, n_models, seconds, milliseconds, size) in facts.items()
        ]
        + [
            {
                "name": "lgmml",
                "role": "method",
                "kind": "global",
                "summary": "Local metrics.",
                "parameters": {},
                "n_models": None,
                "train_seconds": None,
                "train_cpu_seconds": None,
                "milliseconds_per_query": None,
                "model_bytes": None,
                "failed": "Fold2: no query has documents of both labels.",
                "means": {},
                "against_baseline": None,
                "opponent": None,
                "at_equal_cost": None,
                "chosen": None,
            }
        ],
        "bounds": [
            {
                "name": name,
                "measure": "ndcg@10",
                "n_groups": n_groups,
                "selected": float(values[name]["ndcg@10"].mean()),
                "clairvoyant": float(values[name]["ndcg@10"].mean()) + gain,
                "control": float(values[name]["ndcg@10"].mean()) + 0.051,
                "control_spread": 0.004,
            }
            for name, n_groups, gain in [("local-rank", 4, 0.062), ("adaptive-training", 5, 0.049)]
        ],
        "verdict": "query-coordinates is better than lambdamart by ndcg@10 (+0.031, 95 % interval "
        "+0.010 to +0.052, p = 0.012) and than its opponent of equal cost. No local method is.",
        "cost_notes": [
            "local-rank has 4 models as global-ensemble-4 has, but takes 14 CPU seconds, not 11."
        ],
        "queries": {
            "ids": [str(10_000 + 7 * i) for i in range(n_queries)],
            "folds": [f"Fold{1 + i % 2}" for i in range(n_queries)],
            "n_documents": n_documents,
            "n_relevant": np.add.reduceat(dataset.relevance > 0, starts[:-1]).tolist(),
            "values": {
                name: {measure: _rounded(given) for measure, given in by_measure.items()}
                for name, by_measure in values.items()
            },
        },
        "explorer": {
            "n_shown": min(n_queries, 200),
            "queries": [
                {
                    "index": i,
                    "documents": [f"GX{i:03}-{j:02}-1483" for j in range(n_documents[i])],
                    "labels": dataset.relevance[starts[i] : starts[i + 1]].astype(int).tolist(),
                    "scores": {
                        name: _rounded(given[starts[i] : starts[i + 1]])
                        for name, given in scores.items()
                    },
                    "groups": {"local-rank": int(types[i]), "adaptive-training": int(i % 5)},
                }
                for i in range(min(n_queries, 200))
            ],
        },
        "calibration": _calibration(),
        "tuning": [
            {
                "method": name,
                "measure": "ndcg@10",
                "parameter": "n_clusters",
                "values": [1, 2, 4, 8, 16],
                "means": [0.612, 0.618, peak, 0.607, 0.581],
                "errors": [0.012, 0.011, 0.012, 0.013, 0.015],
            }
            for name, peak in [("local-rank", 0.633), ("adaptive-training", 0.611)]
        ],
        "maps": [_map(rng, types, method, fold) for method, fold in _MAPPED],
        "agreements": [
            {
                "method": method,
                "fold": fold,
                "adjusted_rand_index": index,
                "groups": ["1", "2", "3"],
                "categories": ["navigational", "shopping"],
                "table": [[14, 3], [2, 20 + i], [1, 7]],
            }
            for i, (method, fold, index) in enumerate(
                [("local-rank", "Fold1", 0.41), ("local-rank", "Fold2", 0.21)]
            )
        ],
        "made": {
            "command": "localrank compare MQ2008/ --methods all --measures ndcg@10,ndcg@5,map "
            "--tune --seed 0 -o report/",
            "seed": 0,
            "time": "2026-11-16 02:10 UTC",
            "seconds": 61.0,
            "versions": {"localrank": "0.1.0", "python": "3.11.7", "numpy": "2.3.1"},
            "data": {
                "n_queries": n_queries,
                "n_documents": dataset.n_documents,
                "n_features": 20,
                "labels": {"0": 1480, "1": 590, "2": 350, "3": 190, "4": 80},
                "folds": 2,
                "sha256": "ab12" * 16,
            },
        },
    }


_MAPPED = [("local-rank", "Fold1"), ("adaptive-training", "Fold1")]


def _rounded(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in values]


def _opponent(name: str, n_models: int) -> str | None:
    if name in (BASELINE, OPPONENT):
        return None
    return BASELINE if n_models == 1 else OPPONENT


def _against(values: Any, name: str, opponent: str | None) -> dict[str, Any] | None:
    if opponent is None or name == opponent:
        return None
    tests = {}
    for measure in MEASURES:
        difference = values[name][measure] - values[opponent][measure]
        mean, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
        tests[measure] = {
            "difference": float(mean),
            "low": float(mean - 1.96 * error),
            "high": float(mean + 1.96 * error),
            "p": float(np.exp(-0.717 * abs(mean / error) - 0.416 * (mean / error) ** 2)),
            "wins": int((difference > 1e-9).sum()),
            "ties": int((abs(difference) <= 1e-9).sum()),
            "losses": int((difference < -1e-9).sum()),
        }
    return tests


def _calibration() -> dict[str, Any]:
    dataset, _ = make_queries(160, n_documents=(5, 15), noise=1.0, random_state=5)
    train, test = dataset.select(range(40)), dataset.select(range(40, 160))
    best = BestFeature().fit(train).predict(test)
    model = RankSVM(C=1.0).fit(train).predict(test)
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(0, model.std(), len(model)) for name in ("a", "b", "c", "d")}
    calibration = best_feature_calibration(
        model + 0.5 * noise["a"],
        best,
        {
            "local-rank": model + 0.4 * noise["b"],
            "adaptive-training": model + 0.8 * noise["c"],
            "adaptive-training oracle": model + 0.6 * test.relevance,
        },
        test,
        control=model + 0.5 * noise["d"],
        bounds=["adaptive-training oracle"],
    )
    return {
        "measure": str(calibration.measure),
        **asdict(calibration.findings),
        "methods": list(calibration.per_query),
        "bounds": list(calibration.bounds),
        "rows": [
            {key: None if value != value else value for key, value in row.items()}
            for row in calibration.rows
        ],
    }


def _map(rng: Any, types: Any, method: str, fold: str) -> dict[str, Any]:
    centres = rng.normal(0, 3, (4, 2))
    places = centres[types] + rng.normal(0, 1, (len(types), 2))
    return {
        "method": method,
        "fold": fold,
        "x": places[:, 0].round(3).tolist(),
        "y": places[:, 1].round(3).tolist(),
        "group": types.tolist(),
        "ids": [str(10_000 + 7 * i) for i in range(len(types))],
        "groups": [
            {
                "size": int((types == group).sum()),
                "strongest": [
                    {"feature": f"feature {5 * group + 1}", "weight": 0.81},
                    {"feature": f"feature {5 * group + 3}", "weight": -0.42},
                    {"feature": "feature 17", "weight": 0.2},
                ],
                "n_test": 30 if group < 3 else 0,
                "baseline": 0.61 + 0.02 * group if group < 3 else None,
                "local": 0.63 + 0.01 * group * (-1) ** group if group < 3 else None,
            }
            for group in range(4)
        ],
    }
