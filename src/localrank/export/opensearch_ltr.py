"""The learning-to-rank plugin of OpenSearch."""

from __future__ import annotations

from localrank.export._ltr_plugin import LearningToRankPlugin
from localrank.registry import declare


@declare("opensearch-ltr", "the learning-to-rank plugin of OpenSearch")
class OpenSearchLTR(LearningToRankPlugin):
    r"""A feature set and a model for the plugin `opensearch-ltr`.

    Examples
    --------
    >>> import numpy as np
    >>> from localrank.export import ExportedModel
    >>> from localrank.formulas import Linear
    >>> weights = Linear(np.array([2.0, -1.0]))
    >>> files = OpenSearchLTR().files(ExportedModel("sum", weights, ("bm25", "age")))
    >>> print(files["model.json"])
    {"model": {"name": "sum", "model": {"type": "model/linear",
    "definition": "{\"bm25\": 2.0, \"age\": -1.0}"}}}
    """

    engine = "OpenSearch"
    missing_since = "OpenSearch 3.8 or later"
