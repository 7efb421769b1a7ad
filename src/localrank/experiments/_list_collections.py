"""Collections with two lists for each query: one by words, one by vectors or a learned index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.sorting import argsort_descending
from localrank.data import (
    Fold,
    Qrels,
    RankingDataset,
    Run,
    Vectors,
    folds,
    pooled,
    read_qrels,
    read_run,
)
from localrank.data.pooling import UNJUDGED, PooledRuns
from localrank.evaluation import MethodResult
from localrank.experiments._encoded_texts import encoded
from localrank.experiments._searches import DEPTH
from localrank.experiments.setting import Setting
from localrank.experiments.text_collections import TEXT_FILES, read_collection
from localrank.fusion import lists_dataset
from localrank.measures import Measure, parse_measure
from localrank.text import (
    Analyzer,
    Encoder,
    FeatureExtractor,
    VectorIndex,
    read_corpus,
    read_queries,
)
from localrank.text.encoders import Role

# Lists have the same names in all collections, so that a model can pass from one to another.
WORDS, DENSE = "words", "dense"
# Collections of given lists, the folders of each, and the smallest grade that counts as relevant.
GIVEN = {"dl": (("dl19", "dl20"), 2), "covid": (("covid",), 1)}
# The pairs of given lists.
PAIRS = (("bm25", "splade"), ("bm25", "tas-b"))
SEARCHED = "scifact"
N_FIRST = 10
NDCG_10, MAP = (parse_measure(name) for name in ("ndcg@10", "map"))


@dataclass(frozen=True, eq=False)
class ListCollection:
    """The judged queries of a collection, and what two retrievers found for them.

    Attributes
    ----------
    name : str
    lists : str
        What the two lists are, in words.
    together : PooledRuns
        All documents of both lists, and the judged ones that neither has.
    dataset : RankingDataset
        The documents of the lists, with the columns of lists, and vectors where there are texts.
    relevance_level : float
        The smallest relevant grade for average precision.
    """

    name: str
    lists: str
    together: PooledRuns
    dataset: RankingDataset
    relevance_level: float = 1

    @property
    def query_ids(self) -> list[str]:
        """The ids of the queries, "collection-number". Those of two pairs of lists are the same."""
        ids: list[str] = self.dataset.query_ids.tolist()
        return ids

    def measures(self) -> dict[str, Measure]:
        """The measures, by their names in tables."""
        level = f"map(rel={self.relevance_level:g})"
        return {str(NDCG_10): NDCG_10, str(MAP): parse_measure(level)}

    def folds(self, n_folds: int | None) -> list[Fold]:
        """Five folds by query; the first `n_folds` of them. None: all."""
        return list(folds(self.dataset, validation=False))[:n_folds]

    def scores(self, result: MethodResult) -> Floats:
        """The score of each document of the lists. NaN: the query was not tested."""
        scores = np.full(self.dataset.n_documents, np.nan)
        place = {query: i for i, query in enumerate(self.query_ids)}
        test = result.test
        queries = np.array([place[query] for query in test.query_ids.tolist()])
        within = np.arange(test.n_documents) - test.offsets[test.query_index]
        scores[self.dataset.offsets[queries][test.query_index] + within] = result.scores
        return scores

    def of_list(self, name: str) -> Floats:
        """The scores of one list alone. It did not retrieve what only the other one has."""
        return self.together.scores[name][self._rows]

    @cached_property
    def _rows(self) -> Integers:
        """The rows of the documents that a list has, among all."""
        retrieved = np.any([values > -np.inf for values in self.together.scores.values()], axis=0)
        return np.flatnonzero(retrieved)

    def values(self, scores: Floats, measure: Measure) -> Floats:
        """The measure of each query. A relevant document that no list has counts as missed.

        Parameters
        ----------
        scores : ndarray of shape (n_documents,)
            For each document of `dataset`. Minus infinity: not retrieved. NaN: not tested.
        measure : Measure
        """
        values = measure(self.together.dataset, self._of_all(scores))
        return np.where(self._tested(scores), values[self._queries], np.nan)

    def unjudged(self, scores: Floats) -> Floats:
        """The share of documents that nobody judged among the first ten of each query."""
        data = self.together.dataset
        every = self._of_all(scores)
        order = argsort_descending(every, data.offsets)
        rank = np.arange(data.n_documents) - data.offsets[data.query_index]
        counted = (rank < N_FIRST) & (every[order] > -np.inf)
        unknown = counted & (data.labels[order] == UNJUDGED)
        shares = data.count(unknown) / np.maximum(data.count(counted), 1)
        return np.where(self._tested(scores), shares[self._queries], np.nan)

    def _of_all(self, scores: Floats) -> Floats:
        every = np.full(self.together.dataset.n_documents, -np.inf)
        every[self._rows] = np.where(np.isnan(scores), -np.inf, scores)
        return every

    def _tested(self, scores: Floats) -> Array:
        tested: Array = ~np.isnan(scores[self.dataset.offsets[:-1]])
        return tested

    @cached_property
    def _queries(self) -> Integers:
        """The places of the dataset's queries among all judged ones."""
        place = {query: i for i, query in enumerate(self.together.dataset.query_ids.tolist())}
        return np.array([place[query] for query in self.query_ids])


def list_collections(setting: Setting, encoder: Callable[[], Encoder]) -> list[ListCollection]:
    """The collections of a folder: `text/cran` and others, `hybrid/scifact`, `hybrid/dl19`, ...

    What a folder lacks is left out. For collections of texts, the lists are the first 100
    documents by BM25 and by the cosine of vectors.

    Parameters
    ----------
    setting : Setting
    encoder : callable
        Makes the encoder of texts.
    """

    def vectors(ids: Sequence[str], texts: Sequence[str], queries: bool = False) -> Vectors:
        # Beside the results of runs, which code decides: vectors depend on the texts alone.
        store = None if setting.store is None else setting.store.parent / "vectors"
        role: Role = "query" if queries else "document"
        values = encoded(texts, encoder, store, role=role, say=setting.say)
        return Vectors(np.array(ids), values)

    texts = [path for name in TEXT_FILES if (path := setting.folder / "text" / name).is_dir()]
    found = [_text_collection(path, vectors) for path in texts]
    lists = setting.folder / "hybrid"
    if (path := lists / SEARCHED).is_dir():
        found.append(_searched_folder(path, vectors))
    for name, (parts, level) in GIVEN.items():
        paths = [lists / part for part in parts if (lists / part).is_dir()]
        if paths:
            found += _given_lists(name, paths, level, vectors)
    if not found:
        raise ValueError(
            f"{setting.folder} has no collections: text/cran and others, or hybrid/scifact and "
            f"others."
        )
    return found


def _text_collection(path: Path, vectors: Callable[..., Vectors]) -> ListCollection:
    texts = read_collection(path)
    documents = {
        str(number): (title, body)
        for number, (title, body) in enumerate(zip(texts.titles, texts.bodies, strict=True), 1)
    }
    asked, numbers, grades = texts.judgments.T
    queries = {str(query + 1): texts.queries[query] for query in np.unique(asked).tolist()}
    qrels = Qrels((asked + 1).astype(str), (numbers + 1).astype(str), grades.astype(np.float64))
    return _searched(path.name, documents, queries, qrels, vectors)


def _searched_folder(path: Path, vectors: Callable[..., Vectors]) -> ListCollection:
    documents = {
        str(record["id"]): (str(record.get("title", "")), str(record.get("text", "")))
        for record in read_corpus(_file(path, "corpus.jsonl"))
    }
    queries = read_queries(_file(path, "queries.tsv"))
    return _searched(path.name, documents, queries, read_qrels(_file(path, "qrels.txt")), vectors)


def _searched(
    name: str,
    documents: Mapping[str, tuple[str, str]],
    queries: Mapping[str, str],
    qrels: Qrels,
    vectors: Callable[..., Vectors],
) -> ListCollection:
    """A collection whose texts are searched by BM25 and by vectors."""
    corpus = [{"id": i, "title": title, "body": body} for i, (title, body) in documents.items()]
    analyzer = Analyzer(stopwords="english", stemmer="english")
    extractor = FeatureExtractor({"text": ("title", "body")}, analyzer=analyzer, depth=DEPTH)
    by_words = extractor.fit(corpus).retrieve(queries)
    texts = [" ".join(both).strip() for both in documents.values()]
    of_documents = vectors(list(documents), texts)
    of_queries = vectors(list(queries), list(queries.values()), queries=True)
    by_vectors = VectorIndex(of_documents).search(of_queries, DEPTH)
    lists = {WORDS: by_words, DENSE: by_vectors}
    return _collection(name, "BM25, vectors", lists, qrels, of_documents)


def _given_lists(
    name: str, paths: Sequence[Path], level: float, vectors: Callable[..., Vectors]
) -> list[ListCollection]:
    """A collection for each pair of lists that all folders have."""
    qrels = _joined_qrels([read_qrels(_file(path, "qrels.txt")) for path in paths])
    pairs = {
        ", ".join(pair): {
            key: _joined_runs([read_run(_file(path, f"{one}.trec")) for path in paths])
            for key, one in zip((WORDS, DENSE), pair, strict=True)
        }
        for pair in PAIRS
        if all(_has(path, f"{one}.trec") for path in paths for one in pair)
    }
    of_documents = None
    if all(_has(path, "passages.jsonl") for path in paths):
        # Encoding is slow: only what is in a list. A passage may be in several folders.
        listed = {
            str(i) for lists in pairs.values() for run in lists.values() for i in run.document_ids
        }
        texts = {
            str(record["id"]): str(record["text"]).strip()
            for path in paths
            for record in read_corpus(_file(path, "passages.jsonl"))
            if str(record["id"]) in listed
        }
        of_documents = vectors(list(texts), list(texts.values()))
    found = [
        replace(_collection(name, said, lists, qrels, of_documents), relevance_level=level)
        for said, lists in pairs.items()
    ]
    # A pair needs its own name only where there are several.
    if len(found) < 2:
        return found
    return [replace(one, name=f"{name}, {one.lists.rpartition(', ')[2]}") for one in found]


def _collection(
    name: str, said: str, lists: Mapping[str, Run], qrels: Qrels, vectors: Vectors | None
) -> ListCollection:
    named = {key: replace(run, query_ids=_named(name, run)) for key, run in lists.items()}
    judged = replace(qrels, query_ids=_named(name, qrels))
    dataset = lists_dataset(named, judged, vectors)
    return ListCollection(name, said, pooled(named, judged), dataset)


def _named(name: str, source: Run | Qrels) -> Array:
    return np.char.add(f"{name}-", np.asarray(source.query_ids).astype(str))


def _joined_runs(runs: Sequence[Run]) -> Run:
    """Runs of different queries as one."""
    return Run(
        np.concatenate([run.query_ids for run in runs]),
        np.concatenate([run.document_ids for run in runs]),
        np.concatenate([run.scores for run in runs]),
    )


def _joined_qrels(parts: Sequence[Qrels]) -> Qrels:
    """Judgments of different queries as one."""
    return Qrels(
        np.concatenate([part.query_ids for part in parts]),
        np.concatenate([part.document_ids for part in parts]),
        np.concatenate([part.relevance for part in parts]),
    )


def _has(folder: Path, name: str) -> bool:
    return (folder / name).is_file() or (folder / f"{name}.gz").is_file()


def _file(folder: Path, name: str) -> Path:
    """A file, packed or not."""
    return folder / name if (folder / name).is_file() else folder / f"{name}.gz"
