import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import localrank
from localrank.data import RankingDataset
from localrank.fusion import SmoothedFusion
from localrank.persistence import load_ranker, read_manifest
from localrank.persistence.files import MAGIC
from localrank.rankers import BestFeature, RankSVM
from localrank.text import Analyzer, FeatureExtractor, TextRanker

CORPUS = [
    {"id": "rice", "title": "Rice", "body": "Rinse rice, then boil it in water.", "age": 3},
    {"id": "tea", "title": "Tea", "body": "Boil water for tea, green or black.", "age": 1},
    {"id": "fern", "title": "Ferns", "body": "Water ferns often, and rice never.", "age": 9},
    {"id": "bike", "title": "Bicycles", "body": "Oil the chain.", "age": 4},
]
QUERIES = {"1": "boil rice", "2": "water ferns", "3": "green tea"}
QRELS = {"1": {"rice": 2, "bike": 0}, "2": {"fern": 1}, "3": {"tea": 2, "fern": 0}}
FIELDS = ["title", "body"]


def extractor(**options) -> FeatureExtractor:
    options = {"features": ["bm25", "covered", "length"], "columns": ["age"]} | options
    return FeatureExtractor(FIELDS, **options)


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker(extractor(), RankSVM()).fit(QUERIES, QRELS, CORPUS)


def test_it_learns_from_candidates_as_it_will_find_them(model):
    dataset = extractor().fit(CORPUS).dataset(QUERIES, QRELS)
    assert "bike" not in dataset.document_ids[dataset.query_index == 0]
    expected = RankSVM().fit(dataset)
    assert_array_equal(model.ranker_.coef_, expected.coef_)
    assert model.training_data_["n_documents"] == dataset.n_documents


def test_depth_bounds_the_candidates_it_learns_from():
    model = TextRanker(extractor(depth=1), RankSVM())
    model.fit(QUERIES, QRELS, CORPUS, with_judged=True)
    # One candidate of each query, and what was judged beside it.
    assert model.training_data_["n_documents"] == 5


def test_it_learns_from_all_that_was_judged_where_asked():
    fitted = extractor().fit(CORPUS)
    model = TextRanker(fitted, RankSVM()).fit(QUERIES, QRELS, with_judged=True)
    dataset = fitted.dataset(QUERIES, QRELS, with_judged=True)
    assert "bike" in dataset.document_ids[dataset.query_index == 0]
    assert_array_equal(model.ranker_.coef_, RankSVM().fit(dataset).coef_)


def test_it_ranks_candidates_of_the_index_as_its_ranker_ranks_their_features(model):
    run = model.extractor_.retrieve({"q": "boil water"})
    dataset = model.extractor_.transform({"q": "boil water"}, run)
    scores = model.ranker_.predict(dataset)
    ranked = model.rank("boil water")
    assert ranked.scores.tolist() == sorted(scores, reverse=True)
    assert ranked.ids == dataset.document_ids[ranked.indices].tolist()
    assert_array_equal(ranked.scores, scores[ranked.indices])
    assert list(ranked) == list(zip(ranked.ids, ranked.scores, strict=True))


def test_a_document_scores_the_same_given_as_text_and_in_the_index(model):
    within = dict(model.rank("boil rice in water"))
    given = dict(model.rank("boil rice in water", CORPUS))
    assert len(given) == 4
    assert within.keys() < given.keys()
    for name, score in within.items():
        assert given[name] == pytest.approx(score, abs=1e-12)


def test_given_documents_need_no_ids_and_may_lack_fields(model):
    documents = [{"title": "Bicycles"}, {"id": 7, "title": "Rice", "body": "boil rice"}]
    ranked = model.rank("boil rice", documents)
    assert ranked.ids == [7, 0]
    assert ranked.indices.tolist() == [1, 0]


def test_equal_documents_keep_their_order(model):
    documents = [{"id": name, "title": "Rice"} for name in "cab"]
    assert model.rank("rice", documents).ids == ["c", "a", "b"]


@pytest.mark.parametrize("query", ["unheard", "", "🙂"])
def test_a_query_that_no_document_has_a_word_of_finds_nothing(model, query):
    ranked = model.rank(query)
    assert (len(ranked), ranked.ids, ranked.scores.tolist()) == (0, [], [])
    assert len(model.rank(query, CORPUS)) == 4
    assert len(model.rank(query, [])) == 0


def test_depth_bounds_the_candidates_it_ranks(model):
    whole = model.extractor_.retrieve(["water"]).document_ids.tolist()
    with pytest.warns(UserWarning, match="trained on 100 candidates .* ranks 2. .* use top"):
        ranked = model.rank("water", depth=2)
    assert set(ranked.ids) == set(whole[:2])


def test_a_model_ranks_as_many_candidates_as_it_was_trained_on(tmp_path):
    model = TextRanker(extractor(depth=2), RankSVM()).fit(QUERIES, QRELS, CORPUS)
    model.save(tmp_path / "m")
    for each in (
        model,
        localrank.load(tmp_path / "m"),
        TextRanker.of(model.extractor_, model.ranker_),
    ):
        assert len(each.extractor_.retrieve(["water"], 100).scores) == 3
        assert len(each.rank("water")) == len(each.rank("water", depth=2)) == 2
        assert each.list_of("water")[0].n_documents == 2


def test_top_shortens_the_answer_and_does_not_change_the_ranking(model):
    whole, best = model.rank("water"), model.rank("water", top=2)
    assert (best.ids, best.indices.tolist()) == (whole.ids[:2], whole.indices[:2].tolist())
    assert_array_equal(best.scores, whole.scores[:2])
    assert model.rank("water", CORPUS, top=1).ids == model.rank("water", CORPUS).ids[:1]
    with pytest.raises(ValueError, match="The top must be a whole number, 1 or larger. Got 0"):
        model.rank("water", top=0)


def test_a_fitted_extractor_is_taken_as_it_is_and_never_changed():
    fitted = extractor().fit(CORPUS)
    index = fitted.index_
    model = TextRanker(fitted, RankSVM()).fit(QUERIES, QRELS)
    assert model.extractor_ is fitted
    again = TextRanker(fitted, RankSVM()).fit(["boil rice"], {"1": {"rice": 1}}, CORPUS[:3])
    assert (fitted.index_ is index, again.extractor_.n_documents) == (True, 3)
    assert not hasattr(clone(again), "ranker_")


def test_parts_stay_unfitted_where_it_fits_its_own(model):
    assert not hasattr(model.extractor, "index_")
    assert not hasattr(model.ranker, "coef_")


def test_held_out_queries_reach_the_ranker():
    class Watcher(BestFeature):
        def _fit(self, dataset, query_weights, valid):
            super()._fit(dataset, query_weights, valid)
            self.seen = valid.query_ids.tolist()

    model = TextRanker(extractor(), Watcher())
    model.fit(QUERIES, QRELS, CORPUS, valid=({"v": "boil water"}, {"v": {"tea": 1}}))
    assert model.ranker_.seen == ["v"]


def test_what_is_not_fitted_is_refused():
    model = TextRanker(extractor(), RankSVM())
    for call in (
        lambda: model.rank("rice"),
        lambda: model.fit(QUERIES, QRELS),
        lambda: model.save("nowhere.localrank"),
        lambda: TextRanker.of(extractor(), RankSVM()),
    ):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((RankSVM(), RankSVM()), "'extractor' parameter of TextRanker must be a FeatureExtractor"),
        ((extractor(), extractor()), "'ranker' parameter of TextRanker must be a ranker"),
        ((extractor(k1=-1), RankSVM()), "'k1' parameter"),
        ((extractor(), RankSVM(C=-1)), "'C' parameter"),
    ],
)
def test_parts_are_checked_when_it_is_fitted(parts, message):
    with pytest.raises(ValueError, match=message):
        TextRanker(*parts).fit(QUERIES, QRELS, CORPUS)


def test_parts_fitted_apart_are_joined_where_their_features_are_the_same(model):
    joined = TextRanker.of(model.extractor_, model.ranker_)
    assert list(joined.rank("boil water")) == list(model.rank("boil water"))
    elsewhere = extractor(features=["bm25", "length", "covered"]).fit(CORPUS)
    assert elsewhere.feature_names != model.extractor_.feature_names
    joined = TextRanker.of(elsewhere, model.ranker_)
    assert list(joined.rank("boil water")) == list(model.rank("boil water"))
    other = extractor(features=["bm25", "length", "log_idf"]).fit(CORPUS)
    with pytest.raises(ValueError, match=r"does not make the feature 'title\.covered'"):
        TextRanker.of(other, model.ranker_)
    fewer = extractor(columns=[]).fit(CORPUS)
    with pytest.raises(ValueError, match="makes 9 features, and the ranker needs 10"):
        TextRanker.of(fewer, model.ranker_)


def test_a_ranker_without_names_is_joined_by_the_number_of_features(model):
    named = model.extractor_.dataset(QUERIES, QRELS)
    bare = RankingDataset.from_arrays(named.features, named.labels, named.query_index)
    joined = TextRanker.of(model.extractor_, RankSVM().fit(bare))
    assert joined.rank("boil water").ids


def test_saved_and_loaded_it_ranks_the_same(model, tmp_path):
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert repr(loaded) == repr(model)
    for query in ("boil water", "nothing at all", "rice"):
        assert list(loaded.rank(query)) == list(model.rank(query))
        assert list(loaded.rank(query, CORPUS)) == list(model.rank(query, CORPUS))


def test_the_index_is_in_the_file_once(tmp_path):
    fitted = extractor().fit(CORPUS)
    TextRanker(fitted, RankSVM()).fit(QUERIES, QRELS).save(tmp_path / "given.localrank")
    model = TextRanker(extractor(), RankSVM()).fit(QUERIES, QRELS, CORPUS)
    model.save(tmp_path / "own.localrank")
    sizes = [(tmp_path / f"{name}.localrank").stat().st_size for name in ("given", "own")]
    assert sizes[0] == sizes[1]


def test_what_its_file_says_of_itself(model, tmp_path):
    model.save(tmp_path / "model.localrank")
    manifest = read_manifest(tmp_path / "model.localrank")
    assert manifest["class"] == "TextRanker"
    assert manifest["feature_names"] == list(model.extractor_.feature_names)
    assert manifest["training_data"]["n_queries"] == 3
    assert manifest["parameters"]["ranker"] == "RankSVM()"


def test_the_ranker_of_a_file_ranks_features(model, tmp_path):
    model.save(tmp_path / "model.localrank")
    dataset = model.extractor_.dataset(QUERIES)
    ranker = load_ranker(tmp_path / "model.localrank")
    assert_array_equal(ranker.predict(dataset), model.ranker_.predict(dataset))


def test_an_analyzer_of_ones_own_comes_back_where_its_class_is_given(tmp_path):
    class Backwards(Analyzer):
        def __call__(self, text):
            return super().__call__(text[::-1])

    model = TextRanker(extractor(analyzer=Analyzer(stopwords=["then"])), RankSVM())
    model.fit(QUERIES, QRELS, CORPUS).save(tmp_path / "model.localrank")
    assert localrank.load(tmp_path / "model.localrank").rank("then").ids == []
    model = TextRanker(extractor(analyzer=Backwards()), RankSVM()).fit(
        {"1": "liob ecir"}, {"1": {"rice": 1}}, CORPUS
    )
    model.save(tmp_path / "own.localrank")
    with pytest.raises(ValueError, match="'Backwards', which a model file may not use"):
        localrank.load(tmp_path / "own.localrank")
    loaded = localrank.load(tmp_path / "own.localrank", classes=[Backwards])
    assert list(loaded.rank("ecir")) == list(model.rank("ecir"))


def changed(path, change) -> None:
    """Write a model file with another state, its digest right."""
    import hashlib

    head, _, rest = path.read_bytes().partition(b"\n")
    _, _, body = rest.partition(b"\n")
    manifest, _, rest = body.partition(b"\n")
    state, _, arrays = rest.partition(b"\n")
    content = json.loads(state)
    change(content)
    body = manifest + b"\n" + json.dumps(content).encode() + b"\n" + arrays
    assert head.startswith(MAGIC)
    digest = hashlib.sha256(head + b"\n" + body).hexdigest().encode()
    path.write_bytes(head + b"\n" + digest + b" \n" + body)


def _other_features(content):
    parameters = content["fitted"]["extractor_"]["parameters"]
    parameters["features"] = ["bm25", "length", "log_idf"]


def _unfitted_ranker(content):
    content["fitted"]["ranker_"] = {"class": "RankSVM"}


def _unfitted_extractor(content):
    content["fitted"]["extractor_"].pop("fitted")


def _no_ranker(content):
    content["fitted"].pop("ranker_")


def _other_class(content):
    content["fitted"]["ranker_"]["class"] = "Popen"


def _swapped(content):
    fitted = content["fitted"]
    fitted["ranker_"], fitted["extractor_"] = fitted["extractor_"], fitted["ranker_"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_other_features, r"does not make the feature 'title\.covered'"),
        (_unfitted_ranker, "RankSVM instance is not fitted"),
        (_unfitted_extractor, "FeatureExtractor instance is not fitted"),
        (_no_ranker, "TextRanker lacks ranker_"),
        (_other_class, "'Popen', which a model file may not use"),
        (_swapped, "extractor_ of TextRanker must be a FeatureExtractor"),
        (lambda content: content.pop("fitted"), "holds a TextRanker, not a fitted model"),
    ],
)
def test_files_whose_parts_do_not_fit_are_refused(model, tmp_path, change, message):
    path = tmp_path / "model.localrank"
    model.save(path)
    changed(path, change)
    with pytest.raises(ValueError, match=f"model.localrank: the model cannot be read: .*{message}"):
        localrank.load(path)


def test_a_cut_or_flipped_file_is_refused(model, tmp_path):
    path = tmp_path / "model.localrank"
    model.save(path)
    whole = bytearray(path.read_bytes())
    for place in np.random.default_rng(0).integers(100, len(whole), 20):
        broken = whole.copy()
        broken[place] ^= 1
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="damaged or cut off"):
            localrank.load(path)
    path.write_bytes(whole[:-9])
    with pytest.raises(ValueError, match="damaged or cut off"):
        localrank.load(path)


def test_an_explanation_is_that_of_the_ranker_on_the_candidates(model):
    told = model.explain("boil water")
    dataset, ids = model.list_of("boil water")
    expected = model.ranker_.explain(dataset, "1")
    assert told.query == "boil water"
    assert told.document_ids.tolist() == ids
    assert_array_equal(told.contributions.values, expected.contributions.values)
    first, last = model.rank("boil water").ids[0], model.rank("boil water").ids[-1]
    assert told.why(first, last).scores[0] > told.why(first, last).scores[1]
    given = model.explain("boil water", [{"id": "x", "body": "Boil!"}, {"title": "Tea"}])
    assert given.document_ids.tolist() == ["x", "1"]
    assert model.explain("\0 ", [{"title": "Tea"}]).query == "1"
    with pytest.raises(ValueError, match="no document to explain for the query 'nothing'"):
        model.explain("nothing")


def test_an_explanation_with_vectors_names_the_neighbours():
    def encode(texts):
        return np.array([[text.lower().count(letter) for letter in "aeiou"] for text in texts])

    both = TextRanker(
        extractor(features=["bm25"], with_vectors=True), SmoothedFusion("equal", share=0.5)
    )
    both.fit(QUERIES, QRELS, CORPUS, encoder=encode)
    told = both.explain("boil rice")
    assert told.near_documents.moved == "the score by SmoothedFusion"
    assert {"bm25.z", "vectors.z"} <= set(told.contributions.names)
    # A vector of zeros finds nothing: the words alone do.
    by_words = both.explain("boil rice", query_vector=np.zeros(5)).document_ids.tolist()
    assert sorted(by_words) == ["fern", "rice", "tea"]
    assert sorted(told.document_ids.tolist()) == ["bike", "fern", "rice", "tea"]
