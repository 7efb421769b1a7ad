"""Lists of several retrievers put together: columns, neighbours, and rankers that fuse them."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.fusion.fusion import Fusion as Fusion
    from localrank.fusion.hybrid import Hybrid as Hybrid
    from localrank.fusion.lists import lists_dataset as lists_dataset
    from localrank.fusion.neighbours import NeighbourColumns as NeighbourColumns
    from localrank.fusion.neighbours import nearest as nearest
    from localrank.fusion.reciprocal_rank_fusion import (
        ReciprocalRankFusion as ReciprocalRankFusion,
    )
    from localrank.fusion.smoothed_fusion import SmoothedFusion as SmoothedFusion
else:
    __getattr__, __dir__ = on_use(__name__)
