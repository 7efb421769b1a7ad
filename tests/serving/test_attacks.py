"""Requests that no honest client sends: each gets a clear refusal, and the service lives on."""

import json
import random
import socket
import struct
import sys
import time
from contextlib import ExitStack, closing, suppress

import numpy as np
import pyarrow
import pytest
from serving.process import PATIENCE, running
from serving.service import ARROW, as_stream

from localrank.rankers import RankSVM

TOKEN = "token-of-the-service"
# What no log may hold.
ID, VALUE = "id-of-a-document", 8675.309
MAX_BODY, TIMEOUT = 1_000_000, 5
N_FEATURES = 8
ROW = [VALUE] * N_FEATURES
GOOD = {"documents": [{"id": ID, "features": ROW}]}
JSON = "application/json"


@pytest.fixture(scope="module")
def service(named, tmp_path_factory):
    """With a token, little room and little time; its log is read when all is over."""
    folder = tmp_path_factory.mktemp("attacked")
    RankSVM(missing="refuse").fit(named).save(folder / "m.localrank")
    limits = ["--max-body", MAX_BODY, "--max-documents", 1000, "--timeout", TIMEOUT]
    with running(
        folder, folder / "m.localrank", *limits, "--access-log", LOCALRANK_TOKEN=TOKEN
    ) as service:
        yield service
        assert service.process.poll() is None, service.log
        assert_lives(service)
        assert '"POST /v1/rank HTTP/1.1" 200' in service.log
        for secret in (TOKEN, ID, "8675", "ERROR"):
            assert secret not in service.log
        if sys.platform.startswith("linux"):
            assert service.memory() < 1000


def head(path: str = "/v1/rank", method: str = "POST", **headers: object) -> bytes:
    """The beginning of a request, with the token and as JSON unless told otherwise."""
    given = {"Host": "x", "Authorization": f"Bearer {TOKEN}", "Content_Type": JSON} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


def post(body: bytes, path: str = "/v1/rank", **headers: object) -> bytes:
    return head(path, Content_Length=len(body), **headers) + body


def connect(service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), PATIENCE)


def answer(stream) -> tuple[int, bytes]:
    """The next answer on a connection; status 0 where it was closed instead."""
    first = stream.readline()
    if not first:
        return 0, b""
    length = 0
    while (line := stream.readline().lower()) not in (b"\r\n", b""):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return int(first.split()[1]), stream.read(length)


def ask(service, content: bytes) -> tuple[int, str]:
    """The answer to some bytes on a connection of their own."""
    with connect(service) as connection, connection.makefile("rb") as stream:
        connection.sendall(content)
        status, told = answer(stream)
        return status, json.loads(told)["error"] if status >= 400 and told[:1] == b"{" else ""


def assert_lives(service) -> None:
    assert ask(service, post(json.dumps(GOOD).encode()))[0] == 200


def documents(features: str, rest: str = "") -> str:
    return f'{{"documents": [{{"features": {features}{rest}}}]}}'


ROWS = json.dumps(ROW)
DEEP = 100_000
BODIES = {
    "empty": ("", 400, "truncated"),
    "null": ("null", 422, "Expected `object`"),
    "cut": (json.dumps(GOOD)[:-3], 400, "truncated"),
    "more behind": (json.dumps(GOOD) + "{}", 400, "trailing"),
    "byte order mark": ("\ufeff" + json.dumps(GOOD), 400, "not JSON"),
    "deep lists": (documents("[" * DEEP + "]" * DEEP), 422, "Expected `float | null`"),
    "deep lists at the top": ("[" * DEEP + "]" * DEEP, 422, "Expected `object`"),
    "deep unknown": (f'{{"x": {"[" * DEEP}{"]" * DEEP}}}', 422, "unknown field"),
    "NaN": (documents("[NaN]"), 400, "not JSON"),
    "Infinity": (documents("[-Infinity]"), 400, "not JSON"),
    "1e999": (documents("[1e999]"), 422, "out of range"),
    "a number of 400 digits": (documents(f"[{10**400}]"), 422, "out of range"),
    "a large number": (documents(f"[{', '.join(['1e200'] * 8)}]"), 422, "must lie between"),
    "half an id": (documents(ROWS, ', "id": 1.5'), 422, "Expected `int | str | null`"),
    "true as an id": (documents(ROWS, ', "id": true'), 422, "Expected `int | str | null`"),
    "text as a value": (documents('["1"]'), 422, "Expected `float | null`"),
    "an unknown field": (documents(ROWS, ', "label": 1'), 422, "unknown field `label`"),
    "no name": (documents('{"": 1}'), 422, "lacks 'feature_0'"),
    "missing": (documents(json.dumps([None] * 8)), 422, "missing"),
    "no documents": ('{"documents": []}', 422, "length >= 1"),
    "many documents": (
        f'{{"documents": [{", ".join(["{}"] * 200_000)}]}}',
        422,
        "missing required field",
    ),
    "too many documents": (
        f'{{"documents": [{", ".join([documents("[]")[15:-2]] * 30_000)}]}}',
        413,
        "1,000 documents. Got 30,000",
    ),
    "the name of a feature twice": (
        f'{{"documents": [{{"features": {ROWS}}}], "feature_names": {json.dumps(["a"] * 8)}}}',
        422,
        "unique",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_body_is_refused(service, name):
    body, status, message = BODIES[name]
    got, told = ask(service, post(body.encode()))
    assert (got, message in told) == (status, True), told[:500]


@pytest.mark.parametrize("place", ["id", "query", "feature", "feature_names", "field"])
def test_half_a_character_is_refused(service, place):
    half = '"\\ud800"'
    body = {
        "id": documents(ROWS, f', "id": {half}'),
        "query": documents(ROWS)[:-1] + f', "query": {half}}}',
        "feature": documents(f"{{{half}: 1}}"),
        "feature_names": documents(ROWS)[:-1] + f', "feature_names": [{half}]}}',
        "field": f"{{{half}: 1}}",
    }[place]
    for accepted in (JSON, ARROW):
        status, _ = ask(service, post(body.encode(), Accept=accepted))
        assert status in (400, 422)
    raw = body.replace("\\ud800", "\udcff").encode(errors="surrogateescape")
    assert ask(service, post(raw))[0] in (400, 422)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400])
def test_a_large_id_comes_back_as_it_was(service, number):
    body = documents(ROWS, f', "id": {number}').encode()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    status, told = service.ask("/v1/rank", body, **headers)
    assert (status, told["ranking"][0]["id"]) == (200, number)
    status, told = service.ask("/v1/rank", body, Accept=ARROW, **headers)
    assert status == 200
    column = pyarrow.ipc.open_stream(told).read_all()["id"]
    assert [int(name) for name in column.to_pylist()] == [number]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (head(Content_Length="-1"), 400),
        (head(Content_Length="many"), 400),
        (head(Content_Length=5, content_length=6) + b"hello", 400),
        (head(Content_Length=5, Transfer_Encoding="chunked") + b"0\r\n\r\n", 400),
        (head(Content_Length=10**30), 400),
        (head(Content_Length=MAX_BODY + 1), 413),
        (head(Transfer_Encoding="chunked") + b"zz\r\n", 400),
        (head(Transfer_Encoding="chunked") + b"ffffffffffffffffff\r\n", 400),
        (post(b"{}", Content_Type="text/plain"), 415),
        (post(b"{}", Content_Type=""), 415),
        (post(b"\x1f\x8b\x08\x00", Content_Encoding="gzip"), 400),
        (post(b"{}", Authorization="Bearer wrong"), 401),
        (post(b"{}", Authorization=f"Basic {TOKEN}"), 401),
        (post(b"{}", Authorization=TOKEN), 401),
        (post(b"{}", Authorization="Bearer"), 401),
        (post(b"{}", Authorization=f"Bearer {TOKEN}x"), 401),
        (post(b"{}", Authorization="Bearer é\xff"), 401),
        (head("/metrics", "GET", Authorization=""), 401),
        (head("/v1/models", "GET", Authorization="Bearer x"), 401),
        (post(b"{}", "/v1/models/none/rank"), 404),
        (post(b"{}", "/v1/models/%ff%00/rank"), 404),
        (post(b"{}", "/v1/models/..%2f..%2fetc/rank"), 404),
        (post(b"{}", f"/v1/models/{'m' * 50_000}/rank"), 404),
        (post(b"{}", "/v1/none"), 404),
        (post(b"{}", "/v1/rank?top=0"), 422),
        (post(b"{}", "/v1/rank?top=-1"), 422),
        (post(b"{}", "/v1/rank?top=%d9%a1"), 422),
        (post(b"{}", "/v1/rank?top=1e3"), 422),
        (post(b"{}", f"/v1/rank?top={'9' * 5000}"), 422),
        (post(b"{}", "/v1/rank?explain=yes"), 422),
        (post(b"{}", "/v1/rank?%ff%00=1"), 422),
        (head("/v1/rank", "GET"), 405),
        (head("/v1/rank", "PUT"), 405),
        (head("/v1/rank", "DELETE"), 405),
        (head("/v1/rank", "OPTIONS"), 405),
        (head("/v1/rank", "HEAD", Connection="close"), 405),
        (head("/healthz", "POST"), 405),
        (head("/healthz", "HEAD", Connection="close"), 200),
    ],
)
def test_a_bad_request_is_refused(service, content, status):
    assert ask(service, content)[0] == status


def test_a_websocket_is_refused(service):
    upgrade = {"Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec_WebSocket_Version": 13}
    content = head(method="GET", Upgrade="websocket", Connection="Upgrade", **upgrade)
    assert 400 <= ask(service, content)[0] < 500


def test_a_chunked_body_is_taken_up_to_the_limit(service):
    body = json.dumps(GOOD).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    assert ask(service, head(Transfer_Encoding="chunked") + chunks + b"0\r\n\r\n")[0] == 200
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connect(service) as connection, connection.makefile("rb") as stream:
        connection.sendall(head(Transfer_Encoding="chunked") + chunk * (MAX_BODY // 0x10000 + 1))
        assert answer(stream)[0] == 413


def test_bytes_behind_the_body_are_not_part_of_it(service):
    body = json.dumps(GOOD).encode()
    with connect(service) as connection, connection.makefile("rb") as stream:
        connection.sendall(post(body) + b'{"documents": []}')
        statuses = [answer(stream)[0], answer(stream)[0]]
        assert statuses in ([200, 400], [400, 0])


def test_a_body_that_ends_too_early_harms_no_one(service):
    body = json.dumps(GOOD).encode()
    for size in range(0, len(body), 7):
        with connect(service) as connection, connection.makefile("rb") as stream:
            connection.sendall(post(body)[: size - len(body)])
            connection.shutdown(socket.SHUT_WR)
            assert answer(stream)[0] in (0, 400)
    assert_lives(service)


def test_a_client_that_leaves_harms_no_one(service):
    body = json.dumps({"documents": GOOD["documents"] * 1000}).encode()
    for size in (1, len(body) // 2, len(body)):
        with connect(service) as connection:
            # Closed without a goodbye: what the service sends is refused.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(post(body)[: size + len(post(body)) - len(body)])
    assert_lives(service)


@pytest.mark.slow
def test_slow_bodies_are_given_up_and_keep_no_one_waiting(service):
    with ExitStack() as open_connections:
        slow = [open_connections.enter_context(connect(service)) for _ in range(20)]
        for connection in slow:
            connection.sendall(head(Content_Length=1000) + b"{")
        for _ in range(20):
            assert_lives(service)
        for connection in slow:
            status, told = answer(open_connections.enter_context(connection.makefile("rb")))
            assert (status, b"did not arrive within 5 s" in told) == (408, True)


@pytest.mark.slow
def test_connections_without_a_request_keep_no_one_waiting_and_are_closed(service):
    with ExitStack() as open_connections:
        idle = [open_connections.enter_context(connect(service)) for _ in range(200)]
        for number, connection in enumerate(idle):
            connection.sendall(head()[: number // 2])
        assert_lives(service)
        for connection in idle:
            assert connection.recv(1) == b""


def test_a_head_without_end_is_given_up(service):
    endless = b"POST /v1/rank?top=" + b"9" * 1_000_000, head()[:-2] + b"X-More: " + b"m" * 1_000_000
    for content in endless:
        with connect(service) as connection, suppress(ConnectionError):
            connection.sendall(content)
            assert connection.recv(1) == b""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads memory in /proc")
@pytest.mark.parametrize("token", [TOKEN, "wrong"])
@pytest.mark.parametrize(
    "more", ["trailer: \r\n", "t:" + "x" * 10_000, "1;" + "x" * 1000 + "\r\nx\r\n", "1\r\nx\r\n"]
)
def test_what_surrounds_a_body_is_not_kept_and_not_taken_without_end(service, token, more):
    """Trailers, one endless trailer, extensions of chunks, tiny chunks."""
    start = head(Transfer_Encoding="chunked", Authorization=f"Bearer {token}")
    if more.startswith("t"):
        start += b"0\r\n"
    before = service.memory()
    content = start + more.encode() * (30_000_000 // len(more))
    with connect(service) as connection, pytest.raises(ConnectionError):
        connection.sendall(content)
    assert service.memory() < before + 30


def test_a_few_trailers_are_ignored(service):
    body = json.dumps(GOOD).encode()
    content = head(Transfer_Encoding="chunked") + b"%x;a=b\r\n%b\r\n" % (len(body), body)
    with connect(service) as connection, connection.makefile("rb") as stream:
        for _ in range(2):
            connection.sendall(content + b"0\r\nDigest: x\r\nAuthorization: Bearer y\r\n\r\n")
            assert answer(stream)[0] == 200


def test_a_head_of_very_many_headers_is_refused(service):
    many = [f"x-{number}: 1" for number in range(101)]
    content = "\r\n".join(["GET /healthz HTTP/1.1", *many, "", ""]).encode()
    assert ask(service, content)[0] == 400


@pytest.mark.slow
def test_a_body_that_goes_on_after_its_answer_is_given_up(service):
    with connect(service) as connection, connection.makefile("rb") as stream:
        connection.sendall(head(Content_Length=10**6, Authorization=""))
        assert answer(stream)[0] == 401
        end = time.monotonic() + PATIENCE
        with suppress(ConnectionError):
            while time.monotonic() < end:
                connection.sendall(b"x")
                time.sleep(0.2)
    assert time.monotonic() < end


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads memory in /proc")
@pytest.mark.parametrize("path", ["/healthz", "/"])
def test_requests_whose_answers_nobody_reads_keep_no_one_waiting(service, path):
    """They stay in the client's buffers: the service reads no more than it answers."""
    content = f"GET {path} HTTP/1.1\r\n\r\n".encode() * 10_000
    before, slowest = service.memory(), 0.0
    with ExitStack() as open_connections:
        greedy = [open_connections.enter_context(connect(service)) for _ in range(8)]
        for connection in greedy:
            connection.setblocking(False)
        for _ in range(20):
            for connection in greedy:
                with suppress(BlockingIOError):
                    while connection.send(content):
                        pass
            start = time.monotonic()
            assert ask(service, head("/healthz", "GET"))[0] == 200
            slowest = max(slowest, time.monotonic() - start)
        assert service.memory() < before + 60
    # Without a limit it takes tens of seconds, and a gigabyte. A busy machine takes some, too.
    assert slowest < PATIENCE / 6


def test_requests_in_one_go_are_answered_in_their_order(service):
    bodies = [{"documents": GOOD["documents"] * n, "query": n} for n in range(1, 100)]
    with connect(service) as connection, connection.makefile("rb") as stream:
        # Their number needs more than one step of the parser.
        connection.sendall(b"".join(post(json.dumps(body).encode()) for body in bodies))
        for body in bodies:
            status, told = answer(stream)
            assert (status, json.loads(told)["query"]) == (200, body["query"])


def test_a_body_may_wait_for_a_go_ahead(service):
    body = json.dumps(GOOD).encode()
    with connect(service) as connection, connection.makefile("rb") as stream:
        connection.sendall(head(Content_Length=len(body), Expect="100-continue"))
        assert answer(stream)[0] == 100
        connection.sendall(body)
        assert answer(stream)[0] == 200


def table(**columns) -> pyarrow.Table:
    """Two documents, and columns beside or in place of their features."""
    features = {f"feature_{number}": np.ones(2) for number in range(N_FEATURES)}
    return pyarrow.table(features | columns)


def structs(*values: object) -> pyarrow.Array:
    return pyarrow.StructArray.from_arrays([pyarrow.array(values)], ["x"])


ONES = pyarrow.array([1.0, 1.0])
TABLES = {
    "nulls": (table(feature_0=pyarrow.nulls(2)), "type is null"),
    "dictionary": (table(feature_0=ONES.dictionary_encode()), "type is dictionary"),
    "structs": (table(feature_0=structs(1, 1)), "type is struct"),
    "lists": (table(feature_0=pyarrow.array([[1.0], [1.0]])), "type is list"),
    "half": (table(feature_0=np.ones(2, np.float16)), "type is halffloat"),
    "decimal": (table(feature_0=pyarrow.array([1, 1], pyarrow.decimal128(20))), "decimal"),
    "text": (table(feature_0=["1", "1"]), "type is string"),
    "view": (table(feature_0=pyarrow.array(["1", "1"], "string_view")), "type is string_view"),
    "run ends": (table(feature_0=pyarrow.RunEndEncodedArray.from_arrays([2], [1.0])), "run_end"),
    "dates": (table(feature_0=pyarrow.array([1, 1], "date32")), "type is date32"),
    "missing truth": (table(feature_0=[True, None]), "missing"),
    "missing integer": (table(feature_0=[1, None]), "missing"),
    "missing number": (table(feature_0=[1.0, None]), "missing"),
    "not a number": (table(feature_0=[1.0, np.nan]), "missing"),
    "infinite": (table(feature_0=[1.0, np.inf]), "must be finite"),
    "ids of views": (table(id=pyarrow.array(["1", "1"], "string_view")), "integers or strings"),
    "ids of bytes": (table(id=[b"1", b"2"]), "integers or strings"),
    "ids of dictionaries": (table(id=pyarrow.array(["a", "b"]).dictionary_encode()), "integers"),
    "ids missing": (table(id=["a", None]), "must not be missing"),
    "a name twice": (
        pyarrow.Table.from_arrays([ONES] * 9, ["feature_0", *table().column_names]),
        "unique",
    ),
    "no columns": (pyarrow.table({}), "no rows"),
    "ids alone": (pyarrow.table({"id": [1, 2]}), "lacks 'feature_0'"),
    "no rows": (table()[:0], "no rows"),
    "one column more": (table(more=ONES), "no feature 'more'"),
    "one column less": (table().drop_columns(["feature_3"]), "lacks 'feature_3'"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_bad_table_is_refused(service, name):
    content, message = TABLES[name]
    status, told = ask(service, post(as_stream(content), Content_Type=ARROW))
    assert (status, message in told) == (422, True), told


def test_a_stream_that_is_cut_anywhere_is_refused(service):
    body = as_stream(table(id=["a", "b"]))
    with closing(service.connect()) as connection:
        for size in range(len(body) - 8):  # without the mark of its end, a stream is still one
            headers = {"Authorization": f"Bearer {TOKEN}", "Content_Type": ARROW}
            status, told = service.ask_over(connection, "/v1/rank", body[:size], **headers)
            assert status == 400 or (status, told["error"][:21]) == (422, "The table has no rows")


def test_rows_that_are_only_declared_are_refused(service):
    body = as_stream(table())
    for n in (3, 2**31, 2**40, 2**62):
        forged = body.replace(struct.pack("<q", 2), struct.pack("<q", n))
        assert forged != body
        status, _ = ask(service, post(forged, Content_Type=ARROW))
        assert status == 400


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("version", ["V4", "V5"])
def test_compressed_buffers_of_any_version_are_refused(service, codec, version):
    options = pyarrow.ipc.IpcWriteOptions(
        compression=codec, metadata_version=pyarrow.ipc.MetadataVersion[version]
    )
    body = as_stream(table(), options=options)
    assert ask(service, post(body, Content_Type=ARROW))[0] == 415


def test_buffers_compressed_as_in_old_streams_are_refused(service):
    content = table()
    sink = pyarrow.BufferOutputStream()
    old = pyarrow.ipc.IpcWriteOptions(metadata_version=pyarrow.ipc.MetadataVersion.V4)
    with pyarrow.ipc.new_stream(sink, content.schema, options=old) as stream:
        compressed = {"ARROW:experimental_compression": "zstd"}
        stream.write_batch(content.to_batches()[0], custom_metadata=compressed)
    assert ask(service, post(bytes(sink.getvalue()), Content_Type=ARROW))[0] == 415


def test_a_name_that_is_no_text_is_refused(service):
    body = as_stream(table()).replace(b"feature_3", b"feature\xff3")
    assert ask(service, post(body, Content_Type=ARROW))[0] == 400


def test_noise_is_refused(service):
    draws = random.Random(0)
    for size in (1, 4, 8, 12, 100, 10_000):
        noise = draws.randbytes(size)
        assert ask(service, post(noise))[0] in (400, 422)
        assert ask(service, post(noise, Content_Type=ARROW))[0] == 400
