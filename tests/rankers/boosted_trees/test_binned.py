import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, make_queries
from localrank.data import _sources as sources
from localrank.rankers import LambdaMART, QueryCoordinates, RankSVM
from localrank.rankers.boosted_trees import _binned as module
from localrank.rankers.boosted_trees._binned import binned
from localrank.recipes import best

# LightGBM draws a sample if there are more rows than this.
SAMPLE = 200_000


def test_trees_are_those_of_the_whole_array():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(SAMPLE + 20_000, 4)).astype(np.float32)
    features[:, 1] *= generator.random(len(features)) < 0.1
    features[:, 2] = np.where(features[:, 2] > 1, np.nan, features[:, 2])
    labels = np.nan_to_num(features).sum(axis=1)
    dataset = RankingDataset.from_arrays(features, qid=np.arange(len(features)) // 50)
    parameters = {"seed": 3, "objective": "regression", "verbosity": -1, "num_threads": 1}
    expected = lightgbm.train(parameters, lightgbm.Dataset(features, labels), 3)
    booster = lightgbm.train(parameters, binned(dataset, parameters).set_label(labels), 3)
    assert booster.model_to_string() == expected.model_to_string()


@pytest.mark.parametrize("ranker", [LambdaMART(9), RankSVM(), best(9, min_leaf_documents=5)])
def test_models_do_not_depend_on_the_size_of_blocks(ranker, monkeypatch):
    dataset, _ = make_queries(60, n_features=5, random_state=0)
    train, valid = dataset.select(range(45)), dataset.select(range(45, 60))
    ranker = QueryCoordinates(ranker)
    scores = ranker.fit(train, valid=valid).predict(dataset)
    monkeypatch.setattr("localrank.data._sources.SMALL_BYTES", 0)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 2000)
    assert_array_equal(ranker.fit(train, valid=valid).predict(dataset), scores)


def test_bins_of_very_many_documents_are_chosen_by_a_sample_that_takes_little_room(monkeypatch):
    dataset, _ = make_queries(60, n_documents=(10, 10), n_features=5, random_state=0)
    sizes = []
    sample = module._sample
    monkeypatch.setattr(
        module, "_sample", lambda data, rows: sizes.append(len(rows)) or sample(data, rows)
    )
    model = LambdaMART(9, min_leaf_documents=5)
    scores = model.fit(dataset).predict(dataset)
    monkeypatch.setattr(module, "MANY", 599)
    monkeypatch.setattr(module, "LEAST", 20)
    for n_bytes in (2**28, 8 * 5 * 100, 0):
        monkeypatch.setattr(module, "SAMPLE_BYTES", n_bytes)
        assert model.fit(dataset).score(dataset) > 0.7
        if n_bytes == 2**28:
            assert_array_equal(model.predict(dataset), scores)
    assert sizes == [600, 600, 100, 20]
