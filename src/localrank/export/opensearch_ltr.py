"""The learning-to-rank plugin of OpenSearch."""

from __future__ import annotations

from localrank.declaration import declare
from localrank.export.ltr_plugin import LearningToRankPlugin


@declare("opensearch-ltr", "the learning-to-rank plugin of OpenSearch")
class OpenSearchLTR(LearningToRankPlugin):
    """A feature set and a model for the plugin `opensearch-ltr`."""

    engine = "OpenSearch"
    missing_since = "OpenSearch 3.8 or later"
