import json

import numpy as np
import pytest
from text.tiny_encoders import write_bert

import localrank
from localrank.data import read_table
from localrank.text import FeatureExtractor, load_encoder, load_example, load_extractor
from localrank.text.example_texts import FILES

CORPUS, QUERIES, QRELS = FILES


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def dataset(encoder):
    example = load_example()
    extractor = FeatureExtractor(["title", "body"], depth=10, with_vectors=True)
    extractor.fit(example.corpus, encoder=encoder)
    return extractor.dataset(example.queries, example.qrels)


@pytest.fixture
def features(run, tmp_path):
    def made(*options):
        given = ["--qrels", QRELS, "--fields", "title,body", "--depth", 10, "-o", tmp_path / "data"]
        return run("features", CORPUS, QUERIES, *given, *options)

    return made


@pytest.fixture
def files(tmp_path, encoder):
    """Vectors of documents and queries, made beforehand."""
    example, encode = load_example(), load_encoder(encoder)
    texts = [f"{document['title']}\n{document['body']}" for document in example.corpus]
    np.save(tmp_path / "d.npy", encode(texts))
    (tmp_path / "d.txt").write_text("\n".join(document["id"] for document in example.corpus))
    rows = zip(example.queries, encode(list(example.queries.values()), "query"), strict=True)
    lines = [json.dumps({"id": name, "vector": row.tolist()}) for name, row in rows]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    return tmp_path / "d.npy", tmp_path / "q.jsonl"


def test_an_encoder_gives_the_features_of_python(features, dataset, encoder, tmp_path):
    code, _, error = features("--encoder", encoder)
    assert code == 0, error
    made = read_table(tmp_path / "data" / "queries.parquet", document_id="document_id")
    assert made.feature_names == dataset.feature_names
    np.testing.assert_array_equal(made.features, dataset.features)


def test_files_of_vectors_give_the_same(features, dataset, files, tmp_path):
    code, _, error = features("--vectors", files[0], "--query-vectors", files[1])
    assert code == 0, error
    made = read_table(tmp_path / "data" / "queries.parquet", document_id="document_id")
    np.testing.assert_array_equal(made.features, dataset.features)


def test_a_trained_model_ranks_words_by_both_lists(features, run, encoder, tmp_path):
    features("--encoder", encoder)
    data, path = tmp_path / "data", tmp_path / "model.localrank"
    code, _, error = run(
        "train", data / "queries.parquet", "--method", "rank-svm",
        "--extractor", data / "extractor.localrank", "-o", path,
    )  # fmt: skip
    assert code == 0, error
    model = localrank.load(path)
    model.extractor_.use_encoder(encoder)
    expected = model.rank("boil rice", top=5)
    code, out, error = run("rank", path, "--query", "boil rice", "--encoder", encoder, "--top", 5)
    assert code == 0, error
    assert [line.split()[2] for line in out.splitlines()] == expected.ids
    code, _, error = run("rank", path, "--query", "boil rice")
    assert code != 0
    assert "Name the encoder of the documents with --encoder." in error


def test_neighbours_learn_from_the_vectors_of_the_index(features, run, encoder, tmp_path):
    features("--encoder", encoder)
    data = tmp_path / "data"
    code, _, error = run(
        "train", data / "queries.parquet", "--method", "smoothed-fusion",
        "--extractor", data / "extractor.localrank", "-o", tmp_path / "model.localrank",
    )  # fmt: skip
    assert code == 0, error
    code, out, error = run(
        "rank", tmp_path / "model.localrank", "--query", "boil rice", "--encoder", encoder
    )
    assert code == 0, error
    assert len(out.splitlines()) >= 10


def test_the_index_keeps_the_vectors(features, encoder, tmp_path):
    features("--encoder", encoder)
    index = load_extractor(tmp_path / "data" / "extractor.localrank").index_
    assert index.vectors.shape == (index.n_documents, 12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--query-vectors", "q.jsonl"], "--query-vectors needs --vectors"),
        (["--vectors", "d.npy"], "--vectors needs vectors of the queries"),
        (["--encoder", "nowhere"], "it has no tokenizer.json"),
    ],
)
def test_options_that_do_not_fit_are_refused(features, options, message):
    code, _, error = features(*options)
    assert code != 0
    assert message in error.replace("\n", " ")


def test_an_encoder_is_for_words(run, encoder, tmp_path):
    code, _, error = run("rank", tmp_path / "m", "data.txt", "--encoder", encoder)
    assert code != 0
    assert "--encoder needs --query." in error
