import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import Fold, clean, make_queries
from localrank.evaluation import run
from localrank.experiments import local_rank
from localrank.experiments.base import Reproduction
from localrank.experiments.local_rank_methods import shares_won
from localrank.experiments.point_clouds import figure_1, point_clouds
from localrank.experiments.query_clusters import clusters
from localrank.experiments.setting import Setting
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import SVMMap
from localrank.representations import PrincipalComponents

MAP = AveragePrecision()


@pytest.fixture(scope="module")
def fold():
    dataset, _ = clean(make_queries(70, n_documents=(6, 12), n_features=6, n_types=2)[0])
    return Fold("Fold1", *(dataset.select(range(*ends)) for ends in ((0, 30), (30, 45), (45, 60))))


def rows(found, start):
    (table,) = (table for table in found.tables if table.title.startswith(start))
    return table.rows


def test_figures_4_and_5_equal_a_loop_over_single_queries(fold):
    found = Reproduction("local-rank", "made-up")
    together = run({"global": SVMMap(1.0)}, [fold])["global"]
    local_rank.single_queries(found, [fold], together, [1.0], n_jobs=1)
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
    figure_4 = {row[0]: row[1] for row in rows(found, "Figure 4")}
    assert figure_4 == pytest.approx(expected, abs=1e-12)
    figure_5 = {row[0]: row[1] for row in rows(found, "Figure 5")}
    assert figure_5["at rank 1"] == np.mean(np.array(ranks) == 1)
    assert figure_5["among the first 5"] == np.mean(np.array(ranks) <= 5)
    chance = (values > values.max(axis=0) - 1e-12).mean(axis=0)
    assert figure_5["at rank 1 in a random order"] == pytest.approx(chance.mean())


@pytest.fixture(scope="module")
def clustered(fold, tmp_path_factory):
    found = Reproduction("local-rank", "made-up")
    setting = Setting(tmp_path_factory.getbasetemp(), quick=True, n_jobs=1, say=lambda line: None)
    clusters(found, setting, [fold], [1.0])
    return found


def test_one_cluster_is_the_global_model_and_its_own_bound(clustered, fold):
    together = SVMMap(1.0).fit(fold.train).predict(fold.test)
    for row in rows(clustered, "Figures 6 to 8"):
        if row[1] == 1:
            measure = {"map": MAP, "ndcg@1": NDCG(1), "ndcg@5": NDCG(5)}[row[0]]
            assert_allclose(row[2:], measure.mean(fold.test, together), atol=1e-12)


def test_the_clairvoyant_choice_is_a_bound(clustered):
    for row in rows(clustered, "Figures 6 to 8"):
        assert row[3] >= row[2] - 1e-12


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


@pytest.mark.parametrize("seed", range(3))
def test_figure_1_holds_for_any_clouds(seed):
    found = Reproduction("local-rank", "made-up")
    figure_1(found, seed)
    assert found.claims[0].holds
    ours = {(row[0], row[1]): row[2] for row in found.tables[0].rows}
    assert ours["q2", "map"] > ours["q3", "map"]
    assert ours["q2", "principal components"] < ours["q3", "principal components"]
    for name in ("symmetric KL", "Bhattacharyya", "KNN"):
        assert ours["q2", name] > ours["q3", name]


def test_the_clouds_are_as_the_figure_needs_them():
    queries = point_clouds(0)
    q1, q2, q3 = (queries.features[queries.query_index == i] for i in range(3))
    assert np.linalg.norm(q1.mean(axis=0) - q2.mean(axis=0)) > 90
    assert np.linalg.norm(q1.mean(axis=0) - q3.mean(axis=0)) < 1
