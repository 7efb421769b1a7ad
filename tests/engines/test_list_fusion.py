"""Fusions of lists computed by the engines' own code, compared with the emulation."""

import json
import re

import numpy as np
import pytest
from engines.vespa_ranking import Case, rankings_in_vespa

from localrank.data import RankingDataset
from localrank.export.lists import ListFusion, QdrantQuery, VespaFusion
from localrank.fusion import Fusion, ReciprocalRankFusion

NAN = np.nan
NAMES = ("bm25", "dense")


@pytest.fixture(scope="module")
def lists() -> RankingDataset:
    """Lists that lack documents: a feature is a list, and NaN a document that it lacks."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(3, 30, 12)
    scores = np.stack([rng.permutation(1000)[: sizes.sum()] + 1.0 for _ in NAMES], axis=1) / 64
    lacked = rng.random(scores.shape) < 0.3
    lacked[lacked.all(axis=1), 0] = False
    scores[lacked] = NAN
    queries = np.repeat(np.arange(len(sizes)), sizes)
    return RankingDataset.from_arrays(scores, qid=queries, feature_names=NAMES)


@pytest.mark.parametrize("k", [0, 1, 60])
def test_qdrant_fuses_by_ranks_as_the_emulation_says(lists, k):
    client_library = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed.")
    models = client_library.models
    files = QdrantQuery().files(ListFusion.of(ReciprocalRankFusion(k).fit(lists)))
    emulated = QdrantQuery().scores(files, lists)
    request = json.loads(files["request.json"])
    for prefetch in request["prefetch"]:
        # The score of a document is the product of its vector and this one.
        prefetch["query"] = [1.0]
    request = models.QueryRequest(**{**request, "limit": 1000})
    for query in range(lists.n_queries):
        begin, end = lists.offsets[query : query + 2]
        client = client_library.QdrantClient(":memory:")
        dot = models.VectorParams(size=1, distance=models.Distance.DOT)
        client.create_collection("lists", vectors_config=dict.fromkeys(NAMES, dot))
        client.upsert(
            "lists",
            [
                models.PointStruct(
                    id=int(row),
                    vector={
                        name: [float(score)]
                        for name, score in zip(NAMES, lists.features[row], strict=True)
                        if not np.isnan(score)
                    },
                )
                for row in range(begin, end)
            ],
        )
        points = client.query_points(
            "lists", query=request.query, prefetch=request.prefetch, limit=request.limit
        ).points
        client.close()
        scores = {point.id: point.score for point in points}
        expected = dict(zip(range(begin, end), emulated[begin:end], strict=True))
        assert scores == pytest.approx(expected, rel=2e-7)


@pytest.mark.slow
def test_vespa_fuses_as_the_emulation_says(lists):
    """The compiler of application packages and the global phase; NaN as README.md writes it."""
    rankers = [
        ReciprocalRankFusion().fit(lists),
        ReciprocalRankFusion(2.5).fit(lists),
        ReciprocalRankFusion(weights=[1, 3]).fit(lists),
        Fusion([0.3, 0.7], normalisation="min-max").fit(lists),
        Fusion([1, 0], normalisation="min-max").fit(lists),
    ]
    exports = [VespaFusion().files(ListFusion.of(ranker, window=1000)) for ranker in rankers]
    cases = [Case(files, lists) for files in exports]
    (profile,) = (name for name in exports[0] if name.endswith(".profile"))
    filled = lists.replaced(features=np.nan_to_num(lists.features))
    cases += [
        Case({**files, profile: _with_zeros_as_missing(files[profile])}, filled)
        for files in exports
    ]
    results, _ = rankings_in_vespa(cases)
    for files, ranker, scores, again in zip(
        exports, rankers, results[: len(exports)], results[len(exports) :], strict=True
    ):
        np.testing.assert_allclose(scores, VespaFusion().scores(files, lists), rtol=1e-12)
        np.testing.assert_allclose(scores, ranker.predict(lists), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(again, scores)


def _with_zeros_as_missing(profile: str) -> str:
    return re.sub(r"expression: (attribute\(\w+\))", r"expression: if (\1 > 0, \1, 0 / 0)", profile)
