"""LETOR text, the format of every file that no other format recognises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank.data.dataset import RankingDataset
from localrank.data.formats.base import Format, Wanted
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.data._row_batches import LetorBatches


@declare("letor", "LETOR and SVMlight text, also compressed")
class LetorText(Format):
    """LETOR text, read by `read_letor`."""

    said, files = "is read as LETOR text", "LETOR text"
    options = ("n_features", "dtype", "zero_based")

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> RankingDataset:
        from localrank.data.letor import read_letor

        return read_letor(paths, **{"n_features": wanted.n_features, **options})

    def batches(
        self, dtype: np.dtype[Any], batch_bytes: int, advance: Callable[[], None], **options: Any
    ) -> LetorBatches:
        from localrank.data._row_batches import LetorBatches

        return LetorBatches(dtype, batch_bytes, advance, **options)

    def sample(self) -> tuple[str, bytes]:
        return "sample.txt", b"1 qid:7 1:0.5 2:3\n0 qid:7 1:2\n2 qid:8 2:1\n"
