"""Speed of `localrank.text` beside bm25s: reading documents, candidates, features.

    python benchmarks/text.py [documents]

One process, one thread, everything warm, the two in turn. The processor's clock counts: other work
on the machine disturbs it less than that on the wall. Documents are made up: words by Zipf's
law, a title and a body. The marks: 30 MB of text a second into an index in a folder without
stemming, candidates at least as fast as bm25s with its numba backend and with the same scores to
1e-5, and LETOR's features of 100 candidates and two fields in less than 2 ms.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from measuring import memory, options, row, sized

from localrank.text import Analyzer, FeatureExtractor

DEPTH, N_QUERIES, N_WORDS, REPEATS = sized((100, 200, 200_000, 3), (5, 10, 25_000, 1))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("documents", type=int, nargs="?", default=sized(50_000, 500))
    n_documents = parser.parse_args().documents
    corpus, queries = made_up(n_documents)
    megabytes = sum(len(d["title"]) + len(d["body"]) for d in corpus) / 1e6
    print(f"{n_documents:,} documents, {megabytes:.0f} MB of text, {N_QUERIES} queries")
    # Kernels are compiled, or read.
    extractor = FeatureExtractor(["title", "body"], features="all").fit(corpus[:100])
    extractor.features_of(queries[0], corpus[:3])
    extractor.retrieve(queries[:3])
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew at what is used now
    before = memory("VmRSS")
    extractor = FeatureExtractor(["title", "body"]).fit(corpus)
    size = extractor.index_.n_bytes / 1e6
    peak = (memory("VmHWM") - before) / 1e6
    print(
        f"index of two fields and the whole: {size:.0f} MB, {size / megabytes:.2f} times the text; "
        f"fitting it raised the peak of memory by {peak:.0f} MB (Linux)"
    )
    indexing(corpus, megabytes)
    candidates(corpus, queries)
    features(extractor, corpus, queries)


def seconds(run: Callable[[], Any]) -> float:
    """Time of the processor that a call takes."""
    start = time.process_time()
    run()
    return time.process_time() - start


def made_up(n_documents: int) -> tuple[list[dict[str, str]], list[str]]:
    """Documents of words by Zipf's law, and queries of words that documents have."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    n_words = N_WORDS
    lengths = np.minimum(2 + rng.poisson(np.log1p(np.arange(n_words)) / 2), 14)
    weights = 1.0 / np.arange(1, len(letters) + 1)
    drawn = rng.choice(letters, size=int(lengths.sum()), p=weights / weights.sum())
    joined, ends = "".join(drawn), np.cumsum(lengths)
    words = np.array([joined[end - n : end] for end, n in zip(ends, lengths, strict=True)])
    frequency = 1.0 / (np.arange(n_words) + 3.0)
    sizes = 8 + rng.geometric(1 / 120, size=n_documents)
    tokens = words[rng.choice(n_words, size=int(sizes.sum()), p=frequency / frequency.sum())]
    corpus = []
    for number, text in enumerate(np.split(tokens, np.cumsum(sizes)[:-1])):
        title, body = " ".join(text[:8]).title(), ", ".join(text[8:])
        corpus.append({"id": str(number), "title": title, "body": body})
    rare = words[rng.choice(np.arange(50, 20_000), size=(N_QUERIES, 3))]
    common = words[rng.choice(np.arange(5, 2_000), size=(N_QUERIES, 2))]
    return corpus, [" ".join(row) for row in np.hstack([rare, common])]


def indexing(corpus: list[dict[str, str]], megabytes: float) -> None:
    def peer() -> None:
        tokens = bm25s.tokenize(
            [f"{d['title']} {d['body']}" for d in corpus], stopwords=None, show_progress=False
        )
        bm25s.BM25(backend="numba").index(tokens, show_progress=False)

    def in_folder() -> None:
        with tempfile.TemporaryDirectory() as folder:
            FeatureExtractor(["title", "body"]).fit(corpus, folder=Path(folder, "index"))

    kinds: dict[str, Callable[[], Any]] = {
        "localrank": lambda: FeatureExtractor(["title", "body"]).fit(corpus),
        "localrank, with words in order": lambda: FeatureExtractor(
            ["title", "body"], features="all"
        ).fit(corpus),
        "localrank, stemmed, no stopwords": lambda: FeatureExtractor(
            ["title", "body"], analyzer=Analyzer(stopwords="english", stemmer="english")
        ).fit(corpus),
        "localrank, in a folder": in_folder,
        "bm25s": peer,
    }
    print("\nreading documents, MB/s (times as fast as bm25s)")
    repeats = dict.fromkeys(kinds, REPEATS) | {"bm25s": 1}
    times = {name: min(seconds(run) for _ in range(repeats[name])) for name, run in kinds.items()}
    for name, taken in times.items():
        print(f"  {name:34}{megabytes / taken:8.1f} ({times['bm25s'] / taken:.1f})")
    what = f"text: index of {len(corpus):,} made-up documents, title and body"
    speeds = {name: megabytes / taken for name, taken in times.items()}
    row(f"{what}, in a folder", speeds["localrank, in a folder"], "MB/s", aim=30)
    row(f"{what}, in memory", speeds["localrank"], "MB/s", peer="bm25s", theirs=speeds["bm25s"])


def candidates(corpus: list[dict[str, str]], queries: list[str]) -> None:
    texts = [f"{d['title']} {d['body']}" for d in corpus]
    extractor = FeatureExtractor(["all"], features=["bm25"]).fit(
        {"id": d["id"], "all": text} for d, text in zip(corpus, texts, strict=True)
    )
    tokens = [Analyzer()(text) for text in texts]
    peer = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    peer.index(tokens, show_progress=False)
    asked = [Analyzer()(query) for query in queries]
    numbers = [[peer.vocab_dict[w] for w in query if w in peer.vocab_dict] for query in asked]
    known = bm25s.tokenization.Tokenized(ids=numbers, vocab=peer.vocab_dict)

    def ask_peer() -> Any:
        return peer.retrieve(known, k=DEPTH, n_threads=1, show_progress=False)

    def ask() -> Any:
        return extractor.retrieve(queries, depth=DEPTH)

    ours, theirs = ask(), ask_peer()
    scores = np.zeros((len(queries), DEPTH))
    rows = ours.query_ids.astype(int) - 1
    begins = np.searchsorted(rows, rows)
    scores[rows, np.arange(len(rows)) - begins] = ours.scores
    difference = np.abs(scores - theirs.scores).max() / np.abs(theirs.scores).max()
    times: dict[str, list[float]] = {"localrank": [], "bm25s": []}
    for _ in range(sized(7, 1)):
        times["localrank"].append(seconds(ask))
        times["bm25s"].append(seconds(ask_peer))
    print(f"\ncandidates, {DEPTH} a query; largest difference of scores {difference:.1e}")
    for name, taken in times.items():
        best, median = min(taken), statistics.median(taken)
        of = min(times["bm25s"]) / best, statistics.median(times["bm25s"]) / median
        print(
            f"  {name:12}{1e3 * best / len(queries):8.3f} ms a query, "
            f"{of[0]:.2f} times as fast as bm25s (median {of[1]:.2f})"
        )
    each = {name: 1e3 * min(taken) / len(queries) for name, taken in times.items()}
    what = f"text: {DEPTH} candidates by BM25 of {len(corpus):,} documents, a query"
    row(what, each["localrank"], "ms", peer="bm25s", theirs=each["bm25s"], aim=1)


def features(extractor: FeatureExtractor, corpus: list[dict[str, str]], queries: list[str]) -> None:
    run = extractor.retrieve(queries, depth=DEPTH)
    chosen: dict[str, list[str]] = {}
    for query, document in zip(run.query_ids.tolist(), run.document_ids.tolist(), strict=True):
        chosen.setdefault(query, []).append(document)
    full = [query for query, documents in chosen.items() if len(documents) == DEPTH]
    print(f"\nfeatures of {DEPTH} candidates and two fields, {len(full)} queries one at a time")
    for name in ("letor", "mhr", "all"):
        made = FeatureExtractor(["title", "body"], features=name)
        made.fit(corpus)
        text = queries[int(full[0]) - 1]
        made.transform({full[0]: text}, {full[0]: chosen[full[0]]})
        times, given = [], []
        for query in full:
            text = queries[int(query) - 1]
            documents = [corpus[int(document)] for document in chosen[query]]
            start = time.process_time()
            made.transform({query: text}, {query: chosen[query]})
            middle = time.process_time()
            made.features_of(text, documents)
            times.append(middle - start)
            given.append(time.process_time() - middle)
        print(
            f"  {name:6}{len(made.feature_names):5} columns: {1e3 * statistics.median(times):.2f} "
            f"ms, slowest {1e3 * max(times):.2f}; documents given as texts "
            f"{1e3 * statistics.median(given):.2f} ms"
        )


if __name__ == "__main__":
    main()
