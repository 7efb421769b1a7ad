"""LightGBM's text format."""

from __future__ import annotations

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.export.base import ExportedModel, Files, Target
from localrank.formulas import NotExportable, TreeSum
from localrank.trees import read_lightgbm_text, write_lightgbm_text


@declare("lightgbm", "a text file that LightGBM loads")
class LightGBM(Target):
    """A text file that `lightgbm.Booster(model_file=…)` loads: exact, to the last bit."""

    def files(self, model: ExportedModel) -> dict[str, str | bytes]:
        if not isinstance(model.formula, TreeSum):
            raise NotExportable(
                model.facts["ranker"], "LightGBM's files hold one sum of trees", "Take onnx."
            )
        return {
            f"{model.name}.txt": write_lightgbm_text(model.formula.trees),
            "README.md": f"lightgbm.Booster(model_file='{model.name}.txt').predict(features)\n",
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        (text,) = (content for name, content in files.items() if name.endswith(".txt"))
        trees = read_lightgbm_text(text if isinstance(text, str) else text.decode())
        return trees.score(dataset.features)
