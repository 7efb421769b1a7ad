"""Scores of ONNX files by the real onnxruntime."""

import json
from itertools import pairwise

import numpy as np

from localrank.data import RankingDataset


def rank_in_onnxruntime(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of onnxruntime, one per row; a graph over one list gets one list at a time."""
    import onnxruntime

    (content,) = (content for name, content in files.items() if name.endswith(".onnx"))
    options = onnxruntime.SessionOptions()
    # Threads that wait would take time from other tests.
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    one_list = json.loads(session.get_modelmeta().custom_metadata_map["one_list"])
    bounds = dataset.offsets if one_list else np.array([0, dataset.n_documents])
    features = dataset.features.astype(np.float64)
    lists = [features[begin:end] for begin, end in pairwise(bounds.tolist())]
    return np.concatenate([session.run(["scores"], {"features": rows})[0] for rows in lists])


def onnxruntime_version() -> str:
    import onnxruntime

    return f"onnxruntime {onnxruntime.__version__}"
