"""Query-adaptive learning to rank.

`localrank.recipes` has the papers' local methods, `LocalRanker` what they are made of, from the
parts in `localrank.representations`, `localrank.grouping`, `localrank.rankers` and
`localrank.selection`. `localrank.data` and `localrank.measures` hold what they learn from and are
measured by. `localrank.load` reads a saved model.
"""

from typing import TYPE_CHECKING

from localrank.exports import on_use

if TYPE_CHECKING:
    from localrank import aggregation as aggregation
    from localrank import client as client
    from localrank import data as data
    from localrank import evaluation as evaluation
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
