"""RankLib's model files."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.export._node_tables import (
    NodeTable,
    in_single_precision,
    knows_missing,
    node_tables,
    single_sum,
    zero_for_missing,
)
from localrank.export.base import (
    ExportedModel,
    Files,
    Target,
    check_single_range,
    one_file,
    trees_of,
)
from localrank.formulas import Linear, NotExportable, TreeSum
from localrank.registry import declare
from localrank.trees import Trees

TREES, LINEAR = "## LambdaMART", "## Linear Regression"


@declare("ranklib", "a model file of RankLib, in Java")
class RankLib(Target):
    """A model file that RankLib and the plugins of Elasticsearch and OpenSearch load.

    RankLib compares with `<=` in single precision, so thresholds are rounded down to single
    precision. It adds up trees in single precision and weighted features in double precision. A
    missing value counts as 0.

    Examples
    --------
    >>> weights = Linear(np.array([2.0, -1.0]), 0.5)
    >>> files = RankLib().files(ExportedModel("sum", weights, ("bm25", "age")))
    >>> print(files["sum.txt"])
    ## Linear Regression
    0:0.5 1:2.0 2:-1.0
    """

    takes = (TreeSum, Linear)
    holder = "RankLib's file"

    def _files(self, model: ExportedModel) -> dict[str, str | bytes]:
        if isinstance(model.formula, Linear):
            weights = [model.formula.constant, *model.formula.weights.tolist()]
            text = " ".join(f"{number}:{float(value)!r}" for number, value in enumerate(weights))
            text = f"{LINEAR}\n{text}\n"
        else:
            text = _trees_text(_without_missing(model, self.holder))
        names = "\n".join(f"{number}. {name}" for number, name in enumerate(model.feature_names, 1))
        return {
            f"{model.name}.txt": text,
            "README.md": _README.format(name=model.name, names=names),
        }

    def scores(self, files: Files, dataset: RankingDataset) -> Floats:
        features = zero_for_missing(dataset.features)
        with one_file(files, ".txt") as text:
            lines = text.decode().split("\n")
            body = "\n".join(line for line in lines if not line.startswith("##"))
            if lines[0] == LINEAR:
                return _linear_scores(body, features)
            tables = [_table(tree) for tree in ElementTree.fromstring(body).iter("tree")]
        return single_sum([table.outputs(features, np.less_equal) for table in tables])


def _without_missing(model: ExportedModel, holder: str) -> Trees:
    trees = trees_of(model, holder)
    check_single_range(model, "RankLib")
    if knows_missing(trees):
        raise NotExportable(
            model.ranker,
            "it learned from missing values, and RankLib treats them as 0",
            "Use xgboost-json or lightgbm, which keep them, or fill them in before training.",
        )
    return trees


def _trees_text(trees: Trees) -> str:
    tables = [in_single_precision(table, "<=") for table in node_tables(trees)]
    ensemble = ElementTree.Element("ensemble")
    for number, table in enumerate(tables, 1):
        tree = ElementTree.SubElement(ensemble, "tree", id=str(number), weight="1.0")
        splits = [(ElementTree.SubElement(tree, "split"), 0)]
        while splits:
            element, row = splits.pop()
            feature = int(table.features[row])
            if feature < 0:
                ElementTree.SubElement(element, "output").text = repr(float(table.values[row]))
                continue
            ElementTree.SubElement(element, "feature").text = str(feature + 1)
            threshold = repr(float(table.thresholds[row]))
            ElementTree.SubElement(element, "threshold").text = threshold
            for place, child in (("left", table.lefts[row]), ("right", table.rights[row])):
                splits.append((ElementTree.SubElement(element, "split", pos=place), int(child)))
    ElementTree.indent(ensemble)
    return f"{TREES}\n## No. of trees = {len(tables)}\n\n{_text(ensemble)}\n"


def _text(element: ElementTree.Element) -> str:
    return ElementTree.tostring(element, encoding="unicode")


def _table(tree: ElementTree.Element) -> NodeTable:
    elements = list(tree.iter("split"))
    row_of = {element: row for row, element in enumerate(elements)}

    def column(name: str, absent: str) -> Array:
        return np.array([float(element.findtext(name, absent)) for element in elements])

    def child(place: str) -> Array:
        children = [element.find(f"split[@pos='{place}']") for element in elements]
        return np.array([-1 if child is None else row_of[child] for child in children])

    return NodeTable(
        features=column("feature", "0").astype(np.int64) - 1,
        thresholds=column("threshold", "0").astype(np.float32),
        lefts=child("left"),
        rights=child("right"),
        default_lefts=np.zeros(len(elements), bool),
        values=column("output", "0").astype(np.float32),
    )


def _linear_scores(line: str, features: Array) -> Floats:
    pairs = [pair.split(":") for pair in line.split()]
    weights = {int(number): float(value) for number, value in pairs}
    total = np.full(len(features), weights.pop(0))
    for number, weight in weights.items():
        total += weight * features[:, number - 1].astype(np.float64)
    return total


_README = """# {name} for RankLib

```sh
java -jar RankLib.jar -load {name}.txt -rank documents.txt -score scores.txt
```

RankLib numbers features from 1, in the order of the training data:

{names}

The learning-to-rank plugins of Elasticsearch and OpenSearch take the file as the `definition` of a
model of type `model/ranklib`.

RankLib compares with `<=` in float32. The thresholds are rounded down, so that every float32 value
goes the same way. Trees are added up in float32, linear models in double precision. A missing
value counts as 0.

Tested with RankyMcRankFace 0.2.0, the build of RankLib that the plugins use.
"""
