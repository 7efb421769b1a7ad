"""Scores of SQL files by real databases."""

import sqlite3

import numpy as np

from localrank.data import RankingDataset

VERSIONS = {"sqlite": f"SQLite {sqlite3.sqlite_version}"}


def rank_in_sqlite(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of SQLite, the copy that Python comes with, one per row."""
    table, query = _texts(files)
    connection = sqlite3.connect(":memory:")
    connection.execute(table)
    places = ", ".join("?" * dataset.n_features)
    rows = np.where(np.isnan(dataset.features), None, dataset.features.astype(np.float64))
    connection.executemany(f'INSERT INTO "documents" VALUES ({places})', rows.tolist())
    scores = [row[-1] for row in connection.execute(query)]
    connection.close()
    return np.array(scores, np.float64)


def rank_in_duckdb(files: dict, dataset: RankingDataset) -> np.ndarray:
    """Scores of DuckDB, one per row."""
    import duckdb
    import pyarrow

    table, query = _texts(files)
    columns = [
        pyarrow.array(column.astype(np.float64), mask=np.isnan(column))
        for column in dataset.features.T
    ]
    rows = pyarrow.table(columns, names=[str(number) for number in range(len(columns))])
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(table)
        connection.register("rows", rows)
        connection.execute('INSERT INTO "documents" SELECT * FROM rows')
        scores = [row[-1] for row in connection.execute(query).fetchall()]
    return np.array(scores, np.float64)


def _texts(files: dict) -> tuple[str, str]:
    texts = {
        name: content if isinstance(content, str) else content.decode()
        for name, content in files.items()
    }
    table = texts.pop("documents.sql")
    (query,) = (text for name, text in texts.items() if name.endswith(".sql"))
    return table, query
