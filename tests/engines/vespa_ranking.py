"""Lists ranked by Vespa's published Java code, from exported files.

It is the compiler of application packages, the importer of LightGBM's models, the evaluator of
rank profiles and the global phase. Content nodes are C++ that is not published as artefacts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from engines import jvm

from localrank.data import RankingDataset
from localrank.export._routed_models import scores_of
from localrank.export.vespa.application import Vespa


@dataclass(frozen=True)
class Case:
    """An export, and lists to rank with it.

    Parameters
    ----------
    files : mapping
    dataset : RankingDataset
    groups : sequence of int, optional
        The group that the query of each list names.
    """

    files: Mapping[str, str | bytes]
    dataset: RankingDataset
    groups: Sequence[int] = field(default_factory=tuple)


class RealVespa(Vespa):
    """The target, with Vespa itself in the place of its emulation."""

    def group_scores(self, files, dataset, group):
        (scores,), _ = rankings_in_vespa([Case(files, dataset, [group] * dataset.n_queries)])
        return scores


def rank_in_vespa(files, dataset, router=None) -> np.ndarray:
    """The scores that Vespa gives the rows of a dataset, with groups chosen as router.json says.

    `router` takes the place of the service, where router.json says that one has to choose.
    """
    return scores_of(RealVespa(), files, dataset, router)


def rankings_in_vespa(cases: Sequence[Case]) -> tuple[list[np.ndarray], dict[str, Any]]:
    """The scores of each case, all in one JVM; what Vespa answers for the first list, as JSON."""
    answer = jvm.run("vespa", {"applications": list(map(_application, cases))})
    scores = [
        np.array([float(score) for row in lists for score in row]) for lists in answer["scores"]
    ]
    return scores, json.loads(answer["result"])


def _application(case: Case) -> dict[str, Any]:
    texts = {
        name: content if isinstance(content, str) else content.decode()
        for name, content in case.files.items()
    }
    (schema,) = (name for name in texts if name.endswith(".sd"))
    (profile,) = (name for name in texts if name.endswith(".profile"))
    keys = [f"attribute({name})" for name in re.findall(r"field (\w+) type", texts[schema])]
    documents = [
        {key: None if np.isnan(value) else value for key, value in zip(keys, row, strict=True)}
        for row in case.dataset.features.astype(np.float64).tolist()
    ]
    lists = [
        {"inputs": {}, "documents": documents[begin:end]}
        for begin, end in pairwise(case.dataset.offsets.tolist())
    ]
    for each, group in zip(lists, case.groups, strict=False):
        each["inputs"] = {"query(group)": int(group)}
    return {
        "files": texts,
        "schema": schema.removeprefix("schemas/").removesuffix(".sd"),
        "profile": profile.rpartition("/")[2].removesuffix(".profile"),
        "lists": lists,
    }
