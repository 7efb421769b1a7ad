import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

import localrank
from localrank.cli import app, main
from localrank.data import make_queries, read_letor, read_run, write_letor
from localrank.measures import NDCG
from localrank.measures.parsing import TOOLS
from localrank.rankers import LGMML, LambdaMART, RankSVM, distil
from localrank.rankers.distilled import student_in_coordinates
from localrank.recipes import local_rank


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    dataset, _ = make_queries(60, n_documents=(5, 15), n_features=8, random_state=0)
    dataset = dataset.with_features(dataset.features)
    write_letor(dataset.select(np.arange(40)), folder / "train.txt")
    write_letor(dataset.select(np.arange(40, 50)), folder / "vali.txt")
    write_letor(dataset.select(np.arange(50, 60)), folder / "test.txt")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.localrank"
    LambdaMART(20).fit(read_letor(folder / "train.txt")).save(path)
    return path


def test_train_rank_and_evaluate_agree_with_python(run, folder, tmp_path):
    model, trec = tmp_path / "model.localrank", tmp_path / "run.trec"
    options = ["--method", "lambdamart", "--set", "n_trees=20", "--set", "measure=map"]
    assert run("train", folder / "train.txt", *options, "--seed", 3, "-o", model)[0] == 0
    code, _, err = run("rank", model, folder / "test.txt", "-o", trec)
    assert code == 0
    assert re.search(r"into .* in [0-9.]+ s, peak memory [0-9.]+ [MG]B", err)
    code, out, _ = run("evaluate", trec, folder / "test.txt", "--measures", "ndcg@5", "--json")
    assert code == 0
    train, test = read_letor(folder / "train.txt"), read_letor(folder / "test.txt")
    ranker = LambdaMART(20, random_state=3).fit(train)
    expected = NDCG(5).mean(test, ranker.predict(test))
    assert json.loads(out)["mean"]["ndcg@5"] == pytest.approx(expected, abs=1e-12)


def test_train_uses_validation_queries(run, folder, tmp_path):
    model = tmp_path / "model.localrank"
    files = [folder / "train.txt", "--valid", folder / "vali.txt", "-o", model]
    code, out, _ = run(
        "train", *files, "--set", "n_trees=30", "--set", "learning_rate=0.5", "--json"
    )
    assert code == 0
    assert set(json.loads(out)) >= {"training", "validation", "seconds", "bytes"}
    assert localrank.load(model).n_trees_ < 30


def test_train_prints_a_table_for_people(run, folder, tmp_path):
    code, out, err = run(
        "train", folder / "train.txt", "--method", "best-feature", "-o", tmp_path / "model"
    )
    assert code == 0
    assert "ndcg@10" in out
    assert re.search(r"Trained in [0-9.]+ s, peak memory [0-9.]+ [MG]B, saved to", err)


def test_distil_makes_the_model_that_python_makes(run, model, folder, tmp_path):
    output = tmp_path / "one.localrank"
    files = [folder / "train.txt", folder / "vali.txt"]
    options = ["--n-trees", 9, "--n-leaves", 4, "--seed", 2, "-o", output]
    code, out, err = run("distil", model, *files, *options)
    assert code == 0
    assert "Learning the scores of 50 lists" in out + err
    assert re.search(r"explains \d+\.\d% of the variance", out + err)
    train, more, test = (read_letor(folder / f"{name}.txt") for name in ("train", "vali", "test"))
    expected = distil(
        localrank.load(model),
        train,
        unlabelled=more,
        student=student_in_coordinates(9, 4, random_state=2),
    )
    assert (localrank.load(output).predict(test) == expected.predict(test)).all()
    code, _, err = run("distil", model, *files, "-o", "-")
    assert code == 1
    assert "A model cannot be written to standard output" in err


def test_rank_writes_to_standard_output_by_default(run, model, folder, tmp_path):
    _, out, _ = run("rank", model, folder / "test.txt", "--tag", "mine")
    run("rank", model, folder / "test.txt", "--tag", "mine", "-o", tmp_path / "run.trec")
    assert out == (tmp_path / "run.trec").read_text()


def test_tables_need_no_labels_to_be_ranked(run, folder, tmp_path):
    train = read_letor(folder / "train.txt")
    frame = pd.DataFrame(train.features, columns=[f"f{i}" for i in range(8)])
    frame["qid"] = train.query_index
    frame["document_id"] = [f"d{i}" for i in range(len(frame))]
    frame.to_parquet(tmp_path / "unlabelled.parquet")
    frame.assign(label=train.relevance).to_csv(tmp_path / "labelled.csv", index=False)
    model, trec = tmp_path / "model.localrank", tmp_path / "run.trec"
    options = ["--method", "gbrt", "--set", "n_trees=5"]
    assert run("train", tmp_path / "labelled.csv", *options, "-o", model)[0] == 0
    assert run("rank", model, tmp_path / "unlabelled.parquet", "-o", trec)[0] == 0
    assert set(read_run(trec).document_ids) == set(frame["document_id"])
    assert run("evaluate", trec, tmp_path / "labelled.csv")[0] == 0


def test_evaluate_reads_qrels(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n")
    (tmp_path / "qrels").write_text("1 0 b 1\n")
    _, out, _ = run(
        "evaluate", tmp_path / "run.trec", tmp_path / "qrels", "--measures", "mrr", "--json"
    )
    assert json.loads(out) == {"n_queries": 1, "mean": {"mrr": 0.5}}


def test_evaluate_lists_queries_and_explains(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n2 Q0 b 2 1.0 x\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 c 1\n")
    files = [tmp_path / "run.trec", tmp_path / "qrels"]
    _, out, err = run("evaluate", *files, "--measures", "p@1", "--per-query", "--explain")
    assert re.findall(r"(\w+) +(\d\.\d+)", out) == [
        ("1", "1.0000"),
        ("2", "0.0000"),
        ("mean", "0.5000"),
    ]
    assert "Relevant: label > 0" in err


def test_measures_with_several_parameters_stay_whole(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    names = "ndcg(gain=linear,ties=input)@3,map"
    files = [tmp_path / "run.trec", tmp_path / "qrels"]
    _, out, _ = run("evaluate", *files, "--measures", names, "--json")
    assert list(json.loads(out)["mean"]) == ["ndcg(gain=linear,ties=input)@3", "map"]


def test_evaluate_says_what_the_run_lacks(run, model, folder, tmp_path):
    run("rank", model, folder / "test.txt", "-o", tmp_path / "run.trec")
    lines = (tmp_path / "run.trec").read_text().splitlines()
    (tmp_path / "run.trec").write_text("\n".join(lines[:-2]))
    _, _, err = run("evaluate", tmp_path / "run.trec", folder / "test.txt")
    assert f"2 of {len(lines)} documents are not in the run" in err


def test_info_describes_data(run, tmp_path):
    text = "0 qid:1 1:5 2:NULL 3:1\n1 qid:1 1:5 2:7 3:2\n0 qid:2 1:5 2:3 3:2\n0 qid:2 1:5 2:3 3:2\n"
    (tmp_path / "data.txt").write_text(text)
    code, out, _ = run("info", tmp_path / "data.txt", "--json")
    assert code == 0
    assert json.loads(out) == {
        "n_queries": 2,
        "n_documents": 4,
        "n_features": 3,
        "feature_names": None,
        "categories": {},
        "documents_per_query": {"min": 2, "median": 2.0, "max": 2},
        "document_ids": False,
        "constant_features": ["feature 1"],
        "missing_values": {"feature 2": 1},
        "labels": {"0": 3, "1": 1},
        "queries_without_relevant_documents": 1,
        "queries_with_one_label": 1,
        "best_feature": {"name": "feature 2", "ndcg@5": 0.5, "tie_rate": 0.5},
    }
    _, out, _ = run("info", tmp_path / "data.txt")
    assert "feature 2: NDCG@5 0.5000, 50.0 % of documents tied" in out


def test_info_describes_a_table_without_labels(run, tmp_path):
    (tmp_path / "data.csv").write_text("qid,a\n007,2\n007,3\n")
    code, out, _ = run("info", tmp_path / "data.csv", "--json")
    assert code == 0
    assert "labels" not in json.loads(out)


def test_ties_between_queries_are_no_ties(run, tmp_path):
    lines = "0 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:2\n1 qid:2 1:3\n"
    (tmp_path / "data.txt").write_text(lines)
    _, out, _ = run("info", tmp_path / "data.txt", "--json")
    assert json.loads(out)["best_feature"]["tie_rate"] == 0


def test_the_convention_changes_the_measure(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 2\n")
    command = ["evaluate", tmp_path / "run.trec", tmp_path / "qrels", "--measures", "ndcg@2"]
    values = [
        json.loads(run(*command, "--convention", convention, "--json")[1])["mean"].popitem()[1]
        for convention in ("default", "trec_eval")
    ]
    discount = 1 / np.log2(3)
    exponential, linear = (1 + 3 * discount) / (3 + discount), (1 + 2 * discount) / (2 + discount)
    assert values == pytest.approx([exponential, linear])


def test_all_conventions_are_shown_with_what_they_do_differently(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n2 Q0 a 1 1 x\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 2\n2 0 a 0\n")
    files = [tmp_path / "run.trec", tmp_path / "qrels"]
    lines = json.loads(run("evaluate", *files, "--conventions", "all", "--json")[1])
    shown = lines["conventions"]["ndcg@10"]
    assert list(shown) == list(TOOLS)
    for convention, line in shown.items():
        single = run(
            "evaluate", *files, "--measures", "ndcg@10", "--convention", convention, "--json"
        )
        assert json.loads(single[1])["mean"] == {line["measure"]: line["mean"]}
    assert shown["sklearn"]["differences"] == ["gain is the label"]
    _, out, err = run("evaluate", *files, "--conventions", "all", "--measures", "p@1,err@5")
    assert re.findall(r"^ (\w+) +(\d\.\d{4})", out, re.MULTILINE)[:2] == [
        ("default", "0.5000"),
        ("letor3", "0.5000"),
    ]
    assert "p@1 is not in LightGBM, scikit-learn, allRank" in err
    assert "err@5 of CatBoost: Labels must be at most" in err


def test_a_query_without_a_value_is_null_in_json(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n")
    (tmp_path / "qrels").write_text("1 0 a 0\n")
    command = ["evaluate", tmp_path / "run.trec", tmp_path / "qrels", "--measures"]
    _, out, _ = run(*command, "map(empty=skip)", "--per-query", "--json", "--explain")
    result = json.loads(out)
    assert result["mean"] == {"map(empty=skip)": None}
    assert result["queries"] == {"1": {"map(empty=skip)": None}}
    assert "left out of the mean" in result["explanations"]["map(empty=skip)"]


def test_every_judged_query_counts_whatever_the_labels_come_in(run, model, folder, tmp_path):
    test = read_letor(folder / "test.txt")
    run("rank", model, folder / "test.txt", "-o", tmp_path / "run.trec")
    lines = (tmp_path / "run.trec").read_text().splitlines()
    first = lines[0].split()[0]
    kept = [line for line in lines if line.split()[0] != first]
    (tmp_path / "half.trec").write_text("\n".join([*kept, "zz Q0 z 1 1.0 x"]))
    positions = np.concatenate([np.arange(1, size + 1) for size in test.query_sizes])
    judgements = zip(test.query_ids[test.query_index], positions, test.relevance, strict=True)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {y:g}\n" for q, d, y in judgements))
    results = [
        run("evaluate", tmp_path / "half.trec", labels, "--json")
        for labels in (folder / "test.txt", tmp_path / "qrels")
    ]
    assert json.loads(results[0][1]) == json.loads(results[1][1])
    for _, _, err in results:
        assert "1 of 10 queries are not in the run" in err
        assert "1 documents of the run have no label" in err


def test_judgements_may_be_compressed_and_begin_with_a_blank_line(run, tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n")
    (tmp_path / "qrels.gz").write_bytes(gzip.compress(b"\n1 0 a 1\n"))
    assert run("evaluate", tmp_path / "run.trec", tmp_path / "qrels.gz")[0] == 0


def test_a_test_file_may_lack_the_last_features_if_their_number_is_said(run, tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:1 1:1 3:2\n1 qid:1 1:2 3:1\n")
    (tmp_path / "test.txt").write_text("0 qid:1 1:1\n1 qid:1 1:2\n")
    model = tmp_path / "model"
    files = [tmp_path / "train.txt", "--valid", tmp_path / "test.txt", "--n-features", 3]
    assert run("train", *files, "--method", "best-feature", "-o", model)[0] == 0
    assert run("rank", model, tmp_path / "test.txt", "--n-features", 3)[0] == 0


def test_true_and_false_are_understood_in_settings(run, folder, tmp_path):
    options = ["--method", "Best-Feature", "--set", "both_directions=TRUE", "-o", tmp_path / "m"]
    assert run("train", folder / "train.txt", *options)[0] == 0
    assert localrank.load(tmp_path / "m").both_directions is True


def test_threads_are_those_asked_for(run, folder, tmp_path):
    options = ["--set", "n_trees=2", "--n-jobs", "2", "-o", tmp_path / "m"]
    assert run("train", folder / "train.txt", *options)[0] == 0
    assert localrank.load(tmp_path / "m").n_jobs == 2


def test_a_warning_is_one_line(run, tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:1 1:1\n1 qid:1 1:2\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run("train", tmp_path / "train.txt", "-o", tmp_path / "m")
    assert code == 0
    (line,) = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert "all documents get the same score" in line


def test_evaluate_says_how_queries_without_relevant_documents_count(run, tmp_path):
    lines = ["1 qid:1 1:3", "0 qid:1 1:2", "0 qid:2 1:1", "0 qid:2 1:4", "0 qid:3 1:1"]
    (tmp_path / "test.txt").write_text("\n".join(lines) + "\n")
    ranked = ["1 Q0 1 1 2.0 x", "1 Q0 2 2 1.0 x", "2 Q0 1 1 2.0 x", "2 Q0 2 2 1 x", "3 Q0 1 1 2 x"]
    (tmp_path / "run.trec").write_text("\n".join(ranked) + "\n")
    files = [tmp_path / "run.trec", tmp_path / "test.txt"]
    _, out, err = run("evaluate", *files, "--measures", "ndcg@10,map")
    assert "2 of 3 queries have no relevant document: counted as 0 in ndcg@10, map" in err
    assert "0.3333" in out
    _, _, err = run("evaluate", *files, "--measures", "ndcg@10", "--convention", "lightgbm")
    assert "counted as 1 in ndcg" in err
    (tmp_path / "test.txt").write_text("\n".join(lines[:2]) + "\n")
    assert "no relevant" not in run("evaluate", *files)[2]


def test_help_shows_no_type_beside_a_flag(run):
    for command in ([], ["evaluate"]):
        code, out, _ = run(*command, "--help")
        assert code == 0
        assert "--help" in out
        assert "bool" not in out


def test_info_describes_a_model(run, model):
    _, out, _ = run("info", model, "--json")
    assert json.loads(out)["class"] == "LambdaMART"
    _, out, _ = run("info", model)
    assert "40 queries" in out


def test_info_shows_nested_rankers_as_running_text(run, folder, tmp_path):
    options = ["--method", "best", "--set", "n_trees=5", "-o", tmp_path / "best.localrank"]
    assert run("train", folder / "train.txt", *options)[0] == 0
    _, out, _ = run("info", tmp_path / "best.localrank")
    assert any("LambdaMART(n_trees=5), GBRT(n_trees=5" in line for line in out.splitlines())


def test_local_methods_are_trained_with_parameters_of_their_parts(run, folder, tmp_path):
    model = tmp_path / "model.localrank"
    options = ["--set", "n_clusters=3", "--set", "ranker=rank-svm", "--set", "ranker__C=0.1"]
    code, _, err = run(
        "train", folder / "train.txt", "--method", "local-rank", *options, "-o", model
    )
    assert code == 0
    assert "n_groups 3, n_merged_groups 0" in err
    test = read_letor(folder / "test.txt")
    by_python = local_rank(3, ranker=RankSVM(C=0.1)).fit(read_letor(folder / "train.txt"))
    assert (localrank.load(model).predict(test) == by_python.predict(test)).all()


@pytest.fixture(scope="module")
def local_model(folder):
    path = folder / "local.localrank"
    local_rank(3, ranker=RankSVM()).fit(read_letor(folder / "train.txt")).save(path)
    return path


def test_explain_shows_the_group_the_neighbours_and_every_groups_ranks(run, local_model, folder):
    code, out, _ = run("explain", local_model, folder / "test.txt", "--query", 55)
    assert code == 0
    group = re.search(r"Query 55 is served by (group \d) of 3 groups", out)[1]
    assert "Nearest training queries" in out
    assert re.search(rf"document +label +score +{group}", out)


def test_explain_gives_numbers_to_scripts(run, local_model, folder):
    data = folder / "test.txt"
    code, out, _ = run("explain", local_model, data, "-q", 55, "--neighbours", 2, "--json")
    assert code == 0
    facts = json.loads(out)
    expected = localrank.load(local_model).explain(read_letor(data), 55, n_neighbours=2)
    assert facts["neighbours"] == expected.neighbours.tolist()
    assert facts["group_scores"] == expected.group_scores.tolist()
    assert sum(facts["weights"]) == 1
    for document in facts["documents"]:
        total = document["base"] + sum(document["contributions"].values())
        assert total == pytest.approx(document["score"])


def test_explain_shows_what_features_contribute_to_any_model(run, model, folder):
    data = folder / "test.txt"
    code, out, _ = run("explain", model, data, "--query", 55)
    assert code == 0
    assert "The mean score of query 55 is" in out
    assert re.search(r"document +label +score +first +second +third +others", out)
    _, out, _ = run("explain", model, data, "--query", 55, "--json")
    facts = json.loads(out)
    one = read_letor(data)
    one = one.select(one.query_ids == 55)
    scores = np.sort(localrank.load(model).predict(one))[::-1]
    assert [document["score"] for document in facts["documents"]] == scores.tolist()
    for document in facts["documents"]:
        total = document["base"] + sum(document["contributions"].values())
        assert total == pytest.approx(document["score"])


def test_explain_tells_what_puts_one_document_above_another(run, model, folder):
    data = folder / "test.txt"
    _, out, _ = run("explain", model, data, "-q", 55, "--json")
    best, *_, worst = (document for document in json.loads(out)["documents"])
    pair = ["--pair", best["document"], worst["document"]]
    code, out, _ = run("explain", model, data, "-q", 55, *pair)
    assert code == 0
    assert f"document {best['document']} is above document {worst['document']}" in out
    _, out, _ = run("explain", model, data, "-q", 55, *pair, "--json")
    facts = json.loads(out)
    gap = best["score"] - worst["score"]
    assert sum(facts["differences"].values()) == pytest.approx(gap)


def test_explain_ranks_where_features_contribute_no_sum(run, folder, tmp_path):
    path = tmp_path / "m.localrank"
    LGMML(n_metrics=5).fit(read_letor(folder / "train.txt")).save(path)
    code, out, _ = run("explain", path, folder / "test.txt", "-q", 55)
    assert code == 0
    assert "LGMML has no exact contributions" in out
    assert re.search(r"document +label +score", out)
    code, _, err = run("explain", path, folder / "test.txt", "-q", 55, "--pair", 1, 2)
    assert code == 1
    assert "LGMML has no exact contributions" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "absent.txt"], "absent.txt: No such file"),
        (["info", "{folder}"], "is a folder"),
        (["train", "{folder}/bad.txt", "-o", "{folder}/m"], "bad.txt:1: "),
        (["train", "{folder}/train.txt", "-o", "{folder}/no/m"], "does not exist"),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--method", "lamdamart"],
            "There is no method 'lamdamart'. Did you mean 'lambdamart'?",
        ),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--set", "n_tree=5"],
            "lambdamart has no parameter 'n_tree'. Did you mean 'n_trees'?",
        ),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--set", "n_trees"],
            "must read name=value. Got 'n_trees'",
        ),
        (
            [
                *("train", "{folder}/train.txt", "-o", "{folder}/m", "--method", "local-rank"),
                *("--set", "ranker_C=5"),
            ],
            "local-rank has no parameter 'ranker_C'. Did you mean 'ranker__C'?",
        ),
        (["rank", "{folder}/train.txt", "{folder}/test.txt"], "not a localrank model file"),
        (
            ["explain", "{folder}/model.localrank", "{folder}/test.txt", "-q", "no"],
            "The data has no query 'no'. Its 10 queries are",
        ),
        (
            [
                *("explain", "{folder}/model.localrank", "{folder}/test.txt", "-q", "55"),
                *("--pair", "1", "999"),
            ],
            "Query 55 has no document '999'",
        ),
        (["train", "{folder}/train.txt", "-o", "{folder}"], "is a folder"),
        (["train", "{folder}/train.txt", "-o", "-"], "cannot be written to standard output"),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--valid", "{folder}/train.txt"],
            "is training data",
        ),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--set", "n_trees=many"],
            "'n_trees' parameter of LambdaMART must be a whole number from 1 to 100000. Got 'many'",
        ),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--set", "n_leaves=10000000"],
            "'n_leaves' parameter of LambdaMART must be a whole number from 2 to 131072",
        ),
        (
            ["train", "{folder}/train.txt", "-o", "{folder}/m", "--set", "measure=5"],
            "must be a measure or its name",
        ),
        (
            [
                *("train", "{folder}/train.txt", "-o", "{folder}/m", "--method", "best-feature"),
                *("--set", "both_directions=maybe"),
            ],
            "must be True or False. Got 'maybe' instead",
        ),
        (["train", "{folder}/unlabelled.csv", "-o", "{folder}/m"], "no column 'label'"),
        (["train", "{folder}/train.txt", "{folder}/unlabelled.csv", "-o", "m"], "not both"),
        (["evaluate", "{folder}/other.trec", "{folder}/test.txt"], "Give the data that was ranked"),
        (
            ["evaluate", "{folder}/other.trec", "{folder}/test.txt", "--measures", "ndgc@5"],
            "ndgc",
        ),
        (
            ["evaluate", "{folder}/other.trec", "{folder}/test.txt", "--measures", ","],
            "at least one",
        ),
    ],
)
def test_an_error_is_one_line_and_exit_code_1(run, folder, model, arguments, message):
    (folder / "bad.txt").write_text("x qid:1 1:2\n")
    (folder / "other.trec").write_text("nobody Q0 nothing 1 1.0 x\n")
    (folder / "unlabelled.csv").write_text("qid,a\n1,2\n")
    code, _, err = run(*(argument.format(folder=folder) for argument in arguments))
    assert code == 1
    assert message in err
    assert "Traceback" not in err
    *before, last = err.strip().splitlines()
    assert last.startswith("error: ")
    assert all(line.startswith("Training ") for line in before)


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["localrank", "info", "absent.txt", "--debug"])
    with pytest.raises(FileNotFoundError):
        main()


def test_a_wrong_option_is_exit_code_2(run):
    assert run("info", "--nonsense")[0] == 2


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told(run, option):
    assert run(option)[1].strip() == f"localrank {localrank.__version__}"


def test_letters_that_a_file_cannot_hold_are_replaced():
    code = "import sys; sys.argv = ['localrank', 'methods']; from localrank.cli import main\n"
    code += "try: main()\nexcept SystemExit: print(chr(0x2212))"
    windows = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-c", code], env=windows, capture_output=True)
    assert done.stdout.strip().endswith(b"?")
    assert done.stderr == b""


NAMES = list(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", [[], *([name] for name in NAMES)], ids=str)
def test_help_has_a_short_name_everywhere(run, command):
    code, out, _ = run(*command, "-h")
    assert code == 0
    assert "Usage" in out
    assert out == run(*command, "--help")[1]


NO_DETECTION = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"


def test_the_shell_completes_commands_and_options(tmp_path):
    def localrank(*arguments, **variables):
        code = "import sys; sys.argv[0] = 'localrank'; from localrank.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            # Not the shell that the tests run in, which typer would ask.
            env={**os.environ, "HOME": str(tmp_path), **variables, NO_DETECTION: "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    localrank("--install-completion", "bash")
    assert "localrank" in (tmp_path / ".bashrc").read_text()
    asked = {"_LOCALRANK_COMPLETE": "complete_bash", "COMP_WORDS": "localrank com"}
    assert localrank(**asked, COMP_CWORD="1").split() == ["compare"]
    asked["COMP_WORDS"] = "localrank compare --me"
    assert localrank(**asked, COMP_CWORD="2").split() == ["--methods", "--measures"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sign", "said"),
    [
        (["train", "train.txt", "-o", "m", "--method", "{}"], "Training ", "interrupted"),
        (
            ["compare", "train.txt", "test.txt", "--methods", "{}", "--no-bounds", "-o", "report"],
            "lambdamart trained",
            "interrupted; the same command continues",
        ),
    ],
    ids=["train", "compare"],
)
def test_control_c_is_one_line_while_threads_train(folder, tmp_path, arguments, sign, said):
    name = "adaptive-training"
    trees = "ranker__n_trees=100000"
    setting = trees if arguments[0] == "train" else f"{name}.{trees}"
    for file in ("train.txt", "test.txt"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    command = [argument.format(name) for argument in arguments]
    with subprocess.Popen(
        [sys.executable, "-m", "localrank", *command, "--n-jobs", "2", "--set", setting],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        seen = ""
        while sign not in seen:
            line = process.stderr.readline()
            assert line, seen
            seen += line
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == said
    assert not re.search("Traceback|Exception|Abort", err)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_numbers_stay_whole_however_narrow_the_terminal(
    run, folder, model, local_model, tmp_path, width
):
    trec, data = tmp_path / "run.trec", folder / "test.txt"
    run("rank", model, data, "-o", trec)
    train = ["train", folder / "train.txt", "--method", "rank-svm", "-o", tmp_path / "m"]
    for command in (
        ["info", data],
        ["info", local_model],
        ["explain", local_model, data, "-q", "55"],
        ["evaluate", trec, data, "--per-query", "--measures", "ndcg@5,ndcg@10,map,p@5,err@10"],
        [*train, "--valid", folder / "vali.txt", "--measures", "ndcg@5,ndcg@10,map,p@5,err@10"],
        ["methods"],
    ):
        narrow = run(*command, columns=width)[1]
        wide = run(*command)[1]
        assert max(map(len, narrow.splitlines())) <= width
        assert words_with_digits(narrow) >= words_with_digits(wide)


def words_with_digits(text):
    return {word.strip("().,:;") for word in text.split() if re.search(r"\d", word)}


def test_a_closed_pipe_is_met_in_silence(model, folder):
    command = f"{sys.executable} -m localrank rank {model} {folder / 'test.txt'} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_help_and_import_load_nothing_heavy():
    code = (
        "import sys, localrank, localrank.cli\n"
        "print([m for m in ('numpy', 'numba', 'lightgbm', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_wait_for_compilation_is_explained_once(folder, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "localrank", "info", str(folder / "test.txt")]
    said = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    ]
    assert ["compiling" in text for text in said] == [True, False]


def test_an_error_that_nobody_expected_is_named_in_one_line(run, folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("no\nluck")

    monkeypatch.setattr("localrank.rankers.BestFeature._fit", fail)
    arguments = ["train", folder / "train.txt", "-o", folder / "m", "--method", "best-feature"]
    code, _, err = run(*arguments)
    assert code == 1
    last = err.strip().splitlines()[-1]
    assert last == "error: RuntimeError: no luck (run with --debug to see where)"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_trained_model_outlives_a_full_disk(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    files = [folder / "train.txt", "--method", "best-feature"]
    code, _, err = run("train", *files, "-o", "/dev/full")
    assert code == 1
    kept = re.search(r"/dev/full: No space left on device. The .* model is kept as (\S+):", err)
    assert localrank.load(kept[1]).n_features_in_ == 8


def test_a_model_given_as_data_and_data_given_as_a_model_are_told(run, folder, model, tmp_path):
    code, _, err = run("train", model, "-o", tmp_path / "m")
    assert code == 1
    assert f"error: {model}:1: the file is a model that localrank saved, not data" in err
    code, _, err = run("rank", folder / "train.txt", model)
    assert code == 1
    assert f"error: {folder / 'train.txt'}: not a localrank model file." in err
    code, _, err = run("rank", folder, folder / "train.txt")
    assert code == 1
    assert f"error: {folder} is a folder. Give the file of a model." in err
