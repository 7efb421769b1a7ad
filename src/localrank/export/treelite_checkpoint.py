"""Treelite's checkpoints."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export._node_tables import plain_thresholds
from localrank.export.base import ExportedModel, Files, Target, one_file, trees_of
from localrank.formulas import TreeSum
from localrank.registry import declare
from localrank.trees import write_lightgbm_text

FORMAT = "checkpoint"


@declare("treelite", "a checkpoint that Treelite loads, to compile or serve")
class Treelite(Target):
    """A checkpoint that `treelite.Model.deserialize` loads.

    Treelite keeps LightGBM's thresholds, its comparison and its missing values, in double
    precision.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> model = exported_model(LambdaMART(2).fit(dataset))
    >>> sorted(Treelite().files(model))
    ['README.md', 'localrank.checkpoint']
    """

    takes = (TreeSum,)
    holder = "Treelite's checkpoint"

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        trees = trees_of(model, self.holder)
        # Treelite compares values as they are, also those that LightGBM treats as zero.
        trees = replace(trees, thresholds=plain_thresholds(trees))
        text = write_lightgbm_text(trees, "lambdarank")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.txt"
            path.write_text(text)
            checkpoint = _treelite().frontend.load_lightgbm_model(path)
        return {
            f"{model.name}.{FORMAT}": checkpoint.serialize_bytes(),
            "README.md": _README.format(name=model.name, version=_treelite().__version__),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        treelite = _treelite()
        with one_file(files, f".{FORMAT}") as saved:
            model = treelite.Model.deserialize_bytes(saved)
        features = np.ascontiguousarray(dataset.features, np.float64)
        scores: Floats = treelite.gtil.predict(model, features, nthread=1).astype(np.float64)
        return scores.reshape(-1)


def _treelite() -> Any:
    try:
        import treelite
    except ImportError as error:
        raise ImportError("Treelite is not installed. Run `pip install treelite`.") from error
    return treelite


_README = """# {name} for Treelite

```python
import treelite

model = treelite.Model.deserialize("{name}.checkpoint")
scores = treelite.gtil.predict(model, features)  # float64
```

Written by Treelite {version}; later versions with the same major version read it. TL2cgen compiles
it to C. Treelite compares as the model does, in double precision; scores differ by rounding at
most. Missing values (NaN) go where the model sends them.
"""
