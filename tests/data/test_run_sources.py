import bz2
import gzip
import json
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import Qrels, Run, as_qrels, as_run, as_runs, read_qrels, read_run
from localrank.text import read_judgments

SCORES = {"q1": {"d1": 0.5, "d2": 2.0}, "01": {"007": -1.0}}
GRADES = {"q1": {"d1": 0, "d2": 2}, "01": {"007": -1}}
QUERIES, DOCUMENTS = ["q1", "q1", "01"], ["d1", "d2", "007"]

ScoredDoc = namedtuple("ScoredDoc", ["query_id", "doc_id", "score"])
Qrel = namedtuple("Qrel", ["query_id", "doc_id", "relevance", "iteration"])


def rows(result):
    values = result.scores if isinstance(result, Run) else result.relevance
    return list(
        zip(result.query_ids.tolist(), result.document_ids.tolist(), values.tolist(), strict=True)
    )


RUN_ROWS = list(zip(QUERIES, DOCUMENTS, [0.5, 2.0, -1.0], strict=True))
QREL_ROWS = list(zip(QUERIES, DOCUMENTS, [0.0, 2.0, -1.0], strict=True))


def frame(library, names, values):
    columns = dict(zip(names, (QUERIES, DOCUMENTS, values), strict=True))
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def test_dicts_are_runs_and_judgments():
    assert rows(as_run(SCORES)) == RUN_ROWS
    assert rows(as_qrels(GRADES)) == QREL_ROWS
    assert as_run(SCORES, "bm25").tag == "bm25"


@pytest.mark.slow  # ranx compiles for a minute
def test_objects_of_ranx_are_runs_and_judgments():
    ranx = pytest.importorskip("ranx")
    run = as_run(ranx.Run(SCORES, name="bm25"))
    # ranx sorts by score.
    assert sorted(rows(run)) == sorted(RUN_ROWS)
    assert run.tag == "bm25"
    grades = {query: {d: max(g, 0) for d, g in of.items()} for query, of in GRADES.items()}
    assert sorted(rows(as_qrels(ranx.Qrels(grades)))) == sorted(
        (q, d, max(g, 0.0)) for q, d, g in QREL_ROWS
    )


def test_records_of_ir_measures_are_runs_and_judgments():
    assert rows(as_run([ScoredDoc(*row) for row in RUN_ROWS])) == RUN_ROWS
    assert rows(as_run(ScoredDoc(*row) for row in RUN_ROWS)) == RUN_ROWS
    assert rows(as_qrels(Qrel(*row, "0") for row in QREL_ROWS)) == QREL_ROWS
    ir_measures = pytest.importorskip("ir_measures")
    assert rows(as_run([ir_measures.ScoredDoc(*row) for row in RUN_ROWS])) == RUN_ROWS
    assert rows(as_qrels([ir_measures.Qrel(*row) for row in QREL_ROWS])) == QREL_ROWS


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "score"),
        ("qid", "docno", "score"),
        ("Query", "Document", "SCORE"),
        ("QID", "DocID", "Score"),
    ],
)
def test_frames_are_known_by_the_names_of_their_columns(library, names):
    assert rows(as_run(frame(library, names, [0.5, 2.0, -1.0]))) == RUN_ROWS
    grades = frame(library, (*names[:2], "label"), [0, 2, -1])
    assert rows(as_qrels(grades)) == QREL_ROWS


def test_the_id_of_a_query_counts_not_its_text():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"query": ["tea"], "docid": [3], "qid": ["q1"], "docno": ["d1"], "score": [1.0]}
    )
    assert rows(as_run(table)) == [("q1", "d1", 1.0)]


def test_columns_may_be_named(tmp_path):
    names = ("topic", "url", "rsv")
    table = frame("pyarrow", names, [0.5, 2.0, -1.0])
    assert rows(as_run(table, columns=names)) == RUN_ROWS
    from pyarrow import parquet

    parquet.write_table(table, tmp_path / "run.parquet")
    assert rows(read_run(tmp_path / "run.parquet", columns=names)) == RUN_ROWS
    assert rows(as_run(tmp_path / "run.parquet", columns=names)) == RUN_ROWS
    with pytest.raises(ValueError, match=r"there is no column 'query_id' or .* are 'topic', 'url'"):
        read_run(tmp_path / "run.parquet")
    with pytest.raises(ValueError, match="must be the names of three columns"):
        as_run(table, columns=("topic", "url"))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_ids_of_text_tables_keep_their_zeros(suffix, tmp_path):
    path = tmp_path / f"run{suffix}"
    text = "qid,docid,score\nq1,d1,0.5\nq1,d2,2\n01,007,-1\n"
    text = text.replace(",", "\t") if suffix == ".tsv" else text
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    assert rows(read_run(path)) == RUN_ROWS
    assert read_run(path).tag == "run"


def test_an_id_in_hexadecimal_digits_is_text(tmp_path):
    (tmp_path / "run.csv").write_text("qid,docid,score\n0x1,0x2,3\n")
    assert rows(read_run(tmp_path / "run.csv")) == [("0x1", "0x2", 3.0)]


def test_lines_of_trec_in_a_file_called_tsv_are_read(tmp_path):
    (tmp_path / "run.tsv").write_text("q1\tQ0\td1\t1\t0.5\tx\n")
    assert rows(read_run(tmp_path / "run.tsv")) == [("q1", "d1", 0.5)]


@pytest.mark.parametrize("name", ["run.json", "run.json.gz", "run.bz2", "run"])
def test_json_is_known_by_its_name_or_content(name, tmp_path):
    compress = {".gz": gzip.compress, ".bz2": bz2.compress}.get(f".{name.split('.')[-1]}", bytes)
    for indent in (None, 2):
        for source, read, expected in (
            (SCORES, read_run, RUN_ROWS),
            (GRADES, read_qrels, QREL_ROWS),
        ):
            (tmp_path / name).write_bytes(compress(json.dumps(source, indent=indent).encode()))
            assert rows(read(tmp_path / name)) == expected


def test_a_run_of_another_form_is_the_same_run(tmp_path):
    pytest.importorskip("pyarrow")
    run = as_run(SCORES)
    frame("pandas", ("qid", "docno", "score"), run.scores).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(SCORES))
    (tmp_path / "a.trec").write_text("".join(f"{q} Q0 {d} 0 {s} x\n" for q, d, s in RUN_ROWS))
    for name in ("a.parquet", "a.json", "a.trec"):
        assert rows(read_run(tmp_path / name)) == RUN_ROWS


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"q": {"d": 1,}}', "a.json:1: the file is not JSON"),
        ("a.json", '{"q":\n {"d": 1}', "a.json:2: the file is not JSON"),
        ("a.json", '{"q": {"d": 1, "d": 2}}', "a.json: the key 'd' occurs twice"),
        ("a.json", '{"q": {"d": 1}, "q": {}}', "a.json: the key 'q' occurs twice"),
        ("a.json", '{"q": {"d": NaN}}', "must be a finite number. Document d of query q has nan"),
        ("a.json", '{"q": {"d": "1"}}', "must be a finite number. Document d of query q has '1'"),
        ("a.json", '{"q": {"d": true}}', "must be a finite number"),
        ("a.json", '{"q": {"d": 1%s}}' % ("0" * 400), "must be a finite number"),
        ("a.json", '{"q": [1]}', r"Query 'q' has \[1\] instead of a dict"),
        ("a.json", "[1]", r"JSON must be an object .* Got \[1\] instead"),
        ("a.json", "{}", "a.json: the run must not be empty"),
        ("a.json", '{"q": {}}', "the run must not be empty"),
        ("a.json", '{"": {"a": 1}}', "the id of a query must be text"),
        ("a.json", '{"q": {"\\ud800": 1}}', "the id of a document must be text"),
        ("a.json", "[" * 100_000, "a.json: "),
        ("a.csv", "qid,docid\nq,d\n", "there is no column 'score'. The columns are 'qid', 'docid'"),
        ("a.csv", "qid,docid,score\nq,d,high\n", "a.csv:2: the column 'score' must hold numbers"),
        ("a.csv", "qid,docid,score\nq,d,1\nq,e,0x10\n", "a.csv:3: the column 'score' must hold"),
        ("a.csv", "qid,docid,score\nq,d,\nq,e,1\n", "must be a finite number. Document d of"),
        ("a.csv", "qid,docid,score\nq,d,inf\n", "must be a finite number"),
        ("a.csv", "qid,docid,score\n,d,1\n", "the id of a query must be text .* Row 1 has None"),
        ("a.csv", "qid,docid,score\nq,d,1\nq,d,1\n", "row 2 has document 'd' of query 'q' again"),
        ("a.csv", "qid,docid,score\n", "a.csv: "),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_their_path(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_run(tmp_path / name)
    assert str(error.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "The run 'x': the run must not be empty"),
        ([], "The run 'x': the run must not be empty"),
        ({"q": 1.0}, "Query 'q' has 1.0 instead of a dict"),
        ({None: {"a": 1.0}}, "the id of a query must be text or a whole number. Row 1 has None"),
        ({"q": {1.5: 1.0}}, "the id of a document must be text or a whole number"),
        ({1: {"a": 1.0}, "1": {"a": 2.0}}, "row 2 has document 'a' of query '1' again"),
        ([("q", "d", 1.0)], "record 1 must have the attributes query_id, doc_id and score"),
        ([ScoredDoc("q", "d", 1.0)] * 2, "row 2 has document 'd' of query 'q' again"),
        ([ScoredDoc("q", "d", None)], "Document d of query q has None"),
        ([ScoredDoc("q", "d", float("inf"))], "Document d of query q has inf"),
    ],
)
def test_bad_objects_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        as_run(source, "x")


@pytest.mark.parametrize("source", [3, None, b"run.trec"])
def test_what_is_no_run_is_refused(source):
    with pytest.raises(TypeError, match="it must be a path, a dict"):
        as_run(source)


def test_whole_numbers_are_ids():
    assert rows(as_run({1: {7: 2}, np.int64(2): {8.0: np.float32(0.5)}})) == [
        ("1", "7", 2.0),
        ("2", "8", 0.5),
    ]
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"qid": [1, 2], "docno": [7.0, 8.0], "score": [2, 1]})
    assert rows(as_run(table)) == [("1", "7", 2.0), ("2", "8", 1.0)]


def test_a_run_stays_as_it_is_but_for_its_name():
    run = as_run(SCORES, "a")
    assert as_run(run) is run
    renamed = as_run(run, "b")
    assert renamed.tag == "b"
    assert_array_equal(renamed.scores, run.scores)
    qrels = as_qrels(GRADES)
    assert as_qrels(qrels) is qrels


def test_runs_with_the_same_name_are_told_apart_by_their_folders_or_numbered(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bm25.trec.gz").write_bytes(gzip.compress(b"1 Q0 d 1 0.5 tag\n"))
    paths = [tmp_path / folder / "bm25.trec.gz" for folder in ("a", "b")]
    runs = as_runs([*paths, SCORES, as_run(SCORES, "bm25-2")])
    assert list(runs) == ["a/bm25", "b/bm25", "run", "bm25-2"]
    assert list(as_runs([SCORES, SCORES])) == ["run", "run-2"]
    with pytest.raises(ValueError, match=r"bm25\.trec\.gz is given twice"):
        as_runs([*paths, str(paths[0])])
    (tmp_path / "v1.2.trec").write_bytes(b"1 Q0 d 1 0.5 tag\n")
    assert list(as_runs([tmp_path / "v1.2.trec"])) == ["v1.2"]
    assert [run.tag for run in runs.values()] == list(runs)
    assert list(as_runs({"x": SCORES, "y": paths[0]})) == ["x", "y"]
    with pytest.raises(ValueError, match="as a dict by name, or as a list"):
        as_runs(str(paths[0]))


def test_judgments_of_all_kinds_are_read_beside_those_of_text(tmp_path):
    assert rows(read_judgments(GRADES)) == QREL_ROWS
    assert rows(read_judgments([Qrel(*row, "0") for row in QREL_ROWS])) == QREL_ROWS
    qrels = Qrels(np.array(["q"]), np.array(["d"]), np.array([1.0]))
    assert read_judgments(qrels) is qrels
    for indent in (None, 1):
        (tmp_path / "a.json").write_text(json.dumps(GRADES, indent=indent))
        assert rows(read_judgments(tmp_path / "a.json")) == QREL_ROWS
    lines = [{"query_id": q, "doc_id": d, "relevance": g} for q, d, g in QREL_ROWS]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert rows(read_judgments(tmp_path / "a.jsonl")) == QREL_ROWS
    frame("pandas", ("qid", "docno", "label"), [0, 2, -1]).to_parquet(tmp_path / "a.parquet")
    assert rows(read_judgments(tmp_path / "a.parquet")) == QREL_ROWS
