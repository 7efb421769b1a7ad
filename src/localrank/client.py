"""A client of `localrank serve`, of Python's standard library alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

Id = str | int
# Values by feature name, or a row in the order of the model's features; None where one is missing.
Features = Mapping[str, float | None] | Sequence[float | None]


@dataclass(frozen=True)
class Ranking:
    """A ranked list, best documents first.

    Attributes
    ----------
    ids : list
        Of the documents; their positions in the request where it had no ids.
    indices : list of int
        Their positions in the request.
    scores : list of float
    model, version : str
        What ranked them.
    explanation : dict or None
        As in the service's description, `/openapi.json`.
    """

    ids: list[Id]
    indices: list[int]
    scores: list[float]
    model: str
    version: str
    explanation: dict[str, Any] | None


class ServiceError(Exception):
    """The service refused a request.

    Attributes
    ----------
    status : int
        As in HTTP: 4xx for what is wrong with the request, 503 where it may be tried again.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Client:
    """Asks a service over one connection, open until `close` or the end of a `with`.

    Each thread needs its own.

    Parameters
    ----------
    url : str
        Such as `http://127.0.0.1:8080`.
    token : str, optional
        What the service asks for, where it does.
    timeout : float, default=5.0
        Seconds to wait for an answer.

    Examples
    --------
    >>> documents = [{"bm25": 7.1, "age": 3}, {"bm25": 9.4, "age": 1}]
    >>> with Client("http://127.0.0.1:8080") as client:  # doctest: +SKIP
    ...     client.rank(documents, ids=["a", "b"]).ids
    ['b', 'a']
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 5.0) -> None:
        parts = urlsplit(url)
        kinds = {"http": HTTPConnection, "https": HTTPSConnection}
        if parts.scheme not in kinds or not parts.hostname:
            raise ValueError(f"url must look like http://127.0.0.1:8080. Got {url!r} instead.")
        self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=timeout)
        self._path = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def rank(
        self,
        documents: Sequence[Features],
        *,
        ids: Sequence[Id] | None = None,
        query: Id | None = None,
        model: str | None = None,
        top: int | None = None,
        explain: bool = False,
    ) -> Ranking:
        """Rank the documents of a query.

        Parameters
        ----------
        documents : sequence
            The features of each: values by name, or a row in the order of the model's features.
        ids : sequence, optional
            Of the documents.
        query : str or int, optional
            One query is always served by the same model, where several share the requests.
        model : str, optional
            The service's default if left out.
        top : int, optional
            How many documents to return.
        explain : bool, default=False
            Also tell the group, weights, neighbours and scores of single models.
        """
        rows: list[dict[str, Any]] = [{"features": row} for row in documents]
        for row, given in zip(rows, ids or [], strict=ids is not None):
            row["id"] = given
        return self._ranked({"documents": rows, "query": query}, model, top, explain)

    def rank_by_words(
        self,
        query: str,
        documents: Sequence[Mapping[str, Any]] | None = None,
        *,
        depth: int | None = None,
        model: str | None = None,
        top: int | None = None,
        explain: bool = False,
    ) -> Ranking:
        """Rank documents by the words of a query, with a model that takes words.

        Parameters
        ----------
        query : str
        documents : sequence of mapping, optional
            Texts and numbers of each by key, and an `id`. None: what BM25 finds in the index.
        depth : int, optional
            How many documents of the index to rank; 100 if left out.
        model, top, explain
            As of `rank`.
        """
        content: dict[str, Any] = {"query": query}
        if documents is not None:
            content["documents"] = [dict(document) for document in documents]
        if depth is not None:
            content["depth"] = depth
        return self._ranked(content, model, top, explain)

    def _ranked(
        self, content: dict[str, Any], model: str | None, top: int | None, explain: bool
    ) -> Ranking:
        options = {"explain": "true"} if explain else {}
        if top is not None:
            options["top"] = str(top)
        path = "/v1/rank" if model is None else f"/v1/models/{quote(model, safe='')}/rank"
        answer = self._post(f"{path}?{urlencode(options)}", content)
        places = answer["ranking"]
        return Ranking(
            [place["id"] for place in places],
            [place["index"] for place in places],
            [place["score"] for place in places],
            answer["model"],
            answer["version"],
            answer["explanation"],
        )

    def _post(self, path: str, content: Any) -> Any:
        body = json.dumps(content, allow_nan=False, default=_plain)
        for attempt in (1, 2):
            try:
                self._connection.request("POST", self._path + path, body, self._headers)
                response = self._connection.getresponse()
                answer = json.loads(response.read())
                break
            except (ConnectionError, HTTPException):
                # The service closes connections that were idle; ranking twice does no harm.
                self.close()
                if attempt == 2:
                    raise
        if response.status != 200:
            raise ServiceError(response.status, answer["error"])
        return answer


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy as Python's."""
    return value.tolist()
