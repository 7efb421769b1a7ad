"""Models for known categories, against models that are trained here, on made-up lists."""

import gzip
from functools import cache

import numpy as np
import pytest
from experiments.small_texts import SHARED, write_lists, write_texts
from numpy.testing import assert_allclose
from scipy.stats import t as student
from sklearn.metrics import adjusted_rand_score

from localrank import LocalRanker
from localrank.data import RankingDataset, concatenate, folds
from localrank.evaluation import paired_test
from localrank.experiments import Setting, known_categories, reproduce
from localrank.experiments._searches import list_searches
from localrank.experiments.known_categories import AgreementTest, shuffled_categories
from localrank.experiments.reproduction import Verdict
from localrank.grouping import KnownGroups, kmeans
from localrank.rankers import RankSVM
from localrank.recipes import local_rank, pca_queries
from localrank.representations import Mean, Scaled, TopDocuments
from localrank.selection import NearestCentroid, SameCategory

SEEDS = (0, 1)
CATEGORIES = ("air", "sea")
N_PERMUTATIONS = 399


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_lists(tmp_path_factory.mktemp("data") / "hybrid")


@pytest.fixture(scope="module")
def result(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_categories, "N_PERMUTATIONS", N_PERMUTATIONS)
        setting = Setting(folder, seeds=SEEDS, n_jobs=1, say=lambda line: None)
        return reproduce("known-categories", setting)


def read(folder):
    """Scores by collection, list, query and document, and grades, by splitting lines."""
    scores, grades = {}, {}
    for name in CATEGORIES:
        for one in SHARED:
            for line in (folder / name / f"{one}.trec").read_text().splitlines():
                query, _, document, _, score, _ = line.split()
                scores.setdefault((name, query), {}).setdefault(one, {})[document] = float(score)
        for line in (folder / name / "qrels.txt").read_text().splitlines():
            query, _, document, grade = line.split()
            grades.setdefault((name, query), {})[document] = int(grade)
    return scores, grades


@pytest.fixture(scope="module")
def data(folder):
    """The candidates of each collection with their features, by loops."""
    scores, grades = read(folder)
    rows, labels, queries, documents = [], [], [], []
    for (name, query), lists in scores.items():
        for document in dict.fromkeys(d for one in SHARED for d in lists[one]):
            row = []
            for one in SHARED:
                given = lists[one]
                above = sum(score > given.get(document, np.inf) for score in given.values())
                row.append(given.get(document, min(given.values())))
                row.append(1 / (above + 1) if document in given else 0.0)
            rows.append(row)
            labels.append(grades[name, query].get(document, 0))
            queries.append(f"{name}-{query}")
            documents.append(document)
    names = [f"{one} {kind}" for one in SHARED for kind in ("score", "reciprocal rank")]
    return RankingDataset.from_arrays(
        rows, labels, queries, document_ids=documents, feature_names=names
    )


def category(query):
    return query.split("-")[0]


@pytest.fixture(scope="module")
def parts(data):
    """Train and test queries of each fold."""
    of = np.array([category(query) for query in data.query_ids])
    by_category = [folds(data.select(of == name)) for name in CATEGORIES]
    return [
        [concatenate([getattr(fold, part) for fold in several]) for part in ("train", "test")]
        for several in zip(*by_category, strict=True)
    ]


def ndcg(grades, ranked):
    def dcg(values):
        return sum((2**grade - 1) / np.log2(i + 2) for i, grade in enumerate(values[:10]))

    return dcg([grades.get(document, 0) for document in ranked]) / dcg(
        sorted(grades.values(), reverse=True)
    )


@pytest.fixture(scope="module")
def trained(folder, data, parts):
    """Values by query, and groups of the test queries of each fold, of models trained here."""
    _, grades = read(folder)
    known = {query: category(query) for query in data.query_ids.tolist()}

    def by_category(categories):
        return LocalRanker(Mean(), KnownGroups(categories), RankSVM(), SameCategory(categories))

    def clusters(representation, seed):
        return LocalRanker(
            Scaled(representation), kmeans(2, random_state=seed), RankSVM(), NearestCentroid()
        )

    def drawn(seed):
        rng, result = np.random.default_rng(seed), {}
        for _, test in parts:
            ids = test.query_ids.tolist()
            given = rng.permutation([category(query) for query in ids])
            result |= dict(zip(ids, given.tolist(), strict=True))
        return result

    methods = {
        "one model": lambda seed: RankSVM(),
        "known categories": lambda seed: by_category(known),
        "local_rank": lambda seed: local_rank(2, ranker=RankSVM(), scaling="standard"),
        "pca_queries": lambda seed: pca_queries(2, scaling="standard", random_state=seed),
        "k-means of means": lambda seed: clusters(Mean(), seed),
        "k-means of top documents": lambda seed: clusters(TopDocuments(), seed),
        "random groups": lambda seed: by_category(drawn(seed)),
    }

    @cache
    def values(name):
        """One row for each seed, one column for each query in the order of the data."""
        rows, groups = [], []
        fixed = ("one model", "known categories", "local_rank")
        for seed in SEEDS[:1] if name in fixed else SEEDS:
            of_query, of_folds = {}, []
            for train, test in parts:
                model = methods[name](seed).fit(train)
                scores = model.predict(test)
                for i, query in enumerate(test.query_ids.tolist()):
                    places = np.arange(test.offsets[i], test.offsets[i + 1])
                    order = places[np.argsort(-scores[places], kind="stable")]
                    ranked = test.document_ids[order].tolist()
                    of_query[query] = ndcg(grades[tuple(query.split("-"))], ranked)
                if isinstance(model, LocalRanker):
                    weights = model.selector_.weights(test, model.models_)
                    of_folds.append(weights.argmax(axis=1))
            rows.append([of_query[query] for query in data.query_ids.tolist()])
            groups.append(of_folds)
        return np.array(rows), groups

    return {name: values(name) for name in methods}


def rows_of(result, title):
    (table,) = (table for table in result.tables if table.title.startswith(title))
    return table.rows


def test_lists_become_scores_and_ranks_in_the_lists_that_all_have(folder, data):
    searches = list_searches(folder)
    assert searches.sizes == {"air": 12, "sea": 12}
    candidates = searches.candidates
    assert candidates.feature_names == data.feature_names
    assert candidates.query_ids.tolist() == data.query_ids.tolist()
    assert candidates.document_ids.tolist() == data.document_ids.tolist()
    assert_allclose(candidates.features, data.features)
    assert candidates.labels.tolist() == data.labels.tolist()
    missed = searches.judged.document_ids[~searches.is_candidate]
    assert set(missed) >= {"missed"}
    assert (searches.judged.labels[~searches.is_candidate] > 0).all()
    assert len(set(searches.categories)) == 2


def test_packed_lists_are_read_and_folders_without_lists_are_refused(folder, tmp_path):
    for name in CATEGORIES:
        (tmp_path / name).mkdir()
        for file in (folder / name).iterdir():
            packed = gzip.compress(file.read_bytes())
            (tmp_path / name / f"{file.name}.gz").write_bytes(packed)
    assert_allclose(list_searches(tmp_path).judged.features, list_searches(folder).judged.features)
    for file in (tmp_path / "air").glob("*.trec.gz"):
        file.unlink()
    with pytest.raises(ValueError, match="no two collections with lists"):
        list_searches(tmp_path)


def test_each_row_is_its_model_trained_and_tested_on_the_queries_of_the_folds(
    result, trained, data
):
    rows = rows_of(result, "Models for groups")
    assert [row[0] for row in rows] == list(trained)
    of = np.array([category(query) for query in data.query_ids])
    random = ("pca_queries", "k-means of means", "k-means of top documents", "random groups")
    for name, *shown, spread in rows:
        values, _ = trained[name]
        expected = [*(values[:, of == one].mean() for one in CATEGORIES), values.mean()]
        assert_allclose(shown, expected, atol=1e-12, err_msg=name)
        if name in random:
            assert spread == pytest.approx(values.mean(axis=1).std(ddof=1), abs=1e-12)
        else:
            assert spread is None


def test_one_family_of_tests_covers_queries_and_trainings(result, trained):
    rows = rows_of(result, "Differences")
    learned = ("local_rank", "pca_queries", "k-means of means", "k-means of top documents")
    assert [tuple(row[:2]) for row in rows] == [
        ("known categories", "one model"),
        ("known categories", "random groups"),
        *(("known categories", name) for name in learned),
        *((name, "one model") for name in learned),
    ]
    p_values = []
    for name, other, *_ in rows:
        gains = trained[name][0] - trained[other][0]
        test = paired_test(gains if len(gains) > 1 else gains[0], np.zeros(gains.shape[1]))
        p_values.append(test.p_value)
    order = np.argsort(p_values)
    holm = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(rows), 0, -1))
    for (name, other, difference, p, _), expected in zip(
        (rows[i] for i in order), holm, strict=True
    ):
        gain = (trained[name][0] - trained[other][0]).mean()
        assert difference == pytest.approx(gain, abs=1e-12)
        assert p == pytest.approx(min(expected, 1), rel=1e-6), (name, other)
    # One training: the usual t-test.
    gains = (trained["known categories"][0] - trained["one model"][0])[0]
    ratio = gains.mean() / (gains.std(ddof=1) / np.sqrt(len(gains)))
    assert p_values[0] == pytest.approx(2 * student.sf(ratio, len(gains) - 1))


def test_claims_are_decided_by_the_tests_of_the_tables(result):
    tests = {tuple(row[:2]): row for row in rows_of(result, "Differences")}
    claims = {claim.says: claim for claim in result.claims}
    known = claims["a model for each known category ranks better than one for all queries"]
    assert known.verdict == Verdict.YES
    row = tests["known categories", "one model"]
    assert f"against one model {row[2]:+.4f}" in known.measured
    control = claims[
        "models for known categories rank better than models for random groups of their sizes"
    ]
    row = tests["known categories", "random groups"]
    assert f"against random groups {row[2]:+.4f}" in control.measured
    assert control.verdict == (Verdict.YES if row[3] < 0.05 else Verdict.UNDECIDED)
    several = claims["models for learned groups rank better than one for all queries"]
    assert several.verdict == Verdict.UNDECIDED
    assert several.measured.count(", p ") == 4
    agrees = claims["groups of local_rank agree with the known categories more than by chance"]
    assert agrees.verdict == Verdict.YES
    none = claims["groups of pca_queries agree with the known categories more than by chance"]
    assert none.verdict == Verdict.UNDECIDED
    assert result.claimant == "the expectation"


def test_agreement_is_that_of_the_groups_that_serve_the_test_queries(result, trained, parts):
    rows = rows_of(result, "Agreement")
    known = [[category(query) for query in test.query_ids] for _, test in parts]
    raw = {}
    for name, index, chance, high, p in rows:
        groups = trained[name][1]
        expected = np.mean(
            [
                adjusted_rand_score(of_queries, of_fold)
                for of_training in groups
                for of_queries, of_fold in zip(known, of_training, strict=True)
            ]
        )
        assert index == pytest.approx(expected, abs=1e-12), name
        assert abs(chance) < 0.05
        assert chance < high
        raw[name] = p
    assert [row[0] for row in rows][-1] == "random groups"
    # The smallest p that permutations can give, times the number of tests.
    assert raw["local_rank"] == pytest.approx(5 * 2 / (1 + N_PERMUTATIONS))
    assert raw["random groups"] > 0.05


def test_a_permutation_test_has_two_sides():
    chance = np.linspace(-1, 1, 99)
    assert AgreementTest(2.0, chance).p == pytest.approx(0.02)
    assert [AgreementTest(i, chance).sign for i in (2.0, 0.0, -2.0)] == [1, 0, -1]
    assert AgreementTest(0.0, chance).p == 1.0
    assert AgreementTest(2.0, chance, corrected_p_value=0.2).sign == 0


def test_random_groups_have_the_sizes_of_the_categories_in_every_part(data):
    every = list(folds(data))
    given = shuffled_categories(every, 3)
    assert given.keys() == set(data.query_ids.tolist())
    assert any(given[query] != category(query) for query in given)
    assert given != shuffled_categories(every, 4)
    for fold in every:
        for part in (fold.train, fold.test):
            ids = part.query_ids.tolist()
            assert sorted(given[query] for query in ids) == sorted(map(category, ids))


def test_text_collections_are_categories_by_one_text_for_each_document(tmp_path):
    setting = Setting(write_texts(tmp_path / "text"))
    searches = known_categories.searches_of(setting)
    assert set(searches.sizes) == {"med", "npl"}
    assert all(name.startswith("text.") for name in searches.judged.feature_names[:-1])
    (tmp_path / "one").mkdir()
    (tmp_path / "text" / "med").rename(tmp_path / "one" / "med")
    with pytest.raises(ValueError, match="has one text collection"):
        known_categories.searches_of(Setting(tmp_path / "one"))
