"""Results as pandas data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas


def frame(
    cells: Sequence[Any] | Mapping[str, Any] | NDArray[Any], **options: Any
) -> pandas.DataFrame:
    """A data frame of rows or columns, with the options of `pandas.DataFrame`.

    Examples
    --------
    >>> frame([{"method": "local", "map": 0.5}])
      method  map
    0  local  0.5
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas. Install it with pip install pandas.") from error
    return pandas.DataFrame(cells, **options)
