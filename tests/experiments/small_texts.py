"""Small collections: texts in original formats, and lists of several retrievers."""

import json
from pathlib import Path

import numpy as np

from localrank.text import Encoder

N_QUERIES, N_TEXTS, N_LISTED = 10, 40, 12
# So many that some texts share no word with a query, and are no candidates.
WORDS = [f"{a}{b}x" for a in ("flow", "heat", "wing", "shock") for b in "abcdefghijk"]
# The lists of both collections, and one that only one has.
SHARED, ALONE = ("dense", "words"), "other"


def write_texts(folder: Path) -> Path:
    """Two text collections, MED with titles and NPL without, of made-up words."""
    rng = np.random.default_rng(0)

    def text(n_words: int) -> str:
        return " ".join(rng.choice(WORDS, n_words)) + "."

    for name in ("med", "npl"):
        (folder / name).mkdir(parents=True)
    bodies = [text(12) for _ in range(N_TEXTS)]
    queries = [text(3) for _ in range(N_QUERIES)]
    titles = [text(2) for _ in bodies]
    (folder / "med" / "MED.ALL").write_text(
        "".join(
            f".I {i}\n.T\n{title}\n.W\n{body}\n"
            for i, (title, body) in enumerate(zip(titles, bodies, strict=True), 1)
        )
    )
    (folder / "med" / "MED.QRY").write_text(
        "".join(f".I {i}\n.W\n{query}\n" for i, query in enumerate(queries, 1))
    )
    (folder / "med" / "MED.REL").write_text(
        "".join(f"{q} {d} 1\n" for q, d in _relevant(queries, bodies, rng))
    )
    bodies = [text(20) for _ in range(N_TEXTS)]
    queries = [text(4) for _ in range(N_QUERIES)]
    for file, texts in (("doc-text", bodies), ("query-text", queries)):
        (folder / "npl" / file).write_text(
            "".join(f"{i}\n{one}\n/\n" for i, one in enumerate(texts, 1))
        )
    relevant = _relevant(queries, bodies, rng)
    (folder / "npl" / "rlv-ass").write_text(
        "".join(
            f"{q}\n {' '.join(str(d) for query, d in relevant if query == q)}\n/\n"
            for q in range(1, N_QUERIES + 1)
        )
    )
    return folder


def _relevant(queries, bodies, rng) -> list[tuple[int, int]]:
    """For each query, texts that share many words with it, and one that may share none."""
    pairs = []
    for number, query in enumerate(queries, 1):
        shared = [len({*query[:-1].split()} & {*body[:-1].split()}) for body in bodies]
        order = np.argsort(-np.array(shared) + rng.uniform(0, 1.5, len(bodies)))
        pairs += [(number, int(document) + 1) for document in sorted([*order[:5], order[-1]])]
    return pairs


def write_lists(folder: Path, n_queries: int = 20) -> Path:
    """Two collections in which another list is right: dense ones in one, words in the other."""
    rng = np.random.default_rng(1)
    for name, right in (("air", "dense"), ("sea", "words")):
        (folder / name).mkdir(parents=True)
        lists: dict[str, list[str]] = {one: [] for one in SHARED}
        judged = []
        for query in range(1, n_queries + 1):
            quality = rng.normal(size=N_LISTED)
            for one in SHARED:
                sign = 1 if one == right else -1
                scores = sign * quality + rng.normal(scale=0.3, size=N_LISTED)
                # The scores of the two collections have other sizes.
                scores = scores * (1 if name == "air" else 3)
                # Each list lacks a document.
                kept = rng.permutation(N_LISTED)[1:]
                for rank, document in enumerate(sorted(kept, key=lambda d: -scores[d]), 1):
                    score = f"{scores[document]:.6f}"
                    lists[one].append(f"{query} Q0 d{document} {rank} {score} {one}")
            judged += [f"{query} 0 d{i} {int(value > 0.5)}" for i, value in enumerate(quality)]
            judged.append(f"{query} 0 missed 2")
        if name == "sea":
            lists[ALONE] = ["1 Q0 d1 1 0.5 other"]
        for one, lines in lists.items():
            (folder / name / f"{one}.trec").write_text("\n".join(lines) + "\n")
        (folder / name / "qrels.txt").write_text("\n".join(judged) + "\n")
    (folder / "texts").mkdir()
    (folder / "texts" / "corpus.jsonl").write_text("{}")
    return folder


def write_hybrid(folder: Path, n_queries: int = 15) -> Path:
    """Texts to search, and lists: DL with passages in two parts, COVID without texts."""
    rng = np.random.default_rng(2)
    write_texts(folder / "text")
    for name, lists in {
        "dl19": ("bm25", "splade", "tas-b"),
        "dl20": ("bm25", "splade", "tas-b"),
        "covid": ("bm25", "splade"),
    }.items():
        path = folder / "hybrid" / name
        path.mkdir(parents=True)
        texts = {f"{name}{i}": " ".join(rng.choice(WORDS, 8)) for i in range(N_TEXTS)}
        runs: dict[str, list[str]] = {one: [] for one in lists}
        judged = []
        for query in range(n_queries):
            quality = rng.normal(size=N_TEXTS)
            for one in lists:
                scores = quality + rng.normal(size=N_TEXTS)
                order = np.argsort(-scores)[:N_LISTED]
                runs[one] += [
                    f"{name}q{query} Q0 {name}{document} {rank} {scores[document]:.6f} {one}"
                    for rank, document in enumerate(order, 1)
                ]
            # Some documents are not judged. Of the others, the best have grade 2.
            judged += [
                f"{name}q{query} 0 {name}{i} {int(value > 0) + int(value > 1)}"
                for i, value in enumerate(quality)
                if i % 4
            ]
        for one, lines in runs.items():
            (path / f"{one}.trec").write_text("\n".join(lines) + "\n")
        (path / "qrels.txt").write_text("\n".join(judged) + "\n")
        if name != "covid":
            (path / "passages.jsonl").write_text(
                "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in texts.items())
            )
    return folder


def made_up_encoder() -> Encoder:
    """The counts of letters, each with a direction of its own."""
    letters = np.random.default_rng(3).normal(size=(26, 6))

    def encode(texts: list[str]) -> np.ndarray:
        counts = [[text.count(chr(97 + letter)) for letter in range(26)] for text in texts]
        return np.array(counts) @ letters

    return Encoder(encode, "letters")
