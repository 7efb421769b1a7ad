"""Whether a ranker weighs documents, or only queries."""

from __future__ import annotations

from localrank._base.estimator import Estimator
from localrank._base.rules import parts_of


class Weighing(Estimator):
    """The part of `Ranker` that knows whether single documents may have weights."""

    @property
    def weighs_documents(self) -> bool:
        """Whether documents of a query may have different weights: if all inner rankers can."""
        inner = self._inner()
        return bool(inner) and all(part.weighs_documents for part in inner)

    def _inner(self) -> list[Weighing]:
        """The rankers among the parts."""
        return [part for part in parts_of(self) if isinstance(part, Weighing) and part is not self]

    def _check_weighs_documents(self) -> None:
        if not self.weighs_documents:
            last = [part for part in (self, *self._inner()) if not part.weighs_documents][-1]
            raise ValueError(
                f"{type(last).__name__} weighs queries, because it compares the documents of a "
                f"query with each other: sample_weight must be the same for all documents of a "
                f"query. LambdaMART, CrossEntropyMART and GBRT take a weight for each document."
            )
