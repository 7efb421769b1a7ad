"""`localrank fuse`: lists in, a run and a model out."""

import json

import numpy as np
import pytest
from made_up_lists import made_lists
from text.tiny_encoders import write_bert

import localrank
from localrank.data import read_run, read_table, write_table
from localrank.evaluation import per_query_weights
from localrank.fusion import Fusion, SmoothedFusion, lists_dataset
from localrank.text import load_encoder, load_extractor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two lists of 30 queries, of which 24 are judged, and vectors of their documents."""
    folder = tmp_path_factory.mktemp("lists")
    lists, qrels, vectors = made_lists(30, 15)
    for name, of_queries in lists.items():
        (folder / f"{name}.json").write_text(json.dumps(of_queries))
    judged = {query: grades for place, (query, grades) in enumerate(qrels.items()) if place < 24}
    (folder / "qrels.json").write_text(json.dumps(judged))
    np.savez(folder / "vectors.npz", ids=list(vectors), vectors=np.array(list(vectors.values())))
    return folder


def lists_of(folder):
    return folder / "list0.json", folder / "list1.json"


def test_the_run_has_all_queries_and_the_model_learned_from_the_judged_ones(run, folder, tmp_path):
    out = tmp_path / "new" / "fused"
    code, text, err = run(
        "fuse", *lists_of(folder), "--qrels", folder / "qrels.json", "--method", "fusion", "-o", out
    )
    assert code == 0, err
    fused = read_run(out / "fused.trec")
    assert len(set(fused.query_ids.tolist())) == 30
    lists = {path.stem: path for path in lists_of(folder)}
    model = localrank.load(out / "model.localrank")
    expected = Fusion().fit(lists_dataset(lists, folder / "qrels.json"))
    assert model.weights_.tolist() == expected.weights_.tolist()
    everything = lists_dataset(lists)
    scores = dict(
        zip(
            zip(everything.query_ids[everything.query_index], everything.document_ids, strict=True),
            expected.predict(everything),
            strict=True,
        )
    )
    got = zip(fused.query_ids, fused.document_ids, fused.scores, strict=True)
    assert all(scores[query, document] == score for query, document, score in got)
    assert "24 judged queries, 5-fold cross-validation" in text
    for name in ("list0", "list1", "reciprocal rank fusion", "average", "tuned weights"):
        assert name in text
    assert "(24 judged)" in err
    assert (
        f"has seen the judgments: do not measure {tmp_path / 'new' / 'fused' / 'fused.trec'}" in err
    )
    assert "Weights: list0" in err
    judged = lists_dataset(lists, folder / "qrels.json")
    assert f"a weight for each query help? {per_query_weights(judged).sentence}" in err


def test_hybrid_says_what_it_chose(run, folder, tmp_path):
    code, text, err = run(
        "fuse", *lists_of(folder), "--qrels", folder / "qrels.json", "--vectors",
        folder / "vectors.npz", "-o", tmp_path, "--set", "n_trees=8", "--n-folds", 2, "--json",
    )  # fmt: skip
    assert code == 0, err
    result = json.loads(text)
    assert "judged queries by cross-validation: average:" in result["choice"]
    assert "smoothed fusion" in result["means"]
    assert result["means"]["hybrid"].keys() == {"ndcg@10", "map"}
    assert 0 <= result["tests"]["map"]["hybrid"]["p"] <= 1
    weights = result["per_query_weights"]
    assert weights["measure"] == "ndcg@10"
    assert weights["one"] <= weights["control"] <= 1
    assert weights["one"] <= weights["best"] <= 1


def test_without_judgments_it_is_the_average(run, folder, tmp_path):
    code, _, err = run("fuse", *lists_of(folder), "-o", tmp_path)
    assert code == 0, err
    assert "at least 5 judged queries are needed to learn anything. Got 0." in err
    assert "has seen the judgments" not in err


def test_few_judged_queries_are_not_tested(run, folder, tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 1-3 1\nq2 0 2-4 1\n")
    code, text, err = run(
        "fuse", *lists_of(folder), "--qrels", tmp_path / "qrels.txt", "-o", tmp_path / "out"
    )
    assert code == 0, err
    assert "A test by 5 folds needs 10 judged queries, not 2." in err
    assert not text


def test_the_run_can_be_cut(run, folder, tmp_path):
    code, _, err = run("fuse", *lists_of(folder), "-o", tmp_path, "--depth", 3)
    assert code == 0, err
    fused = read_run(tmp_path / "fused.trec")
    assert np.unique(fused.query_ids, return_counts=True)[1].tolist() == [3] * 30


def test_a_file_in_place_of_the_folder_is_refused(run, folder, tmp_path):
    path = tmp_path / "fused"
    path.write_text("")
    code, _, err = run("fuse", *lists_of(folder), "-o", path)
    assert code == 1
    assert "is a file. Give the name of a folder" in err


def test_vectors_of_other_documents_are_refused(run, folder, tmp_path):
    (tmp_path / "v.jsonl").write_text('{"id": "nobody", "vector": [1.0]}\n')
    code, _, err = run("fuse", *lists_of(folder), "-o", tmp_path, "--vectors", tmp_path / "v.jsonl")
    assert code == 1
    assert "has a vector: the ids differ" in err


def test_one_list_is_nothing_to_fuse(run, folder, tmp_path):
    code, _, err = run("fuse", lists_of(folder)[0], "-o", tmp_path / "fused")
    assert code == 1
    assert "Give two lists or more to fuse. Got" in err
    assert not (tmp_path / "fused").exists()


@pytest.fixture(scope="module")
def texts(folder):
    """The folder, with texts of the documents and queries and rows of vectors without ids."""
    _, qrels, vectors = made_lists(30, 15)
    relevant = {name for grades in qrels.values() for name, grade in grades.items() if grade}
    lines = [
        {"_id": name, "title": "tea" if name in relevant else "rice", "body": "boil water", "n": 1}
        for name in vectors
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "queries.tsv").write_text("".join(f"{query}\tgreen tea\n" for query in qrels))
    np.save(folder / "corpus.npy", np.array(list(vectors.values()), np.float32))
    return folder


def fuse_texts(run, folder, out, *options):
    return run(
        "fuse", *lists_of(folder), "--qrels", folder / "qrels.json",
        "--corpus", folder / "corpus.jsonl", *options, "-o", out,
    )  # fmt: skip


def test_texts_become_features_beside_the_lists(run, texts, tmp_path):
    code, _, err = fuse_texts(
        run, texts, tmp_path, "--queries", texts / "queries.tsv", "--vectors", texts / "corpus.npy",
        "--method", "rank-svm", "--n-folds", 0,
    )  # fmt: skip
    assert code == 0, err
    model = localrank.load(tmp_path / "model.localrank")
    names = model.feature_names_in_.tolist()
    assert names[:2] == ["list0.score", "list0.z"]
    assert {"title.bm25", "body.bm25", "whole.bm25"} <= set(names)
    # The titles give the relevant documents away.
    assert names[np.argmax(model.feature_importances_)].startswith(("title", "whole"))
    extractor = load_extractor(tmp_path / "extractor.localrank")
    lists = {path.stem: path for path in lists_of(texts)}
    everything = extractor.added_to(
        lists_dataset(lists), {f"q{place}": "green tea" for place in range(30)}
    )
    fused = read_run(tmp_path / "fused.trec")
    assert len(set(fused.query_ids.tolist())) == 30
    np.testing.assert_allclose(
        sorted(fused.scores), sorted(model.predict(everything)), rtol=0, atol=1e-6
    )
    assert "features of the texts under title, body, of 450 documents" in err
    assert "Vectors of the documents: 3 numbers each" in err


def test_rows_without_ids_are_those_of_the_corpus(run, texts, tmp_path):
    options = ["--method", "smoothed-fusion", "--n-folds", 0]
    for out, vectors in (("a", "corpus.npy"), ("b", "vectors.npz")):
        code, _, err = fuse_texts(
            run, texts, tmp_path / out, "--vectors", texts / vectors, *options
        )
        assert code == 0, err
    scores = [read_run(tmp_path / out / "fused.trec").scores for out in ("a", "b")]
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-6)


def test_rows_without_ids_must_be_as_many_as_documents(run, texts, tmp_path):
    np.save(tmp_path / "v.npy", np.ones((7, 3), np.float32))
    code, _, err = fuse_texts(run, texts, tmp_path, "--vectors", tmp_path / "v.npy")
    assert code == 1
    assert "has 7 vectors and no file of ids beside it, and there are 450 documents" in err


def test_an_encoder_makes_the_vectors_of_the_lists_documents(run, texts, tmp_path):
    encoder = write_bert(tmp_path / "encoder")
    code, _, err = fuse_texts(
        run, texts, tmp_path, "--encoder", encoder, "--method", "smoothed-fusion",
        "--set", "share=0.5", "--set", "weights=equal", "--n-folds", 0,
    )  # fmt: skip
    assert code == 0, err
    documents = [json.loads(line) for line in (texts / "corpus.jsonl").read_text().splitlines()]
    both = [f"{document['title']}\n{document['body']}" for document in documents]
    vectors = [document["_id"] for document in documents], load_encoder(encoder)(both)
    lists = {path.stem: path for path in lists_of(texts)}
    everything = lists_dataset(lists, vectors=vectors)
    expected = SmoothedFusion("equal", share=0.5).fit(everything).predict(everything)
    fused = read_run(tmp_path / "fused.trec")
    np.testing.assert_allclose(sorted(fused.scores), sorted(expected), rtol=0, atol=1e-6)
    assert not (tmp_path / "extractor.localrank").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--corpus needs --queries, for features of texts, or --encoder, for vectors"),
        (["--encoder", "e", "--vectors", "v.npy"], "--vectors and --encoder both give"),
        (["--queries", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_options_that_say_nothing_together_are_refused(run, texts, tmp_path, options, message):
    code, _, err = fuse_texts(run, texts, tmp_path, *options)
    assert code == 1
    assert message in err


def test_texts_of_queries_need_those_of_documents(run, folder, tmp_path):
    code, _, err = run("fuse", *lists_of(folder), "--queries", "q.tsv", "-o", tmp_path)
    assert code == 1
    assert "--queries needs --corpus, the texts of the documents" in err


def test_documents_of_another_corpus_are_refused(run, texts, tmp_path):
    (tmp_path / "other.jsonl").write_text('{"id": "x", "text": "tea"}\n')
    (tmp_path / "queries.tsv").write_text("q0\ttea\n")
    lists = lists_of(texts)
    encoder = write_bert(tmp_path / "encoder")
    for options, message in (
        (["--encoder", encoder], "No document of the lists is in the corpus"),
        (["--queries", texts / "queries.tsv"], "of query 'q0' is not in the corpus"),
    ):
        code, _, err = run(
            "fuse", *lists, "--corpus", tmp_path / "other.jsonl", *options, "-o", tmp_path / "out"
        )
        assert code == 1
        assert message in err
    code, _, err = run(
        "fuse", *lists, "--corpus", texts / "corpus.jsonl", "--queries", tmp_path / "queries.tsv",
        "-o", tmp_path / "out",
    )  # fmt: skip
    assert code == 1
    assert "Query 'q1' of the dataset is not among the queries" in err


def test_the_table_is_read_by_other_commands(run, folder, tmp_path):
    code, _, err = run(
        "fuse", *lists_of(folder), "--vectors", folder / "vectors.npz", "--method",
        "smoothed-fusion", "--set", "weights=equal", "--set", "share=0.5", "--table",
        "-o", tmp_path,
    )  # fmt: skip
    assert code == 0, err
    model, table = tmp_path / "model.localrank", tmp_path / "lists.parquet"
    code, text, err = run("rank", model, table)
    assert code == 0, err
    fused = (tmp_path / "fused.trec").read_text()
    assert text.replace(" localrank", "") == fused.replace(" fused", "")
    told = localrank.load(model).explain(read_table(table, label=None), "q3")
    code, text, err = run("explain", model, table, "-q", "q3", "--json")
    assert code == 0, err
    facts = json.loads(text)
    best = facts["documents"][0]
    row = told.document_ids.tolist().index(best["document"])
    assert [near["moved"] for near in best["near_documents"]] == [
        moved for _, _, moved in told.near_documents.of(row)
    ]
    assert facts["moved"] == "the score by SmoothedFusion"
    code, text, err = run("explain", model, table, "-q", "q3")
    assert "with the neighbours that move them most" in text
    assert "list0.z" in text


def test_commands_take_vectors_beside_the_data(run, folder, tmp_path):
    lists = {path.stem: path for path in lists_of(folder)}
    dataset = lists_dataset(lists, folder / "qrels.json")
    write_table(dataset, tmp_path / "lists.parquet")
    train = ("train", tmp_path / "lists.parquet", "--method", "smoothed-fusion")
    model = tmp_path / "m.localrank"
    code, _, err = run(*train, "-o", model)
    assert code == 1
    assert "needs a vector for each document" in err
    assert "Give them with --vectors" in err
    code, _, err = run(*train, "-o", model, "--vectors", folder / "vectors.npz")
    assert code == 0, err
    for command in (("explain", "-q", "q3"), ("rank",)):
        name, *options = command
        data = model, tmp_path / "lists.parquet"
        code, _, err = run(name, *data, *options, "--vectors", folder / "vectors.npz")
        assert code == 0, err
        code, _, err = run(name, *data, *options)
        assert code == 1
        assert "Give them with --vectors" in err


def test_a_list_that_lacks_queries_is_named(run, folder, tmp_path):
    (tmp_path / "few.trec").write_text("q1 Q0 1-3 1 1.0 few\n")
    lists = lists_of(folder)[0], tmp_path / "few.trec"
    code, _, err = run("fuse", *lists, "-o", tmp_path / "out")
    assert code == 0, err
    assert "few has no document for 29 of 30 queries." in err
    assert "list0 has no document" not in err
