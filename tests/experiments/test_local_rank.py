from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank import LocalRanker
from localrank.data import Fold, clean, make_queries
from localrank.evaluation import clairvoyant_bound, run
from localrank.experiments import Reproduction, Setting, local_rank, local_rank_times
from localrank.experiments._local_rank_clusters import SIMILARITIES, clusters, labelled_clouds
from localrank.experiments.local_rank import METHODS, figure_1, figure_11, point_clouds, shares_won
from localrank.grouping import Agglomerative
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import RankSVM, SVMMap
from localrank.representations import PrincipalComponents, RelevantContrast, TopContrast
from localrank.selection import NearestQuery

MAP = AveragePrecision()


@pytest.fixture(scope="module")
def fold():
    dataset, _ = clean(make_queries(70, n_documents=(6, 12), n_features=6, n_types=2)[0])
    return Fold("Fold1", *(dataset.select(range(*ends)) for ends in ((0, 30), (30, 45), (45, 60))))


def rows(reproduction, start):
    (table,) = (table for table in reproduction.tables if table.title.startswith(start))
    return table.rows


def panels(reproduction, name):
    (figure,) = (figure for figure in reproduction.figures if figure.name.endswith(name))
    return figure.chart.options["panels"]


def test_figures_4_and_5_equal_a_loop_over_single_queries(fold):
    reproduction = Reproduction("local-rank", "made-up")
    together = run({"global": SVMMap(1.0)}, [fold])["global"]
    local_rank.single_queries(reproduction, [fold], together, [1.0], n_jobs=1)
    models = [SVMMap(1.0).fit(fold.train.select([q])) for q in range(fold.train.n_queries)]
    components = PrincipalComponents().fit(fold.train)
    distances = components.distances(
        components.transform(fold.test), components.transform(fold.train)
    )
    values = np.array([MAP(fold.test, model.predict(fold.test)) for model in models])
    nearest, ranks = [], []
    for test in range(fold.test.n_queries):
        order = sorted(range(len(models)), key=lambda q: distances[test, q])
        nearest.append(values[order[0], test])
        best = values[:, test].max()
        ranks.append(next(i for i, q in enumerate(order, 1) if values[q, test] > best - 1e-12))
    together = SVMMap(1.0).fit(fold.train).predict(fold.test)
    expected = {
        "global": MAP.mean(fold.test, together),
        "most similar": np.mean(nearest),
        "any": values.mean(),
        "clairvoyant": values.max(axis=0).mean(),
    }
    figure_4 = {row[0]: row[1] for row in rows(reproduction, "Figure 4")}
    assert figure_4 == pytest.approx(expected, abs=1e-12)
    figure_5 = {row[0]: row[1] for row in rows(reproduction, "Figure 5")}
    assert figure_5["at rank 1"] == np.mean(np.array(ranks) == 1)
    assert figure_5["among the first 5"] == np.mean(np.array(ranks) <= 5)
    chance = (values > values.max(axis=0) - 1e-12).mean(axis=0)
    assert figure_5["at rank 1 in a random order"] == pytest.approx(chance.mean())
    bars = panels(reproduction, "figure-4")["made-up"]
    assert {name: heights[0] for name, heights in bars.items()} == pytest.approx(
        expected, abs=1e-12
    )
    bars = panels(reproduction, "figure-5")["made-up"]["clairvoyant query"]
    assert bars[:3] == [np.mean(np.array(ranks) == rank) for rank in (1, 2, 3)]


@pytest.mark.parametrize(
    ("hits", "n", "holds"), [(0, 105, False), (11, 100, True), (2, 10, True), (40, 100, False)]
)
def test_about_11_percent_is_a_share_whose_interval_holds_it(hits, n, holds):
    low, high = local_rank.share_interval(np.arange(n) < hits)
    assert (low <= 0.11 <= high) is holds
    # Clopper and Pearson: at each end the counts as extreme as this one have probability 2.5 %.
    below = sum_of_binomials(n, range(hits + 1), high)
    above = sum_of_binomials(n, range(hits, n + 1), low)
    assert below == pytest.approx(0.025, abs=1e-6)
    assert above == pytest.approx(0.025, abs=1e-6) or hits == 0


@pytest.mark.parametrize("interval", [(0.0, 0.05), (0.05, 0.2), (0.2, 0.3)])
def test_the_claim_of_11_percent_is_judged_by_its_interval(fold, monkeypatch, interval):
    monkeypatch.setattr(local_rank, "share_interval", lambda hits: interval)
    reproduction = Reproduction("local-rank", "made-up")
    together = run({"global": SVMMap(1.0)}, [fold])["global"]
    local_rank.single_queries(reproduction, [fold], together, [1.0], n_jobs=1)
    (claim,) = (claim for claim in reproduction.claims if "about 11%" in claim.says)
    assert claim.holds is (interval == (0.05, 0.2))
    assert f"{interval[0]:.1%} to {interval[1]:.1%}" in claim.measured


def sum_of_binomials(n, counts, p):
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in counts)


@pytest.fixture(scope="module")
def clustered(fold, tmp_path_factory):
    reproduction = Reproduction("local-rank", "made-up")
    setting = Setting(tmp_path_factory.getbasetemp(), quick=True, n_jobs=1, say=lambda line: None)
    clusters(reproduction, setting, [fold], [1.0])
    return reproduction


def test_one_cluster_is_the_global_model_and_its_own_bound(clustered, fold):
    together = SVMMap(1.0).fit(fold.train).predict(fold.test)
    for row in rows(clustered, "Figures 6 to 8"):
        if row[1] == 1:
            measure = {"map": MAP, "ndcg@1": NDCG(1), "ndcg@5": NDCG(5)}[row[0]]
            assert_allclose(row[2:], measure.mean(fold.test, together), atol=1e-12)


def test_the_clairvoyant_choice_is_a_bound(clustered):
    for row in rows(clustered, "Figures 6 to 8"):
        assert row[3] >= row[2] - 1e-12


def test_curves_are_of_the_selected_clusters_and_of_the_best_in_hindsight(clustered, fold):
    for n in (2, 4):
        local = LocalRanker(PrincipalComponents(), Agglomerative(n), SVMMap(1.0), NearestQuery())
        bound = clairvoyant_bound(local.fit(fold.train), fold.train, fold.test, MAP, n_controls=1)
        best = np.max([MAP(fold.test, model.predict(fold.test)) for model in local.models_], axis=0)
        assert_allclose(bound.values, best)
        expected = {
            "LocalRank": MAP.mean(fold.test, local.predict(fold.test)),
            "clairvoyant": best.mean(),
        }
        assert expected["LocalRank"] < expected["clairvoyant"]
        (row,) = (row for row in rows(clustered, "Figures 6 to 8") if row[:2] == ["map", n])
        assert_allclose(row[2:4], list(expected.values()), atol=1e-12)
        drawn = panels(clustered, "figures-6-7-8")["map"]
        for name, value in expected.items():
            x, y = drawn[name]
            assert y[x.index(n)] == pytest.approx(value, abs=1e-12)


NAIVE = {
    "mean": lambda X: X.mean(axis=0),
    "variance": lambda X: X.var(axis=0),
    "skew": lambda X: ((X - X.mean(axis=0)) ** 3).mean(axis=0) / X.std(axis=0) ** 3,
}


@pytest.mark.parametrize("name", NAIVE)
def test_moments_of_figure_9_are_those_of_their_names(name, fold):
    described = SIMILARITIES[name].fit(fold.train).transform(fold.train)
    clouds = np.split(fold.train.features, fold.train.offsets[1:-1])
    assert_allclose(described, [NAIVE[name](cloud) for cloud in clouds], rtol=1e-9, atol=1e-12)


def test_divergences_of_figure_10_are_those_of_their_names():
    assert SIMILARITIES["symmetric KL"].distance == "kl"
    assert SIMILARITIES["Bhattacharyya"].distance == "bhattacharyya"
    assert isinstance(SIMILARITIES["principal components"], PrincipalComponents)


def test_figures_9_and_10_equal_local_models_by_each_similarity(clustered, fold):
    for name, similarity in SIMILARITIES.items():
        test, valid = {}, {}
        for n in (1, 2, 4):
            local = LocalRanker(similarity, Agglomerative(n), SVMMap(1.0), NearestQuery())
            local.fit(fold.train)
            test[n] = MAP.mean(fold.test, local.predict(fold.test))
            valid[n] = MAP.mean(fold.valid, local.predict(fold.valid))
        tuned = max(valid, key=valid.get)
        (row,) = (
            row
            for row in rows(clustered, "Figures 9 and 10: similarities")
            if row[:2] == [name, "map"]
        )
        assert row[2] == pytest.approx(max(test.values()), abs=1e-12)
        assert row[4:] == [pytest.approx(test[tuned], abs=1e-12), str(tuned)]


def test_compact_clusters_are_chosen_by_the_centre_that_agrees_best(clustered, fold):
    compact = {row[0]: row for row in rows(clustered, "Compact clusters")}
    assert list(compact) == [2, 4]
    for n, row in compact.items():
        local = LocalRanker(PrincipalComponents(), Agglomerative(n), SVMMap(1.0), NearestQuery())
        local.fit(fold.train)
        components = local.selector_.representation_
        asked, known = components.transform(fold.test), local.selector_.descriptions_
        values = np.array([MAP(fold.test, model.predict(fold.test)) for model in local.models_])
        by_query, by_centre = [], []
        for U in asked:
            agreement = np.abs(np.einsum("pd,qpd->qp", U, known)).sum(axis=1)
            by_query.append(local.groups_.home[agreement.argmax()])
            centres = []
            for members in local.groups_:
                projectors = np.einsum("qpi,qpj->pij", known[members], known[members])
                firsts = np.linalg.eigh(projectors)[1][..., -1]
                centres.append(np.abs(np.sum(firsts * U, axis=1)).sum())
            by_centre.append(np.argmax(centres))
        tests = np.arange(fold.test.n_queries)
        expected = [values[by_query, tests].mean(), values[by_centre, tests].mean()]
        assert_allclose(row[1:3], expected, atol=1e-12)
        assert row[3] == pytest.approx(expected[1] - expected[0], abs=1e-12)
        assert row[6] == np.mean(np.array(by_query) == by_centre)


def test_hindsight_is_never_worse_than_tuning_with_one_fold(clustered):
    similarities = rows(clustered, "Figures 9 and 10: similarities")
    assert len(similarities) == 6 * 3
    for row in similarities:
        assert row[2] >= row[4] - 1e-12


def test_wins_are_counted_as_in_the_paper():
    cells = {
        "LocalRank": {"map": 0.5, "ndcg@1": 0.5, "ndcg@5": 0.5, "ndcg@10": 0.5},
        "SVMMap": {"map": 0.501, "ndcg@1": 0.502, "ndcg@5": 0.5, "ndcg@10": 0.4},
        "KNN": {"map": 0.5, "ndcg@1": 0.4, "ndcg@5": 0.501},
    }
    assert shares_won({"a": cells}) == {"SVMMap": 0.75, "KNN": 1 / 3, "best": 0.25}
    twice = shares_won({"a": cells, "b": {"LocalRank": {"map": 1.0}, "KNN": {"map": 0.0}}})
    assert twice == {"SVMMap": 0.75, "KNN": 0.5, "best": 0.4}


@pytest.fixture(scope="module")
def compared(fold):
    """Figure 11 on made-up queries of five grades."""
    reproduction = Reproduction("local-rank", "OHSUMED")
    results = run({**METHODS, "D&K": SVMMap(10.0)}, [fold])
    figure_11(reproduction, results, results["D&K"])
    return reproduction, results


def test_binary_ndcg_takes_every_label_above_0_for_1(compared, fold):
    reproduction, results = compared
    good = fold.test.replaced(relevance=(fold.test.labels > 0).astype(float))
    assert fold.test.labels.max() > 1
    cells = {(row[0], row[1]): row[2:] for row in rows(reproduction, "Figure 11")}
    for method in ("SVMMap", "RankBoost", "KNN", "LocalRank", "D&K"):
        scores = results[method].scores
        for cutoff in (1, 5, 10):
            graded, binary = (
                cells[method, f"ndcg@{cutoff}"],
                cells[method, f"ndcg@{cutoff}, binary"],
            )
            assert graded[0] == pytest.approx(NDCG(cutoff).mean(fold.test, scores), abs=1e-12)
            assert binary[0] == pytest.approx(NDCG(cutoff).mean(good, scores), abs=1e-12)
            assert graded[0] != binary[0]
            assert graded[1] == binary[1]
            assert binary[2] == pytest.approx(binary[0] - binary[1])
        assert cells[method, "map"][0] == pytest.approx(MAP.mean(good, scores), abs=1e-12)
        assert (method, "map, binary") not in cells


def test_where_the_paper_has_numbers_it_is_said_what_stays_unexplained(compared):
    reproduction, results = compared
    (table,) = (table for table in reproduction.tables if table.title.startswith("Figure 11"))
    assert "stays unexplained" in table.note
    assert "0.4453" in table.note
    assert "0.563" in table.note
    other = Reproduction("local-rank", "MQ2008")
    figure_11(other, results, results["D&K"])
    assert "unexplained" not in other.tables[0].note


def slowly(monkeypatch, module, slow):
    """Let a clock say how many calls of a slow function something takes."""
    count = [0]

    def milliseconds(run, n_runs=1):
        before = count[0]
        run()
        return float(count[0] - before)

    def counted(function):
        def call(*args, **options):
            count[0] += 1
            return function(*args, **options)

        return call

    for owner, name in slow:
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    monkeypatch.setattr(module, "milliseconds", milliseconds)


def test_recall_is_how_often_hashing_finds_the_nearest_query(fold, monkeypatch):
    reproduction = Reproduction("local-rank", "made-up")
    local_rank_times.times(reproduction, fold, 1.0, quick=True, n_jobs=1)
    (table,) = (table for table in reproduction.tables if table.title.startswith("Figures 12"))
    assert {row[-1] for row in table.rows} == {1.0}
    assert table.columns[-1] == "recall"

    def farthest(index, asked):
        components = PrincipalComponents(index.descriptions_.shape[1])
        distances = components.distances(asked, index.descriptions_)
        nearest = distances.argmin(axis=1)
        nearest[: len(nearest) // 3] = distances.argmax(axis=1)[: len(nearest) // 3]
        return nearest

    monkeypatch.setattr(local_rank_times.LSH, "nearest", farthest)
    local_rank_times.times(reproduction, fold, 1.0, quick=True, n_jobs=1)
    n = fold.test.n_queries
    assert reproduction.tables[-1].rows[-1][-1] == pytest.approx(1 - n // 3 / n)


def test_training_times_are_those_of_the_methods_in_their_columns(fold, monkeypatch):
    reproduction = Reproduction("local-rank", "made-up")
    slowly(monkeypatch, local_rank_times, [(SVMMap, "_fit"), (RankSVM, "_fit")])
    monkeypatch.setattr(local_rank_times, "N_NEIGHBOURS", 3)
    local_rank_times.times(reproduction, fold, 1.0, quick=True, n_jobs=1)
    row = dict(zip(reproduction.tables[0].columns, reproduction.tables[0].rows[-1], strict=True))
    assert row["training queries"] == round(0.8 * fold.train.n_queries)
    assert row["SVMMap, training"] == 1
    assert row["LocalRank, training"] == 4
    assert 12 < row["KNN, training"] <= row["training queries"]
    drawn = panels(reproduction, "figure-13")["made-up"]
    assert {name: y[-1] for name, (_, y) in drawn.items()} == {
        name.split(", ")[0]: value for name, value in row.items() if name.endswith("training")
    }


def test_figure_14_counts_the_queries_that_hashing_finds(monkeypatch):
    reproduction = Reproduction("local-rank", "made-up")
    monkeypatch.setattr(local_rank_times, "QUICK_SIZES", (60, 300))
    local_rank_times.figure_14(reproduction, quick=True, random_state=0)
    columns = reproduction.tables[0].columns
    assert [row[0] for row in reproduction.tables[0].rows] == [60, 300]
    for row in reproduction.tables[0].rows:
        cells = dict(zip(columns, row, strict=True))
        assert cells["its recall"] == 1
        assert cells["exact / centres"] == pytest.approx(cells["exact"] / cells["centres"])
    drawn = panels(reproduction, "figure-14")["made-up queries"]
    assert set(drawn) == {"exact", "centres", "LSH", "LSH, rescored"}
    for name, (x, y) in drawn.items():
        assert x == (60, 300)
        assert y == [row[columns.index(name)] for row in reproduction.tables[0].rows]
    monkeypatch.setattr(
        local_rank_times.LSH, "nearest", lambda index, asked: np.full(len(asked), -1)
    )
    local_rank_times.figure_14(reproduction, quick=True, random_state=0)
    assert reproduction.tables[-1].rows[0][5] == reproduction.tables[-1].rows[0][7] == 0


def test_made_up_queries_are_orthonormal_and_copies_turned_by_the_angle():
    rng = np.random.default_rng(0)
    known = local_rank_times.made_up_directions(50, 3, 40, rng)
    turned = local_rank_times.turned_copies(known, 30, rng)
    for directions in (known, turned):
        products = np.einsum("qpd,qrd->qpr", directions, directions)
        assert_allclose(products, np.tile(np.eye(3), (50, 1, 1)), atol=1e-6)
    cosines = np.abs(np.sum(known * turned, axis=2))
    assert_allclose(cosines[:, 0], np.cos(np.pi / 6), atol=1e-6)
    assert_allclose(cosines.mean(), np.cos(np.pi / 6), atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_figure_1_holds_for_any_clouds(seed):
    reproduction = Reproduction("local-rank", "made-up")
    figure_1(reproduction, seed)
    assert reproduction.claims[0].holds
    ours = {(row[0], row[1]): row[2] for row in reproduction.tables[0].rows}
    assert ours["q2", "map"] > ours["q3", "map"]
    assert ours["q2", "principal components"] < ours["q3", "principal components"]
    for name in ("symmetric KL", "Bhattacharyya", "KNN"):
        assert ours["q2", name] > ours["q3", name]


def test_the_clouds_are_as_the_figure_needs_them():
    queries = point_clouds(0)
    q1, q2, q3 = (queries.features[queries.query_index == i] for i in range(3))
    assert np.linalg.norm(q1.mean(axis=0) - q2.mean(axis=0)) > 90
    assert np.linalg.norm(q1.mean(axis=0) - q3.mean(axis=0)) < 1


def test_clouds_with_labels_equal_local_models_of_each_description(fold, tmp_path):
    reproduction = Reproduction("local-rank", "made-up")
    setting = Setting(tmp_path, quick=True, n_jobs=1, say=lambda line: None)
    labelled_clouds(reproduction, setting, [fold], [1.0])
    table = {tuple(row[:2]): row for row in rows(reproduction, "Clouds with labels")}
    assert len(table) == 2 * 6
    parts = {
        "components": (PrincipalComponents(), PrincipalComponents()),
        "labels, then components": (RelevantContrast(), PrincipalComponents()),
        "labels, then top 5": (RelevantContrast(), TopContrast(n=5)),
        "labels, then top 10": (RelevantContrast(), TopContrast(n=10)),
        "top 5": (TopContrast(n=5), TopContrast(n=5)),
        "top 10": (TopContrast(n=10), TopContrast(n=10)),
    }
    values, tuned_values = {}, {}
    for name, (grouped, compared) in parts.items():
        models = {
            n: LocalRanker(
                grouped, Agglomerative(n), SVMMap(1.0), NearestQuery(representation=compared)
            ).fit(fold.train)
            for n in (1, 2, 4)
        }
        valid = {n: MAP.mean(fold.valid, models[n].predict(fold.valid)) for n in (1, 2)}
        tuned = max(valid, key=valid.get)
        values[name] = MAP.mean(fold.test, models[4].predict(fold.test))
        assert table[name, "4"][2] == pytest.approx(values[name], abs=1e-12)
        tuned_values[name, str(tuned)] = MAP.mean(fold.test, models[tuned].predict(fold.test))
        assert table[name, str(tuned)][2] == pytest.approx(
            tuned_values[name, str(tuned)], abs=1e-12
        )
    (tuned_components,) = (v for (name, _), v in tuned_values.items() if name == "components")
    expected = {key: value - tuned_components for key, value in tuned_values.items()}
    expected |= {(name, "4"): value - values["components"] for name, value in values.items()}
    for key, difference in expected.items():
        if key[0] != "components":
            assert table[key][5] == pytest.approx(difference, abs=1e-12)
