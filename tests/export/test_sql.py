import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from engines.databases import rank_in_duckdb, rank_in_sqlite
from trees.random_trees import N_FEATURES, random_documents, random_trees

from localrank.data import RankingDataset, read_letor
from localrank.export import SQL, ExportedModel, NotExportable, sql
from localrank.export.writing import exported_model
from localrank.formulas import (
    Column,
    Linear,
    Net,
    OnColumns,
    Standardised,
    TreeSum,
    WeightedSum,
    simplified,
)
from localrank.rankers import LambdaMART, Quadratic, RankSVM

DATABASES = {"emulation": SQL().scores, "sqlite": rank_in_sqlite, "duckdb": rank_in_duckdb}
in_every_database = pytest.mark.parametrize("run", DATABASES.values(), ids=DATABASES.keys())


def files_of(formula, n_features, names=None):
    names = names or tuple(f"f{number}" for number in range(1, n_features + 1))
    return SQL().files(ExportedModel("some_model", formula, names))


def documents(rng, trees):
    rows = random_documents(rng, 150, np.float64, trees.thresholds)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows = np.clip(rows, -1e99, 1e99)
    rows[:, 0] = np.nan_to_num(rows[:, 0])
    return RankingDataset.from_arrays(rows, qid=np.arange(len(rows)) // 10)


@in_every_database
def test_trees_have_the_bits_of_the_rankers_at_their_thresholds(run, rng):
    for _ in range(3):
        trees = random_trees(rng, 10, 12)
        dataset = documents(rng, trees)
        scores = run(files_of(TreeSum(trees), N_FEATURES), dataset)
        assert (scores == trees.score(dataset.features)).all()


@in_every_database
@pytest.mark.parametrize("n_features", [1, 3, 4, 7, 8])
def test_weighted_sums_have_the_bits_of_the_rankers(run, n_features, rng):
    dataset = RankingDataset.from_arrays(rng.normal(size=(50, n_features)), qid=[0] * 50)
    for constant in (0.0, -2.5e-7):
        formula = Linear(rng.normal(size=n_features) * 10.0 ** rng.integers(-9, 9), constant)
        assert (run(files_of(formula, n_features), dataset) == formula.score(dataset)).all()


@in_every_database
def test_sums_of_trees_and_products_have_the_bits_of_the_formula(run, rng):
    trees = random_trees(rng, 4, 5)
    dataset = documents(rng, trees)
    dataset = dataset.with_features(np.clip(np.nan_to_num(dataset.features), -1e9, 1e9))
    columns = (Column("product", 0, 3), Column("feature", 2))
    products = OnColumns(
        columns,
        Linear(np.array([0.3, 2.0])),
        lambda given: given.with_features(
            np.stack([given.features[:, 0] * given.features[:, 3], given.features[:, 2]], axis=1)
        ),
    )
    formula = WeightedSum((TreeSum(trees), products), np.array([1 / 3, -0.7]), 5.0)
    scores = run(files_of(formula, N_FEATURES), dataset)
    assert (scores == formula.score(dataset)).all()


@pytest.mark.parametrize("magnitude", [0, 3, -3, 10, -10, 18, -18, 37, -37, 300, -300])
def test_numbers_read_back_as_they_were(magnitude, rng):
    values = rng.normal(size=400) * 10.0**magnitude
    values[:100] = rng.integers(-999, 999, 100) * 10.0**magnitude
    texts = ", ".join(map(sql._number, values.tolist()))
    read = sqlite3.connect(":memory:").execute(f"SELECT {texts}").fetchone()
    assert list(read) == values.tolist()


@in_every_database
def test_names_of_columns_may_be_anything(run):
    names = ('say "x"', "group", "1; DROP TABLE documents", "score", "ü")
    formula = Linear(np.array([1.0, 10.0, 100.0, 1000.0, 10000.0]))
    files = files_of(formula, 5, names)
    dataset = RankingDataset.from_arrays([[1.0, 2.0, 3.0, 4.0, 5.0]], qid=[0])
    assert run(files, dataset).tolist() == [54321.0]
    assert 'AS "score_"' in files["some_model.sql"]


def test_deep_trees_are_not_nested(rng):
    trees = random_trees(rng, 2, 200)
    dataset = documents(rng, trees)
    scores = SQL().scores(files_of(TreeSum(trees), N_FEATURES), dataset)
    assert (scores == trees.score(dataset.features)).all()


def test_as_many_trees_as_are_taken_can_be_run_and_more_are_refused(rng):
    trees = random_trees(rng, sql.MAX_TREES, 3)
    dataset = documents(rng, trees).taken(np.arange(3))
    scores = SQL().scores(files_of(TreeSum(trees), N_FEATURES), dataset)
    assert (scores == trees.score(dataset.features)).all()
    with pytest.raises(NotExportable, match="A sum of 801 trees cannot.*depth"):
        files_of(TreeSum(random_trees(rng, 801, 2)), N_FEATURES)


def test_long_queries_are_refused(rng, monkeypatch):
    trees = random_trees(rng, 10, 20)
    monkeypatch.setattr(sql, "MAX_CHARACTERS", 5000)
    with pytest.raises(NotExportable, match=r"characters cannot be exported: .* at most 5,000"):
        files_of(TreeSum(trees), N_FEATURES)


def test_what_looks_at_the_list_is_refused():
    with pytest.raises(NotExportable, match="standardises scores within the query.*onnx"):
        files_of(Standardised(Linear(np.ones(2))), 2)


def test_names_that_differ_in_case_alone_are_refused():
    with pytest.raises(NotExportable, match="'bm25' and 'BM25'"):
        files_of(Linear(np.ones(2)), 2, ("bm25", "BM25"))


def test_a_missing_value_of_a_linear_model_gives_no_score():
    dataset = RankingDataset.from_arrays([[1.0], [np.nan]], qid=[0, 0])
    assert np.isnan(SQL().scores(files_of(Linear(np.ones(1)), 1), dataset)).tolist() == [
        False,
        True,
    ]


@in_every_database
def test_rankers_of_mq2008_have_the_bits_of_predict(run, benchmark_data):
    dataset = read_letor(benchmark_data / "MQ2008" / "S1.txt.gz").taken(np.arange(50))
    for ranker in (LambdaMART(10), RankSVM()):
        scores = run(SQL().files(exported_model(ranker.fit(dataset))), dataset)
        assert (scores == ranker.predict(dataset)).all()


def test_products_of_a_ranker_score_to_rounding(queries):
    ranker = Quadratic(RankSVM()).fit(queries)
    formula = simplified(ranker.formula())
    scores = SQL().scores(files_of(formula, queries.n_features), queries)
    np.testing.assert_allclose(scores, ranker.predict(queries), rtol=1e-9, atol=1e-12)


def test_values_that_lightgbm_takes_for_zero_go_as_zero(rng):
    trees = replace(random_trees(rng, 1, 2), thresholds=np.array([1e-36]))
    trees = replace(trees, split_features=np.zeros(1, np.int32), decisions=np.zeros(1, np.uint8))
    rows = np.zeros((3, N_FEATURES))
    rows[:, 0] = [0.0, 9e-36, 2e-35]
    dataset = RankingDataset.from_arrays(rows, qid=[0] * 3)
    scores = SQL().scores(files_of(TreeSum(trees), N_FEATURES), dataset)
    assert (scores == trees.score(rows)).all()
    assert scores[0] == scores[1] != scores[2]


def test_a_net_and_what_fills_missing_values_are_refused():
    one, row = np.ones(1), np.ones(2)
    net = Net(np.ones((1, 2)), one, one, row, mean=row, scale=row, most=3.0)
    with pytest.raises(NotExportable, match="a net is too long.*onnx"):
        files_of(net, 2)
    filled = OnColumns((Column("filled", 0),), Linear(np.ones(1)), lambda dataset: dataset)
    with pytest.raises(NotExportable, match="replaces missing values with the median.*onnx"):
        files_of(filled, 2)


def test_more_columns_than_databases_take_are_refused():
    assert files_of(Linear(np.ones(1600)), 1600)
    with pytest.raises(NotExportable, match="1,601 features .*columns"):
        files_of(Linear(np.ones(1601)), 1601)


@pytest.mark.parametrize("name", ["documents", "Documents"])
def test_a_model_cannot_have_the_name_of_the_table(name):
    with pytest.raises(ValueError, match=f"{name}.*the table has this name"):
        SQL().files(ExportedModel(name, Linear(np.ones(1)), ("f1",)))
