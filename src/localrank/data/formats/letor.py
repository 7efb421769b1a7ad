"""LETOR text, the format of every file that no other format recognises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError
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
        from localrank.data._letor_reader import TrainingIds
        from localrank.data.letor import letor_reader

        like, given = None, options.get("n_features")
        if wanted.n_features is not None:
            base = wanted.columns and wanted.columns.zero_based
            like = TrainingIds(wanted.n_features, base is not None)
            if base is not None and options.setdefault("zero_based", base) != base:
                raise AdvisedError(
                    f"The feature ids of the training data begin at {int(not base)}. Leave out",
                    f"zero_based={not base}, which says otherwise.",
                    "--zero-based, which says otherwise.",
                )
        reader = letor_reader(list(paths), like=like, **options)
        n_features, first = reader.n_features, reader.first_feature
        for path, n_columns in reader.n_columns.items():
            if n_features is None or n_columns >= n_features:
                continue
            fault = f"{path}: the largest feature id is {n_columns - 1 + first}"
            if given is None:
                raise AdvisedError(
                    f"{fault}, and the training data has {n_features} features. If they are the "
                    f"same features, and those that are 0 are left out,",
                    f"pass n_features={n_features}.",
                    f"add --n-features {n_features}.",
                )
            wanted.say(f"{fault}: features beyond it, up to {n_features} in all, count as 0")
        return reader.dataset()

    def batches(
        self, dtype: np.dtype[Any], batch_bytes: int, advance: Callable[[], None], **options: Any
    ) -> LetorBatches:
        from localrank.data._row_batches import LetorBatches

        return LetorBatches(dtype, batch_bytes, advance, **options)

    def sample(self) -> tuple[str, bytes]:
        return "sample.txt", b"1 qid:7 1:0.5 2:3\n0 qid:7 1:2\n2 qid:8 2:1\n"
