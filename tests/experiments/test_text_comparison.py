"""Methods on small texts, against models that are trained here."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from experiments.small_texts import write_texts
from numpy.testing import assert_allclose

from localrank._base.estimator import clone
from localrank.data import concatenate, folds
from localrank.evaluation import paired_test
from localrank.experiments import Setting, _text_comparison, read_collection, reproduce
from localrank.experiments._text_comparison import costly_methods, fixed_methods, random_methods
from localrank.experiments.reproduction import Verdict
from localrank.experiments.text_collections import SEEDS
from localrank.local_ranker import LocalRanker
from localrank.rankers import BestFeature, Ensemble, LambdaMART, MultipleHyperplaneRanker, RankSVM
from localrank.recipes import adaptive_training, best, fast, local_rank, pca_queries
from localrank.text import Analyzer, FeatureExtractor, feature_names

NAMES, TRAININGS, N_FOLDS, N_TREES = ("med", "npl"), (5, 6), 2, 10
FIELDS = ["title", "body"]
# Each method as it is written down: its class, its features, and whether it has a seed.
METHODS = {
    "BM25": (lambda seed: BestFeature(), ["whole.bm25"]),
    "MHR, Table 1": (lambda seed: MultipleHyperplaneRanker(), feature_names("mhr", FIELDS)),
    "best feature": (lambda seed: BestFeature("ndcg@10"), None),
    "RankSVM": (lambda seed: RankSVM(), None),
    "MHR": (lambda seed: MultipleHyperplaneRanker(), None),
    "local_rank": (lambda seed: local_rank(), None),
    "pca_queries": (lambda seed: pca_queries(random_state=seed), None),
    "LambdaMART": (lambda seed: LambdaMART(N_TREES, random_state=seed), None),
    "fast": (lambda seed: fast(N_TREES, random_state=seed), None),
}
RANDOM = ("pca_queries", "LambdaMART", "fast")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("data") / "text")


@pytest.fixture(scope="module")
def result(folder):
    setting = Setting(folder, quick=True, seeds=TRAININGS, n_jobs=1, say=lambda line: None)
    return reproduce("text-collections", setting)


@dataclass
class Texts:
    """A collection's judged queries: candidates alone, with judged documents, and grades."""

    candidates: Any
    with_judged: Any
    grades: dict


@pytest.fixture(scope="module")
def texts(folder):
    made = {}
    for name in NAMES:
        read = read_collection(folder / name)
        pairs = zip(read.titles, read.bodies, strict=True)
        corpus = [{"id": i, "title": t, "body": b} for i, (t, b) in enumerate(pairs, 1)]
        grades = {}
        for query, document, grade in read.judgments.tolist():
            grades.setdefault(f"{name}-{query + 1}", {})[str(document + 1)] = grade
        queries = {query: read.queries[int(query.split("-")[1]) - 1] for query in grades}
        analyzer = Analyzer(stopwords="english", stemmer="english")
        extractor = FeatureExtractor(FIELDS, features="all", analyzer=analyzer).fit(corpus)
        more = FeatureExtractor(FIELDS, features="definition", analyzer=Analyzer(stemmer="english"))
        more.fit(corpus)
        candidates, with_judged = (
            extractor.dataset(queries, grades, 100, with_judged=judged) for judged in (False, True)
        )
        listed = {
            query: candidates.document_ids[begin:end].tolist()
            for query, begin, end in zip(
                candidates.query_ids.tolist(),
                candidates.offsets[:-1],
                candidates.offsets[1:],
                strict=True,
            )
        }
        defined = more.transform(queries, listed)
        candidates = candidates.with_features(
            np.hstack([candidates.features, defined.features]),
            [*candidates.feature_names, *(f"definition {one}" for one in defined.feature_names)],
        )
        made[name] = Texts(candidates, with_judged, grades)
    return made


def columns_of(data, names):
    plain = [name for name in data.feature_names if not name.startswith("definition ")]
    names = list(names or plain)
    places = [data.feature_names.index(name) for name in names]
    return data.with_features(data.features[:, places], names)


def ndcg(grades, ranked, scores=None):
    """NDCG@10. Documents with equal scores have the mean of their gains."""

    def dcg(gains):
        return sum(gain / np.log2(i + 2) for i, gain in enumerate(gains[:10]))

    gains = np.array([2.0 ** grades.get(document, 0) - 1 for document in ranked])
    if scores is not None:
        gains = np.array([gains[scores == score].mean() for score in scores])
    return dcg(gains) / dcg(sorted((2.0**grade - 1 for grade in grades.values()), reverse=True))


def scored(ranker, parts, names, grades, only=None):
    """The value of each test query, by a model for the first two folds."""
    values = {}
    for fold in parts[:N_FOLDS]:
        train, valid, test = (
            columns_of(part, names) for part in (fold.train, fold.valid, fold.test)
        )
        scores = clone(ranker).fit(train, valid=valid).predict(test)
        for i, query in enumerate(test.query_ids.tolist()):
            places = np.arange(test.offsets[i], test.offsets[i + 1])
            if only is not None:
                places = places[: only[query]]
            order = places[np.argsort(-scores[places], kind="stable")]
            listed = test.document_ids[order].tolist()
            values[query] = ndcg(grades[query], listed, scores[order].astype(np.float32))
    return values


@dataclass
class Joined:
    train: Any
    valid: Any
    test: Any


@pytest.fixture(scope="module")
def values(texts):
    """By method and way to train: one row for each training, one column for each query."""
    grades = {query: of for one in texts.values() for query, of in one.grades.items()}
    separate = {name: list(folds(one.candidates)) for name, one in texts.items()}
    joint = [
        Joined(
            *(
                concatenate([getattr(fold, part) for fold in several])
                for part in Joined.__annotations__
            )
        )
        for several in zip(*separate.values(), strict=True)
    ]
    judged = [list(folds(one.with_judged)) for one in texts.values()]
    depths = {
        query: int(size)
        for one in texts.values()
        for query, size in zip(
            one.candidates.query_ids.tolist(), one.candidates.query_sizes, strict=True
        )
    }

    @cache
    def of(name, way):
        make, names = METHODS[name]
        rows = []
        for seed in TRAININGS if name in RANDOM else TRAININGS[:1]:
            model, row = make(seed), {}
            if way == "separate":
                for parts in separate.values():
                    row |= scored(model, parts, names, grades)
            elif way in ("judged", "seeming"):
                for parts in judged:
                    row |= scored(model, parts, names, grades, depths if way == "judged" else None)
            else:
                with_definitions = joint[0].train.feature_names if way == "definition" else names
                row = scored(model, joint, with_definitions, grades)
            rows.append([row[query] for query in sorted(row)])
        return np.array(rows)

    return of


@pytest.fixture(scope="module")
def queries(texts):
    """The tested queries, in the order of the values."""
    parts = [fold for one in texts.values() for fold in list(folds(one.candidates))[:N_FOLDS]]
    return sorted(query for fold in parts for query in fold.test.query_ids.tolist())


def table(result, title):
    (one,) = (table for table in result.tables if table.title == title)
    return one.rows


@pytest.mark.parametrize(
    ("title", "way"),
    [("Each collection by itself", "separate"), ("One model for all collections", "together")],
)
def test_each_row_is_its_model_on_the_queries_of_the_folds(result, values, queries, title, way):
    rows = table(result, f"{title}: ndcg@10")
    assert [row[0] for row in rows] == list(METHODS)
    of = np.array([query.split("-")[0] for query in queries])
    for name, *by_collection, mean, spread, difference, _, _ in rows:
        expected = values(name, way)
        wanted = [expected[:, of == one].mean() for one in NAMES]
        assert_allclose(by_collection, wanted, atol=1e-9, err_msg=name)
        assert mean == pytest.approx(expected.mean(), abs=1e-9)
        if name in RANDOM:
            assert spread == pytest.approx(expected.mean(axis=1).std(ddof=1), abs=1e-9)
        else:
            assert spread is None
        if name != "BM25":
            gain = (expected - values("BM25", way)).mean()
            assert difference == pytest.approx(gain, abs=1e-9)


def as_runs(values):
    return values[0] if len(values) == 1 else values


def holm(p_values):
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(order), 0, -1))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(stepped, 1)
    return corrected


def test_p_values_are_of_one_family_for_each_table(result, values):
    for title, pairs in {
        "Each collection by itself: ndcg@10": [
            (values(name, "separate"), values("BM25", "separate")) for name in list(METHODS)[1:]
        ],
        "One model for all collections, less one for each: ndcg@10": [
            (values(name, "together"), values(name, "separate")) for name in list(METHODS)[1:]
        ],
        "Trained with judged documents among the candidates: ndcg@10": [
            (values(name, "separate"), values(name, "judged")) for name in ("RankSVM", "LambdaMART")
        ],
        "With the features of definition search: ndcg@10": [
            (values(name, "definition"), values(name, "together"))
            for name in ("RankSVM", "LambdaMART")
        ],
    }.items():
        rows = [row for row in table(result, title) if row[0] != "BM25"]
        tests = [paired_test(as_runs(ours), as_runs(other)) for ours, other in pairs]
        assert_allclose([row[-3] for row in rows], [t.mean_difference for t in tests], atol=1e-9)
        expected = holm([test.p_value for test in tests])
        assert_allclose([row[-2] for row in rows], expected, rtol=1e-6, err_msg=title)


def test_judged_documents_count_only_where_the_table_says_so(result, values):
    for name, seeming, real, plain, *_ in table(
        result, "Trained with judged documents among the candidates: ndcg@10"
    ):
        for shown, way in ((seeming, "seeming"), (real, "judged"), (plain, "separate")):
            assert shown == pytest.approx(values(name, way).mean(), abs=1e-9), (name, way)
        assert seeming > real


def test_relevant_documents_that_are_no_candidates_are_counted_as_missed(result, texts):
    for name, n_documents, n_queries, relevant, _, candidates, recall, bound in table(
        result, "What is ranked"
    ):
        one = texts[name]
        assert (n_documents, n_queries) == (40, 10)
        assert relevant == sum(map(len, one.grades.values()))
        assert candidates == one.candidates.n_documents
        found = np.add.reduceat(one.candidates.labels > 0, one.candidates.offsets[:-1])
        of_query = [len(one.grades[query]) for query in one.candidates.query_ids.tolist()]
        assert recall == pytest.approx(np.mean(found / of_query))
        assert recall < 1
        best = [
            ndcg(one.grades[q], list(one.grades[q])[: int(n)])
            for q, n in zip(one.candidates.query_ids.tolist(), found, strict=True)
        ]
        assert bound == pytest.approx(np.mean(best))


def test_claims_have_the_numbers_of_the_tables_and_a_quick_run_judges_none(result):
    assert {claim.verdict for claim in result.claims} == {Verdict.NOT_TESTED}
    (says,) = (c for c in result.claims if c.says.startswith("a model that learned from judged"))
    for row in table(result, "Trained with judged documents among the candidates: ndcg@10"):
        assert f"{row[0]} {row[-3]:+.4f}" in says.measured
    (row,) = (r for r in table(result, "Each collection by itself: ndcg@10") if r[0] == "fast")
    assert f"{row[-3]:+.4f}" in result.claims[0].measured
    assert result.claims[0].says == "fast ranks better than BM25: each collection by itself"


def test_the_full_run_has_the_recipes_with_their_own_trees_and_seeds(folder, monkeypatch):
    assert SEEDS == (0, 1, 2, 3)
    assert _text_comparison.N_TREES == 300
    assert type(fixed_methods()["local_rank"]) is LocalRanker
    seeded = random_methods(7, 30) | costly_methods(7, 30)
    expected = {
        "pca_queries": pca_queries(random_state=7),
        "LambdaMART": LambdaMART(30, random_state=7),
        "fast": fast(30, random_state=7),
        "adaptive_training": adaptive_training(
            ranker=LambdaMART(30, random_state=7), random_state=7
        ),
        "best": best(30, random_state=7),
    }
    assert {name: repr(one) for name, one in seeded.items()} == {
        name: repr(one) for name, one in expected.items()
    }
    assert isinstance(seeded["best"], Ensemble)


def test_one_collection_is_refused(folder, tmp_path):
    (tmp_path / "med").symlink_to(folder / "med")
    with pytest.raises(ValueError, match="must hold two text collections or more"):
        reproduce("text-collections", Setting(tmp_path, quick=True))
