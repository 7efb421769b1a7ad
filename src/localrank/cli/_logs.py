"""How commands read feature logs, and what they say about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrank.cli._inputs import FOR_TABLES, FOR_TEXT, Reading, column_names

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.data.feature_logs._labelling import LogReport
    from localrank.data.tables import Labels


def read_logs(
    paths: Sequence[Path],
    reading: Reading,
    labels: Labels,
    n_features: int | None,
    names: Sequence[str] | None,
) -> RankingDataset:
    """Read feature logs as one dataset. With a model, it has the model's features.

    Parameters
    ----------
    paths : sequence of Path
    reading : Reading
    labels : "needed", "optional" or "ignored"
    n_features : int or None
        Number of features of the model or the training data. None: take the log's features.
    names : sequence of str or None
        Names of these features. None: they have no names.
    """
    from localrank.data.feature_logs.reading import FORMATS, read_feature_log

    if reading.feature_log and reading.feature_log not in FORMATS:
        raise ValueError(
            f"--feature-log must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}. Got "
            f"{reading.feature_log!r} instead."
        )
    for option in reading.given(*FOR_TEXT, *FOR_TABLES):
        raise ValueError(f"{paths[0]}: is a feature log, and {option} is not for feature logs.")
    if labels == "needed" and not reading.judgments and not reading.clicks:
        raise ValueError(
            f"{paths[0]}: a feature log has no labels, and this command needs them. Give a file of "
            f"grades with --judgments, or of clicks with --clicks."
        )
    if labels == "ignored":
        for option in reading.given("judgments", "clicks", "rates", "unjudged"):
            raise ValueError(f"This command needs no labels and does not take {option}.")
    features = column_names(reading.features) or names
    if features is None and n_features is not None:
        raise ValueError(
            f"{paths[0]}: the model was trained on {n_features} features without names. Name the "
            f"same features of the log, in the same order, with --features."
        )
    # The function checks what was typed.
    choices: dict[str, Any] = {
        "format": reading.feature_log or None,
        "unjudged": reading.unjudged or "zero",
        "repeated": reading.repeated or "refuse",
    }
    return read_feature_log(
        paths,
        **choices,
        judgments=reading.judgments or None,
        clicks=reading.clicks or None,
        rates=_rates(reading.rates),
        qid=reading.qid,
        document_id=reading.document_id or None,
        log=reading.log_name or None,
        features=features,
        ignore=column_names(reading.ignore),
        report=partial(_tell, drop=reading.unjudged == "drop"),
    )


def _rates(text: str) -> list[float] | None:
    try:
        return [float(rate) for rate in text.split(",")] if text else None
    except ValueError:
        raise ValueError(
            f"--rates must be numbers separated by commas, such as 0.05,0.2. Got {text!r} instead."
        ) from None


def _tell(report: LogReport, *, drop: bool) -> None:
    """Say which parts of a log or of its judgments are not used."""
    from localrank.cli._tables import say

    if unused := report.unused_features:
        listed = ", ".join(unused[:5]) + (", ..." if len(unused) > 5 else "")
        say(f"Features of the log that are not used: {listed}")
    if report.n_unjudged:
        fate = "they are left out" if drop else "they get label 0"
        say(f"{report.n_unjudged:,} documents have no grade: {fate}")
    if report.n_queries_left_out:
        say(f"{report.n_queries_left_out:,} queries have no grade at all: they are left out")
    if report.n_not_logged:
        say(f"{report.n_not_logged:,} grades are not used: their documents are not in the log")
