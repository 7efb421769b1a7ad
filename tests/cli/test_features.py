import json

import numpy as np
import pytest

import localrank
from localrank._base.estimator import clone
from localrank.cli.features import QRELS_FORMATS
from localrank.data import read_letor, read_run, read_table
from localrank.rankers import RankSVM
from localrank.text import (
    Analyzer,
    FeatureExtractor,
    TextRanker,
    feature_names,
    load_example,
    load_extractor,
)
from localrank.text.example_texts import FILES
from localrank.text.judgments import FORMATS

CORPUS, QUERIES, QRELS = FILES


@pytest.fixture(scope="module")
def example():
    return load_example()


@pytest.fixture(scope="module")
def dataset(example):
    extractor = FeatureExtractor(["title", "body"]).fit(example.corpus)
    return extractor.dataset(example.queries, example.qrels, 10)


@pytest.fixture
def data(run, tmp_path):
    folder = tmp_path / "data"
    options = ["--qrels", QRELS, "--fields", "title,body", "--depth", 10, "-o", folder]
    code, _, error = run("features", CORPUS, QUERIES, *options)
    assert code == 0, error
    return folder


def test_features_are_those_of_python_with_their_names(data, dataset):
    made = read_table(data / "queries.parquet", document_id="document_id")
    assert made.feature_names == dataset.feature_names
    assert made.query_ids.tolist() == dataset.query_ids.tolist()
    assert made.document_ids.tolist() == dataset.document_ids.tolist()
    np.testing.assert_array_equal(made.features, dataset.features)
    np.testing.assert_array_equal(made.labels, dataset.labels)


def test_info_tells_what_an_extractor_holds(run, data):
    code, out, _ = run("info", data / "extractor.localrank")
    assert code == 0
    assert "77 documents" in out
    assert "0 queries" not in out
    assert (
        "title.bm25"
        in json.loads(run("info", data / "extractor.localrank", "--json")[1])["feature_names"]
    )


def test_letor_text_has_the_same_numbers(run, dataset, tmp_path):
    options = ["--qrels", QRELS, "--fields", "title,body", "--depth", 10, "--format", "letor"]
    assert run("features", CORPUS, QUERIES, *options, "-o", tmp_path)[0] == 0
    made = read_letor(tmp_path / "queries.txt")
    np.testing.assert_array_equal(made.features, dataset.features)
    np.testing.assert_array_equal(made.labels, dataset.labels)


def test_sets_of_features_have_names(run, tmp_path):
    options = ["--features", "definition", "--fields", "title,body", "-o", tmp_path]
    code, _, error = run("features", CORPUS, QUERIES, *options)
    assert code == 0, error
    made = load_extractor(tmp_path / "extractor.localrank")
    assert made.feature_names == feature_names("definition", ["title", "body"])


def test_options_reach_the_extractor(run, tmp_path):
    corpus, queries = tmp_path / "corpus.jsonl", tmp_path / "dev.tsv"
    corpus.write_text(
        "".join(
            json.dumps({"id": name, "text": text, "clicks": n}) + "\n"
            for n, (name, text) in enumerate({"a": "the runners ran", "b": "the shoes"}.items())
        )
    )
    queries.write_text("1\tthe running shoe\n")
    options = ["--features", "bm25,covered", "--columns", "clicks"]
    options += ["--stopwords", "english", "--stemmer", "english"]
    assert run("features", corpus, queries, *options, "-o", tmp_path)[0] == 0
    extractor = localrank.load(tmp_path / "extractor.localrank")
    assert extractor.feature_names == ("text.bm25", "text.covered", "clicks")
    assert repr(extractor.analyzer) == repr(Analyzer(stopwords="english", stemmer="english"))
    table = read_table(tmp_path / "dev.parquet", label=None, document_id="document_id")
    assert table.relevance is None
    assert table.document_ids.tolist() == ["b"]


def test_judged_documents_are_added_where_asked(run, data, tmp_path):
    options = ["--qrels", QRELS, "--fields", "title,body", "--depth", 10, "--with-judged"]
    assert run("features", CORPUS, QUERIES, *options, "-o", tmp_path / "more")[0] == 0
    less, more = (
        read_table(folder / "queries.parquet", document_id="document_id")
        for folder in (data, tmp_path / "more")
    )
    assert less.query_sizes.max() == 10
    assert less.n_documents < more.n_documents
    assert (more.labels > 0).sum() == len(QRELS.read_text().splitlines())


def test_each_file_of_queries_becomes_one_of_features(run, example, tmp_path):
    lines = QUERIES.read_text().splitlines(keepends=True)
    for name, part in {"train": lines[:20], "test": lines[20:]}.items():
        (tmp_path / f"{name}.tsv").write_text("".join(part))
    files = [tmp_path / "train.tsv", tmp_path / "test.tsv"]
    options = ["--qrels", QRELS, "--fields", "title,body", "-o", tmp_path / "data"]
    assert run("features", CORPUS, *files, *options)[0] == 0
    parts = [
        read_table(tmp_path / "data" / f"{name}.parquet", document_id="document_id")
        for name in ("train", "test")
    ]
    assert [part.n_queries for part in parts] == [20, 12]


@pytest.mark.parametrize("form", ["parquet", "letor"])
def test_train_joins_the_extractor_and_rank_takes_words(run, dataset, example, tmp_path, form):
    options = ["--qrels", QRELS, "--fields", "title,body", "--depth", 10, "--format", form]
    run("features", CORPUS, QUERIES, *options, "-o", tmp_path)
    made = tmp_path / ("queries.parquet" if form == "parquet" else "queries.txt")
    model, trec = tmp_path / "model.localrank", tmp_path / "run.trec"
    extractor = tmp_path / "extractor.localrank"
    options = ["--method", "rank-svm", "--extractor", extractor, "--valid", made, "-o", model]
    code, _, error = run("train", made, *options)
    assert code == 1
    assert "is training data" in error
    options = ["--method", "rank-svm", "--extractor", extractor, "-o", model]
    code, _, error = run("train", made, *options)
    assert code == 0, error
    assert "with its extractor and index" in error
    expected = TextRanker(FeatureExtractor(["title", "body"], depth=10), RankSVM())
    expected.fit(example.queries, example.qrels, example.corpus)
    loaded = localrank.load(model)
    assert loaded.ranker_.feature_names_in_.tolist() == list(dataset.feature_names)
    ranked = expected.rank("clean my bicycle", top=5)
    code, out, _ = run("rank", model, "--query", "clean my bicycle", "--top", 5, "--tag", "t")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert [line[2] for line in lines] == ranked.ids
    assert lines[0][:2] + lines[0][3:4] + lines[0][5:] == ["1", "Q0", "1", "t"]
    assert run("rank", model, "--query", "clean my bicycle", "--top", 5, "-o", trec)[0] == 0
    np.testing.assert_array_equal(read_run(trec).scores, ranked.scores)
    # As many candidates as it was trained on; another number is said.
    code, out, error = run("rank", model, "--query", "the water")
    assert (code, len(out.splitlines()), error) == (0, 10, "")
    code, out, error = run("rank", model, "--query", "the water", "--depth", 7)
    assert (code, len(out.splitlines())) == (0, 7)
    assert "was trained on 10 candidates of each query, and ranks 7" in error
    # Features can still be ranked with it.
    code, out, _ = run("rank", model, made)
    assert (code, len(out.splitlines())) == (0, dataset.n_documents)


def test_rank_takes_the_folder_of_an_index(run, example, tmp_path):
    data, index, model = tmp_path / "data", tmp_path / "index", tmp_path / "m.localrank"
    options = ["--qrels", QRELS, "--fields", "title,body", "--depth", 10, "--index", index]
    code, _, error = run("features", CORPUS, QUERIES, *options, "-o", data)
    assert code == 0, error
    assert not (data / "extractor.localrank").exists()
    run("train", data / "queries.parquet", "--method", "rank-svm", "-o", model)
    asked = ["--query", "clean my bicycle", "--top", 5]
    code, _, error = run("rank", model, *asked)
    assert code == 1
    assert "which ranks by features" in error
    code, out, _ = run("rank", model, *asked, "--corpus", index)
    assert code == 0
    expected = TextRanker(FeatureExtractor(["title", "body"], depth=10), RankSVM())
    expected.fit(example.queries, example.qrels, example.corpus)
    ranked = expected.rank("clean my bicycle", top=5)
    assert [line.split()[2] for line in out.splitlines()] == ranked.ids
    # The model's number of candidates counts, not that of another index.
    expected.extractor_.depth = 4
    expected.save(model)
    code, again, _ = run("rank", model, "--query", "clean my bicycle", "--corpus", index)
    assert code == 0
    assert [line.split()[2] for line in again.splitlines()] == expected.rank("clean my bicycle").ids
    assert len(again.splitlines()) == 4


def test_rank_takes_documents_that_are_not_in_the_index(run, example, tmp_path):
    model = TextRanker(FeatureExtractor(["title", "body"]), RankSVM())
    model.fit(example.queries, example.qrels, example.corpus).save(tmp_path / "m")
    documents = [{"id": "x", "title": "Chains"}, {"id": "y", "title": "Oiling a chain"}]
    path = tmp_path / "more.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    code, out, _ = run("rank", tmp_path / "m", "--query", "oil a chain", "--corpus", path)
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()] == model.rank(
        "oil a chain", documents
    ).ids


@pytest.mark.slow
def test_the_demo_on_texts_writes_them_beside_its_report(run, tmp_path):
    code, out, error = run("demo", "--text", "-o", tmp_path / "demo", "--json")
    assert code == 0, error
    assert {file.name for file in FILES} | {"index.html"} <= {
        path.name for path in (tmp_path / "demo").iterdir()
    }
    assert "rank-svm" in out
    assert "32 queries" in error


def test_cranfields_files_are_read_as_they_are(run, tmp_path):
    # Cranfield's judgments count the queries; their ids have gaps.
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\nboundary layer\n.W\nflow over a plate\n.I 2\n.T\nshock waves\n.W\nthe wedge\n"
        ".I 3\n.T\nheat\n.W\nflow of heat in a plate\n"
    )
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nflow over a plate\n.I 004\n.W\nheat\n")
    (tmp_path / "cranqrel").write_text("1 1 2\n2 3 1\n")
    files = [tmp_path / "cran.all.1400", tmp_path / "cran.qry", "--qrels", tmp_path / "cranqrel"]
    options = ["--qrels-format", "smart", "--numbered", "--fields", "title,text"]
    code, _, error = run("features", *files, *options, "-o", tmp_path / "data")
    assert code == 0, error
    assert "warning" not in error
    made = read_table(tmp_path / "data" / "cran.parquet", document_id="document_id")
    rows = zip(made.query_ids[made.query_index], made.document_ids, made.labels, strict=True)
    labels = {(int(query), int(document)): label for query, document, label in rows}
    assert labels == {(1, 1): 1, (1, 3): 0, (2, 3): 1}


def test_the_help_lists_the_formats_of_judgments():
    assert QRELS_FORMATS == FORMATS


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["features", CORPUS, QUERIES, "--format", "csv", "-o", "{}"],
            "parquet or letor. Got 'csv",
        ),
        (["features", CORPUS, QUERIES, "--format", "letor", "-o", "{}"], "give --qrels"),
        (
            ["features", CORPUS, QUERIES, "--qrels", "{}/other.txt", "--index", "{}/m", "-o", "{}"],
            "queries.tsv. The first query is 'q01'; the first judgment is of query '9'.",
        ),
        (["features", CORPUS, QUERIES, "--with-judged", "-o", "{}"], "needs --qrels"),
        (["features", CORPUS, QUERIES, "--qrels-format", "smart", "-o", "{}"], "needs --qrels"),
        (
            ["features", CORPUS, QUERIES, "--qrels", QRELS, "--qrels-format", "trek", "-o", "{}"],
            "must be one of trec, json, csv, tsv, smart, npl, or None. Got 'trek'",
        ),
        (
            ["features", CORPUS, QUERIES, "{}/other.tsv", "--numbered", "-o", "{}"],
            "--numbered takes one file of queries",
        ),
        (["features", CORPUS, QUERIES, QUERIES, "-o", "{}"], "both become queries.parquet"),
        (["features", CORPUS, QUERIES, "-o", "{}"], "No document has a text under 'text'"),
        (["features", "{}/none.jsonl", QUERIES, "-o", "{}"], "none.jsonl"),
        (["rank", "{}/svm"], "give files of documents, or words with --query"),
        (["rank", "{}/svm", "--query", "tea"], "svm holds a RankSVM, which ranks by features"),
        (["rank", "{}/text", "{}/x.txt", "--query", "tea"], "or --query, not both"),
        (["rank", "{}/text", "--query", "zzz"], "No document in the index contains a word of"),
        (["rank", "{}/text", "--corpus", CORPUS], "--corpus needs --query"),
        (["rank", "{}/index", CORPUS], "holds a FeatureExtractor, not a fitted ranker"),
        (
            ["train", "{}/x.parquet", "--extractor", "{}/index", "-o", "{}/m"],
            "index: this extractor makes other features than the data has",
        ),
        (
            ["train", "{}/made.parquet", "--extractor", "{}/fewer", "-o", "{}/m"],
            "fewer: here 'title' of document 'aphids' has",
        ),
        (
            ["train", "{}/made.parquet", "--extractor", "{}/others", "-o", "{}/m"],
            "others: the index holds no document of the data. Give the extractor that",
        ),
        (
            ["rank", "{}/text", "--query", "tea", "--corpus", "{}/folder"],
            "folder was indexed with analyzer=Analyzer(stopwords='english'), and the model was "
            "trained with Analyzer()",
        ),
        (
            ["train", "{}/x.parquet", "--extractor", "{}/svm", "-o", "{}/m"],
            "holds a RankSVM, not a fitted extractor",
        ),
    ],
)
def test_what_cannot_be_done_is_said(run, small, command, message):
    code, _, error = run(*[str(part).replace("{}", str(small)) for part in command])
    assert code == 1
    assert message in " ".join(error.split())
    assert not (small / "m").exists()


@pytest.fixture(scope="module")
def small(tmp_path_factory, example):
    """Models of three kinds, and a table that is of none of them."""
    from localrank.data import make_queries, write_table

    folder = tmp_path_factory.mktemp("small")
    extractor = FeatureExtractor(["title", "body"], features=["bm25", "length"])
    model = TextRanker(extractor, RankSVM()).fit(example.queries, example.qrels, example.corpus)
    model.save(folder / "text")
    model.extractor_.save(folder / "index")
    model.ranker_.save(folder / "svm")
    write_table(make_queries(5)[0], folder / "x.parquet")
    (folder / "other.txt").write_text("9 0 tea-green 1\n")
    write_table(model.extractor_.dataset(example.queries, example.qrels), folder / "made.parquet")
    words = FeatureExtractor(
        ["title", "body"], features=["bm25", "length"], analyzer=Analyzer(stopwords="english")
    )
    words.fit(example.corpus).save(folder / "fewer")
    words.fit(example.corpus, folder=folder / "folder")
    clone(extractor).fit([{"id": 1, "title": "a", "body": "b"}]).save(folder / "others")
    return folder


def test_an_index_is_signed_and_checked(run, tmp_path):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "private").write_bytes(key.private_bytes_raw())
    (tmp_path / "public").write_bytes(key.public_key().public_bytes_raw())
    (tmp_path / "long").write_bytes(bytes(33))
    data, model = tmp_path / "data", tmp_path / "m.localrank"
    options = ["--qrels", QRELS, "--fields", "title,body", "--features", "bm25,covered", "-o", data]
    for name, signing in {"signed": ["--private-key", tmp_path / "private"], "plain": []}.items():
        code, _, error = run(
            "features", CORPUS, QUERIES, *options, "--index", tmp_path / name, *signing
        )
        assert code == 0, error
    assert run("train", data / "queries.parquet", "--method", "rank-svm", "-o", model)[0] == 0
    asked = ["rank", model, "--query", "clean my bicycle", "--public-key", tmp_path / "public"]
    code, out, error = run(*asked, "--corpus", tmp_path / "signed")
    assert (code, bool(out)) == (0, True), error
    code, _, error = run(*asked, "--corpus", tmp_path / "plain")
    assert code == 1
    assert "not signed with the private key of the given public key" in error
    code, _, error = run(*asked[:-1], tmp_path / "long", "--corpus", tmp_path / "signed")
    assert (code, "a key must have 32 bytes. Got more bytes instead" in error) == (1, True)
