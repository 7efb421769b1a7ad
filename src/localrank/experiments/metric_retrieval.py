"""Query-dependent retrieval by learned metrics: Table 3 and Figure 5 of L-GMML's paper.

Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017, §4.4. Queries
and documents are points of one space, and every method ranks documents by a distance to the
query. The paper's songs, CAL10K, are not available. Scikit-learn's digits (a query is an image, and
images of the same digit are relevant) and a text collection in latent semantic coordinates replace
them. The protocol is the paper's: ten splits of the queries, 40 % to learn from, 30 % to choose
parameters, 30 % to test. `--data digits` needs no folder.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank.data import Fold, RankingDataset
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.tuning import Grid
from localrank.experiments.published_numbers import published
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting
from localrank.experiments.text_collections import TEXT_FILES, read_collection
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import LGMML, MLR, RMLR, Ranker
from localrank.rankers.base import HeldOut, Weights

EXPERIMENT, PAPER = "metric-retrieval", "lgmml"
DIGITS = "digits"
MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(10)]
PLAIN, GLOBAL, LOCAL, TRACE, ROWS = "Euclidean", "GMML", "L-GMML", "MLR", "R-MLR"
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
}
GRIDS: dict[str, Grid] = {
    GLOBAL: {"t": [0.0, 0.25, 0.5, 0.75, 1.0]},
    LOCAL: {"t": [0.0, 0.25, 0.5, 0.75, 1.0], "scale": ["median", "monotone"]},
    TRACE: {"C": [10.0, 100.0, 1000.0]},
    ROWS: {"C": [10.0, 100.0, 1000.0]},
}
QUICK_GRIDS: dict[str, Grid] = {
    GLOBAL: {"t": [0.5]},
    LOCAL: {"t": [0.5], "scale": ["monotone"]},
    TRACE: {"C": [30.0]},
    ROWS: {"C": [30.0]},
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

    def fold(self, number: int, seed: int) -> Fold:
        """One split of the queries, 40/30/30."""
        rng, name = np.random.default_rng([seed, number]), f"split {number + 1}"
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
    """Images by principal components of their pixels."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    images, labels = load_digits(return_X_y=True)
    drawn = np.random.default_rng(0).permutation(len(images))[:n_images]
    points = unit_distances(PCA(n_coordinates, random_state=0).fit_transform(images[drawn]))
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
    both = unit_distances(np.vstack([documents, asked]))
    return Space(both[len(documents) :], both[: len(documents)], relevant[judged], False)


def unit_distances(points: Floats) -> Floats:
    """Points scaled so that the coordinates of two of them differ by 1 in root mean square.

    Examples
    --------
    >>> unit_distances(np.array([[0.0], [4.0], [8.0]])).ravel().round(3)
    array([0.   , 0.866, 1.732])
    """
    scaled: Floats = points / np.sqrt(2 * points.var(axis=0).mean())
    return scaled


def reproduce(setting: Setting) -> Reproduction:
    """Compare learned metrics with the plain distance. Parameters are tuned on each split."""
    reproduction, space = Reproduction(EXPERIMENT, setting.data), space_of(setting)
    folds = [
        space.fold(number, setting.random_state)
        for number in range(2 if setting.quick else N_SPLITS)
    ]
    grids = QUICK_GRIDS if setting.quick else GRIDS
    results = setting.run(METHODS, folds, grids=grids, measure=MAP, store=setting.store)
    figure_5(reproduction, results, sizes(space, folds))
    table_3(reproduction, results)
    claims(reproduction, results)
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


def figure_5(reproduction: Reproduction, results: dict[str, MethodResult], about: str) -> None:
    """Mean and deviation of every method over the splits."""
    rows: list[list[Value]] = []
    for name, result in results.items():
        values = [list(result.fold_means(measure).values()) for measure in MEASURES]
        cells = [
            number
            for by_split in values
            for number in (np.mean(by_split), np.std(by_split, ddof=1))
        ]
        times = Counter(result.chosen).most_common()
        choices = "; ".join(f"{parameters} ({n})" for parameters, n in times)
        gain = difference(by_query(result, results[PLAIN])) if name != PLAIN else ""
        rows.append([name, *map(float, cells), gain, choices])
    reproduction.table(
        "Figure 5: retrieval by learned metrics",
        [
            "method",
            *(f"{measure}{what}" for measure in MEASURES for what in ("", " ±")),
            f"map over {PLAIN}",
            "chosen (splits)",
        ],
        rows,
        f"{about} Means over the splits, and standard deviations of a split; differences by a "
        f"paired test over the queries, each with its mean over the splits that test it. "
        f"Parameters are chosen by MAP on the validation queries of each split. The paper shows "
        f"MLR, GMML and L-GMML on CAL10K as bars without numbers.",
    )
    reproduction.figure(
        "figure-5",
        "Figure 5: MAP of learned metrics, mean over the splits.",
        "bars",
        panels={reproduction.data: {name: [result.mean(MAP)] for name, result in results.items()}},
        ticks=[""],
        y_label="MAP",
        numbers="%.3f",
    )


def table_3(reproduction: Reproduction, results: dict[str, MethodResult]) -> None:
    """CPU seconds to train on one split with the parameters chosen for it."""
    learned = {name: results[name] for name in (GLOBAL, LOCAL, TRACE, ROWS)}
    seconds = {name: r.train_cpu_seconds / len(r.runs) for name, r in learned.items()}
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
        f"the paper. The paper's ratios of R-MLR's time to L-GMML's on CAL10K are: {ratios}.",
    )
    reproduction.claim(
        "L-GMML trains faster than R-MLR",
        seconds[LOCAL] < seconds[ROWS],
        f"{seconds[LOCAL]:.2f} against {seconds[ROWS]:.2f} CPU seconds",
    )


def claims(reproduction: Reproduction, results: dict[str, MethodResult]) -> None:
    """The paper's claims about Figure 5, by paired tests."""
    for says, better, worse in (
        ("L-GMML ranks better than R-MLR", LOCAL, ROWS),
        ("L-GMML ranks better than MLR", LOCAL, TRACE),
        ("local metrics rank better than the global one", LOCAL, GLOBAL),
    ):
        reproduction.claim_better(says, "MAP", by_query(results[better], results[worse]))


def by_query(result: MethodResult, opponent: MethodResult) -> PairedTest:
    """A paired test. A query of several splits counts once, with its mean."""
    queries = [query.rpartition(": ")[2] for query in result.test.query_ids.tolist()]
    _, place = np.unique(queries, return_inverse=True)
    n_splits = np.bincount(place)
    means = [np.bincount(place, either.values(MAP)) / n_splits for either in (result, opponent)]
    return paired_test(*means)
