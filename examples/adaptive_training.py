"""Adaptive training, and where it helps: best-feature calibration with its control.

Adaptive training moves each query to the cluster whose model ranks it best. Logistic regression
then chooses a cluster for a new query, or blends the models. The example runs in some seconds, on
built-in queries. It writes a plot if matplotlib is installed (`pip install 'localrank[plots]'`).
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from localrank.data import make_queries
from localrank.evaluation import best_feature_calibration, clairvoyant_bound, paired_test
from localrank.measures import NDCG
from localrank.rankers import BestFeature, LambdaMART
from localrank.recipes import adaptive_training

queries, _ = make_queries(400, separation=0.5, random_state=0)
train, test = queries.select(range(250)), queries.select(range(250, 400))
trees = LambdaMART(100)

scores = {"best feature": BestFeature().fit(train).predict(test)}
for name, seed in (("baseline", 0), ("control", 1)):
    scores[name] = LambdaMART(100, random_state=seed).fit(train).predict(test)

selective = adaptive_training(4, ranker=trees, n_jobs=-1).fit(train)
scores["selective"] = selective.predict(test)
print(
    f"groups of {selective.groups_.sizes.tolist()} queries; {list(selective.groups_.n_changed)} "
    f"queries changed in the rounds after the first"
)
chosen = selective.selector_
print(
    f"the classifier finds the group of {chosen.accuracy_:.0%} of the queries it has not seen "
    f"(always the largest: {chosen.majority_:.0%}), calibration error "
    f"{chosen.calibration_error_:.2f}"
)
fusion = adaptive_training(4, ranker=trees, select="fusion", n_jobs=-1).fit(train)
scores["fusion"] = fusion.predict(test)

for name in ("selective", "fusion"):
    difference = paired_test(NDCG(5)(test, scores[name]), NDCG(5)(test, scores["baseline"]))
    print(f"{name} against the baseline:", difference)
print(clairvoyant_bound(selective, train, test, "ndcg@5", n_controls=2))

calibration = best_feature_calibration(
    scores["baseline"],
    scores["best feature"],
    {name: scores[name] for name in ("selective", "fusion")},
    test,
    "ndcg@5",
    control=scores["control"],
)
print(calibration.verdict)
with TemporaryDirectory() as folder:
    path = Path(folder, "calibration.svg")
    try:
        calibration.save_plot(path)
        print(f"plotted, {path.stat().st_size / 1024:,.0f} KiB")
    except ImportError as error:
        print(error)
