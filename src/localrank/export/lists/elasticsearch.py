"""Requests with Elasticsearch's retrievers."""

from __future__ import annotations

import json
from typing import Any

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

# Lists whose scores differ by less are not scaled.
_EQUAL = np.float32(1e-6)


@declare("elasticsearch-retriever", "Elasticsearch's linear or rrf retriever, which fuses lists")
class ElasticsearchRetriever(ListTarget):
    """A search request whose retriever fuses lists: `linear` with `minmax`, or `rrf`.

    Elasticsearch computes in single precision. It ranks documents with equal scores of a list one
    after the other, where localrank gives them their mean rank. A list of equal scores, or of one
    document, is not scaled: its scores count as they are.

    Examples
    --------
    >>> fusion = ListFusion("web", ("bm25", "dense"), (0.25, 0.75), k=None)
    >>> files = ElasticsearchRetriever().files(fusion)
    >>> linear = json.loads(files["request.json"])["retriever"]["linear"]
    >>> [(each["weight"], each["normalizer"]) for each in linear["retrievers"]]
    [(0.25, 'minmax'), (0.75, 'minmax')]
    """

    engine = "Elasticsearch"
    constants = (1, 2**31 - 1)

    def _files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        retrievers: list[dict[str, Any]] = [
            {"standard": {"query": {f"YOUR QUERY FOR {name}": {}}}} for name in fusion.list_names
        ]
        retriever: dict[str, Any]
        if fusion.k is None:
            weighted = [
                {"retriever": each, "weight": weight, "normalizer": "minmax"}
                for each, weight in zip(retrievers, fusion.weights, strict=True)
            ]
            retriever = {"linear": {"retrievers": weighted}}
        else:
            if fusion.is_weighted:
                retrievers = [
                    {"retriever": each, "weight": weight}
                    for each, weight in zip(retrievers, fusion.weights, strict=True)
                ]
            retriever = {"rrf": {"retrievers": retrievers, "rank_constant": int(fusion.k)}}
        next(iter(retriever.values()))["rank_window_size"] = fusion.window
        request = {"retriever": retriever, "size": min(10, fusion.window)}
        return {
            "request.json": json.dumps(request, indent=2) + "\n",
            "README.md": _README.format(
                name=fusion.name,
                what=fusion.in_words,
                window=fusion.window,
                difference=_LINEAR
                if fusion.k is None
                else _RRF.format(version="9.2, for weights," if fusion.is_weighted else "8.14"),
                written=fusion.written,
            ),
        }

    def _read(self, files: Files) -> Settings:
        with one_file(files, "request.json") as text:
            ((kind, retriever),) = json.loads(text)["retriever"].items()
            members, window = retriever["retrievers"], int(retriever["rank_window_size"])
            if kind == "rrf":
                weights = tuple(float(each.get("weight", 1)) for each in members)
                return Settings(weights, retriever["rank_constant"], window)
            if kind != "linear" or any(each["normalizer"] != "minmax" for each in members):
                raise ValueError("the retriever is neither rrf nor linear with minmax")
            return Settings(tuple(float(each["weight"]) for each in members), None, window)

    def _fused(self, lists: Floats, dataset: RankingDataset, settings: Settings) -> Floats:
        if settings.k is not None:
            places = [positions(scores, dataset).astype(np.float32) for scores in lists.T]
            return summed(
                [
                    np.float32(weight) * (np.float32(1) / (np.float32(settings.k) + each))
                    for weight, each in zip(settings.weights, places, strict=True)
                ]
            )
        return summed(
            [
                np.float32(weight) * _scaled(scores.astype(np.float32), dataset)
                for weight, scores in zip(settings.weights, lists.T, strict=True)
            ]
        )


def _scaled(scores: Singles, dataset: RankingDataset) -> Singles:
    low, high = extremes(scores, dataset)
    # The search for the highest score begins at the smallest positive number.
    high = np.maximum(high, np.finfo(np.float32).smallest_subnormal)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Singles = (scores - low) / (high - low)
        alike = (np.abs(low - high) < _EQUAL) & ~np.isnan(scores)
    return np.where(alike, low, scaled)


_LINEAR = """\
- A list of equal scores, or of one document, is not scaled: the score counts as it is, and a BM25
  score of 12 outweighs everything else. localrank counts it as 1.
- The linear retriever needs Elasticsearch 8.18 or 9.0 and a licence that has it."""
_RRF = f"""\
{TIES}- The rrf retriever needs Elasticsearch {{version}} and a licence that has it."""
_README = """\
# {name} for Elasticsearch

{what}

1. In `request.json`, replace each `standard` with your retriever of that list: a query, or
   `{{"knn": {{…}}}}` for vectors. Keep the order. A request with `YOUR QUERY` left in is refused.
2. Search:

```sh
curl "$HOST/YOUR_INDEX/_search" -H 'Content-Type: application/json' -d @request.json
```

`rank_window_size` is the number of documents of each list that are fused: {window}. Set it to the
length of the lists on which the fusion was tuned, and `k` and `num_candidates` of a `knn` to at
least that. `size` must not be larger.

## Differences

- Scores have single precision. Documents with equal scores come in the order of the index.
{difference}
- Elasticsearch has no negative scores. Its cosine is (1 + cosine) / 2, which ranks the same.

`localrank export --verify` fuses your lists in this arithmetic and names the first document that
moves. The arithmetic follows Elasticsearch's source; its plugin is not published as an artefact.

{written}
"""
