"""Rankers compared on queries of a log that none of them has learned from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.estimator import clone
from localrank._base.printing import Printed, Table
from localrank.clicks.counterfactual import (
    RankingValue,
    UnseenRankingError,
    ValueDifference,
    compare_rankings,
    ranking_value,
)
from localrank.clicks.naming import check_bias, fitted_bias
from localrank.clicks.relevance import pairs_of_rows, relevance_dataset
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog
from localrank.measures import NDCG, Measure
from localrank.measures.base import mean_of_queries
from localrank.rankers.base import Ranker


@dataclass(frozen=True, eq=False, repr=False)
class RankerComparison(Printed):
    """Clicks that rankers would bring. They learned from other queries of the same log.

    Attributes
    ----------
    rankers : dict of Ranker
        By name, fitted.
    values : dict of RankingValue
        The clicks per list that each ranker would bring, except those in `refused`.
    refused : dict of str
        Why the log says nothing about a ranker.
    differences : dict of ValueDifference
        Each ranker minus the baseline.
    shown : float
        The clicks per list of the lists that were shown.
    judged : dict of dict of float
        Means of measures of each ranker, by judgments, if the features have labels.
    baseline : str
    n_train, n_test : int
        Queries.
    """

    rankers: dict[str, Ranker]
    values: dict[str, RankingValue]
    refused: dict[str, str]
    differences: dict[str, ValueDifference]
    shown: float
    judged: dict[str, dict[str, float]]
    baseline: str
    n_train: int
    n_test: int

    @property
    def sentence(self) -> str:
        """The result in words."""
        told = f"The lists that were shown brought {self.shown:.4f} clicks each."
        better = [
            name
            for name, one in self.differences.items()
            if one.interval[0] > 0 and name in self.values
        ]
        if better:
            told += f" Significantly better than {self.baseline}: {', '.join(better)}."
        elif self.differences:
            told += f" None is significantly better than {self.baseline}."
        for name, reason in self.refused.items():
            told += f" {name}: {reason}"
        return told

    def _shown(self) -> Sequence[str | Table]:
        measures = list(next(iter(self.judged.values()), {}))
        rows = []
        for name in self.rankers:
            value, one = self.values.get(name), self.differences.get(name)
            cells = (
                ["", ""]
                if value is None
                else [f"{value.value:.4f}", "{:.4f} to {:.4f}".format(*value.interval)]
            )
            cells += (
                ["", ""]
                if one is None
                else [f"{one.difference:+.4f}", "{:+.4f} to {:+.4f}".format(*one.interval)]
            )
            judged = [f"{self.judged[name][measure]:.4f}" for measure in measures]
            rows.append([name, *cells, *judged])
        rows.sort(key=lambda row: -float(row[1] or "-inf"))
        title = f"{self.n_test:,} queries of the log, learned from {self.n_train:,} others"
        columns = ["ranker", "clicks per list", "95 %", f"less {self.baseline}", "95 %", *measures]
        return [Table(title, columns, rows), self.sentence]


def compare_rankers(
    log: ClickLog,
    features: RankingDataset,
    rankers: Mapping[str, Ranker],
    bias: str = "pbm",
    *,
    measures: Sequence[Measure] = (NDCG(10),),
    baseline: str | None = None,
    test_share: float = 0.3,
    max_unseen: float = 0.1,
    rates: Sequence[float] | None = None,
    random_state: int | None = 0,
    say: Callable[[str], None] | None = None,
) -> RankerComparison:
    """Train rankers on some queries of a log, and estimate what they would bring on the others.

    Each ranker learns from `relevance_dataset`. Its value is that of `ranking_value`, from sessions
    of queries that it has not seen, with an interval over queries. How much is seen is estimated
    twice, from the sessions to learn from and from those to judge by, so that a wrong estimate does
    not favour a ranker that shares it. If the features have labels, the result also has measures by
    these labels.

    Parameters
    ----------
    log : ClickLog
    features : RankingDataset
    rankers : mapping of names to Ranker
    bias : str, default="pbm"
        A name that `fitted_bias` knows, except "none".
    measures : sequence of Measure, default=(NDCG(10),)
        For labels of the features, if there are any.
    baseline : str, optional
        What all are compared with. None: the first ranker.
    test_share : float, default=0.3
        The share of the queries to judge by.
    max_unseen : float, default=0.1
        As for `ranking_value`.
    rates : sequence of float or None, default=None
        As for `relevance_dataset`.
    random_state : int or None, default=0
        Seed of the choice of queries.
    say : callable, optional
        Called with a line about what was left out.

    Examples
    --------
    >>> from localrank.clicks import PositionBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature, RankSVM
    >>> dataset, _ = make_queries(60, n_documents=(6, 6), random_state=0)
    >>> log = simulate_clicks(
    ...     dataset, dataset.features[:, -1], PositionBehaviour(), n_sessions=5000, shuffle=2
    ... )
    >>> rankers = {"one": BestFeature(), "all": RankSVM()}
    >>> list(compare_rankers(log, dataset, rankers).values)
    ['one', 'all']
    """
    check_bias(bias)
    if bias == "none":
        raise ValueError(
            "'none' does not say how much is seen, and values are estimated from that. Use another "
            "name, such as 'pbm'."
        )
    if not rankers:
        raise ValueError("There is no ranker to compare.")
    baseline = next(iter(rankers)) if baseline is None else baseline
    if baseline not in rankers:
        raise ValueError(f"{baseline!r} is not among the rankers: {', '.join(rankers)}.")
    asked = np.zeros(features.n_queries, np.bool_)
    asked[features.query_index[pairs_of_rows(log, features) >= 0]] = True
    known = np.flatnonzero(asked)
    n_test = round(test_share * len(known)) if 0 < test_share < 1 else 0
    if not 0 < n_test < len(known):
        raise ValueError(
            f"'test_share' must leave queries to learn from and to judge by, of {len(known):,} "
            f"that the log and the features share. Got {test_share}."
        )
    drawn = np.random.default_rng(random_state).permutation(known)
    tell = say or (lambda line: None)
    documents = _with_ids(features)
    train, test = (documents.select(np.sort(part)) for part in (drawn[n_test:], drawn[:n_test]))
    first, second = _sessions(log, train), _sessions(log, test)
    seen = fitted_bias(bias, first, train, tell)
    learned = relevance_dataset(first, train, seen, rates=rates, say=tell)
    fitted = {name: clone(ranker).fit(learned) for name, ranker in rankers.items()}
    return _judged(
        fitted, second, test, fitted_bias(bias, second, test, tell), measures, baseline,
        max_unseen, train.n_queries,
    )  # fmt: skip


def _judged(
    fitted: dict[str, Ranker],
    log: ClickLog,
    test: RankingDataset,
    bias: Any,
    measures: Sequence[Measure],
    baseline: str,
    max_unseen: float,
    n_train: int,
) -> RankerComparison:
    scores = {name: ranker.predict(test) for name, ranker in fitted.items()}
    options: dict[str, Any] = {"features": test, "unit": "query", "max_unseen": max_unseen}
    values, refused, differences = {}, {}, {}
    for name, of_ranker in scores.items():
        try:
            values[name] = ranking_value(log, of_ranker, bias, **options)
        except UnseenRankingError as error:
            refused[name] = str(error)
    for name in values:
        if baseline in values and name != baseline:
            pair = {name: scores[name], baseline: scores[baseline]}
            ((differences[name],)) = compare_rankings(log, pair, bias, **options)[1]
    judged = {}
    if test.relevance is not None:
        judged = {
            name: {str(one): float(mean_of_queries(one(test, of_ranker))) for one in measures}
            for name, of_ranker in scores.items()
        }
    shown = log.n_clicks / log.n_sessions
    return RankerComparison(
        fitted, values, refused, differences, shown, judged, baseline, n_train, test.n_queries
    )


def _with_ids(features: RankingDataset) -> RankingDataset:
    """The features with ids of documents: those that `simulate_clicks` gives, if they have none."""
    if features.document_ids is not None:
        return features
    order = features.input_order
    ids = np.arange(features.n_documents) if order is None else order
    return features.replaced(document_ids=ids.astype(np.str_))


def _sessions(log: ClickLog, features: RankingDataset) -> ClickLog:
    """The sessions of the queries of a dataset."""
    known = np.isin(log.query_ids.astype(np.str_), features.query_ids.astype(np.str_))
    return log.select(known[log.session_queries])
