"""`localrank demo`."""

from __future__ import annotations

import typer


def demo(
    seed: int = typer.Option(0, help="Seed of the queries and the models."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Compare the best single feature and LambdaMART on built-in queries."""
    import time

    import numpy as np

    from localrank.cli.tables import print_json, print_table, say
    from localrank.data import make_queries
    from localrank.measures import NDCG, AveragePrecision, evaluate
    from localrank.rankers import BestFeature, LambdaMART

    n_train, n_valid, n_test = 600, 150, 450
    dataset, types = make_queries(n_train + n_valid + n_test, n_types=4, random_state=seed)
    train = dataset.select(np.arange(n_train))
    valid = dataset.select(np.arange(n_train, n_train + n_valid))
    test = dataset.select(np.arange(n_train + n_valid, dataset.n_queries))
    types = types[n_train + n_valid :]
    say(
        f"Made {dataset.n_queries:,} queries of 4 hidden types, {dataset.n_documents:,} documents, "
        f"{dataset.n_features} features\nTraining on {n_train}, validating on {n_valid}, "
        f"testing on {n_test} queries"
    )

    measures = [NDCG(5), NDCG(10), AveragePrecision()]
    values, costs = {}, {}
    for name, ranker in {
        "best feature": BestFeature(),
        "LambdaMART": LambdaMART(n_jobs=-1, random_state=seed),
    }.items():
        start = time.perf_counter()
        ranker.fit(train, valid=valid)
        trained = time.perf_counter()
        scores = ranker.predict(test)
        predicted = time.perf_counter()
        costs[name] = (trained - start, 1000 * (predicted - trained) / test.n_queries)
        say(f"Trained {name} in {costs[name][0]:.1f} s")
        values[name] = evaluate(test, scores, measures)

    means = {
        name: {str(measure): float(column.mean()) for measure, column in columns.items()}
        for name, columns in values.items()
    }
    by_type = {
        name: [float(columns[NDCG(10)][types == kind].mean()) for kind in range(4)]
        for name, columns in values.items()
    }
    gain = values["LambdaMART"][NDCG(10)] - values["best feature"][NDCG(10)]
    margin = 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))
    if as_json:
        print_json({"mean": means, "ndcg@10 by type": by_type, "gain": [gain.mean(), margin]})
        return
    print_table(
        "Mean over the test queries",
        ["method", "NDCG@5", "NDCG@10", "MAP", "training", "per query"],
        [
            [
                name,
                *(f"{value:.4f}" for value in means[name].values()),
                f"{costs[name][0]:.1f} s",
                f"{costs[name][1]:.3f} ms",
            ]
            for name in values
        ],
    )
    print_table(
        "NDCG@10 by the hidden type of the query",
        ["method", *(f"type {kind + 1}" for kind in range(4))],
        [[name, *(f"{value:.4f}" for value in by_type[name])] for name in values],
    )
    say(
        f"LambdaMART gains {gain.mean():+.4f} NDCG@10 over the best feature "
        f"(95 % interval {gain.mean() - margin:+.4f} to {gain.mean() + margin:+.4f}), "
        f"with one model for all four types"
    )
