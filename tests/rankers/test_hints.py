"""What is said to people who know another library."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_validate

from localrank.measures import parse_measure
from localrank.rankers import GBRT, LambdaMART, McRank, RankBoost, RankSVM
from localrank.recipes import best, local_rank
from localrank.registry import make_ranker


@pytest.mark.parametrize(
    ("argument", "ours"),
    [
        ("group", "Write qid=: a query id for each row"),
        ("group_id", "Write qid="),
        ("eval_set", "Write valid=(X, y, qid)"),
        ("eval_group", "Write valid="),
        ("early_stopping_rounds", "Write patience= in the constructor, and valid= in fit"),
        ("eval_metric", "Write measure= in the constructor"),
        ("init_model", "Set warm_start=True"),
        ("qids", "Did you mean 'qid'?"),
    ],
)
def test_an_argument_of_another_library_names_ours(argument, ours, queries):
    with pytest.raises(TypeError) as caught:
        RankSVM().fit(queries, **{argument: [1]})
    assert f"fit has no parameter {argument!r}. {ours}" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "given", "ours"),
    [
        (LambdaMART, "n_estimators", "n_trees"),
        (LambdaMART, "num_leaves", "n_leaves"),
        (LambdaMART, "monotone_constraints", "monotone"),
        (GBRT, "max_depth", "n_leaves"),
        (GBRT, "early_stopping_rounds", "patience"),
        (McRank, "colsample_bytree", "feature_fraction"),
        (RankBoost, "n_estimators", "n_rounds"),
        (best, "iterations", "n_trees"),
        (local_rank, "n_cluster", "n_clusters"),
    ],
)
def test_a_parameter_of_another_library_names_ours(make, given, ours):
    with pytest.raises(TypeError, match=rf"has no parameter '{given}'. Did you mean '{ours}'\?"):
        make(**{given: 5})


def test_the_command_line_says_the_same():
    with pytest.raises(ValueError, match=r"'n_estimators'. Did you mean 'n_trees'\?"):
        make_ranker("lambdamart", ["n_estimators=5"], None, 0)


def test_signatures_stay_what_they_are():
    assert list(inspect.signature(GBRT).parameters)[:2] == ["n_trees", "learning_rate"]
    assert "combine" in inspect.signature(best).parameters
    assert "valid" in inspect.signature(GBRT.fit).parameters


def test_routing_still_passes_query_ids(queries):
    qid = queries.query_ids[queries.query_index]
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            RankSVM(), queries.features, queries.labels, params={"qid": qid}, cv=2
        )
    assert np.isfinite(scores["test_score"]).all()


def test_another_measure_is_not_taken_for_one_of_a_like_name():
    with pytest.raises(ValueError, match=r"no measure 'accuracy'. There are: bpref, err, f1"):
        parse_measure("accuracy@10")


@pytest.mark.parametrize("kind", [LambdaMART, GBRT, McRank])
def test_features_that_never_differ_are_said(kind, queries):
    constant = queries.replaced(features=np.ones_like(queries.features))
    with pytest.warns(UserWarning, match="In every training query, all documents have the same"):
        kind(3).fit(constant)
    with pytest.warns(UserWarning, match="try a min_leaf_documents smaller than 5000"):
        kind(3, min_leaf_documents=5000).fit(queries)
