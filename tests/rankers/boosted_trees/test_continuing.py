import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from localrank import load
from localrank.data import make_queries
from localrank.data._content_order import content_order
from localrank.measures import parse_measure
from localrank.measures.base import mean_of_queries
from localrank.rankers import GBRT, CrossEntropyMART, LambdaMART
from localrank.rankers.boosted_trees._binned import keep_as_made
from localrank.rankers.boosted_trees._boosted_trees import as_objective
from localrank.rankers.boosted_trees._lambdas import lambda_gradient

KINDS = [LambdaMART, CrossEntropyMART, GBRT]


@pytest.fixture(scope="module")
def split():
    dataset, _ = make_queries(160, random_state=3)
    return dataset.select(np.arange(100)), dataset.select(np.arange(100, 160))


@pytest.mark.parametrize("kind", [LambdaMART, GBRT])
def test_two_halves_are_the_whole(kind, split):
    train, test = split
    ranker = kind(20, feature_fraction=1.0).fit(train)
    first = ranker.predict(test)
    ranker.set_params(n_trees=40, warm_start=True).fit(train)
    assert ranker.n_trees_ == ranker.trees_.n_trees == 40
    assert_array_equal(
        ranker.predict(test), kind(40, feature_fraction=1.0).fit(train).predict(test)
    )
    assert (ranker.predict(test) != first).any()


@pytest.mark.parametrize(
    ("kind", "objective"),
    [
        (LambdaMART, {}),
        (CrossEntropyMART, {"objective": "rank_xendcg", "min_sum_hessian_in_leaf": 1e-3}),
        (GBRT, {"objective": "regression"}),
    ],
)
def test_new_trees_on_other_queries_are_those_of_lightgbms_init_model(kind, objective, split):
    train, more = split
    ranker = kind(15).fit(train)
    parameters = {
        "min_sum_hessian_in_leaf": 0.0,
        **objective,
        "learning_rate": ranker.learning_rate,
        "num_leaves": ranker.n_leaves,
        "min_data_in_leaf": ranker.min_leaf_documents,
        "feature_fraction": ranker.feature_fraction,
        "lambda_l2": ranker.l2,
        "seed": (seed := np.random.RandomState(0).randint(2**31 - 1)),
        "num_threads": 1,
        "verbosity": -1,
    }
    rows, order = content_order(more, seed)
    if kind is LambdaMART:
        gains, sizes = 2.0 ** more.labels[rows] - 1, more.query_sizes[order]
        parameters["objective"] = as_objective(lambda_gradient(gains, sizes, None, 30, 1))
    booster = lightgbm.train(
        parameters,
        lightgbm.Dataset(
            more.features[rows],
            more.relevance[rows],
            group=more.query_sizes[order],
            free_raw_data=False,
        ),
        15,
        init_model=ranker.booster,
        callbacks=[keep_as_made],
    )
    ranker.set_params(n_trees=30, warm_start=True).fit(more)
    assert_array_equal(ranker.predict(more), more.in_input_order(booster.predict(more.features)))


@pytest.mark.parametrize("kind", KINDS)
def test_early_stopping_counts_on(kind, split):
    train, valid = split
    ranker = kind(10).fit(train)
    assert not hasattr(ranker, "curve_")
    ranker.set_params(n_trees=60, warm_start=True, patience=10).fit(train, valid=valid)
    rounds, values = ranker.curve_.T
    assert rounds[0] == 11
    assert ranker.n_trees_ == ranker.trees_.n_trees == rounds[values.argmax()]
    measure = parse_measure("ndcg@10")
    reached = mean_of_queries(measure.of_rows(valid, ranker.predict_rows(valid)))
    assert reached == pytest.approx(values.max(), abs=1e-12)


def test_without_warm_start_a_fit_begins_anew(split):
    ranker = GBRT(10).fit(split[0])
    trees = ranker.trees_
    assert ranker.fit(split[0]).n_trees_ == 10
    assert_array_equal(ranker.trees_.leaf_values, trees.leaf_values)


def test_a_loaded_model_goes_on(split, tmp_path):
    train, test = split
    LambdaMART(10, warm_start=True).fit(train).save(tmp_path / "model.localrank")
    ranker = load(tmp_path / "model.localrank").set_params(n_trees=20).fit(train)
    whole = LambdaMART(10, warm_start=True).fit(train).set_params(n_trees=20).fit(train)
    assert_array_equal(ranker.predict(test), whole.predict(test))


@pytest.mark.parametrize("n_trees", [5, 10])
def test_no_tree_to_add_is_an_error(n_trees, split):
    ranker = GBRT(10, warm_start=True).fit(split[0]).set_params(n_trees=n_trees)
    with pytest.raises(ValueError, match="'n_trees' parameter of GBRT must be larger than 10, the"):
        ranker.fit(split[0])


def test_other_features_are_refused(split):
    train, _ = split
    frame = pd.DataFrame(train.features, columns=train.feature_names)
    arguments = {"y": train.relevance, "qid": train.query_ids[train.query_index]}
    ranker = GBRT(5, warm_start=True).fit(frame, **arguments).set_params(n_trees=10)
    with pytest.raises(ValueError, match="with a new 'other'"):
        ranker.fit(frame.rename(columns={"f1": "other"}), **arguments)
    with pytest.raises(ValueError, match="was fitted on"):
        ranker.fit(frame.to_numpy()[:, 1:], **arguments)


def test_earlier_trees_must_keep_the_constraints(split):
    train, _ = split
    ranker = GBRT(10, warm_start=True).fit(train)
    rises = dict.fromkeys(train.feature_names, 1)
    ranker.set_params(n_trees=20, monotone=rises)
    with pytest.raises(ValueError, match="one that the earlier trees keep"):
        ranker.fit(train)
    kept = GBRT(10, monotone=rises, warm_start=True).fit(train).set_params(n_trees=20).fit(train)
    assert kept.n_trees_ == 20
