"""The experiment on few points, checked against models that are trained here."""

from itertools import product

import numpy as np
import pytest
from made_up_results import made_up_result
from numpy.testing import assert_allclose, assert_array_equal

from localrank._base.estimator import clone
from localrank.evaluation import paired_test
from localrank.evaluation.significance import correct
from localrank.experiments import Reproduction, Setting, metric_retrieval
from localrank.experiments.metric_retrieval import (
    ENTRIES,
    GLOBAL,
    GRIDS,
    LOCAL,
    METHODS,
    N_COORDINATES,
    N_IMAGES,
    N_LISTED,
    N_SPLITS,
    PLAIN,
    ROWS,
    SHARES,
    TRACE,
    Space,
    by_query,
    claims,
    digits,
    distance,
    reproduce,
    space_of,
    table_3,
)
from localrank.experiments.reproduction import Verdict
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import L1MLR, LGMML, MLR, RMLR

FIGURE_5, TABLE_3 = "Figure 5: retrieval by learned metrics", "Table 3: CPU seconds of training"
MAP = AveragePrecision()
YES, NO, UNDECIDED, NOT_TESTED = Verdict


def made_up(n_queries=40, are_documents=True, seed=0):
    """Points of three kinds; those of the same kind are relevant."""
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(np.arange(n_queries) % 3)
    points = rng.normal(size=(n_queries, 4)) + 2 * np.eye(4)[kinds]
    if are_documents:
        return Space(points, points, kinds[:, None] == kinds, True)
    documents = rng.normal(size=(25, 4))
    return Space(points, documents, kinds[:, None] == np.arange(25) % 3, False)


def queries_of(dataset):
    return [int(query.rpartition(": ")[2]) for query in dataset.query_ids.tolist()]


@pytest.mark.parametrize("are_documents", [True, False])
def test_a_split_is_40_30_30_and_each_query_in_one_part(are_documents):
    space = made_up(40, are_documents)
    for number in range(3):
        fold = space.fold(number)
        parts = [queries_of(part) for part in (fold.train, fold.valid, fold.test)]
        assert [len(part) for part in parts] == [16, 12, 12]
        assert sorted(query for part in parts for query in part) == list(range(40))
    first, again, other = (queries_of(space.fold(n).test) for n in (0, 0, 1))
    assert first == again != other


def test_queries_that_are_documents_are_ranked_against_those_to_learn_from():
    space = made_up(40)
    fold = space.fold(2)
    train = queries_of(fold.train)
    for part in (fold.valid, fold.test):
        for place, query in enumerate(queries_of(part)):
            rows = slice(part.offsets[place], part.offsets[place + 1])
            expected = space.documents[np.sort(train)] - space.queries[query]
            assert_allclose(part.features[rows], expected)
            assert_array_equal(part.labels[rows], space.relevant[query, np.sort(train)])


def test_other_queries_are_ranked_against_all_documents():
    space = made_up(40, are_documents=False)
    fold = space.fold(0)
    for place, query in enumerate(queries_of(fold.test)):
        rows = slice(fold.test.offsets[place], fold.test.offsets[place + 1])
        assert_allclose(fold.test.features[rows], space.documents - space.queries[query])
        assert_array_equal(fold.test.labels[rows], space.relevant[query])


def test_lists_to_learn_from_are_drawn_with_relevant_documents_up_to_half(monkeypatch):
    monkeypatch.setattr(metric_retrieval, "N_LISTED", 8)
    space = made_up(90)
    fold = space.fold(0)
    assert_array_equal(fold.train.query_sizes, 8)
    assert_array_equal(fold.train.count(fold.train.labels > 0), 4)
    points = {tuple(np.round(point, 9)): place for place, point in enumerate(space.documents)}
    train = queries_of(fold.train)
    for place, query in enumerate(train):
        rows = slice(fold.train.offsets[place], fold.train.offsets[place + 1])
        listed = fold.train.features[rows] + space.queries[query]
        candidates = [points[tuple(np.round(point, 9))] for point in listed]
        assert query not in candidates
        assert len(set(candidates)) == 8
        assert set(candidates) <= set(train)
        assert_array_equal(fold.train.labels[rows], space.relevant[query, candidates])


class Plain:
    def fit(self, train):
        return self

    def predict(self, test):
        return -np.linalg.norm(test.features, axis=1)


class Pooled:
    """One metric of the documents of all queries."""

    def __init__(self, t):
        self.metric = LGMML(
            1, t=t, sampling_rate=1.0, n_iterations=0, scale="monotone", query_vectors="origin"
        )

    def fit(self, train):
        qid = np.zeros(train.n_documents)
        self.metric.fit(train.features, train.labels, qid=qid)
        return self

    def predict(self, test):
        return self.metric.predict(test)


# Two seeds, and a few values of each parameter.
SEEDS = (4, 9)
SMALL: dict[str, dict[str, list]] = {
    GLOBAL: {"t": [k / 10 for k in range(11)]},
    LOCAL: {"t": [0.5], "scale": ["median", "monotone"]},
    TRACE: {"C": [2.0, 8.0]},
    ROWS: {"C": [4.0]},
    ENTRIES: {"C": [4.0]},
}
MADE_HERE = {
    PLAIN: lambda seed: Plain(),
    GLOBAL: lambda seed, t: Pooled(t),
    LOCAL: lambda seed, **o: LGMML(50, query_vectors="origin", random_state=seed, **o),
    TRACE: lambda seed, C: MLR(C, scaling=None, tol=0.01),
    ROWS: lambda seed, C: RMLR(C, scaling=None, tol=0.01),
    ENTRIES: lambda seed, C: L1MLR(C, scaling=None, tol=0.01),
}


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "N_IMAGES": 58,
            "N_COORDINATES": 4,
            "N_SPLITS": 2,
            "N_LISTED": 12,
            "GRIDS": SMALL,
        }.items():
            patch.setattr(metric_retrieval, name, value)
        yield


@pytest.fixture(scope="module")
def whole(patched, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    setting = Setting(
        folder / "digits", seeds=SEEDS, n_jobs=1, store=folder / "store", say=lambda line: None
    )
    first = reproduce(setting)
    # Everything is read back from the store, each seed its own.
    again = reproduce(setting)
    assert again.tables[0].cells() == first.tables[0].cells()
    return first


@pytest.fixture(scope="module")
def folds(patched):
    """Splits of images by the principal components of other images."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(1797)
    components = PCA(4).fit(images[order[58:]])
    points, others = (components.transform(images[rows]) for rows in (order[:58], order[58:]))
    points /= np.sqrt(np.mean((others[:, None] - others) ** 2))
    kinds = labels[order[:58]]
    space = Space(points, points, kinds[:, None] == kinds, True)
    return [space.fold(number) for number in range(2)]


@pytest.fixture(scope="module")
def expected(folds):
    """Values of every method by seed, split and measure, tuned by MAP of validation queries."""

    by_another_measure = []

    def values(name, seed, fold):
        grid = SMALL.get(name, {})
        tried = [dict(zip(grid, each, strict=True)) for each in product(*grid.values())]
        models = [MADE_HERE[name](seed, **options).fit(fold.train) for options in tried]
        best, other = (
            np.argmax([measure.mean(fold.valid, model.predict(fold.valid)) for model in models])
            for measure in (MAP, NDCG(10))
        )
        by_another_measure.append(other != best)
        scores = models[best].predict(fold.test)
        return {measure: measure(fold.test, scores) for measure in (MAP, NDCG(10))}

    measured = {
        name: [
            [values(name, seed, fold) for fold in folds]
            for seed in (SEEDS if name == LOCAL else SEEDS[:1])
        ]
        for name in MADE_HERE
    }
    # Otherwise nobody could tell by which measure parameters are chosen.
    assert any(by_another_measure)
    return measured


def rows(reproduction, title):
    (table,) = (table for table in reproduction.tables if table.title == title)
    return {row[0]: list(row[1:]) for row in table.rows}


def test_every_row_is_the_method_it_names(whole, expected):
    table = rows(whole, FIGURE_5)
    assert list(table) == list(METHODS) == list(MADE_HERE)
    assert [PLAIN, GLOBAL, LOCAL] == ["Euclidean", "GMML", "L-GMML"]
    assert [TRACE, ROWS, ENTRIES] == ["MLR", "R-MLR", "L1-MLR"]
    for name, cells in table.items():
        for place, measure in enumerate((MAP, NDCG(10))):
            means = np.array([[v[measure].mean() for v in splits] for splits in expected[name]])
            mean, of_splits, of_seeds = cells[3 * place : 3 * place + 3]
            assert mean == pytest.approx(means.mean(), abs=1e-9)
            assert of_splits == pytest.approx(means.std(axis=1, ddof=1).mean(), abs=1e-9)
            if name == LOCAL:
                between = abs(np.subtract(*means.mean(axis=1))) / np.sqrt(2)
                assert of_seeds == pytest.approx(between, abs=1e-9)
                assert of_seeds > 0
            else:
                assert np.isnan(of_seeds)
    (figure,) = whole.figures
    assert figure.chart.options["panels"]["digits"] == {
        name: [cells[0]] for name, cells in table.items()
    }
    assert "2 splits of 58 images" in whole.tables[0].note
    assert "2 seeds" in whole.tables[0].note
    assert "metric-learn" in whole.tables[0].note


def means_of_queries(folds, expected, name):
    """MAP of each query by seed. A query of several splits counts once, with its mean."""
    by_seed = []
    for splits in expected[name]:
        values = {}
        for fold, measured in zip(folds, splits, strict=True):
            for query, value in zip(queries_of(fold.test), measured[MAP], strict=True):
                values.setdefault(query, []).append(value)
        by_seed.append([np.mean(values[query]) for query in sorted(values)])
    return by_seed if len(by_seed) > 1 else by_seed[0]


CLAIMS = {
    "L-GMML ranks better than R-MLR": (LOCAL, ROWS),
    "L-GMML ranks better than MLR": (LOCAL, TRACE),
    "L-GMML ranks better than L1-MLR": (LOCAL, ENTRIES),
    "local metrics rank better than the global one": (LOCAL, GLOBAL),
    "R-MLR ranks better than MLR": (ROWS, TRACE),
    "R-MLR ranks better than L1-MLR": (ROWS, ENTRIES),
}


def p_words(p):
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def test_claims_are_tested_over_queries_and_seeds_as_one_family(whole, folds, expected):
    of = {name: means_of_queries(folds, expected, name) for name in MADE_HERE}
    tests = {says: paired_test(of[a], of[b]) for says, (a, b) in CLAIMS.items()}
    corrected = correct({says: test.p_value for says, test in tests.items()})
    shown = {claim.says: claim for claim in whole.claims}
    assert shown.keys() == CLAIMS.keys() | {"L-GMML trains faster than R-MLR"}
    for says, test in tests.items():
        p, gain = corrected[says], test.mean_difference
        assert shown[says].measured == f"MAP {gain:+.4f}, {p_words(p)}"
        assert shown[says].verdict is (UNDECIDED if p >= 0.05 else YES if gain > 0 else NO)
    others = {name: paired_test(of[name], of[PLAIN]) for name in of if name != PLAIN}
    corrected = correct({name: test.p_value for name, test in others.items()})
    for name, test in others.items():
        gain = f"{test.mean_difference:+.4f}, {p_words(corrected[name])}"
        assert rows(whole, FIGURE_5)[name][6] == gain


@pytest.fixture(scope="module")
def made_up_runs(folds):
    """Results that nothing was trained for."""
    seconds = {PLAIN: 0.5, GLOBAL: 2.0, LOCAL: 4.0, TRACE: 24.0, ROWS: 30.0, ENTRIES: 40.0}
    return {
        name: [made_up_result(folds, name, 10 * seed + place, seconds[name] + seed)]
        for place, name in enumerate(METHODS)
        for seed in (0,)
    }


def test_table_3_has_seconds_of_a_split_and_the_papers_ratios(made_up_runs, folds):
    reproduction = Reproduction("metric-retrieval", "digits")
    slower = made_up_result(folds, LOCAL, 3, 6.0)
    runs = {**made_up_runs, LOCAL: [*made_up_runs[LOCAL], slower]}
    table_3(reproduction, runs)
    assert rows(reproduction, TABLE_3) == {
        GLOBAL: [2.0, 0.4],
        LOCAL: [5.0, 1.0],
        TRACE: [24.0, 4.8],
        ROWS: [30.0, 6.0],
        ENTRIES: [40.0, 8.0],
    }
    # 607 / 4.7, 302 / 2.6 and 1241 / 7.8 of the paper's Table 3.
    note = "CAL10K are: Audio with PCA 129, Lyrics-128 116, Lyrics-256 159."
    assert note in reproduction.tables[0].note
    (claim,) = reproduction.claims
    assert (claim.verdict, claim.measured) == (YES, "R-MLR takes 6.00 (p < 0.001) times as long")
    table_3(reproduction, {**runs, LOCAL: runs[ROWS], ROWS: runs[LOCAL]})
    assert reproduction.claims[-1].verdict is NO


def test_claims_are_of_the_methods_they_name(folds, made_up_runs):
    perfect = made_up_result(folds, LOCAL, 0)
    for run, fold in zip(perfect.runs, folds, strict=True):
        run.scores[:] = fold.test.labels
    for best in (LOCAL, ROWS, TRACE, GLOBAL, ENTRIES):
        # All others have the same scores, so that nothing else can be decided.
        runs = {**dict.fromkeys(METHODS, made_up_runs[PLAIN]), best: [perfect]}
        reproduction = Reproduction("metric-retrieval", "digits")
        claims(reproduction, runs)
        verdicts = {claim.says: claim.verdict for claim in reproduction.claims}
        assert verdicts == {
            says: YES if better == best else NO if worse == best else UNDECIDED
            for says, (better, worse) in CLAIMS.items()
        }


def test_a_run_of_one_seed_has_one_value_for_each_query(made_up_runs):
    one, two = made_up_runs[LOCAL], made_up_runs[LOCAL] * 2
    assert by_query(one).ndim == 1
    assert_array_equal(by_query(two), [by_query(one)] * 2)


def test_parameters_are_tuned_for_all_that_learn():
    assert GRIDS.keys() == metric_retrieval.QUICK_GRIDS.keys() == METHODS.keys() - {PLAIN}
    # The paper's position on the geodesic and its number of metrics.
    assert 0.5 in GRIDS[LOCAL]["t"]
    assert METHODS[LOCAL].n_metrics == 50
    assert (N_SPLITS, SHARES) == (10, (0.4, 0.3))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:L1MLR stopped after 1000 iterations")
@pytest.mark.parametrize(("name", "between"), [(TRACE, 100), (ROWS, 100), (ENTRIES, 1000)])
def test_validation_queries_of_the_first_split_rank_best_between_the_ends_of_c(
    name, between, monkeypatch
):
    """The page says so. Digits stand here for both collections."""
    monkeypatch.setattr(metric_retrieval, "N_LISTED", N_LISTED)
    fold = digits(N_IMAGES, N_COORDINATES).fold(0)
    lowest, *inner, highest = GRIDS[name]["C"]
    assert between in inner
    means = {}
    for C in (lowest, between, highest):
        model = clone(METHODS[name]).set_params(C=C).fit(fold.train)
        means[C] = MAP.mean(fold.valid, model.predict(fold.valid))
    assert means[between] > max(means[lowest], means[highest])


def test_digits_are_relevant_to_the_same_digit():
    from sklearn.datasets import load_digits

    space = digits(200, 5)
    assert space.queries.shape == space.documents.shape == (200, 5)
    # As many of each digit as are drawn, by their numbers alone.
    drawn = load_digits().target[np.random.default_rng(0).permutation(1797)[:200]]
    assert_array_equal(space.relevant, drawn[:, None] == drawn)


def test_texts_lie_near_queries_with_their_words(tmp_path):
    folder = tmp_path / "med"
    folder.mkdir()
    topics = ["heart blood pressure", "lung cancer tumour", "brain nerve memory"]
    documents = [f"{topic} {word}" for topic in topics for word in ("study", "therapy", "case")]
    (folder / "MED.ALL").write_text(
        "".join(f".I {n}\n.W\n{text}\n" for n, text in enumerate(documents, 1))
    )
    asked = ["unjudged words", "cancer of the lung", "memory in the brain"]
    (folder / "MED.QRY").write_text("".join(f".I {n}\n.W\n{t}\n" for n, t in enumerate(asked, 1)))
    judged = [(2, d) for d in (4, 5, 6)] + [(3, d) for d in (7, 8, 9)]
    (folder / "MED.REL").write_text("".join(f"{q} {d} 0 1\n" for q, d in judged))
    space = metric_retrieval.texts(Setting(folder), None, 3)
    assert not space.are_documents
    assert_array_equal(space.relevant, [[0] * 3 + [1] * 3 + [0] * 3, [0] * 6 + [1] * 3])
    lengths = np.linalg.norm(np.vstack([space.documents, space.queries]), axis=1)
    assert_allclose(lengths, lengths[0])
    distances = np.linalg.norm(space.documents - space.queries[:, None], axis=2)
    nearest = np.argsort(distances, axis=1)[:, :3]
    assert_array_equal(np.sort(nearest, axis=1), [[3, 4, 5], [6, 7, 8]])
    assert len(metric_retrieval.texts(Setting(folder), 1, 3).queries) == 1
    # Other queries leave the documents where they are.
    asked = ["lung lung study", "brain brain case", "heart heart tumour"]
    (folder / "MED.QRY").write_text("".join(f".I {n}\n.W\n{t}\n" for n, t in enumerate(asked, 1)))
    others = metric_retrieval.texts(Setting(folder), None, 3)
    assert_array_equal(others.documents, space.documents)
    assert np.abs(others.queries - space.queries).max() > 0.1
    assert np.mean((space.documents[:, None] - space.documents) ** 2) == pytest.approx(1)


def test_a_folder_that_holds_no_collection_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is none of the text collections cran, .*, nor digits"):
        space_of(Setting(tmp_path))


def test_the_unit_is_how_much_coordinates_of_two_points_differ():
    points = np.random.default_rng(0).normal(3, [1, 5, 9], size=(50, 3))
    assert distance(points) ** 2 == pytest.approx(np.mean((points[:, None] - points) ** 2))
