"""How often the tests find a difference between two runs of one system.

Run with `python benchmarks/false_alarms.py`: about three minutes. Both runs are the scores of one
RankSVM plus independent noise, on the training queries of fold 1 of MQ2007 (see measuring.py), so
that neither is better. Each draw has new noise, and takes 20, 50 and 200 queries at random. A test
with level 5 % may find a difference in 5 % of the draws. The table has the shares, as Markdown.
"""

from __future__ import annotations

import numpy as np
from measuring import mq2007_fold, options, sized

from localrank.evaluation.significance import LEVEL, TESTS, paired_test
from localrank.measures import parse_measure
from localrank.measures.base import evaluate_rows
from localrank.rankers import RankSVM

N_DRAWS = sized(2000, 5)
N_QUERIES = sized((20, 50, 200), (5, 10))
N_RESAMPLES = sized(10_000, 100)
MEASURES = ("ndcg@10", "map", "mrr@10")
# Standard deviation of the noise, in standard deviations of the scores of a query.
NOISE = 0.5


def main() -> None:
    options(__doc__).parse_args()
    train, valid, source = mq2007_fold()
    scores = RankSVM().fit(valid).predict_rows(train)
    dataset = train.without_features()
    begins = dataset.offsets[:-1]
    means = np.add.reduceat(scores, begins) / dataset.query_sizes
    spread = np.add.reduceat((scores - means[dataset.query_index]) ** 2, begins)
    deviations = NOISE * np.sqrt(spread / dataset.query_sizes)[dataset.query_index]
    measures = [parse_measure(name) for name in MEASURES]
    rng = np.random.default_rng(0)
    alarms = dict.fromkeys(((m, n, test) for m in measures for n in N_QUERIES for test in TESTS), 0)
    for _ in range(N_DRAWS):
        first, second = (
            evaluate_rows(dataset, scores + deviations * rng.normal(size=len(scores)), measures)
            for _ in range(2)
        )
        queries = rng.permutation(dataset.n_queries)
        for measure, n, test in alarms:
            few = queries[:n]
            result = paired_test(
                first[measure][few],
                second[measure][few],
                test=test,
                n_resamples=N_RESAMPLES,
                random_state=None,
            )
            alarms[measure, n, test] += result.p_value < LEVEL
    error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / N_DRAWS)
    print(f"{source}; {N_DRAWS:,} draws, so that 5.0 % has a standard error of {error:.1f} %\n")
    print(f"| measure | queries | {' | '.join(TESTS)} |")
    print(f"|---|---:|{'---:|' * len(TESTS)}")
    for measure in measures:
        for n in N_QUERIES:
            shares = [f"{100 * alarms[measure, n, test] / N_DRAWS:.1f} %" for test in TESTS]
            print(f"| {measure} | {n} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
