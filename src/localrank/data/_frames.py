"""Columns as a table of the library that the user works with: pandas, polars, pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from localrank._base.arrays import Array
from localrank.data._categories import texts_of

if TYPE_CHECKING:
    from localrank.data.dataset import RankingDataset

# What a caller may ask for. "dict" is no library: columns by name, as arrays.
FrameLibrary = Literal["pandas", "polars", "pyarrow", "dict"]
# The first of these that is installed makes the frames of data that came without one.
DEFAULTS = ("pandas", "polars", "pyarrow")
# Columns of a dataset's table that are not features.
ROLES = ("qid", "label", "document_id")


def frame_of(
    columns: dict[str, Array], library: FrameLibrary | None = None, origin: str | None = None
) -> Any:
    """Make a table of columns.

    Parameters
    ----------
    columns : dict of ndarray
        Columns by name, all of one length.
    library : "pandas", "polars", "pyarrow", "dict" or None, default=None
        The library of the table; "dict" returns the columns as they are. None: use `origin`, or
        the first of pandas, polars and pyarrow that is installed.
    origin : str or None, default=None
        The library that the data came in.

    Raises
    ------
    ImportError
        The library is not installed, or none of them is.

    Examples
    --------
    >>> import numpy as np
    >>> frame_of({"query": np.array(["a", "b"]), "score": np.array([0.5, 2.0])}, "pandas")
      query  score
    0     a    0.5
    1     b    2.0
    """
    if library is not None and library not in get_args(FrameLibrary):
        raise ValueError(
            f"The 'library' argument must be 'pandas', 'polars', 'pyarrow', 'dict' or None. "
            f"Got {library!r} instead."
        )
    if library == "dict":
        return columns
    # Only those who want a frame need it.
    import narwhals.stable.v1 as nw

    backend: Any = library or origin or _first_installed()
    if find_spec(backend) is None:
        raise ImportError(f"A frame of {backend} needs {backend}: pip install {backend}.")
    # All libraries read lists of texts alike. They differ on arrays of texts.
    plain = {
        name: values.tolist() if values.dtype.kind in "UTO" else np.ascontiguousarray(values)
        for name, values in columns.items()
    }
    return nw.from_dict(plain, backend=backend).to_native()


def columns_of(rows: Sequence[dict[str, Any]]) -> dict[str, Array]:
    """The columns of a table that is given by rows.

    A column of numbers has NaN where a row has no number. Other columns have None where a row has
    no value. A column that is neither of numbers nor of flags holds texts, because some libraries
    take only one type in a column.

    Examples
    --------
    >>> columns_of([{"C": 1, "gain": None}, {"C": "best", "gain": 0.5}])
    {'C': array(['1', 'best'], dtype=object), 'gain': array([nan, 0.5])}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(values: list[Any]) -> Array:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool | np.bool_) for value in known):
        return np.array(values, dtype=bool if len(known) == len(values) else object)
    if known and all(
        isinstance(value, Real) and not isinstance(value, bool | np.bool_) for value in known
    ):
        return np.array([np.nan if value is None else value for value in values])
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if value is None else _text(value) for value in values]
    return texts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def dataset_columns(dataset: RankingDataset) -> dict[str, Array]:
    """The columns `qid`, `label` and `document_id` of a dataset, then its features, in input order.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[3.0], [1.0]], [1, 0], [7, 7], feature_names=["bm25"])
    >>> dataset_columns(dataset)
    {'qid': array([7, 7]), 'label': array([1., 0.]), 'bm25': array([3., 1.])}
    """
    names = dataset.feature_names or [f"feature_{n + 1}" for n in range(dataset.n_features)]
    if taken := [name for name in names if name in ROLES]:
        raise ValueError(
            f"The feature {taken[0]!r} has the name of another column of the table. "
            f"Rename it: dataset.with_features(dataset.features, names)."
        )
    rows = dataset.in_input_order(np.arange(dataset.n_documents))
    columns: dict[str, Array] = {"qid": dataset.query_ids[dataset.query_index[rows]]}
    if dataset.relevance is not None:
        columns["label"] = dataset.relevance[rows]
    if dataset.document_ids is not None:
        columns["document_id"] = dataset.document_ids[rows]
    features = dataset.features
    if dataset.input_order is not None:
        features = features[rows]
    columns |= dict(zip(names, features.T, strict=True))
    for name, values in (dataset.categories or {}).items():
        columns[name] = texts_of(columns[name], values)
    return columns


def _first_installed() -> str:
    for library in DEFAULTS:
        if find_spec(library) is not None:
            return library
    raise ImportError(
        "A frame needs pandas, polars or pyarrow. Install one of them: pip install pandas. "
        "library='dict' gives the columns as arrays, and needs none."
    )
