"""What requests hold, and what answers say: JSON, decoded and checked by msgspec."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

# null is a missing value.
Value = float | None
Id = str | int


class Document(Struct, forbid_unknown_fields=True, gc=False):
    """A document to rank."""

    features: Annotated[
        dict[str, Value] | list[Value],
        Meta(
            description="Values by feature name, or a row in the order of the model's features "
            "(of `feature_names`, where the request gives them). null is a missing value."
        ),
    ]
    id: Annotated[
        Id | None, Meta(description="Comes back in the answer; the position stands in for it.")
    ] = None


class DocumentList(Struct, forbid_unknown_fields=True):
    """A query's documents."""

    documents: Annotated[list[Document], Meta(min_length=1)]
    query: Annotated[
        Id | None,
        Meta(description="Comes back in the answer. One query is always served by one model."),
    ] = None
    feature_names: Annotated[
        list[str] | None, Meta(description="What the columns of rows are, in their order.")
    ] = None


class TextQuery(Struct, forbid_unknown_fields=True):
    """Words, for a model that ranks by them: `localrank train --extractor` makes such."""

    query: Annotated[str, Meta(description="The words. Equal ones are always served by one model.")]
    documents: Annotated[
        Annotated[list[dict[str, str | int | float | None]], Meta(min_length=1)] | None,
        Meta(
            description="Documents to rank: texts and numbers by the keys that the corpus had, "
            "and an `id`, which comes back in the answer. Without any, those that BM25 finds in "
            "the model's index are ranked; `index` is then their place by BM25."
        ),
    ] = None
    depth: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="How many documents of the index to rank; 100 by default."),
    ] = None


class Batch(Struct, forbid_unknown_fields=True):
    """Several lists of documents, each of its own query."""

    lists: Annotated[list[DocumentList], Meta(min_length=1)]


class Place(Struct, gc=False):
    """A document in its place."""

    id: Id
    index: Annotated[int, Meta(description="Its position in the request, from 0.", ge=0)]
    score: float


class Neighbour(Struct):
    """A training query near the one that was asked."""

    query: Id
    group: int
    distance: float
    similarity: float


class GroupScores(Struct):
    """What one group of training queries has to do with a list."""

    group: int
    weight: Annotated[float, Meta(description="Of its model in the scores.")]
    n_queries: int
    scores: Annotated[list[float], Meta(description="By its model alone, in request order.")]


class ModelScores(Struct):
    """What one of several models gives the documents."""

    model: str
    scores: Annotated[list[float], Meta(description="In request order.")]


class Contribution(Struct, gc=False):
    """What a feature adds to a score."""

    feature: str
    value: float


class DocumentContributions(Struct):
    """Why a document has its score: what lifts it above the mean of its list, or lowers it."""

    index: Annotated[int, Meta(description="Its position in the request, from 0.", ge=0)]
    contributions: Annotated[
        list[Contribution], Meta(description="The largest, either way; ten at most.")
    ]
    others: Annotated[float, Meta(description="What all other features add.")]


class Reasons(Struct):
    """How the scores came about."""

    groups: Annotated[
        list[GroupScores],
        Meta(description="Of a local model: groups in use, and those of the neighbours."),
    ] = []
    neighbours: Annotated[
        list[Neighbour], Meta(description="Of a local model: the nearest training queries.")
    ] = []
    models: Annotated[
        list[ModelScores], Meta(description="Of an ensemble: what each member gives.")
    ] = []
    base: Annotated[
        float | None,
        Meta(
            description="The mean score of the list. A document's score is the base and what its "
            "features contribute."
        ),
    ] = None
    contributions: Annotated[
        list[DocumentContributions],
        Meta(description="Of the first documents of the ranking, in its order; 100 at most."),
    ] = []
    no_contributions: Annotated[
        str | None, Meta(description="Why there are none, where the model has none.")
    ] = None


class Ranking(Struct):
    """A ranked list."""

    model: str
    version: Annotated[str, Meta(description="Begin of the digest of the model file.")]
    query: Id | None
    n_documents: int
    ranking: Annotated[list[Place], Meta(description="Best first.")]
    explanation: Reasons | None = None


class Rankings(Struct):
    """Ranked lists, in the order of the request."""

    lists: list[Ranking]


class Model(Struct):
    """A model that is served."""

    name: str
    ready: bool
    share: Annotated[float, Meta(description="Of the requests that name no model.")]
    shadow: bool
    version: str | None = None
    method: str | None = None
    parameters: dict[str, str] = {}
    n_features: int | None = None
    feature_names: list[str] | None = None
    training_data: dict[str, Any] = {}
    versions: Annotated[
        dict[str, str], Meta(description="Of the libraries it was trained with.")
    ] = {}
    loaded_at: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    problem: Annotated[str | None, Meta(description="Why the newest file could not be loaded.")] = (
        None
    )


class Models(Struct):
    """The models that are served, the default first."""

    models: list[Model]


class Problem(Struct):
    """Why a request was refused."""

    error: str
