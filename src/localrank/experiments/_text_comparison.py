"""The methods that are compared on text collections, and their training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localrank.data import Fold
from localrank.evaluation import MethodResult
from localrank.experiments._searches import Searches, Values, runs_of, with_columns
from localrank.experiments.setting import Setting
from localrank.measures import Measure, parse_measure
from localrank.rankers import BestFeature, LambdaMART, MultipleHyperplaneRanker, Ranker, RankSVM
from localrank.recipes import adaptive_training, best, fast, local_rank, pca_queries
from localrank.text import feature_names
from localrank.text.naming import WHOLE

# Of boosted trees, as in the recipes.
N_TREES = 300
FIELDS = {"title": ("title",), "body": ("body",)}
BM25, BEST_FEATURE, TABLE_1 = "BM25", "best feature", "MHR, Table 1"
RANK_SVM, LAMBDA_MART, FAST, BEST = "RankSVM", "LambdaMART", "fast", "best"
DEFINITION = "definition"
NDCG_10, MAP = (parse_measure(name) for name in ("ndcg@10", "map"))
# The models that are trained a second time, with judged documents and with more features.
FEW = (RANK_SVM, LAMBDA_MART)

# For each method, one list of results for each training. A list has one result for each model of
# the method: that of all collections, or those of single ones.
Results = dict[str, list[list[MethodResult]]]


def fixed_methods() -> dict[str, Ranker]:
    """The methods whose training is not random, on all features."""
    return {
        BEST_FEATURE: BestFeature("ndcg@10"),
        RANK_SVM: RankSVM(),
        "MHR": MultipleHyperplaneRanker(),
        "local_rank": local_rank(),
    }


def random_methods(seed: int, n_trees: int) -> dict[str, Ranker]:
    """The methods whose training is random, with a seed."""
    return {
        "pca_queries": pca_queries(random_state=seed),
        LAMBDA_MART: LambdaMART(n_trees, random_state=seed),
        FAST: fast(n_trees, random_state=seed),
    }


def costly_methods(seed: int, n_trees: int) -> dict[str, Ranker]:
    """Random methods that take long. They are trained on all collections together only."""
    ranker = LambdaMART(n_trees, random_state=seed)
    return {
        "adaptive_training": adaptive_training(ranker=ranker, random_state=seed),
        BEST: best(n_trees, random_state=seed),
    }


@dataclass(frozen=True, eq=False)
class TextComparison:
    """What is trained, and on which queries."""

    setting: Setting
    searches: Searches

    @property
    def columns(self) -> dict[str, list[str]]:
        """The features of BM25 alone, of Table 1, of all methods, and of definition search too."""
        names = self.searches.judged.feature_names or ()
        plain = [name for name in names if not name.startswith(f"{DEFINITION} ")]
        return {
            BM25: [f"{WHOLE}.bm25"],
            TABLE_1: list(feature_names("mhr", list(FIELDS))),
            "all": plain,
            DEFINITION: list(names),
        }

    def parts(self, *, with_judged: bool = False) -> dict[str, Sequence[Fold]]:
        """The folds of each collection; the first two if `quick`."""
        every = self.searches.folds(with_judged=with_judged)
        return {name: list(parts)[: self.setting.n_folds] for name, parts in every.items()}

    @property
    def n_trees(self) -> int:
        return 10 if self.setting.quick else N_TREES

    def results(
        self,
        parts: Mapping[str, Sequence[Fold]],
        *,
        costly: bool = False,
        names: Sequence[str] | None = None,
        columns: str = "all",
    ) -> Results:
        """Train methods on the folds of each part.

        Parameters
        ----------
        parts : mapping from name to folds
        costly : bool, default=False
            Whether to train the costly methods too; not if `quick`.
        names : sequence of str, optional
            Train these methods only. None: all.
        columns : str, default="all"
            The features of these methods.
        """
        seeds = self.setting.seeds
        fixed = fixed_methods()
        seeded = [
            random_methods(seed, self.n_trees)
            | (costly_methods(seed, self.n_trees) if costly and not self.setting.quick else {})
            for seed in seeds
        ]
        kept = [name for name in (*fixed, *seeded[0]) if names is None or name in names]
        runs: dict[tuple[str, int], list[MethodResult]] = {}
        for part, folds_of_part in parts.items():
            methods = {(name, 0): ranker for name, ranker in fixed.items() if name in kept}
            for number, of_seed in enumerate(seeded):
                methods |= {(n, number): ranker for n, ranker in of_seed.items() if n in kept}
            sets = {columns: methods}
            if names is None:
                sets[BM25] = {(BM25, 0): BestFeature()}
                sets[TABLE_1] = {(TABLE_1, 0): MultipleHyperplaneRanker()}
            for key, of_set in sets.items():
                for method, result in self._run(part, key, of_set, folds_of_part).items():
                    runs.setdefault(method, []).append(result)
        ordered = [BM25, TABLE_1, *kept] if names is None else kept
        return {
            name: [runs[name, number] for number in range(len(seeds)) if (name, number) in runs]
            for name in ordered
        }

    def _run(
        self,
        part: str,
        key: str,
        methods: Mapping[tuple[str, int], Ranker],
        parts: Sequence[Fold],
    ) -> dict[tuple[str, int], MethodResult]:
        """Train on some features. Validation queries stop boosted trees."""
        store = self.setting.store
        named = {f"{name}, training {number}": ranker for (name, number), ranker in methods.items()}
        results = self.setting.run(
            named,
            with_columns(parts, self.columns[key]),
            valid=True,
            # Folds of all collections have the same names.
            store=None if store is None else store / f"{part}-{key}-{parts[0].train.n_documents}",
        )
        return dict(zip(methods, results.values(), strict=True))

    def values(self, results: Results, measure: Measure, *, everything: bool = False) -> Values:
        """The values of each method, as `paired_test` takes them."""
        return {
            name: runs_of(
                [self.searches.values(run, measure, everything=everything) for run in runs]
            )
            for name, runs in results.items()
        }
