"""Reads safetensors files: arrays with names, and nothing that could be executed."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
# The format allows no longer headers.
_MAX_HEADER = 100_000_000


def read_tensors(path: Path) -> dict[str, Array]:
    """The arrays of a file by name. Numbers become float32, whole numbers int64.

    A file begins with the length of its header, in 8 bytes. The header is JSON: for each array its
    type, its shape, and where it lies after the header. Arrays of other types are left out.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, _MAX_HEADER):
            raise ValueError(f"{path} is not a safetensors file, or it is cut off.")
        try:
            header = json.loads(file.read(length))
            described = {name: facts for name, facts in header.items() if name != "__metadata__"}
            begin = 8 + length
            return {
                name: _array(path, facts, begin, size - begin)
                for name, facts in described.items()
                if facts["dtype"] in _DTYPES
            }
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None


def _array(path: Path, facts: dict[str, Any], begin: int, room: int) -> Array:
    dtype, shape = np.dtype(_DTYPES[facts["dtype"]]), tuple(facts["shape"])
    first, last = facts["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, first, last)):
        raise ValueError("shapes and places must be whole numbers.")
    if last > room or last - first != prod(shape) * dtype.itemsize:
        raise ValueError("an array lies outside the file, or has another size than its shape.")
    if not prod(shape):
        return np.empty(shape, np.float32)
    array = np.memmap(path, dtype, "r", begin + first, shape)
    if facts["dtype"] == "BF16":
        # The upper half of a float32.
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.asarray(array, np.int64 if dtype.kind == "i" else np.float32)
