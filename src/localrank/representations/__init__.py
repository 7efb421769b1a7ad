"""Representations: describe queries by their documents, with distances between descriptions."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.representations.base import Representation as Representation
    from localrank.representations.contrast import RelevantContrast as RelevantContrast
    from localrank.representations.contrast import TopContrast as TopContrast
    from localrank.representations.gaussian import Gaussian as Gaussian
    from localrank.representations.moments import Mean as Mean
    from localrank.representations.moments import Skew as Skew
    from localrank.representations.moments import Variance as Variance
    from localrank.representations.principal_components import (
        PrincipalComponents as PrincipalComponents,
    )
    from localrank.representations.relevant_mean import RelevantMean as RelevantMean
    from localrank.representations.scaled import Scaled as Scaled
    from localrank.representations.top_documents import TopDocuments as TopDocuments
    from localrank.representations.top_scores import TopScores as TopScores
else:
    __getattr__, __dir__ = on_use(__name__)
