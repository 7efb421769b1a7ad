import json
from dataclasses import replace

import numpy as np
import pytest

from localrank.data import RankingDataset, folds, make_queries
from localrank.evaluation import ClairvoyantBound, FoldResult, MethodResult, PairedTest, compare
from localrank.evaluation import _comparison_report as module
from localrank.evaluation._comparison_report import page_data
from localrank.evaluation._opponents import Entry
from localrank.evaluation.comparison import Comparison
from localrank.evaluation.query_groups import GroupMap, MappedGroup
from localrank.evaluation.report import render
from localrank.measures import NDCG, OrderErrorRate
from localrank.rankers import LambdaMART, RankSVM
from localrank.recipes import local_rank


@pytest.fixture(scope="module")
def comparison():
    dataset, _ = make_queries(60, n_documents=(5, 12), n_features=8, separation=1, random_state=1)
    methods = {
        "trees": LambdaMART(10, min_leaf_documents=5),
        "local-rank": local_rank(2, ranker=RankSVM()),
        "broken": RankSVM(-1.0),
    }
    grids = {"local-rank": {"grouping__n_clusters": [2, 3], "ranker__C": [0.1, 1.0]}}
    return compare(
        methods,
        list(folds(dataset, 3)),
        ["ndcg@10", "oer"],
        baseline="trees",
        tune=grids,
        n_controls=2,
        title="Queries",
    )


@pytest.fixture(scope="module")
def shown(comparison):
    return page_data(comparison, command="localrank compare")


NAN = float("nan")


def paired(gain, interval):
    return PairedTest(
        test="t-test",
        mean_difference=gain,
        interval=interval,
        effect_size=0.5,
        effect_interval=(0.1, 0.9),
        confidence=0.95,
        p_value=0.01,
        wins=5,
        ties=3,
        losses=1,
        n_queries=9,
        n_left_out=0,
        corrected_p_value=0.02,
    )


@pytest.fixture
def by_hand():
    """Four queries, the third without a value, in folds of three and one; numbers made up."""
    sizes = [3, 2, 1, 1]
    test = RankingDataset.from_arrays(
        np.zeros((7, 1)),
        [0, 1, 2, 0, 1, 0, 1],
        np.repeat(["a", "b", "c", "d"], sizes),
        document_ids=[f"doc{i}" for i in range(7)],
    )

    measure = NDCG(10)
    bounds = [
        ClairvoyantBound(
            measure, 3, np.zeros(3), np.array([0.6, 1.0, NAN]), np.array([[0.3, 0.5, NAN]] * 2)
        ),
        ClairvoyantBound(measure, 2, np.zeros(1), np.array([0.5]), np.array([[0.4], [1.0]])),
    ]
    places = GroupMap([0.0], [0.0], [1], ["t"], [MappedGroup(4, [])] * 3)
    base = np.array([0.5, 0.4, NAN, 0.3])
    local = np.array([0.25, 0.51234567, NAN, 0.7])

    def result(name, scores, values, groups=((), ()), bounds=(None, None), places=None):
        first, last = np.split(scores, [6])
        one, two = (np.array(group, dtype=int) for group in groups)
        runs = [
            FoldResult("A", first, one, 1.0, 4.0, 0.5, 3, 100, bound=bounds[0], map=places),
            FoldResult("B", last, two, 2.0, 5.0, 0.7, 2, 300, bound=bounds[1]),
        ]
        made = MethodResult(name, runs, test, ["A", "A", "A", "B"])
        made._values[measure] = values
        return made

    results = {
        "base": result("base", np.arange(7.0), base),
        "local": result("local", np.arange(7.0) / 7, local, ([1, 0, 0], [2]), bounds, places),
        # Groups and bounds in one fold only.
        "half": result("half", np.ones(7), base, ([0] * 3, ()), (bounds[0], None)),
    }
    roles = {"base": "baseline", "local": "method", "half": "opponent"}
    return Comparison(
        [measure],
        "base",
        {name: Entry(role, "global", "", RankSVM()) for name, role in roles.items()},
        results,
        {"local": "half"},
        {"local": {measure: paired(0.1, (-0.2, 0.3))}, "half": {measure: paired(0, (-1, 1))}},
        {"local": {measure: paired(-0.1, (-np.inf, NAN))}},
        {},
        "",
        {},
    )


def test_costs_are_of_all_folds_and_tests_are_told_in_full(by_hand):
    row = page_data(by_hand)["methods"][1]
    assert (row["n_models"], row["train_seconds"], row["model_bytes"]) == (3, 3.0, 200.0)
    assert row["train_cpu_seconds"] == 9.0
    assert row["milliseconds_per_query"] == pytest.approx(300.0)
    assert row["against_baseline"]["ndcg@10"] == {
        "difference": 0.1,
        "low": -0.2,
        "high": 0.3,
        "p": 0.02,
        "wins": 5,
        "ties": 3,
        "losses": 1,
    }
    assert row["opponent"] == "half"
    other = row["at_equal_cost"]["ndcg@10"]
    assert (other["difference"], other["low"], other["high"]) == (-0.1, None, None)


def test_bounds_are_means_over_the_queries_of_all_folds(by_hand):
    (bound,) = page_data(by_hand)["bounds"]
    assert (bound["name"], bound["measure"], bound["n_groups"]) == ("local", "ndcg@10", 3)
    assert bound["selected"] == pytest.approx((0.25 + 0.51234567 + 0.7) / 3)
    assert bound["clairvoyant"] == pytest.approx(0.7)
    # Draws of 0.4 and 0.6.
    assert bound["control"] == pytest.approx(0.5)
    assert bound["control_spread"] == pytest.approx(np.sqrt(0.02))


def test_queries_are_told_with_their_sizes_and_values(by_hand):
    queries = page_data(by_hand)["queries"]
    assert queries["ids"] == ["a", "b", "c", "d"]
    assert queries["folds"] == ["A", "A", "A", "B"]
    assert queries["n_documents"] == [3, 2, 1, 1]
    assert queries["n_relevant"] == [2, 1, 0, 1]
    assert queries["values"]["local"]["ndcg@10"] == [0.25, 0.51235, None, 0.7]


def test_the_explorer_fills_its_room_with_what_differs_most_either_way(by_hand, monkeypatch):
    monkeypatch.setattr(module, "N_DOCUMENTS", 4)
    first, last = page_data(by_hand)["explorer"]["queries"]
    assert (first["index"], last["index"]) == (0, 3)
    assert (first["documents"], last["documents"]) == (["doc0", "doc1", "doc2"], ["doc6"])
    assert (first["groups"], last["groups"]) == ({"local": 1}, {"local": 2})


def test_documents_without_ids_are_counted_from_one(comparison, shown):
    assert comparison.test.document_ids is None
    for query in shown["explorer"]["queries"]:
        n_documents = comparison.test.query_sizes[query["index"]]
        assert query["documents"] == [str(i) for i in range(1, n_documents + 1)]


def test_a_map_is_of_the_first_fold_with_means_where_there_are_values(by_hand):
    (shown_map,) = page_data(by_hand)["maps"]
    assert (shown_map["method"], shown_map["fold"], shown_map["ids"]) == ("local", "A", ["t"])
    assert shown_map["groups"] == [
        {"size": 4, "strongest": [], "n_test": 2, "baseline": 0.4, "local": 0.51234567},
        {"size": 4, "strongest": [], "n_test": 1, "baseline": 0.5, "local": 0.25},
        {"size": 4, "strongest": [], "n_test": 0, "baseline": None, "local": None},
    ]


def tuned(*paths):
    nothing = np.empty(0), np.empty(0, dtype=int)
    return MethodResult(
        "method", [FoldResult("A", *nothing, path=path) for path in paths], None, []
    )


@pytest.mark.parametrize("measure", [NDCG(10), OrderErrorRate()])
def test_tuning_is_by_the_first_parameter_at_the_best_of_the_others(measure):
    rows = [("small", 1, 0.2, 0.3), ("small", 2, 0.3, 0.3), ("large", 1, 0.8, 0.1)]
    names = ("size", "C", "mean", "standard_error")
    one = [dict(zip(names, row, strict=True)) | {"best": False} for row in rows]
    two = [row | {"mean": 0.7, "standard_error": 0.4} for row in one[:2]]
    two.append(one[2])
    path = module._tuning(tuned(one, two), measure)
    best = 0.3 if measure.higher_is_better else 0.2
    assert (path["method"], path["parameter"]) == ("method", "size")
    assert path["values"] == ["small", "large"]
    assert path["means"] == pytest.approx([(best + 0.7) / 2, 0.8])
    # Of the mean of two folds with errors of 0.3 and 0.4, and of 0.1 each.
    assert path["errors"] == pytest.approx([0.25, 0.1 / np.sqrt(2)])
    assert module._tuning(tuned(one, None), measure) is None


def test_it_is_plain_json_that_the_page_takes(shown):
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert "Queries" in render(shown)


def test_methods_have_their_means_tests_and_costs(comparison, shown):
    rows = {row["name"]: row for row in shown["methods"]}
    row, result = rows["local-rank"], comparison.results["local-rank"]
    assert row["means"]["ndcg@10"] == result.mean("ndcg@10")
    for key, tests in (
        ("against_baseline", comparison.against_baseline),
        ("at_equal_cost", comparison.at_equal_cost),
    ):
        test = tests["local-rank"][NDCG(10)]
        assert row[key]["ndcg@10"]["difference"] == test.mean_difference
        assert row[key]["ndcg@10"]["p"] == test.corrected_p_value
    assert row["opponent"] == comparison.opponents["local-rank"]
    assert rows["trees"]["against_baseline"] is rows["trees"]["at_equal_cost"] is None
    assert (row["role"], row["kind"], rows["trees"]["role"]) == ("method", "local", "baseline")
    assert row["train_cpu_seconds"] == result.train_cpu_seconds
    assert rows["trees"]["parameters"]["n_trees"] == "10"
    assert "n_jobs" not in rows["trees"]["parameters"]
    assert row["n_models"] >= 2
    assert len(row["chosen"]) == 3
    assert "'C' parameter of RankSVM" in rows["broken"]["failed"]
    assert rows["broken"]["means"] == {}
    assert set(rows["broken"]) == set(row)
    assert shown["cost_notes"] == comparison.cost_notes
    assert shown["made"]["command"] == "localrank compare"


def test_measures_that_are_better_small_are_named(comparison, shown):
    assert shown["smaller_is_better"] == ["oer"]
    # A gain is a smaller value.
    row = next(row for row in shown["methods"] if row["name"] == "best-feature")
    means = {m["name"]: m["means"]["oer"] for m in shown["methods"] if not m["failed"]}
    expected = means["trees"] - means["best-feature"]
    assert row["against_baseline"]["oer"]["difference"] == pytest.approx(expected, abs=1e-3)


def test_bounds_stand_apart_beside_their_control(comparison, shown):
    (bound,) = shown["bounds"]
    assert bound["name"] == "local-rank"
    assert bound["selected"] <= bound["clairvoyant"]
    bounds = [run.bound for run in comparison.results["local-rank"].runs]
    draws = np.concatenate([bound.control for bound in bounds], axis=1).mean(axis=1)
    assert bound["control"] == pytest.approx(draws.mean())
    assert bound["control_spread"] == pytest.approx(draws.std(ddof=1))


def test_the_explorer_shows_the_documents_as_they_were_scored(comparison, shown):
    query = shown["explorer"]["queries"][5]
    test = comparison.test
    rows = slice(test.offsets[query["index"]], test.offsets[query["index"] + 1])
    np.testing.assert_allclose(
        query["scores"]["local-rank"], comparison.results["local-rank"].scores[rows], rtol=1e-6
    )
    assert query["labels"] == test.labels[rows].tolist()
    groups = np.concatenate([run.groups for run in comparison.results["local-rank"].runs])
    assert query["groups"] == {"local-rank": groups[query["index"]]}


def test_very_many_documents_leave_the_queries_that_differ_most(comparison, shown, monkeypatch):
    monkeypatch.setattr(module, "N_DOCUMENTS", 100)
    few = module._explorer(comparison)
    assert 5 < few["n_shown"] < 20
    assert sum(len(query["documents"]) for query in few["queries"]) <= 100
    values = comparison.results["local-rank"].values("ndcg@10")
    others = [r.values("ndcg@10") for r in comparison.finished.values()]
    apart = np.max([np.abs(o - comparison.results["trees"].values("ndcg@10")) for o in others], 0)
    assert int(np.argmax(apart)) in [query["index"] for query in few["queries"]]
    assert len(values) == 60


def test_tuning_shows_the_number_of_clusters_at_the_best_of_the_rest(comparison, shown):
    (tuning,) = shown["tuning"]
    assert (tuning["method"], tuning["parameter"]) == ("local-rank", "n_clusters")
    assert tuning["values"] == [2, 3]
    paths = [run.path for run in comparison.results["local-rank"].runs]
    best = [max(row["mean"] for row in path if row["grouping__n_clusters"] == 3) for path in paths]
    assert tuning["means"][1] == pytest.approx(np.mean(best))


def test_a_map_has_each_groups_own_result(comparison, shown):
    (shown_map,) = shown["maps"]
    run = comparison.results["local-rank"].runs[0]
    local = comparison.results["local-rank"].values("ndcg@10")[: len(run.groups)]
    for group, facts in enumerate(shown_map["groups"]):
        mine = run.groups == group
        assert facts["n_test"] == mine.sum()
        assert facts["local"] == pytest.approx(local[mine].mean() if mine.any() else None)
    assert len(shown_map["x"]) == len(shown_map["group"]) == len(shown_map["ids"])


def test_calibration_is_of_all_methods_against_baseline_and_control(comparison, shown):
    assert shown["calibration"]["measure"] == "ndcg@10"
    first = ["best feature", "baseline", "control", "local-rank"]
    assert shown["calibration"]["methods"][:4] == first
    assert shown["calibration"]["methods"][4:] == [
        name for name, entry in comparison.entries.items() if entry.role == "opponent"
    ]
    assert shown["calibration"]["bounds"] == []


def without(comparison, *names):
    kept = {name: result for name, result in comparison.results.items() if name not in names}
    return replace(comparison, results=kept)


def test_calibration_does_without_a_control(comparison):
    calibration = module._calibration(without(comparison, "trees reseeded"))
    assert "control" not in calibration["methods"]


@pytest.mark.parametrize("kept", [["trees", "local-rank"], ["trees", "best-feature"]])
def test_calibration_is_left_out_without_a_best_feature_and_others(comparison, kept):
    others = [name for name in comparison.results if name not in kept]
    assert module._calibration(without(comparison, *others)) is None
