"""Lists ranked by a real Solr, from exported files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from engines import jvm

from localrank.data import RankingDataset


@dataclass(frozen=True)
class SolrRanking:
    """What Solr answered.

    Parameters
    ----------
    version : str
        Of Solr.
    scores : ndarray of shape (n_documents,)
        By row.
    order : ndarray of shape (n_documents,)
        The rows of each list as Solr ranks them.
    dense, sparse : str
        Responses with the features of the best documents of the first list, as Solr writes them.
    """

    version: str
    scores: np.ndarray
    order: np.ndarray
    dense: str
    sparse: str


def rank_in_solr(files: Mapping[str, str | bytes], dataset: RankingDataset) -> np.ndarray:
    """The scores that Solr gives the rows of a dataset."""
    return rankings_in_solr([(files, dataset)])[0].scores


def rankings_in_solr(
    cases: Sequence[tuple[Mapping[str, str | bytes], RankingDataset]], *, logged: int = 0
) -> list[SolrRanking]:
    """Each dataset ranked by its exported files, all in one JVM."""
    response = jvm.run("solr", {"cases": [_case(*case, logged) for case in cases]})
    return [
        _ranking(response["version"], answer, dataset)
        for answer, (_, dataset) in zip(response["cases"], cases, strict=True)
    ]


def _case(files: Mapping[str, str | bytes], dataset: RankingDataset, logged: int) -> dict:
    texts = {
        name: content if isinstance(content, str) else content.decode()
        for name, content in files.items()
    }
    features = dataset.features.astype(np.float32).astype(np.float64)
    rows = [[None if np.isnan(value) else value for value in row] for row in features.tolist()]
    return {
        "name": json.loads(texts["model.json"])["name"],
        "schema": texts["schema.json"],
        "features": texts["features.json"],
        "model": texts["model.json"],
        "fields": [field["name"] for field in json.loads(texts["schema.json"])["add-field"]],
        "lists": [rows[begin:end] for begin, end in _bounds(dataset)],
        "logged": logged,
    }


def _ranking(version: str, answer: dict, dataset: RankingDataset) -> SolrRanking:
    scores = np.full(dataset.n_documents, np.nan)
    order = []
    for (begin, _), ranking in zip(_bounds(dataset), answer["lists"], strict=True):
        for row, score in ranking:
            scores[begin + row] = score
            order.append(begin + row)
    return SolrRanking(
        version, scores, np.array(order), answer.get("dense", ""), answer.get("sparse", "")
    )


def _bounds(dataset: RankingDataset) -> list[tuple[int, int]]:
    return list(pairwise(dataset.offsets.tolist()))
