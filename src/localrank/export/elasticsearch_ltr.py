"""The learning-to-rank plugin for Elasticsearch."""

from __future__ import annotations

from localrank.export._ltr_plugin import LearningToRankPlugin
from localrank.registry import declare


@declare("elasticsearch-ltr", "the learning-to-rank plugin of Elasticsearch")
class ElasticsearchLTR(LearningToRankPlugin):
    r"""A feature set and a model for the plugin `elasticsearch-learning-to-rank`.

    Examples
    --------
    >>> import numpy as np
    >>> from localrank.export import ExportedModel
    >>> from localrank.formulas import Linear
    >>> weights = Linear(np.array([2.0, -1.0]))
    >>> files = ElasticsearchLTR().files(ExportedModel("sum", weights, ("bm25", "age")))
    >>> print(files["model.json"])
    {"model": {"name": "sum", "model": {"type": "model/linear",
    "definition": "{\"bm25\": 2.0, \"age\": -1.0}"}}}
    """

    engine = "Elasticsearch"
    missing_since = "release 1.5.9 of the plugin or later"
