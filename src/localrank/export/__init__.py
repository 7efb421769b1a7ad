"""Exports models to search engines and other libraries, and verifies that they rank alike."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.export.base import ExportedModel as ExportedModel
    from localrank.export.base import Target as Target
    from localrank.export.elastic import Elastic as Elastic
    from localrank.export.lightgbm_file import LightGBM as LightGBM
    from localrank.export.ltr_plugin import ElasticsearchLTR as ElasticsearchLTR
    from localrank.export.ltr_plugin import OpenSearchLTR as OpenSearchLTR
    from localrank.export.onnx.target import ONNX as ONNX
    from localrank.export.ranklib_file import RankLib as RankLib
    from localrank.export.solr.target import Solr as Solr
    from localrank.export.sql import SQL as SQL
    from localrank.export.treelite_checkpoint import Treelite as Treelite
    from localrank.export.verification import Verification as Verification
    from localrank.export.verification import verify as verify
    from localrank.export.vespa.application import Vespa as Vespa
    from localrank.export.writing import export as export
    from localrank.export.writing import list_targets as list_targets
    from localrank.export.writing import targets as targets
    from localrank.export.xgboost_json import XGBoostJSON as XGBoostJSON
    from localrank.formulas.base import NotExportable as NotExportable
else:
    __getattr__, __dir__ = on_use(__name__)
