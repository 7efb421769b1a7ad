"""Rank profiles of Vespa that fuse lists."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.base import Files, one_file
from localrank.export.lists.base import TIES, ListFusion, ListTarget, Settings
from localrank.export.vespa._rank_profile import check_model_name, field_names
from localrank.export.vespa.application import (
    SERVICES,
    VERSION,
    normalize_linear,
    reciprocal_rank,
    schema_text,
)
from localrank.registry import declare

_TERM = re.compile(
    r"(?:(\S+) \* )?if \(isNan\(\w+\) == 1, 0, "
    r"(normalize_linear|reciprocal_rank)\(\w+(?:, ([^)\s]+))?\)\)"
)


@declare("vespa-fusion", "an application package of Vespa whose rank profile fuses lists")
class VespaFusion(ListTarget):
    """A rank profile that fuses lists in the global phase: `normalize_linear`, `reciprocal_rank`.

    Vespa computes in double precision. A list of equal scores, or of one document, has the min-max
    score 1/2, where localrank has 1. Documents with equal scores of a list are ranked one after the
    other, where localrank gives them their mean rank.

    Examples
    --------
    >>> fusion = ListFusion("web", ("bm25", "dense"), (0.25, 0.75), k=None)
    >>> profile = VespaFusion().files(fusion)["schemas/web/web.profile"]
    >>> "0.75 * if (isNan(list_dense) == 1, 0, normalize_linear(list_dense))" in profile
    True
    """

    engine = "Vespa"

    def _files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        check_model_name(fusion.name)
        fields = field_names(fusion.list_names)
        name = fusion.name
        renamed = [
            f"- `{field}`: {' '.join(each.split())}"
            for each, field in zip(fusion.list_names, fields, strict=True)
            if each != field
        ]
        return {
            "services.xml": SERVICES.format(name=name),
            f"schemas/{name}.sd": schema_text(name, fields),
            f"schemas/{name}/{name}.profile": _profile(fusion, fields),
            "README.md": _README.format(
                name=name,
                what=fusion.in_words,
                renamed=_RENAMED.format("\n".join(renamed)) if renamed else "",
                count=fusion.window * len(fields),
                difference=_MIN_MAX if fusion.k is None else TIES,
                version=VERSION,
                written=fusion.written,
            ),
        }

    def _read(self, files: Files) -> Settings:
        with one_file(files, "services.xml") as text:
            ElementTree.fromstring(text)
        with one_file(files, ".sd") as text:
            n_fields = len(re.findall(r"field \w+ type double ", text.decode()))
        with one_file(files, ".profile") as text:
            profile = text.decode()
            (count,) = re.findall(r"rerank-count: (\d+)", profile)
            terms = _TERM.findall(profile)
            if len(terms) != n_fields or not terms:
                raise ValueError(f"{len(terms)} terms for {n_fields} lists")
            weights = tuple(float(weight or 1) for weight, _, _ in terms)
            _, kind, k = terms[0]
            constant = float(k) if kind == "reciprocal_rank" else None
            return Settings(weights, constant, int(count) // n_fields)

    def _fused(self, lists: Floats, dataset: RankingDataset, settings: Settings) -> Floats:
        total = np.zeros(len(lists))
        for weight, scores in zip(settings.weights, lists.T, strict=True):
            if settings.k is None:
                values = normalize_linear(scores, dataset.offsets)
            else:
                values = reciprocal_rank(scores, dataset.offsets, settings.k)
            total += weight * np.where(np.isnan(scores), 0.0, values)
        return total


def _profile(fusion: ListFusion, fields: list[str]) -> str:
    lines = [f"rank-profile {fusion.name} {{"]
    terms = []
    for field, weight in zip(fields, fusion.weights, strict=True):
        name = f"list_{field}"
        lines += [f"    function {name}() {{", f"        expression: attribute({field})", "    }"]
        if fusion.k is None:
            terms.append(f"{weight!r} * if (isNan({name}) == 1, 0, normalize_linear({name}))")
        else:
            factor = f"{weight!r} * " if fusion.is_weighted else ""
            term = f"if (isNan({name}) == 1, 0, reciprocal_rank({name}, {fusion.k!r}))"
            terms.append(factor + term)
    lines += [
        # Chooses the hits that the global phase ranks.
        "    first-phase {",
        "        expression: nativeRank",
        "    }",
        "    match-features {",
        *(f"        list_{field}" for field in fields),
        "    }",
        "    global-phase {",
        f"        rerank-count: {fusion.window * len(fields)}",
        f"        expression: {' + '.join(terms)}",
        "    }",
        "}",
        "",
    ]
    return "\n".join(lines)


_RENAMED = """
## Lists under other names

{}
"""
_MIN_MAX = """\
- A list of equal scores, or of one document, has the min-max score 1/2. localrank has 1.
"""
_README = """\
# {name} for Vespa

{what}

This folder is an application package. `vespa deploy` takes it as it is. To add the fusion to your
application:

- Copy `schemas/{name}/{name}.profile` to `schemas/YOUR_SCHEMA/`.
- Each function `list_…` is the score of a list and reads an attribute. Write the expression of
  your list instead. It must be NaN for a document that the list lacks: for words
  `if (bm25(title) > 0, bm25(title), 0 / 0)`, for vectors
  `if (closeness(field, embedding) > 0, closeness(field, embedding), 0 / 0)`.
- Retrieve the documents of all lists in one query, such as
  `where userQuery() or ({{targetHits: 100}}nearestNeighbor(embedding, q))`, with
  `ranking.profile={name}`.
- `rerank-count: {count}` must be at least the number of hits, and `first-phase` chooses these hits.
{renamed}
## Differences

- Vespa scores every hit by every list: a document that the vectors found has a score by words,
  too, if it has one of the words. Tune on lists that are as complete.
- Documents with equal scores come in the order of the first phase.
{difference}
`localrank export --verify` fuses your lists in this arithmetic and names the first document that
moves. Tested with the published Java code of Vespa {version}: the compiler and the global phase.

{written}
"""
