"""Passages for a language model: found by words and by vectors, fused, and put into a prompt.

`retrieve` is a plain function from a question to passages, so any framework can call it. The lists
come from localrank's own index and vectors; for another engine, change only `by_words` and
`by_vectors`. The fusion learns from 32 judged questions, and is tested on questions that it has not
seen before it is used. The encoder is a stand-in: use your own.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from localrank.data import Run, Vectors, folds
from localrank.fusion import Fusion, SmoothedFusion, lists_dataset
from localrank.measures import NDCG
from localrank.rankers import Ranker
from localrank.text import FeatureExtractor, VectorIndex, load_example

N_CANDIDATES = 30
example = load_example()
passages = {text["id"]: f"{text['title']}. {text['body']}" for text in example.corpus}

letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
plane = TruncatedSVD(64, random_state=0).fit(letters.fit_transform(passages.values()))


def encode(texts: Sequence[str]) -> np.ndarray:
    """A vector for each text."""
    vectors: np.ndarray = plane.transform(letters.transform(texts))
    return vectors


words = FeatureExtractor(["title", "body"], depth=N_CANDIDATES).fit(example.corpus)
vectors = Vectors(np.array(list(passages)), encode(list(passages.values())).astype(np.float32))
index = VectorIndex(vectors)


def by_words(questions: dict[str, str]) -> Run:
    """The list of the search engine."""
    return words.retrieve(questions)


def by_vectors(questions: dict[str, str]) -> Run:
    """The list of the vectors."""
    asked = zip(questions, encode(list(questions.values())), strict=True)
    return index.search(Vectors.of(dict(asked)), N_CANDIDATES)


def lists(questions: dict[str, str]) -> dict[str, Run]:
    """The list by words and the list by vectors, for each question."""
    return {"words": by_words(questions), "vectors": by_vectors(questions)}


def mean_ndcg(ranker: Ranker) -> float:
    """NDCG@5 on judged questions that the ranker has not seen."""
    values = [
        NDCG(5)(fold.test, ranker.fit(fold.train).predict(fold.test))
        for fold in folds(judged, 4, validation=False)
    ]
    return float(np.concatenate(values).mean())


def retrieve(question: str, n_passages: int = 3) -> list[str]:
    """The passages that fit a question best."""
    candidates = lists_dataset(lists({"question": question}), vectors=vectors)
    ranked = model.rank(candidates, library="dict")["document"]
    return [passages[document] for document in ranked[:n_passages].tolist()]


def prompt(question: str) -> str:
    """What a language model is asked."""
    found = "\n".join(f"[{i}] {passage}" for i, passage in enumerate(retrieve(question), 1))
    return f"Answer from these passages, and name the ones you use.\n{found}\n\n{question}"


judged = lists_dataset(lists(dict(example.queries)), example.qrels, vectors)
rankers: dict[str, Ranker] = {"average": Fusion("equal"), "smoothed": SmoothedFusion("equal")}
means = {name: mean_ndcg(ranker) for name, ranker in rankers.items()}
for name, mean in means.items():
    print(f"NDCG@5, {name:8}: {mean:.3f}")
# The average needs no judgments. What is learned must be better where it was tested.
model = rankers[max(means, key=means.__getitem__)].fit(judged)
print()
print(prompt("Why does my tea taste bitter?"))
