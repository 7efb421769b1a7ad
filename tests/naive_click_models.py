"""Click models by their definitions: what people do, one session and one case at a time.

Documents are numbers from 0. A fitted model is read by its public attributes alone.
"""

from itertools import product
from math import prod

import numpy as np

from localrank.clicks import (
    CascadeModel,
    ClickLog,
    DependentClickModel,
    DynamicBayesianModel,
    PositionBasedModel,
    TrustBiasModel,
    UserBrowsingModel,
)


def cases(model, documents):
    """Everything that can happen in a session: (probability, examined, clicks)."""
    if isinstance(model, PositionBasedModel | TrustBiasModel):
        yield from _independent(model, documents)
    elif isinstance(model, UserBrowsingModel):
        yield from _browsing(model, documents, (), ())
    else:
        yield from _reading(model, documents, (), (), True)


def _independent(model, documents):
    """Examined or not, and clicked or not, at each position alone."""
    trust = getattr(model, "trust_", [0] * len(documents))
    choices = []
    for place, document in enumerate(documents):
        seen, relevance = model.examination_[place], model.relevance_[document]
        click = relevance + trust[place] * (1 - relevance)
        choices.append([(seen * click, 1, 1), (seen * (1 - click), 1, 0), (1 - seen, 0, 0)])
    for chosen in product(*choices):
        yield prod(p for p, _, _ in chosen), [e for _, e, _ in chosen], [c for _, _, c in chosen]


def _browsing(model, documents, examined, clicks):
    place = len(clicks)
    if place == len(documents):
        yield 1.0, list(examined), list(clicks)
        return
    last = max((i + 1 for i, click in enumerate(clicks) if click), default=0)
    seen, relevance = model.examination_[place, last], model.relevance_[documents[place]]
    for p, e, c in [
        (seen * relevance, 1, 1), (seen * (1 - relevance), 1, 0), (1 - seen, 0, 0)
    ]:  # fmt: skip
        for rest, all_examined, all_clicks in _browsing(
            model, documents, (*examined, e), (*clicks, c)
        ):
            yield p * rest, all_examined, all_clicks


def _reading(model, documents, examined, clicks, reads):
    place = len(clicks)
    if place == len(documents):
        yield 1.0, list(examined), list(clicks)
        return
    attracts = model.relevance_[documents[place]]
    stops, goes_on = satisfaction(model, place, documents[place])
    turns = (
        [
            (attracts * stops, 1, False),
            (attracts * (1 - stops) * goes_on, 1, True),
            (attracts * (1 - stops) * (1 - goes_on), 1, False),
            ((1 - attracts) * goes_on, 0, True),
            ((1 - attracts) * (1 - goes_on), 0, False),
        ]
        if reads
        else [(1.0, 0, False)]
    )
    for p, c, reads_on in turns:
        for rest, all_examined, all_clicks in _reading(
            model, documents, (*examined, int(reads)), (*clicks, c), reads_on
        ):
            yield p * rest, all_examined, all_clicks


def satisfaction(model, place, document):
    """The probability to stop satisfied after a click, and to go on if not."""
    if isinstance(model, CascadeModel):
        return 1.0, 1.0
    if isinstance(model, DependentClickModel):
        return 1 - model.continuation_[place], 1.0
    return model.satisfaction_[document], model.continuation_


def pattern_probability(model, documents, clicks):
    return sum(p for p, _, done in cases(model, documents) if done == list(clicks))


def click_probability(model, documents, place):
    return sum(p for p, _, done in cases(model, documents) if done[place])


def examination_given_above(model, documents, clicks, place):
    """The probability that a position was examined, given the clicks above it."""
    above = [
        (p, seen[place])
        for p, seen, done in cases(model, documents)
        if done[:place] == list(clicks[:place])
    ]
    return sum(p for p, seen in above if seen) / sum(p for p, _ in above)


def draws(model, lists, rng):
    """The clicks of one session for each list."""
    ready = {}
    for documents in set(lists):
        possible = list(cases(model, documents))
        total = sum(p for p, _, _ in possible)
        ready[documents] = [p / total for p, _, _ in possible], [c for _, _, c in possible]
    return [ready[documents][1][rng.choice(len(ready[documents][0]), p=ready[documents][0])]
            for documents in lists]  # fmt: skip


MODELS = {
    "pbm": PositionBasedModel(),
    "trust": TrustBiasModel(),
    "ubm": UserBrowsingModel(),
    "cascade": CascadeModel(),
    "dcm": DependentClickModel(),
    "dcm-counts": DependentClickModel("counts"),
    "dbn": DynamicBayesianModel(),
    "sdbn": DynamicBayesianModel(1),
}
N_DOCUMENTS, LENGTH = 5, 4
# What people are like, for logs that are drawn from each model itself.
RELEVANCE = np.array([0.7, 0.5, 0.3, 0.2, 0.1])


def world(name):
    """A model with chosen parameters, as if it had been fitted."""
    model = MODELS[name].__class__()
    model.relevance_ = RELEVANCE.copy()
    if name in ("pbm", "trust"):
        model.examination_ = np.array([1.0, 0.7, 0.4, 0.3])
    if name == "trust":
        model.trust_ = np.array([0.5, 0.3, 0.1, 0.0])
    if name == "ubm":
        model.examination_ = np.full((LENGTH, LENGTH), np.nan)
        model.examination_[np.tril_indices(LENGTH)] = [
            1.0, 0.6, 0.9, 0.4, 0.3, 0.8, 0.3, 0.1, 0.4, 0.7
        ]  # fmt: skip
    if name.startswith("dcm"):
        model.continuation_ = np.array([0.3, 0.5, 0.8, 0.5])
    if name.endswith("dbn"):
        model.satisfaction_ = np.array([0.8, 0.3, 0.5, 0.6, 0.2])
        model.continuation_ = 0.8 if name == "dbn" else 1.0
    return model


def log_of(lists, clicks):
    return ClickLog.from_sessions(
        ["q"] * len(lists),
        lists,
        [np.flatnonzero(done).tolist() for done in clicks],
    )


def drawn(name, n_sessions, seed=0):
    """Sessions of people who are as the model says, on lists in random order."""
    rng = np.random.default_rng(seed)
    lists = [tuple(rng.permutation(N_DOCUMENTS)[:LENGTH].tolist()) for _ in range(n_sessions)]
    return log_of(lists, draws(world(name), lists, rng))


# The published estimates. A session is (query, documents, clicks as 0 and 1).


def cascade_counts(sessions):
    """Clicks and impressions of each pair, down to the first click."""
    clicked, examined = {}, {}
    for query, documents, clicks in sessions:
        for document, click in zip(documents, clicks, strict=True):
            pair = query, document
            examined[pair] = examined.get(pair, 0) + 1
            clicked[pair] = clicked.get(pair, 0) + click
            if click:
                break
    return clicked, examined


def dependent_counts(sessions):
    """Of each pair down to the last click; and of each position: clicks, and last ones."""
    clicked, examined, place_clicks, place_last = {}, {}, {}, {}
    for query, documents, clicks in sessions:
        last = max((i for i, click in enumerate(clicks) if click), default=None)
        for place, (document, click) in enumerate(zip(documents, clicks, strict=True)):
            pair = query, document
            if last is None or place <= last:
                examined[pair] = examined.get(pair, 0) + 1
                clicked[pair] = clicked.get(pair, 0) + click
            if click:
                place_clicks[place] = place_clicks.get(place, 0) + 1
                place_last[place] = place_last.get(place, 0) + (place == last)
    return clicked, examined, place_clicks, place_last


class PublishedEM:
    """Expectation-maximisation as Chuklin, Markov and de Rijke print it, in plain dictionaries.

    Each probability begins at a half, and is estimated as if it had been tried twice more, with one
    success. `kind` is "pbm", "ubm" or "dbn".
    """

    def __init__(self, kind, n_iter=50):
        self.kind, self.n_iter = kind, n_iter

    def fit(self, sessions):
        self.attraction, self.examination, self.satisfaction = {}, {}, {}
        self.continuation = 0.5
        for _ in range(self.n_iter):
            counts = ({}, {}, {}, [1.0, 2.0])
            for session in sessions:
                if self.kind == "dbn":
                    self._count_reading(session, *counts)
                else:
                    self._count_places(session, *counts[:2])
            self.attraction, self.examination, self.satisfaction = (
                {key: (hits + 1) / (tries + 2) for key, (hits, tries) in table.items()}
                for table in counts[:3]
            )
            self.continuation = counts[3][0] / counts[3][1]
        return self

    def _key(self, place, clicks):
        if self.kind == "pbm":
            return place
        return place, max((i + 1 for i in range(place) if clicks[i]), default=0)

    def _count_places(self, session, attraction, examination):
        query, documents, clicks = session
        for place, (document, click) in enumerate(zip(documents, clicks, strict=True)):
            pair, key = (query, document), self._key(place, clicks)
            a, e = self.attraction.get(pair, 0.5), self.examination.get(key, 0.5)
            add(attraction, pair, 1 if click else a * (1 - e) / (1 - a * e))
            add(examination, key, 1 if click else e * (1 - a) / (1 - a * e))

    def _count_reading(self, session, attraction, _, satisfaction, continuation):
        query, documents, clicks = session
        n, g = len(documents), self.continuation
        a = [self.attraction.get((query, document), 0.5) for document in documents]
        s = [self.satisfaction.get((query, document), 0.5) for document in documents]
        # The probability of a click from each position on, if it is examined.
        later = [0.0] * (n + 1)
        for i in reversed(range(n)):
            later[i] = a[i] + (1 - a[i]) * g * later[i + 1]
        last = max((i for i in range(n) if clicks[i]), default=-1)
        seen = 1.0
        for i in range(n):
            pair = query, documents[i]
            if i <= last:
                add(attraction, pair, clicks[i])
            else:
                add(attraction, pair, a[i] * (1 - seen) / (1 - seen * later[i]))
            if clicks[i] and i < last:
                add(satisfaction, pair, 0)
            elif clicks[i]:
                add(satisfaction, pair, s[i] / (1 - (1 - s[i]) * g * later[i + 1]))
            if i < last:
                continuation[0] += 1
                continuation[1] += 1
            elif i + 1 < n:
                # Those who could have gone on: they examined the position, and are not satisfied.
                silent = 1 - g * later[i + 1]
                could = (
                    (1 - s[i]) * silent / (s[i] + (1 - s[i]) * silent)
                    if clicks[i]
                    else seen * (1 - a[i]) * silent / (1 - seen * later[i])
                )
                continuation[0] += could * g * (1 - later[i + 1]) / silent
                continuation[1] += could
            # Given the clicks so far.
            seen = g * (1 - s[i]) if clicks[i] else g * seen * (1 - a[i]) / (1 - seen * a[i])

    def click_probabilities(self, session):
        """Each given the clicks above it."""
        query, documents, clicks = session
        seen, found = 1.0, []
        for place, document in enumerate(documents):
            pair = query, document
            a = self.attraction.get(pair, 0.5)
            if self.kind != "dbn":
                seen = self.examination.get(self._key(place, clicks), 0.5)
            found.append(a * seen)
            if self.kind == "dbn":
                s = self.satisfaction.get(pair, 0.5)
                seen = 1 - s if clicks[place] else seen * (1 - a) / (1 - seen * a)
                seen *= self.continuation
        return found


def add(table, key, hits):
    before = table.get(key, (0.0, 0))
    table[key] = before[0] + hits, before[1] + 1
