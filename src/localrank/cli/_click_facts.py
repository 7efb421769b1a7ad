"""What `localrank info` says of a log of clicks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.printing import UNBROKEN, Table, ranges
from localrank.cli._tables import print_facts, print_result, shortened
from localrank.data._click_damage import counted

if TYPE_CHECKING:
    from localrank._base.arrays import Floats, Integers
    from localrank.clicks import ClickLog
    from localrank.evaluation import ExaminationReport

# At most this many positions are printed. JSON has all.
_MAX_POSITIONS = 20
_BAR = 24


def click_facts(log: ClickLog) -> dict[str, Any]:
    """Numbers of sessions, clicks by position, and what was seen at several positions."""
    n_positions, sizes = log.n_positions, log.session_sizes
    shown = np.bincount(log.positions, minlength=n_positions)
    clicked = np.bincount(log.positions[log.clicks], minlength=n_positions)
    places, several = _places(log)
    moved = np.bincount(log.positions[several[log.pairs]], minlength=n_positions)
    n_clicked = len(np.unique(log.session_index[log.clicks]))
    facts: dict[str, Any] = {
        "n_sessions": log.n_sessions,
        "n_queries": len(np.unique(log.session_queries)),
        "n_documents_of_queries": len(several) if log.n_sessions else 0,
        "n_impressions": log.n_impressions,
        "n_clicks": log.n_clicks,
        "documents_per_session": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "max": int(sizes.max()),
        },
        "sessions_without_a_click": log.n_sessions - n_clicked,
        "seen_at_several_positions": {
            "n_documents_of_queries": int(several.sum()),
            "n_impressions": int(moved.sum()),
            "linked_to_the_first_position": [place + 1 for place in places.tolist()],
        },
        "positions": [
            {
                "position": place + 1,
                "n_impressions": int(shown[place]),
                "n_clicks": int(clicked[place]),
                "click_rate": float(clicked[place] / shown[place]),
                "n_impressions_of_documents_seen_elsewhere": int(moved[place]),
            }
            for place in range(n_positions)
        ],
        "rankers": _counts(log.ranker_names, log.rankers),
        "groups": _counts(log.group_names, log.groups),
        "propensities": log.propensities is not None,
        "left_out": dict(log.left_out),
    }
    if log.times is not None:
        facts["times"] = [_moment(log.times.min()), _moment(log.times.max())]
    return facts


def _places(log: ClickLog) -> tuple[Integers, Any]:
    """Positions that are linked to the first by documents seen at both, or by a chain of them.

    Also, which pairs were seen at several positions.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    keys = np.unique(log.pairs * log.n_positions + log.positions)
    pairs, places = np.divmod(keys, log.n_positions)
    several = np.bincount(pairs, minlength=log.n_pairs) > 1
    same = np.flatnonzero(pairs[1:] == pairs[:-1])
    edges = csr_array(
        (np.ones(len(same)), (places[same], places[same + 1])), shape=(log.n_positions,) * 2
    )
    _, parts = connected_components(edges, directed=False)
    return np.flatnonzero(parts == parts[0]), several


def _counts(names: tuple[str, ...], numbers: Integers | None) -> dict[str, int] | None:
    if numbers is None:
        return None
    counts = np.bincount(numbers, minlength=len(names)).tolist()
    return dict(zip(names, counts, strict=True))


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


def print_clicks(title: str, facts: dict[str, Any]) -> None:
    """Print the facts for people: positions begin at 1."""
    sizes, moved = facts["documents_per_session"], facts["seen_at_several_positions"]
    n_sessions, n_pairs = facts["n_sessions"], facts["n_documents_of_queries"]
    rows = [
        ["sessions", f"{n_sessions:,}"],
        ["queries", f"{facts['n_queries']:,}"],
        ["documents of queries", f"{n_pairs:,}"],
        [
            "documents per session",
            f"{sizes['min']:,} to {sizes['max']:,}, median {sizes['median']:g}",
        ],
        ["clicks", f"{facts['n_clicks']:,}, {facts['n_clicks'] / n_sessions:.2f} per session"],
        [
            "sessions without a click",
            _share(facts["sessions_without_a_click"], n_sessions),
        ],
        [
            "seen at several positions",
            f"{_share(moved['n_documents_of_queries'], n_pairs)} of the documents of queries, "
            f"{_share(moved['n_impressions'], facts['n_impressions'])} of the impressions",
        ],
        ["linked to position 1", ranges(moved["linked_to_the_first_position"])],
        ["known propensities", "yes" if facts["propensities"] else "no"],
    ]
    if "times" in facts:
        rows.append(["times", " to ".join(facts["times"])])
    for name in ("rankers", "groups"):
        if facts[name] is not None:
            counts = [f"{one}: {n:,}".replace(" ", UNBROKEN) for one, n in facts[name].items()]
            rows.append([name, shortened(counts)])
    left_out = [counted(n, what) for what, n in facts["left_out"].items()]
    rows.append(["left out", ", ".join(left_out) or "none"])
    print_facts(title, rows)
    positions = facts["positions"]
    highest = max(one["click_rate"] for one in positions) or 1.0
    table = [
        [
            f"{one['position']:,}",
            f"{one['n_impressions']:,}",
            f"{one['n_impressions_of_documents_seen_elsewhere'] / one['n_impressions']:.0%}",
            f"{one['click_rate']:.4f}",
            _bar(one["click_rate"] / highest),
        ]
        for one in positions[:_MAX_POSITIONS]
    ]
    columns = ["position", "impressions", "seen elsewhere", "click rate", ""]
    print()
    print_result([Table("", columns, table)])
    if len(positions) > _MAX_POSITIONS:
        print(f"{len(positions) - _MAX_POSITIONS:,} more positions are in the output of --json.")


def seen_facts(report: ExaminationReport) -> dict[str, Any]:
    """The report for scripts. Positions that nothing is known of have null."""
    models = report.models

    def plain(values: Floats) -> Any:
        objects = values.astype(object)
        objects[~np.isfinite(values)] = None
        return objects.tolist()

    return {
        "curves": {
            name: {"examination": plain(one.examination_), "intervals": plain(one.intervals_)}
            for name, one in report.curves.items()
        },
        "refused": None if report.check is None else report.check.is_refused,
        "sentence": report.sentence,
        "notes": list(report.notes),
        "click_models": {
            name: {
                "log_likelihood": models.log_likelihood[name],
                "minus_the_best": models.intervals[name],
                "perplexity": models.perplexity[name],
                "perplexity_by_position": models.perplexity_by_position[name].tolist(),
            }
            for name in models.models
        },
        "best": models.best,
    }


def _share(n: int, total: int) -> str:
    return f"{n:,} ({100 * n / total:.1f}{UNBROKEN}%)"


def _bar(share: float) -> str:
    """A bar with room for the longest, so that all begin at the same place."""
    return ("█" * round(share * _BAR)).ljust(_BAR, UNBROKEN)
