"""Vespa's published Java code: the compiler of application packages, and the global phase."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from engines.jvm import run


def rank_in_vespa(files, dataset, query_features=None):
    """What Vespa computes from the files of an export, one score per row."""
    return answers([application(files, dataset, query_features)])[0]["scores"]


def application(files, dataset, query_features=None, **options) -> dict[str, Any]:
    """An export with lists to rank; `query_features` has values of query(name), one per list."""
    texts = {name: text if isinstance(text, str) else text.decode() for name, text in files.items()}
    (schema,) = (name for name in texts if name.endswith(".sd"))
    (profile,) = (name for name in texts if name.endswith(".profile"))
    fields = re.findall(r"field (\w+) type \w+ ", texts[schema])
    keys = [f"attribute({field})" for field in fields]
    rows = [
        {key: None if value != value else value for key, value in zip(keys, row, strict=True)}
        for row in dataset.features.tolist()
    ]
    values = {f"query({name})": value for name, value in (query_features or {}).items()}
    lists = [
        {
            "query": {name: float(column[number]) for name, column in values.items()},
            "documents": rows[begin:end],
        }
        for number, (begin, end) in enumerate(
            zip(dataset.offsets[:-1].tolist(), dataset.offsets[1:].tolist(), strict=True)
        )
    ]
    return {
        "files": texts,
        "schema": schema.removeprefix("schemas/").removesuffix(".sd"),
        "profile": profile.rpartition("/")[2].removesuffix(".profile"),
        "lists": lists,
        **options,
    }


def answers(applications: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Vespa says to each application, all in one JVM."""
    result = run("vespa", {"applications": list(applications)})["applications"]
    for answer in result:
        if "scores" in answer:
            answer["scores"] = np.array(
                [float(score) for row in answer["scores"] for score in row], np.float64
            )
    return result
