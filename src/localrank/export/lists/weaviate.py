"""Hybrid searches of Weaviate."""

from __future__ import annotations

import json

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.base import Files, one_file
from localrank.export.lists.base import (
    TIES,
    ListFusion,
    ListTarget,
    Settings,
    Singles,
    extremes,
    positions,
    summed,
)
from localrank.registry import declare

# The constants of ranked fusion, which cannot be changed: of newer and of older versions.
_CONSTANTS = (59, 60)


@declare("weaviate-hybrid", "alpha and the fusion type of Weaviate's hybrid search")
class WeaviateHybrid(ListTarget):
    """The settings of a hybrid search: `relativeScoreFusion` with alpha, or `rankedFusion`.

    The first list is the keyword search and the second the vector search; alpha is the weight of
    the second. Weaviate computes in single precision. In `rankedFusion` the constant is 59, in
    older versions 60, and documents with equal scores of a list are ranked one after the other,
    where localrank gives them their mean rank.

    Examples
    --------
    >>> fusion = ListFusion("web", ("bm25", "dense"), (0.25, 0.75), k=None)
    >>> json.loads(WeaviateHybrid().files(fusion)["hybrid.json"])["alpha"]
    0.75
    """

    engine = "Weaviate"
    max_lists = 2
    constants = _CONSTANTS

    def _files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        keyword, vector = fusion.list_names
        # Weights of ranks have the sum 2.
        alpha = fusion.weights[1] / (1 if fusion.k is None else 2)
        kind = "relativeScoreFusion" if fusion.k is None else "rankedFusion"
        settings = {
            "alpha": alpha,
            "fusionType": kind,
            "lists": {"keyword": keyword, "vector": vector},
            "depth": fusion.window,
        }
        if fusion.k is not None:
            settings["constant"] = int(fusion.k)
        return {
            "hybrid.json": json.dumps(settings, indent=2) + "\n",
            "README.md": _README.format(
                name=fusion.name,
                what=fusion.in_words,
                alpha=repr(alpha),
                kind=kind,
                python="RELATIVE_SCORE" if fusion.k is None else "RANKED",
                keyword=json.dumps(keyword),
                vector=json.dumps(vector),
                window=fusion.window,
                difference="" if fusion.k is None else TIES + _RANKS.format(k=int(fusion.k)),
                written=fusion.written,
            ),
        }

    def _read(self, files: Files) -> Settings:
        with one_file(files, "hybrid.json") as text:
            settings = json.loads(text)
            alpha, window = float(settings["alpha"]), int(settings["depth"])
            if settings["fusionType"] == "rankedFusion":
                k = int(settings["constant"])
                return Settings((2 * (1.0 - alpha), 2 * alpha), k, window)
            if settings["fusionType"] != "relativeScoreFusion":
                raise ValueError(f"the fusion type is {settings['fusionType']!r}")
            return Settings((1.0 - alpha, alpha), None, window)

    def _fused(self, lists: Floats, dataset: RankingDataset, settings: Settings) -> Floats:
        if settings.k is not None:
            # Weaviate's weights have the sum 1. Twice its scores are on the ranker's scale.
            terms = [
                weight / 2 / (settings.k + positions(scores, dataset))
                for weight, scores in zip(settings.weights, lists.T, strict=True)
            ]
            return 2 * summed([each.astype(np.float32) for each in terms])
        return summed(
            [
                np.float32(weight) * _scaled(scores.astype(np.float32), dataset)
                for weight, scores in zip(settings.weights, lists.T, strict=True)
            ]
        )


def _scaled(scores: Singles, dataset: RankingDataset) -> Singles:
    low, high = extremes(scores, dataset)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Singles = (scores - low) / (high - low)
    return np.where((low == high) & ~np.isnan(scores), np.float32(1), scaled)


_RANKS = """\
- Weaviate adds 1 / (59 + rank), and 1 / (60 + rank) in older versions. This is for {k}.
"""
_README = """\
# {name} for Weaviate

{what}

The keyword search is the list {keyword}, the first one. The vector search is the list {vector},
the second one. If yours are the other way round, use 1 - alpha.

In Python:

```python
from weaviate.classes.query import HybridFusion

collection.query.hybrid("your words", alpha={alpha}, fusion_type=HybridFusion.{python})
```

In GraphQL:

```graphql
hybrid: {{query: "your words", alpha: {alpha}, fusionType: {kind}}}
```

Weaviate fuses the first 100 documents of each search, or as many as
`QUERY_HYBRID_MAXIMUM_RESULTS` says. Set it to the length of the lists on which the fusion was
tuned: {window}.

## Differences

- Scores have single precision. Documents with equal scores come in the order of one of the lists.
{difference}- A linear change of a list's scores, such as 1 - distance, ranks the same.

`localrank export --verify` fuses your lists in this arithmetic and names the first document that
moves. The arithmetic follows Weaviate's source; there is no library to test it with.

{written}
"""
