"""A client of `localrank serve`. It needs only Python's standard library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

Id = str | int
# Values by feature name, or a row in the order of the model's features. None: a missing value.
Features = Mapping[str, float | None] | Sequence[float | None]


@dataclass(frozen=True)
class Ranking:
    """A ranked list, the best document first.

    Attributes
    ----------
    ids : list
        Ids of the documents. A document without an id has its position in the request.
    indices : list of int
        Positions of the documents in the request, from 0.
    scores : list of float
        Scores of the documents.
    model, version : str
        The model that ranked them, and its version.
    explanation : dict or None
        The groups, neighbours and contributions, as `/openapi.json` describes them. None: the
        request did not ask for an explanation.
    teams : list of int or None
        In a live test: who picked each document. 0: the first model. 1: the second. -1: nobody.
    list_id : str or None
        In a live test: the id to send clicks with. None: the service accepts no clicks.
    """

    ids: list[Id]
    indices: list[int]
    scores: list[float]
    model: str
    version: str
    explanation: dict[str, Any] | None
    teams: list[int] | None = None
    list_id: str | None = None


class ServiceError(Exception):
    """The service refused a request.

    Attributes
    ----------
    status : int
        The HTTP status. 4xx: the request is wrong. 503: the request may be tried again later.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Client:
    """Sends requests to a service over one connection.

    The connection stays open until `close` or the end of a `with` block. Each thread needs a
    client of its own.

    Parameters
    ----------
    url : str
        Address of the service, such as `http://127.0.0.1:8080`.
    token : str, optional
        The token of the service. None: the service asks for none.
    timeout : float, default=5.0
        Wait at most this many seconds for an answer.

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
            raise ValueError(
                f"The 'url' argument of Client must look like http://127.0.0.1:8080. Got {url!r} "
                f"instead."
            )
        self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=timeout)
        self._path = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            if not (isinstance(token, str) and token.isascii() and token.isprintable() and token):
                raise ValueError(
                    "The 'token' argument of Client must be a str of printable ASCII characters. "
                    f"Got {'another str' if isinstance(token, str) else type(token).__name__} "
                    "instead."
                )
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The next request opens a new one."""
        self._connection.close()

    def rank(
        self,
        documents: Sequence[Features],
        *,
        ids: Sequence[Id] | None = None,
        vectors: Sequence[Sequence[float]] | None = None,
        query: Id | None = None,
        model: str | None = None,
        top: int | None = None,
        explain: bool = False,
    ) -> Ranking:
        """Rank the documents of a query.

        Parameters
        ----------
        documents : sequence
            The features of each document: values by name, or a row in the order of the model's
            features.
        ids : sequence, optional
            Ids of the documents. None: their positions.
        vectors : sequence, optional
            The vector of each document, for a model that finds neighbours by vectors. None: the
            model needs none, or knows them by the ids.
        query : str or int, optional
            Id of the query. If several models share the requests, one model answers all requests
            of a query.
        model : str, optional
            Name of the model. None: the service chooses, by the shares of its models.
        top : int, optional
            How many documents to return. None: all.
        explain : bool, default=False
            Whether to return the groups, weights, neighbours and contributions too.
        """
        rows: list[dict[str, Any]] = [{"features": row} for row in documents]
        for row, given in zip(rows, ids or [], strict=ids is not None):
            row["id"] = given
        for row, vector in zip(
            rows, vectors if vectors is not None else [], strict=vectors is not None
        ):
            row["vector"] = [float(value) for value in vector]
        return self._ranked({"documents": rows, "query": query}, model, top, explain)

    def rank_by_words(
        self,
        query: str,
        documents: Sequence[Mapping[str, Any]] | None = None,
        *,
        depth: int | None = None,
        vector: Sequence[float] | None = None,
        model: str | None = None,
        top: int | None = None,
        explain: bool = False,
    ) -> Ranking:
        """Rank documents by the words of a query, with a model that ranks by words.

        Parameters
        ----------
        query : str
            The words.
        documents : sequence of mapping, optional
            The texts and numbers of each document by key, and its `id`. None: the documents that
            BM25 finds in the model's index.
        depth : int, optional
            How many documents of the index to rank. None: as many as the model was trained on.
            Another number changes the ranking. `top` makes the answer shorter.
        vector : sequence of float, optional
            The vector of the query, for a model that ranks by vectors, too. None: the encoder of
            the service makes it.
        model, top, explain
            As in `rank`.
        """
        content: dict[str, Any] = {"query": query}
        if vector is not None:
            content["vector"] = [float(value) for value in vector]
        if documents is not None:
            content["documents"] = [dict(document) for document in documents]
        if depth is not None:
            content["depth"] = depth
        return self._ranked(content, model, top, explain)

    def rank_lists(
        self,
        lists: Mapping[str, Mapping[Id, float]],
        *,
        vectors: Mapping[Id, Sequence[float]] | None = None,
        query: Id | None = None,
        model: str | None = None,
        top: int | None = None,
        explain: bool = False,
    ) -> Ranking:
        """Fuse what several retrievers found for a query, with a model that fuses lists.

        Parameters
        ----------
        lists : mapping
            The list of each retriever, by its name in training: scores of documents by id. Empty:
            it found nothing.
        vectors : mapping, optional
            The vector of each document by id, for a model that finds neighbours by vectors. None:
            the model needs none, or knows them by the ids.
        query, model, top, explain
            As in `rank`.
        """
        runs = {
            name: [{"id": document, "score": float(score)} for document, score in scores.items()]
            for name, scores in lists.items()
        }
        content: dict[str, Any] = {"runs": runs, "query": query}
        if vectors is not None:
            content["vectors"] = {
                str(document): [float(value) for value in vector]
                for document, vector in vectors.items()
            }
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
            answer.get("teams"),
            answer.get("list"),
        )

    def send_clicks(self, list_id: str, clicks: Sequence[int | str]) -> None:
        """Send what was clicked on a list of a live test, once for each list.

        Parameters
        ----------
        list_id : str
            The `list_id` of the ranking.
        clicks : sequence of int or str
            A number is a position, from 0. A text is the id of a document. Empty: nothing
            was clicked, which counts, too.

        Raises
        ------
        ServiceError
            409: clicks on this list are in the log already, perhaps from an attempt whose answer
            was lost. 410: the list is too old.
        """
        self._post("/v1/clicks", {"list": list_id, "clicks": list(clicks)})

    def _post(self, path: str, content: Any) -> Any:
        body = json.dumps(content, allow_nan=False, default=_plain)
        for attempt in (1, 2):
            try:
                self._connection.request("POST", self._path + path, body, self._headers)
                response = self._connection.getresponse()
                answer = json.loads(response.read())
                break
            except (ConnectionError, HTTPException):
                # The service closes idle connections. Ranking twice does no harm, and clicks that
                # are sent twice count once.
                self.close()
                if attempt == 2:
                    raise
        if response.status != 200:
            raise ServiceError(response.status, answer["error"])
        return answer


def _plain(value: Any) -> Any:
    """NumPy arrays and numbers as lists and numbers of Python."""
    return value.tolist()
