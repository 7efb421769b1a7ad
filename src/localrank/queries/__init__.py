"""Queries described by their documents, with distances between descriptions."""

from localrank.queries.base import Representation
from localrank.queries.gaussian import Gaussian
from localrank.queries.moments import Mean, Skew, Variance
from localrank.queries.principal_components import PrincipalComponents
from localrank.queries.relevant_mean import RelevantMean
from localrank.queries.scaled import Scaled
from localrank.queries.top_documents import TopDocuments
from localrank.queries.top_scores import TopScores

__all__ = [
    "Gaussian",
    "Mean",
    "PrincipalComponents",
    "RelevantMean",
    "Representation",
    "Scaled",
    "Skew",
    "TopDocuments",
    "TopScores",
    "Variance",
]
