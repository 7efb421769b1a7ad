"""Models for search engines and other libraries, with a proof that they rank alike."""

from typing import TYPE_CHECKING

from localrank.exports import on_use

if TYPE_CHECKING:
    from localrank.export.base import ExportedModel as ExportedModel
    from localrank.export.base import Target as Target
    from localrank.export.lightgbm_file import LightGBM as LightGBM
    from localrank.export.verification import Verification as Verification
    from localrank.export.verification import verify as verify
    from localrank.export.vespa.application import Vespa as Vespa
    from localrank.export.writing import export as export
    from localrank.export.writing import targets as targets
    from localrank.formulas.base import NotExportable as NotExportable
else:
    __getattr__, __dir__ = on_use(__name__)
