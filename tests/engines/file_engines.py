"""Scores of exported files by the libraries and engines that they are for."""

import json
import tempfile
from pathlib import Path

import numpy as np
from engines import jvm

from localrank.data import RankingDataset

VERSIONS = {
    "elastic": "Elasticsearch 8.19.21",
    "opensearch": "OpenSearch 2.19.3",
    "ranklib": "RankyMcRankFace 0.2.0",
}


def rank_in_elastic(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of Elasticsearch's own inference code."""
    return all_in_elastic([(files, dataset)])[0]


def all_in_elastic(exports: list) -> list[np.ndarray]:
    """Scores of several models in one JVM."""
    return _in_jvm("elastic", "body", "model.json", exports)


def features_in_opensearch(exports: list) -> list:
    """Values of the queries of feature sets, in a node that has the features as fields.

    Where a query is refused, the message.
    """
    models = [
        {
            "features": json.loads(_text(files, "featureset.json"))["featureset"]["features"],
            "documents": _documents(dataset),
        }
        for files, dataset in exports
    ]
    return [
        answer["error"] if isinstance(answer, dict) else np.array(answer, np.float64)
        for answer in jvm.run("opensearch", {"models": models})["values"]
    ]


def rank_in_ranklib(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of RankLib, in the build that the plugins use."""
    return all_in_ranklib([(files, dataset)])[0]


def all_in_ranklib(exports: list) -> list[np.ndarray]:
    """Scores of several models in one JVM."""
    return _in_jvm("ranklib", "text", ".txt", exports)


def rank_in_xgboost(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of XGBoost, by the file that it loads."""
    scores = xgboost_booster(files).inplace_predict(dataset.features.astype(np.float32))
    return scores.astype(np.float64)


def xgboost_booster(files: dict):
    """XGBoost's model of the file."""
    import xgboost

    return _loaded(files, ".json", lambda path: xgboost.Booster(model_file=path))


def rank_in_lightgbm(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of LightGBM, by the file that it loads."""
    return lightgbm_booster(files).predict(dataset.features, num_threads=1)


def lightgbm_booster(files: dict):
    """LightGBM's model of the file."""
    import lightgbm

    return _loaded(files, ".txt", lambda path: lightgbm.Booster(model_file=path))


def rank_in_treelite(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of Treelite, by the checkpoint that it loads."""
    import treelite

    model = _loaded(files, ".checkpoint", treelite.Model.deserialize)
    return treelite.gtil.predict(model, dataset.features.astype(np.float64), nthread=1).reshape(-1)


def _in_jvm(engine: str, key: str, ending: str, exports: list) -> list[np.ndarray]:
    models = [
        {key: _text(files, ending), "documents": _documents(dataset)} for files, dataset in exports
    ]
    return [np.array(scores) for scores in jvm.run(engine, {"models": models})["scores"]]


def _documents(dataset: RankingDataset) -> list:
    """Rows in single precision, as engines have them, with None for missing values."""
    rows = dataset.features.astype(np.float32).astype(np.float64)
    return np.where(np.isnan(rows), None, rows).tolist()


def _text(files: dict, ending: str) -> str:
    (content,) = (content for name, content in files.items() if name.endswith(ending))
    return content if isinstance(content, str) else content.decode()


def _loaded(files: dict, ending: str, load):
    (content,) = (content for name, content in files.items() if name.endswith(ending))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{ending}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load(str(path))
