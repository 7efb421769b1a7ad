"""Lists of made-up retrievers, with judgments and vectors."""

import numpy as np


def made_lists(n_queries=40, n_documents=30, noise=(1.0, 3.0), n_lists=2, seed=0):
    """Lists whose scores are the relevance and noise, judgments, and vectors in two directions."""
    rng = np.random.default_rng(seed)
    lists = {f"list{i}": {} for i in range(n_lists)}
    qrels, vectors = {}, {}
    for query in range(n_queries):
        relevant = rng.random(n_documents) < 0.2
        ids = [f"{query}-{i}" for i in range(n_documents)]
        qrels[f"q{query}"] = {name: int(r) for name, r in zip(ids, relevant, strict=True)}
        for place, scores_of in enumerate(lists.values()):
            scores = 2.0 * relevant + noise[place % len(noise)] * rng.normal(size=n_documents)
            scores_of[f"q{query}"] = {ids[i]: float(scores[i]) for i in np.argsort(-scores)[:25]}
        for name, is_relevant in zip(ids, relevant, strict=True):
            centre = np.array([1.0, 0.0, 0.0] if is_relevant else [0.0, 1.0, 0.3])
            vectors[name] = centre + 0.3 * rng.normal(size=3)
    return lists, qrels, vectors
