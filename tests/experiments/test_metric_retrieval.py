"""The experiment on few points, where every number can be worked out otherwise."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_results import made_up_result
from numpy.testing import assert_allclose, assert_array_equal

from localrank.evaluation import paired_test
from localrank.experiments import Reproduction, Setting, metric_retrieval
from localrank.experiments.metric_retrieval import (
    GLOBAL,
    GRIDS,
    LOCAL,
    MAP,
    MEASURES,
    METHODS,
    PLAIN,
    QUICK_GRIDS,
    ROWS,
    TRACE,
    Space,
    by_query,
    claims,
    digits,
    figure_5,
    reproduce,
    space_of,
    table_3,
    unit_distances,
)
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import LGMML, MLR, RMLR
from localrank.rankers.lgmml._gmml import GMML

FIGURE_5, TABLE_3 = "Figure 5: retrieval by learned metrics", "Table 3: CPU seconds of training"


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
        fold = space.fold(number, seed=0)
        parts = [queries_of(part) for part in (fold.train, fold.valid, fold.test)]
        assert [len(part) for part in parts] == [16, 12, 12]
        assert sorted(query for part in parts for query in part) == list(range(40))
    first, again, other = (queries_of(space.fold(n, 0).test) for n in (0, 0, 1))
    assert first == again != other
    assert queries_of(space.fold(0, seed=1).test) != first


def test_queries_that_are_documents_are_ranked_against_those_to_learn_from():
    space = made_up(40)
    fold = space.fold(2, seed=0)
    train = queries_of(fold.train)
    for part in (fold.valid, fold.test):
        for place, query in enumerate(queries_of(part)):
            rows = slice(part.offsets[place], part.offsets[place + 1])
            expected = space.documents[np.sort(train)] - space.queries[query]
            assert_allclose(part.features[rows], expected)
            assert_array_equal(part.labels[rows], space.relevant[query, np.sort(train)])


def test_other_queries_are_ranked_against_all_documents():
    space = made_up(40, are_documents=False)
    fold = space.fold(0, seed=0)
    for place, query in enumerate(queries_of(fold.test)):
        rows = slice(fold.test.offsets[place], fold.test.offsets[place + 1])
        assert_allclose(fold.test.features[rows], space.documents - space.queries[query])
        assert_array_equal(fold.test.labels[rows], space.relevant[query])


def test_lists_to_learn_from_are_drawn_with_relevant_documents_up_to_half(monkeypatch):
    monkeypatch.setattr(metric_retrieval, "N_LISTED", 8)
    space = made_up(90)
    fold = space.fold(0, seed=0)
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


@pytest.mark.slow
def test_labels_of_test_queries_have_no_part_in_what_is_chosen(tmp_path):
    space = made_up(40)
    fold = space.fold(0, seed=0)
    turned = replace(fold, test=fold.test.replaced(relevance=1 - fold.test.labels))
    setting = Setting(tmp_path / "digits", n_jobs=1, say=lambda line: None)
    grids = {name: grid for name, grid in GRIDS.items() if name != LOCAL}
    methods = {name: METHODS[name] for name in (GLOBAL, TRACE, ROWS)}
    one = setting.run(methods, [fold], grids=grids, measure=MAP)
    other = setting.run(methods, [turned], grids=grids, measure=MAP)
    for name in methods:
        assert one[name].chosen == other[name].chosen != []
        assert_array_equal(one[name].scores, other[name].scores)
        assert one[name].mean(MAP) != other[name].mean(MAP)


def test_methods_go_by_their_names():
    assert list(METHODS) == [PLAIN, GLOBAL, LOCAL, TRACE, ROWS]
    assert [PLAIN, GLOBAL, LOCAL, TRACE, ROWS] == ["Euclidean", "GMML", "L-GMML", "MLR", "R-MLR"]
    assert [type(METHODS[name]) for name in (LOCAL, TRACE, ROWS)] == [LGMML, MLR, RMLR]
    assert METHODS[LOCAL].n_metrics == 50
    assert METHODS[LOCAL].query_vectors == METHODS[GLOBAL].query_vectors == "origin"
    assert METHODS[GLOBAL].n_metrics == 1
    assert GRIDS.keys() == QUICK_GRIDS.keys() == METHODS.keys() - {PLAIN}


def ranks(fold, scores):
    """The places of each query's documents."""
    parts = np.split(scores, fold.test.offsets[1:-1])
    return np.concatenate([np.argsort(np.argsort(-part)) for part in parts])


def test_the_plain_distance_and_the_global_metric_rank_by_their_formulas():
    fold = made_up(60).fold(0, seed=0)
    x = fold.test.features
    scores = METHODS[PLAIN].fit(fold.train).predict(fold.test)
    assert_allclose(scores, -np.einsum("ij,ij->i", x, x))
    scale = np.sqrt(np.mean(fold.train.features**2, axis=0))
    z, relevant = fold.train.features / scale, fold.train.labels > 0
    M = GMML(0.5, ridge=0.01).fit(z[relevant], z[~relevant]).metric_
    distances = np.einsum("ij,jk,ik->i", x / scale, M, x / scale)
    inner = distances <= np.einsum("ij,jk,ik->i", z, M, z).max()
    assert inner.mean() > 0.99
    model = METHODS[GLOBAL].fit(fold.train)
    ranked = ranks(fold, np.where(inner, model.predict(fold.test), -np.inf))
    assert_array_equal(ranked[inner], ranks(fold, np.where(inner, -distances, -np.inf))[inner])


@pytest.fixture(scope="module")
def folds():
    space = made_up(40)
    return [space.fold(number, 0) for number in range(4)]


@pytest.fixture(scope="module")
def results(folds):
    seconds = {PLAIN: 0.5, GLOBAL: 2.0, LOCAL: 4.0, TRACE: 24.0, ROWS: 30.0}
    return {
        name: made_up_result(
            folds, name, seed, seconds[name], chosen={"C": float(seed)} if seed else None
        )
        for seed, name in enumerate(METHODS)
    }


def rows(reproduction, title):
    (table,) = (table for table in reproduction.tables if table.title == title)
    return {row[0]: list(row[1:]) for row in table.rows}


def test_figure_5_has_means_and_deviations_over_the_splits(folds, results):
    reproduction = Reproduction("metric-retrieval", "digits")
    figure_5(reproduction, results, "About.")
    table = rows(reproduction, FIGURE_5)
    assert list(table) == list(METHODS)
    assert reproduction.tables[0].columns == [
        "method", "map", "map ±", "ndcg@10", "ndcg@10 ±", "map over Euclidean", "chosen (splits)",
    ]  # fmt: skip
    for seed, (name, cells) in enumerate(table.items()):
        for place, measure in enumerate((AveragePrecision(), NDCG(10))):
            means = [
                measure.mean(fold.test, run.scores)
                for fold, run in zip(folds, results[name].runs, strict=True)
            ]
            deviation = np.sqrt(np.sum((means - np.mean(means)) ** 2) / 3)
            assert cells[2 * place : 2 * place + 2] == pytest.approx([np.mean(means), deviation])
        assert cells[5] == (f"C={float(seed)} (4)" if seed else "")
    assert table[PLAIN][4] == ""
    gain = by_query(results[ROWS], results[PLAIN]).mean_difference
    assert table[ROWS][4].startswith(f"{gain:+.4f}, p ")
    (figure,) = reproduction.figures
    assert figure.chart.options["panels"] == {
        "digits": {name: [result.mean(MAP)] for name, result in results.items()}
    }


def test_table_3_has_seconds_of_a_split_and_the_papers_ratios(results):
    reproduction = Reproduction("metric-retrieval", "digits")
    table_3(reproduction, results)
    assert rows(reproduction, TABLE_3) == {
        GLOBAL: [2.0, 0.5],
        LOCAL: [4.0, 1.0],
        TRACE: [24.0, 6.0],
        ROWS: [30.0, 7.5],
    }
    # 607 / 4.7, 302 / 2.6 and 1241 / 7.8 of the paper's Table 3.
    note = "CAL10K are: Audio with PCA 129, Lyrics-128 116, Lyrics-256 159."
    assert reproduction.tables[0].note.endswith(note)
    (claim,) = reproduction.claims
    assert (claim.holds, claim.measured) == (True, "4.00 against 30.00 CPU seconds")
    turned = {**results, LOCAL: results[ROWS], ROWS: results[LOCAL]}
    table_3(reproduction, turned)
    assert reproduction.claims[-1].holds is False


def test_a_query_of_several_splits_counts_once(results):
    one, other = results[LOCAL], results[ROWS]
    by_hand = {}
    for query, a, b in zip(queries_of(one.test), one.values(MAP), other.values(MAP), strict=True):
        by_hand.setdefault(query, []).append((a, b))
    assert max(map(len, by_hand.values())) > 1
    means = np.array([np.mean(pairs, axis=0) for pairs in by_hand.values()])
    expected, result = paired_test(*means.T), by_query(one, other)
    assert result.mean_difference == pytest.approx(expected.mean_difference, abs=1e-12)
    assert result.p == pytest.approx(expected.p)
    assert result.wins + result.ties + result.losses == len(by_hand)


def test_claims_are_of_the_methods_they_name(folds, results):
    perfect = made_up_result(folds, LOCAL, 0)
    perfect = replace(
        perfect,
        runs=[
            replace(run, scores=fold.test.labels.copy())
            for run, fold in zip(perfect.runs, folds, strict=True)
        ],
    )
    for best, verdicts in {
        LOCAL: [True, True, True],
        ROWS: [False, None, None],
        TRACE: [None, False, None],
        GLOBAL: [None, None, False],
    }.items():
        # All others have the same scores, so that nothing else can be decided.
        same = dict.fromkeys(METHODS, results[PLAIN])
        reproduction = Reproduction("metric-retrieval", "digits")
        claims(reproduction, {**same, best: perfect})
        assert [claim.holds for claim in reproduction.claims] == verdicts
    assert [claim.says for claim in reproduction.claims] == [
        "L-GMML ranks better than R-MLR",
        "L-GMML ranks better than MLR",
        "local metrics rank better than the global one",
    ]


@pytest.mark.parametrize(
    ("quick", "n_splits", "n"),
    [(True, 2, 90), pytest.param(False, 10, 600, marks=pytest.mark.slow)],
)
def test_it_runs_all_methods_on_the_splits_and_tunes_by_map(
    monkeypatch, tmp_path, quick, n_splits, n
):
    asked = []

    def run(self, methods, parts, **options):
        asked.append((methods, parts, options))
        return {name: made_up_result(parts, name, seed) for seed, name in enumerate(methods)}

    monkeypatch.setattr(Setting, "run", run)
    reproduction = reproduce(Setting(tmp_path / "digits", quick=quick, store=tmp_path))
    ((methods, parts, options),) = asked
    assert methods == METHODS
    assert [part.name for part in parts] == [f"split {k}" for k in range(1, n_splits + 1)]
    assert parts[0].train.n_queries + parts[0].valid.n_queries + parts[0].test.n_queries == n
    assert options == {
        "grids": QUICK_GRIDS if quick else GRIDS, "measure": MAP, "store": tmp_path
    }  # fmt: skip
    assert [table.title for table in reproduction.tables] == [FIGURE_5, TABLE_3]
    assert f"{n_splits} splits of {n:,} images" in reproduction.tables[0].note
    assert len(reproduction.claims) == 4
    assert str(MEASURES[0]) == "map"


def test_digits_are_relevant_to_the_same_digit():
    from sklearn.datasets import load_digits

    space = digits(200, 5)
    assert space.queries.shape == space.documents.shape == (200, 5)
    assert_array_equal(space.relevant, space.relevant.T)
    assert space.relevant.diagonal().all()
    # As many of each digit as are drawn, by their numbers alone.
    drawn = load_digits().target[np.random.default_rng(0).permutation(1797)[:200]]
    assert_array_equal(space.relevant.sum(axis=1), np.bincount(drawn)[drawn])


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


def test_a_folder_that_holds_no_collection_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is none of the text collections cran, .*, nor digits"):
        space_of(Setting(tmp_path))


def test_coordinates_of_two_points_differ_by_1_on_average():
    points = unit_distances(np.random.default_rng(0).normal(3, [1, 5, 9], size=(50, 3)))
    differences = points[:, None] - points
    assert np.mean(differences**2) == pytest.approx(1)
