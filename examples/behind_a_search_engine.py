"""A search engine finds candidates, and a localrank service ranks them.

SQLite's full-text search is the engine. It returns fifty products for a query, with features of
each. A model learns from a log of these features and of what people liked. `localrank serve`
serves it, and `localrank.client` asks it for the order to show. For another engine, change only
`candidates`.
"""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from localrank.client import Client
from localrank.data import RankingDataset
from localrank.measures import NDCG
from localrank.recipes import fast

KINDS = ["lamp", "chair", "table", "shelf", "sofa", "bed", "desk", "rug"]
TRAITS = ["red", "oak", "small", "soft", "steel", "round", "old", "light", "garden", "office"]
FEATURES = ["bm25_name", "bm25_text", "price", "rating", "sold"]
rng = np.random.default_rng(0)


def catalogue() -> sqlite3.Connection:
    """Two thousand products, searchable by name and text."""
    engine = sqlite3.connect(":memory:")
    engine.execute("create virtual table product using fts5(name, text, price, rating, sold)")
    for _ in range(2000):
        kind, (first, *others) = rng.choice(KINDS), rng.choice(TRAITS, 5, replace=False)
        text = f"{' '.join(others)} {kind} {' '.join(rng.choice(KINDS, 2))}"
        numbers = rng.gamma(2, 50), rng.uniform(1, 5), rng.poisson(20)
        engine.execute(
            "insert into product values (?, ?, ?, ?, ?)", (f"{first} {kind}", text, *numbers)
        )
    return engine


def candidates(engine: sqlite3.Connection, query: str) -> tuple[list[int], list[str], np.ndarray]:
    """Ids, names and features of the fifty products that fit the words best."""
    # The engine's score is negative; lower is better.
    rows = engine.execute(
        "select rowid, name, -bm25(product, 1, 0), -bm25(product, 0, 1), price, rating, sold "
        "from product where product match ? order by rank limit 50",
        (" OR ".join(query.split()),),
    ).fetchall()
    return [row[0] for row in rows], [row[1] for row in rows], np.array([row[2:] for row in rows])


def liking(features: np.ndarray) -> np.ndarray:
    """How much people like products. A real log would tell."""
    name, text, price, rating, sold = features.T
    noise = rng.normal(0, 1, len(name))
    return np.asarray(name + text + 2 * rating - price / 50 + np.sqrt(sold) + noise)


engine = catalogue()
queries: list[str] = [f"{trait} {kind}" for trait in TRAITS for kind in KINDS]
rng.shuffle(queries)

# The feature log: for each query what was shown, and how well people liked it (0 to 4).
X: list[np.ndarray] = []
y: list[np.ndarray] = []
qid: list[str] = []
for query in queries:
    shown = candidates(engine, query)[2]
    likes = liking(shown)
    X.append(shown)
    y.append(np.searchsorted(np.quantile(likes, [0.5, 0.75, 0.9, 0.97]), likes))
    qid += [query] * len(shown)
log = RankingDataset.from_arrays(np.concatenate(X), np.concatenate(y), qid, feature_names=FEATURES)
train, test = log.select(range(60)), log.select(range(60, log.n_queries))
model = fast().fit(train)
print(f"NDCG@10 by the engine's text score: {NDCG(10).mean(test, test.features[:, 0]):.3f}")
print(f"NDCG@10 by the model:               {NDCG(10).mean(test, model.predict(test)):.3f}")

with TemporaryDirectory() as folder:
    path = Path(folder, "products.localrank")
    model.save(path)
    command = [sys.executable, "-m", "localrank", "serve", str(path), "--port", "0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert service.stderr is not None
    address = ""
    for line in service.stderr:
        if match := re.search(r"http://[\d.:]+", line):
            address = match[0]
        if "startup complete" in line:
            break
    try:
        with Client(address) as client:
            asked = "red lamp"
            ids, names, features = candidates(engine, asked)
            documents = [dict(zip(FEATURES, row, strict=True)) for row in features]
            ranking = client.rank(documents, ids=ids, query=asked, top=5)
            print(f"\n{asked!r}, ranked by {ranking.model} {ranking.version}:")
            for product, index in zip(ranking.ids, ranking.indices, strict=True):
                values = documents[index]
                print(
                    f"{product:5} {names[index]:12} {values['price']:6.2f} € "
                    f"{values['rating']:.1f} ★  {values['sold']:.0f} sold"
                )
    finally:
        service.terminate()
        service.wait()
        service.stderr.close()
