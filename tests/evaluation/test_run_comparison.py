"""Runs of other systems, compared on judged queries."""

import json
import time
import warnings

import ir_measures
import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import Qrels, Run, make_queries, pooled, write_run
from localrank.evaluation import RunComparison, compare_runs, paired_tests
from localrank.evaluation._comparison_report import page_data
from localrank.evaluation.unjudged_documents import holes
from localrank.measures import NDCG, AveragePrecision, parse_measure


def made_up(n_queries=40, n_documents=60, seed=0):
    """Judgments of a third of the documents, and three systems of different noise and depth."""
    rng = np.random.default_rng(seed)
    grades = rng.choice([0, 0, 0, 1, 2], size=(n_queries, n_documents))
    judged = rng.random(grades.shape) < 0.35
    qrels = {
        f"q{q}": {f"d{d}": int(grades[q, d]) for d in np.flatnonzero(judged[q])}
        for q in range(n_queries)
    }
    runs = {}
    for name, noise, depth in (("old", 2.0, 40), ("new", 1.2, 40), ("short", 2.0, 12)):
        scores = grades + rng.normal(0, noise, grades.shape)
        runs[name] = {
            f"q{q}": {f"d{d}": float(scores[q, d]) for d in np.argsort(-scores[q])[:depth].tolist()}
            for q in range(n_queries)
        }
    return runs, qrels


@pytest.fixture(scope="module")
def given():
    return made_up()


@pytest.fixture(scope="module")
def compared(given):
    return compare_runs(*given, ["ndcg@10", "map", "p@5"])


@pytest.fixture(scope="module")
def shown(compared):
    return page_data(compared, command="localrank compare --runs")


def test_means_are_those_of_another_library(given):
    runs, qrels = given
    wanted = {"ndcg@10": ir_measures.nDCG @ 10, "map": ir_measures.AP, "p@5": ir_measures.P @ 5}
    measures = [parse_measure(name, "trec_eval") for name in wanted]
    result = compare_runs(runs, qrels, measures)
    for name, run in runs.items():
        theirs = ir_measures.calc_aggregate(wanted.values(), qrels, run)
        ours = {measure: result.results[name].mean(measure) for measure in measures}
        assert_allclose([*ours.values()], [theirs[m] for m in wanted.values()], rtol=1e-12)


def test_every_run_is_tested_against_the_first_and_corrected(given, compared):
    assert compared.baseline == "old"
    assert next(iter(compared.results)) == "new"
    values = {name: result.values("map") for name, result in compared.results.items()}
    old = values.pop("old")
    for name, test in paired_tests(values, old).items():
        ours = compared.against_baseline[name][AveragePrecision()]
        assert (ours.mean_difference, ours.p) == (test.mean_difference, test.p)
    assert compared.verdict.startswith("By ndcg@10 on 40 judged queries, new leads with 0.")
    assert "Significantly better than old: new (+0." in compared.verdict


def test_a_baseline_is_named(given):
    result = compare_runs(*given, ["map"], baseline="new")
    assert set(result.against_baseline) == {"old", "short"}
    assert "Significantly worse than new: " in result.verdict
    with pytest.raises(ValueError, match="There is no run 'nwe'. Did you mean 'new'?"):
        compare_runs(*given, baseline="nwe")


def test_another_paired_test_is_used_for_all(given, compared):
    signs = compare_runs(*given, ["ndcg@10"], test="sign")
    for name, tests in signs.against_baseline.items():
        assert tests[NDCG(10)].test == "sign"
        ours = compared.against_baseline[name][NDCG(10)]
        assert tests[NDCG(10)].mean_difference == ours.mean_difference
        assert tests[NDCG(10)].p_value != ours.p_value


def test_a_system_does_not_differ_from_itself(given):
    runs, qrels = given
    with pytest.warns(UserWarning, match="the same"):
        result = compare_runs({"a": runs["old"], "b": runs["old"]}, qrels, ["ndcg@10"])
    assert result.against_baseline["b"][NDCG(10)].p == 1
    assert "no run is significantly better than a" in result.verdict


def test_rules_that_mattered_are_said(given):
    runs, qrels = given
    runs = {name: dict(run) for name, run in runs.items()}
    del runs["new"]["q3"]
    runs["short"]["unknown"] = {"d1": 1.0}
    text = " ".join(compare_runs(runs, qrels, ["map"]).to_text().split())
    assert "Judged queries that are not in the run: new 1 of 40. The run retrieved nothing" in text
    assert "Queries without judgments: short 1 of 41. They are left out." in text
    assert "Runs differ in the lengths of their lists: old 40 to 40" in text


def test_a_query_that_a_run_lacks_counts_as_nothing_retrieved(given):
    runs, qrels = given
    less = {query: lists for query, lists in runs["new"].items() if query != "q3"}
    result = compare_runs({"old": runs["old"], "new": less}, qrels, ["map"])
    at = result.test.query_ids.tolist().index("q3")
    assert result.results["new"].values("map")[at] == 0
    assert result.results["old"].values("map")[at] > 0


def test_two_runs_are_needed(given):
    runs, qrels = given
    with pytest.raises(ValueError, match="needs two runs or more. Got old alone"):
        compare_runs({"old": runs["old"]}, qrels)


def test_it_says_what_unjudged_documents_could_change(compared, given):
    assert set(compared.holes.runs) == set(given[0])
    judged = {name: {*of_query} for name, of_query in given[1].items()}
    for name, run in given[0].items():
        shares = [
            np.mean([d in judged[q] for d in sorted(lists, key=lists.get, reverse=True)[:10]])
            for q, lists in run.items()
        ]
        assert_allclose(compared.holes.runs[name].judged, shares)
    assert "judged@10" in compared.to_text()


def test_it_says_how_many_queries_would_be_enough(compared):
    assert set(compared.powers) == {"new", "short"}
    assert "How many queries are enough" in [part.title for part in compared.sections]


def test_where_nothing_is_established_it_says_what_could_have_been_missed(given):
    runs, qrels = given
    noise = np.random.default_rng(1)
    twin = {
        query: {name: score + noise.normal(0, 0.01) for name, score in lists.items()}
        for query, lists in runs["old"].items()
    }
    result = compare_runs({"old": runs["old"], "twin": twin}, qrels, ["ndcg@10"])
    assert "no run is significantly better than old" in result.verdict
    assert result.powers["twin"].verdict in result.verdict


def test_gains_by_category_come_with_the_test_of_their_difference(given):
    runs, qrels = given
    kinds = {f"q{q}": "even" if q % 2 == 0 else "odd" for q in range(40)}
    # In odd queries the new system is the old one.
    mixed = {q: runs["new" if kinds[q] == "even" else "old"][q] for q in qrels}
    result = compare_runs(
        {"old": runs["old"], "mixed": mixed}, qrels, ["ndcg@10"], categories=kinds
    )
    (tests,) = result.categories.values()
    assert tests.tests["odd"].mean_difference == 0
    gain = result.results["mixed"].values("ndcg@10") - result.results["old"].values("ndcg@10")
    even = [kinds[query] == "even" for query in result.test.query_ids.tolist()]
    assert tests.tests["even"].mean_difference == pytest.approx(gain[even].mean())
    said = f"mixed: {tests.verdict[0].lower()}{tests.verdict[1:]}"
    assert said in " ".join(result.verdict.split())
    with pytest.raises(ValueError, match="None of these 40 queries has a category"):
        compare_runs(runs, qrels, categories={"other": "x"})


def test_queries_without_a_category_are_counted(given):
    runs, qrels = given
    kinds = {f"q{q}": "ab"[q % 2] for q in range(30)}
    result = compare_runs(runs, qrels, ["ndcg@10"], categories=kinds)
    assert {t.n_queries for t in result.categories["new"].tests.values()} == {15}
    assert any("10 of 40 queries have no category" in note for note in result.notes)


def test_a_second_judge_is_compared_with_the_first(given):
    runs, qrels = given
    model = {
        query: {name: int(grade > 0) if name != "d1" else 1 for name, grade in grades.items()}
        for query, grades in qrels.items()
    }
    with pytest.raises(ValueError, match="The largest grades of the judges differ: 2 .* 1 "):
        compare_runs(runs, qrels, ["map"], judges={"model": model})
    result = compare_runs(runs, qrels, ["map"], judges={"model": model}, relevance_level=1)
    assert result.judges is not None
    assert result.judges.verdict in result.verdict
    assert [part.name for part in result.sections][-1] == "judges"


def test_it_prints_and_becomes_a_frame_without_costs(compared):
    text = repr(compared)
    assert "40 judged queries" in text
    assert "models" not in text
    assert " run " in text
    assert list(compared.to_frame("pandas")["method"]) == [*compared.results]
    assert "CPU" not in compared.to_markdown() + compared.to_latex() + compared.to_text()
    assert isinstance(compared, RunComparison)


def test_the_report_is_written_without_copies_of_the_runs(compared, tmp_path):
    compared.write(tmp_path / "report")
    written = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert written == ["index.html", "judge-next.tsv", "results.json", "scores.csv"]
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert [method["name"] for method in results["methods"]] == [*compared.results]
    assert {part["name"] for part in results["sections"]} >= {"rules", "holes", "power"}


def test_documents_to_judge_are_written_as_lines_to_be_filled_in(compared, given, tmp_path):
    compared.write(tmp_path)
    lines = (tmp_path / "judge-next.tsv").read_text().splitlines()
    assert len(lines) == len(compared.holes.to_judge) > 0
    for line in lines:
        query, zero, document, grade = line.split("\t")
        assert (zero, grade) == ("0", "-1")
        assert document not in given[1][query]


def test_documents_to_judge_change_nothing_before_they_have_grades(compared, given, tmp_path):
    runs, qrels = given
    compared.write(tmp_path)
    added = {query: dict(grades) for query, grades in qrels.items()}
    for line in (tmp_path / "judge-next.tsv").read_text().splitlines():
        query, _, document, grade = line.split("\t")
        added[query][document] = int(grade)
    again = compare_runs(runs, added, ["ndcg@10", "map", "p@5"])
    assert again.holes.rows == compared.holes.rows
    assert len(again.holes.to_judge) == len(compared.holes.to_judge)
    agreed = compare_runs(runs, added, ["ndcg@10"], judges={"later": added}).judges
    assert agreed is not None
    n_judged = sum(map(len, qrels.values()))
    assert agreed.pairs["judgments", "later"].n_documents == n_judged


def test_the_explorer_has_the_top_of_each_run_and_the_relevant_documents(monkeypatch, given):
    monkeypatch.setattr(RunComparison, "n_explored", 5)
    runs, qrels = given
    result = compare_runs(runs, qrels, ["ndcg@10"])
    explorer = page_data(result)["explorer"]
    assert explorer["n_shown"] == 40
    for query in explorer["queries"]:
        name = str(result.test.query_ids[query["index"]])
        top = {d for r in runs.values() for d in sorted(r[name], key=r[name].get)[-5:]}
        relevant = {d for d, grade in qrels[name].items() if grade > 0}
        assert set(query["documents"]) == top | relevant
        for document, label, *scores in zip(
            query["documents"], query["labels"], *query["scores"].values(), strict=True
        ):
            assert label == qrels[name].get(document, -1)
            for run, score in zip(query["scores"], scores, strict=True):
                expected = runs[run][name].get(document)
                assert score == (None if expected is None else pytest.approx(expected, rel=1e-6))
        # The ranks are those in the whole lists, not among the documents shown.
        for run, ranks in query["ranks"].items():
            order = sorted(runs[run][name], key=runs[run][name].get, reverse=True)
            whole = [order.index(d) if d in order else None for d in query["documents"]]
            assert ranks == whole


def test_texts_stand_in_the_explorer(given):
    runs, qrels = given
    texts = [{"id": "d1", "title": "First", "text": "words " * 100}, {"id": "other", "text": "x"}]
    result = compare_runs(runs, qrels, ["map"], queries={"q7": "what is it"}, documents=texts)
    assert result.texts.documents == {"d1": "First · " + "words " * 100}
    queries = page_data(result)["explorer"]["queries"]
    assert [query["text"] for query in queries if query["text"]] == ["what is it"]
    titled = [query for query in queries if query["titles"]]
    assert titled
    for query in titled:
        shown = dict(zip(query["documents"], query["titles"], strict=True))
        assert shown.pop("d1") == ("First · " + "words " * 100)[:200]
        assert not any(shown.values())
    assert not any("d1" in query["documents"] for query in queries if not query["titles"])


def test_a_comparison_is_the_same_for_files_objects_and_frames(given, tmp_path):
    runs, qrels = given
    lists = {name: as_arrays(run) for name, run in runs.items()}
    for name, run in lists.items():
        lines = zip(run.query_ids, run.document_ids, run.scores, strict=True)
        (tmp_path / f"{name}.trec").write_text(
            "".join(f"{q} Q0 {d} 1 {float(s)!r} x\n" for q, d, s in lines)
        )
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items())
    )
    by_file = compare_runs([tmp_path / f"{name}.trec" for name in runs], tmp_path / "qrels.txt")
    by_array, by_dict = compare_runs(lists, qrels), compare_runs(runs, qrels)
    assert by_file.verdict == by_array.verdict == by_dict.verdict
    assert [*by_file.results] == [*by_dict.results]


def as_arrays(run):
    rows = [(q, d, s) for q, lists in run.items() for d, s in lists.items()]
    queries, documents, scores = zip(*rows, strict=True)
    return Run(np.array(queries), np.array(documents), np.array(scores))


def test_files_with_the_same_name_are_told_apart_by_their_folders(given, tmp_path):
    dataset, _ = make_queries(5, random_state=0)
    dataset = dataset.replaced(document_ids=np.array([f"d{i}" for i in range(dataset.n_documents)]))
    for week in ("last", "this"):
        (tmp_path / week).mkdir()
        write_run(
            dataset,
            np.random.default_rng().random(len(dataset.labels)),
            tmp_path / week / "run.trec",
        )
    qrels = Qrels(
        dataset.query_ids[dataset.query_index].astype(str), dataset.document_ids, dataset.labels
    )
    result = compare_runs([tmp_path / "last" / "run.trec", tmp_path / "this" / "run.trec"], qrels)
    assert set(result.results) == {"last/run", "this/run"}
    assert result.baseline == "last/run"


def test_large_runs_are_pooled_once(monkeypatch, given):
    calls = []
    monkeypatch.setattr(
        "localrank.evaluation.run_comparison.pooled",
        lambda *args: calls.append(1) or pooled(*args),
    )
    with warnings.catch_warnings(action="ignore"):
        compare_runs(*given, ["map"])
    assert calls == [1]


def test_no_sentence_is_said_twice_in_a_terminal(given):
    runs, qrels = given
    result = compare_runs(runs, qrels)
    words = " ".join(result.to_text().split())
    assert result.cautions
    assert all(words.count(" ".join(line.split())) == 1 for line in result.cautions)


def test_one_comparison_is_not_said_to_be_corrected(given):
    runs, qrels = given
    two = {name: runs[name] for name in ("old", "new")}
    assert "corrected for 2 tests" in compare_runs(runs, qrels).to_text()
    assert "corrected for" not in compare_runs(two, qrels).to_text()


def test_the_chosen_test_is_that_of_categories_and_judges(given):
    runs, qrels = given
    kinds = {f"q{q}": "ab"[q % 2] for q in range(40)}
    result = compare_runs(
        runs, qrels, ["ndcg@10"], test="sign", categories=kinds, judges={"again": qrels}
    )
    within = result.categories["new"]
    assert {within.overall.test, *(test.test for test in within.tests.values())} == {"sign"}
    assert result.judges is not None
    for tests in result.judges.tests.values():
        ours = result.against_baseline["new"][NDCG(10)]
        assert (tests["new"].test, tests["new"].p) == ("sign", ours.p)


def test_judges_of_one_scale_need_not_have_the_same_largest_grade(given):
    runs, qrels = given
    mild = {q: {d: min(g, 1) for d, g in grades.items()} for q, grades in qrels.items()}
    result = compare_runs(runs, qrels, ["map"], judges={"mild": mild}, same_scale=True)
    assert result.judges is not None
    pair = result.judges.pairs["judgments", "mild"]
    assert pair.grades.tolist() == [0, 1, 2]
    assert pair.agreement < 1


@pytest.mark.parametrize("given_alone", [{"relevance_level": 2}, {"same_scale": True}])
def test_what_is_for_several_judges_is_refused_with_one(given, given_alone):
    with pytest.raises(ValueError, match="is for several judges, and there is one"):
        compare_runs(*given, **given_alone)


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        (["ndcg@10", "map"], "another one of their list: one 2 of 5. Documents with equal scores "
         "count with the mean over all their orders."),
        (["map(ties=input)", "mrr(ties=input)"], "Documents with equal scores keep the order"),
        (["ndcg@5", "map(ties=input)", "p@5"], "ndcg@5, p@5: documents with equal scores count "
         "with the mean over all their orders. map(ties=input): documents with equal scores keep"),
    ],
)  # fmt: skip
def test_ties_are_noted_with_the_rules_of_the_measures(measures, words):
    runs = {
        "one": {"q1": {"a": 1.0, "b": 1.0, "c": 0.5}, "q2": {"a": 2.0, "b": 1.0}},
        "two": {"q1": {"a": 3.0, "b": 1.0, "c": 0.5}, "q2": {"a": 1.0, "b": 2.0}},
    }
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
    assert words in " ".join(compare_runs(runs, qrels, measures).notes)


def test_gains_that_are_not_possible_are_no_numbers():
    runs = {
        "one": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0, "d": 2.0}},
        "two": {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 2.0, "d": 1.0}},
    }
    result = compare_runs(runs, {"q1": {"a": 1, "b": 0}, "q2": {"c": 3, "d": 1}}, ["ndcg@10"])
    found = result.powers["two"]
    assert found.detectable > 1
    (section,) = (part for part in result.sections if part.name == "power")
    assert section.shown[0].rows[0][1] == "over 1"
    assert "2 queries are too few: not even the largest possible gain, 1" in found.verdict


def test_a_judge_without_a_common_document_is_named(given):
    runs, qrels = given
    other = {query: {"e1": 2, "e2": 0} for query in qrels}
    with pytest.raises(ValueError, match="judgments and other have judged no document in common"):
        compare_runs(runs, qrels, judges={"other": other})


def test_ids_that_are_numbers_are_those_that_are_text():
    queries, documents = np.repeat([1, 2, 3], 2), np.tile([7, 8], 3)
    numbers = Qrels(queries, documents, np.array([1.0, 0, 0, 1, 1, 0]))
    text = Qrels(queries.astype(str), documents.astype(str), numbers.relevance)
    runs = {
        name: Run(queries, documents, np.array(scores, float))
        for name, scores in (("one", [2, 1, 2, 1, 2, 1]), ("two", [1, 2, 2, 1, 1, 2]))
    }
    result = compare_runs(runs, numbers, ["map"], judges={"text": text}, queries={1: "first"})
    assert result.judges is not None
    assert result.judges.pairs["judgments", "text"].agreement == 1
    assert result.texts.queries == {"1": "first"}


def test_one_judged_query_is_no_comparison(given):
    runs, qrels = given
    with pytest.raises(ValueError, match="needs two judged queries or more. Got 1"):
        compare_runs(runs, {"q1": qrels["q1"]})


def test_a_file_is_not_compared_with_itself(given, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(given[0]["old"]))
    with pytest.raises(ValueError, match=r"run\.json is given twice"):
        compare_runs([path, str(path)], given[1])


def test_files_are_named_by_as_many_folders_as_tell_them_apart(given, tmp_path):
    paths = [tmp_path / week / "runs" / "bm25.json" for week in ("last", "this")]
    for path, run in zip(paths, given[0].values(), strict=False):
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(run))
    result = compare_runs(paths, given[1], ["map"])
    assert set(result.results) == {"last/runs/bm25", "this/runs/bm25"}
    packed = tmp_path / "last" / "runs" / "bm25.run"
    packed.write_text(json.dumps(given[0]["new"]))
    both = compare_runs([paths[0], packed], given[1], ["map"])
    assert set(both.results) == {"bm25.json", "bm25.run"}


def test_texts_of_other_queries_and_documents_are_noted(given):
    runs, qrels = given
    result = compare_runs(runs, qrels, ["map"], queries={"x": "y"}, documents={"x": "y"})
    assert sum("Are the ids of the texts those of the runs?" in note for note in result.notes) == 2
    fitting = compare_runs(runs, qrels, ["map"], queries={"q1": "y"}, documents={"d1": "y"})
    assert not any("text" in note for note in fitting.notes)


def test_the_verdict_of_many_runs_is_short(given):
    runs, qrels = given
    rng = np.random.default_rng(0)
    many = {
        f"run {i}": {
            query: {name: score + rng.normal(0, 0.01) for name, score in lists.items()}
            for query, lists in runs["old"].items()
        }
        for i in range(20)
    }
    result = compare_runs(many, qrels, ["ndcg@10"])
    assert len(result.verdict.splitlines()) < 20
    assert "The same is said of 14 more runs below." in result.verdict


def test_the_time_of_all_parts_counts(monkeypatch, given):
    def slow(*args, **options):
        time.sleep(0.2)
        return holes(*args, **options)

    monkeypatch.setattr("localrank.evaluation.run_comparison.holes", slow)
    assert compare_runs(*given, ["map"]).made["seconds"] > 0.2


def test_the_fingerprint_of_the_data_depends_on_labels_and_ids(given):
    runs, qrels = given

    def fingerprint(runs, qrels):
        return compare_runs(runs, qrels, ["map"]).made["data"]["sha256"]

    def renamed(lists, query, document):
        return {
            query(q): {document(d): value for d, value in values.items()}
            for q, values in lists.items()
        }

    changed = {query: dict(grades) for query, grades in qrels.items()}
    name = next(iter(changed["q1"]))
    changed["q1"][name] = 2 if changed["q1"][name] < 2 else 1
    prints = [fingerprint(runs, judgments) for judgments in (qrels, dict(qrels), changed)]
    for names in ((str.upper, str), (str, str.upper)):
        others = {name: renamed(run, *names) for name, run in runs.items()}
        prints.append(fingerprint(others, renamed(qrels, *names)))
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_gains_in_categories_are_improvements_where_smaller_is_better(given):
    runs, qrels = given
    kinds = {f"q{q}": "ab"[q % 2] for q in range(40)}
    result = compare_runs(runs, qrels, ["oer"], categories=kinds)
    saved = result.results["old"].values("oer") - result.results["new"].values("oer")
    assert result.categories["new"].overall.mean_difference == pytest.approx(saved.mean())
    assert result.holes.tests["new"].as_judged.mean_difference == pytest.approx(saved.mean())


def test_power_is_that_of_the_corrected_tests(compared):
    gains = {name: result.values("ndcg@10") for name, result in compared.results.items()}
    for name, found in compared.powers.items():
        assert found.n_tests == 2
        assert found.deviation == pytest.approx((gains[name] - gains["old"]).std(ddof=1))


def test_depth_and_baseline_reach_all_parts(given):
    runs, qrels = given
    result = compare_runs(runs, qrels, ["map"], baseline="new", depth=3, judges={"again": qrels})
    assert (result.holes.depth, result.holes.baseline) == (3, "new")
    assert result.judges is not None
    assert result.judges.baseline == "new"
    with pytest.raises(ValueError, match="'depth' argument must be 1 or larger. Got 0"):
        compare_runs(runs, qrels, ["map"], depth=0)


def with_a_hole(n_queries, ranked, unjudged="w"):
    """Queries in which u is relevant, and one document, w, unjudged: lists of two systems."""
    qrels = {
        f"q{q}": {d: int(d == "u") for lists in ranked.values() for d in lists if d != unjudged}
        for q in range(n_queries)
    }
    runs = {
        name: {f"q{q}": {d: -float(i) for i, d in enumerate(lists)} for q in range(n_queries)}
        for name, lists in ranked.items()
    }
    return runs, qrels


def test_a_gain_that_the_unjudged_could_establish_is_said_though_they_cannot_turn_it():
    found = compare_runs(*with_a_hole(8, {"old": "vuw", "new": "wuv"}), ["mrr"]).holes.tests["new"]
    assert (found.as_judged.sign, found.best.sign, found.worst.sign) == (0, 1, 0)
    assert found.depends
    assert "could establish one" in found.verdict


def test_a_gain_depends_on_the_unjudged_if_values_between_the_bounds_vary_more():
    # As judged, new is better by 1/9 - 1/10 in every query; in those where w is relevant, by 9/10.
    found = compare_runs(
        *with_a_hole(8, {"old": "abcdefghiu", "new": "wabcdefguh"}), ["mrr"]
    ).holes.tests["new"]
    assert (found.as_judged.sign, found.best.sign, found.worst.sign) == (1, 1, 1)
    assert found.largest_p > 0.05
    assert found.depends
    assert "values between the bounds may vary more" in found.verdict


def test_negative_grades_of_a_judge_count_as_zero(given):
    runs, qrels = given
    spam = {q: {d: g or -2 for d, g in grades.items()} for q, grades in qrels.items()}
    result = compare_runs(runs, qrels, ["map"], judges={"spam": spam})
    assert result.judges is not None
    pair = result.judges.pairs["judgments", "spam"]
    assert (pair.agreement, pair.grades.tolist()) == (1, [0, 1, 2])
