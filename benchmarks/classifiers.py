"""Which logistic regression predicts the clusters of `adaptive_training` best: its default.

Run with `python benchmarks/classifiers.py [COLLECTION ...]`; about three minutes. Collections are
read from the folder in LOCALRANK_DATA or from `../shared/data` beside the project. It prints the
log loss of each classifier on training queries that it has not seen, as the mean of all folds. Test
queries play no part. Clusters come from models of 100 trees.
"""

from __future__ import annotations

import numpy as np
from measuring import collections, sized
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localrank.data import folds
from localrank.rankers import LambdaMART
from localrank.recipes import adaptive_training

N_CLUSTERS, N_TREES, SEED = sized((5, 100, 1), (2, 5, 1))
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)


def main() -> None:
    candidates = {
        "one-vs-rest": "one-vs-rest",
        "softmax": "softmax",
        **{
            f"standardised, C = {C:g}": make_pipeline(
                StandardScaler(), LogisticRegression(C=C, max_iter=1000)
            )
            for C in STRENGTHS
        },
    }
    trees = LambdaMART(N_TREES, min_leaf_documents=sized(20, 1))
    for folder in collections("MQ2007-85", "MQ2008", "OHSUMED"):
        losses: dict[str, list[float]] = {name: [] for name in candidates}
        for fold in folds(folder):
            recipe = adaptive_training(N_CLUSTERS, ranker=trees, random_state=SEED)
            model = recipe.fit(fold.train)
            for name, classifier in candidates.items():
                selector = model.selector.set_params(classifier=classifier)
                chosen = model.with_selector(selector, fold.train)
                losses[name].append(chosen.selector_.log_loss_)
        for name, values in losses.items():
            print(f"{folder.name}: {name:24} {np.mean(values):.4f}", flush=True)


if __name__ == "__main__":
    main()
