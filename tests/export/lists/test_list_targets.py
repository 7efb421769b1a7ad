"""What every engine that fuses lists promises, and its arithmetic against naive loops."""

import json
import re
from collections import defaultdict

import numpy as np
import pytest

import localrank
from localrank.data import make_queries
from localrank.export import NotExportable, export, list_targets, targets, verify
from localrank.export.lists import ListFusion, ListTarget
from localrank.export.writing import read_files
from localrank.fusion import (
    Fusion,
    Hybrid,
    NeighbourColumns,
    ReciprocalRankFusion,
    SmoothedFusion,
    lists_dataset,
)
from localrank.rankers import LambdaMART

ONE, ZERO, TINY = np.float32(1), np.float32(0), np.finfo(np.float32).smallest_subnormal
# OpenSearch gives the last document of a list 0.001, and so has another order of the last ones.
EXACT_MIN_MAX = ["elasticsearch-retriever", "vespa-fusion", "weaviate-hybrid"]
MIN_MAX = [*EXACT_MIN_MAX, "opensearch-pipeline"]

each = pytest.mark.parametrize("to", sorted(list_targets()))
each_min_max = pytest.mark.parametrize("to", MIN_MAX)


def random_lists(seed=0, n_lists=2, n_queries=20, ties=False):
    """Lists that share some of their documents, with different scores in each list."""
    rng = np.random.default_rng(seed)
    lists = defaultdict(dict)
    for name in ("bm25", "dense", "splade")[:n_lists]:
        for query in range(n_queries):
            documents = rng.permutation(40)[: rng.integers(2, 30)]
            scores = rng.permutation(1000)[: len(documents)] + 1.0
            if ties:
                scores = np.ceil(scores / 200)
            lists[name][f"q{query}"] = {
                f"d{document}": float(np.float32(score / 64))
                for document, score in zip(documents, scores, strict=True)
            }
    return dict(lists)


def fitted(ranker, lists):
    return ranker.fit(lists_dataset(lists))


RANKERS = {
    "ranks": ReciprocalRankFusion(),
    "weighted": ReciprocalRankFusion(weights=[0.3, 0.7]),
    "min-max": Fusion([0.3, 0.7], normalisation="min-max"),
}


def sorted_list(scores):
    return sorted(scores.items(), key=lambda pair: -pair[1])


def by_ranks(term):
    """Reciprocal rank fusion, given what a list adds for a place from 0, and perhaps a weight."""

    def fused(lists, weights):
        total = defaultdict(lambda: ZERO)
        for scores, weight in zip(lists, weights, strict=True):
            for place, (document, _) in enumerate(sorted_list(scores)):
                added = term(place) if term.__code__.co_argcount == 1 else term(place, weight)
                total[document] = np.float32(total[document] + np.float32(added))
        return total

    return fused


def by_scores(scale):
    """A weighted sum of scaled scores, given the scale of one list."""

    def fused(lists, weights):
        total = defaultdict(lambda: ZERO)
        for scores, weight in zip(lists, weights, strict=True):
            singles = {document: np.float32(score) for document, score in scores.items()}
            for document, score in scale(singles).items():
                total[document] = np.float32(total[document] + np.float32(weight) * score)
        return total

    return fused


def in_elasticsearch(scores):
    low, high = min(scores.values()), max([TINY, *scores.values()])
    if abs(low - high) < np.float32(1e-6):
        return dict.fromkeys(scores, low)
    return {document: (score - low) / (high - low) for document, score in scores.items()}


def in_opensearch(scores):
    low, high = min(scores.values()), max([TINY, *scores.values()])
    if low == high:
        return dict.fromkeys(scores, ONE)
    scaled = {document: (score - low) / (high - low) for document, score in scores.items()}
    return {document: score or np.float32(0.001) for document, score in scaled.items()}


def in_weaviate(scores):
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, ONE)
    return {document: (score - low) / (high - low) for document, score in scores.items()}


# The published formulas of each engine, document by document.
NAIVE = {
    ("elasticsearch-retriever", "ranks"): by_ranks(lambda place: ONE / np.float32(60 + place + 1)),
    ("opensearch-pipeline", "ranks"): by_ranks(lambda place: round(1 / (60 + place + 1), 10)),
    ("qdrant-query", "ranks"): by_ranks(lambda place: ONE / (np.float32(place) + np.float32(61))),
    # Halves, and twice the sum.
    ("weaviate-hybrid", "ranks"): by_ranks(lambda place: 2 * np.float32(0.5 / (place + 60 + 1))),
    ("elasticsearch-retriever", "weighted"): by_ranks(
        lambda place, weight: np.float32(2 * weight) * (ONE / np.float32(60 + place + 1))
    ),
    ("opensearch-pipeline", "weighted"): by_ranks(
        lambda place, weight: 2 * np.float32(round(1 / (60 + place + 1), 10)) * np.float32(weight)
    ),
    ("weaviate-hybrid", "weighted"): by_ranks(
        lambda place, weight: 2 * np.float32(weight / (place + 60 + 1))
    ),
    ("elasticsearch-retriever", "min-max"): by_scores(in_elasticsearch),
    ("opensearch-pipeline", "min-max"): by_scores(in_opensearch),
    ("weaviate-hybrid", "min-max"): by_scores(in_weaviate),
}


@each
def test_it_says_what_it_is(to):
    target = list_targets()[to]
    assert issubclass(target, ListTarget)
    assert re.fullmatch("[a-z0-9-]+", to)
    assert target.declaration.name == to
    assert to not in targets()


@each
@pytest.mark.parametrize("kind", RANKERS)
def test_what_is_written_ranks_as_the_fusion_does(to, kind, tmp_path):
    lists = random_lists()
    ranker = fitted(RANKERS[kind], lists)
    if kind == "min-max" and to not in MIN_MAX:
        with pytest.raises(NotExportable, match="no min-max scores. Train reciprocal-rank-fusion"):
            export(ranker, to, tmp_path / "out")
        assert not (tmp_path / "out").exists()
        return
    if kind == "weighted" and to == "qdrant-query":
        with pytest.raises(NotExportable, match="Qdrant does not multiply reciprocal ranks"):
            export(ranker, to, tmp_path / "out")
        return
    export(ranker, to, tmp_path)
    result = verify(ranker, to, tmp_path, lists_dataset(random_lists(seed=1)))
    if kind == "min-max" and to not in EXACT_MIN_MAX:
        assert result.largest_difference < 0.001
        return
    assert result.same_order, result
    assert result.largest_difference <= 2e-6 * result.largest_score


@pytest.mark.parametrize(("to", "kind"), NAIVE)
@pytest.mark.parametrize("ties", [False, True])
def test_scores_are_those_of_the_published_formulas(to, kind, ties):
    lists = random_lists(seed=2, ties=ties)
    lists["bm25"]["q0"] = {"d1": 12.5}
    lists["dense"]["q1"] = {"d1": 0.5, "d2": 0.5}
    del lists["dense"]["q2"]
    dataset = lists_dataset(lists)
    ranker = fitted(RANKERS[kind], lists)
    target = list_targets()[to]()
    scores = target.scores(target.files(ListFusion.of(ranker)), dataset)
    weights = (0.3, 0.7)
    for query, name in enumerate(dataset.query_ids):
        begin, end = dataset.offsets[query : query + 2]
        documents = dataset.document_ids[begin:end]
        # Equal scores of a list keep the order of the rows.
        of_query = [
            {document: run[name][document] for document in documents if document in run[name]}
            for run in lists.values()
            if name in run
        ]
        if len(of_query) == len(lists):
            expected = NAIVE[to, kind](of_query, weights)
            np.testing.assert_array_equal(
                scores[begin:end], [expected[document] for document in documents]
            )


@each
def test_equal_scores_of_a_list_move_documents_and_the_verification_says_so(to, tmp_path):
    lists = random_lists(ties=True)
    ranker = fitted(ReciprocalRankFusion(), lists)
    export(ranker, to, tmp_path)
    assert not verify(ranker, to, tmp_path, lists_dataset(lists)).same_order


@pytest.mark.parametrize(
    ("to", "score"),
    [
        ("elasticsearch-retriever", 12.5),
        ("opensearch-pipeline", 1.0),
        ("vespa-fusion", 0.5),
        ("weaviate-hybrid", 1.0),
    ],
)
def test_a_list_of_one_document_counts_as_the_engine_has_it(to, score):
    lists = {"bm25": {"q": {"a": 12.5}}, "dense": {"q": {"b": 0.9, "c": 0.1}}}
    ranker = fitted(Fusion([0.5, 0.5], normalisation="min-max"), lists)
    target = list_targets()[to]()
    scores = target.scores(target.files(ListFusion.of(ranker)), lists_dataset(lists))
    assert scores[0] == pytest.approx(score / 2)


def test_documents_that_the_fusion_ties_may_come_in_any_order(tmp_path):
    """In OpenSearch the last documents of two lists have different scores; here both have 0."""
    lists = {"bm25": {"q": {"a": 9.0, "b": 7.0}}, "dense": {"q": {"c": 0.8, "d": 0.7}}}
    dataset = lists_dataset(lists)
    ranker = Fusion([0.3, 0.7], normalisation="min-max").fit(dataset)
    paths = export(ranker, "opensearch-pipeline", tmp_path)
    files = {path.name: path.read_bytes() for path in paths}
    scores = list_targets()["opensearch-pipeline"]().scores(files, dataset)
    _, b, _, d = scores
    assert b < d
    assert verify(ranker, "opensearch-pipeline", tmp_path, dataset).same_order


def test_qdrant_counts_ranks_from_zero():
    """The sums of a test in Qdrant's own suite: its constant 2 is k = 1."""
    orders = {"a": [2, 1], "b": [1, 2, 3], "c": [5, 3, 1]}
    lists = {
        name: {"q": {str(document): -place for place, document in enumerate(order)}}
        for name, order in orders.items()
    }
    dataset = lists_dataset(lists)
    target = list_targets()["qdrant-query"]()
    files = target.files(ListFusion.of(ReciprocalRankFusion(1).fit(dataset)))
    scores = dict(zip(dataset.document_ids, target.scores(files, dataset), strict=True))
    expected = {"1": 1.0833334, "2": 0.8333334, "3": 0.5833334, "5": 0.5}
    assert scores == pytest.approx(expected, rel=1e-7)


@each
@pytest.mark.parametrize(
    ("ranker", "reason"),
    [
        (Fusion([1, 2]), "it adds up z-scores"),
        # Without five judged queries it is the average.
        (Hybrid(min_judged=1000), "Hybrid of Fusion cannot be exported: it adds up z-scores"),
        (Hybrid(), "Hybrid of Fusion, Fusion, SmoothedFusion cannot be exported: a document"),
        (SmoothedFusion([1, 2], share=0.5), "borrows from its neighbours"),
        (NeighbourColumns(LambdaMART(2)), "borrows from its neighbours"),
        (LambdaMART(2), "this model does more"),
    ],
)
def test_what_no_engine_computes_is_refused_with_the_remedy(to, ranker, reason, tmp_path):
    dataset, _ = make_queries(12, n_features=2, n_types=1)
    rng = np.random.default_rng(0)
    ids = np.array([f"d{row}" for row in range(dataset.n_documents)])
    dataset = dataset.replaced(document_ids=ids)
    dataset = dataset.with_vectors((ids, rng.normal(size=(len(ids), 4)).astype(np.float32)))
    with pytest.raises(NotExportable, match=reason) as refusal:
        export(ranker.fit(dataset), to, tmp_path / "out")
    assert "`localrank serve`" in refusal.value.instead
    assert re.match("(Use|Train) ", refusal.value.instead)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("to", "k"),
    [
        ("elasticsearch-retriever", 0),
        ("elasticsearch-retriever", 2.5),
        ("opensearch-pipeline", 10_001),
        ("qdrant-query", 0.5),
        ("weaviate-hybrid", 58),
    ],
)
def test_a_constant_that_the_engine_does_not_take_is_refused(to, k, tmp_path):
    ranker = fitted(ReciprocalRankFusion(k), random_lists())
    with pytest.raises(NotExportable, match=rf"with k = {k:g} cannot be exported: \w+ takes"):
        export(ranker, to, tmp_path)


@pytest.mark.parametrize(
    ("to", "k"), [("qdrant-query", 0), ("vespa-fusion", 2.5), ("weaviate-hybrid", 59)]
)
def test_other_constants_are_kept(to, k, tmp_path):
    lists = random_lists()
    ranker = fitted(ReciprocalRankFusion(k), lists)
    export(ranker, to, tmp_path)
    assert verify(ranker, to, tmp_path, lists_dataset(lists)).same_order


@pytest.mark.parametrize("n_lists", [1, 3])
@each
def test_three_lists_are_fused_where_the_engine_can(to, n_lists, tmp_path):
    lists = random_lists(n_lists=n_lists)
    ranker = fitted(ReciprocalRankFusion(), lists)
    if n_lists == 1 or to == "weaviate-hybrid":
        with pytest.raises(NotExportable, match=f"A fusion of {n_lists} lists? cannot be exported"):
            export(ranker, to, tmp_path)
        return
    export(ranker, to, tmp_path)
    result = verify(ranker, to, tmp_path, lists_dataset(lists))
    assert result.largest_difference <= 2e-6 * result.largest_score


@each
def test_longer_lists_than_the_window_are_refused_until_it_is_larger(to, tmp_path):
    lists = random_lists()
    ranker, dataset = fitted(ReciprocalRankFusion(), lists), lists_dataset(lists)
    longest = max(len(run) for by_query in lists.values() for run in by_query.values())
    export(ranker, to, tmp_path, window=longest - 1)
    with pytest.raises(ValueError, match=rf"has {longest} documents .*--window {longest}"):
        verify(ranker, to, tmp_path, dataset)
    export(ranker, to, tmp_path, window=longest)
    assert verify(ranker, to, tmp_path, dataset).same_order


@pytest.mark.parametrize("window", [0, True, 2.5])
def test_a_window_must_be_a_whole_number(window, tmp_path):
    with pytest.raises(ValueError, match="must be a whole number from 1"):
        export(
            fitted(ReciprocalRankFusion(), random_lists()), "qdrant-query", tmp_path, window=window
        )


def test_a_window_is_for_lists_alone(tmp_path):
    dataset, _ = make_queries(12)
    with pytest.raises(ValueError, match="'window' argument is for targets that fuse lists"):
        export(LambdaMART(2).fit(dataset), "lightgbm", tmp_path, window=10)


@each
def test_a_model_is_written_the_same_each_time_also_after_loading(to, tmp_path):
    ranker = fitted(ReciprocalRankFusion(), random_lists())
    export(ranker, to, tmp_path / "out", name="shop")
    files = read_files(tmp_path / "out")
    assert b"shop" in files["README.md"]
    assert not re.search(rb"(?<!\{)\{[a-z_]+\}(?!\})", files["README.md"])
    ranker.save(tmp_path / "model.localrank")
    export(localrank.load(tmp_path / "model.localrank"), to, tmp_path / "out", name="shop")
    assert read_files(tmp_path / "out") == files


@each
def test_lists_may_have_odd_names(to, tmp_path):
    runs = random_lists()
    lists = {'a"b\n{c}': runs["bm25"], "../x `y` *": runs["dense"]}
    ranker = fitted(ReciprocalRankFusion(), lists)
    for path in export(ranker, to, tmp_path):
        if path.suffix == ".json":
            json.loads(path.read_text())
    assert verify(ranker, to, tmp_path, lists_dataset(lists)).same_order


@each
@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_a_damaged_file_is_named(to, damage, tmp_path):
    lists = random_lists()
    ranker, dataset = fitted(ReciprocalRankFusion(), lists), lists_dataset(lists)
    for path in export(ranker, to, tmp_path):
        if path.name == "README.md":
            continue
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 3 if damage == "cut" else 0])
        if damage == "missing":
            path.unlink()
        with pytest.raises(ValueError, match="Export the model again"):
            verify(ranker, to, tmp_path, dataset)
        path.write_bytes(content)


@each_min_max
def test_files_with_other_weights_are_found_out(to, tmp_path):
    lists = random_lists()
    ranker = fitted(Fusion([0.3, 0.7], normalisation="min-max"), lists)
    export(fitted(Fusion([0.7, 0.3], normalisation="min-max"), lists), to, tmp_path)
    result = verify(ranker, to, tmp_path, lists_dataset(lists))
    assert not result.same_order
    assert result.largest_difference > 0.1


@pytest.mark.parametrize("to", sorted({*list_targets()} - {"qdrant-query"}))
def test_files_with_other_weights_of_ranks_are_found_out(to, tmp_path):
    lists = random_lists()
    export(fitted(ReciprocalRankFusion(weights=[7, 3]), lists), to, tmp_path)
    ranker = fitted(ReciprocalRankFusion(weights=[3, 7]), lists)
    result = verify(ranker, to, tmp_path, lists_dataset(lists))
    assert not result.same_order
    assert result.largest_difference > 0.001


def test_opensearch_takes_weights_with_the_sum_one():
    ranker = fitted(ReciprocalRankFusion(weights=[1, 1, 6]), random_lists(n_lists=3))
    files = list_targets()["opensearch-pipeline"]().files(ListFusion.of(ranker))
    (processor,) = json.loads(files["pipeline.json"])["phase_results_processors"]
    combination = processor["score-ranker-processor"]["combination"]
    assert combination["parameters"]["weights"] == [0.125, 0.125, 0.75]
    assert "It needs OpenSearch 3.1" in files["README.md"]


@each
def test_data_with_another_number_of_lists_is_refused(to):
    target = list_targets()[to]()
    files = target.files(ListFusion("web", ("bm25", "dense"), (1.0, 1.0), k=60))
    with pytest.raises(ValueError, match="fuses 2 lists, and the data has 3"):
        target.scores(files, lists_dataset(random_lists(n_lists=3)))


@each
def test_features_are_lists_where_the_data_has_no_lists(to, tmp_path):
    dataset, _ = make_queries(12, n_features=2, n_types=1)
    ranker = ReciprocalRankFusion().fit(dataset)
    export(ranker, to, tmp_path)
    assert verify(ranker, to, tmp_path, dataset).same_order
