"""Search pipelines of OpenSearch."""

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

# The score of the last document of a list, in place of 0.
_LAST = np.float32(0.001)
# The digits of 1 / (k + rank).
_DIGITS = 10


@declare("opensearch-pipeline", "a search pipeline of OpenSearch, which fuses a hybrid query")
class OpenSearchPipeline(ListTarget):
    """A search pipeline: `normalization-processor` with `min_max`, or `score-ranker-processor`.

    OpenSearch computes in single precision. The last document of a list has the min-max score 0.001
    in place of 0. Documents with equal scores of a list are ranked one after the other, where
    localrank gives them their mean rank.

    Examples
    --------
    >>> fusion = ListFusion("web", ("bm25", "dense"), (1.0, 1.0), k=60)
    >>> files = OpenSearchPipeline().files(fusion)
    >>> json.loads(files["pipeline.json"])["phase_results_processors"]
    [{'score-ranker-processor': {'combination': {'technique': 'rrf', 'rank_constant': 60}}}]
    """

    engine = "OpenSearch"
    max_lists = 5
    constants = (1, 10_000)

    def _files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        processor: dict[str, Any]
        if fusion.k is None:
            mean = {"technique": "arithmetic_mean", "parameters": {"weights": fusion.weights}}
            scale = {"technique": "min_max"}
            processor = {"normalization-processor": {"normalization": scale, "combination": mean}}
        else:
            total: dict[str, Any] = {"technique": "rrf", "rank_constant": int(fusion.k)}
            if fusion.is_weighted:
                # OpenSearch takes weights from 0 to 1 with the sum 1.
                weights = [weight / len(fusion.weights) for weight in fusion.weights]
                total["parameters"] = {"weights": weights}
            processor = {"score-ranker-processor": {"combination": total}}
        pipeline = {"description": fusion.in_words, "phase_results_processors": [processor]}
        names = fusion.list_names
        queries: list[dict[str, Any]] = [{f"YOUR QUERY FOR {name}": {}} for name in names]
        hybrid = {"pagination_depth": fusion.window, "queries": queries}
        request = {"size": min(10, fusion.window), "query": {"hybrid": hybrid}}
        return {
            "pipeline.json": json.dumps(pipeline, indent=2) + "\n",
            "request.json": json.dumps(request, indent=2) + "\n",
            "README.md": _README.format(
                name=fusion.name,
                what=fusion.in_words,
                window=fusion.window,
                difference=_MIN_MAX if fusion.k is None else _RRF,
                version="3.1" if fusion.k is not None and fusion.is_weighted else "2.19",
                written=fusion.written,
            ),
        }

    def _read(self, files: Files) -> Settings:
        with one_file(files, "request.json") as text:
            hybrid = json.loads(text)["query"]["hybrid"]
            n_lists, window = len(hybrid["queries"]), int(hybrid["pagination_depth"])
        with one_file(files, "pipeline.json") as text:
            (processor,) = json.loads(text)["phase_results_processors"]
            ((kind, content),) = processor.items()
            if kind == "score-ranker-processor":
                total = content["combination"]
                given = total.get("parameters", {}).get("weights", [1 / n_lists] * n_lists)
                if len(given) != n_lists:
                    raise ValueError(f"{len(given)} weights for {n_lists} queries")
                weights = tuple(float(weight) * n_lists for weight in given)
                return Settings(weights, total["rank_constant"], window)
            if content["normalization"]["technique"] != "min_max":
                raise ValueError("the normalisation is not min_max")
            weights = tuple(map(float, content["combination"]["parameters"]["weights"]))
            if len(weights) != n_lists:
                raise ValueError(f"{len(weights)} weights for {n_lists} queries")
            return Settings(weights, None, window)

    def _fused(self, lists: Floats, dataset: RankingDataset, settings: Settings) -> Floats:
        if settings.k is not None:
            terms = [
                np.round(1 / (settings.k + positions(scores, dataset)), _DIGITS).astype(np.float32)
                for scores in lists.T
            ]
            if len(set(settings.weights)) == 1:
                return summed(terms)
            # Its weights have the sum 1, those of the ranker the mean 1.
            n_lists = len(terms)
            return n_lists * summed(
                [
                    term * np.float32(weight / n_lists)
                    for term, weight in zip(terms, settings.weights, strict=True)
                ]
            )
        weights = np.array(settings.weights, np.float32)
        total = summed(
            [
                _scaled(scores.astype(np.float32), dataset) * weight
                for weight, scores in zip(weights, lists.T, strict=True)
            ]
        )
        # A list that lacks the document counts as 0: every weight is in the mean.
        mean: Singles = total.astype(np.float32) / np.add.accumulate(weights)[-1]
        return mean.astype(np.float64)


def _scaled(scores: Singles, dataset: RankingDataset) -> Singles:
    low, high = extremes(scores, dataset)
    # The search for the highest score begins at the smallest positive number.
    high = np.maximum(high, np.finfo(np.float32).smallest_subnormal)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Singles = (scores - low) / (high - low)
    scaled = np.where(scaled == 0, _LAST, scaled)
    return np.where((low == high) & ~np.isnan(scores), np.float32(1), scaled)


_MIN_MAX = """\
- The last document of a list has the min-max score 0.001 in place of 0, so it comes before
  documents that the list lacks. In localrank both have 0."""
_RRF = f"""\
{TIES}- 1 / (k + rank) is rounded to ten digits."""
_README = """\
# {name} for OpenSearch

{what}

1. Create the search pipeline:

```sh
curl -X PUT "$HOST/_search/pipeline/{name}" -H 'Content-Type: application/json' -d @pipeline.json
```

2. In `request.json`, replace each `YOUR QUERY` with your query of that list, such as `match`,
   `knn` or `neural`. Keep the order. A request with `YOUR QUERY` left in is refused.
3. Search:

```sh
curl "$HOST/YOUR_INDEX/_search?search_pipeline={name}" \\
  -H 'Content-Type: application/json' -d @request.json
```

`pagination_depth` is the number of documents of each list and shard that are fused: {window}. Set
it to the length of the lists on which the fusion was tuned. It needs OpenSearch {version}.

## Differences

- Scores have single precision. Documents with equal scores come in the order of the index.
{difference}
- With several shards, each shard returns as many documents of a list: the list is longer.
- OpenSearch has no negative scores. A linear change of a list's scores, such as (1 + cosine) / 2,
  ranks the same.

`localrank export --verify` fuses your lists in this arithmetic and names the first document that
moves. The arithmetic follows the source of the neural-search plugin, which is not published as an
artefact.

{written}
"""
