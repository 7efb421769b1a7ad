from localrank.measures import NDCG
from localrank.text import FeatureExtractor, load_example
from localrank.text.example_texts import FILES


def test_judgments_are_of_documents_and_queries_that_are_there():
    example = load_example()
    assert len({document["id"] for document in example.corpus}) == len(example.corpus)
    assert set(example.qrels.document_ids.tolist()) <= {d["id"] for d in example.corpus}
    assert set(example.qrels.query_ids.tolist()) == example.queries.keys()
    assert set(example.qrels.relevance.tolist()) == {1.0, 2.0}
    for query in example.queries:
        assert 2 in example.qrels.relevance[example.qrels.query_ids == query]


def test_bm25_finds_much_and_leaves_something_to_learn():
    example = load_example()
    extractor = FeatureExtractor(["title", "body"], features=["whole.bm25"]).fit(example.corpus)
    dataset = extractor.dataset(example.queries, example.qrels, with_judged=True)
    assert 0.6 < NDCG(10).mean(dataset, dataset.features[:, 0]) < 0.95


def test_the_collection_is_small():
    assert sum(file.stat().st_size for file in FILES) < 60_000
