"""Searches in several collections: candidates with features, and values of the whole search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank.data import Fold, RankingDataset, concatenate, folds, read_qrels, read_run
from localrank.data.fold import Folds
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.runner import judged_queries
from localrank.evaluation.significance import corrected
from localrank.measures import Measure
from localrank.text import Analyzer, FeatureExtractor

if TYPE_CHECKING:
    from localrank.experiments.text_collections import TextCollection

DEPTH = 100

# The values of methods by name: one for each query, or one row of them for each of several
# trainings. NaN: the query was not tested.
Values = Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Searches:
    """Queries of several collections, their candidates, and relevant documents that none is.

    The id of a query is "collection-number".

    Attributes
    ----------
    judged : RankingDataset
        The candidates of each query in the order of the search, and behind them the relevant
        documents that the search did not find.
    is_candidate : ndarray of bool, shape (n_documents,)
    sizes : dict from str to int
        Number of documents in each collection.
    """

    judged: RankingDataset
    is_candidate: Flags
    sizes: dict[str, int]

    @cached_property
    def candidates(self) -> RankingDataset:
        """The candidates alone."""
        data, rows = self.judged, self.is_candidate
        assert data.document_ids is not None
        return RankingDataset.from_arrays(
            data.features[rows],
            data.labels[rows],
            data.query_ids[data.query_index[rows]],
            document_ids=data.document_ids[rows],
            feature_names=data.feature_names,
        )

    @cached_property
    def categories(self) -> Array:
        """The collection of each query."""
        return categories_of(self.judged)

    def folds(self, *, with_judged: bool = False) -> dict[str, Folds]:
        """The folds of each collection, of the candidates or of all documents.

        Both have the same queries in the same parts.
        """
        data = self.judged if with_judged else self.candidates
        return {name: folds(data.select(categories_of(data) == name)) for name in self.sizes}

    def values(
        self, results: Iterable[MethodResult], measure: Measure, *, everything: bool = False
    ) -> Floats:
        """The value of each query. A document that is not ranked counts as not found.

        Parameters
        ----------
        results : iterable of MethodResult
            Results of one method, of different queries.
        measure : Measure
        everything : bool, default=False
            Whether documents count that the search did not find, if they are ranked.
        """
        scores = np.full(self.judged.n_documents, -np.inf)
        tested = np.zeros(self.judged.n_queries, bool)
        place = {query: i for i, query in enumerate(self.judged.query_ids.tolist())}
        for result in results:
            test = result.test
            queries = np.array([place[query] for query in test.query_ids.tolist()])
            # Candidates stand first, so a document has the same place in both lists.
            within = np.arange(test.n_documents) - test.offsets[test.query_index]
            scores[self.judged.offsets[queries][test.query_index] + within] = result.scores
            tested[queries] = True
        if not everything:
            scores[~self.is_candidate] = -np.inf
        return np.where(tested, measure(judged_queries(self.judged), scores), np.nan)


def categories_of(data: RankingDataset) -> Array:
    """The collection of each query, from its id."""
    return np.array([query.rpartition("-")[0] for query in data.query_ids.tolist()])


def joined(parts: Iterable[Sequence[Fold]]) -> list[Fold]:
    """Folds of all queries, from the folds of several collections."""
    return [
        Fold(
            several[0].name,
            concatenate([fold.train for fold in several]),
            concatenate([fold.valid for fold in several if fold.valid is not None]),
            concatenate([fold.test for fold in several]),
        )
        for several in zip(*parts, strict=True)
    ]


def with_columns(parts: Iterable[Fold], names: Sequence[str]) -> list[Fold]:
    """Folds with some of their features."""

    def kept(data: RankingDataset) -> RankingDataset:
        assert data.feature_names is not None
        columns = [data.feature_names.index(name) for name in names]
        return data.with_features(data.features[:, columns], list(names))

    return [
        Fold(
            fold.name,
            kept(fold.train),
            None if fold.valid is None else kept(fold.valid),
            kept(fold.test),
        )
        for fold in parts
    ]


def runs_of(values: Sequence[Floats]) -> Floats:
    """The values of one or several trainings, as `paired_test` takes them."""
    return values[0] if len(values) == 1 else np.array(values)


def against(values: Values, other: str) -> dict[str, PairedTest]:
    """Each method against another one: one family, corrected by Holm's rule."""
    return corrected(
        {
            name: paired_test(of_method, values[other])
            for name, of_method in values.items()
            if name != other
        }
    )


def mean_and_spread(values: Floats) -> tuple[float, float | None]:
    """The mean over trainings and queries, and the standard deviation between trainings.

    Examples
    --------
    >>> mean_and_spread(np.array([[0.5, 0.5, np.nan], [0.5, 0.75, np.nan]]))
    (0.5625, 0.08838834764831845)
    >>> mean_and_spread(np.array([0.5, 0.75]))
    (0.625, None)
    """
    means = np.nanmean(np.atleast_2d(values), axis=1)
    return float(means.mean()), float(means.std(ddof=1)) if len(means) > 1 else None


def text_searches(
    collections: Sequence[TextCollection],
    fields: Mapping[str, Sequence[str]],
    extra: Mapping[str, FeatureExtractor] | None = None,
) -> Searches:
    """The judged queries of text collections, with all features of text.

    Words are lower-cased, without English stop words, stemmed. The candidates are the 100 documents
    with the highest BM25 over all fields, or fewer if fewer contain a word of the query.

    Parameters
    ----------
    collections : sequence of TextCollection
    fields : mapping
        The fields of the features, as `FeatureExtractor` takes them. A document has a "title" and
        a "body".
    extra : mapping from str to FeatureExtractor, optional
        Other extractors, whose features are added. Their names get the key and a blank in front.
    """
    analyzer = Analyzer(stopwords="english", stemmer="english")
    parts, flags = [], []
    for texts in collections:
        corpus = [
            {"id": str(number), "title": title, "body": body}
            for number, (title, body) in enumerate(zip(texts.titles, texts.bodies, strict=True), 1)
        ]
        qrels: dict[str, dict[str, float]] = {}
        for query, document, grade in texts.judgments.tolist():
            qrels.setdefault(f"{texts.name}-{query + 1}", {})[str(document + 1)] = grade
        queries = {name: texts.queries[int(name.rpartition("-")[2]) - 1] for name in qrels}
        extractor = FeatureExtractor(fields, features="all", analyzer=analyzer, depth=DEPTH)
        data = extractor.fit(corpus).dataset(queries, qrels, with_judged=True)
        found, counts = np.unique(extractor.retrieve(queries).query_ids, return_counts=True)
        depths = dict(zip(found.tolist(), counts.tolist(), strict=True))
        n_found = np.array([depths.get(query, 0) for query in data.query_ids.tolist()])
        place = np.arange(data.n_documents) - data.offsets[data.query_index]
        parts.append(_with_extra(data, queries, corpus, extra or {}))
        flags.append(place < n_found[data.query_index])
    sizes = {texts.name: len(texts.bodies) for texts in collections}
    return Searches(concatenate(parts), np.concatenate(flags), sizes)


def _with_extra(
    data: RankingDataset,
    queries: Mapping[str, str],
    corpus: Sequence[Mapping[str, str]],
    extra: Mapping[str, FeatureExtractor],
) -> RankingDataset:
    """A dataset with the features of more extractors."""
    assert data.document_ids is not None
    assert data.feature_names is not None
    listed = {
        query: documents.tolist()
        for query, documents in zip(
            data.query_ids.tolist(), np.split(data.document_ids, data.offsets[1:-1]), strict=True
        )
    }
    asked = {query: queries[query] for query in listed}
    features, names = [data.features], list(data.feature_names)
    for key, extractor in extra.items():
        made = extractor.fit(corpus).transform(asked, listed)
        features.append(made.features)
        names += [f"{key} {name}" for name in made.feature_names or ()]
    return data.with_features(np.hstack(features), names)


def list_searches(folder: Path) -> Searches:
    """Queries with the lists of several retrievers: the candidates are the documents of any list.

    A collection is a folder with lists (TREC runs, `.trec`, packed or not) and judgments,
    `qrels.txt`. The features are the score and the reciprocal rank in each list that all
    collections have. A document that a list lacks has the list's lowest score for the query and the
    reciprocal rank 0.
    """
    lists = {
        path.name: {file.name.partition(".")[0]: file for file in sorted(path.glob("*.trec*"))}
        for path in sorted(folder.iterdir())
        if path.is_dir()
    }
    lists = {name: files for name, files in lists.items() if files}
    if len(lists) < 2:
        raise ValueError(f"{folder} has no two collections with lists, such as bm25.trec.")
    shared = sorted(set.intersection(*(set(files) for files in lists.values())))
    if not shared:
        raise ValueError(f"{folder}: the collections have no list in common.")
    parts, flags, sizes = [], [], {}
    for name, files in lists.items():
        judgments = next((folder / name).glob("qrels.txt*"))
        data, found, n_documents = _listed(name, {one: files[one] for one in shared}, judgments)
        parts.append(data)
        flags.append(found)
        sizes[name] = n_documents
    return Searches(concatenate(parts), np.concatenate(flags), sizes)


def _listed(
    name: str, files: Mapping[str, Path], judgments: Path
) -> tuple[RankingDataset, Flags, int]:
    """One collection's queries, which documents are in lists, and how many different ones."""
    grades: dict[str, dict[str, float]] = {}
    qrels = read_qrels(judgments)
    for query, document, grade in zip(
        qrels.query_ids.tolist(), qrels.document_ids.tolist(), qrels.relevance.tolist(), strict=True
    ):
        grades.setdefault(query, {})[document] = max(grade, 0.0)
    ranked: list[dict[str, dict[str, float]]] = []
    for file in files.values():
        run = read_run(file)
        scores: dict[str, dict[str, float]] = {}
        for query, document, score in zip(
            run.query_ids.tolist(), run.document_ids.tolist(), run.scores.tolist(), strict=True
        ):
            scores.setdefault(query, {})[document] = score
        ranked.append(scores)
    rows: list[list[float]] = []
    labels: list[float] = []
    ids: list[tuple[str, str]] = []
    found: list[bool] = []
    for query, judged in grades.items():
        of_query = [scores.get(query, {}) for scores in ranked]
        listed = list(dict.fromkeys(document for scores in of_query for document in scores))
        missed = [d for d, grade in judged.items() if grade > 0 and d not in set(listed)]
        if not listed:
            continue
        columns = [_score_and_rank(scores, [*listed, *missed]) for scores in of_query]
        rows += np.hstack(columns).tolist()
        labels += [judged.get(document, 0.0) for document in (*listed, *missed)]
        ids += [(f"{name}-{query}", document) for document in (*listed, *missed)]
        found += [True] * len(listed) + [False] * len(missed)
    dataset = RankingDataset.from_arrays(
        rows,
        labels,
        [query for query, _ in ids],
        document_ids=[document for _, document in ids],
        feature_names=[f"{one} {kind}" for one in files for kind in ("score", "reciprocal rank")],
    )
    listed_documents = {
        document for scores in ranked for one in scores.values() for document in one
    }
    return dataset, np.array(found), len(listed_documents)


def _score_and_rank(scores: Mapping[str, float], documents: Sequence[str]) -> Floats:
    lowest = min(scores.values(), default=0.0)
    order = sorted(scores, key=lambda document: -scores[document])
    ranks = {document: rank for rank, document in enumerate(order, 1)}
    return np.array(
        [[scores.get(d, lowest), 1 / ranks[d] if d in ranks else 0.0] for d in documents]
    )
