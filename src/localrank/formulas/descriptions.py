"""How a list of documents is described for a router, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from localrank.arrays import Floats, Integers
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
    """The numbers that stand for a list of documents.

    A missing value is filled by the median of the feature in the list, or by `fill` where no
    document has it. Each feature is divided by `scale`. What is left of the list is one number
    for each feature, by `kind`; of these the `columns` are taken, or `centre` is subtracted and
    the rest multiplied by `components`.

    Parameters
    ----------
    kind : str
        "mean", "variance" (divisor n) and "skew" (third central moment over σ³, 0 where all
        values are equal) of the documents; "top-documents": the mean of the first `n` documents
        by the feature `by`, documents with equal values at the cut sharing the places that are
        left; "top-values": of each feature the mean of its `n` largest values.
    fill, scale : ndarray of shape (n_features,)
    n : int, optional
    by : int, optional
    columns : ndarray of int, optional
    centre : ndarray of shape (n_features,), optional
    components : ndarray of shape (n_components, n_features), optional
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
        """The description that a fitted representation makes; None where it is not one of these.

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
                # Nothing is missing behind the first filling.
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
        """The same as JSON has it, given the names of the features."""
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
