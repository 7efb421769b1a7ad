import sys

import pytest

from localrank.evaluation._opponents import entries, equal_cost_opponents
from localrank.evaluation.fold_results import described
from localrank.rankers import GBRT, LambdaMART, Quadratic, RankSVM
from localrank.recipes import (
    adaptive_training,
    best,
    fast,
    global_ensemble,
    global_mixed,
    global_one,
    local_rank,
    one,
)
from localrank.registry import METHODS


def opponents(methods, n_models, baseline="lambdamart", settings=(), **options):
    return equal_cost_opponents(entries(methods, baseline, settings), n_models, **options)


def roles(taking_part):
    return {name: entry.role for name, entry in taking_part.items()}


def test_best_feature_baseline_and_a_second_seed_take_part_unasked():
    assert roles(entries("local-rank", "lambdamart")) == {
        "best-feature": "best feature",
        "lambdamart": "baseline",
        "local-rank": "method",
        "lambdamart reseeded": "reseeded",
    }
    assert list(entries(["rank-svm"], "rank-svm")) == ["best-feature", "rank-svm"]
    assert roles(entries("rank-svm", "best-feature"))["best-feature"] == "baseline"


def test_names_may_be_a_list_or_a_text_in_any_case():
    text, listed = (
        entries(" Rank-SVM, local-rank,", "GBRT"),
        entries(["rank-svm", "local-rank"], "gbrt"),
    )
    assert list(text) == list(listed) == [*roles(text)]
    assert roles(text)["gbrt"] == "baseline"


def test_all_is_every_method_but_the_lazy_one_and_those_of_lists():
    lists = {"fusion", "hybrid", "reciprocal-rank-fusion", "smoothed-fusion"}
    left_out = {"duh-kirchhoff", *lists}
    assert set(METHODS) - set(entries("all", "lambdamart")) == left_out
    assert set(METHODS) <= set(entries(",".join(["all", *left_out]), "lambdamart"))


def test_rankers_take_part_as_they_are_given():
    given = {"mine": RankSVM(0.5), "local": local_rank(2), "rank-svm": Quadratic(RankSVM())}
    taking_part = entries(given, "mine")
    assert {name: taking_part[name].ranker for name in given} == given
    assert (taking_part["local"].kind, taking_part["mine"].kind) == ("local", "global")
    assert taking_part["rank-svm"].summary == "Quadratic"
    # One that is known by name need not be given.
    assert entries(given, "lambdamart")["lambdamart"].role == "baseline"


def test_settings_threads_and_seeds_reach_methods_given_by_name():
    settings = ["lambdamart.n_trees=9", "local-rank.n_clusters=3"]
    taking_part = entries("local-rank", "lambdamart", settings, 2, 5)
    baseline, other = taking_part["lambdamart"].ranker, taking_part["lambdamart reseeded"].ranker
    assert (baseline.n_trees, baseline.random_state, baseline.n_jobs) == (9, 5, 2)
    assert (other.n_trees, other.random_state, other.n_jobs) == (9, 6, 2)
    assert taking_part["local-rank"].ranker.grouping.n_clusters == 3


@pytest.mark.parametrize(
    ("methods", "baseline", "settings", "message"),
    [
        (
            "local-rnk",
            "lambdamart",
            [],
            "There is no method 'local-rnk'. Did you mean 'local-rank'",
        ),
        ("rank-svm", "nothing", [], "There is no method 'nothing'"),
        ({"a": RankSVM()}, "b", [], "'b' is not among the methods: a"),
        ("rank-svm", "lambdamart", ["C=4"], "must read method.name=value. Got 'C=4'"),
        (
            "rank-svm",
            "lambdamart",
            ["gbrt.n_trees=4"],
            "gbrt is not among best-feature, lambdamart",
        ),
        (
            {"a": RankSVM()},
            "a",
            ["a.C=4"],
            "a is given as a ranker. Set its parameters on that ranker",
        ),
    ],
)
def test_wrong_requests_are_refused(methods, baseline, settings, message):
    with pytest.raises(ValueError, match=message):
        entries(methods, baseline, settings)


def test_every_method_has_opponents_of_as_many_models_trained_once():
    n_models = {"rank-svm": 1, "local-rank": 4, "pca-queries": 4, "fast": 2}
    added, rivals = opponents("rank-svm,local-rank,pca-queries,fast", n_models)
    assert rivals == {
        "rank-svm": ["lambdamart"],
        "local-rank": ["global-ensemble-4", "global-mixed-4"],
        "pca-queries": ["global-ensemble-4", "global-mixed-4"],
        "fast": ["global-ensemble-2", "global-mixed-2"],
    }
    assert list(added) == [*rivals["fast"], *rivals["local-rank"]]
    for name, entry in added.items():
        assert len(entry.ranker.rankers) == int(name[-1])
        assert (entry.role, entry.kind) == ("opponent", "global")


def test_recipes_with_fixed_scales_have_the_opponents_of_those_without():
    n_models = {"fast": 2, "best": 6, "global-mixed": 6, "engine-coordinates": 6}
    names = ",".join(n_models)
    trees = [f"{name}.n_trees=20" for name in n_models]
    scales = [f"{name}.combine=fixed" for name in ("fast", "best", "global-mixed")]
    added, rivals = opponents(names, n_models, settings=[*trees, *scales])
    six = ["global-ensemble-6", "global-mixed-6"]
    assert rivals["best"] == rivals["engine-coordinates"] == rivals["global-mixed"] == six
    assert rivals["fast"] == ["global-ensemble-2", "global-mixed-2"]
    # The strongest opponent is standardised within the query.
    for name in (*six, *rivals["fast"]):
        assert added[name].ranker.aggregator is None
    assert added["global-mixed-6"].ranker.rankers[0].n_trees == 20


def test_the_ensemble_is_the_baseline_with_other_seeds():
    settings = ["lambdamart.n_trees=9"]
    taking_part = entries("local-rank", "lambdamart", settings, 2, 5)
    added, _ = equal_cost_opponents(taking_part, {"local-rank": 3}, 2, 5)
    ensemble, mixed = added["global-ensemble-3"].ranker, added["global-mixed-3"].ranker
    members = [(m.n_trees, m.random_state, m.n_jobs) for m in ensemble.rankers]
    assert members == [(9, 5, None), (9, 6, None), (9, 7, None)]
    assert (ensemble.n_jobs, mixed.n_jobs, mixed.rankers[0].random_state) == (2, 2, 5)


def test_a_baseline_without_a_seed_makes_no_ensemble():
    assert opponents("local-rank", {"local-rank": 4}, "rank-svm")[1] == {
        "local-rank": ["global-mixed-4"]
    }


def test_the_mixed_opponent_has_trees_of_the_methods_size():
    small = {"n_leaves": 4, "min_leaf_documents": 7}
    given = {"best": best(9, **small), "base": LambdaMART(8, min_leaf_documents=3)}
    added, _ = opponents(given, {"best": 6}, "base")
    boosted = [
        model for model in added["global-mixed-6"].ranker.rankers if hasattr(model, "n_trees")
    ]
    assert [model.n_trees for model in boosted] == [9, 15, 4, 9, 9]
    of_leaves = [model for model in boosted if hasattr(model, "n_leaves")]
    assert {(model.n_leaves, model.min_leaf_documents) for model in of_leaves} == {(4, 7)}


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("recipe", [best, one])
def test_the_summary_names_the_kinds_of_an_opponent(recipe, installed, monkeypatch):
    if not installed:
        monkeypatch.setitem(sys.modules, "catboost", None)
    added, _ = opponents(
        {"mine": recipe(9), "base": LambdaMART()}, {"mine": 6 - 5 * (recipe is one)}, "base"
    )
    rival = added["global-one" if recipe is one else "global-mixed-6"]
    kinds = ["LambdaMART", "SymmetricTrees", "CrossEntropyMART", "GBRT", "ListwiseLinear"]
    if not installed:
        kinds.remove("SymmetricTrees")
    members = (rival.ranker.ranker if recipe is one else rival.ranker).rankers
    assert [type(model).__name__ for model in members][: len(kinds)] == kinds
    note = "" if installed else "; no SymmetricTrees, because CatBoost is not installed"
    assert rival.summary.endswith(f"({', '.join(kinds)}{note})")
    if recipe is best:
        assert added["global-ensemble-6"].summary == METHODS["global-ensemble"].declaration.summary


@pytest.mark.parametrize("recipe", [best, one])
def test_labels_are_worth_the_same_to_opponents(recipe):
    given = {"mine": recipe(9, gain=[0, 1, 5]), "base": LambdaMART()}
    added, _ = opponents(given, {"mine": 1 if recipe is one else 6}, "base")
    rival = added["global-one" if recipe is one else "global-mixed-6"].ranker
    first = (rival.ranker if recipe is one else rival).rankers[0]
    assert first.gain == [0, 1, 5]


@pytest.mark.parametrize("method", [local_rank(4), adaptive_training(4)])
def test_beside_models_of_groups_it_has_trees_of_the_baselines_size(method):
    added, _ = opponents({"local": method, "base": GBRT(8, n_leaves=3)}, {"local": 4}, "base")
    first = added["global-mixed-4"].ranker.rankers[0]
    assert (first.n_trees, first.n_leaves) == (8, 3)


def test_opponents_of_other_trees_are_trained_apart():
    given = {"small": fast(10), "large": fast(20), "base": LambdaMART()}
    added, rivals = opponents(given, {"small": 2, "large": 2}, "base")
    (_, small), (_, large) = rivals["small"], rivals["large"]
    assert small == "global-mixed-2"
    assert large.startswith("global-mixed-2 n_trees=20 ")
    assert [added[name].ranker.rankers[0].n_trees for name in (small, large)] == [10, 20]
    assert rivals["small"][0] == rivals["large"][0] == "global-ensemble-2"


def test_no_method_is_its_own_opponent_and_none_is_trained_twice():
    given = {
        "six": global_mixed(6, symmetric=True),
        "seeds": global_ensemble(6),
        "best": best(),
        "base": LambdaMART(),
    }
    added, rivals = opponents(given, {"six": 6, "seeds": 6, "best": 6}, "base")
    assert added == {}
    assert rivals == {"six": ["seeds"], "seeds": ["six"], "best": ["seeds", "six"]}


def test_one_model_that_learned_from_many_meets_one_that_learned_from_global_ones():
    given = {"mine": one(9, n_leaves=5, min_leaf_documents=3, random_state=4), "base": LambdaMART()}
    added, rivals = opponents(given, {"mine": 1}, "base", random_state=4)
    assert rivals["mine"] == ["base", "global-one"]
    rival = added["global-one"].ranker
    expected = global_one(9, n_leaves=5, min_leaf_documents=3, symmetric=True, random_state=4)
    assert repr(described(rival)) == repr(described(expected))
    assert (added["global-one"].role, added["global-one"].kind) == ("opponent", "global")


def test_many_models_have_no_opponent():
    added, rivals = opponents(
        "local-rank,query-neighbours", {"local-rank": 20, "query-neighbours": 21}
    )
    assert rivals["query-neighbours"] == []
    assert list(added) == rivals["local-rank"] == ["global-ensemble-20", "global-mixed-20"]
