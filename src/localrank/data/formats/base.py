"""What a format of data files says about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

if TYPE_CHECKING:
    from localrank.data._column_record import ColumnRecord
    from localrank.data._row_batches import Batches
    from localrank.data.click_log import ClickLog
    from localrank.data.dataset import RankingDataset
    from localrank.registry import Declaration

Labels = Literal["needed", "optional", "ignored"]


@dataclass(frozen=True)
class Wanted:
    """What the caller of `read` wants of any format.

    Attributes
    ----------
    format : str or None
        The name by which the caller chose the format; None if it was recognised.
    labels : "needed", "optional" or "ignored"
        Whether the data must have labels. Ignored labels need not be read.
    n_features : int or None
        Number of features of a model or of other data.
    feature_names : sequence of str or None
        Names of these features.
    columns : ColumnRecord or None
        What was said of the columns of the data that the model was trained on.
    say : callable
        Takes a line about what was left out.
    categories : sequence of str
        Features of the model that are categories.
    """

    format: str | None
    labels: Labels
    n_features: int | None
    feature_names: Sequence[str] | None
    columns: ColumnRecord | None
    say: Callable[[str], None]
    categories: Sequence[str] = ()


class Format(ABC):
    """A format of data files. A subclass has `@declare(name, summary)` above it.

    Attributes
    ----------
    said : str
        What messages say of a file: "is a table".
    files : str
        What messages call several files: "tables".
    suffixes : tuple of str
        How names of files end, in lower case.
    first_bytes : tuple of bytes
        How files begin. It decides if no format knows the name of a file.
    options : tuple of str
        The arguments of `localrank.data.read` that the format takes.
    goes_first : bool
        Whether it is asked before the others, because its files have names of another format.
    gives_clicks : bool
        Whether its files are logs of clicks. A file that is one is nothing else.
    """

    declaration: ClassVar[Declaration]
    said: ClassVar[str]
    files: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    first_bytes: ClassVar[tuple[bytes, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    goes_first: ClassVar[bool] = False
    gives_clicks: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which `read(..., format=name)` chooses this format."""
        return (self.declaration.name,)

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        """Whether a file or folder is of this format, by its name or by an option."""
        return path.name.lower().endswith(self.suffixes)

    @abstractmethod
    def read(
        self, paths: Sequence[Path], wanted: Wanted, **options: Any
    ) -> RankingDataset | ClickLog:
        """All files as one dataset, or as one log of clicks."""

    def batches(
        self, dtype: np.dtype[Any], batch_bytes: int, advance: Callable[[], None], **options: Any
    ) -> Batches | None:
        """A reader of a few rows at a time, for `convert`. None: the format cannot be converted."""
        return None

    @abstractmethod
    def sample(self) -> tuple[str, bytes]:
        """The name and the content of a small file, for contract tests.

        All formats have the same three documents: of the queries 7, 7 and 8, with the labels 1, 0
        and 2 (if the format has labels) and the features (0.5, 3), (2, 0) and (0, 1). Logs of
        clicks have two sessions: 7 was shown a and b, of which b was clicked; 8 was shown c.
        """
