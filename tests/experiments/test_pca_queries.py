"""The tables against models that are trained here, one by one."""

from types import SimpleNamespace

import numpy as np
import pytest

from localrank.data import RankingDataset, folds, make_queries, write_letor
from localrank.evaluation import tune
from localrank.experiments import Setting
from localrank.experiments.pca_queries import CS, MAP, MEASURES, NAMES, reproduce
from localrank.experiments.pca_queries import share_at_the_maximum as share
from localrank.experiments.text_collections import raw_features, read_collection
from localrank.rankers import RankSVM
from localrank.recipes import pca_queries
from localrank.representations import Scaled, TopScores

QUICK_CS = CS[1:4]


def rows(reproduction, title):
    (table,) = (table for table in reproduction.tables if table.title.startswith(title))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def means(parts, models):
    """Of each measure over the test queries of all folds, a model for each."""
    pairs = list(zip(parts, models, strict=True))
    return {
        name: np.concatenate(
            [m(fold.test, model.predict(fold.test)) for fold, model in pairs]
        ).mean()
        for name, m in zip(NAMES, MEASURES, strict=True)
    }


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """A quick one, on queries of two types with one feature in another unit."""
    dataset, _ = make_queries(
        60, n_documents=(12, 18), n_features=6, n_types=2, separation=2, random_state=5
    )
    noise = 1e5 * np.random.default_rng(0).normal(size=(dataset.n_documents, 1))
    features = np.hstack([dataset.features, noise])
    dataset = RankingDataset.from_arrays(features, dataset.labels, dataset.query_index)
    folder = tmp_path_factory.mktemp("data") / "made-up"
    folder.mkdir()
    for part in range(3):
        write_letor(dataset.select(range(part, 60, 3)), folder / f"S{part + 1}.txt")
    setting = Setting(folder, quick=True, n_jobs=1, say=lambda line: None)
    parts = list(folds(folder))[:2]
    chosen = [
        tune(RankSVM(), {"C": QUICK_CS}, fold.train, measure=MAP, valid=fold.valid)
        for fold in parts
    ]
    local = [
        tune(
            pca_queries(2),
            {"ranker__C": QUICK_CS, "representation__scaling": [None, "standard"]},
            fold.train,
            measure=MAP,
            valid=fold.valid,
        )
        for fold in parts
    ]
    return SimpleNamespace(reproduction=reproduce(setting), parts=parts, chosen=chosen, local=local)


def test_methods_have_the_means_of_their_own_models(experiment):
    together = means(experiment.parts, [search.best_estimator for search in experiment.chosen])
    local = means(experiment.parts, [search.best_estimator for search in experiment.local])
    for row in rows(experiment.reproduction, "Section 4.2"):
        assert row["RankSVM"] == pytest.approx(together[row["measure"]])
        assert row["PCA queries"] == pytest.approx(local[row["measure"]])
        assert row["difference"] == pytest.approx(row["PCA queries"] - row["RankSVM"])
    # Two types are worth two models, so that no column can stand for another.
    assert local["map"] > together["map"] + 0.05
    assert len({round(value, 6) for value in (*together.values(), *local.values())}) > 14


def test_the_claim_is_decided_by_the_difference_in_map(experiment):
    claim, _ = experiment.reproduction.claims
    (row,) = (r for r in rows(experiment.reproduction, "Section 4.2") if r["measure"] == "map")
    assert claim.holds
    assert claim.measured.startswith(f"MAP {row['difference']:+.4f}")


@pytest.mark.parametrize(("column", "scaling"), [("no scaling", None), ("standard", "standard")])
def test_columns_of_a_scaling_are_of_models_with_it(experiment, column, scaling):
    def mean(n_clusters, **parameters):
        models = [
            pca_queries(
                n_clusters, ranker=search.best_estimator, scaling=scaling, **parameters
            ).fit(fold.train)
            for fold, search in zip(experiment.parts, experiment.chosen, strict=True)
        ]
        return pytest.approx(means(experiment.parts, models)["map"])

    for row in rows(experiment.reproduction, "MAP against the number of clusters"):
        assert row[column] == mean(row["clusters"])
    for row in rows(experiment.reproduction, "MAP against the number of highest"):
        assert row[column] == mean(4, h=row["h"])
    for row in rows(experiment.reproduction, "Section 5"):
        if row["scaling"] == column.replace("no scaling", "none"):
            assert row["0.95"] == mean(4, n_components=0.95)
            assert row["all"] == mean(4, n_components=1.0)


def test_scaling_finds_types_beside_a_feature_in_another_unit(experiment):
    last = rows(experiment.reproduction, "MAP against the number of clusters")[-1]
    assert last["standard"] > last["no scaling"] + 0.05
    assert last["clairvoyant"] >= last["standard"]
    (row,) = rows(experiment.reproduction, "What the highest values carry")
    tests = experiment.parts[0].test, experiment.parts[1].test
    every = RankingDataset.from_arrays(
        np.concatenate([t.features for t in tests]),
        qid=np.concatenate([t.query_index + 100 * i for i, t in enumerate(tests)]),
    )
    assert row["components, scaling none"] == 1
    scaled = TopScores(scaling="standard").fit(every)
    assert row["components, scaling standard"] == len(scaled.components_) > 1
    within = Scaled(TopScores()).fit(every).representation_
    assert row["components, scaling within queries"] == len(within.components_)


def test_values_at_the_maximum_are_counted_among_features_that_vary():
    # The highest of the first feature are 1, 1 and 0.5; the second never varies.
    X = [[1.0, 3.0], [0.0, 3.0], [1.0, 3.0], [1.0, 3.0], [0.5, 3.0]]
    dataset = RankingDataset.from_arrays(X, qid=[1, 1, 2, 2, 3])
    assert share(dataset, 1) == pytest.approx(2 / 3)
    # With two: 1 and 0, 1 and 1, 0.5.
    assert share(dataset, 2) == pytest.approx(3 / 5)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two collections of random words; relevant documents have a word of the query, mostly."""
    root = tmp_path_factory.mktemp("texts") / "text"
    rng = np.random.default_rng(1)
    for name, file in (("med", "MED"), ("cisi", "CISI")):
        (root / name).mkdir(parents=True)
        words = np.array([f"w{i}" for i in range(40)])
        documents = [rng.choice(words, rng.integers(5, 12)) for _ in range(130)]
        queries = [rng.choice(words, 2, replace=False) for _ in range(15)]
        texts = [" ".join(words) for words in documents]
        judged = [
            (q + 1, d + 1)
            for q, query in enumerate(queries)
            for d, document in enumerate(documents)
            if (np.isin(query, document).any() and rng.random() < 0.4) or rng.random() < 0.05
        ]
        for end, records in (("ALL", texts), ("QRY", [" ".join(q) for q in queries])):
            text = "".join(f".I {i + 1}\n.W\n{record}\n" for i, record in enumerate(records))
            (root / name / f"{file}.{end}").write_text(text)
        lines = "".join(f"{q} {d}\n" for q, d in judged)
        (root / name / f"{file}.REL").write_text(lines)
    return root


@pytest.mark.slow
def test_text_collections_are_ranked_by_their_raw_features(texts):
    setting = Setting(texts, quick=True, n_jobs=1, say=lambda line: None)
    reproduction = reproduce(setting)
    ranked = {row["collection"]: row for row in rows(reproduction, "Text collections")}
    assert list(ranked) == ["cisi", "med"]
    methods = rows(reproduction, "Section 4.2")
    for name, row in ranked.items():
        collection = read_collection(texts / name)
        parts = list(folds(raw_features(collection)))[:2]
        asked = np.concatenate([fold.test.query_ids for fold in parts])
        kept = sum(int((fold.test.labels > 0).sum()) for fold in parts)
        judged = sum(query + 1 in asked for query, _, _ in collection.judgments)
        assert kept < judged
        assert list(row.values()) == [name, 130, len(asked), judged, kept, kept / judged]
        both = {"ranker__C": QUICK_CS, "representation__scaling": [None, "standard"]}
        for column, ranker, grid in (
            ("RankSVM", RankSVM(), {"C": QUICK_CS}),
            ("PCA queries", pca_queries(2), both),
            ("PCA queries or RankSVM", pca_queries(), both | {"grouping__n_clusters": [1, 2]}),
        ):
            tuned = [tune(ranker, grid, f.train, measure=MAP, valid=f.valid) for f in parts]
            expected = means(parts, [search.best_estimator for search in tuned])
            by_measure = {r["measure"]: r[column] for r in methods if r["collection"] == name}
            assert by_measure == pytest.approx(expected)
    # One model for all is better somewhere, and is chosen.
    assert any(row["PCA queries or RankSVM"] != row["PCA queries"] for row in methods)
    assert sum("on med" in claim.says for claim in reproduction.claims) == 2


@pytest.mark.slow
def test_one_text_collection_goes_by_its_own_folder(texts):
    setting = Setting(texts / "med", quick=True, n_jobs=1, say=lambda line: None)
    reproduction = reproduce(setting)
    assert [row["collection"] for row in rows(reproduction, "Text collections")] == ["med"]
