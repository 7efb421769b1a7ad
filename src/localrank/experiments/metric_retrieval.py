"""Query-dependent retrieval by learned metrics: Table 3 and Figure 5 of L-GMML's paper.

Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017, §4.4. Queries
and documents are points of one space, and every method ranks documents by a distance to the
query. The paper's songs, CAL10K, are not available. Scikit-learn's digits (a query is an image, and
images of the same digit are relevant) and a text collection in latent semantic coordinates replace
them. The protocol is the paper's: ten splits of the queries, 40 % to learn from, 30 % to choose
parameters, 30 % to test. L-GMML draws at random, so it is trained with several seeds on each split.
`--data digits` needs no folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.evaluation import PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.evaluation.tuning import Grid
from localrank.experiments.lgmml import Runs, fold_times, ratio, ratio_test
from localrank.experiments.published_numbers import published
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting
from localrank.experiments.text_collections import TEXT_FILES, read_collection
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import L1MLR, LGMML, MLR, RMLR, Ranker
from localrank.rankers.base import HeldOut, Weights

EXPERIMENT, PAPER = "metric-retrieval", "lgmml"
SEEDS = (0, 1, 2, 3)
DIGITS = "digits"
MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(10)]
PLAIN, GLOBAL, LOCAL = "Euclidean", "GMML", "L-GMML"
TRACE, ROWS, ENTRIES = "MLR", "R-MLR", "L1-MLR"
N_SPLITS, SHARES = 10, (0.4, 0.3)
# Coordinates of the space: principal components of pixels, or latent coordinates of words.
N_COORDINATES = 32
# Images in use, and documents in a training query's list.
N_IMAGES, N_LISTED = 600, 40
N_METRICS = 50


class Euclidean(Ranker):
    """Ranks by the plain distance to the query: nothing is learned."""

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        """Nothing to learn."""

    def _predict(self, dataset: RankingDataset) -> Array:
        distances: Floats = np.square(dataset.features, dtype=np.float64).sum(axis=1)
        return -distances


class GlobalMetric(LGMML):
    """GMML: L-GMML with one metric, learned from the documents of all queries together."""

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        whole = np.array([0, dataset.n_documents])
        pooled = RankingDataset(dataset.features, dataset.labels, whole, np.zeros(1, np.int64))
        super()._fit(pooled, None, valid)


METHODS: dict[str, Ranker] = {
    PLAIN: Euclidean(),
    # With the largest distance scaled to 1, one metric ranks by its distances alone.
    GLOBAL: GlobalMetric(
        1, sampling_rate=1.0, n_iterations=0, scale="monotone", query_vectors="origin"
    ),
    LOCAL: LGMML(N_METRICS, query_vectors="origin"),
    TRACE: MLR(scaling=None, tol=1e-2),
    ROWS: RMLR(scaling=None, tol=1e-2),
    ENTRIES: L1MLR(scaling=None, tol=1e-2),
}
# Half decades. MAP of the first split's validation queries falls towards both ends, on digits and
# on cran. No test query had a part in it. The norm of all entries is larger than the others, so its
# C is.
CS = [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]
ENTRIES_CS = [10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0]
# The paper's metrics are halfway on the geodesic, t = 0.5.
GRIDS: dict[str, Grid] = {
    GLOBAL: {"t": [0.0, 0.5]},
    LOCAL: {"t": [0.0, 0.5], "scale": ["median", "monotone"]},
    TRACE: {"C": CS},
    ROWS: {"C": CS},
    ENTRIES: {"C": ENTRIES_CS},
}
QUICK_GRIDS: dict[str, Grid] = {
    GLOBAL: {"t": [0.5]},
    LOCAL: {"t": [0.5], "scale": ["monotone"]},
    TRACE: {"C": [30.0]},
    ROWS: {"C": [30.0]},
    ENTRIES: {"C": [30.0]},
}


@dataclass(frozen=True, eq=False)
class Space:
    """Queries and documents as points, and which documents are relevant to which queries.

    Attributes
    ----------
    queries : ndarray of shape (n_queries, n_coordinates)
    documents : ndarray of shape (n_documents, n_coordinates)
    relevant : ndarray of shape (n_queries, n_documents)
    are_documents : bool
        Whether the queries are the documents. If so, only training documents are ranked, and never
        the query itself, as the paper does with songs.
    """

    queries: Floats
    documents: Floats
    relevant: Array
    are_documents: bool

    def lists(
        self,
        name: str,
        asked: Integers,
        candidates: Integers,
        sample: np.random.Generator | None = None,
    ) -> RankingDataset:
        """The candidates of each query, as differences from the query.

        Parameters
        ----------
        name : str
            Name of the split. It is a part of the query ids, which differ between splits.
        asked, candidates : ndarray of int
        sample : Generator, optional
            Draws `N_LISTED` candidates for each query; up to half of them are relevant. None: all
            candidates.
        """
        features, labels, sizes = [], [], []
        for query in asked.tolist():
            listed = candidates[candidates != query] if self.are_documents else candidates
            if sample is not None:
                listed = sample.permutation(listed)
                good = self.relevant[query, listed]
                kept = listed[good][: N_LISTED // 2]
                listed = np.concatenate([kept, listed[~good][: N_LISTED - len(kept)]])
            features.append(self.documents[listed] - self.queries[query])
            labels.append(self.relevant[query, listed])
            sizes.append(len(listed))
        return RankingDataset(
            np.concatenate(features),
            np.concatenate(labels).astype(np.float64),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.array([f"{name}: {query}" for query in asked]),
        )

    def fold(self, number: int) -> Fold:
        """One split of the queries, 40/30/30."""
        rng, name = np.random.default_rng(number), f"split {number + 1}"
        order = rng.permutation(len(self.queries))
        n_train, n_valid = (round(share * len(order)) for share in SHARES)
        train, valid, test = np.split(order, [n_train, n_train + n_valid])
        candidates = np.sort(train) if self.are_documents else np.arange(len(self.documents))
        return Fold(
            name,
            self.lists(name, train, candidates, rng),
            self.lists(name, valid, candidates),
            self.lists(name, test, candidates),
        )


def space_of(setting: Setting) -> Space:
    """The digits, or the text collection in a folder. A part of it if `quick`."""
    n_coordinates = 8 if setting.quick else N_COORDINATES
    if setting.data == DIGITS:
        return digits(90 if setting.quick else N_IMAGES, n_coordinates)
    if setting.data not in TEXT_FILES:
        known = ", ".join(TEXT_FILES)
        raise ValueError(f"{setting.folder} is none of the text collections {known}, nor {DIGITS}.")
    return texts(setting, 30 if setting.quick else None, n_coordinates)


def digits(n_images: int, n_coordinates: int) -> Space:
    """Images by principal components of their pixels. Other images determine the components."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    drawn, others = order[:n_images], order[n_images:]
    components = PCA(n_coordinates, random_state=0).fit(images[others])
    points = components.transform(images[drawn]) / distance(components.transform(images[others]))
    return Space(points, points, labels[drawn][:, None] == labels[drawn], True)


def texts(setting: Setting, n_queries: int | None, n_coordinates: int) -> Space:
    """Documents and queries by latent semantic coordinates of their words, of length 1.

    The documents alone determine the coordinates. Distances between vectors of length 1 rank like
    their cosines.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    collection = read_collection(setting.folder)
    relevant = np.zeros((len(collection.queries), len(collection.bodies)), bool)
    relevant[collection.judgments[:, 0], collection.judgments[:, 1]] = True
    judged = np.flatnonzero(relevant.any(axis=1))[:n_queries]
    latent = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, stop_words="english"),
        TruncatedSVD(n_coordinates, random_state=0),
        Normalizer(),
    )
    documents = latent.fit_transform(
        [
            f"{title} {body}"
            for title, body in zip(collection.titles, collection.bodies, strict=True)
        ]
    )
    asked = latent.transform([collection.queries[query] for query in judged])
    unit = distance(documents)
    return Space(asked / unit, documents / unit, relevant[judged], False)


def distance(points: Floats) -> float:
    """How much the coordinates of two points differ, in root mean square. It becomes the unit.

    Examples
    --------
    >>> round(distance(np.array([[0.0], [4.0], [8.0]])), 3)
    4.619
    """
    return float(np.sqrt(2 * points.var(axis=0).mean()))


def reproduce(setting: Setting) -> Reproduction:
    """Compare learned metrics with the plain distance. Parameters are tuned on each split."""
    reproduction = Reproduction(EXPERIMENT, setting.data, quick=setting.quick)
    space = space_of(setting)
    folds = [space.fold(number) for number in range(2 if setting.quick else N_SPLITS)]
    # Only L-GMML draws at random.
    names = {
        name: [f"{name}, seed {seed}" for seed in setting.seeds] if name == LOCAL else [name]
        for name in METHODS
    }
    grids = QUICK_GRIDS if setting.quick else GRIDS
    results = setting.run(
        {name: ranker for name, ranker in METHODS.items() if name != LOCAL}
        | {
            run: clone(METHODS[LOCAL]).set_params(random_state=seed)
            for run, seed in zip(names[LOCAL], setting.seeds, strict=True)
        },
        folds,
        grids={run: grids[name] for name in grids for run in names[name]},
        measure=MAP,
        store=setting.store,
    )
    runs = {name: [results[run] for run in names[name]] for name in METHODS}
    figure_5(reproduction, runs, sizes(space, folds))
    table_3(reproduction, runs)
    claims(reproduction, runs)
    return reproduction


def sizes(space: Space, folds: list[Fold]) -> str:
    """A sentence about what is ranked."""
    parts = [folds[0].train, folds[0].valid, folds[0].test]
    queries = ", ".join(str(part.n_queries) for part in parts if part is not None)
    kind = "images, which are the documents too" if space.are_documents else "queries"
    return (
        f"{len(folds)} splits of {len(space.queries):,} {kind}, into {queries}; "
        f"{space.documents.shape[1]} coordinates; lists of {folds[0].test.query_sizes.max():,} "
        f"documents, and of {folds[0].train.query_sizes.max()} to learn from."
    )


def figure_5(reproduction: Reproduction, runs: Mapping[str, Runs], about: str) -> None:
    """Mean and deviation of every method over the splits."""
    gains = corrected({name: compared(runs[name], runs[PLAIN]) for name in runs if name != PLAIN})
    rows: list[list[Value]] = []
    for name, results in runs.items():
        cells: list[Value] = []
        for measure in MEASURES:
            means = split_means(results, measure)
            between = means.mean(axis=1).std(ddof=1) if len(means) > 1 else np.nan
            cells += [float(means.mean()), float(means.std(axis=1, ddof=1).mean()), float(between)]
        times = Counter(text for result in results for text in result.chosen).most_common()
        choices = "; ".join(f"{parameters} ({n})" for parameters, n in times)
        rows.append([name, *cells, difference(gains[name]) if name in gains else "", choices])
    reproduction.table(
        "Figure 5: retrieval by learned metrics",
        [
            "method",
            *(f"{measure}{what}" for measure in MEASURES for what in ("", " ± splits", " ± seeds")),
            f"map over {PLAIN}",
            "chosen (splits)",
        ],
        rows,
        f"{about} Means over the splits, with standard deviations between splits. {LOCAL} draws at "
        f"random: it has {len(runs[LOCAL])} seeds, and a deviation between them. Differences by a "
        f"paired test over queries and seeds, each query with its mean over the splits that test "
        f"it. Parameters are chosen by MAP on the validation queries of each split; C from "
        f"{_values(CS)}, of {ENTRIES} from {_values(ENTRIES_CS)}. The ends of these ranges were "
        f"set by validation queries of the first split alone, whose MAP falls towards both. The "
        f"paper shows MLR, GMML and L-GMML on CAL10K as bars without numbers. ITML and LMNN are "
        f"missing: metric-learn has them, but its last release, 0.7.0 of October 2023, fails with "
        f"scikit-learn 1.8 and later.",
    )
    means_of = {name: [float(split_means(results, MAP).mean())] for name, results in runs.items()}
    reproduction.figure(
        "figure-5",
        "Figure 5: MAP of learned metrics, mean over the splits and seeds.",
        "bars",
        panels={reproduction.data: means_of},
        ticks=[""],
        y_label="MAP",
        numbers="%.3f",
    )


def _values(numbers: Sequence[float]) -> str:
    return f"{', '.join(f'{number:g}' for number in numbers[:-1])} or {numbers[-1]:g}"


def split_means(runs: Runs, measure: Measure) -> Floats:
    """Means of shape (n_runs, n_splits)."""
    return np.array([list(result.fold_means(measure).values()) for result in runs])


def table_3(reproduction: Reproduction, runs: Mapping[str, Runs]) -> None:
    """CPU seconds to train on one split with the parameters chosen for it."""
    times = {name: fold_times(runs[name], "train_cpu_seconds") for name in runs if name != PLAIN}
    seconds = {name: float(of_splits.mean()) for name, of_splits in times.items()}
    numbers = published(PAPER, "table-3", "CAL10K")
    common = [kind for kind in numbers[ROWS] if kind in numbers[LOCAL]]
    ratios = ", ".join(
        f"{kind} {numbers[ROWS][kind] / numbers[LOCAL][kind]:.0f}" for kind in common
    )
    reproduction.table(
        "Table 3: CPU seconds of training",
        ["method", "seconds", "over L-GMML's"],
        [[name, time, time / seconds[LOCAL]] for name, time in seconds.items()],
        f"Mean over the splits, with the parameters chosen. L-GMML has {N_METRICS} metrics, as in "
        f"the paper. The paper's ratios of R-MLR's time to L-GMML's on CAL10K are: {ratios}. The "
        f"claim is tested by the ratios of the splits.",
    )
    test = ratio_test(times[ROWS], times[LOCAL])
    reproduction.claim(
        "L-GMML trains faster than R-MLR", f"R-MLR takes {ratio(test)} times as long", test
    )


def claims(reproduction: Reproduction, runs: Mapping[str, Runs]) -> None:
    """The paper's claims about rankings, by paired tests of one family."""
    says = {
        "L-GMML ranks better than R-MLR": (LOCAL, ROWS),
        "L-GMML ranks better than MLR": (LOCAL, TRACE),
        "L-GMML ranks better than L1-MLR": (LOCAL, ENTRIES),
        "local metrics rank better than the global one": (LOCAL, GLOBAL),
        "R-MLR ranks better than MLR": (ROWS, TRACE),
        "R-MLR ranks better than L1-MLR": (ROWS, ENTRIES),
    }
    tests = corrected({claim: compared(runs[a], runs[b]) for claim, (a, b) in says.items()})
    for claim, test in tests.items():
        reproduction.claim_better(claim, "MAP", test)


def compared(runs: Runs, others: Runs) -> PairedTest:
    """A paired test of MAP over queries and seeds."""
    return paired_test(by_query(runs), by_query(others))


def by_query(runs: Runs) -> Floats:
    """MAP of each query, of shape (n_runs, n_queries), or (n_queries,) of one run.

    A query of several splits counts once, with its mean.
    """
    queries = [query.rpartition(": ")[2] for query in runs[0].test.query_ids.tolist()]
    _, place = np.unique(queries, return_inverse=True)
    n_splits = np.bincount(place)
    means = np.array([np.bincount(place, result.values(MAP)) / n_splits for result in runs])
    return means[0] if len(means) == 1 else means
