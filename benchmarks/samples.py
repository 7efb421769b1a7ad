"""What samples and searches of very many queries change, where the exact way can run as well.

Run with `python benchmarks/samples.py [COLLECTION ...]`; about ten minutes. Collections are read
from the folder in LOCALRANK_DATA or from `../shared/data` beside the project; then come 3,000
made-up queries (`make_queries`, 10 to 30 documents) of each separation. Training queries are
those of the first fold, or 2,000; a share of them is the sample, in five draws.

- agreement: adjusted Rand index between four clusters of all training queries and those that a
  sample of them gives, by the rule that sends the others to clusters. "the sample" is that of the
  sampled queries alone, "95 %" that of the clusters of 95 % of the queries with those of all.
- NDCG@10 on the validation queries of all folds, RankSVM(0.1) in complete-link clusters: by the
  rule, by the number of centres of `query_neighbours`, and by the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, SMALL, options, sized
from sklearn.metrics import adjusted_rand_score

from localrank import LocalRanker
from localrank.data import RankingDataset, clean, folds, make_queries
from localrank.grouping import Agglomerative, KnownGroups
from localrank.grouping.base import drawn_positions
from localrank.measures import NDCG
from localrank.rankers import Ranker, RankSVM
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import PrincipalComponents, RelevantMean
from localrank.selection import LSH, Cells, NearestQuery

N_CLUSTERS, SHARES, DRAWS = 4, (0.5, 0.25), range(sized(5, 2))
COLLECTIONS = ("OHSUMED", "MQ2008", "MQ2007-85")
Parts = list[tuple[RankingDataset, RankingDataset]]


def data(names: list[str]) -> Iterator[tuple[str, Parts]]:
    """Training and validation queries of each fold."""
    for name in [] if SMALL else names:
        whole_folds = folds(Path(DATA) / name, validation=True)
        yield (
            name,
            [(clean(f.train)[0], clean(f.valid)[0]) for f in whole_folds if f.valid is not None],
        )
    n_train, n_queries = sized((2000, 3000), (60, 90))
    for separation in sized((0.0, 1.0, 3.0), (1.0,)):
        made, _ = make_queries(n_queries, n_documents=(10, 30), separation=separation)
        parts = [(made.select(range(n_train)), made.select(range(n_train, n_queries)))]
        yield f"made-up, separation {separation:g}", parts


def by_rule(representation: Any, described: Any, sample: Any, clusters: Any) -> dict[str, Any]:
    """The cluster of every query by each rule; sampled queries keep theirs."""
    distances = representation.distances(described, described[sample])
    members = [clusters == cluster for cluster in range(clusters.max() + 1)]
    centres = [representation.centroid(described[sample][one]) for one in members]
    among = distances[sample]
    medoids = [np.flatnonzero(one)[among[np.ix_(one, one)].sum(axis=1).argmin()] for one in members]
    rules = {
        "nearest query": clusters[distances.argmin(axis=1)],
        "farthest member": np.stack([distances[:, one].max(axis=1) for one in members]).argmin(
            axis=0
        ),
        "mean of members": np.stack([distances[:, one].mean(axis=1) for one in members]).argmin(
            axis=0
        ),
        "medoid": distances[:, medoids].argmin(axis=1),
        "centre": representation.distances(described, np.array(centres)).argmin(axis=1),
    }
    for labels in rules.values():
        labels[sample] = clusters
    return rules


def clusters_of(linkage: Any, representation: Any, described: Any) -> Any:
    grouping = Agglomerative(N_CLUSTERS, linkage=linkage, max_queries=None)
    return grouping.group(representation, described).home


def agreement(train: RankingDataset, linkage: str, representation: Any) -> None:
    described = representation.fit(train).transform(train)
    every = clusters_of(linkage, representation, described)
    n = len(every)
    for share in SHARES:
        agreements: dict[str, list[float]] = {}
        for seed in DRAWS:
            sample = drawn_positions(n, int(share * n), seed)
            few = clusters_of(linkage, representation, described[sample])
            kept = drawn_positions(n, int(0.95 * n), seed)
            most = clusters_of(linkage, representation, described[kept])
            labels = by_rule(representation, described, sample, few)
            values = {"95 %": adjusted_rand_score(every[kept], most)}
            values["the sample"] = adjusted_rand_score(every[sample], few)
            values |= {rule: adjusted_rand_score(every, groups) for rule, groups in labels.items()}
            for rule, value in values.items():
                agreements.setdefault(rule, []).append(value)
        line = ", ".join(f"{rule} {np.mean(values):.2f}" for rule, values in agreements.items())
        print(f"  {linkage}, {share:.0%} of {n:,}: {line}", flush=True)


def effect(parts: Parts) -> None:
    means: dict[str, list[float]] = {}

    def note(name: str, ranker: Ranker, train: RankingDataset, valid: RankingDataset) -> None:
        values = NDCG(10)(valid, ranker.fit(train).predict(valid))
        means.setdefault(name, []).append(float(np.nanmean(values)))

    for train, valid in parts:
        note("one model", RankSVM(0.1), train, valid)
        components = PrincipalComponents().fit(train)
        described, n = components.transform(train), train.n_queries
        rules = {"all": clusters_of("complete", components, described)}
        for seed in DRAWS[:2]:
            sample = drawn_positions(n, n // 4, seed)
            few = clusters_of("complete", components, described[sample])
            rules |= {
                f"25 %, {rule} #{seed}": groups
                for rule, groups in by_rule(components, described, sample, few).items()
            }
        ids = train.query_ids.astype(str).tolist()
        for rule, groups in rules.items():
            grouping = KnownGroups(dict(zip(ids, groups.astype(str).tolist(), strict=True)))
            local = LocalRanker(PrincipalComponents(), grouping, RankSVM(0.1), NearestQuery())
            note(rule.split(" #")[0], local, train, valid)
        for index in ("exact", LSH(), Cells()):
            note(f"search {index}", local_rank(ranker=RankSVM(0.1), index=index), train, valid)
        for share in (1.0, *SHARES):
            ranker = query_neighbours(ranker=RankSVM(0.1))
            ranker.set_params(grouping__max_centres=int(share * n))
            note(f"centres {share:.0%}", ranker, train, valid)
    print(
        "  NDCG@10: "
        + ", ".join(f"{name} {np.mean(fold_means):.4f}" for name, fold_means in means.items())
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("names", nargs="*", default=list(COLLECTIONS), metavar="COLLECTION")
    for name, parts in data(parser.parse_args().names):
        print(name)
        for linkage in ("complete", "average", "single"):
            agreement(parts[0][0], linkage, PrincipalComponents())
        agreement(parts[0][0], "ward", RelevantMean())
        effect(parts)


if __name__ == "__main__":
    main()
