"""Query-adaptive learning to rank.

A query differs from the next in two ways that a ranker can use: which queries it resembles
(*split*: one model per group of similar queries) and how its own documents are spread
(*re-coordinate*: each document relative to the others of its query).

`localrank.recipes` has ready methods of both kinds. `LocalRanker` splits, with the parts of
`localrank.representations`, `localrank.grouping`, `localrank.rankers` and `localrank.selection`.
`localrank.rankers.QueryCoordinates` re-coordinates. `localrank.data` reads data,
`localrank.measures` and `localrank.evaluation` compare methods, and `localrank.load` reads a saved
model.
"""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank import aggregation as aggregation
    from localrank import clicks as clicks
    from localrank import client as client
    from localrank import data as data
    from localrank import evaluation as evaluation
    from localrank import fusion as fusion
    from localrank import grouping as grouping
    from localrank import measures as measures
    from localrank import rankers as rankers
    from localrank import recipes as recipes
    from localrank import representations as representations
    from localrank import selection as selection
    from localrank import text as text
    from localrank.local_ranker import LocalRanker as LocalRanker
    from localrank.persistence import load as load
else:
    __getattr__, __dir__ = on_use(__name__)

__version__ = "0.1.0.dev0"
