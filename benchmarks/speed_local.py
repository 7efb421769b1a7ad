"""Where the time of local models goes, and how well recipes find types that are there.

Run with `python benchmarks/speed_local.py`. MQ2007 (85 %) from the folder in LOCALRANK_DATA or
from `../shared/data` beside the project, made-up queries where it is not there. Marks: training
`local_rank` is mostly training its models; a query of 1,000 documents with 64 features is
ranked in under 5 ms.
"""

from __future__ import annotations

import numpy as np
from measuring import SMALL, gflops, mq2007_fold, options, row, seconds, sized
from scipy.stats import ttest_rel
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset, make_queries
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG
from localrank.rankers import LambdaMART, RankSVM
from localrank.recipes import adaptive_training, local_rank, pca_queries, query_neighbours


def shares(train: RankingDataset) -> None:
    """The parts of training LocalRank, one after another."""
    local = local_rank(8).fit(train)
    components, grouping = local.representation, local.grouping
    described = components.fit(train).transform(train)
    parts = {
        "principal components": lambda: components.fit(train).transform(train),
        "similarities": lambda: components.distances(described, described),
        "similarities and clustering": lambda: grouping.group(components, described),
        "models": lambda: [local.ranker.fit(train.select(queries)) for queries in local.groups_],
        "all": lambda: local.fit(train),
    }
    times = {part: np.median([seconds(run) for _ in range(5)]) for part, run in parts.items()}
    for part, time in times.items():
        print(f"  {part:28}{1000 * time:8.1f} ms{100 * time / times['all']:7.0f} %")
    if SMALL:
        return
    one, two = (
        min(seconds(lambda: query_neighbours(100, n_jobs=jobs).fit(train)) for _ in range(2))  # noqa: B023
        for jobs in (1, 2)
    )
    print(f"  query_neighbours(100): {one:.2f} s with one job, {two:.2f} s with two")


def serving() -> None:
    """One query at a time, as a service would."""
    rng = np.random.default_rng(0)
    dataset, _ = make_queries(sized(1000, 100), n_features=64, n_documents=(20, 50))
    documents, qid = rng.normal(size=(1000, 64)), np.zeros(1000, dtype=int)
    print("\nOne query of 1,000 documents with 64 features, 1,000 training queries, warm")
    for name, ranker in {
        "RankSVM alone": RankSVM(),
        "local_rank, RankSVM": local_rank(8, ranker=RankSVM()),
        "local_rank, RankSVM, lsh": local_rank(8, ranker=RankSVM(), index="lsh"),
        "pca_queries": pca_queries(8),
        "local_rank, LambdaMART": local_rank(8, ranker=LambdaMART(), n_jobs=-1),
        "adaptive_training, RankSVM, fusion": adaptive_training(
            5, ranker=RankSVM(), select="fusion"
        ),
    }.items():
        ranker.fit(dataset)
        ranker.predict(documents, qid=qid)
        times = [seconds(lambda: ranker.predict(documents, qid=qid)) for _ in range(50)]  # noqa: B023
        row(f"a list of 1,000 × 64: {name}", 1000 * float(np.median(times)), "ms", aim=5)


def types() -> None:
    """Whether clusters find hidden types, and whether that helps."""
    n_train, n_queries = sized((600, 800), (60, 80))
    print(f"\nMade-up queries of 4 types, {n_train} to train on and {n_queries - n_train} to test")
    for separation in sized((0.0, 1.0, 3.0), (3.0,)):
        dataset, hidden = make_queries(n_queries, separation=separation, random_state=1)
        train, test = dataset.select(range(n_train)), dataset.select(range(n_train, n_queries))
        alone = NDCG(10)(test, RankSVM().fit(train).predict(test))
        print(f"  separation {separation:g}: global RankSVM {alone.mean():.4f}")
        for name, ranker in {
            "local_rank": local_rank(4, ranker=RankSVM()),
            "pca_queries": pca_queries(4),
            "query_neighbours": query_neighbours(sized(100, 10)),
            "adaptive_training": adaptive_training(4, ranker=RankSVM()),
        }.items():
            ranker.fit(train)
            local = NDCG(10)(test, ranker.predict(test))
            quality = f"{agreement(ranker, hidden[:n_train])}, NDCG@10 {local.mean():.4f}"
            p_value = ttest_rel(local, alone).pvalue
            print(f"    {name:20}{quality} ({(local - alone).mean():+.4f}, p {p_value:.1e})")


def agreement(ranker: LocalRanker, hidden: np.ndarray) -> str:
    groups = ranker.groups_
    if len(groups) < len(hidden) / 2:
        return f"adjusted Rand index {adjusted_rand_score(hidden, groups.home):.3f}"
    same = [np.mean(hidden[groups[group]] == hidden[q]) for q, group in enumerate(groups.home)]
    return f"{100 * np.mean(same):.0f} % of neighbours of the same type"


def main() -> None:
    options(__doc__).parse_args()
    train, _, name = mq2007_fold()
    # As in training: several threads would wait for each other on busy cores.
    threadpool_limits(1, user_api="blas")
    print(f"{name}, {train.n_queries:,} training queries; {gflops():.0f} GFLOPS")
    print("local_rank, 8 clusters of SVMMap, one job")
    shares(train)
    serving()
    types()


if __name__ == "__main__":
    main()
