"""`localrank evaluate --clicks`: what rankings would do, estimated from a log of clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrank.cli._inputs import DataOptions

if TYPE_CHECKING:
    from localrank.clicks import RankingValue, ValueDifference


def print_estimates(
    runs: Sequence[Path],
    log_path: Path,
    options: DataOptions,
    log_options: DataOptions,
    *,
    seen: str,
    method: str,
    max_unseen: float,
    as_json: bool,
) -> None:
    """Print what each run would bring, and how sure the log is of their differences.

    The options are for files of features, which some estimates of what is seen need.
    """
    import numpy as np

    from localrank.cli._inputs import features_of_log, read_clicks
    from localrank.cli._tables import print_json, print_table, say
    from localrank.clicks import UnseenRankingError, compare_rankings, ranking_value
    from localrank.clicks.naming import fitted_bias
    from localrank.data.run_sources import as_runs

    rankings: dict[str, Any] = as_runs(list(runs))
    log = read_clicks([log_path], log_options)
    features = features_of_log(options)
    if seen == "propensities":
        bias = None
    elif seen == "none":
        bias = np.ones(log.n_positions)
    else:
        bias = fitted_bias(seen, log, features, say)
    refused = {}
    # The method is any text here: the library refuses what it does not know.
    asked: dict[str, Any] = {"method": method, "max_unseen": max_unseen}
    values: dict[str, RankingValue] = {}
    for name, run in rankings.items():
        try:
            values[name] = ranking_value(log, run, bias, **asked)
        except UnseenRankingError as error:
            refused[name] = str(error)
            if len(rankings) == 1:
                raise
    differences: list[ValueDifference] = []
    if len(values) > 1:
        known = {name: rankings[name] for name in values}
        values, differences = compare_rankings(log, known, bias, **asked)
    if as_json:
        print_json(
            {
                "values": {name: asdict(value) for name, value in values.items()},
                "differences": [asdict(one) for one in differences],
                "refused": refused,
            }
        )
        return
    rows = [
        [
            name,
            f"{one.value:.4f}",
            f"[{one.interval[0]:.4f}, {one.interval[1]:.4f}]",
            f"{one.effective_sessions:,.0f}",
            f"{one.unseen:.1%}",
        ]
        for name, one in values.items()
    ]
    if rows:
        n = next(iter(values.values())).n_sessions
        print_table(
            f"Estimated clicks per list, from {n:,} sessions of {log_path.name}",
            ["run", "clicks", "95 % interval", "worth sessions", "never shown"],
            rows,
        )
    for one in differences:
        print(one)
    if len(differences) > 1:
        print("p-values are not corrected for the number of pairs.")
    for name, reason in refused.items():
        say(f"{name} is left out. {reason}")
    if left_out := max((one.n_left_out for one in values.values()), default=0):
        say(f"{left_out:,} of {log.n_sessions:,} sessions have a query that a run lacks: left out")
