"""Queries described by their documents, with distances between descriptions."""

from localrank.representations.base import Representation
from localrank.representations.gaussian.gaussian import Gaussian
from localrank.representations.moments import Mean, Skew, Variance
from localrank.representations.principal_components import PrincipalComponents
from localrank.representations.relevant_mean import RelevantMean
from localrank.representations.scaled import Scaled
from localrank.representations.top_documents import TopDocuments
from localrank.representations.top_scores.top_scores import TopScores

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
