"""Known categories of queries: models for each, and how learned groups agree with them.

The paper on LocalRank wants to compare its clusters with known categories of queries, as future
work. Here the category of a query is its collection: queries of several collections are pooled. The
data is a folder of text collections, or of lists of several retrievers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.data import Fold
from localrank.evaluation import MethodResult, paired_test
from localrank.evaluation.query_groups import agreement
from localrank.evaluation.significance import LEVEL, correct, corrected, p_text
from localrank.experiments._searches import (
    Searches,
    Values,
    categories_of,
    joined,
    list_searches,
    mean_and_spread,
    runs_of,
    text_searches,
)
from localrank.experiments.reproduction import Reproduction, Value, difference, difference_cells
from localrank.experiments.setting import Setting
from localrank.experiments.text_collections import TEXT_FILES, read_collection
from localrank.grouping import KnownGroups, kmeans
from localrank.local_ranker import LocalRanker
from localrank.measures import parse_measure
from localrank.rankers import Ranker, RankSVM
from localrank.recipes import local_rank, pca_queries
from localrank.representations import Mean, Scaled, TopDocuments
from localrank.selection import NearestCentroid, SameCategory

EXPERIMENT = "known-categories"
SEEDS = (0, 1, 2, 3)
NDCG_10 = parse_measure("ndcg@10")
# One text for each document: features of titles alone would tell which collections have titles.
FIELDS = {"text": ("title", "body")}
ONE, KNOWN, RANDOM = "one model", "known categories", "random groups"
LOCAL_RANK, PCA_QUERIES = "local_rank", "pca_queries"
MEANS, TOP = "k-means of means", "k-means of top documents"
LEARNED = (LOCAL_RANK, PCA_QUERIES, MEANS, TOP)
# What is compared: the first is expected to rank better.
PAIRS = (
    (KNOWN, ONE),
    (KNOWN, RANDOM),
    *((KNOWN, name) for name in LEARNED),
    *((name, ONE) for name in LEARNED),
)
N_PERMUTATIONS = 999


def fixed_methods(categories: Mapping[str, str]) -> dict[str, Ranker]:
    """The methods whose training is not random. There are as many clusters as categories."""
    n_groups = len(set(categories.values()))
    return {
        ONE: RankSVM(),
        KNOWN: by_category(categories),
        LOCAL_RANK: local_rank(n_groups, ranker=RankSVM(), scaling="standard"),
    }


def random_methods(
    categories: Mapping[str, str], shuffled: Mapping[str, str], seed: int
) -> dict[str, Ranker]:
    """The methods with a seed. There are as many clusters as categories."""
    n_groups = len(set(categories.values()))

    def clustered(representation: Any) -> LocalRanker:
        groups = kmeans(n_groups, random_state=seed)
        return LocalRanker(Scaled(representation), groups, RankSVM(), NearestCentroid())

    return {
        PCA_QUERIES: pca_queries(n_groups, scaling="standard", random_state=seed),
        MEANS: clustered(Mean()),
        TOP: clustered(TopDocuments()),
        RANDOM: by_category(shuffled),
    }


def by_category(categories: Mapping[str, str]) -> LocalRanker:
    """One RankSVM for each category. New queries are ranked by that of their category."""
    known = dict(categories)
    return LocalRanker(Mean(), KnownGroups(known), RankSVM(), SameCategory(known, unseen="refuse"))


def reproduce(setting: Setting) -> Reproduction:
    """Compare models for known categories with one model, learned groups and random groups."""
    reproduction = Reproduction(
        EXPERIMENT, setting.data, claimant="the expectation", quick=setting.quick
    )
    searches = searches_of(setting)
    categories = dict(
        zip(searches.judged.query_ids.tolist(), searches.categories.tolist(), strict=True)
    )
    every = joined(searches.folds().values())
    parts = every[: setting.n_folds]
    trainings = [
        random_methods(categories, shuffled_categories(every, seed), seed) for seed in setting.seeds
    ]
    methods = {
        f"{name}, training {number}": ranker
        for number, of_seed in enumerate(trainings)
        for name, ranker in ((fixed_methods(categories) if number == 0 else {}) | of_seed).items()
    }
    finished = setting.run(methods, parts, store=setting.store)
    names = (*fixed_methods(categories), *trainings[0])
    results = {
        name: [
            finished[key]
            for number in range(len(trainings))
            if (key := f"{name}, training {number}") in finished
        ]
        for name in names
    }
    _data(reproduction, searches)
    _rankings(reproduction, setting, searches, results)
    _agreements(reproduction, setting, results)
    return reproduction


def searches_of(setting: Setting) -> Searches:
    """The queries of the folder's text collections, or of its collections of lists."""
    folder = setting.folder
    texts = [read_collection(folder / name) for name in TEXT_FILES if (folder / name).is_dir()]
    if len(texts) == 1:
        raise ValueError(f"{folder} has one text collection. Categories need two or more.")
    return text_searches(texts, FIELDS) if texts else list_searches(folder)


def shuffled_categories(parts: Sequence[Fold], seed: int) -> dict[str, str]:
    """Categories given to queries at random, within each part that a fold tests.

    Every fold trains on some of these parts, so its random groups have the sizes of its categories.
    """
    rng = np.random.default_rng(seed)
    shuffled: dict[str, str] = {}
    for fold in parts:
        drawn = rng.permutation(categories_of(fold.test))
        shuffled |= dict(zip(fold.test.query_ids.tolist(), drawn.tolist(), strict=True))
    return shuffled


def _data(reproduction: Reproduction, searches: Searches) -> None:
    rows: list[list[Value]] = []
    for name in searches.sizes:
        queries = searches.categories == name
        documents = queries[searches.judged.query_index]
        found = searches.is_candidate[documents]
        relevant = searches.judged.labels[documents] > 0
        n_relevant, n_found = int(relevant.sum()), int((relevant & found).sum())
        rows.append([name, int(queries.sum()), int(found.sum()), n_relevant, n_found])
    names = searches.judged.feature_names or ()
    reproduction.table(
        "The categories",
        ["category", "queries", "candidates", "relevant", "relevant among the candidates"],
        rows,
        f"The category of a query is its collection. {len(names)} features, from "
        f"{names[0]!r} to {names[-1]!r}, are the same for all. A relevant document that is not a "
        f"candidate counts as missed. Queries of each collection are cut at random into five "
        f"parts, which rotate: three train, one tests. Validation queries are not used.",
    )


def _rankings(
    reproduction: Reproduction,
    setting: Setting,
    searches: Searches,
    results: Mapping[str, Sequence[MethodResult]],
) -> None:
    values: Values = {
        name: runs_of([searches.values([run], NDCG_10) for run in runs])
        for name, runs in results.items()
    }
    rows: list[list[Value]] = []
    for name, of_method in values.items():
        by_category = [
            float(np.nanmean(of_method[..., searches.categories == one])) for one in searches.sizes
        ]
        rows.append([name, *by_category, *mean_and_spread(of_method)])
    n_groups = len(searches.sizes)
    reproduction.table(
        f"Models for groups of queries: {NDCG_10}",
        ["groups", *searches.sizes, "all queries", "spread"],
        rows,
        f"RankSVM is trained for each group, in all rows; learned groups are {n_groups}, as many "
        f"as categories. Features are scaled before queries are described. Random "
        f"groups have the sizes of the categories, in training and in test. What is random is "
        f"trained {len(setting.seeds)} times with other seeds; values are means, spread is the "
        f"standard deviation between trainings.",
    )
    tests = corrected({pair: paired_test(*(values[name] for name in pair)) for pair in PAIRS})
    reproduction.table(
        f"Differences: {NDCG_10}",
        ["groups", "against", "difference", "p", "won/tied/lost"],
        [[*pair, *difference_cells(test)] for pair, test in tests.items()],
        f"Paired t-tests over the queries, which cover the chance of training too; p is corrected "
        f"by Holm's rule for the {len(tests)} tests.",
    )
    reproduction.figure(
        "groups",
        f"{NDCG_10} of models for groups of queries.",
        "bars",
        panels={reproduction.data: {str(row[0]): list(row[1:-1]) for row in rows}},
        ticks=[*searches.sizes, "all queries"],
        y_label=str(NDCG_10),
        numbers="%.3f",
    )

    def claim(says: str, *pairs: tuple[str, str]) -> None:
        shown = [f"against {other}" if name == KNOWN else name for name, other in pairs]
        measured = (
            f"{word} {difference(tests[pair])}" for word, pair in zip(shown, pairs, strict=True)
        )
        reproduction.claim(says, "; ".join(measured), *(tests[pair] for pair in pairs))

    claim("a model for each known category ranks better than one for all queries", (KNOWN, ONE))
    claim(
        "models for known categories rank better than models for random groups of their sizes",
        (KNOWN, RANDOM),
    )
    claim(
        "models for known categories rank better than models for learned groups",
        *((KNOWN, name) for name in LEARNED),
    )
    claim(
        "models for learned groups rank better than one for all queries",
        *((name, ONE) for name in LEARNED),
    )


@dataclass(frozen=True)
class AgreementTest:
    """Whether groups agree with categories other than by chance: a permutation test.

    Attributes
    ----------
    index : float
        The mean of the adjusted Rand index over folds and trainings.
    chance : ndarray of shape (n_permutations,)
        The same with categories permuted among the test queries of each fold.
    corrected_p_value : float or None
        None: not corrected.
    """

    index: float
    chance: Floats
    corrected_p_value: float | None = None

    @property
    def p_value(self) -> float:
        """Two-sided: twice the share of permutations that lie as far out, on the nearer side."""
        above, below = (self.chance >= self.index).sum(), (self.chance <= self.index).sum()
        return float(min(1.0, 2 * (1 + min(above, below)) / (1 + len(self.chance))))

    @property
    def p(self) -> float:
        return self.p_value if self.corrected_p_value is None else self.corrected_p_value

    @property
    def sign(self) -> int:
        """1: more than by chance. -1: less. 0: neither is established."""
        return int(np.sign(self.index - self.chance.mean())) if self.p < LEVEL else 0


def agreement_test(
    groups: Sequence[Sequence[Array]], categories: Sequence[Array], n_permutations: int
) -> AgreementTest:
    """Test the agreement of groups with categories.

    Parameters
    ----------
    groups : sequence of sequence of ndarray
        For each training and fold, the group of each test query.
    categories : sequence of ndarray
        For each fold, the category of each test query.
    n_permutations : int

    Examples
    --------
    >>> categories = [np.repeat(["news", "shops"], 15)]
    >>> test = agreement_test([[np.repeat([0, 1], 15)]], categories, 99)
    >>> test.index, test.p, test.sign
    (1.0, 0.02, 1)
    """
    rng = np.random.default_rng(0)

    def index(known: Sequence[Array]) -> float:
        return float(
            np.mean(
                [
                    agreement(of_fold, of_queries).adjusted_rand_index
                    for of_training in groups
                    for of_fold, of_queries in zip(of_training, known, strict=True)
                ]
            )
        )

    chance = [index([rng.permutation(one) for one in categories]) for _ in range(n_permutations)]
    return AgreementTest(index(categories), np.array(chance))


def _agreements(
    reproduction: Reproduction, setting: Setting, results: Mapping[str, Sequence[MethodResult]]
) -> None:
    """How the groups that serve the test queries agree with their categories."""
    n_permutations = 99 if setting.quick else N_PERMUTATIONS
    first = results[ONE][0]
    folds, known = np.array(first.fold_names), categories_of(first.test)
    categories = [known[folds == run.fold] for run in first.runs]
    uncorrected = {
        name: agreement_test(
            [[run.groups for run in result.runs] for result in results[name]],
            categories,
            n_permutations,
        )
        for name in (*LEARNED, RANDOM)
    }
    p_values = correct([test.p_value for test in uncorrected.values()]).tolist()
    tests = {
        name: replace(test, corrected_p_value=p)
        for (name, test), p in zip(uncorrected.items(), p_values, strict=True)
    }
    reproduction.table(
        "Agreement of groups with the categories: adjusted Rand index",
        ["groups", "index", "by chance", "95 % of chance below", "p"],
        [
            [
                name,
                test.index,
                float(test.chance.mean()),
                float(np.quantile(test.chance, 0.95)),
                test.p,
            ]
            for name, test in tests.items()
        ],
        f"Of the groups that serve the test queries; the mean over folds and trainings. 1: the "
        f"groups are the categories. Chance: {n_permutations:,} permutations of the categories "
        f"among the test queries of each fold. p is two-sided, corrected by Holm's rule for the "
        f"{len(tests)} tests. Random groups are the control.",
    )
    for name in LEARNED:
        test = tests[name]
        reproduction.claim(
            f"groups of {name} agree with the known categories more than by chance",
            f"index {test.index:.3f}, by chance {test.chance.mean():.3f}, {p_text(test.p)}",
            test,
        )
