"""From the words of a query to ranked documents: an extractor and a ranker in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.data.checks import is_missing
from localrank.estimator import Estimator, check_is_fitted, clone
from localrank.fitted import Kinds, part
from localrank.parameters import Rules, check_parameters, instance
from localrank.persistence import save_model
from localrank.rankers import Ranker
from localrank.text.extractor import FeatureExtractor
from localrank.text.questions import Judgments, Queries


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """The documents of a query, best first.

    Going through it gives ids and scores in pairs.

    Attributes
    ----------
    ids : list
        Of the documents. A given document without an id has its position, from 0 on.
    scores : ndarray of float
    indices : ndarray of int
        Positions, from 0 on, among the given documents, or among the candidates by BM25.
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

    The extractor makes the features and the ranker ranks by them, in training and in service. They
    are saved to one file, so that both always fit each other.

    Parameters
    ----------
    extractor : FeatureExtractor
    ranker : Ranker
        Any ranker of localrank.

    Attributes
    ----------
    extractor_ : FeatureExtractor
        With the index of the corpus.
    ranker_ : Ranker

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

    _fitted: ClassVar[Kinds] = {"extractor_": part(FeatureExtractor), "ranker_": part(Ranker)}

    def __init__(self, extractor: FeatureExtractor, ranker: Ranker) -> None:
        self.extractor = extractor
        self.ranker = ranker

    @classmethod
    def of(cls, extractor: FeatureExtractor, ranker: Ranker) -> Self:
        """Join an extractor and a ranker that are fitted, and of the same features.

        Parameters
        ----------
        extractor : FeatureExtractor
        ranker : Ranker
            Trained on features that the extractor made. Names are compared; of a ranker that was
            trained without names, only their number.
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
        depth: int = 100,
        with_judged: bool = False,
        valid: tuple[Queries, Judgments] | None = None,
    ) -> Self:
        """Learn from judged queries.

        Each query is learned from by its candidates, which BM25 finds, as `rank` will find them.
        A candidate that was not judged has the label 0.

        Parameters
        ----------
        queries : mapping of id to text, or sequence of texts
            Texts of a sequence have the ids "1", "2", ...
        qrels : Qrels, or mapping of query id to mapping of document id to label
        corpus : iterable of dict, or DataFrame, optional
            What the extractor is fitted on. None: it is fitted already, and stays as it is.
        depth : int, default=100
            Candidates of each query.
        with_judged : bool, default=False
            Also learn from judged documents that are no candidates. They are nearly all relevant
            and have a low BM25, so that a model may learn to prefer that, which is wrong for
            candidates.
        valid : pair of queries and qrels, optional
            Held-out queries, by which some rankers choose the size of their models.
        """
        check_parameters(self)
        if corpus is None:
            check_is_fitted(self.extractor, "index_")
            extractor = self.extractor
        else:
            extractor = clone(self.extractor).fit(corpus)
        train, *held_out = (
            extractor.dataset(*pair, depth, with_judged=with_judged)
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
        depth: int = 100,
    ) -> RankedDocuments:
        """Rank documents for a query, best first; equal scores keep their order.

        Parameters
        ----------
        query : str
        documents : iterable of dict, optional
            Documents to rank, with the keys of fields and columns. They need not be in the index.
            None: the candidates that BM25 finds in the index. There are none where no document
            has a word of the query.
        depth : int, default=100
            Candidates, where no documents are given.
        """
        dataset, ids = self.list_of(query, documents, depth=depth)
        scores = np.empty(0) if dataset is None else self.ranker_.predict(dataset)
        order = np.argsort(-scores, kind="stable")
        return RankedDocuments([ids[place] for place in order.tolist()], scores[order], order)

    def list_of(
        self,
        query: str,
        documents: Iterable[Mapping[str, Any]] | None = None,
        *,
        depth: int = 100,
    ) -> tuple[RankingDataset | None, list[Any]]:
        """What `rank` ranks, as a dataset of one query, "1", and the documents' ids.

        The dataset is None where there is no document.

        Parameters
        ----------
        query, documents, depth
            As of `rank`.
        """
        check_is_fitted(self, "ranker_")
        extractor = self.extractor_
        if documents is None:
            candidates = extractor.retrieve([query], depth)
            if not len(candidates.scores):
                return None, []
            dataset = extractor.transform([query], candidates)
            return dataset, np.asarray(dataset.document_ids).tolist()
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
        private_key : bytes, optional
            An Ed25519 key of 32 bytes to sign the file with, for `localrank.load(public_key=…)`.
        """
        check_is_fitted(self, "ranker_")
        # Parts that were given fitted would be in the file twice, the index with them.
        written = type(self)(clone(self.extractor), clone(self.ranker))
        written.extractor_, written.ranker_ = self.extractor_, self.ranker_
        save_model(written, path, private_key)

    # What a file says of itself.
    @property
    def training_data_(self) -> dict[str, Any]:
        """What the ranker was trained on."""
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
            f"The extractor makes {len(made)} features, and the ranker takes "
            f"{ranker.n_features_in_}: train it on features of this extractor."
        )
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return
    for place, (ours, theirs) in enumerate(zip(made, names.tolist(), strict=True)):
        if ours != theirs:
            raise ValueError(
                f"Feature {place + 1} of the extractor is {ours!r}, and of the ranker "
                f"{theirs!r}: train it on features of this extractor."
            )


def _id_of(document: Mapping[str, Any], key: str, place: int) -> Any:
    value = document.get(key)
    return place if is_missing(value) or value == "" else value
