"""What public functions return prints as what a person reads."""

import numpy as np
import pytest

from localrank.data import Fold, RankingDataset, clean, folds, read_qrels, read_run, write_run
from localrank.evaluation import (
    agreement,
    best_feature_calibration,
    clairvoyant_bound,
    compare,
    paired_test,
    permutation_importance,
    tune,
)
from localrank.experiments import Reproduction
from localrank.rankers import BestFeature, RankSVM
from localrank.recipes import local_rank

NAME = "local <b>"


@pytest.fixture(scope="module")
def results(queries, tmp_path_factory):
    """One of each kind."""
    folder = tmp_path_factory.mktemp("printed")
    named = RankingDataset.from_arrays(
        queries.features,
        queries.labels,
        np.array([f"<b>{query}" for query in queries.query_ids])[queries.query_index],
    )
    ranker = local_rank(2, ranker=RankSVM()).fit(named)
    methods = {"base": RankSVM(), NAME: local_rank(2, ranker=RankSVM())}
    comparison = compare(methods, named, ["ndcg@10"], baseline="base", n_folds=3, n_controls=1)
    result = comparison.results[NAME]
    scores = {name: method.scores for name, method in comparison.results.items()}
    write_run(named, ranker.predict(named), folder / "run")
    (folder / "qrels").write_text("1 0 a 1\n2 0 b 0\n")
    tuning = tune(RankSVM(), {"C": [0.1, 1.0]}, named, folds=2)
    reproduction = Reproduction("local-rank", "OHSUMED")
    reproduction.table("<b>", ["method", "MAP"], [["ours", 0.5]])
    return {
        "dataset": named,
        "cleaned": clean(named)[1],
        "fold": folds(named, 3)[0],
        "split": Fold("<b>", named, None, named),
        "run of a file": read_run(folder / "run"),
        "judgements": read_qrels(folder / "qrels"),
        "groups": ranker.groups_,
        "explanation": ranker.explain(named, named.query_ids[0]),
        "comparison": comparison,
        "entry": comparison.entries[NAME],
        "method": result,
        "run": result.runs[0],
        "map": result.runs[0].map,
        "bound": clairvoyant_bound(ranker, named, named, n_controls=1),
        "test": paired_test([0.5, 0.7, 0.9], [0.4, 0.7, 0.6]),
        "tuning": tuning,
        "trial": tuning.path[0],
        "calibration": best_feature_calibration(
            scores["base"], scores["best-feature"], {}, comparison.test
        ),
        "importance": permutation_importance(ranker, named, n_repeats=1),
        "agreement": agreement(ranker.groups_, named.query_ids.tolist()[:30] * 2),
        "reproduction": reproduction,
    }


def test_results_print_in_a_few_lines_without_arrays(results):
    for name, result in results.items():
        text = repr(result)
        # A local explanation has three tables.
        most = 2 if name == "explanation" else 1
        assert len(text) < 2500 * most
        assert len(text.splitlines()) < 40 * most
        assert "array(" not in text
        assert "localrank." not in text


def test_notebooks_show_html_in_which_names_are_text(results):
    shown = {
        kind: result._repr_html_()
        for kind, result in results.items()
        if hasattr(result, "_repr_html_")
    }
    tables = {"fold", "split", "explanation", "comparison", "method", "tuning", "calibration"}
    tables |= {"reproduction", "importance", "agreement"}
    assert {*tables, "test", "trial", "run", "map", "bound"} <= set(shown)
    assert all("<b>" not in text for text in shown.values())
    assert all("<table>" in shown[kind] for kind in tables)


def test_names_are_there(results):
    assert f"{NAME} on 60 test queries: ndcg@10 0." in repr(results["method"])
    assert repr(results["run"]).startswith("FoldResult of Fold1: ")
    assert "valid" in repr(results["fold"])
    assert "valid" not in repr(results["split"])
    assert repr(results["run of a file"]).startswith("Run 'localrank': 60 queries, ")
    assert repr(results["judgements"]) == "Qrels: 2 queries, 2 judged documents, 1 relevant"


def test_a_failed_method_prints_its_reason(queries):
    class Failing(BestFeature):
        def _fit(self, dataset, query_weights, valid):
            raise RuntimeError("no luck")

    methods = {"base": BestFeature(), "broken": Failing()}
    result = compare(methods, queries, ["map"], baseline="base", n_folds=3).results["broken"]
    assert repr(result) == "broken failed: RuntimeError: no luck"
    assert repr(result.runs[0]) == "FoldResult of Fold1: failed: RuntimeError: no luck"
