import pandas as pd
import pytest

from localrank.data import read_qrels
from localrank.data.errors import AdvisedError
from localrank.text import FeatureExtractor, read_corpus, read_judgments, read_queries
from localrank.text._queries import check_numbering


def written(tmp_path, text, name="qrels"):
    path = tmp_path / name
    path.write_text(text)
    return path


def as_triples(qrels):
    columns = (qrels.query_ids, qrels.document_ids, qrels.relevance)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(
    ("name", "text", "file_format"),
    [
        ("qrels.txt", "1 0 a 2\n1 0 b 1\n", None),
        ("qrels.tsv", "1\t0\ta\t2\n1\t0\tb\t1\n", None),
        ("qrels", "1 a 2\n\n1 b 1\n", None),
        ("test.tsv", "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t1\n", None),
        ("qrels.csv", "qid,docid,label\n1,a,2\n1,b,1\n", None),
        ("qrels.jsonl", '{"query_id": 1, "document_id": "a", "relevance": 2}\n'
                        '{"query_id": "1", "document_id": "b", "relevance": 1.0}\n', None),
        ("qrels.dat", "1 0 a 2\n1 0 b 1\n", "trec"),
    ],
)  # fmt: skip
def test_every_format_gives_the_same_judgments(tmp_path, name, text, file_format):
    qrels = read_judgments(written(tmp_path, text, name), file_format)
    assert as_triples(qrels) == [("1", "a", 2.0), ("1", "b", 1.0)]


def test_pairs_of_smart_and_npl_are_relevant_and_may_stand_twice(tmp_path):
    smart = read_judgments(written(tmp_path, "01 12 0 0\n1 13 0 0\n1 12 0 0\n"), "smart")
    npl = read_judgments(written(tmp_path, "1\n 12 13\n 12\n/\n"))
    assert as_triples(smart) == as_triples(npl) == [("1", "12", 1.0), ("1", "13", 1.0)]


def test_a_table_has_judgments():
    table = pd.DataFrame({"query_id": [1], "document_id": ["a"], "relevance": [-1]})
    assert as_triples(read_judgments(table)) == [("1", "a", -1.0)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q", "", "q: the file is empty"),
        ("q", "1 a 2\n1 b\n", "q:2: a line must have 3 columns like the first.*Got 2"),
        ("q", "1 0 a 2\n1 b 2\n", "q:2: a line must have 4 columns"),
        ("q", "1 a 2\n1 a 1\n", "q:2: document 'a' of query '1' is judged twice"),
        ("q", "1 a much\n", "q:1: the grade must be a finite number, up to 1e.100. Got 'much'"),
        ("q", "1 a nan\n", "q:1: the grade must be a finite number"),
        (
            "q.csv",
            "query_id,document_id\n1,a\n",
            r"q\.csv:2: .* must have the column 'relevance' \(or",
        ),
        (
            "q.csv",
            "query_id,document_id,relevance\n,a,1\n",
            r"q\.csv:2: .* have the column 'query_id'",
        ),
        ("q.csv", "query_id,document_id,relevance\n", r"q\.csv: the file has no judgment"),
        ("q.csv", "1,a,2\n", r"q\.csv:1: the first line must hold the names of the columns"),
    ],
)
def test_odd_judgments_are_refused_with_file_and_line(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_judgments(written(tmp_path, text, name))


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be one of trec, json"):
        read_judgments(written(tmp_path, "1 a 2\n"), "qrels")


def test_lines_of_smart_are_recognised_if_the_rest_is_zero(tmp_path):
    text = "01 12 0 0\n1 13 0 0.000000\n\n"
    expected = [("1", "12", 1.0), ("1", "13", 1.0)]
    assert as_triples(read_judgments(written(tmp_path, text))) == expected
    with pytest.raises(ValueError, match=r"SMART's lines, .* localrank.text.read_judgments"):
        read_judgments(written(tmp_path, text), "trec")


@pytest.mark.parametrize("last", ["1 0 0 1", "1 0 7 0"])
def test_lines_of_trec_are_not_taken_for_smarts(tmp_path, last):
    assert as_triples(read_judgments(written(tmp_path, f"2 0 0 0\n{last}\n")))[0] == ("2", "0", 0.0)


@pytest.mark.parametrize("text", ["1 184 2\n1 29 1\n", "1 7 -1\n2 8 4\n"])
def test_codes_that_may_be_cranfields_are_refused_until_the_format_is_named(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(AdvisedError, match="and no 0. Give file_format='trec'") as refused:
        read_judgments(path)
    assert "Add --qrels-format trec" in refused.value.on_command_line
    assert read_judgments(path, "smart").relevance.tolist() == [1.0, 1.0]
    assert read_judgments(path, "trec").relevance[0] in (2.0, -1.0)


@pytest.mark.parametrize(
    "text",
    [
        "1 184 1\n1 29 1\n",
        "1 a 1\n1 b 2\n",
        "1 7 0\n1 8 2\n",
        "1 7 1\n1 8 2.5\n",
        "1 7 9\n1 8 1\n",
    ],
)
def test_three_columns_that_cannot_be_codes_are_grades(tmp_path, text):
    qrels = read_judgments(written(tmp_path, text))
    assert qrels.relevance.tolist() == [float(line.split()[2]) for line in text.splitlines()]


# The number of different pairs in the files, counted by `sort -u`.
COLLECTIONS = {
    "cran/cranqrel.gz": ("smart", 1837),
    "cisi/CISI.REL.gz": (None, 2492),
    "med/MED.REL.gz": (None, 696),
    "cacm/qrels.text.gz": (None, 796),
    "npl/rlv-ass.gz": (None, 2083),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_judgments_of_the_classic_collections_are_all_found(benchmark_data, name):
    path = benchmark_data / "text" / name
    file_format, n_relevant = COLLECTIONS[name]
    if file_format is not None:
        with pytest.raises(ValueError, match="SMART's codes as in Cranfield"):
            read_judgments(path)
    qrels = read_judgments(path, file_format)
    assert int((qrels.relevance > 0).sum()) == len(qrels.relevance) == n_relevant


@pytest.mark.parametrize("name", COLLECTIONS)
def test_read_qrels_refuses_other_forms(benchmark_data, name):
    with pytest.raises(
        ValueError, match=r"query 0 document relevance|localrank.text.read_judgments"
    ):
        read_qrels(benchmark_data / "text" / name)


def test_judgments_by_position_are_refused_if_ids_differ(benchmark_data):
    folder = benchmark_data / "text" / "cran"
    qrels = read_judgments(folder / "cranqrel.gz", "smart")
    extractor = FeatureExtractor(features=["bm25"]).fit(read_corpus(folder / "cran.all.1400.gz"))
    with pytest.raises(AdvisedError, match="by position, like Cranfield's: 73 of 225") as refused:
        extractor.dataset(read_queries(folder / "cran.qry.gz"), qrels)
    assert "Add --numbered" in refused.value.on_command_line
    dataset = extractor.dataset(read_queries(folder / "cran.qry.gz", numbered=True), qrels)
    assert int((dataset.relevance > 0).sum()) > 1000


@pytest.mark.parametrize(
    ("ids", "judged"),
    [
        (["1", "2", "3"], ["1", "2", "3"]),  # the ids
        (["1", "2"], ["1", "2", "3", "4"]),  # some queries of a collection
        (["7", "8", "9", "10"], ["1"]),  # one judgment that fits no query
        (["a", "b", "1"], ["a", "b", "c"]),
    ],
)
def test_other_judgments_of_queries_that_do_not_exist_are_not_taken_for_positions(ids, judged):
    check_numbering(ids, judged)
