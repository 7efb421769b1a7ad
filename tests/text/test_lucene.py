"""BM25 beside that of Lucene itself."""

import numpy as np
import pytest
from engines import jvm
from numpy.testing import assert_allclose

from localrank.text import FeatureExtractor


@pytest.fixture(scope="module")
def drawn():
    """Documents of at most 40 words, whose lengths Lucene keeps as they are, and queries."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(60)]
    documents = [
        " ".join(rng.choice(words, size=rng.integers(1, 40), p=weights))
        for weights in rng.dirichlet(np.full(60, 0.2), size=300)
    ]
    queries = [[*map(str, rng.choice([*words, "unknown"], size=n))] for n in (1, 2, 3, 5, 8) * 4]
    return documents, queries


@pytest.mark.slow
def test_candidates_and_scores_are_those_of_lucene(drawn):
    documents, queries = drawn
    request = {"documents": documents, "queries": queries, "k1": 0.9, "b": 0.4, "depth": 50}
    answers = jvm.run("lucene", request)["queries"]
    extractor = FeatureExtractor(features=["bm25"], k1=0.9, b=0.4).fit(
        {"id": number, "text": text} for number, text in enumerate(documents)
    )
    assert sum(len(answer["documents"]) for answer in answers) > 500
    for query, answer in zip(queries, answers, strict=True):
        run = extractor.retrieve([" ".join(query)], depth=50)
        assert_allclose(run.scores, answer["scores"], rtol=2e-6)
        # Scores that differ in the last bit only may change places.
        ours = dict(zip(run.document_ids.astype(int).tolist(), run.scores, strict=True))
        common = [number for number in answer["documents"] if number in ours]
        assert len(common) >= len(ours) - 2
        theirs = dict(zip(answer["documents"], answer["scores"], strict=True))
        assert_allclose(
            [ours[number] for number in common], [theirs[number] for number in common], rtol=2e-6
        )
