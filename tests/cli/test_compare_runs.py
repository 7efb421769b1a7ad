"""`localrank compare --runs`."""

import gzip
import json

import pytest
from evaluation.test_run_comparison import made_up


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    runs, qrels = made_up()
    for name, run in runs.items():
        lines = (f"{q} Q0 {d} 1 {s!r} {name}\n" for q, ds in run.items() for d, s in ds.items())
        (folder / f"{name}.trec").write_text("".join(lines))
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, ds in qrels.items() for d, g in ds.items())
    )
    (folder / "kinds.tsv").write_text("".join(f"q{q}\t{'ab'[q % 2]}\n" for q in range(40)))
    (folder / "queries.tsv").write_text("".join(f"q{q}\twords of {q}\n" for q in range(40)))
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"id": f"d{d}", "text": f"Text of {d}"}) + "\n" for d in range(60))
    )
    return folder


def test_runs_are_compared_and_the_report_is_written(run, files, tmp_path):
    code, out, err = run(
        "compare", "--runs", files / "old.trec", files / "new.trec", files / "short.trec",
        "--qrels", files / "qrels.txt", "-o", tmp_path / "report",
    )  # fmt: skip
    assert code == 0, err
    assert "40 judged queries" in out
    assert "ndcg@10 against old" in out
    assert "Significantly better than old: new (+0." in " ".join(out.split())
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert next(method["name"] for method in results["methods"]) == "new"
    assert results["measures"] == ["ndcg@10", "map", "mrr@10"]
    assert (tmp_path / "report" / "index.html").exists()
    assert (tmp_path / "report" / "judge-next.tsv").exists()


def test_all_options_of_runs(run, files, tmp_path):
    packed = tmp_path / "new.trec.gz"
    packed.write_bytes(gzip.compress((files / "new.trec").read_bytes()))
    code, out, err = run(
        "compare", "--runs", files / "old.trec", packed, "--qrels", files / "qrels.txt",
        "--qrels", files / "qrels.txt", "--baseline", "new", "--measures", "map,recall@20",
        "--convention", "trec_eval", "--test", "randomisation", "--categories",
        files / "kinds.tsv", "--queries", files / "queries.tsv", "--corpus",
        files / "corpus.jsonl", "-o", tmp_path / "report", "--json",
    )  # fmt: skip
    assert code == 0, err
    results = json.loads(out)
    assert results["baseline"] == "new"
    assert [part["name"] for part in results["sections"]][-2:] == ["categories", "judges"]
    page = (tmp_path / "report" / "index.html").read_text()
    assert "words of 7" in page
    assert "Text of 5" in page


def test_judges_of_one_scale(run, files, tmp_path):
    mild = tmp_path / "mild.txt"
    mild.write_text((files / "qrels.txt").read_text().replace(" 2\n", " 1\n"))
    arguments = (
        "compare", "--runs", files / "old.trec", files / "new.trec", "--qrels",
        files / "qrels.txt", "--qrels", mild, "-o", tmp_path / "report",
    )  # fmt: skip
    code, _out, err = run(*arguments)
    assert (code, "--same-scale" in err) == (1, True)
    code, out, err = run(*arguments, "--same-scale")
    assert code == 0, err
    assert "Documents by grade: judgments (rows), mild.txt (columns)" in out


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (["2"], "2 (judgments), 2 (mild.txt)"),
        (["qrels.txt=2", "mild.txt=1"], "2 (judgments), 1 (mild.txt)"),
        (["2", "mild.txt=1"], "2 (judgments), 1 (mild.txt)"),
        (["0.5", "qrels.txt=1.5"], "1.5 (judgments), 0.5 (mild.txt)"),
    ],
)
def test_judges_have_relevance_levels_of_their_own(run, files, tmp_path, levels, said):
    mild = tmp_path / "mild.txt"
    mild.write_text((files / "qrels.txt").read_text().replace(" 2\n", " 1\n"))
    options = [word for level in levels for word in ("--relevance-level", level)]
    code, out, err = run(
        "compare", "--runs", files / "old.trec", files / "new.trec", "--qrels",
        files / "qrels.txt", "--qrels", mild, *options, "-o", tmp_path / "report",
    )  # fmt: skip
    assert code == 0, err
    assert f"otherwise as 0: {said}." in " ".join(out.split())


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["high"], "like qrels.txt=2. Got 'high' instead."),
        (["qrels.txt="], "Got 'qrels.txt=' instead."),
        (["nan"], "Got 'nan' instead."),
        (["qrels=2"], "there are no judgments 'qrels'. Did you mean 'qrels.txt'?"),
        (["qrels.txt=2"], "mild.txt has no grade. Add mild.txt=GRADE."),
        (["2", "1"], "two grades for all judges."),
        (["mild.txt=2", "mild.txt=1"], "two grades for mild.txt."),
    ],
)
def test_wrong_relevance_levels_are_refused(run, files, tmp_path, levels, message):
    mild = tmp_path / "mild.txt"
    mild.write_text((files / "qrels.txt").read_text())
    options = [word for level in levels for word in ("--relevance-level", level)]
    code, _out, err = run(
        "compare", "--runs", files / "old.trec", files / "new.trec", "--qrels",
        files / "qrels.txt", "--qrels", mild, *options, "-o", tmp_path / "report",
    )  # fmt: skip
    assert code != 0
    assert message in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "old.trec", "new.trec"], "Give them: --qrels FILE"),
        (["--runs", "old.trec", "--qrels", "qrels.txt"], "needs two runs or more"),
        (["old.trec", "new.trec", "--qrels", "qrels.txt"], "--qrels: these options go with --runs"),
        (
            ["--runs", "old.trec", "new.trec", "--qrels", "qrels.txt", "--tune", "--folds", "3"],
            "--folds, --tune: with --runs nothing is trained",
        ),
        (
            ["--runs", "old.trec", "new.trec", "--qrels", "qrels.txt", "--label", "grade"],
            "--label: with --runs nothing is trained",
        ),
        (
            ["--runs", "old.trec", "new.trec", "--qrels", "qrels.txt", "--categories", "kind"],
            "There is no file kind",
        ),
        (
            ["--runs", "old.trec", "nwe.trec", "--qrels", "qrels.txt"],
            "nwe.trec",
        ),
        (
            ["--runs", "old.trec", "new.trec", "--qrels", "qrels.txt", "--baseline", "nwe"],
            "There is no run 'nwe'. Did you mean 'new'?",
        ),
        (
            ["--runs", "old.trec", "new.trec", "--qrels", "qrels.txt", "--test", "z"],
            "The 'test' argument must be",
        ),
        (["--runs", "old.trec", "empty.trec", "--qrels", "qrels.txt"], "empty.trec"),
        (["--runs", "old.trec", "other.trec", "--qrels", "qrels.txt"], "have no query in common"),
        (
            ["--runs", "old.trec", "twice.trec", "--qrels", "qrels.txt"],
            "twice.trec:2: document 'a'",
        ),
        (["--runs", "old.trec", "new.trec", "--qrels", "elsewhere.txt"], "in the judgments"),
        (
            ["--runs", "old.trec", "other.trec", "--qrels", "qrels.txt"],
            "Ids of queries are 'other' in the run",
        ),
        (["--runs", "old.trec", "table.csv", "--qrels", "qrels.txt"], "The columns are 'a', 'b'"),
        (["--runs", "old.trec", "old.trec", "--qrels", "qrels.txt"], "old.trec is given twice"),
        (
            ["--runs", "old.trec", "new.trec", "--qrels", "qrels.txt", "--relevance-level", "2"],
            "(--relevance-level) is for several judges",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_remedy(
    run, files, arguments, message, monkeypatch, tmp_path
):
    monkeypatch.chdir(files)
    (files / "empty.trec").write_text("")
    (files / "other.trec").write_text("other Q0 a 1 1.0 x\n")
    (files / "twice.trec").write_text("q1 Q0 a 1 1.0 x\nq1 Q0 a 2 0.5 x\n")
    (files / "table.csv").write_text("a,b,c\n1,2,3\n")
    (files / "elsewhere.txt").write_text("".join(f"q{q} 0 e{q} 1\n" for q in range(40)))
    code, _out, err = run("compare", *arguments, "-o", tmp_path / "report")
    assert code != 0
    assert message in " ".join(err.split())
    assert "Traceback" not in err
    assert not (tmp_path / "report").exists() or not any((tmp_path / "report").iterdir())
