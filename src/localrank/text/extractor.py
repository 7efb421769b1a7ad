"""Turns the texts of queries and documents into features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted, clone
from localrank._base.rules import Rule, Rules, check_parameters, instance, number, one_of, whole
from localrank._kernels.vectors import Singles
from localrank.data import RankingDataset, Run, Vectors
from localrank.data._checks import text_ids
from localrank.data._offsets import offsets_of
from localrank.data._row_vectors import RowVectors
from localrank.data.errors import AdvisedError
from localrank.persistence.files import load_part, save_model
from localrank.text._corpus import Reader, keys_of_fields
from localrank.text._definitions import check_analyzer
from localrank.text._index import Index, build_index
from localrank.text._index_folder import (
    EXTRACTOR_FILE,
    StoredIndex,
    check_files,
    mapped_index,
    refuse_link_out,
    store_index,
)
from localrank.text._queries import (
    Candidates,
    Judgments,
    Queries,
    check_judgments,
    checked_count,
    checked_query,
    documents_by_query,
    labels_by_query,
    labels_in,
    named_queries,
    with_candidates,
)
from localrank.text._query_features import Documents, QueryFeatures, TermWeighting
from localrank.text._vector_lists import (
    COSINE,
    LIST_COLUMNS,
    Found,
    Lists,
    check_encoder,
    document_vectors,
    mark_of,
    warn_of_missing,
)
from localrank.text.analysis import Analyzer
from localrank.text.encoders import Encoder
from localrank.text.naming import DEFINITION, PROXIMITY, SENTENCES, WHOLE, feature_names
from localrank.text.vector_index import VectorIndex

_names = Rule(
    lambda value, _: (
        isinstance(value, list | tuple)
        and all(isinstance(name, str) and name for name in value)
        and len(set(value)) == len(value)
    ),
    "a list of different names",
)


class FeatureExtractor(Estimator):
    """Turns texts into features: it indexes documents, finds candidates and computes features.

    `fit` reads the documents once and keeps statistics, such as how rare words are and how long
    documents are. They are the same in training and in serving, and are saved with the extractor.
    The page "Features of text" has the formulas and the values of their parameters.

    Parameters
    ----------
    fields : sequence of str, or mapping, default=("text",)
        Names of the documents' fields. A mapping gives the key, or keys, of a document under which
        each field's text is: `{"title": "headline", "body": ["abstract", "text"]}`.
    features : "letor", "mhr", "definition", "all", or sequence of str, default="letor"
        Features to compute, in the form that `feature_names` takes.
    columns : sequence of str
        Keys of the documents' numbers, such as a PageRank or a date in days. The numbers become
        features without change. NaN: a document has no number.
    analyzer : Analyzer, callable or None
        Turns a text into terms, for queries and documents alike. None: `Analyzer()`. A function of
        your own takes a text and returns its terms. A function cannot be saved; a class of your
        own can (see `load_extractor`).
    id_key : str, default="id"
        Key of a document's id. Ids are unique.
    variant : "lucene", "robertson" or "atire", default="lucene"
        Variant of BM25.
    k1, b : float
        Parameters of BM25.
    prior : float
        Dirichlet's µ, for the feature `lm_dir`.
    share : float
        Jelinek and Mercer's λ: the share of the collection in the feature `lm_jm`.
    discount : float
        δ of absolute discounting, for the feature `lm_abs`.
    depth : int, default=100
        At most this many candidates for each query. Models that are trained with this extractor
        rank the same number of candidates, so that lists are like those they learned from.
    with_vectors : bool, default=False
        Whether documents and queries have vectors, too. The candidates of a query are then the
        first `depth` by BM25 and the first `depth` by the cosine of vectors. There are more
        features: the columns of both lists, as `localrank.fusion.lists_dataset` describes them
        (`bm25.score`, ..., `vectors.presence`), and `vectors.cosine`, which all documents with
        vectors have, also those that the list by vectors lacks. The dataset has the vectors beside
        its features.
    max_query_words : int, default=1000
        At most this many different words in a query. A longer one is refused: time and memory grow
        with the words of a query times the number of documents.

    Attributes
    ----------
    index_ : Index
        The index of the documents.

    Examples
    --------
    >>> corpus = [
    ...     {"id": "a", "title": "Ranking", "body": "Learning to rank documents", "clicks": 3},
    ...     {"id": "b", "title": "Clustering", "body": "Grouping documents by topic", "clicks": 8},
    ...     {"id": "c", "title": "Cooking", "body": "Rice and beans", "clicks": 1},
    ... ]
    >>> extractor = FeatureExtractor(["title", "body"], features=["bm25"], columns=["clicks"])
    >>> dataset = extractor.fit(corpus).dataset({"q1": "rank documents"}, {"q1": {"a": 1}})
    >>> dataset.feature_names
    ('title.bm25', 'body.bm25', 'whole.bm25', 'clicks')
    >>> dataset.document_ids, dataset.relevance
    (array(['a', 'b'], dtype='<U1'), array([1., 0.]))
    >>> dataset.features.round(2)
    array([[0.  , 0.64, 0.64, 3.  ],
           [0.  , 0.21, 0.21, 8.  ]])
    """

    _parameters: ClassVar[Rules] = {
        "fields": Rule(
            lambda value, _: len(keys_of_fields(value) or {}) > 0,
            "a list of different names, or a mapping from names to keys of documents",
        ),
        "features": Rule(
            lambda value, _: isinstance(value, str) or _names.holds(value, {}),
            "a name, or a list of different names",
        ),
        "columns": _names,
        "analyzer": Rule(
            lambda value, _: value is None or callable(value), "an Analyzer, a callable or None"
        ),
        "id_key": Rule(lambda value, _: isinstance(value, str), "a text"),
        "variant": one_of("lucene", "robertson", "atire"),
        "k1": number(least=0),
        "b": number(least=0, most=1),
        "prior": number(above=0),
        "share": number(above=0, most=1),
        "discount": number(above=0, most=1),
        "depth": whole(1),
        "with_vectors": one_of(True, False),
        "max_query_words": whole(1),
    }

    _fitted: ClassVar[Rules] = {"index_": instance(Index)}

    def __init__(
        self,
        fields: Sequence[str] | Mapping[str, str | Sequence[str]] = ("text",),
        *,
        features: str | Sequence[str] = "letor",
        columns: Sequence[str] = (),
        analyzer: Any = None,
        id_key: str = "id",
        variant: str = "lucene",
        k1: float = 1.2,
        b: float = 0.75,
        prior: float = 2000.0,
        share: float = 0.1,
        discount: float = 0.7,
        depth: int = 100,
        with_vectors: bool = False,
        max_query_words: int = 1000,
    ) -> None:
        self.fields = fields
        self.features = features
        self.columns = columns
        self.analyzer = analyzer
        self.id_key = id_key
        self.variant = variant
        self.k1 = k1
        self.b = b
        self.prior = prior
        self.share = share
        self.discount = discount
        self.depth = depth
        self.with_vectors = with_vectors
        self.max_query_words = max_query_words

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(keys_of_fields(self.fields) or ())

    @property
    def document_keys(self) -> tuple[str, ...]:
        """The keys of documents under which the texts are."""
        return tuple(dict.fromkeys(key for keys in self._keys.values() for key in keys))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in the order of the columns that `transform` returns."""
        names = feature_names(self.features, self.field_names, self.columns)
        return (*names, *LIST_COLUMNS, COSINE) if self.with_vectors else names

    @property
    def takes_words_alone(self) -> bool:
        """Whether words are enough for a query: it needs no vector, or an encoder makes it."""
        return not self.with_vectors or self.__dict__.get("_encoder") is not None

    @property
    def n_documents(self) -> int:
        """Number of documents in the index."""
        check_is_fitted(self, "index_")
        return self.index_.n_documents

    def fit(
        self,
        corpus: Any,
        *,
        vectors: Any = None,
        encoder: Any = None,
        folder: str | PathLike[str] | None = None,
        private_key: bytes | None = None,
    ) -> Self:
        """Read the documents and build the index.

        Parameters
        ----------
        corpus : iterable of dict, or DataFrame
            Documents. Each has an id, texts under the keys of fields, and numbers under the keys of
            columns. A text that is absent or None counts as empty, and such a number as NaN.
            Documents are read one by one and not kept: a generator may yield more than fits into
            memory.
        vectors : Vectors, mapping of id to vector, or pair of ids and array, optional
            Vectors of the documents, if the extractor is `with_vectors`. A document without one
            is found by its words alone; a warning counts them. None: `encoder` makes them.
        encoder : Encoder, callable, object with a method `encode`, or folder, optional
            Encodes documents that have no vectors, the texts of all fields together, and later
            queries. It is not saved with the extractor: see `use_encoder`.
        folder : path, optional
            A new or empty folder for an index that is larger than memory. The index is written in
            parts and used from disk, with the same results. `load_extractor` opens it again.
            Memory holds only the ids of documents, the different terms and a few numbers for
            each. The files must not change during use. None: the index is in memory.
        private_key : bytes, optional
            An Ed25519 key of 32 bytes to sign the folder with, for `load_extractor`. None: the
            folder is not signed. An index in memory is signed by `save`.
        """
        check_parameters(self)
        if private_key is not None and folder is None:
            raise ValueError(
                "The 'private_key' parameter of fit signs a folder, and there is none. Give it to "
                "save."
            )
        self._check_names()
        if not self._kinds.isdisjoint(DEFINITION):
            check_analyzer(self._analyzer)
        for cached in ("_features", "_nearest", "_encoder"):
            self.__dict__.pop(cached, None)
        given = corpus, self._reader(self.id_key), self._analyzer
        options: dict[str, Any] = {"with_words": self._needs_words}
        if not self.with_vectors and (vectors is not None or encoder is not None):
            raise ValueError("Vectors are for an extractor that has with_vectors=True.")
        known = None if encoder is None else Encoder.of(encoder)
        if self.with_vectors:
            options["vectors_of"] = document_vectors(vectors, known)
            if vectors is None and known is not None:
                options["encoder_mark"] = mark_of(known)
        if folder is None:
            self.index_ = build_index(*given, **options)
        else:
            self.index_ = store_index(
                *given, folder, clone(self), private_key=private_key, **options
            )
        if self.index_.vectors is not None:
            warn_of_missing(self.index_.vectors)
        if known is not None:
            self.use_encoder(known)
        return self

    def use_encoder(self, encoder: Any) -> Self:
        """Use an encoder for queries. A loaded extractor has none: files never contain code.

        Parameters
        ----------
        encoder : Encoder, callable, object with a method `encode`, or folder
            The encoder that encoded the documents. Any other encoder is refused. If the documents'
            vectors were given without an encoder, only the length of its vectors is checked.
        """
        check_is_fitted(self, "index_")
        if self.index_.vectors is None:
            raise ValueError("The index has no vectors, so there is nothing to encode for.")
        known = Encoder.of(encoder)
        check_encoder(known, self.index_.encoder_mark, self.index_.vectors.shape[1])
        self._encoder: Encoder | None = known
        return self

    def retrieve(self, queries: Queries, depth: int | None = None) -> Run:
        """Find the documents with the highest BM25 for each query, over all fields together.

        Documents without a term of the query are left out, so a query may have fewer than `depth`
        documents, or none. Documents with equal scores are in the order of the corpus.

        Parameters
        ----------
        queries : mapping of id to text, or sequence of texts
            Queries. The texts of a sequence have the ids "1", "2", ...
        depth : int, optional
            At most this many documents for each query. None: the extractor's `depth`.

        Examples
        --------
        >>> extractor = FeatureExtractor().fit([{"id": 7, "text": "a b"}, {"id": 8, "text": "b"}])
        >>> run = extractor.retrieve(["b", "a"])
        >>> run.query_ids.tolist(), run.document_ids.tolist(), run.scores.round(3).tolist()
        (['1', '1', '2'], ['8', '7', '7'], [0.096, 0.073, 0.277])
        """
        check_is_fitted(self, "index_")
        ids, texts = named_queries(queries)
        documents, scores, offsets = self._features.retrieve(texts, self._checked_depth(depth))
        query_ids = np.repeat(text_ids(ids), np.diff(offsets))
        return Run(query_ids, self.index_.document_ids[documents], scores, "bm25")

    def retrieve_by_vectors(
        self, queries: Queries, depth: int | None = None, *, query_vectors: Any = None
    ) -> Run:
        """Find the documents whose vectors are nearest to the queries', by the cosine.

        Every vector is compared. A query whose vector is zeros finds none.

        Parameters
        ----------
        queries : mapping of id to text, or sequence of texts
            Queries. The texts of a sequence have the ids "1", "2", ...
        depth : int, optional
            At most this many documents for each query. None: the extractor's `depth`.
        query_vectors : Vectors, mapping of id to vector, or pair of ids and array, optional
            Vectors of the queries. None: the encoder makes them.
        """
        check_is_fitted(self, "index_")
        ids, texts = named_queries(queries)
        vectors = self._vectors_of(ids, texts, query_vectors)
        documents, scores, offsets = self._nearest.rows(vectors, self._checked_depth(depth))
        query_ids = np.repeat(text_ids(ids), np.diff(offsets))
        return Run(query_ids, self.index_.document_ids[documents], scores, "vectors")

    def transform(
        self, queries: Queries, candidates: Candidates, *, query_vectors: Any = None
    ) -> RankingDataset:
        """Compute the features of candidates, as a dataset without labels.

        Parameters
        ----------
        queries : mapping of id to text, or sequence of texts
        candidates : Run, Qrels, or mapping of query id to document ids
            Documents of the index for each query: the result of `retrieve`, or a run of another
            system, which `localrank.data.read_run` reads. Queries without candidates are left out,
            with a warning, because every query of a dataset has at least one document.
        query_vectors : Vectors, mapping of id to vector, or pair of ids and array, optional
            Vectors of the queries, for an extractor `with_vectors`. None: the encoder makes them.
            The columns of lists are those of the first `depth` by BM25 and by vectors.
        """
        check_is_fitted(self, "index_")
        ids, texts = named_queries(queries)
        lists = self._lists(ids, texts, self.depth, query_vectors)
        by_query = documents_by_query(candidates)
        if unknown := by_query.keys() - set(ids):
            raise ValueError(f"Query {min(unknown)!r} has candidates and is not among the queries.")
        documents = [self.index_.places(by_query.get(query, ()), query) for query in ids]
        return self._dataset(ids, texts, documents, lists)

    def dataset(
        self,
        queries: Queries,
        qrels: Judgments | None = None,
        depth: int | None = None,
        *,
        with_judged: bool = False,
        query_vectors: Any = None,
    ) -> RankingDataset:
        """Make a dataset from texts: find candidates, compute features, add labels.

        Parameters
        ----------
        queries : mapping of id to text, or sequence of texts
        qrels : Qrels, or mapping of query id to mapping of document id to label, optional
            Labels. A document that was not judged for a query gets the label 0. If the judgments
            match no query or no document, they are refused. If only some do not match, there is a
            warning. None: the dataset has no labels.
        depth : int, optional
            At most this many candidates for each query. None: the extractor's `depth`. To train a
            model, set the extractor's `depth` instead: the model keeps it.
        with_judged : bool, default=False
            Whether to add judged documents that are not candidates, after them. The data then
            holds everything that was judged, which differs from what `retrieve` finds in service.
        query_vectors : Vectors, mapping of id to vector, or pair of ids and array, optional
            Vectors of the queries, for an extractor `with_vectors`. None: the encoder makes them.
        """
        check_is_fitted(self, "index_")
        ids, texts = named_queries(queries)
        labels = labels_by_query(qrels)
        if qrels is not None:
            check_judgments(ids, labels, self.index_)
        lists = self._lists(ids, texts, self._checked_depth(depth), query_vectors)
        chosen = lists.documents(self.n_documents)
        if with_judged:
            for place, query in enumerate(ids):
                known = [name for name in labels.get(query, ()) if name in self.index_]
                judged = self.index_.places(known, query)
                more = judged[~np.isin(judged, chosen[place])]
                chosen[place] = np.concatenate([chosen[place], more])
        dataset = self._dataset(ids, texts, chosen, lists)
        if qrels is None:
            return dataset
        return dataset.replaced(relevance=labels_in(dataset, labels))

    def list_of(
        self, query: str, depth: int | None = None, query_vectors: Any = None
    ) -> RankingDataset | None:
        """The candidates of one query as a dataset. None: there are none.

        Parameters
        ----------
        query : str
            The words of the query, whose id is "1".
        depth, query_vectors
            As in `dataset`.
        """
        check_is_fitted(self, "index_")
        texts = [checked_query(query)]
        lists = self._lists(["1"], texts, self._checked_depth(depth), query_vectors)
        documents = lists.documents(self.n_documents)
        return self._dataset(["1"], texts, documents, lists) if len(documents[0]) else None

    def added_to(self, dataset: RankingDataset, queries: Queries) -> RankingDataset:
        """A dataset with the features of its documents' texts after its own features.

        For lists of other systems: `localrank.fusion.lists_dataset` gives the columns of the
        lists, and this adds what the texts say.

        Parameters
        ----------
        dataset : RankingDataset
            Its documents are in the index, by their ids.
        queries : mapping of id to text
            The texts of at least the dataset's queries.

        Examples
        --------
        >>> from localrank.fusion import lists_dataset
        >>> extractor = FeatureExtractor(features=["bm25"])
        >>> _ = extractor.fit([{"id": "a", "text": "rice and beans"}, {"id": "b", "text": "tea"}])
        >>> lists = lists_dataset({"dense": {"q": {"a": 0.4, "b": 0.9}}})
        >>> both = extractor.added_to(lists, {"q": "green tea"})
        >>> both.feature_names[-1], both.features[:, -1].round(2).tolist()
        ('text.bm25', [0.0, 0.4])
        """
        check_is_fitted(self, "index_")
        if self.with_vectors:
            raise ValueError(
                "An extractor with vectors has lists of its own. To add the features of texts to "
                "other lists, use one without, and give the vectors to lists_dataset."
            )
        if dataset.document_ids is None:
            raise ValueError("The documents of the dataset have no ids to find their texts by.")
        ids, texts = named_queries(queries)
        text_of = dict(zip(ids, texts, strict=True))
        tables = []
        for place, name in enumerate(map(str, dataset.query_ids.tolist())):
            if name not in text_of:
                raise ValueError(f"Query {name!r} of the dataset is not among the queries.")
            documents = dataset.document_ids[slice(*dataset.offsets[place : place + 2])]
            places = self.index_.places(documents, name)
            tables.append(self._features.of_documents(text_of[name], places))
        label = dataset.feature_label
        names = [label(feature) for feature in range(dataset.n_features)]
        features = np.concatenate([dataset.features, np.concatenate(tables)], axis=1)
        added = dataset.with_features(features, [*names, *self.feature_names])
        return added.replaced(categories=dataset.categories)

    def features_of(self, query: str, documents: Iterable[Mapping[str, Any]]) -> Floats:
        """Compute the features of documents given as texts, of shape (n_documents, n_features).

        The documents need not be in the index, and need no ids. Statistics, such as how rare words
        are, are those of `fit`. A document of the index gets the same features here.

        Parameters
        ----------
        query : str
            The words of the query.
        documents : iterable of dict
            Documents with the keys of fields and columns. A field that is absent is an empty text.

        Examples
        --------
        >>> extractor = FeatureExtractor(features=["bm25", "covered"])
        >>> _ = extractor.fit([{"id": 1, "text": "rice and beans"}, {"id": 2, "text": "tea"}])
        >>> extractor.features_of("green tea", [{"text": "Tea, green"}, {"text": "Beans"}]).round(2)
        array([[1.13, 2.  ],
               [0.  , 0.  ]])
        """
        check_is_fitted(self, "index_")
        if self.with_vectors:
            raise ValueError(
                "An extractor with vectors knows the documents of its index alone: documents given "
                "as texts have no place in the two lists. Give their ids to transform."
            )
        part = self._reader(None).part(documents)
        given = Documents.of(part, self._analyzer, self.index_)
        return self._features.of_texts(checked_query(query), given)

    def save(self, path: str | PathLike[str], private_key: bytes | None = None) -> None:
        """Write the extractor with its index to one file, which `load_extractor` reads.

        An index in a folder is saved already. This copies it into the file, through memory.

        Parameters
        ----------
        path : path
            File to write.
        private_key : bytes, optional
            An Ed25519 key of 32 bytes to sign the file with. None: the file is not signed.
        """
        check_is_fitted(self, "index_")
        save_model(self, path, private_key)

    # Facts for the manifest of a saved file.
    @property
    def training_data_(self) -> dict[str, Any]:
        """The number of documents in the index."""
        return {"n_queries": 0, "n_documents": self.n_documents, "most_frequent_labels": {}}

    @property
    def n_features_in_(self) -> int:
        return len(self.feature_names)

    @property
    def feature_names_in_(self) -> Array:
        return np.array(self.feature_names)

    def _check_fitted(self) -> None:
        self._check_names()
        n_streams = len(self.field_names) + (len(self.field_names) > 1)
        index = self.index_
        if (
            len(index.streams) != n_streams
            or index.columns.shape[1] != self._reader(None).n_numbers
            or (index.vectors is not None) != self.with_vectors
            or (
                self._needs_words
                and any(s.terms is None for s in index.streams[: len(self.field_names)])
            )
        ):
            raise ValueError("parts of FeatureExtractor do not fit each other")

    def _checked_depth(self, depth: int | None) -> int:
        return checked_count(self.depth if depth is None else depth, "depth")

    def _check_names(self) -> None:
        fields = self.field_names
        if len(fields) > 1 and WHOLE in fields:
            raise ValueError(f"A field cannot be named {WHOLE!r}, which means all fields together.")
        if not self.feature_names:
            raise ValueError("The 'features' parameter of FeatureExtractor must name a feature.")
        made = feature_names(self.features, fields)
        if twice := [name for name in self.columns if name in made]:
            raise ValueError(f"The column {twice[0]!r} has the name of a feature.")

    @property
    def _keys(self) -> dict[str, tuple[str, ...]]:
        return keys_of_fields(self.fields) or {}

    @property
    def _kinds(self) -> set[str]:
        """The features, without the names of their streams."""
        return {name.rpartition(".")[2] for name in feature_names(self.features, self.field_names)}

    @property
    def _needs_words(self) -> bool:
        """Whether a feature needs the words of documents in their order."""
        return not self._kinds.isdisjoint((*PROXIMITY, *DEFINITION))

    def _reader(self, id_key: str | None) -> Reader:
        return Reader(self._keys, self.columns, id_key, SENTENCES in self._kinds)

    @property
    def _analyzer(self) -> Any:
        return Analyzer() if self.analyzer is None else self.analyzer

    @cached_property
    def _features(self) -> QueryFeatures:
        weighting = TermWeighting(
            self.variant, self.k1, self.b, self.prior, self.share, self.discount
        )
        names = feature_names(self.features, self.field_names)
        return QueryFeatures(
            self.index_, self._analyzer, self.field_names, names, weighting, self.max_query_words
        )

    @cached_property
    def _nearest(self) -> VectorIndex:
        if self.index_.vectors is None:
            raise ValueError("The extractor has no vectors. Make one with with_vectors=True.")
        return VectorIndex(Vectors(self.index_.document_ids, self.index_.vectors))

    def _vectors_of(self, ids: Sequence[str], texts: Sequence[str], given: Any) -> Singles:
        """Vectors of queries."""
        if given is not None:
            return Vectors.of(given).take(ids)
        encoder: Encoder | None = self.__dict__.get("_encoder")
        if encoder is None:
            raise AdvisedError(
                "The queries have no vectors, and the extractor has no encoder.",
                "Give query_vectors, or the encoder of the documents with use_encoder.",
                "Name the encoder of the documents with --encoder.",
            )
        return encoder(texts, role="query")

    def _lists(
        self, ids: Sequence[str], texts: Sequence[str], depth: int, query_vectors: Any
    ) -> Lists:
        by_words = Found(*self._features.retrieve(texts, depth))
        if not self.with_vectors:
            if query_vectors is not None:
                raise ValueError("Vectors of queries are for an extractor that has with_vectors.")
            return Lists(by_words)
        vectors = self._vectors_of(ids, texts, query_vectors)
        return Lists(by_words, Found(*self._nearest.rows(vectors, depth)), vectors)

    def _dataset(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        documents: Sequence[Integers],
        lists: Lists,
    ) -> RankingDataset:
        kept = with_candidates(ids, documents)
        tables = [self._features.of_documents(texts[place], documents[place]) for place in kept]
        chosen = np.concatenate([documents[place] for place in kept])
        features, beside = np.concatenate(tables), {}
        if self.index_.vectors is not None and lists.query_vectors is not None:
            queries = np.repeat(kept, [len(table) for table in tables])
            columns = lists.columns(queries, chosen, self.index_.vectors)
            features = np.concatenate([features, columns], axis=1)
            beside = {
                "_vectors": RowVectors(self.index_.vectors, chosen),
                "_query_vectors": RowVectors(lists.query_vectors[kept]),
            }
        # Features of text are finite, and columns were checked when they were read.
        return RankingDataset._checked(
            features=features,
            relevance=None,
            offsets=offsets_of(np.array([len(table) for table in tables])),
            query_ids=text_ids([ids[place] for place in kept]),
            document_ids=self.index_.document_ids[chosen],
            feature_names=self.feature_names,
            input_order=None,
            **beside,
        )


def load_extractor(
    path: str | PathLike[str],
    *,
    classes: Sequence[type] = (),
    public_key: bytes | None = None,
) -> FeatureExtractor:
    """Load an extractor from a file that `save` wrote, or open one whose index is in a folder.

    Nothing in the files is executed. The files of a folder are read once to check them, and are
    then used from disk.

    Parameters
    ----------
    path : path
        A file; or a folder that `fit(corpus, folder=…)` wrote, or any folder with a file
        `extractor.localrank`.
    classes : sequence of type
        Classes of your own that the file may use, such as an analyzer: a
        `localrank._base.estimator.Estimator` with a `__call__`.
    public_key : bytes, optional
        An Ed25519 key of 32 bytes. A file or folder that was not signed with its private key is
        refused, and so is a folder in which a file was changed or added, or is missing. None:
        signatures are not checked.

    Examples
    --------
    >>> import tempfile
    >>> extractor = FeatureExtractor(features=["bm25"]).fit([{"id": 1, "text": "rice, beans"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     extractor.save(f"{folder}/index.localrank")
    ...     load_extractor(f"{folder}/index.localrank").n_documents
    1
    """
    file = Path(path)
    if file.is_dir():
        file /= EXTRACTOR_FILE
        refuse_link_out(file)
        if not file.is_file():
            raise ValueError(
                f"{path} has no {EXTRACTOR_FILE}. The folder is not an index, or building it was "
                f"interrupted."
            )
    model: StoredIndex | FeatureExtractor = load_part(
        file, _is_extractor, "fitted extractor", classes=classes, public_key=public_key
    )
    if isinstance(model, FeatureExtractor):
        return model
    extractor: FeatureExtractor = model.extractor
    if public_key is not None:
        check_files(file.parent, model.files_)
    extractor.index_ = mapped_index(file.parent, model.files_, len(extractor.field_names))
    try:
        extractor._check_fitted()
    except ValueError as error:
        raise ValueError(f"{file.parent}: the index cannot be used: {error}.") from None
    return extractor


def _is_extractor(value: Any) -> bool:
    if isinstance(value, StoredIndex):
        return isinstance(value.extractor, FeatureExtractor) and hasattr(value, "files_")
    return isinstance(value, FeatureExtractor) and hasattr(value, "index_")
