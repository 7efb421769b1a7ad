"""Models trained on partitions are those trained in memory."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written

from localrank import rankers, recipes
from localrank.declaration import declared
from localrank.parts import make_sample

RANKERS = {
    part.__name__: part for package in (rankers, recipes) for part in declared(package).values()
}


@pytest.fixture(scope="module", params=[(3, 0), (7, 1)], ids=["3 parts", "7 parts"])
def partitioned(request, queries, tmp_path_factory):
    n_parts, seed = request.param
    return written(queries, tmp_path_factory.mktemp("parts"), n_parts, seed)


@pytest.fixture(scope="module")
def holed(queries):
    features = queries.features.copy()
    rng = np.random.default_rng(3)
    features[:, :3][rng.random((len(features), 3)) < 0.2] = np.nan
    features[queries.offsets[4] : queries.offsets[6], 1] = np.nan
    return queries.with_features(features)


@pytest.mark.parametrize("name", RANKERS)
def test_a_model_on_partitions_is_the_one_in_memory_to_the_last_bit(name, queries, partitioned):
    make = RANKERS[name]
    in_memory = make_sample(make).fit(queries)
    on_partitions = make_sample(make).fit(partitioned)
    assert_array_equal(on_partitions.predict(queries), in_memory.predict(queries))
    assert on_partitions.training_data_ == in_memory.training_data_
