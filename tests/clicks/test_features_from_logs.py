"""Logs of clicks joined with the feature logs of search engines, by the ids of both."""

import json

import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import logged
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks import relevance_dataset
from localrank.data import read, read_click_log

LISTS = {
    "green tea": {"sencha": {"bm25": 2.5, "price": 4.0}, "mug": {"bm25": 0.5, "price": 9.0}},
    "mug": {"mug": {"bm25": 3.0, "price": 9.0}},
}
SESSIONS = [
    {"query": "green tea", "documents": ["sencha", "mug"], "clicks": [0]},
    {"query": "green tea", "documents": ["mug", "sencha"], "clicks": [1]},
    {"query": "mug", "documents": ["mug"], "clicks": []},
]


@pytest.mark.parametrize(
    ("make", "prefix"),
    [(samples.elasticsearch, ""), (samples.solr, ""), (samples.vespa, "id:tmdb:movie::")],
)
def test_the_features_of_a_search_engine_meet_its_clicks(tmp_path, make, prefix):
    logged(tmp_path / "features.jsonl", make, LISTS)
    sessions = [
        one | {"documents": [f"{prefix}{document}" for document in one["documents"]]}
        for one in SESSIONS
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, sessions)))
    features = read(tmp_path / "features.jsonl", labels="optional")
    data = relevance_dataset(read_click_log(tmp_path / "log.jsonl"), features, None)
    rows = {
        (str(data.query_ids[query]), str(document).removeprefix(prefix)): row
        for row, (query, document) in enumerate(
            zip(data.query_index, data.document_ids, strict=True)
        )
    }
    assert rows.keys() == {("green tea", "sencha"), ("green tea", "mug"), ("mug", "mug")}
    assert_array_equal(data.features[rows["green tea", "sencha"]], [2.5, 4])
    labels = data.relevance
    assert labels[rows["green tea", "sencha"]] > labels[rows["green tea", "mug"]]
    assert np.isfinite(labels).all()
    assert_allclose(data.features[rows["mug", "mug"]], [3, 9])
