"""What commands read from feature logs, and say about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from localrank.cli.inputs import FOR_TABLES, FOR_TEXT, Reading, column_names

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.data.feature_logs.labelling import LogReport
    from localrank.data.tables import Labels


def read_logs(
    paths: Sequence[Path],
    reading: Reading,
    labels: Labels,
    n_features: int | None,
    names: Sequence[str] | None,
) -> RankingDataset:
    """Feature logs as one dataset, its features by the names of a model where there is one.

    Parameters
    ----------
    paths : sequence of Path
    reading : Reading
    labels : "needed", "optional" or "ignored"
    n_features : int or None
        Number of features of the model or the training data; None: there is none.
    names : sequence of str or None
        Their names, where they have any.
    """
    from localrank.data.feature_logs.reading import FORMATS, read_log

    if reading.feature_log and reading.feature_log not in FORMATS:
        raise ValueError(
            f"--feature-log must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}. Got "
            f"{reading.feature_log!r} instead."
        )
    for option in reading.given(*FOR_TEXT, *FOR_TABLES):
        raise ValueError(f"{paths[0]}: is a feature log, and {option} is not for logs.")
    if labels == "needed" and not reading.judgments and not reading.clicks:
        raise ValueError(
            f"{paths[0]}: a feature log has no labels, and these are needed. Name a file of grades "
            f"with --judgments, or of clicks with --clicks."
        )
    if labels == "ignored":
        for option in reading.given("judgments", "clicks", "rates", "unjudged"):
            raise ValueError(f"{option} is not for this command, which needs no labels.")
    features = column_names(reading.features) or names
    if features is None and n_features is not None:
        raise ValueError(
            f"{paths[0]}: the {n_features} features that were trained on have no names. Name those "
            f"of the log that they are, in their order, with --features."
        )
    dataset, report = read_log(
        paths,
        form=reading.feature_log or None,
        judgments=reading.judgments or None,
        clicks=reading.clicks or None,
        rates=_rates(reading.rates),
        unjudged=reading.unjudged or "zero",
        qid=reading.qid,
        document_id=reading.document_id or None,
        log=reading.log_name or None,
        features=features,
        ignore=column_names(reading.ignore),
        repeated=reading.repeated or "refuse",
    )
    _tell(report, drop=reading.unjudged == "drop")
    return dataset


def _rates(text: str) -> list[float] | None:
    try:
        return [float(rate) for rate in text.split(",")] if text else None
    except ValueError:
        raise ValueError(f"--rates must be numbers, as 0.05,0.2. Got {text!r} instead.") from None


def _tell(report: LogReport, *, drop: bool) -> None:
    """Say what of a log or of its judgments is not used."""
    from localrank.cli.tables import say

    if unused := report.unused_features:
        listed = ", ".join(unused[:5]) + (", ..." if len(unused) > 5 else "")
        say(f"Features of the log that are not used: {listed}")
    if report.n_unjudged:
        fate = "left out" if drop else "label 0"
        say(f"{report.n_unjudged:,} documents have no grade: {fate}")
    if report.n_queries_left_out:
        say(f"{report.n_queries_left_out:,} queries have no grade at all: left out")
    if report.n_not_logged:
        say(f"{report.n_not_logged:,} grades are of documents that are not in the log: not used")
