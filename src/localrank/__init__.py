"""Query-adaptive learning to rank.

`localrank.recipes` has the papers' local methods, `LocalRanker` what they are made of, from the
parts in `localrank.representations`, `localrank.grouping`, `localrank.rankers` and
`localrank.selection`. `localrank.data` and `localrank.measures` hold what they learn from and are
measured by. `localrank.load` reads a saved model.
"""

from typing import TYPE_CHECKING

from localrank.exports import on_use

if TYPE_CHECKING:
    from localrank.local_ranker import LocalRanker as LocalRanker
    from localrank.persistence import load as load
else:
    __getattr__, __dir__ = on_use(__name__)

__version__ = "0.1.0.dev0"
