import csv
import html
import json
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from localrank.data import Fold, folds, make_queries, read_run, write_letor
from localrank.evaluation import compare, correct, paired_test
from localrank.evaluation._opponents import Entry
from localrank.measures import NDCG, AveragePrecision, OrderErrorRate
from localrank.rankers import GBRT, BestFeature, LambdaMART, Ranker, RankSVM
from localrank.recipes import local_rank

MEASURES = ["ndcg@10", "oer"]
SMALL = {"n_trees": 10, "min_leaf_documents": 5}


class Constant(Ranker):
    """Ranks by one feature, or fails."""

    def __init__(self, column=0, fails=False):
        self.column = column
        self.fails = fails

    def _fit(self, dataset, query_weights, valid):
        if self.fails:
            raise RuntimeError("no\n luck")
        self.fitted_ = True

    def _predict(self, dataset):
        return dataset.features[:, self.column]


@pytest.fixture(scope="module")
def dataset():
    return make_queries(90, n_documents=(6, 15), n_features=8, separation=1, random_state=2)[0]


@pytest.fixture(scope="module")
def parts(dataset):
    return list(folds(dataset, 3))


@pytest.fixture(scope="module")
def methods():
    return {
        "trees": LambdaMART(**SMALL),
        "rank-svm": RankSVM(),
        "local": local_rank(3, ranker=RankSVM()),
        "two": local_rank(2, ranker=RankSVM()),
        "broken": Constant(fails=True),
    }


@pytest.fixture(scope="module")
def comparison(parts, methods):
    return compare(methods, parts, MEASURES, baseline="trees", n_controls=1)


def test_every_method_is_trained_and_scored_on_the_same_queries(parts, methods, comparison):
    for name in ("trees", "rank-svm", "local"):
        values = []
        for fold in parts:
            model = clone(methods[name]).fit(fold.train, valid=fold.valid)
            values.append(NDCG(10)(fold.test, model.predict(fold.test)))
        assert_array_equal(comparison.results[name].values("ndcg@10"), np.concatenate(values))
    assert comparison.test.n_queries == 90
    assert comparison.fold_names == ["Fold1"] * 30 + ["Fold2"] * 30 + ["Fold3"] * 30


def test_methods_come_with_what_they_are_compared_with(comparison):
    assert list(comparison.results) == list(comparison.entries)
    assert {name: entry.role for name, entry in comparison.entries.items()} == {
        "best-feature": "best feature",
        "trees": "baseline",
        "rank-svm": "method",
        "local": "method",
        "two": "method",
        "broken": "method",
        "trees reseeded": "reseeded",
        "global-ensemble-2": "opponent",
        "global-mixed-2": "opponent",
        "global-ensemble-3": "opponent",
        "global-mixed-3": "opponent",
    }
    assert comparison.results["global-mixed-3"].n_models == 3


def expected_tests(comparison, pairs, measure, sign):
    tests = {
        name: paired_test(
            sign * comparison.results[name].values(measure),
            sign * comparison.results[other].values(measure),
        )
        for name, other in pairs.items()
    }
    return tests, correct({name: test.p_value for name, test in tests.items()})


@pytest.mark.parametrize(("measure", "sign"), [(NDCG(10), 1), (OrderErrorRate(), -1)])
def test_differences_are_paired_tests_corrected_over_the_methods(comparison, measure, sign):
    judged = ["best-feature", "rank-svm", "local", "two", "trees reseeded"]
    opponents = [name for name, entry in comparison.entries.items() if entry.role == "opponent"]
    assert set(comparison.against_baseline) == {*judged, *opponents}
    for family in (judged, opponents):
        tests, corrected = expected_tests(comparison, dict.fromkeys(family, "trees"), measure, sign)
        for name in family:
            test = comparison.against_baseline[name][measure]
            assert test.mean_difference == tests[name].mean_difference
            assert test.corrected_p_value == corrected[name]


@pytest.mark.parametrize(("measure", "sign"), [(NDCG(10), 1), (OrderErrorRate(), -1)])
def test_at_equal_cost_each_method_is_tested_against_its_own_opponent(comparison, measure, sign):
    assert set(comparison.opponents) == {
        "best-feature",
        "rank-svm",
        "local",
        "two",
        "trees reseeded",
    }
    tests, corrected = expected_tests(comparison, comparison.opponents, measure, sign)
    assert set(comparison.at_equal_cost) == set(tests)
    for name, test in tests.items():
        assert comparison.at_equal_cost[name][measure].mean_difference == test.mean_difference
        assert comparison.at_equal_cost[name][measure].corrected_p_value == corrected[name]


@pytest.mark.parametrize("primary", MEASURES)
def test_the_opponent_is_the_stronger_one_by_the_primary_measure(parts, methods, primary):
    given = {name: methods[name] for name in ("trees", "local")}
    comparison = compare(given, parts, [primary], baseline="trees", n_controls=0)
    means = {
        name: comparison.results[name].mean(primary) for name in comparison.results if "-3" in name
    }
    assert len(means) == 2
    stronger = (max if primary == "ndcg@10" else min)(means, key=means.get)
    assert comparison.opponents["local"] == stronger
    assert comparison.opponents["best-feature"] == "trees"


def test_an_opponent_that_fails_leaves_the_other(dataset, monkeypatch):
    def fail(*_):
        raise ValueError("no luck")

    # The mixed opponent has one, whether CatBoost is installed or not.
    monkeypatch.setattr(LambdaMART, "_objective", fail)
    methods = {"local": local_rank(2, ranker=RankSVM()), "trees": GBRT(**SMALL), "svm": RankSVM()}
    comparison = compare(methods, dataset, ["ndcg@10"], baseline="trees", n_folds=3, n_controls=0)
    assert "no luck" in comparison.results["global-mixed-2"].failed
    assert comparison.opponents["local"] == "global-ensemble-2"
    none = compare(methods, dataset, ["ndcg@10"], baseline="svm", n_folds=3, n_controls=0)
    assert "local" not in none.opponents
    assert "local" not in none.at_equal_cost


def test_a_method_that_fails_is_named_and_the_rest_goes_on(comparison):
    assert comparison.results["broken"].failed == "RuntimeError: no luck"
    assert "broken" not in comparison.finished
    assert "broken" not in comparison.opponents


def test_a_baseline_that_fails_is_an_error_before_others_are_trained(parts):
    lines = []
    methods = {"broken": Constant(fails=True), "rank-svm": RankSVM()}
    with pytest.raises(ValueError, match="The baseline broken failed: RuntimeError: no luck"):
        compare(methods, parts, MEASURES, baseline="broken", say=lines.append)
    assert not any("rank-svm" in line for line in lines)


def test_data_may_be_folds_a_dataset_or_a_folder(dataset, parts, tmp_path):
    methods = {"a": BestFeature()}
    plain = compare(methods, parts, MEASURES, baseline="a")
    cut = compare(methods, dataset, MEASURES, baseline="a", n_folds=3)
    assert_array_equal(plain.results["a"].scores, cut.results["a"].scores)
    assert compare(methods, dataset, MEASURES, baseline="a", n_folds=2).made["data"]["folds"] == 2
    for number in (1, 2):
        (tmp_path / "collection" / f"Fold{number}").mkdir(parents=True)
        for role in ("train", "test"):
            part = getattr(parts[number], role)
            path = tmp_path / "collection" / f"Fold{number}" / f"{role}.txt"
            write_letor(part.with_features(part.features), path)
    read = compare(methods, tmp_path / "collection", MEASURES, baseline="a")
    assert (read.title, set(read.fold_names)) == ("collection", {"Fold1", "Fold2"})
    with pytest.raises(ValueError, match="needs at least one fold"):
        compare(methods, [], MEASURES, baseline="a")


def test_names_settings_and_seeds_make_the_methods(parts):
    settings = ["lambdamart.n_trees=5", "local-rank.n_clusters=2"]
    comparison = compare(
        "local-rank", parts[:1], ["map"], settings=settings, random_state=3, n_controls=0
    )
    single, pair = (comparison.entries[name] for name in ("lambdamart", "global-ensemble-2"))
    assert isinstance(single, Entry)
    assert isinstance(pair, Entry)
    assert single.ranker.random_state == 3
    assert comparison.results["local-rank"].n_models == 2
    assert pair.ranker.rankers[1].random_state == 4
    assert comparison.made["seed"] == 3


def test_tuning_takes_the_grids_of_names_or_those_given(parts):
    by_name = compare("rank-svm", parts[:1], ["map"], baseline="rank-svm", tune=True)
    assert by_name.results["rank-svm"].runs[0].path[0]["C"] == 0.01
    given = {"rank-svm": RankSVM(), "other": RankSVM()}
    comparison = compare(given, parts[:1], ["map"], baseline="rank-svm", tune=True)
    assert comparison.results["rank-svm"].chosen == []
    grids = {"other": {"C": [0.5]}}
    comparison = compare(given, parts[:1], ["map"], baseline="rank-svm", tune=grids)
    assert comparison.results["other"].chosen == ["C=0.5"]
    assert comparison.results["rank-svm"].chosen == []


def test_query_ids_in_both_parts_are_warned_of(parts):
    fold = Fold("split", parts[0].train, None, parts[0].train)
    with pytest.warns(UserWarning, match="split: 30 query ids, such as .*, are in both"):
        compare({"a": BestFeature()}, [fold], MEASURES, baseline="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare({"a": BestFeature()}, parts[:1], MEASURES, baseline="a")


def test_finished_work_is_not_done_again_opponents_too(parts, methods, tmp_path):
    lines = []
    given = {name: methods[name] for name in ("trees", "local")}
    options = {"baseline": "trees", "n_controls": 1, "store": tmp_path, "say": lines.append}
    first = compare(given, parts[:2], MEASURES, **options)
    assert sum(" trained in " in line for line in lines) == 12
    (tmp_path / "Fold2" / "global-mixed-3.npz").unlink()
    lines.clear()
    second = compare(given, parts[:2], MEASURES, **options)
    assert [line.split(" trained")[0] for line in lines if " trained in " in line] == [
        "Fold2: global-mixed-3"
    ]
    for name, result in first.results.items():
        assert_array_equal(second.results[name].scores, result.scores)


def test_interrupted_work_goes_on_to_the_same_numbers(parts, methods, tmp_path):
    class StopError(Exception):
        pass

    def stop(text):
        if text.startswith("Fold2: local"):
            raise StopError

    given = {name: methods[name] for name in ("trees", "local")}
    options = {"baseline": "trees", "n_controls": 0}
    with pytest.raises(StopError):
        compare(given, parts, MEASURES, store=tmp_path, say=stop, **options)
    lines = []
    resumed = compare(given, parts, MEASURES, store=tmp_path, say=lines.append, **options)
    assert not any(line.startswith("Fold1: local") for line in lines)
    whole = compare(given, parts, MEASURES, **options)
    for name, result in whole.results.items():
        assert_array_equal(resumed.results[name].scores, result.scores)


def test_everything_is_written(comparison, tmp_path):
    folder = tmp_path / "a" / "report"
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "of-old.trec").write_text("")
    comparison.write(folder, command="localrank compare")
    results = json.loads((folder / "results.json").read_text())
    assert [row["name"] for row in results["methods"]] == list(comparison.results)
    assert results["verdict"] == comparison.verdict
    assert results["made"]["command"] == "localrank compare"
    with (folder / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 90 * len(comparison.finished) * 2
    column = [
        float(row["value"])
        for row in rows
        if (row["method"], row["measure"]) == ("local", "ndcg@10")
    ]
    np.testing.assert_allclose(column, comparison.results["local"].values("ndcg@10"), atol=1e-5)
    tags = {name.replace(" ", "-") for name in comparison.finished}
    assert {path.stem for path in (folder / "runs").iterdir()} == tags
    run = read_run(folder / "runs" / "trees-reseeded.trec")
    assert len(set(run.query_ids)) == 90
    page = (folder / "index.html").read_text()
    assert all(html.escape(line) in page for line in comparison.verdict.splitlines())


def test_a_file_in_the_place_of_the_report_is_refused(comparison, tmp_path):
    (tmp_path / "report").write_text("mine")
    with pytest.raises(ValueError, match="is a file. Name a folder"):
        comparison.write(tmp_path / "report")
    assert (tmp_path / "report").read_text() == "mine"


def test_a_frame_has_a_row_for_each_finished_method(comparison):
    frame = comparison.to_frame("pandas").set_index("method")
    assert list(frame.index) == list(comparison.finished)
    local, test = frame.loc["local"], comparison.at_equal_cost["local"][NDCG(10)]
    assert local["ndcg@10"] == comparison.results["local"].mean("ndcg@10")
    assert (local["n_models"], local["opponent"]) == (3, comparison.opponents["local"])
    assert local["train_cpu_seconds"] == comparison.results["local"].train_cpu_seconds
    assert local["gain_at_equal_cost"] == test.mean_difference
    assert local["p_at_equal_cost"] == test.corrected_p_value
    assert local["gain"] == comparison.against_baseline["local"][NDCG(10)].mean_difference
    assert np.isnan(frame.loc["trees", "gain"])


def test_markdown_and_latex_hold_the_numbers_of_the_frame(comparison):
    frame = comparison.to_frame("pandas").set_index("method")
    lines = comparison.to_markdown().splitlines()
    assert len(lines) == len(frame) + 2
    frame = frame.rename({"trees": "trees (baseline)"})
    cells = {row.split("|")[1].strip(): row.split("|")[2].strip() for row in lines[2:]}
    assert cells == {name: f"{mean:.4f}" for name, mean in frame["ndcg@10"].items()}
    body = comparison.to_latex().split("\\midrule\n")[1].split("\\bottomrule")[0]
    for row, line in zip(frame.itertuples(), body.splitlines(), strict=True):
        first, second, *rest = line.removesuffix(r" \\").split(" & ")
        assert (first, second) == (row.Index, f"{row[2]:.4f}")
        assert len(rest) == len(lines[0].split("|")) - 4


def test_hostile_names_stay_text_in_every_table(parts):
    name = r"<b>a_1 & 50%|\x</b>"
    methods = {"base": BestFeature(), name: Constant()}
    comparison = compare(methods, parts[:1], ["map"], baseline="base")
    assert "<b>" not in comparison._repr_html_()
    assert html.escape(name) in comparison._repr_html_()
    assert r"<b>a_1 & 50%\|\x</b>" in comparison.to_markdown()
    assert r"<b>a\_1 \& 50\%|\textbackslash{}x</b>" in comparison.to_latex()


def test_a_notebook_shows_table_verdict_and_failures(comparison):
    shown = comparison._repr_html_()
    verdict, failure = comparison.verdict.splitlines(), "broken failed: RuntimeError: no luck"
    for text in (*verdict, *comparison.cost_notes, failure):
        assert f"<p>{html.escape(text)}</p>" in shown
    assert len(re.findall("<tr>", shown)) == len(comparison.finished) + 1


def test_printed_it_is_one_table_the_verdict_and_failures(comparison, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    lines = repr(comparison).splitlines()
    assert lines[0] == "Comparison: 90 test queries"
    assert [line.split()[0] for line in lines[4 : 4 + len(comparison.finished)]] == [
        name.split()[0] for name in comparison.finished
    ]
    verdict, failure = comparison.verdict.splitlines(), "broken failed: RuntimeError: no luck"
    texts = [*verdict, *comparison.cost_notes, failure]
    assert lines[-len(texts) :] == texts
    assert "array(" not in repr(comparison)


def test_the_best_method_is_first_and_failed_ones_last(comparison):
    means = [result.mean("ndcg@10") for result in comparison.finished.values()]
    assert means == sorted(means, reverse=True)
    assert list(comparison.results)[-1] == "broken"
    assert list(comparison.entries) == list(comparison.results)
    judged = [name for name in comparison.results if name in comparison.at_equal_cost]
    assert list(comparison.at_equal_cost) == judged
    first = comparison.to_markdown().splitlines()[2]
    assert first.startswith(f"| {next(iter(comparison.finished))} |")


def test_the_smallest_error_rate_is_first(parts):
    methods = {"base": BestFeature(), "svm": RankSVM()}
    comparison = compare(methods, parts[:1], [OrderErrorRate()], baseline="base")
    means = [result.mean(OrderErrorRate()) for result in comparison.results.values()]
    assert means == sorted(means)


def test_the_number_of_jobs_changes_nothing(parts, methods):
    given = {name: methods[name] for name in ("trees", "two")}
    one, two = (
        compare(given, parts[:1], MEASURES, baseline="trees", n_jobs=jobs) for jobs in (1, 2)
    )
    assert one.against_baseline == two.against_baseline
    assert one.at_equal_cost == two.at_equal_cost


def test_measures_are_given_as_names_or_values(parts):
    measures = [AveragePrecision(), "p@5"]
    comparison = compare("best-feature", parts[:1], measures, baseline="best-feature")
    assert [str(measure) for measure in comparison.measures] == ["map", "p@5"]
    assert comparison.verdict == "There is nothing to compare with best-feature."
