import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import localrank
from localrank.data import RankingDataset, make_queries
from localrank.rankers import GBRT, Distilled, Ensemble, LambdaMART, QueryCoordinates, RankSVM
from localrank.rankers import distil as make_student


@pytest.fixture(scope="module")
def queries():
    dataset, _ = make_queries(90, n_features=6, random_state=2)
    return dataset


@pytest.fixture(scope="module")
def parts(queries):
    return queries.select(range(60)), queries.select(range(60, 90))


def student(**parameters):
    return GBRT(30, n_leaves=5, min_leaf_documents=5, **parameters)


def test_the_student_learns_the_teachers_scores_and_no_labels(parts):
    train, test = parts
    scores = RankSVM().fit(train).predict(train)
    by_hand = student().fit(train.replaced(relevance=train.in_query_order(scores)))
    distilled = Distilled(RankSVM(), student()).fit(train)
    assert_array_equal(distilled.predict(test), by_hand.predict(test))


def test_the_student_comes_near_the_teacher(parts):
    train, test = parts
    teacher = Ensemble([LambdaMART(20, random_state=seed) for seed in range(3)]).fit(train)
    distilled = make_student(teacher, train)
    far = np.corrcoef(teacher.predict(test), np.random.default_rng(0).random(test.n_documents))
    near = np.corrcoef(teacher.predict(test), distilled.predict(test))
    assert near[0, 1] > 0.9 > abs(far[0, 1])


def test_the_default_student_is_trees_in_coordinates(parts):
    train, _ = parts
    distilled = Distilled(RankSVM()).fit(train)
    assert isinstance(distilled.student_, QueryCoordinates)
    trees = distilled.student_.ranker_
    assert (trees.n_trees_, trees.n_leaves, trees.feature_fraction) == (600, 31, 0.18)


def test_distilling_a_fitted_ranker_equals_training_both(parts):
    train, test = parts
    teacher = RankSVM(C=0.1)
    both = Distilled(teacher, student()).fit(train)
    later = make_student(teacher.fit(train), train, student=student())
    assert_array_equal(later.predict(test), both.predict(test))


def test_labels_of_the_lists_are_not_looked_at(parts, rng):
    train, test = parts
    teacher = RankSVM().fit(train)
    wrong = train.replaced(relevance=rng.random(train.n_documents))
    without = train.replaced(relevance=None)
    expected = make_student(teacher, train, student=student()).predict(test)
    for lists in (wrong, without):
        assert_array_equal(make_student(teacher, lists, student=student()).predict(test), expected)


def test_unlabelled_lists_teach_too(parts):
    train, test = parts
    teacher = RankSVM().fit(train)
    # The queries may be in both.
    both = make_student(teacher, train.select(range(30)), unlabelled=train, student=student())
    few = make_student(teacher, train.select(range(30)), student=student())
    errors = [np.abs(m.predict(test) - teacher.predict(test)).mean() for m in (few, both)]
    assert errors[1] < errors[0]


def test_a_teacher_that_is_not_trained_is_refused(parts):
    with pytest.raises(NotFittedError):
        make_student(RankSVM(), parts[0])


def test_lists_of_other_features_are_refused(parts):
    train, _ = parts
    teacher = RankSVM().fit(train)
    other, _ = make_queries(5, n_features=7)
    with pytest.raises(ValueError, match="features"):
        make_student(teacher, other)


def test_lists_in_which_the_teacher_tells_nothing_apart_are_refused(parts):
    train, _ = parts
    teacher = RankSVM().fit(train)
    first = train.offsets[:-1]
    alone = RankingDataset.from_arrays(
        train.features[first], qid=train.query_ids, feature_names=train.feature_names
    )
    with pytest.raises(ValueError, match="in no list does the teacher score two documents"):
        make_student(teacher, alone)


def test_one_model_is_kept_and_saved(parts, tmp_path):
    train, test = parts
    teacher = Ensemble([LambdaMART(20, random_state=seed) for seed in range(6)])
    distilled = Distilled(teacher).fit(train)
    assert distilled.n_models_ == 1
    distilled.save(tmp_path / "one.localrank")
    loaded = localrank.load(tmp_path / "one.localrank")
    assert_array_equal(loaded.predict(test), distilled.predict(test))
    assert "rankers_" not in vars(loaded.ranker)


def test_contributions_and_importances_are_the_students(parts):
    train, test = parts
    distilled = Distilled(RankSVM(), student()).fit(train)
    assert_array_equal(
        distilled.contributions(test).values, distilled.student_.contributions(test).values
    )
    assert_allclose(distilled.feature_importances_, distilled.student_.feature_importances_)


def test_weights_reach_teacher_and_student(parts):
    train, test = parts
    weights = np.ones(train.n_queries)
    weights[:20] = 0
    rest = train.select(range(20, 60))
    weighted = Distilled(RankSVM(), student()).fit(train, query_weight=weights)
    alone = Distilled(RankSVM(), student()).fit(rest)
    assert np.corrcoef(weighted.predict(test), alone.predict(test))[0, 1] > 0.99
