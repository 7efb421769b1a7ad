"""How a list of documents is described for a router, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.representations import (
    Mean,
    Representation,
    Scaled,
    Skew,
    TopDocuments,
    TopScores,
    Variance,
)

DescriptionKind = Literal["mean", "variance", "skew", "top-documents", "top-values"]


@dataclass(frozen=True, eq=False)
class Description:
    """The numbers that describe a list of documents.

    A missing value is filled with the median of the feature in the list, or with `fill` if no
    document has it. Each feature is divided by `scale`. Then `kind` makes one number of each
    feature. Of these numbers only the `columns` are kept, or `centre` is subtracted and the rest
    is multiplied by `components`.

    Parameters
    ----------
    kind : str
        "mean", "variance" (divisor n) or "skew" (third central moment over σ³, 0 if all values are
        equal) of the documents. "top-documents": the mean of the first `n` documents by the
        feature `by`; documents with equal values at the cut share the remaining places.
        "top-values": the mean of the `n` largest values of each feature.
    fill, scale : ndarray of shape (n_features,)
        Fill value and divisor of each feature.
    n : int, optional
        Number of documents or values, for "top-documents" and "top-values".
    by : int, optional
        Feature that orders the documents, for "top-documents".
    columns : ndarray of int, optional
        Numbers to keep. None: all.
    centre : ndarray of shape (n_features,), optional
        Subtracted from the numbers. None: nothing is subtracted.
    components : ndarray of shape (n_components, n_features), optional
        Multiplied with the numbers. None: nothing is multiplied.
    """

    kind: DescriptionKind
    fill: Floats
    scale: Floats
    n: int | None = None
    by: int | None = None
    columns: Integers | None = None
    centre: Floats | None = None
    components: Floats | None = None

    @classmethod
    def of(cls, representation: Representation) -> Description | None:
        """The description that a fitted representation makes; None if it is of no such kind.

        Examples
        --------
        >>> from localrank.data import RankingDataset
        >>> dataset = RankingDataset.from_arrays([[1.0, 5.0], [3.0, 5.0]], qid=["a", "a"])
        >>> Description.of(Scaled(Mean()).fit(dataset)).data(["bm25", "age"])
        {'kind': 'mean', 'fill': [0.0, 0.0], 'divide_by': [1.0, 1.0]}
        """
        n_features = representation.n_features_in_
        filling = getattr(representation, "filling_", None)
        fill = np.zeros(n_features) if filling is None else filling.values
        plain = cls("mean", fill, np.ones(n_features))
        match representation:
            case Scaled():
                inner = cls.of(representation.representation_)
                # Nothing is missing after the first filling.
                return inner and replace(inner, fill=fill, scale=representation.spread_)
            case Mean():
                return plain
            case Variance():
                return replace(plain, kind="variance")
            case Skew():
                return replace(plain, kind="skew")
            case TopDocuments():
                return replace(
                    plain,
                    kind="top-documents",
                    n=representation.n,
                    by=representation.feature_,
                    columns=representation.columns_,
                )
            case TopScores():
                return replace(
                    plain,
                    kind="top-values",
                    n=representation.h,
                    centre=representation.mean_,
                    components=representation.components_,
                )
            case _:
                return None

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        """The description as data for JSON, given the names of the features."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.n is not None:
            data["n"] = self.n
        if self.by is not None:
            data["by"] = names[self.by]
        data |= {"fill": self.fill.tolist(), "divide_by": self.scale.tolist()}
        if self.columns is not None:
            data["columns"] = [names[column] for column in self.columns.tolist()]
        if self.centre is not None and self.components is not None:
            data |= {"subtract": self.centre.tolist(), "components": self.components.tolist()}
        return data
