import sys
from collections import namedtuple
from types import SimpleNamespace

import pytest

from localrank.text import read_corpus, read_judgments, read_queries

Doc = namedtuple("Doc", "doc_id title text tags year")
Query = namedtuple("Query", "query_id text")
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")


class Small:
    """As the package's collections are, with three documents."""

    def docs_iter(self):
        yield from (Doc(f"d{i}", "tea", f"cup {i}", ["x"], 1900 + i) for i in range(3))

    def queries_iter(self):
        return iter([Query("q1", "green tea")])

    def qrels_iter(self):
        return iter([Qrel("q1", "d2", 2, "0"), Qrel("q1", "d0", 0, "0")])

    def has_docs(self):
        return True

    has_queries = has_docs

    def has_qrels(self):
        return True


@pytest.fixture
def package(monkeypatch):
    collections = {"small": Small(), "bare": Small()}
    collections["bare"].has_qrels = lambda: False
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=collections.__getitem__))


@pytest.mark.usefixtures("package")
def test_a_named_collection_has_documents_queries_and_judgments():
    documents = list(read_corpus("irds:small"))
    assert documents[2] == {"id": "d2", "title": "tea", "text": "cup 2", "year": 1902}
    assert read_queries("irds:small") == {"q1": "green tea"}
    qrels = read_judgments("irds:small")
    assert qrels.document_ids.tolist() == ["d2", "d0"]
    assert qrels.relevance.tolist() == [2.0, 0.0]


@pytest.mark.usefixtures("package")
def test_a_name_that_the_package_does_not_know_is_refused():
    with pytest.raises(ValueError, match="irds:none: ir_datasets has no such collection"):
        list(read_corpus("irds:none"))


@pytest.mark.usefixtures("package")
def test_a_collection_without_judgments_says_so():
    with pytest.raises(ValueError, match="irds:bare: this collection of ir_datasets has no qrels"):
        read_judgments("irds:bare")


def test_without_the_package_its_installation_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ImportError, match="pip install ir_datasets"):
        list(read_corpus("irds:small"))


def test_the_real_package_has_what_is_asked_of_it(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    pytest.importorskip("ir_datasets")
    with pytest.raises(ValueError, match="no such collection"):
        list(read_corpus("irds:there-is-none"))
