"""The README.md of an export to ONNX."""

from __future__ import annotations

from localrank.export.base import ExportedModel

RUNTIME = "1.21"


def readme(model: ExportedModel) -> str:
    """How to rank with the file, and what is exact."""
    one_list = model.formula.looks_at_list
    documents = (
        "all documents of one list: scores depend on the other documents"
        if one_list
        else "any number of documents"
    )
    names = "\n".join(f"{number}. `{name}`" for number, name in enumerate(model.feature_names, 1))
    made = f" by localrank {model.facts['localrank']}" if "localrank" in model.facts else ""
    return f"""# {model.name}.onnx

A ranker as one ONNX graph, written{made}.

| | name | type | shape |
|---|---|---|---|
| input | `features` | float64 | (n_documents, {len(model.feature_names)}) |
| output | `scores` | float64 | (n_documents,) |

- `features` takes {documents}. NaN is a missing value. Convert float32 values to float64, which
  changes no value.
- A higher score is better.
- It needs onnxruntime {RUNTIME} or later, on the CPU, for the operator TreeEnsemble of ai.onnx.ml
  5 in double precision.

## Rank with it

```python
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("{model.name}.onnx")
(scores,) = session.run(["scores"], {{"features": features.astype(np.float64)}})
```

## What is exact

Everything is computed in double precision, with the same comparisons and, within lists, the same
order of additions as in localrank. Scores differ at most by the rounding of sums. Features in
single precision are compared as localrank compares the same numbers in double precision.

## Features, in the order of the columns

{names}
"""
