"""The learning-to-rank plugin for Elasticsearch."""

from __future__ import annotations

from localrank.declaration import declare
from localrank.export.ltr_plugin import LearningToRankPlugin


@declare("elasticsearch-ltr", "the learning-to-rank plugin of Elasticsearch")
class ElasticsearchLTR(LearningToRankPlugin):
    """A feature set and a model for the plugin `elasticsearch-learning-to-rank`."""

    engine = "Elasticsearch"
    missing_since = "the plugin for Elasticsearch 8.14 or later"
