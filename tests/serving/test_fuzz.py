"""Requests made up from the service's description of itself, and damaged Arrow streams.

Some two hundred of each on every run; `LOCALRANK_FUZZ=10000` in the environment makes that many.
"""

import os
import random
from contextlib import closing

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from serving.process import PATIENCE, running
from serving.service import ARROW, as_stream

from localrank.data import RankingDataset
from localrank.rankers import RankSVM

pytestmark = pytest.mark.slow

schemathesis = pytest.importorskip("schemathesis")
from schemathesis import checks  # noqa: E402

COUNT = int(os.environ.get("LOCALRANK_FUZZ", "200"))
FEATURE = "a"


@pytest.fixture(scope="module")
def service(queries, tmp_path_factory):
    """A model of one feature, so that many made-up documents fit it."""
    folder = tmp_path_factory.mktemp("fuzzed")
    single = RankingDataset.from_arrays(
        queries.features[:, :1], queries.labels, queries.query_index, feature_names=[FEATURE]
    )
    RankSVM().fit(single).save(folder / "m.localrank")
    limits = ["--timeout", PATIENCE, "--max-documents", 50, "--max-lists", 5]
    with running(folder, folder / "m.localrank", *limits) as service:
        yield service
        assert service.process.poll() is None, service.log
        assert "ERROR" not in service.log


@st.composite
def streams(draw) -> bytes:
    """Arrow tables, most of them damaged."""
    draws = random.Random(draw(st.integers(0, 2**32)))
    columns = {FEATURE: np.linspace(0, 1, draws.randrange(5))}
    for name in draws.sample(["id", "qid", "b"], draws.randrange(3)):
        columns[name] = np.arange(len(columns[FEATURE]))
    body = bytearray(as_stream(pyarrow.table(columns)))
    for _ in range(draws.choice([0, 1, 1, 2, 20])):
        body[draws.randrange(len(body))] = draws.randrange(256)
    return bytes(body[: draws.choice([len(body), draws.randrange(len(body))])])


def put_in(body, features) -> None:
    """Give every document the same features, since made-up ones seldom fit the model."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key == "features":
                body[key] = features
            else:
                put_in(value, features)
    elif isinstance(body, list):
        for value in body:
            put_in(value, features)


schemathesis.openapi.media_type(ARROW, streams())


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_made_up_requests_get_what_the_description_promises(service, mode):
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{service.port}/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    ranking = [one for one in operations if one.method == "post"]

    @seed(0)
    @settings(
        max_examples=COUNT // 2,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.one_of(*(one.as_strategy(generation_mode=mode) for one in ranking)),
        st.sampled_from([None, [0.5], [None], [-1e300], {FEATURE: 2}]),
    )
    def ask(case, features) -> None:
        if features is not None:
            put_in(case.body, features)
        answer = case.call(timeout=PATIENCE)
        case.validate_response(
            answer,
            checks=[
                checks.not_a_server_error,
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_schema_conformance,
            ],
        )

    ask()


@pytest.mark.parametrize("path", ["/v1/rank", "/v1/batch"])
def test_a_stream_with_flipped_bits_is_refused_or_ranked(service, path):
    batch = path.endswith("batch")
    columns = {FEATURE: np.linspace(0, 1, 6), "id": ["x", "y", "z", "é", "", "文"]}
    if batch:
        columns["qid"] = [1, 1, 2, 2, 2, 3]
    whole = as_stream(pyarrow.table(columns))
    draws = random.Random(0)
    with closing(service.connect()) as connection:
        for _ in range(COUNT):
            body = bytearray(whole)
            for _ in range(draws.choice([1, 1, 1, 2, 8])):
                body[draws.randrange(len(body))] ^= 1 << draws.randrange(8)
            headers = {"Content_Type": ARROW, "Accept": "application/json"}
            status, answer = service.ask_over(connection, path, bytes(body), **headers)
            assert status in (200, 400, 413, 415, 422), (status, answer, bytes(body))
            if status == 200:
                for one in answer["lists"] if batch else [answer]:
                    assert len(one["ranking"]) == one["n_documents"] <= 6
                    assert {place["index"] for place in one["ranking"]} == set(
                        range(one["n_documents"])
                    )
