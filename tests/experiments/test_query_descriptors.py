from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import folds, make_queries
from localrank.experiments import Reproduction, Setting
from localrank.experiments._query_descriptors import (
    FRACTIONS,
    RIVALS,
    QueryDescriptors,
    control_label,
    controls,
    described,
    described_by_others,
    descriptors,
    query_descriptors,
)
from localrank.rankers import LambdaMART, QueryCoordinates, RankSVM


@pytest.fixture(scope="module")
def dataset():
    return make_queries(45, n_documents=(20, 30), n_features=5, random_state=6)[0]


def test_descriptors_are_those_of_a_naive_computation(dataset):
    described_queries = descriptors(dataset)
    for query, described_query in enumerate(described_queries):
        begin, end = dataset.offsets[query : query + 2]
        X = dataset.features[begin:end]
        values, vectors = np.linalg.eigh(np.cov(X.T))
        first = vectors[:, values.argmax()]
        first *= np.sign(first[np.abs(first).argmax()])
        expected = [*X.mean(axis=0), *X.std(axis=0), *first, len(X)]
        assert_allclose(described_query, expected, atol=1e-9)


def test_missing_values_do_not_change_means_and_deviations_of_the_known_ones(dataset):
    features = dataset.features.copy()
    # The third feature of the first query is unknown; others miss a value here and there.
    features[dataset.offsets[:-1] + 1, 0] = np.nan
    features[: dataset.offsets[1], 2] = np.nan
    means, deviations, axes = np.split(descriptors(dataset.with_features(features))[:, :-1], 3, 1)
    for query, (begin, end) in enumerate(pairwise(dataset.offsets)):
        known = [column[~np.isnan(column)] for column in features[begin:end].T]
        assert_allclose(means[query], [values.mean() if len(values) else 0 for values in known])
        assert_allclose(deviations[query], [values.std() if len(values) else 0 for values in known])
        filled = np.where(np.isnan(features[begin:end]), means[query], features[begin:end])
        variances, directions = np.linalg.eigh(np.cov(filled.T))
        first = directions[:, variances.argmax()]
        assert_allclose(axes[query], first * np.sign(first[np.abs(first).argmax()]), atol=1e-9)


def test_every_document_has_its_features_and_what_describes_its_query(dataset):
    ranker = QueryDescriptors(RankSVM())
    expanded = ranker.expanded(dataset)
    width = dataset.n_features
    assert expanded.n_features == ranker.n_expanded(width) == 4 * width + 1
    assert (expanded.features[:, :width] == dataset.features).all()
    assert_allclose(expanded.features[:, width:], descriptors(dataset)[dataset.query_index])


def test_there_are_about_as_many_columns_as_with_coordinates():
    ours, theirs = (kind(RankSVM()).n_expanded(46) for kind in (QueryDescriptors, QueryCoordinates))
    assert (ours, theirs) == (185, 193)


def test_importances_go_back_to_the_features_that_columns_are_made_of():
    values = np.arange(9.0)
    folded = QueryDescriptors(RankSVM()).folded(values, 2)
    assert_allclose(folded, [0 + 2 + 4 + 6, 1 + 3 + 5 + 7, 8])


def test_trees_use_descriptors_and_a_linear_model_cannot(dataset):
    trees = QueryDescriptors(LambdaMART(30, min_leaf_documents=5)).fit(dataset)
    assert trees.ranker_.feature_importances_[dataset.n_features :].any()
    plain, described = (r.fit(dataset) for r in (RankSVM(), QueryDescriptors(RankSVM())))
    assert_allclose(described.ranker_.coef_[dataset.n_features :], 0, atol=1e-9)
    assert_allclose(described.ranker_.coef_[: dataset.n_features], plain.coef_, atol=1e-6)


def test_controls_have_the_seeds_and_sizes_of_the_models_they_stand_for():
    rankers = controls(1000, 40)
    for fraction in FRACTIONS:
        trees = rankers[described("LambdaMART", fraction)].ranker
        assert (trees.random_state, trees.n_trees, trees.feature_fraction) == (1000, 40, fraction)


def test_descriptors_of_others_are_those_of_the_same_part_in_another_order(dataset):
    fold = folds(dataset, 3)[0]
    other, same, third = (described_by_others(fold, seed) for seed in (4, 4, 5))
    width = dataset.n_features
    for part in ("train", "test"):
        before, after = getattr(fold, part), getattr(other, part)
        assert (after.features[:, :width] == before.features).all()
        assert (after.labels == before.labels).all()
        firsts = after.features[after.offsets[:-1], width:]
        assert (firsts[after.query_index] == after.features[:, width:]).all()
        known = descriptors(before)
        assert set(map(tuple, firsts)) == set(map(tuple, known))
        assert (firsts == known).all(axis=1).mean() < 0.5
        assert (after.features == getattr(same, part).features).all()
        assert not np.array_equal(after.features, getattr(third, part).features)


@pytest.fixture(scope="module")
def reproduction(dataset, tmp_path_factory):
    result = Reproduction("where-coordinates-pay", "MQ2008, OHSUMED")
    sources = {name: lambda seed: folds(dataset, 3) for name in ("MQ2008", "OHSUMED")}
    folder = tmp_path_factory.mktemp("descriptors")
    query_descriptors(result, Setting(folder, True, (0,), n_jobs=1, say=lambda line: None), sources)
    return result


def test_coordinates_are_compared_with_both_shares_of_columns(reproduction):
    gains, means = reproduction.tables
    cells = {row[0]: float(row[1].split(" / ")[0]) for row in means.rows}
    for rival, (ours, plain) in RIVALS.items():
        rows = [row for row in gains.rows if row[0] == rival and row[2] == "ndcg@10"]
        by_name = {row[1]: float(row[3].split()[0]) for row in rows}
        for fraction in FRACTIONS:
            control = cells[described(rival, fraction)]
            label = control_label(fraction)
            gap = by_name[f"coordinates − {label}"]
            assert gap == pytest.approx(cells[ours] - control, abs=2e-4)
            assert by_name[f"{label} − features"] == pytest.approx(control - cells[plain], abs=2e-4)


def test_the_number_of_comparisons_stands_in_the_note(reproduction):
    gains, _ = reproduction.tables
    n_comparisons = 3 * len(gains.rows)
    assert n_comparisons == 3 * len(RIVALS) * 6 * 2
    assert f"the {n_comparisons} comparisons" in gains.note
