"""The content of requests and answers: JSON, decoded and checked by msgspec."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

import localrank
from localrank.serving.settings import Settings

# Formats of bodies.
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"

# null is a missing value.
Value = float | None
Id = str | int
# No encoder makes longer vectors; a longer one in a request is refused before it is read.
MAX_DIMENSIONS = 16_384
# At most this many bytes of a vector, so that a longer one is refused before its numbers are read.
MAX_VECTOR_BYTES = 32 * MAX_DIMENSIONS
# Numbers, or base64 of little-endian numbers of 32 bits.
Vector = (
    Annotated[list[float], Meta(min_length=1, max_length=MAX_DIMENSIONS)]
    | Annotated[str, Meta(min_length=1, max_length=MAX_DIMENSIONS * 6)]
    | None
)


class Document(Struct, forbid_unknown_fields=True, gc=False):
    """A document to rank."""

    features: Annotated[
        dict[str, Value] | list[Value],
        Meta(
            description="Values by feature name, or a row in the order of the model's features "
            "(or of `feature_names`, if the request gives them). null is a missing value. "
            "The value of a feature of categories is a text."
        ),
    ]
    id: Annotated[
        Id | None, Meta(description="Id in the answer. By default, the position in the request.")
    ] = None
    vector: Annotated[
        Vector,
        Meta(
            description="The document's vector, for a model that finds neighbours by vectors: "
            "numbers, or base64 of little-endian numbers of 32 bits. Other models ignore it. By "
            "default, it is looked up by the id, if the model has an index with vectors."
        ),
    ] = None


class DocumentList(Struct, forbid_unknown_fields=True):
    """A query's documents."""

    documents: Annotated[list[Document], Meta(min_length=1)]
    query: Annotated[
        Id | None,
        Meta(description="Id of the query. All requests of a query are served by one model."),
    ] = None
    feature_names: Annotated[
        list[str] | None, Meta(description="The feature of each column of the rows.")
    ] = None


class CategoryDocument(Document, forbid_unknown_fields=True, gc=False):
    """A document to rank, with texts for features of categories."""

    # Read with the same code, which takes more than a document of numbers holds.
    features: dict[str, Value | str] | list[Value | str]  # type: ignore[assignment]


class CategoryList(DocumentList, forbid_unknown_fields=True):
    """A query's documents, with texts for features of categories."""

    documents: Annotated[list[CategoryDocument], Meta(min_length=1)]  # type: ignore[assignment]


class RawDocument(Document, forbid_unknown_fields=True, gc=False):
    """A document to rank whose features and vector are not decoded."""

    features: msgspec.Raw  # type: ignore[assignment]
    vector: msgspec.Raw = msgspec.Raw(b"null")  # type: ignore[assignment]


class RawList(DocumentList, forbid_unknown_fields=True):
    """A query's documents, whose features are not decoded."""

    documents: Annotated[list[RawDocument], Meta(min_length=1)]  # type: ignore[assignment]


class TextQuery(Struct, forbid_unknown_fields=True):
    """The words of a query, for a model that was trained with `localrank train --extractor`."""

    query: Annotated[
        str,
        Meta(
            description="The words, at most 1,000 unless the service sets another limit. All "
            "requests with the same words go to one model."
        ),
    ]
    documents: Annotated[
        Annotated[list[dict[str, str | int | float | None]], Meta(min_length=1)] | None,
        Meta(
            description="Documents to rank: texts and numbers by the keys of the corpus, and an "
            "`id`, which comes back in the answer. By default, the documents that BM25 finds in "
            "the model's index; `index` is then the place by BM25."
        ),
    ] = None
    depth: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="How many documents of the index to rank. By default, as many as the model "
            "was trained on; another number changes the ranking. `top` makes the answer shorter."
        ),
    ] = None
    vector: Annotated[
        Vector,
        Meta(
            description="The vector of the query, for a model that ranks by vectors, too: numbers, "
            "or base64 of little-endian numbers of 32 bits. By default, the encoder of the service "
            "makes it."
        ),
    ] = None


class Hit(Struct, forbid_unknown_fields=True, gc=False):
    """A document that a retriever found."""

    id: Id
    score: Annotated[float, Meta(description="Larger is better.")]


class Runs(Struct, forbid_unknown_fields=True):
    """What several retrievers found for a query, for a model that fuses lists."""

    runs: Annotated[
        dict[str, list[Hit]],
        Meta(
            description="The list of each retriever, by its name in training. Empty: it found "
            "nothing. Documents with the same id are the same.",
            min_length=1,
        ),
    ]
    vectors: Annotated[
        dict[str, msgspec.Raw] | None,
        Meta(
            description="The vector of each document by its id, for a model that finds neighbours "
            "by vectors: numbers, or base64 of little-endian numbers of 32 bits. Zeros say that a "
            "document has none. By default, they are looked up, if the model has an index with "
            "vectors."
        ),
    ] = None
    query: Annotated[
        Id | None,
        Meta(description="Id of the query. All requests of a query are served by one model."),
    ] = None


class RunsBatch(Struct, forbid_unknown_fields=True):
    """What several retrievers found for several queries."""

    lists: Annotated[list[Runs], Meta(min_length=1)]


class SaysRuns(Struct):
    """A request with lists of retrievers, before they are checked."""

    runs: msgspec.Raw


class SaysRunsBatch(Struct):
    """A request with lists of retrievers for several queries, before they are checked."""

    lists: Annotated[list[SaysRuns], Meta(min_length=1)]


class Batch(Struct, forbid_unknown_fields=True):
    """Several lists of documents, one for each query."""

    lists: Annotated[list[DocumentList], Meta(min_length=1)]


class RawBatch(Struct, forbid_unknown_fields=True):
    """Several lists of documents, whose features are not decoded."""

    lists: Annotated[list[RawList], Meta(min_length=1)]


class CategoryBatch(Struct, forbid_unknown_fields=True):
    """Several lists of documents, with texts for features of categories."""

    lists: Annotated[list[CategoryList], Meta(min_length=1)]


class Place(Struct, gc=False):
    """A document of a ranking."""

    id: Id
    index: Annotated[int, Meta(description="Position in the request, from 0.", ge=0)]
    score: float


class Neighbour(Struct):
    """A training query near the query of the list."""

    query: Id
    group: int
    distance: float
    similarity: float


class GroupScores(Struct):
    """A group of training queries, and the scores of its model."""

    group: int
    weight: Annotated[float, Meta(description="Weight of the group's model in the scores.")]
    n_queries: int
    scores: Annotated[
        list[float], Meta(description="Scores by the group's model alone, in request order.")
    ]


class ModelScores(Struct):
    """The scores of one member of an ensemble."""

    model: str
    scores: Annotated[list[float], Meta(description="Scores in request order.")]


class Contribution(Struct, gc=False):
    """The contribution of a feature to a score."""

    feature: str
    value: float


class DocumentContributions(Struct):
    """The features that lift a document above the mean score of its list, or lower it."""

    index: Annotated[int, Meta(description="Position in the request, from 0.", ge=0)]
    contributions: Annotated[
        list[Contribution],
        Meta(description="The largest contributions, positive or negative; at most ten."),
    ]
    others: Annotated[float, Meta(description="Sum of the contributions of all other features.")]


class NearDocument(Struct, gc=False):
    """A document of the same list that moves another one."""

    index: Annotated[int, Meta(description="Position in the request, from 0.", ge=0)]
    cosine: float
    moved: Annotated[float, Meta(description="How far it lifts the document, or lowers it.")]


class DocumentNeighbours(Struct):
    """The documents of the list that move a document, because their vectors are similar."""

    index: Annotated[int, Meta(description="Position in the request, from 0.", ge=0)]
    neighbours: Annotated[list[NearDocument], Meta(description="Nearest first; at most ten.")]
    others: Annotated[float, Meta(description="How far all other neighbours move it.")]


class Reasons(Struct):
    """The explanation of the scores."""

    groups: Annotated[
        list[GroupScores],
        Meta(description="Local models: the groups in use, and those of the neighbours."),
    ] = []
    neighbours: Annotated[
        list[Neighbour], Meta(description="Local models: the nearest training queries.")
    ] = []
    models: Annotated[
        list[ModelScores], Meta(description="Ensembles: the scores of each member.")
    ] = []
    base: Annotated[
        float | None,
        Meta(
            description="The mean score of the list. A document's score is the base plus the "
            "contributions of its features."
        ),
    ] = None
    contributions: Annotated[
        list[DocumentContributions],
        Meta(description="For the first documents of the ranking, in its order; at most 100."),
    ] = []
    no_contributions: Annotated[
        str | None, Meta(description="Why the model gives no contributions.")
    ] = None
    near_documents: Annotated[
        list[DocumentNeighbours],
        Meta(
            description="Models in which documents borrow from their neighbours: for the first "
            "documents of the ranking, in its order; at most 100."
        ),
    ] = []
    moved: Annotated[
        str | None, Meta(description="What the moves of neighbours are parts of, in words.")
    ] = None


class Ranking(Struct):
    """A ranked list."""

    model: str
    version: Annotated[str, Meta(description="The first digits of the model file's digest.")]
    query: Id | None
    n_documents: int
    ranking: Annotated[list[Place], Meta(description="The documents, the best first.")]
    explanation: Reasons | None = None


class Rankings(Struct):
    """Ranked lists, in the order of the request."""

    lists: list[Ranking]


# Below, `list` is the name of a field.
Teams = list[int]
Positions = list[Annotated[int, Meta(ge=0)] | str]


class LiveRanking(Ranking, kw_only=True):
    """A ranked list of a live test, from two models.

    `model` and `version` name both, as in `old:new`. The score of a document is that by the model
    that picked it, so that scores do not fall from place to place.
    """

    list: Annotated[
        str | None,
        Meta(description="The id to send clicks with. null: the service takes none."),
    ] = None
    teams: Annotated[
        Teams,
        Meta(
            description="Who picked each document. 0: the first model. 1: the second. -1: nobody, "
            "as both would show it there, or as one has no documents left."
        ),
    ]


class LiveRankings(Struct):
    """Ranked lists of a live test, in the order of the request."""

    lists: list[LiveRanking]


class Clicks(Struct, forbid_unknown_fields=True):
    """What was clicked on a list of a live test."""

    list: Annotated[str, Meta(description="The id that came with the list.")]
    clicks: Annotated[
        Positions,
        Meta(
            description="A number is a position, from 0. A text is the id of a document. An empty "
            "list: nothing was clicked.",
            max_length=1000,
        ),
    ]


class Stored(Struct):
    """Clicks that are in the log."""

    n_clicks: Annotated[int, Meta(description="Number of documents that were clicked.")]


class Model(Struct):
    """A model that is served."""

    name: str
    ready: bool
    share: Annotated[
        float, Meta(description="Share of the requests that name no model, from 0 to 1.")
    ]
    shadow: Annotated[bool, Meta(description="Whether this is the shadow model.")]
    version: str | None = None
    method: str | None = None
    parameters: dict[str, str] = {}
    n_features: int | None = None
    feature_names: list[str] | None = None
    takes_words: Annotated[
        bool, Meta(description="Whether the model ranks by the words of a query, too.")
    ] = False
    document_keys: Annotated[
        list[str], Meta(description="Where a document's texts are, if the model takes words.")
    ] = []
    example: Annotated[
        dict[str, Any] | None, Meta(description="The content of a request that the model ranks.")
    ] = None
    training_data: dict[str, Any] = {}
    versions: Annotated[
        dict[str, str], Meta(description="Versions of the libraries it was trained with.")
    ] = {}
    loaded_at: Annotated[
        float | None, Meta(description="When it was loaded, in seconds since 1970.")
    ] = None
    problem: Annotated[str | None, Meta(description="Why the newest file could not be loaded.")] = (
        None
    )


class Models(Struct):
    """The models that are served, the default first."""

    models: list[Model]


class Problem(Struct):
    """Why a request was refused."""

    error: str


class Refused(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """The request is answered with this status and message instead of a ranking."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


REFUSALS = {
    "400": "The body cannot be read.",
    "401": "The token is missing or wrong.",
    "404": "There is no such model, or no such list.",
    "406": "Explanations and live tests come as JSON only.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large, or holds too many documents, lists or words of a query.",
    "415": "The body is in a format that the service does not take.",
    "422": "The body or a parameter is wrong. The message says where.",
    "503": "The model is not ready, or too many requests wait.",
    "504": "The lists were not ranked in time.",
}
REFUSED_CLICKS = {
    "409": "The clicks on the list are in the log already.",
    "410": "The list was shown too long ago.",
}
OPTIONS = [
    {
        "name": "top",
        "in": "query",
        "description": "How many documents of each list to return. By default, all.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999},
    },
    {
        "name": "explain",
        "in": "query",
        "description": "Whether to return the groups, weights, neighbours and contributions too.",
        "schema": {"type": "boolean", "default": False},
    },
]


def openapi(settings: Settings) -> dict[str, Any]:
    """The document at `/openapi.json`.

    Examples
    --------
    >>> from pathlib import Path
    >>> sorted(openapi(Settings({"m": Path("m.localrank")}, {}))["paths"])[:3]
    ['/healthz', '/metrics', '/readyz']
    """
    types: tuple[type, ...] = (
        DocumentList, TextQuery, Runs, Batch, RunsBatch, Ranking, Rankings, Models, Problem,
    )  # fmt: skip
    live = settings.interleave is not None
    if live:
        types += (LiveRanking, LiveRankings, Clicks, Stored)
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    schema: dict[type, Any] = dict(zip(types, schemas, strict=True))
    secured: dict[str, Any] = {} if settings.token is None else {"security": [{"token": []}]}
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": list(settings.models)},
    }

    def told(what: str, kind: str, form: Any) -> dict[str, Any]:
        return {"description": what, "content": {kind: {"schema": form}}}

    def refusals(*codes: str) -> dict[str, Any]:
        words = REFUSALS | REFUSED_CLICKS
        return {code: told(words[code], JSON, schema[Problem]) for code in codes}

    def ranks(asked: Any, answered: type, summary: str, named: bool) -> dict[str, Any]:
        answer = told("The ranking, best documents first.", JSON, schema[answered])
        if answered not in (LiveRanking, LiveRankings):
            answer["content"][ARROW] = {}
        return {
            "post": {
                "summary": summary,
                "parameters": [*([name] if named else []), *OPTIONS],
                "requestBody": {
                    "required": True,
                    "content": {JSON: {"schema": asked}, ARROW: {}},
                },
                "responses": {"200": answer, **refusals(*REFUSALS)},
                **secured,
            }
        }

    def tells(summary: str, kind: str, form: Any, *codes: str, open_: bool = False) -> Any:
        answers = {"200": told(summary, kind, form), **refusals(*codes)}
        return {"get": {"summary": summary, "responses": answers, **({} if open_ else secured)}}

    # The model decides whether a request holds features, words, or lists of retrievers.
    one = {"anyOf": [schema[DocumentList], schema[TextQuery], schema[Runs]]}
    several = {"anyOf": [schema[Batch], schema[RunsBatch]]}
    status = {"type": "object", "properties": {"status": {"type": "string"}}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "localrank",
            "version": localrank.__version__,
            "description": "Ranks lists of documents with query-adaptive models.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            "/v1/rank": ranks(
                one,
                LiveRanking if live else Ranking,
                "Rank a list of documents.",
                False,
            ),
            "/v1/batch": ranks(
                several, LiveRankings if live else Rankings, "Rank several lists.", False
            ),
            "/v1/models/{name}/rank": ranks(one, Ranking, "Rank a list with this model.", True),
            "/v1/models/{name}/batch": ranks(
                several, Rankings, "Rank several lists with this model.", True
            ),
            "/v1/models": tells("The models that are served.", JSON, schema[Models], "401"),
            "/metrics": tells("Counters for Prometheus.", "text/plain", {"type": "string"}, "401"),
            "/healthz": tells("Whether the service runs.", JSON, status, open_=True),
            "/readyz": tells("Whether every model can answer.", JSON, status, "503", open_=True),
        },
        "components": {"schemas": components},
    }
    if settings.clicks_log is not None:
        document["paths"]["/v1/clicks"] = {
            "post": {
                "summary": "Send the clicks on a list of a live test.",
                "requestBody": {
                    "required": True,
                    "content": {JSON: {"schema": schema[Clicks]}},
                },
                "responses": {
                    "200": told("The clicks are in the log.", JSON, schema[Stored]),
                    **refusals(*(code for code in REFUSALS if code != "406"), *REFUSED_CLICKS),
                },
                **secured,
            }
        }
    if settings.token is not None:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return document
