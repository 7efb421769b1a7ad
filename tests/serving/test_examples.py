"""The example of each served model."""

import numpy as np
import pytest

from localrank.rankers import LambdaMART, RankSVM
from localrank.serving._examples import example_of
from localrank.text import FeatureExtractor, TextRanker, load_example


@pytest.mark.parametrize("unit", [1e-2, 1.0, 1e5])
def test_its_documents_get_different_scores_whatever_the_units(unit, queries):
    other = queries.with_features(unit * (queries.features + 3))
    ranker = LambdaMART(30, min_leaf_documents=5).fit(other)
    documents = example_of(ranker, None)["documents"]
    rows = [document["features"] for document in documents]
    assert len(set(ranker.predict(rows, qid=[0] * 8))) >= 6
    assert [document["id"] for document in documents] == [f"doc-{n}" for n in range(1, 9)]


def test_a_model_that_takes_words_gets_words_of_its_index():
    example = load_example()
    texts = TextRanker(FeatureExtractor(["title", "body"]), RankSVM())
    texts.fit(example.queries, example.qrels, example.corpus)
    words = example_of(texts.ranker_, texts)["query"]
    assert (texts.extractor_.index_.vocabulary.numbers(words.split()) >= 0).all()
    assert len(np.unique(texts.rank(words).scores)) > 1


def test_every_client_is_told_the_example(client):
    for model in client.get("/v1/models").json()["models"]:
        answer = client.post(f"/v1/models/{model['name']}/rank", json=model["example"])
        assert answer.status_code == 200
        assert len({place["score"] for place in answer.json()["ranking"]}) == 8
