import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import localrank
from localrank._base.estimator import Estimator
from localrank.data import Qrels, Run
from localrank.fusion import lists_dataset
from localrank.persistence import load_ranker
from localrank.rankers import RankSVM
from localrank.text import Analyzer, FeatureExtractor, load_extractor

CORPUS = [
    {"id": "a", "title": "Ranking", "body": "Learning to rank documents", "clicks": 3},
    {"id": "b", "title": "Clustering", "body": "Grouping documents by topic", "clicks": 8},
    {"id": "c", "title": "Cooking", "body": "Rice and beans", "clicks": 1},
    {"id": "d", "title": "", "body": "", "clicks": 0},
]
QUERIES = {"q1": "rank documents", "q2": "rice or documents"}


@pytest.fixture
def extractor():
    return FeatureExtractor(["title", "body"], features="all", columns=["clicks"]).fit(CORPUS)


def test_one_call_goes_from_text_to_a_labelled_dataset(extractor):
    dataset = extractor.dataset(QUERIES, {"q1": {"a": 2, "c": 1}, "q2": {"c": 1}})
    assert dataset.query_ids.tolist() == ["q1", "q2"]
    assert dataset.document_ids.tolist() == ["a", "b", "c", "a", "b"]
    assert dataset.relevance.tolist() == [2, 0, 1, 0, 0]
    assert dataset.feature_names == extractor.feature_names
    assert RankSVM().fit(dataset).predict(dataset).shape == (5,)


def test_a_dataset_is_what_transform_makes_of_candidates(extractor):
    run = extractor.retrieve(QUERIES)
    dataset = extractor.dataset(QUERIES)
    again = extractor.transform(QUERIES, run)
    assert_array_equal(again.features, dataset.features)
    assert again.document_ids.tolist() == dataset.document_ids.tolist()
    assert dataset.relevance is None


def test_judged_documents_are_added_behind_candidates_where_asked(extractor):
    # "z" is no document of the corpus.
    qrels = Qrels(np.array(["q1"] * 3), np.array(["d", "z", "a"]), np.array([1.0, 1.0, 3.0]))
    with (
        pytest.warns(
            match="1 of 3 judged documents are not in the corpus. The first is 'z' of query 'q1'"
        ),
        pytest.warns(
            match="1 of 2 queries have no judgment. The first is 'q2'. Their documents count"
        ),
    ):
        dataset = extractor.dataset(QUERIES, qrels, depth=1, with_judged=True)
    assert dataset.document_ids.tolist() == ["a", "d", "c"]
    assert dataset.relevance.tolist() == [3, 1, 0]


def test_candidates_of_another_system_keep_their_order(extractor):
    run = Run(np.array(["q2", "q1", "q2"]), np.array(["d", "b", "a"]), np.array([3.0, 2.0, 1.0]))
    dataset = extractor.transform(QUERIES, run)
    assert dataset.query_ids.tolist() == ["q1", "q2"]
    assert dataset.document_ids.tolist() == ["b", "d", "a"]
    assert dataset.features[:, -1].tolist() == [8, 0, 3]


def test_queries_without_candidates_are_left_out_with_a_warning(extractor):
    with pytest.warns(UserWarning, match="1 of 2 queries have no candidate .* first is 'x'"):
        dataset = extractor.dataset({"q": "rank", "x": "nothing"})
    assert dataset.query_ids.tolist() == ["q"]
    with pytest.raises(ValueError, match="No query has a candidate"):
        extractor.dataset(["nothing"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.retrieve("rank"), "Queries must be a list of texts, or texts by id"),
        (lambda e: e.retrieve([]), "There are no queries"),
        (lambda e: e.retrieve([3]), "A query must be a text. Got 3 instead"),
        (lambda e: e.retrieve({1: "a", "1": "b"}), "must be unique when written as text"),
        (lambda e: e.retrieve(["a"], depth=0), "depth must be a whole number, 1 or larger. Got 0"),
        (
            lambda e: e.transform(["a"], {"2": ["a"]}),
            "Query '2' has candidates and is not among",
        ),
        (lambda e: e.transform(["a"], {"1": ["z"]}), "'z' of query '1' is not in the corpus"),
        (lambda e: e.transform(["a"], {"1": ["a", "b", "a"]}), "'a' of query '1' is given twice"),
        (lambda e: e.transform(["a"], {"1": "ab"}), "query '1' must be a list of ids. Got 'ab'"),
        (lambda e: e.dataset(["rank"], [3]), "Judgments must be labels by query and document"),
        (lambda e: e.dataset(["rank"], "qrels.txt"), "Judgments must be .* Got 'qrels.txt'"),
        (lambda e: e.dataset(["rank"], {"1": ["a"]}), "of query '1' must be labels by document"),
        (lambda e: e.dataset(["rank"], {"1": {"a": np.nan}}), "'a' of query '1' must be a finite"),
        (lambda e: e.dataset(["rank"], {"1": {"a": None}}), "must be a finite number. Got None"),
        (lambda e: e.dataset(["rank"], {}), "No query has a judgment. The first query is '1'"),
        (
            lambda e: e.dataset(["rank"], {"9": {"a": 1}}),
            "is '1'. The first judgment is of query '9'",
        ),
        (lambda e: e.dataset(["rank"], {"1": {}}), "No query has a judgment"),
        (
            lambda e: e.dataset(["rank", "rice"], {"2": {"y": 0, "z": 1}}),
            "No judged document is in the corpus. The first is 'y' of query '2'",
        ),
        (lambda e: e.features_of("a", [{"body": ""}, {"text": "a"}]), "number 2 has no text under"),
        (lambda e: e.features_of(None, []), "A query must be a text. Got None"),
        (lambda e: e.features_of("a", [{"body": 1}]), "Document number 1: 'body' must be a text"),
    ],
)
def test_wrong_questions_are_refused(extractor, call, message):
    with pytest.raises(ValueError, match=message):
        call(extractor)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fields": "title"}, "'fields' parameter of FeatureExtractor must be a list of different"),
        ({"fields": []}, "'fields' parameter"),
        ({"fields": ["title", "title"]}, "'fields' parameter"),
        ({"fields": {"title": []}}, "'fields' parameter"),
        ({"fields": ["title", "whole"]}, "cannot be named 'whole', which means all"),
        ({"features": []}, "must name a feature"),
        ({"features": 25}, "'features' parameter .* a name, or a list of different names"),
        ({"features": ["bm52"]}, "There is no feature 'bm52'"),
        ({"columns": ["clicks", "clicks"]}, "'columns' parameter .* a list of different names"),
        ({"columns": ["text.bm25"]}, "'text.bm25' has the name of a feature"),
        ({"analyzer": "english"}, "'analyzer' parameter .* an Analyzer, a callable or None"),
        ({"analyzer": Analyzer(stemmer="x")}, "'stemmer' parameter of Analyzer"),
        ({"variant": "bm26"}, "'lucene', 'robertson' or 'atire'"),
        ({"k1": -1}, "'k1' parameter"),
        ({"b": 2}, "'b' parameter"),
        ({"prior": 0}, "'prior' parameter"),
        ({"share": 0}, "'share' parameter"),
        ({"discount": 1.5}, "'discount' parameter"),
    ],
)
def test_parameters_are_checked_when_it_is_fitted(parameters, message):
    with pytest.raises(ValueError, match=message):
        FeatureExtractor(**parameters).fit([{"id": 1, "text": "a", "title": "a"}])


def test_what_is_not_fitted_answers_nothing(extractor):
    unfitted = clone(extractor)
    assert repr(unfitted.get_params()) == repr(extractor.get_params())
    for call in (unfitted.retrieve, unfitted.dataset):
        with pytest.raises(NotFittedError):
            call(["a"])


@pytest.mark.parametrize("folder", [False, True])
def test_a_depth_beyond_the_corpus_takes_all_candidates(folder, tmp_path):
    extractor = FeatureExtractor(["body"])
    extractor.fit(CORPUS, folder=tmp_path / "index" if folder else None)
    assert len(extractor.retrieve(["documents"], depth=10**30).scores) == 2


def test_a_second_fit_forgets_the_first(extractor):
    extractor.retrieve(["rank"])
    extractor.transform(["rank"], {"1": ["a"]})
    extractor.fit([{"id": "z", "title": "rank", "body": "again", "clicks": 1}])
    assert extractor.retrieve(["rank"]).document_ids.tolist() == ["z"]
    with pytest.raises(ValueError, match="'a' of query '1' is not in the corpus"):
        extractor.transform(["rank"], {"1": ["a"]})


def test_no_documents_have_no_features(extractor):
    assert extractor.features_of("rank", []).shape == (0, len(extractor.feature_names))


def test_threads_may_ask_at_the_same_time(extractor):
    def asked(number):
        query = ["rank documents", "rice or documents", "unknown rank"][number % 3]
        return extractor.dataset([query]).features.tolist(), extractor.features_of(query, CORPUS)

    alone = [asked(number) for number in range(3)]
    with ThreadPoolExecutor(4) as threads:
        for number, answer in enumerate(threads.map(asked, range(60))):
            assert answer[0] == alone[number % 3][0]
            assert_array_equal(answer[1], alone[number % 3][1])


def test_documents_are_not_kept():
    class Document(dict):
        """A dictionary that can be watched."""

    watched = []

    def documents():
        for number in range(5):
            document = Document(id=number, text="a b c")
            watched.append(weakref.ref(document))
            yield document
            del document
            # Some names hold the latest while the next is made.
            assert sum(reference() is not None for reference in watched) <= 1

    FeatureExtractor().fit(documents())
    assert len(watched) == 5


def test_another_document_changes_only_what_depends_on_the_collection(extractor):
    names = extractor.feature_names
    before = extractor.transform(QUERIES, {"q1": ["a", "b"], "q2": ["a", "c"]}).features
    extractor.fit([*CORPUS, {"id": "e", "title": "rank", "body": "rice", "clicks": 9}])
    after = extractor.transform(QUERIES, {"q1": ["a", "b"], "q2": ["a", "c"]}).features
    of_document = ("covered", "covered_ratio", "length", "boolean", "log_tf", "log_ntf", "window")
    of_document += ("pairs", *(f"{of}_{how}" for of in ("tf", "ntf") for how in STATISTICS))
    for name, column, other in zip(names, before.T, after.T, strict=True):
        feature = name.rpartition(".")[2]
        if feature in (*of_document, "query_length", "clicks"):
            assert_array_equal(column, other, err_msg=name)
    for name in ("whole.idf_sum", "whole.bm25", "whole.lm_dir", "whole.cosine", "body.log_icf"):
        assert not np.array_equal(before[:, names.index(name)], after[:, names.index(name)])


STATISTICS = ("sum", "min", "max", "mean", "variance")


def test_saved_and_loaded_it_answers_the_same(extractor, tmp_path):
    extractor.save(tmp_path / "index.localrank")
    loaded = load_extractor(tmp_path / "index.localrank")
    assert repr(loaded.get_params()) == repr(extractor.get_params())
    assert_array_equal(loaded.dataset(QUERIES).features, extractor.dataset(QUERIES).features)
    documents = [{"title": "rice", "body": "rank of documents"}]
    assert_array_equal(
        loaded.features_of("rank", documents), extractor.features_of("rank", documents)
    )
    assert loaded.retrieve(QUERIES).scores.tolist() == extractor.retrieve(QUERIES).scores.tolist()


def test_what_a_file_says_of_itself(extractor, tmp_path):
    from localrank.persistence import read_manifest

    extractor.save(tmp_path / "index.localrank")
    manifest = read_manifest(tmp_path / "index.localrank")
    assert manifest["class"] == "FeatureExtractor"
    assert manifest["training_data"]["n_documents"] == 4
    assert manifest["n_features"] == len(extractor.feature_names)


def test_an_index_is_no_ranker_and_a_ranker_no_index(extractor, tmp_path):
    extractor.save(tmp_path / "index.localrank")
    assert localrank.load(tmp_path / "index.localrank").n_documents == 4
    with pytest.raises(ValueError, match="holds a FeatureExtractor, not a fitted ranker"):
        load_ranker(tmp_path / "index.localrank")
    dataset = extractor.dataset(QUERIES, {"q1": {"a": 1}, "q2": {"c": 1}})
    RankSVM().fit(dataset).save(tmp_path / "model.localrank")
    with pytest.raises(ValueError, match="holds a RankSVM, not a fitted extractor"):
        load_extractor(tmp_path / "model.localrank")


class Backwards(Estimator):
    """An analyzer of one's own."""

    def __init__(self, smallest=1):
        self.smallest = smallest

    def __call__(self, text):
        return [word[::-1] for word in text.split() if len(word) >= self.smallest]


def test_an_analyzer_of_ones_own_serves_queries_and_documents_and_is_saved_as_a_class(tmp_path):
    corpus = [{"id": 1, "text": "ab c"}, {"id": 2, "text": "ba c"}]
    extractor = FeatureExtractor(features=["covered"], analyzer=Backwards(2)).fit(corpus)
    assert extractor.retrieve(["ab", "c"]).document_ids.tolist() == ["1"]
    extractor.save(tmp_path / "index.localrank")
    loaded = load_extractor(tmp_path / "index.localrank", classes=[Backwards])
    assert loaded.retrieve(["ab"]).document_ids.tolist() == ["1"]
    with pytest.raises(ValueError, match="asks for 'Backwards'"):
        load_extractor(tmp_path / "index.localrank")


def test_a_function_is_an_analyzer_that_cannot_be_saved(tmp_path):
    extractor = FeatureExtractor(features=["covered"], analyzer=str.split)
    extractor.fit([{"id": 1, "text": "A-b c"}])
    assert extractor.features_of("A-b", [{"text": "c A-b A-b"}]).tolist() == [[1.0]]
    with pytest.raises(ValueError, match="cannot be saved"):
        extractor.save(tmp_path / "index.localrank")


@pytest.mark.parametrize("terms", ["tea", None, 3])
def test_an_analyzer_that_returns_no_list_is_refused(terms):
    with pytest.raises(ValueError, match=f"must return a list of texts. Got {terms!r} instead"):
        FeatureExtractor(["body"], analyzer=lambda _: terms).fit(CORPUS)


def test_an_analyzer_that_returns_no_texts_is_refused():
    extractor = FeatureExtractor(analyzer=lambda text: [1, 2])
    with pytest.raises(ValueError, match="An analyzer must return texts. Got 1 instead"):
        extractor.fit([{"id": 1, "text": "a"}])


def test_stems_that_no_document_has_as_a_word_are_found():
    analyzer = Analyzer(stopwords="english", stemmer="english")
    extractor = FeatureExtractor(features=["covered", "length"], analyzer=analyzer)
    extractor.fit([{"id": 1, "text": "the running of the bulls"}, {"id": 2, "text": "a bull"}])
    assert extractor.retrieve(["she runs"]).document_ids.tolist() == ["1"]
    assert extractor.features_of("bull runs", [{"text": "the running bulls ran"}]).tolist() == [
        [2.0, 3.0]
    ]


@pytest.mark.parametrize("attribute", ["begins", "documents", "lengths", "terms"])
def test_a_file_with_damaged_arrays_is_refused(extractor, tmp_path, attribute):
    stream = extractor.index_.streams[1]
    values = getattr(stream, attribute).copy()
    values[-1] += 1000
    object.__setattr__(stream, attribute, values)
    extractor.save(tmp_path / "index.localrank")
    with pytest.raises(ValueError, match="do not fit each other"):
        load_extractor(tmp_path / "index.localrank")


@pytest.mark.parametrize("fields", [["body"], ["title", "body"]])
def test_a_file_without_the_words_that_its_features_need_is_refused(fields, tmp_path):
    extractor = FeatureExtractor(fields, features=["window"]).fit(CORPUS)
    object.__setattr__(extractor.index_.streams[0], "terms", None)
    extractor.save(tmp_path / "index.localrank")
    with pytest.raises(ValueError, match="do not fit each other"):
        load_extractor(tmp_path / "index.localrank")


def test_a_file_with_numbers_beyond_all_bounds_is_refused(extractor, tmp_path):
    object.__setattr__(extractor.index_, "columns", np.full((4, 1), 1e200))
    extractor.save(tmp_path / "index.localrank")
    with pytest.raises(ValueError, match="columns of Index must be numbers within"):
        load_extractor(tmp_path / "index.localrank")


def test_a_large_document_and_many_small_ones():
    rng = np.random.default_rng(0)
    large = " ".join(map(str, rng.integers(0, 50_000, size=1_700_000)))
    corpus = [{"id": "large", "text": large}, *({"id": n, "text": str(n)} for n in range(2000))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        extractor = FeatureExtractor(features="all").fit(corpus)
    table = extractor.features_of("17 4", [{"text": large}])
    indexed = extractor.transform(["17 4"], {"1": ["large"]}).features
    assert_allclose(table, indexed, rtol=1e-12)
    assert table[0, extractor.feature_names.index("text.length")] == 1_700_000


def test_one_document_of_odd_characters_has_finite_features():
    text = "\0 \ud800 😀 e\u0301 שלום ١٢ 東京 \u202eabc"
    extractor = FeatureExtractor(features="all").fit([{"id": 1, "text": text}])
    table = extractor.features_of("שלום é 京 😀 \0", [{"text": text}, {"text": ""}])
    assert np.isfinite(table).all()
    assert table[:, extractor.feature_names.index("text.covered")].tolist() == [3, 0]


@pytest.mark.parametrize("ask", ["retrieve", "transform", "dataset", "features_of"])
def test_a_query_of_too_many_different_words_is_refused(ask):
    corpus = [{"id": "1", "text": "w0 w1 w2"}, {"id": "2", "text": "w3"}]
    extractor = FeatureExtractor(features="all", max_query_words=3).fit(corpus)

    def asked(query):
        if ask == "features_of":
            return extractor.features_of(query, corpus)
        candidates = ({"1": ["1"]},) if ask == "transform" else ()
        return getattr(extractor, ask)([query], *candidates)

    asked("w0 w1 w2 w0 w1 w2")
    with pytest.raises(ValueError, match=r"at most 3 different words. Got 4 instead, in 'w0 w1"):
        asked("w0 w1 w2 w3")


def test_a_query_has_at_most_a_thousand_words_unless_one_asks_for_more():
    corpus = [{"id": "1", "text": "w0 w1 w2"}]
    query = " ".join(f"w{number}" for number in range(1001))
    with pytest.raises(ValueError, match="at most 1,000 different words. Got 1,001 instead"):
        FeatureExtractor().fit(corpus).retrieve([query])
    FeatureExtractor(max_query_words=1001).fit(corpus).retrieve([query])


@pytest.fixture
def lists():
    runs = {"dense": {"q2": {"c": 0.4, "a": 0.9}, "q1": {"b": 0.1}}, "web": {"q1": {"a": 3.0}}}
    return lists_dataset(runs, vectors={"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]})


def test_lists_of_other_systems_get_the_features_of_their_documents(extractor, lists):
    both = extractor.added_to(lists, QUERIES | {"q3": "not asked here"})
    n = lists.n_features
    assert both.feature_names == (*lists.feature_names, *extractor.feature_names)
    assert_array_equal(both.features[:, :n], lists.features)
    assert_array_equal(both.vectors, lists.vectors)
    for place, query in enumerate(lists.query_ids):
        rows = slice(*lists.offsets[place : place + 2])
        candidates = {query: lists.document_ids[rows].tolist()}
        alone = extractor.transform({query: QUERIES[query]}, candidates)
        assert alone.document_ids.tolist() == lists.document_ids[rows].tolist()
        assert_array_equal(both.features[rows, n:], alone.features)


def test_lists_whose_texts_are_unknown_are_refused(extractor, lists):
    with pytest.raises(ValueError, match="Query 'q2' of the dataset is not among the queries"):
        extractor.added_to(lists, {"q1": "rank"})
    other = lists_dataset({"dense": {"q1": {"z": 1.0}}})
    with pytest.raises(ValueError, match="'z' of query 'q1' is not in the corpus"):
        extractor.added_to(other, QUERIES)
    with pytest.raises(ValueError, match="have no ids to find their texts by"):
        extractor.added_to(lists.replaced(document_ids=None), QUERIES)
    with_vectors = FeatureExtractor(["title"], with_vectors=True)
    with_vectors.fit(CORPUS, encoder=lambda texts: np.ones((len(texts), 2)))
    with pytest.raises(ValueError, match="An extractor with vectors has lists of its own"):
        with_vectors.added_to(lists, QUERIES)
