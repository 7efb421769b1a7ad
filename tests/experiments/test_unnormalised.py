import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import Fold, RankingDataset, folds, make_queries
from localrank.experiments import Reproduction, Setting
from localrank.experiments.where_coordinates_pay import (
    AS_THEY_ARE,
    MULTIPLIED,
    NORMALISED,
    multiplied,
    normalised,
    unnormalised,
    with_form,
)
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates


@pytest.fixture(scope="module")
def dataset():
    return make_queries(45, n_documents=(20, 30), n_features=5, random_state=7)[0]


@pytest.fixture(scope="module")
def fold(dataset):
    first = folds(dataset, 3)[0]
    return Fold(first.name, first.train, None, first.test)


def test_factors_leave_deviations_and_percentiles_unchanged(dataset, rng):
    before, after = (query_coordinates(d, "zp") for d in (dataset, multiplied(dataset, rng)))
    width = dataset.n_features
    assert_allclose(after.features[:, width:], before.features[:, width:], atol=1e-9)
    assert not np.allclose(after.features[:, :width], before.features[:, :width])


def test_factors_are_log_uniform_and_one_for_each_query_and_feature():
    ones = RankingDataset.from_arrays(np.ones((3000, 2)), qid=np.repeat(np.arange(1000), 3))
    features = multiplied(ones, np.random.default_rng(0)).features
    by_query = features.reshape(1000, 3, 2)
    assert (by_query == by_query[:, :1]).all()
    powers = np.sort(np.log10(by_query[:, 0]).ravel())
    assert_allclose(powers, np.linspace(-1, 1, 2000), atol=0.06)
    assert not np.allclose(by_query[:, 0, 0], by_query[:, 0, 1])


def test_normalised_features_run_from_0_to_1_in_each_query(dataset):
    features = normalised(dataset).features
    begins = dataset.offsets[:-1]
    assert_allclose(np.minimum.reduceat(features, begins), 0)
    assert_allclose(np.maximum.reduceat(features, begins), 1)
    one = dataset.features[:5, 0]
    assert (np.argsort(features[:5, 0]) == np.argsort(one)).all()


def test_a_constant_feature_is_0_when_normalised():
    dataset = RankingDataset.from_arrays([[5.0, 1.0], [5.0, 3.0]], qid=[1, 1])
    assert (normalised(dataset).features == [[0, 0], [0, 1]]).all()


def test_normalisation_undoes_the_factors(fold):
    plain, crude = (with_form(fold, form, 3) for form in (NORMALISED, MULTIPLIED))
    for part in ("train", "test"):
        back = normalised(getattr(crude, part)).features
        assert_allclose(back, getattr(plain, part).features, atol=1e-9)


def test_training_and_test_queries_are_changed_alike_and_by_the_seed(fold):
    same = with_form(fold, AS_THEY_ARE, 3)
    assert same.train is fold.train
    assert same.test is fold.test
    one, again, other = (with_form(fold, MULTIPLIED, seed) for seed in (3, 3, 4))
    for part in ("train", "test"):
        features = [getattr(each, part).features for each in (fold, one, again, other)]
        assert not np.allclose(features[0], features[1])
        assert (features[1] == features[2]).all()
        assert not np.allclose(features[1], features[3])


@pytest.mark.slow
def test_every_form_and_pair_has_a_row(dataset, tmp_path):
    reproduction = Reproduction("where-coordinates-pay", "MQ2008, MSLR-sample")
    sources = {name: lambda seed: folds(dataset, 3) for name in ("MQ2008", "MSLR-sample")}
    unnormalised(
        reproduction, Setting(tmp_path, True, (0,), n_jobs=1, say=lambda line: None), sources
    )
    gains, means = reproduction.tables
    rows = {(row[0], row[1], row[2]): row[3] for row in gains.rows}
    for form in (AS_THEY_ARE, MULTIPLIED):
        assert ("MQ2008", "best − 6 mixed", form) in rows
    for form in (AS_THEY_ARE, NORMALISED):
        assert ("MSLR-sample", "LambdaMART, in coordinates − LambdaMART", form) in rows
    assert len(means.rows) == 4
    assert f"the {2 * len(rows)} comparisons" in gains.note

    def mean(name, form, column):
        (row,) = (row for row in means.rows if row[:2] == [name, form])
        return float(row[list(means.columns).index(column)].split(" / ")[0])

    part = float(rows["MQ2008", "LambdaMART: normalised − multiplied", ""].split()[0])
    expected = mean("MQ2008", AS_THEY_ARE, "LambdaMART") - mean("MQ2008", MULTIPLIED, "LambdaMART")
    assert part == pytest.approx(expected, abs=2e-4)
    rest = float(rows["MQ2008", "best, multiplied − 6 mixed, normalised", ""].split()[0])
    expected = mean("MQ2008", MULTIPLIED, "best") - mean("MQ2008", AS_THEY_ARE, "6 mixed")
    assert rest == pytest.approx(expected, abs=2e-4)
