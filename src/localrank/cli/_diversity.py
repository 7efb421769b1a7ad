"""α-nDCG on the command line: its name, and files with judgments of subtopics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localrank._base.arrays import Flags, Floats
    from localrank.data import RankingDataset

_NAME = re.compile(r"(?:alpha|α)[\s_.-]?ndcg(?:\(([^()]*)\))?(?:[@_. ]?([0-9]+))?(?:\(([^()]*)\))?")


@dataclass(frozen=True)
class AlphaNDCG:
    """The settings of `alpha_ndcg`, which a name such as alpha_ndcg(alpha=0.3)@20 has."""

    cutoff: int | None = None
    alpha: float = 0.5
    ties: str = "averaged"
    empty: float = 0.0

    def __call__(self, dataset: RankingDataset, scores: Floats, subtopics: Flags) -> Floats:
        """One value per query."""
        from localrank.measures import alpha_ndcg

        return alpha_ndcg(dataset, scores, subtopics, **asdict(self))

    def __str__(self) -> str:
        given = [
            f"{parameter.name}={value:g}"
            if isinstance(value, float)
            else f"{parameter.name}={value}"
            for parameter in fields(self)
            if parameter.name != "cutoff"
            and (value := getattr(self, parameter.name)) != parameter.default
        ]
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return "alpha_ndcg" + (f"({','.join(given)})" if given else "") + cutoff

    def explain(self) -> str:
        """The definition in words."""
        from localrank.measures._ties import TIE_RULES

        among = "" if self.cutoff is None else f" of the first {self.cutoff} documents"
        return (
            f"{self}: sum of gains / log2(1 + rank){among}, divided by that of an ideal ranking, "
            f"which is found greedily. A document gains {1 - self.alpha:g}^n for each of its "
            f"subtopics, where n is the number of documents above with the same subtopic.\n"
            f"{TIE_RULES[self.ties]}\n"
            f"A query without a document on any subtopic counts {self.empty:g}."
        )


def alpha_ndcg_named(name: str) -> AlphaNDCG | None:
    """The settings in a name. None: it is the name of another measure.

    Examples
    --------
    >>> print(alpha_ndcg_named("alpha-nDCG@20"), alpha_ndcg_named("ndcg@20"))
    alpha_ndcg@20 None
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    given: dict[str, float | str | int] = {}
    for text in filter(str.strip, (match[1] or match[3] or "").split(",")):
        key, _, value = (part.strip() for part in text.partition("="))
        if key not in ("alpha", "ties", "empty") or not value:
            raise ValueError(
                f"alpha_ndcg has the parameters alpha, ties and empty, as in "
                f"alpha_ndcg(alpha=0.3)@20. Got {text.strip()!r} instead."
            )
        try:
            given[key] = value if key == "ties" else float(value)
        except ValueError:
            raise ValueError(f"{key} of alpha_ndcg must be a number. Got {value!r}.") from None
    if match[2]:
        given["cutoff"] = int(match[2])
    return AlphaNDCG(**given)  # type: ignore[arg-type]


def read_subtopics(
    run_path: Path, data: Sequence[Path], convention: str
) -> tuple[RankingDataset, Floats, Flags]:
    """A run with its judgments of subtopics. Says which queries and documents do not match."""
    from localrank.cli._tables import say
    from localrank.data import read_run
    from localrank.measures import judged_subtopics

    if convention != "default":
        raise ValueError(
            "alpha_ndcg is ndeval's: leave out --convention. alpha_ndcg(ties=document_id)@20 has "
            "ndeval's order of equal scores."
        )
    if len(data) > 1:
        raise ValueError(
            f"alpha_ndcg needs one file of judgments of subtopics. Got {len(data)} files."
        )
    run = read_run(run_path)
    dataset, scores, subtopics = judged_subtopics(run, data[0])
    if subtopics.shape[1] < 2:
        raise ValueError(
            f"{data[0]} has one subtopic alone. alpha_ndcg needs lines `query subtopic document "
            f"grade`, with the subtopics of each query."
        )
    absent = len(set(map(str, dataset.query_ids.tolist())) - set(run.query_ids.tolist()))
    if absent:
        say(f"{absent:,} of {dataset.n_queries:,} queries are not in the run")
    return dataset, scores, subtopics
