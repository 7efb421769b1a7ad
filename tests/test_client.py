import json
import socket
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import uvicorn
from numpy.testing import assert_array_equal

from localrank.client import Client, ServiceError
from localrank.fusion import SmoothedFusion
from localrank.rankers import Ensemble, LambdaMART, RankSVM
from localrank.serving import Application, Settings


def with_vectors(queries):
    return queries.with_vectors(np.random.default_rng(0).normal(size=(queries.n_documents, 3)))


@pytest.fixture(scope="module")
def ranker(queries):
    return Ensemble([LambdaMART(5), RankSVM()]).fit(queries)


@pytest.fixture
def client(url):
    with Client(url, token="secret") as client:
        yield client


@contextmanager
def served(settings):
    """The address of a service on a port of its own that closes idle connections at once."""
    application = Application(settings)
    config = uvicorn.Config(application, timeout_keep_alive=0, log_level="warning")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not (server.started and application.models.ready):
            thread.join(0.05)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def path(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.localrank"
    ranker.save(path)
    return path


@pytest.fixture(scope="module")
def url(path, queries, tmp_path_factory):
    near = tmp_path_factory.mktemp("model") / "near.localrank"
    SmoothedFusion("equal", share=0.5).fit(with_vectors(queries)).save(near)
    with served(Settings({"m": path, "n": path, "near": near}, {}, token="secret")) as url:
        yield url


def test_a_list_is_ranked(client, queries, ranker):
    one = queries.select([4])
    expected = ranker.predict(one)
    order = np.argsort(-expected, kind="stable")
    ids = [f"d{number}" for number in range(one.n_documents)]
    named = [dict(zip(ranker.feature_names_in_, row, strict=True)) for row in one.features]
    # Values of numpy too, and more than once over connections that the service closes.
    for documents in (one.features, one.features.tolist(), named):
        ranking = client.rank(documents, ids=ids)
        assert_array_equal(ranking.indices, order)
        assert_array_equal(ranking.scores, expected[order])
        assert ranking.ids == [ids[index] for index in order]
        assert (ranking.model, ranking.explanation) == ("m", None)


def test_documents_may_have_vectors(client, queries):
    one = with_vectors(queries).select([4])
    expected = SmoothedFusion("equal", share=0.5).fit(one).predict(one)
    ranking = client.rank(one.features, vectors=one.vectors, model="near")
    assert_array_equal(ranking.scores, np.sort(expected)[::-1])
    with pytest.raises(ValueError, match="shorter"):
        client.rank(one.features, vectors=one.vectors[1:], model="near")


def test_options_reach_the_service(client, queries):
    ranking = client.rank(queries.select([4]).features, query="q", model="n", top=2, explain=True)
    assert (ranking.model, len(ranking.ids)) == ("n", 2)
    assert [member["model"] for member in ranking.explanation["models"]] == [
        "LambdaMART",
        "RankSVM",
    ]


def test_a_refusal_is_an_error_with_the_services_words(url, client):
    with (
        Client(url) as stranger,
        pytest.raises(ServiceError, match="401: The token is missing") as refused,
    ):
        stranger.rank([[1.0]])
    assert refused.value.status == 401
    with pytest.raises(ServiceError, match=r"422: documents\[0\]: the model takes 8 features"):
        client.rank([[1.0]])
    with pytest.raises(ServiceError, match="404: There is no model 'linear'"):
        client.rank([[1.0]], model="linear")


def test_what_cannot_be_sent_is_not(client):
    with pytest.raises(ValueError, match="must look like http"):
        Client("localhost:8080")
    with pytest.raises(ValueError, match="not JSON compliant"):
        client.rank([[float("nan")]])
    with pytest.raises(ValueError, match="shorter|longer"):
        client.rank([[1.0]], ids=["a", "b"])


def test_nobody_listening_is_an_error():
    with pytest.raises(ConnectionError):
        Client("http://127.0.0.1:9").rank([[1.0]])


@pytest.mark.parametrize(
    ("token", "got"), [(b"secret", "bytes"), ("", "another str"), ("a\r\nb", "another str")]
)
def test_a_token_that_is_none_is_refused_and_not_told(token, got):
    with pytest.raises(ValueError, match=f"'token' .* must be a str .* Got {got} instead") as told:
        Client("http://127.0.0.1:1", token=token)
    assert "secret" not in str(told.value)


def test_clicks_of_a_live_test_come_back(path, queries, tmp_path):
    folder = tmp_path / "clicks"
    settings = Settings({"m": path, "n": path}, {}, interleave=("m", "n"), clicks_log=folder)
    with served(settings) as url, Client(url) as client:
        features = queries.select([4]).features
        ids = [f"d{number}" for number in range(len(features))]
        ranking = client.rank(features, ids=ids, query="q", top=3)
        # Both models are the same: every document is nobody's.
        assert ranking.teams == [-1, -1, -1]
        client.send_clicks(ranking.list_id, [0, ranking.ids[2]])
        with pytest.raises(ServiceError, match="in the log already") as refused:
            client.send_clicks(ranking.list_id, [])
        assert refused.value.status == 409
        assert client.rank(features, model="m").teams is None
    (line,) = (folder / "clicks-000001.jsonl").read_text().splitlines()
    assert json.loads(line)["clicks"] == [0, 2]
