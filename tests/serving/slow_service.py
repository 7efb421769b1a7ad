"""A service that never finishes lists of `ENDLESS` documents.

The workers import this file too, since it is the main module of their parent.
"""

import sys
import time
from pathlib import Path

from localrank import serving
from localrank.serving import _rank_endpoint, application

ENDLESS = 99
TIMEOUT = 1.0
application.OVERTIME = 2
rank = _rank_endpoint.scored


def scored(model, lists):
    """The scores, but for lists that nobody should have sent."""
    while lists.dataset.n_documents == ENDLESS:
        time.sleep(0.01)
    return rank(model, lists)


_rank_endpoint.scored = scored

if __name__ == "__main__":
    model, workers = Path(sys.argv[1]), int(sys.argv[2])
    serving.serve(
        serving.Settings({"m": model}, {}, timeout=TIMEOUT, reload_interval=0.1),
        port=0,
        workers=workers,
    )
