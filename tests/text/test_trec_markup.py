import pytest

from localrank.text import _file_formats as file_formats
from localrank.text._file_formats import trec_documents, trec_topics


def written(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return path


def test_elements_of_a_document_are_its_fields(tmp_path):
    text = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>Tea &amp; rice</HEADLINE>
<TEXT>
<P>one</P>
two < three
</TEXT>
<TEXT>four</TEXT>
</DOC>

<doc><docno>FT-2</docno><text>five</text></doc><DOC><DOCNO>3</DOCNO></DOC>
"""
    assert list(trec_documents(written(tmp_path, text), "utf-8")) == [
        (1, {"id": "FT-1", "headline": "Tea & rice", "text": "one \ntwo < three\nfour"}),
        (11, {"id": "FT-2", "text": "five"}),
        (11, {"id": "3"}),
    ]


def test_a_document_without_number_is_refused_where_it_begins(tmp_path):
    text = "<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n<DOC>\n<TEXT>x</TEXT>\n</DOC>\n"
    with pytest.raises(ValueError, match=r"file:4: the document has no <DOCNO>"):
        list(trec_documents(written(tmp_path, text), "utf-8"))


def test_a_document_without_end_is_refused_where_it_begins(tmp_path):
    text = "<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\n"
    with pytest.raises(ValueError, match=r"file:4: no </DOC> follows"):
        list(trec_documents(written(tmp_path, text), "utf-8"))


def test_a_document_that_does_not_end_is_not_kept_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(file_formats, "MAX_LINE", 10)
    with pytest.raises(ValueError, match=r"file:2: no </DOC> follows within 10 characters"):
        list(trec_documents(written(tmp_path, "\n<DOC>\n123456\n123456\n"), "utf-8"))


def test_topics_may_have_open_tags_and_say_their_names_again(tmp_path):
    text = """<top>
<num> Number: 301
<title> International
Organized Crime

<desc> Description:
Identify organizations: which?

<narr> Narrative:
A list.
</top>
<top><num>302</num><title>Polio</title></top>
"""
    assert list(trec_topics(written(tmp_path, text), "utf-8")) == [
        (1, {"id": "301", "title": "International Organized Crime",
             "desc": "Identify organizations: which?", "narr": "A list."}),
        (12, {"id": "302", "title": "Polio"}),
    ]  # fmt: skip


def test_a_topic_may_have_its_number_as_an_attribute(tmp_path):
    topic = '<topic number="7" type="x">\n<query>tea</query>\n</topic>'
    text = f'<?xml version="1.0"?>\n<topics>\n{topic}\n</topics>'
    assert list(trec_topics(written(tmp_path, text), "utf-8")) == [(3, {"id": "7", "query": "tea"})]


def test_a_topic_without_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="file:1: the topic has no number"):
        list(trec_topics(written(tmp_path, "<top>\n<title> tea\n</top>\n"), "utf-8"))
