"""Feature logs of search engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrank.data._compression import plain_name
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError
from localrank.data.formats.base import Format, Wanted
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.data.feature_logs._labelling import LogReport


@declare("feature-log", "feature logs of search engines in JSON lines, with judgments or clicks")
class FeatureLogs(Format):
    """Feature logs, read by `read_feature_log`. A log needs judgments or clicks to have labels."""

    said, files = "is a feature log", "feature logs"
    suffixes, first_bytes = (".jsonl", ".ndjson"), (b"{",)
    options = (
        "judgments",
        "clicks",
        "rates",
        "unjudged",
        "qid",
        "document_id",
        "log",
        "features",
        "ignore",
        "absent",
        "repeated",
    )

    @property
    def names(self) -> tuple[str, ...]:
        from localrank.data.feature_logs.reading import FORMATS

        return (*FORMATS, *super().names)

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        return super().recognises(Path(plain_name(path)), options)

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> RankingDataset:
        from localrank.data.feature_logs.reading import read_feature_log

        if wanted.labels == "needed" and not options.keys() & {"judgments", "clicks"}:
            raise AdvisedError(
                f"{paths[0]} is a feature log, which has no labels.",
                "Pass a file of grades as judgments or of clicks as clicks, or labels='optional'.",
                "This command needs them: give a file of grades with --judgments, or of clicks "
                "with --clicks.",
            )
        if wanted.labels == "ignored":
            for name in ("judgments", "clicks", "rates", "unjudged"):
                if name in options:
                    raise AdvisedError(
                        "",
                        f"labels='ignored' needs no labels and does not take {name}.",
                        f"This command needs no labels and does not take --{name}.",
                    )
        names = wanted.feature_names
        if wanted.n_features is not None and names is None and "features" not in options:
            raise AdvisedError(
                f"{paths[0]}: the model was trained on {wanted.n_features} features without names. "
                f"Name the same features of the log, in the same order, with",
                "features=[...].",
                "--features.",
            )

        def tell(report: LogReport) -> None:
            for line in report.lines(options.get("unjudged") == "drop"):
                wanted.say(line)

        # `names` ends in the name of the format, which leaves the engine open.
        engine = wanted.format if wanted.format in self.names[:-1] else None
        return read_feature_log(
            paths, report=tell, **{"format": engine, "features": names, **options}
        )

    def sample(self) -> tuple[str, bytes]:
        hits = [("7", "a", "0.5", "3"), ("7", "b", "2", "0"), ("8", "c", "0", "1")]
        lines = [
            f'{{"qid": {query}, "root": {{"children": [{{"id": "{document}", "fields": '
            f'{{"matchfeatures": {{"bm25": {bm25}, "clicks": {clicks}}}}}}}]}}}}\n'
            for query, document, bm25, clicks in hits
        ]
        return "sample.jsonl", "".join(lines).encode()
