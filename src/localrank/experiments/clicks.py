"""What is learned from clicks, beside what is learned from labels.

People are made up, and so are their clicks: `simulate_clicks` on the training queries of public
collections. A linear ranker that was trained on one in a hundred of these queries makes the lists
of ten, shuffled by about two positions. Then every method learns from the log alone, and ranks all
documents of the test queries, which have labels. Nothing was chosen by test queries: what was left
to choose was chosen on the parts that validate, and on parts of the training queries.

Models have 100 trees of 7 leaves. "localrank" is what `localrank train log.jsonl --clicks pbm`
learns: LambdaMART on `relevance_dataset`, with the examination that the log tells. LightGBM and
XGBoost get what they ask for: a row for each impression, a session as a query, the click as label.

Each seed has other queries to test, another ranker that logs, and other clicks. Where a collection
has one split, both seeds test the same queries, which count once, with their mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.clicks import (
    CascadeBehaviour,
    ClickLog,
    PositionBehaviour,
    TrustBehaviour,
    relevance_dataset,
    simulate_clicks,
)
from localrank.clicks.behaviour import Behaviour
from localrank.clicks.naming import fitted_bias
from localrank.clicks.relevance import pairs_of_rows
from localrank.data import Fold, RankingDataset, folds, read_letor
from localrank.data._atomic import atomic_write
from localrank.evaluation import paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting, own_folds
from localrank.measures import parse_measure
from localrank.rankers import LambdaMART, Ranker, RankSVM

EXPERIMENT = "clicks"
SEEDS = (0, 1)
COLLECTIONS = ("MQ2007-85", "MSLR-sample", "Yandex")
MEASURE = parse_measure("ndcg@10")

PBM, CASCADE, TRUST = "position-based", "cascade", "trust bias"
BEHAVIOURS: dict[str, Behaviour] = {
    PBM: PositionBehaviour(),
    CASCADE: CascadeBehaviour(),
    TRUST: TrustBehaviour(),
}
SIZES, FEW_SESSIONS = (10_000, 100_000, 1_000_000), (1_000, 3_000)
# The number of sessions at which methods are tested.
JUDGED = 100_000
# A million sessions have ten million impressions: LightGBM and XGBoost get this many sessions.
MOST_AS_ROWS = 100_000
# Of the training queries, those that the logging ranker was trained on.
LOGGED_SHARE = 0.01
BIAS = "pbm"
# Standard deviation of the noise on the ranks of the lists.
SHUFFLE = 2.0
N_TREES, FEW_TREES, N_LEAVES = 100, 10, 7
# Of 0.05, 0.1 and 0.3, the one that ranks validation queries best.
XGBOOST_RATE = 0.1

LABELS, LOGGING, NAIVE, ALIKE = "labels", "the logging ranker", "click rates", "click rates, shrunk"
OURS, CHOSEN = "localrank", "localrank, chosen model"
LIGHTGBM, XGBOOST = "LightGBM, position", "XGBoost, unbiased"
METHODS = (LABELS, LOGGING, NAIVE, ALIKE, OURS, CHOSEN, LIGHTGBM, XGBOOST)
OTHERS = (NAIVE, LIGHTGBM, XGBOOST)
ALL = "all"
# What labels must reach, as a share.
WANTED = 0.97

# The split of a collection for a seed.
Source = Callable[[int], Fold]
# Behaviour, number of sessions and method.
Key = tuple[str, int, str]
# The test queries of a collection, for each seed.
Values = dict[Key, list[Floats]]

NOTE = (
    f"'{NAIVE}': LambdaMART on the click rate of each document. '{ALIKE}': as '{OURS}', but "
    f"everything counts as seen. '{CHOSEN}': the click model that best predicts sessions that it "
    f"has not seen tells how much is seen. LightGBM and XGBoost get at most {MOST_AS_ROWS:,} "
    f"sessions, the first of the log: a million would be ten million rows. They, and '{NAIVE}', "
    f"learn from documents that were shown."
)


def reproduce(setting: Setting) -> Reproduction:
    """Compare what is learned from clicks with what others learn from them, and from labels."""
    sources = sources_of(setting, COLLECTIONS)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(sources), claimant="the expectation", quick=setting.quick
    )
    values: dict[str, Values] = {}
    for name, source in sources.items():
        values[name] = {}
        for seed in setting.seeds:
            fold = source(seed)
            for behaviour in BEHAVIOURS:
                make = partial(_learned, setting, fold, behaviour, seed)
                found = _kept(setting, f"{name}, {seed}, {behaviour}", make)
                for key, value in found.items():
                    values[name].setdefault(key, []).append(value)
    one_split = {name for name in sources if tests_the_same(sources[name], setting.seeds)}
    _means(reproduction, setting, values, one_split)
    _tested(reproduction, setting, _pooled(values, one_split))
    return reproduction


def sizes_of(setting: Setting) -> Sequence[int]:
    """The numbers of sessions."""
    return FEW_SESSIONS if setting.quick else SIZES


def sources_of(setting: Setting, names: Sequence[str]) -> dict[str, Source]:
    """The split of each of some collections for a seed. Without any, the folder itself."""
    inside = {name: setting.folder / name for name in names}
    known = {name: path for name, path in inside.items() if path.is_dir()}
    known = known or {setting.data: setting.folder}

    def split(folder: Path, seed: int) -> Fold:
        whole = folder / "train.txt.gz"
        if whole.is_file() and not (folder / "test.txt.gz").is_file():
            parts = folds(read_letor(whole), 5, validation=False, random_state=0)
        else:
            parts = own_folds(folder)
        fold: Fold = parts[seed % len(parts)]
        return fold

    return {name: partial(split, path) for name, path in known.items()}


def tests_the_same(source: Source, seeds: Sequence[int]) -> bool:
    """Whether all seeds test the same queries."""
    first, *others = (source(seed).test.query_ids.tolist() for seed in seeds)
    return all(ids == first for ids in others)


def _kept(setting: Setting, name: str, make: Callable[[], dict[Key, Floats]]) -> dict[Key, Floats]:
    """Values from the store, or made now and stored."""
    path = None if setting.store is None else setting.store / EXPERIMENT / f"{name}.json"
    if path is not None and path.is_file():
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {(one, n, method): np.array(values) for one, n, method, values in rows}
    setting.say(name)
    found = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(json.dumps([[*key, list(value)] for key, value in found.items()]).encode())
    return found


def logging_ranker(train: RankingDataset, seed: int) -> Ranker:
    """A ranker that was trained on few of the queries."""
    rng = np.random.default_rng(seed)
    low, high = train.label_bounds
    teaching = np.flatnonzero(low < high)
    n_few = max(1, round(LOGGED_SHARE * train.n_queries))
    few = np.sort(rng.choice(teaching, n_few, replace=False))
    return RankSVM().fit(train.select(few))


def _learned(setting: Setting, fold: Fold, behaviour: str, seed: int) -> dict[Key, Floats]:
    """The values of the test queries by every method, for each number of sessions."""
    train, test = fold.train.in_memory(), fold.test.in_memory()
    shown_by = logging_ranker(train, seed)
    trees = trees_of(setting)
    sizes = sizes_of(setting)
    log = simulate_clicks(
        train,
        shown_by,
        BEHAVIOURS[behaviour],
        n_sessions=max(sizes),
        shuffle=SHUFFLE,
        random_state=seed,
    )
    of_labels = MEASURE(test, trees.fit(train).predict(test))
    of_logging = MEASURE(test, shown_by.predict(test))
    values, others = {}, dict[int, dict[str, Floats]]()
    for n in sizes:
        first = log.select(np.arange(n))
        learned = {
            NAIVE: relevance_dataset(first, train, prior=None),
            ALIKE: relevance_dataset(first, train),
            OURS: relevance_dataset(first, train, fitted_bias(BIAS, first, train)),
            CHOSEN: relevance_dataset(first, train, fitted_bias("auto", first)),
        }
        values[behaviour, n, LABELS] = of_labels
        values[behaviour, n, LOGGING] = of_logging
        for name, dataset in learned.items():
            values[behaviour, n, name] = MEASURE(test, trees.fit(dataset).predict(test))
        as_rows = min(n, MOST_AS_ROWS)
        if as_rows not in others:
            others[as_rows] = {
                name: MEASURE(test, scores)
                for name, scores in _of_others(log.select(np.arange(as_rows)), train, test, trees)
            }
        values |= {(behaviour, n, name): value for name, value in others[as_rows].items()}
    return values


def trees_of(setting: Setting) -> LambdaMART:
    """The ranker that learns from clicks and from labels, not fitted."""
    few = setting.quick
    return LambdaMART(
        FEW_TREES if few else N_TREES, n_leaves=N_LEAVES, min_leaf_documents=5 if few else 50
    )


def _of_others(
    log: ClickLog, train: RankingDataset, test: RankingDataset, trees: LambdaMART
) -> Iterator[tuple[str, Array]]:
    """The scores by LightGBM and XGBoost, from a row for each impression."""
    import lightgbm
    import xgboost

    pairs = pairs_of_rows(log, train)
    rows = np.empty(log.n_pairs, np.int64)
    rows[pairs[pairs >= 0]] = np.flatnonzero(pairs >= 0)
    table = train.features.astype(np.float32)[rows[log.pairs]]
    clicked = log.clicks.astype(np.int64)
    parameters = {
        "objective": "lambdarank",
        "num_leaves": trees.n_leaves,
        "learning_rate": trees.learning_rate,
        "min_data_in_leaf": trees.min_leaf_documents,
        "feature_fraction": trees.feature_fraction,
        "lambda_l2": trees.l2,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "seed": 0,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(
        table, clicked, group=log.session_sizes, position=log.positions, params={"verbosity": -1}
    )
    booster = lightgbm.train(parameters, data, trees.n_trees)
    yield LIGHTGBM, np.asarray(booster.predict(test.features, num_threads=1))
    of_xgboost: dict[str, Any] = {
        "objective": "rank:ndcg",
        "lambdarank_unbiased": True,
        "lambdarank_pair_method": "topk",
        "lambdarank_num_pair_per_sample": log.n_positions,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": trees.n_leaves,
        "max_depth": 0,
        "eta": XGBOOST_RATE,
        "nthread": 1,
        "seed": 0,
    }
    matrix = xgboost.QuantileDMatrix(table, clicked, qid=log.session_index, nthread=1)
    model = xgboost.train(of_xgboost, matrix, trees.n_trees)
    yield XGBOOST, model.predict(xgboost.DMatrix(test.features.astype(np.float32), nthread=1))


def _pooled(values: Mapping[str, Values], one_split: set[str]) -> dict[Key, Floats]:
    """One value for each test query of all collections."""
    keys = next(iter(values.values()))
    return {
        key: np.concatenate([queries_of_seeds(values[n][key], n in one_split) for n in values])
        for key in keys
    }


def queries_of_seeds(by_seed: Sequence[Floats], same: bool) -> Floats:
    """A value for each test query: the mean of the seeds, where they test the same queries."""
    return np.asarray(np.mean(by_seed, axis=0) if same else np.concatenate(by_seed))


def _means(
    reproduction: Reproduction,
    setting: Setting,
    values: Mapping[str, Values],
    one_split: set[str],
) -> None:
    """Every method, on all test queries and on those of each collection."""
    places = {ALL: _pooled(values, one_split)} if len(values) > 1 else {}
    places |= {name: _pooled({name: values[name]}, one_split) for name in values}
    sizes = sizes_of(setting)
    for place, of_place in places.items():
        rows: list[list[Value]] = []
        for behaviour, n in product(BEHAVIOURS, sizes):
            means = {m: float(np.nanmean(of_place[behaviour, n, m])) for m in METHODS}
            share = f"{means[OURS] / means[LABELS]:.1%}"
            rows.append([behaviour, n, *means.values(), share])
        n_queries = int(np.isfinite(of_place[PBM, sizes[0], LABELS]).sum())
        reproduction.table(
            f"{MEASURE} on {place if place != ALL else 'all test queries'}",
            ["people", "sessions", *METHODS, f"{OURS} / {LABELS}"],
            rows,
            f"Means of {n_queries:,} queries. {NOTE}" if place in (ALL, *list(values)[:1]) else "",
        )
    together = _pooled(values, one_split)
    reproduction.figure(
        "sessions",
        f"{MEASURE} by the number of sessions, on all test queries.",
        "curves",
        panels={
            behaviour: {
                method: (
                    list(sizes),
                    [float(np.nanmean(together[behaviour, n, method])) for n in sizes],
                )
                for method in METHODS
            }
            for behaviour in BEHAVIOURS
        },
        x_label="sessions",
        y_label=str(MEASURE),
        log_x=True,
    )


def _tested(reproduction: Reproduction, setting: Setting, together: Mapping[Key, Floats]) -> None:
    """Tests of what clicks gain, for every behaviour and number of sessions, and the claims."""
    sizes = sizes_of(setting)
    judged = JUDGED if JUDGED in sizes else sizes[-1]
    tests = corrected(
        {
            (behaviour, n, other): paired_test(
                together[behaviour, n, OURS], together[behaviour, n, other]
            )
            for behaviour, n, other in product(BEHAVIOURS, sizes, (*OTHERS, ALIKE))
        }
    )
    reproduction.table(
        f"What {OURS} gains",
        ["people", "sessions", *(f"over {other}" for other in (*OTHERS, ALIKE))],
        [
            [behaviour, n, *(difference(tests[behaviour, n, m]) for m in (*OTHERS, ALIKE))]
            for behaviour, n in product(BEHAVIOURS, sizes)
        ],
        f"{MEASURE} on all test queries. p is of paired t-tests over queries, corrected by Holm's "
        f"rule for the {len(tests)} tests of the table.",
    )
    ours, labels = (together[PBM, judged, method] for method in (OURS, LABELS))
    reach = paired_test(ours, WANTED * labels)
    share = np.nanmean(ours) / np.nanmean(labels)
    reproduction.claim(
        f"{OURS} reaches {WANTED:.0%} of what {LABELS} reach, from {judged:,} {PBM} sessions",
        f"{share:.1%}; beyond {WANTED:.0%}: {difference(reach)}",
        reach,
    )
    for other in OTHERS:
        test = tests[PBM, judged, other]
        reproduction.claim_better(
            f"{OURS} ranks better than {other}, from {judged:,} {PBM} sessions", str(MEASURE), test
        )
    for behaviour in (CASCADE, TRUST):
        of_sizes = [tests[behaviour, n, NAIVE] for n in sizes]
        told = "; ".join(
            f"{n:,} sessions {difference(test)}" for n, test in zip(sizes, of_sizes, strict=True)
        )
        reproduction.claim(
            f"{OURS} ranks better than {NAIVE} from {behaviour} sessions", told, *of_sizes
        )
