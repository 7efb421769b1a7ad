"""Queries of Qdrant."""

from __future__ import annotations

import json
from typing import cast

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.base import Files, one_file
from localrank.export.lists.base import (
    TIES,
    ListFusion,
    ListTarget,
    Settings,
    positions,
    summed,
)
from localrank.registry import declare


@declare("qdrant-query", "a query of Qdrant, which fuses prefetches by reciprocal ranks")
class QdrantQuery(ListTarget):
    """A query with a prefetch for each list, fused by `rrf`.

    Qdrant counts ranks from 0, so its constant is k + 1. It computes in single precision. It ranks
    documents with equal scores of a list one after the other, where localrank gives them their mean
    rank. Its formulas see raw scores, and its other fusion (`dbsf`) has no weights, so a weighted
    sum is refused.

    Examples
    --------
    >>> fusion = ListFusion("web", ("bm25", "dense"), (1.0, 1.0), k=60)
    >>> json.loads(QdrantQuery().files(fusion)["request.json"])["query"]
    {'rrf': {'k': 61}}
    """

    engine = "Qdrant"
    takes_min_max = False
    # It divides the rank by the weight.
    takes_weighted_ranks = False
    constants = (0, 2**31 - 2)

    def _files(self, fusion: ListFusion) -> dict[str, str | bytes]:
        constant = int(cast(float, fusion.k)) + 1
        request = {
            "prefetch": [
                {"query": f"YOUR QUERY FOR {name}", "using": name, "limit": fusion.window}
                for name in fusion.list_names
            ],
            "query": {"rrf": {"k": constant}},
            "limit": 10,
        }
        return {
            "request.json": json.dumps(request, indent=2) + "\n",
            "README.md": _README.format(
                name=fusion.name,
                what=fusion.in_words,
                k=f"{fusion.k:g}",
                constant=constant,
                window=fusion.window,
                ties=TIES,
                written=fusion.written,
            ),
        }

    def _read(self, files: Files) -> Settings:
        with one_file(files, "request.json") as text:
            request = json.loads(text)
            prefetch = request["prefetch"]
            window = min(int(each["limit"]) for each in prefetch)
            return Settings((1.0,) * len(prefetch), request["query"]["rrf"]["k"] - 1, window)

    def _fused(self, lists: Floats, dataset: RankingDataset, settings: Settings) -> Floats:
        k, one = np.float32(cast(float, settings.k) + 1), np.float32(1)
        places = [positions(scores, dataset).astype(np.float32) for scores in lists.T]
        return summed([one / (each + k - one) for each in places])


_README = """\
# {name} for Qdrant

{what}

1. In `request.json`, replace each `YOUR QUERY` with the vector of the query for that list, dense
   or sparse, and `using` with the name of your vectors. A request with `YOUR QUERY` left in is
   refused.
2. Search:

```sh
curl -X POST "$HOST/collections/YOUR_COLLECTION/points/query" \\
  -H 'Content-Type: application/json' -d @request.json
```

`limit` of a prefetch is the number of documents of each list that are fused: {window}. Set it to
the length of the lists on which the fusion was tuned.

## Differences

- Qdrant counts ranks from 0: its constant {constant} is k = {k}. The setting `k` needs Qdrant 1.16.
  Earlier versions use 2 and ignore what is asked.
- Scores have single precision. Documents with equal scores come in any order.
{ties}
`localrank export --verify` fuses your lists in this arithmetic and names the first document that
moves. Tested with the local mode of qdrant-client 1.20.

{written}
"""
