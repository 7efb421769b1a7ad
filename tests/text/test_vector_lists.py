import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank.data import Vectors
from localrank.fusion import lists_dataset
from localrank.rankers import RankSVM
from localrank.text import FeatureExtractor, TextRanker, load_example, load_extractor

EXAMPLE = load_example()
CORPUS = list(EXAMPLE.corpus)
FIELDS = ["title", "body"]
NAMES = [f"{name}.{column}" for name in ("bm25", "vectors") for column in
         ("score", "z", "min_max", "rank", "reciprocal_rank", "presence")]  # fmt: skip


def encode(texts):
    """Counts of letters: texts of similar words have similar vectors."""
    return np.array([[text.lower().count(letter) for letter in "abcdefghilmnoprstu"]
                     for text in texts], np.float32)  # fmt: skip


def made(**settings):
    return FeatureExtractor(FIELDS, features=["bm25"], depth=8, with_vectors=True, **settings)


@pytest.fixture(scope="module")
def extractor():
    return made().fit(CORPUS, encoder=encode)


@pytest.fixture(scope="module")
def dataset(extractor):
    return extractor.dataset(EXAMPLE.queries, EXAMPLE.qrels)


def test_candidates_and_columns_are_those_of_both_lists(extractor, dataset):
    lists = {
        "bm25": extractor.retrieve(EXAMPLE.queries),
        "vectors": extractor.retrieve_by_vectors(EXAMPLE.queries),
    }
    expected = lists_dataset(lists)
    rows = {}
    for row, (query, document) in enumerate(
        zip(expected.query_ids[expected.query_index], expected.document_ids, strict=True)
    ):
        rows[str(query), str(document)] = row
    pairs = zip(dataset.query_ids[dataset.query_index], dataset.document_ids, strict=True)
    places = [rows[str(query), str(document)] for query, document in pairs]
    assert sorted(places) == list(range(expected.n_documents))
    columns = [dataset.feature_names.index(name) for name in NAMES]
    wanted = [expected.feature_names.index(name) for name in NAMES]
    assert_allclose(
        dataset.features[:, columns], expected.features[places][:, wanted], rtol=1e-6, atol=1e-9
    )


def test_the_cosine_is_there_for_documents_that_the_list_lacks(dataset):
    places = {name: place for place, name in enumerate(dataset.feature_names)}
    vectors = dataset.vectors.astype(float)
    queries = dataset.query_vectors.astype(float)[dataset.query_index]
    expected = (vectors * queries).sum(axis=1)
    expected /= np.linalg.norm(vectors, axis=1) * np.linalg.norm(queries, axis=1)
    assert_allclose(dataset.features[:, places["vectors.cosine"]], expected, atol=1e-6)
    absent = dataset.features[:, places["vectors.presence"]] == 0
    assert absent.any()
    assert (dataset.features[absent, places["vectors.cosine"]] > 0).any()


def test_documents_have_their_vectors_by_row(extractor, dataset):
    texts = {d["id"]: f"{d['title']}\n{d['body']}" for d in CORPUS}
    assert_array_equal(dataset.vectors, encode([texts[str(i)] for i in dataset.document_ids]))
    assert_array_equal(
        dataset.query_vectors, encode([EXAMPLE.queries[str(i)] for i in dataset.query_ids])
    )


def test_given_vectors_do_the_same_as_an_encoder(dataset):
    ids = [d["id"] for d in CORPUS]
    documents = Vectors(ids, encode([f"{d['title']}\n{d['body']}" for d in CORPUS]))
    queries = Vectors(list(EXAMPLE.queries), encode(list(EXAMPLE.queries.values())))
    given = made().fit(CORPUS, vectors=documents)
    other = given.dataset(EXAMPLE.queries, EXAMPLE.qrels, query_vectors=queries)
    assert_array_equal(other.features, dataset.features)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_saved_extractor_finds_the_same(extractor, dataset, tmp_path, kind):
    if kind == "file":
        extractor.save(tmp_path / "index")
    else:
        made().fit(CORPUS, encoder=encode, folder=tmp_path / "index")
    loaded = load_extractor(tmp_path / "index")
    with pytest.raises(ValueError, match="no encoder. Give query_vectors, or the encoder"):
        loaded.dataset(EXAMPLE.queries)
    loaded.use_encoder(encode)
    assert_array_equal(loaded.dataset(EXAMPLE.queries).features, dataset.features)


def test_vectors_of_a_folder_that_were_changed_are_refused(tmp_path):
    made().fit(CORPUS, encoder=encode, folder=tmp_path / "index")
    path = tmp_path / "index" / "vectors.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="vectors.npy is damaged"):
        load_extractor(tmp_path / "index")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda texts: -encode(texts), "is not that of the documents"),
        (lambda texts: encode(texts)[:, :4], "vectors of 4 numbers, and those of the documents"),
    ],
)
def test_another_encoder_than_that_of_the_documents_is_refused(extractor, other, message):
    with pytest.raises(ValueError, match=message):
        extractor.use_encoder(other)


def test_a_text_ranker_ranks_by_both_lists(extractor, tmp_path):
    model = TextRanker(made(), RankSVM()).fit(
        EXAMPLE.queries, EXAMPLE.qrels, CORPUS, encoder=encode
    )
    query = "how do I cook rice"
    expected = model.rank(query)
    both = {*extractor.retrieve([query]).document_ids.tolist()}
    both |= {*extractor.retrieve_by_vectors([query]).document_ids.tolist()}
    assert {*expected.ids} == both
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert loaded.rank(query, query_vector=encode([query])[0]).ids == expected.ids
    loaded.extractor_.use_encoder(encode)
    assert loaded.rank(query).ids == expected.ids


def test_a_query_without_known_words_is_found_by_vectors(extractor):
    query = "zzzz abcdefgh"
    assert not extractor.retrieve([query]).scores.size
    assert extractor.list_of(query).n_documents == 8


def test_documents_without_a_vector_are_found_by_words_and_counted():
    vectors = {d["id"]: [1.0, 0.5] for d in CORPUS[1:]}
    with pytest.warns(UserWarning, match=f"1 of {len(CORPUS)} documents have no vector"):
        extractor = made().fit(CORPUS, vectors=vectors)
    found = extractor.retrieve_by_vectors(["x"], depth=1000, query_vectors={"1": [1, 0]})
    assert found.document_ids.tolist() == [d["id"] for d in CORPUS[1:]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: made().fit(CORPUS), "give fit 'vectors' or an 'encoder'"),
        (lambda e: made().fit(CORPUS, vectors={"x": [1.0]}), "No document has a vector"),
        (lambda e: FeatureExtractor(FIELDS).fit(CORPUS, encoder=encode), "with_vectors=True"),
        (lambda e: e.dataset(["rice"], query_vectors={"1": [1.0]}), "must have 18 numbers"),
        (lambda e: e.dataset(["rice"], query_vectors={"2": [1.0]}), "the first is '1'"),
        (lambda e: e.features_of("rice", [{"body": "rice"}]), "documents of its index alone"),
        (lambda e: made().fit(CORPUS, encoder=lambda texts: encode(texts)[1:]), "must return one"),
    ],
)
def test_what_does_not_fit_is_refused(extractor, call, message):
    with pytest.raises(ValueError, match=message):
        call(extractor)
