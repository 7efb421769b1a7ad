import json

import numpy as np
import pytest

from localrank.data import folds, make_queries
from localrank.evaluation import compare
from localrank.measures import NDCG
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


def test_calibration_is_left_out_without_a_best_feature(comparison, shown):
    assert shown["calibration"]["measure"] == "ndcg@10"
    assert "control" in shown["calibration"]["methods"]
    assert module._calibration(comparison, None, None) is None
