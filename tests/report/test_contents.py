import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from localrank.data import RankingDataset, folds, make_queries
from localrank.evaluation import Comparison, PairedTest, compare
from localrank.evaluation.comparison import MethodResult
from localrank.evaluation.runs import Run
from localrank.measures import NDCG, OrderErrorRate
from localrank.rankers import BestFeature, RankSVM
from localrank.recipes import local_rank
from localrank.report import contents as module
from localrank.report import render
from localrank.report.contents import contents


@pytest.fixture(scope="module")
def comparison():
    dataset, _ = make_queries(60, n_documents=(5, 12), n_features=8, separation=1, random_state=1)
    methods = {
        "rank-svm": RankSVM(),
        "best-feature": BestFeature(),
        "local-rank": local_rank(2, ranker=RankSVM()),
        "again": RankSVM(0.5),
        "broken": RankSVM(-1.0),
    }
    grids = {"local-rank": {"grouping__n_clusters": [2, 3], "ranker__C": [0.1, 1.0]}}
    return compare(
        methods,
        list(folds(dataset, 3)),
        ["ndcg@10", "oer"],
        baseline="rank-svm",
        ensemble="again",
        grids=grids,
        n_controls=2,
    )


@pytest.fixture
def shown(comparison):
    about = {"kind": "global", "summary": "a method", "parameters": {}}
    return contents(
        comparison,
        title="Queries",
        about=dict.fromkeys(comparison.methods, about),
        made={"command": "localrank compare"},
        best_feature="best-feature",
        control="again",
    )


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

    def runs(scores, facts, groups=((), ())):
        return [
            Run(own, np.array(group, dtype=int), {"failed": None, **fact})
            for own, group, fact in zip(np.split(scores, [6]), groups, facts, strict=True)
        ]

    cost = {"train_seconds": 1.0, "predict_seconds": 0.5, "model_bytes": 100, "n_models": 3}
    more = {"train_seconds": 2.0, "predict_seconds": 0.7, "model_bytes": 300, "n_models": 2}
    bounds = [
        {"n_groups": 3, "clairvoyant": [0.6, 1.0, NAN], "control": [[0.3, 0.5, NAN]] * 2},
        {"n_groups": 2, "clairvoyant": [0.5], "control": [[0.4], [1.0]]},
    ]
    places = {"x": [0.0], "y": [0.0], "group": [1], "ids": ["t"], "groups": [{"size": 4}] * 3}
    base = np.array([0.5, 0.4, NAN, 0.3])
    local = np.array([0.25, 0.51234567, NAN, 0.7])
    facts = [cost | {"bound": bounds[0], "map": places}, more | {"bound": bounds[1]}]
    measure = NDCG(10)
    methods = {
        "base": MethodResult(
            "base", {measure: base}, {}, {}, runs(np.arange(7.0), [cost, more]), None
        ),
        "local": MethodResult(
            "local",
            {measure: local},
            {measure: paired(0.1, (-0.2, 0.3))},
            {measure: paired(-0.1, (-np.inf, NAN))},
            runs(np.arange(7.0) / 7, facts, ([1, 0, 0], [2])),
            None,
        ),
        # Groups and bounds in one fold only.
        "half": MethodResult(
            "half",
            {measure: base},
            {},
            {},
            runs(np.ones(7), [facts[0], more], ([0] * 3, ())),
            None,
        ),
    }
    return Comparison([measure], "base", None, methods, test, ["A", "A", "A", "B"])


def shown_by_hand(comparison):
    return contents(comparison, title="", about={name: {} for name in comparison.methods}, made={})


def test_costs_are_of_all_folds_and_tests_are_told_in_full(by_hand):
    row = shown_by_hand(by_hand)["methods"][1]
    assert (row["n_models"], row["train_seconds"], row["model_bytes"]) == (3, 3.0, 200.0)
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
    other = row["against_ensemble"]["ndcg@10"]
    assert (other["difference"], other["low"], other["high"]) == (-0.1, None, None)


def test_bounds_are_means_over_the_queries_of_all_folds(by_hand):
    (bound,) = shown_by_hand(by_hand)["bounds"]
    assert (bound["name"], bound["measure"], bound["n_groups"]) == ("local", "ndcg@10", 3)
    assert bound["selected"] == pytest.approx((0.25 + 0.51234567 + 0.7) / 3)
    assert bound["clairvoyant"] == pytest.approx(0.7)
    # Draws of 0.4 and 0.6.
    assert bound["control"] == pytest.approx(0.5)
    assert bound["control_spread"] == pytest.approx(np.sqrt(0.02))


def test_queries_are_told_with_their_sizes_and_values(by_hand):
    queries = shown_by_hand(by_hand)["queries"]
    assert queries["ids"] == ["a", "b", "c", "d"]
    assert queries["folds"] == ["A", "A", "A", "B"]
    assert queries["n_documents"] == [3, 2, 1, 1]
    assert queries["n_relevant"] == [2, 1, 0, 1]
    assert queries["values"]["local"]["ndcg@10"] == [0.25, 0.51235, None, 0.7]


def test_the_explorer_fills_its_room_with_what_differs_most_either_way(by_hand, monkeypatch):
    monkeypatch.setattr(module, "N_DOCUMENTS", 4)
    first, last = shown_by_hand(by_hand)["explorer"]["queries"]
    assert (first["index"], last["index"]) == (0, 3)
    assert (first["documents"], last["documents"]) == (["doc0", "doc1", "doc2"], ["doc6"])
    assert (first["groups"], last["groups"]) == ({"local": 1}, {"local": 2})


def test_documents_without_ids_are_counted_from_one(comparison, shown):
    assert comparison.test.document_ids is None
    for query in shown["explorer"]["queries"]:
        n_documents = comparison.test.query_sizes[query["index"]]
        assert query["documents"] == [str(i) for i in range(1, n_documents + 1)]


def test_a_map_is_of_the_first_fold_with_means_where_there_are_values(by_hand):
    found = shown_by_hand(by_hand)["maps"][0]
    assert (found["method"], found["fold"], found["ids"]) == ("local", "A", ["t"])
    assert found["groups"] == [
        {"size": 4, "n_test": 2, "baseline": 0.4, "local": 0.51234567},
        {"size": 4, "n_test": 1, "baseline": 0.5, "local": 0.25},
        {"size": 4, "n_test": 0, "baseline": None, "local": None},
    ]


def tuned(*paths):
    facts = [{"path": path} if path else {} for path in paths]
    runs = [SimpleNamespace(facts=own) for own in facts]
    return SimpleNamespace(name="method", runs=runs)


@pytest.mark.parametrize("measure", [NDCG(10), OrderErrorRate()])
def test_tuning_is_by_the_first_parameter_at_the_best_of_the_others(measure):
    rows = [("small", 1, 0.2, 0.3), ("small", 2, 0.3, 0.3), ("large", 1, 0.8, 0.1)]
    names = ("size", "C", "mean", "standard_error")
    one = [dict(zip(names, row, strict=True)) | {"best": False} for row in rows]
    two = [row | {"mean": 0.7, "standard_error": 0.4} for row in one[:2]]
    two.append(one[2])
    found = module._tuning(tuned(one, two), measure)
    best = 0.3 if measure.higher_is_better else 0.2
    assert (found["method"], found["parameter"]) == ("method", "size")
    assert found["values"] == ["small", "large"]
    assert found["means"] == pytest.approx([(best + 0.7) / 2, 0.8])
    # Of the mean of two folds with errors of 0.3 and 0.4, and of 0.1 each.
    assert found["errors"] == pytest.approx([0.25, 0.1 / np.sqrt(2)])
    assert module._tuning(tuned(one, None), measure) is None


def test_it_is_plain_json_that_the_page_takes(shown):
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert "Queries" in render(shown)


def test_methods_have_their_means_tests_and_costs(comparison, shown):
    rows = {row["name"]: row for row in shown["methods"]}
    result = comparison.methods["local-rank"]
    assert rows["local-rank"]["means"]["ndcg@10"] == result.means()[NDCG(10)]
    test = result.against_baseline[NDCG(10)]
    assert rows["local-rank"]["against_baseline"]["ndcg@10"]["difference"] == test.mean_difference
    assert rows["local-rank"]["against_baseline"]["ndcg@10"]["p"] == test.corrected_p_value
    assert rows["rank-svm"]["against_baseline"] is None
    assert rows["rank-svm"]["against_ensemble"] is not None
    assert rows["local-rank"]["n_models"] >= 2
    assert len(rows["local-rank"]["chosen"]) == 3
    assert "'C' parameter of RankSVM" in rows["broken"]["failed"]
    assert rows["broken"]["means"] == {}


def test_measures_that_are_better_small_are_named(comparison, shown):
    assert shown["smaller_is_better"] == ["oer"]
    # A gain is a smaller value.
    row = next(row for row in shown["methods"] if row["name"] == "best-feature")
    means = {m["name"]: m["means"]["oer"] for m in shown["methods"] if not m["failed"]}
    expected = means["rank-svm"] - means["best-feature"]
    assert row["against_baseline"]["oer"]["difference"] == pytest.approx(expected, abs=1e-3)


def test_bounds_stand_apart_beside_their_control(comparison, shown):
    (bound,) = shown["bounds"]
    assert bound["name"] == "local-rank"
    assert bound["selected"] <= bound["clairvoyant"]
    facts = [run.facts["bound"] for run in comparison.methods["local-rank"].runs]
    draws = np.concatenate([np.array(fact["control"]) for fact in facts], axis=1).mean(axis=1)
    assert bound["control"] == pytest.approx(draws.mean())
    assert bound["control_spread"] == pytest.approx(draws.std(ddof=1))


def test_the_explorer_shows_the_documents_as_they_were_scored(comparison, shown):
    query = shown["explorer"]["queries"][5]
    test = comparison.test
    rows = slice(test.offsets[query["index"]], test.offsets[query["index"] + 1])
    np.testing.assert_allclose(
        query["scores"]["local-rank"], comparison.methods["local-rank"].scores[rows], rtol=1e-6
    )
    assert query["labels"] == test.labels[rows].tolist()
    groups = np.concatenate([run.groups for run in comparison.methods["local-rank"].runs])
    assert query["groups"] == {"local-rank": groups[query["index"]]}


def test_very_many_documents_leave_the_queries_that_differ_most(comparison, shown, monkeypatch):
    monkeypatch.setattr(module, "N_DOCUMENTS", 100)
    few = module._explorer(comparison)
    assert 5 < few["n_shown"] < 20
    assert sum(len(query["documents"]) for query in few["queries"]) <= 100
    values = comparison.methods["local-rank"].values[NDCG(10)]
    others = [r.values[NDCG(10)] for r in comparison.finished.values()]
    apart = np.max([np.abs(o - comparison.methods["rank-svm"].values[NDCG(10)]) for o in others], 0)
    assert int(np.argmax(apart)) in [query["index"] for query in few["queries"]]
    assert len(values) == 60


def test_tuning_shows_the_number_of_clusters_at_the_best_of_the_rest(comparison, shown):
    (tuning,) = shown["tuning"]
    assert (tuning["method"], tuning["parameter"]) == ("local-rank", "n_clusters")
    assert tuning["values"] == [2, 3]
    paths = [run.facts["path"] for run in comparison.methods["local-rank"].runs]
    best = [max(row["mean"] for row in path if row["grouping__n_clusters"] == 3) for path in paths]
    assert tuning["means"][1] == pytest.approx(np.mean(best))


def test_a_map_has_each_groups_own_result(comparison, shown):
    (found,) = shown["maps"]
    run = comparison.methods["local-rank"].runs[0]
    own = comparison.methods["local-rank"].values[NDCG(10)][: len(run.groups)]
    for group, facts in enumerate(found["groups"]):
        mine = run.groups == group
        assert facts["n_test"] == mine.sum()
        assert facts["local"] == pytest.approx(own[mine].mean() if mine.any() else None)
    assert len(found["x"]) == len(found["group"]) == len(found["ids"])


def test_calibration_is_of_all_methods_against_baseline_and_control(comparison, shown):
    assert shown["calibration"]["measure"] == "ndcg@10"
    names = ["best feature", "baseline", "control", "local-rank"]
    assert shown["calibration"]["methods"] == names
    assert shown["calibration"]["bounds"] == []
    without = module._calibration(comparison, "best-feature", None)
    assert without["methods"] == ["best feature", "baseline", "local-rank", "again"]


@pytest.mark.parametrize(
    ("best_feature", "kept"),
    [
        (None, ["rank-svm", "again"]),
        ("rank-svm", ["rank-svm", "again"]),
        ("best-feature", ["rank-svm", "best-feature"]),
    ],
)
def test_calibration_is_left_out_without_a_best_feature_and_others(comparison, best_feature, kept):
    methods = {name: comparison.methods[name] for name in kept}
    few = replace(comparison, methods=methods)
    assert module._calibration(few, best_feature, None) is None
