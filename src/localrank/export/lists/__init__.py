"""Fusions of lists for engines that retrieve and fuse the lists themselves."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.export.lists.base import ListFusion as ListFusion
    from localrank.export.lists.base import ListTarget as ListTarget
    from localrank.export.lists.elasticsearch import (
        ElasticsearchRetriever as ElasticsearchRetriever,
    )
    from localrank.export.lists.opensearch import OpenSearchPipeline as OpenSearchPipeline
    from localrank.export.lists.qdrant import QdrantQuery as QdrantQuery
    from localrank.export.lists.vespa import VespaFusion as VespaFusion
    from localrank.export.lists.weaviate import WeaviateHybrid as WeaviateHybrid
else:
    __getattr__, __dir__ = on_use(__name__)
