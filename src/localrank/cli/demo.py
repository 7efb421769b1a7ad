"""`localrank demo`."""

from __future__ import annotations

import typer

N_TYPES = 4
N_TRAIN, N_VALID, N_TEST = 600, 150, 450


def demo(
    seed: int = typer.Option(0, help="Seed of the queries and the models."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Compare the best single feature and LambdaMART on built-in queries."""
    import time
    from itertools import pairwise

    import numpy as np

    from localrank.cli.tables import print_json, print_table, say, say_if_compiling
    from localrank.data import make_queries
    from localrank.measures import NDCG, AveragePrecision, evaluate
    from localrank.rankers import BestFeature, LambdaMART

    dataset, types = make_queries(N_TRAIN + N_VALID + N_TEST, n_types=N_TYPES, random_state=seed)
    bounds = np.cumsum([0, N_TRAIN, N_VALID, N_TEST])
    train, valid, test = (dataset.select(np.arange(*ends)) for ends in pairwise(bounds))
    say(
        f"Made {dataset.n_queries:,} queries of {N_TYPES} hidden types: {dataset.n_documents:,} "
        f"documents, {dataset.n_features} features. Training on {N_TRAIN} of them, validating on "
        f"{N_VALID}, testing on {N_TEST}."
    )
    say_if_compiling()
    values, costs = {}, {}
    measures = [NDCG(5), NDCG(10), AveragePrecision()]
    for name, ranker in {
        "best feature": BestFeature(),
        "LambdaMART": LambdaMART(random_state=seed),
    }.items():
        start = time.perf_counter()
        ranker.fit(train, valid=valid)
        trained = time.perf_counter()
        values[name] = evaluate(test, ranker.predict(test), measures)
        costs[name] = trained - start
        say(f"Trained {name} in {costs[name]:.1f} s.")

    gain = values["LambdaMART"][NDCG(10)] - values["best feature"][NDCG(10)]
    margin = 1.96 * gain.std(ddof=1) / np.sqrt(N_TEST)
    interval = [float(gain.mean() - margin), float(gain.mean() + margin)]
    means = {
        name: {str(measure): float(column.mean()) for measure, column in columns.items()}
        for name, columns in values.items()
    }
    by_type = {
        name: [float(columns[NDCG(10)][types[-N_TEST:] == kind].mean()) for kind in range(N_TYPES)]
        for name, columns in values.items()
    }
    if as_json:
        print_json({"mean": means, "ndcg@10 by type": by_type, "gain interval": interval})
        return
    print_table(
        "Mean over the test queries",
        ["method", "NDCG@5", "NDCG@10", "MAP", "training"],
        [
            [name, *(f"{mean:.4f}" for mean in means[name].values()), f"{costs[name]:.1f} s"]
            for name in values
        ],
    )
    print_table(
        "NDCG@10 by the hidden type of the query",
        ["method", *(f"type {kind + 1}" for kind in range(N_TYPES))],
        [[name, *(f"{mean:.4f}" for mean in by_type[name])] for name in values],
    )
    say(
        f"LambdaMART gains {gain.mean():+.3f} NDCG@10 over the best feature (95 % interval "
        f"{interval[0]:+.3f} to {interval[1]:+.3f}) with one model for all {N_TYPES} types."
    )
