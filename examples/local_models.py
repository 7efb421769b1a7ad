"""How much models for groups of queries help, on which queries, and what they could gain at most.

The example runs in a few seconds, on built-in queries of hidden types. Replace `make_queries` by
`read_letor("train.txt")` to ask the same of your data.
"""

import numpy as np

from localrank.data import make_queries
from localrank.evaluation import clairvoyant_bound, paired_test, tune
from localrank.measures import NDCG
from localrank.rankers import RankSVM
from localrank.recipes import local_rank

queries, _ = make_queries(400, separation=0.5, random_state=0)
train, test = queries.select(range(300)), queries.select(range(300, 400))

# Choose the number of clusters by cross-validation. One cluster is the global model.
tuning = tune(
    local_rank(ranker=RankSVM()),
    {"grouping__n_clusters": [1, 2, 4, 8]},
    train,
    folds=3,
    measure="ndcg@10",
    n_jobs=-1,
)
print(tuning)
local = tuning.best_estimator

alone = RankSVM().fit(train)
values = {
    "global": NDCG(10)(test, alone.predict(test)),
    "local": NDCG(10)(test, local.predict(test)),
}
print("\nlocal against global on the test queries:", paired_test(values["local"], values["global"]))

# What the best group of each query would gain in hindsight, and what random groups would gain.
print(clairvoyant_bound(local, train, test, "ndcg@10", n_controls=3))

# Why does the query that gains most get its ranking?
query = test.query_ids[np.argmax(values["local"] - values["global"])]
print()
print(local.explain(test, query))
