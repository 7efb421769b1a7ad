"""The service's description of itself, in OpenAPI."""

from __future__ import annotations

from typing import Any

import msgspec

import localrank
from localrank.serving._bodies import ARROW, JSON
from localrank.serving._messages import (
    Batch,
    DocumentList,
    Models,
    Problem,
    Ranking,
    Rankings,
    TextQuery,
)
from localrank.serving.settings import Settings

REFUSALS = {
    "400": "The body cannot be read.",
    "401": "The token is missing or wrong.",
    "404": "There is no such model.",
    "406": "Explanations come as JSON only.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large, or holds too many documents or lists.",
    "415": "The body is in a format that the service does not take.",
    "422": "The body or a parameter is wrong. The message says where.",
    "503": "The model is not ready, or too many requests wait.",
    "504": "The lists were not ranked in time.",
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
    types = (DocumentList, TextQuery, Batch, Ranking, Rankings, Models, Problem)
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
        return {code: told(REFUSALS[code], JSON, schema[Problem]) for code in codes}

    def ranks(asked: Any, answered: type, summary: str, named: bool) -> dict[str, Any]:
        answer = told("The ranking, best documents first.", JSON, schema[answered])
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

    # The model decides whether a request holds features or words.
    features_or_words = {"anyOf": [schema[DocumentList], schema[TextQuery]]}
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
            "/v1/rank": ranks(features_or_words, Ranking, "Rank a list of documents.", False),
            "/v1/batch": ranks(schema[Batch], Rankings, "Rank several lists.", False),
            "/v1/models/{name}/rank": ranks(
                features_or_words, Ranking, "Rank a list with this model.", True
            ),
            "/v1/models/{name}/batch": ranks(
                schema[Batch], Rankings, "Rank several lists with this model.", True
            ),
            "/v1/models": tells("The models that are served.", JSON, schema[Models], "401"),
            "/metrics": tells("Counters for Prometheus.", "text/plain", {"type": "string"}, "401"),
            "/healthz": tells("Whether the service runs.", JSON, status, open_=True),
            "/readyz": tells("Whether every model can answer.", JSON, status, "503", open_=True),
        },
        "components": {"schemas": components},
    }
    if settings.token is not None:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return document
