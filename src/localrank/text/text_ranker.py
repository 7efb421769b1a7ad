"""Ranks documents by the words of a query: an extractor and a ranker in one model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted, clone
from localrank._base.rules import Rules, check_parameters, instance
from localrank.data import RankingDataset
from localrank.data._checks import is_missing
from localrank.persistence import save_model
from localrank.rankers import Ranker
from localrank.rankers._explanation import Explanation
from localrank.text._queries import Judgments, Queries, checked_count
from localrank.text.extractor import FeatureExtractor


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """The ranked documents of a query, the best first.

    Iteration yields pairs of id and score.

    Attributes
    ----------
    ids : list
        Ids of the documents. A given document without an id has its position, from 0.
    scores : ndarray of float
        Scores of the documents.
    indices : ndarray of int
        Positions, from 0, among the given documents or among the candidates by BM25.
    """

    ids: list[Any]
    scores: Floats
    indices: Integers

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        return zip(self.ids, self.scores.tolist(), strict=True)


class TextRanker(Estimator):
    """Ranks documents by the words of a query.

    The extractor computes the features, and the ranker ranks by them, in training and in service.
    Both are saved to one file, so they always match.

    Parameters
    ----------
    extractor : FeatureExtractor
        Extractor of the features.
    ranker : Ranker
        Any ranker of localrank.

    Attributes
    ----------
    extractor_ : FeatureExtractor
        The extractor with the index of the corpus.
    ranker_ : Ranker
        The fitted ranker.

    Examples
    --------
    >>> from localrank.rankers import RankSVM
    >>> corpus = [
    ...     {"id": "rice", "title": "Rice", "body": "Rinse rice, then boil it."},
    ...     {"id": "tea", "title": "Tea", "body": "Boil water for tea."},
    ...     {"id": "fern", "title": "Ferns", "body": "Water ferns often."},
    ... ]
    >>> queries = {"1": "boil rice", "2": "water ferns"}
    >>> qrels = {"1": {"rice": 1}, "2": {"fern": 1}}
    >>> model = TextRanker(FeatureExtractor(["title", "body"]), RankSVM())
    >>> model.fit(queries, qrels, corpus).rank("how to boil water").ids
    ['tea', 'rice', 'fern']
    >>> model.rank("rice", [{"title": "Ferns"}, {"title": "Rice"}]).ids
    [1, 0]
    """

    _parameters: ClassVar[Rules] = {
        "extractor": instance(FeatureExtractor, "a FeatureExtractor"),
        "ranker": instance(Ranker, "a ranker"),
    }

    _fitted: ClassVar[Rules] = {
        "extractor_": instance(FeatureExtractor),
        "ranker_": instance(Ranker),
    }

    def __init__(self, extractor: FeatureExtractor, ranker: Ranker) -> None:
        self.extractor = extractor
        self.ranker = ranker

    @classmethod
    def of(cls, extractor: FeatureExtractor, ranker: Ranker) -> Self:
        """Join a fitted extractor and a fitted ranker that have the same features.

        Parameters
        ----------
        extractor : FeatureExtractor
            A fitted extractor.
        ranker : Ranker
            A ranker that was trained on features of this extractor. The names of the features are
            compared, in any order; if the ranker was trained without names, only their number.
        """
        check_is_fitted(extractor, "index_")
        check_is_fitted(ranker, "n_features_in_")
        joined = cls(extractor, ranker)
        check_parameters(joined)
        _check_same_features(extractor, ranker)
        joined.extractor_, joined.ranker_ = extractor, ranker
        return joined

    def fit(
        self,
        queries: Queries,
        qrels: Judgments,
        corpus: Any = None,
        *,
        with_judged: bool = False,
        valid: tuple[Queries, Judgments] | None = None,
        vectors: Any = None,
        encoder: Any = None,
        query_vectors: Any = None,
    ) -> Self:
        """Learn from judged queries.

        The ranker learns from the candidates that BM25 finds for each query, as `rank` finds them
        later: as many as the extractor's `depth` says. A candidate that was not judged gets the
        label 0.

        Parameters
        ----------
        queries : mapping of id to text, or sequence of texts
            Training queries. The texts of a sequence have the ids "1", "2", ...
        qrels : Qrels, or mapping of query id to mapping of document id to label
            Labels of the documents.
        corpus : iterable of dict, or DataFrame, optional
            Documents to fit the extractor on. None: the extractor is already fitted.
        with_judged : bool, default=False
            Whether to learn from judged documents that are not candidates, too. These are nearly
            all relevant and have a low BM25. A model may learn to prefer a low BM25, which is
            wrong for candidates.
        valid : pair of queries and qrels, optional
            Validation queries, by which some rankers choose the size of their models.
        vectors, encoder
            As in `FeatureExtractor.fit`, if the extractor is `with_vectors`.
        query_vectors : Vectors, mapping of id to vector, or pair of ids and array, optional
            Vectors of all queries. None: the encoder makes them.
        """
        check_parameters(self)
        if corpus is None:
            check_is_fitted(self.extractor, "index_")
            extractor = self.extractor
            if vectors is not None:
                raise ValueError("Vectors of documents are for a corpus, and there is none.")
            if encoder is not None:
                extractor.use_encoder(encoder)
        else:
            extractor = clone(self.extractor).fit(corpus, vectors=vectors, encoder=encoder)
        train, *held_out = (
            extractor.dataset(*pair, with_judged=with_judged, query_vectors=query_vectors)
            for pair in [(queries, qrels), *([] if valid is None else [valid])]
        )
        ranker = clone(self.ranker).fit(train, valid=held_out[0] if held_out else None)
        self.extractor_, self.ranker_ = extractor, ranker
        return self

    def rank(
        self,
        query: str,
        documents: Iterable[Mapping[str, Any]] | None = None,
        *,
        top: int | None = None,
        depth: int | None = None,
        query_vector: Any = None,
    ) -> RankedDocuments:
        """Rank documents for a query, the best first. Documents with equal scores keep their order.

        Parameters
        ----------
        query : str
            The words of the query.
        documents : iterable of dict, optional
            Documents to rank, with the keys of fields and columns. They need not be in the index.
            None: the candidates that BM25 finds in the index. If no document contains a word of
            the query, the result is empty.
        top : int, optional
            At most this many documents in the result, the best ones. None: all that were ranked.
        depth : int, optional
            At most this many candidates, if no documents are given. None: as many as the model was
            trained on. Another number gives lists unlike those in training, and a warning.
        query_vector : array-like of shape (n_dimensions,), optional
            The vector of the query, if the extractor is `with_vectors`. None: its encoder makes it.
        """
        dataset, ids = self.list_of(query, documents, depth=depth, query_vector=query_vector)
        if documents is None and depth is not None and depth != self.extractor_.depth:
            warnings.warn(
                f"The model was trained on {self.extractor_.depth:,} candidates of each query, and "
                f"ranks {depth:,}. To get fewer documents, use top.",
                stacklevel=2,
            )
        scores = np.empty(0) if dataset is None else self.ranker_.predict(dataset)
        order = np.argsort(-scores, kind="stable")
        if top is not None:
            order = order[: checked_count(top, "top")]
        return RankedDocuments([ids[place] for place in order.tolist()], scores[order], order)

    def explain(
        self,
        query: str,
        documents: Iterable[Mapping[str, Any]] | None = None,
        *,
        depth: int | None = None,
        query_vector: Any = None,
    ) -> Explanation:
        """Explain the order of a query's documents, as `Ranker.explain` does.

        Features that are columns of a list, such as `bm25.z`, say which list moved a document. If
        documents borrow from their neighbours, `near_documents` names these.

        Parameters
        ----------
        query, documents, depth, query_vector
            As in `rank`.

        Examples
        --------
        >>> from localrank.rankers import RankSVM
        >>> corpus = [{"id": "rice", "text": "Boil rice."}, {"id": "tea", "text": "Boil tea."}]
        >>> model = TextRanker(FeatureExtractor(features=["bm25", "length"]), RankSVM())
        >>> _ = model.fit({"1": "boil rice"}, {"1": {"rice": 1}}, corpus)
        >>> told = model.explain("rice or tea")
        >>> told.document_ids.tolist(), told.contributions.names[:2]
        (['rice', 'tea'], ('text.bm25', 'text.length'))
        """
        dataset, _ = self.list_of(query, documents, depth=depth, query_vector=query_vector)
        if dataset is None:
            raise ValueError(f"There is no document to explain for the query {query!r}.")
        # The words name the query. An id is not empty, and holds no NUL.
        name = query.replace("\0", " ").strip() or "1"
        return self.ranker_.explain(dataset.replaced(query_ids=np.array([name])), name)

    def list_of(
        self,
        query: str,
        documents: Iterable[Mapping[str, Any]] | None = None,
        *,
        depth: int | None = None,
        query_vector: Any = None,
    ) -> tuple[RankingDataset | None, list[Any]]:
        """The list that `rank` ranks, as a dataset of one query "1", and the ids of its documents.

        The dataset is None if there are no documents.

        Parameters
        ----------
        query, documents, depth, query_vector
            As in `rank`.
        """
        check_is_fitted(self, "ranker_")
        extractor = self.extractor_
        if documents is None:
            vectors = None if query_vector is None else {"1": query_vector}
            dataset = extractor.list_of(query, depth, vectors)
            return dataset, [] if dataset is None else np.asarray(dataset.document_ids).tolist()
        if query_vector is not None:
            raise ValueError("A vector of the query is for documents of the index.")
        given = list(documents)
        features = extractor.features_of(query, given)
        if not given:
            return None, []
        ids = [_id_of(document, extractor.id_key, place) for place, document in enumerate(given)]
        dataset = RankingDataset.from_arrays(
            features,
            qid=["1"] * len(given),
            document_ids=[str(name) for name in ids],
            feature_names=list(extractor.feature_names),
        )
        return dataset, ids

    def save(self, path: str | PathLike[str], *, private_key: bytes | None = None) -> None:
        """Write extractor, index and ranker to one file, which `localrank.load` reads.

        Parameters
        ----------
        path : path
            File to write.
        private_key : bytes, optional
            An Ed25519 key of 32 bytes to sign the file with, for `localrank.load(public_key=…)`.
            None: the file is not signed.
        """
        check_is_fitted(self, "ranker_")
        # Unfitted clones: parts that were given fitted would be in the file twice, index included.
        written = type(self)(clone(self.extractor), clone(self.ranker))
        written.extractor_, written.ranker_ = self.extractor_, self.ranker_
        save_model(written, path, private_key)

    # Facts for the manifest of a saved file.
    @property
    def training_data_(self) -> dict[str, Any]:
        """Facts about the data that the ranker was trained on."""
        check_is_fitted(self, "ranker_")
        facts: dict[str, Any] = self.ranker_.training_data_
        return facts

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        check_is_fitted(self, "ranker_")
        return int(self.ranker_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features."""
        check_is_fitted(self, "ranker_")
        return np.array(self.extractor_.feature_names)

    def _check_fitted(self) -> None:
        check_is_fitted(self.extractor_, "index_")
        check_is_fitted(self.ranker_, "n_features_in_")
        _check_same_features(self.extractor_, self.ranker_)


def _check_same_features(extractor: FeatureExtractor, ranker: Ranker) -> None:
    made: Sequence[str] = extractor.feature_names
    if ranker.n_features_in_ != len(made):
        raise ValueError(
            f"The extractor makes {len(made)} features, and the ranker needs "
            f"{ranker.n_features_in_}. Train the ranker on features of this extractor."
        )
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return
    if missing := [name for name in names.tolist() if name not in made]:
        raise ValueError(
            f"The extractor does not make the feature {missing[0]!r} of the ranker. Train the "
            f"ranker on features of this extractor."
        )


def _id_of(document: Mapping[str, Any], key: str, place: int) -> Any:
    value = document.get(key)
    return place if is_missing(value) or value == "" else value
