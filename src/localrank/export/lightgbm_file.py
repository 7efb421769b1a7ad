"""LightGBM's text format."""

from __future__ import annotations

from typing import cast

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.base import ExportedModel, Files, Target, one_file
from localrank.formulas import TreeSum
from localrank.registry import declare
from localrank.trees import read_lightgbm_text, write_lightgbm_text


@declare("lightgbm", "a text file that LightGBM loads")
class LightGBM(Target):
    """A text file that `lightgbm.Booster(model_file=…)` loads. Scores are equal to the last bit.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.export.writing import exported_model
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> model = exported_model(LambdaMART(2).fit(dataset))
    >>> files = LightGBM().files(model)
    >>> bool((LightGBM().scores(files, dataset) == model.formula.score(dataset)).all())
    True
    """

    takes = (TreeSum,)
    holder = "LightGBM's file"
    takes_sets = True

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        trees = cast(TreeSum, model.formula).trees
        categories = [
            model.categories[name] for name in model.feature_names if name in model.categories
        ]
        text = write_lightgbm_text(trees, "lambdarank", model.feature_names, categories)
        readme = _README.format(name=model.name, n_features=trees.n_features)
        if categories:
            readme += _CATEGORIES.format(names=", ".join(map(repr, model.categories)))
        return {f"{model.name}.txt": text, "README.md": readme}

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        with one_file(files, ".txt") as text:
            trees = read_lightgbm_text(text.decode())
        return trees.score(dataset.features)


_README = """# {name} for LightGBM

```python
import lightgbm

booster = lightgbm.Booster(model_file="{name}.txt")
scores = booster.predict(features)  # {n_features} columns
```

LightGBM 4.0 or later reads the file; tested with 4.7. Its scores equal the model's to the last
bit. Missing values (NaN) go where the model sends them.
"""

_CATEGORIES = """
The features {names} are categories. In a pandas frame, give them as columns of type `category`:
LightGBM finds their codes, whatever their order in the frame. In an array, give the codes: the
place of each value in the lists at the end of the file, from 0. A value that is in no list is a
missing value.
"""
