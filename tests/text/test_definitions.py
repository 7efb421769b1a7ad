"""Features of definition search, against loops over the words of small texts."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.text import Analyzer, FeatureExtractor, load_extractor
from localrank.text._definitions import n_sentences

FIELDS = ["title", "body"]


def words(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def places(query, text):
    """Where the words of the query stand in the words of a text, one behind the other."""
    asked, given = words(query), words(text)
    n = len(asked)
    return [i for i in range(len(given) - n + 1) if n and given[i : i + n] == asked]


def sentences(text):
    """Count by reading the text from left to right."""
    n, open_sentence = 0, False
    for i, letter in enumerate(text):
        if letter in ".!?":
            end = i + 1
            while end < len(text) and text[end] in ".!?":
                end += 1
            if end == len(text) or text[end].isspace():
                n, open_sentence = n + open_sentence, False
        elif letter.isalnum():
            open_sentence = True
    return n + open_sentence


def naive(query, document):
    """Table 2 of the paper, number by number, for one document."""
    streams = {field: document[field] for field in FIELDS}
    streams["whole"] = f"{document['title']} {document['body']}"
    expected = {}
    for stream, text in streams.items():
        given, found = words(text), places(query, text)
        behind = [given[place + len(words(query)) :][:2] for place in found]
        expected |= {
            f"{stream}.query_first": 0 in found,
            f"{stream}.negative_words": any(word in given for word in ("he", "she", "said")),
            f"{stream}.query_again": len(found) >= 2,
            f"{stream}.query_is": any(
                pair in (["is", "a"], ["is", "an"], ["is", "the"]) for pair in behind
            ),
            f"{stream}.length": len(given),
        }
    expected |= {f"{field}.sentences": sentences(document[field]) for field in FIELDS}
    expected["whole.sentences"] = sum(sentences(document[field]) for field in FIELDS)
    asked = words(query)
    written = re.findall(r"[A-Za-z0-9]+", query)
    pronouns = {"i", "you", "he", "she", "it", "we", "they", "this", "that", "her", "its"}
    return expected | {
        "query_article": asked[:1] in (["a"], ["an"], ["the"]),
        "query_capitals": bool(written) and all("A" <= word[0] <= "Z" for word in written),
        "query_pronoun": any(word in pronouns for word in asked),
        "query_joined": any(word in ("and", "or", "of", "for") for word in asked) or "," in query,
    }


WORDS = "green Tea tea is a an the The he said She it of , . ! 3.5 ?! and for"
token = st.sampled_from(WORDS.split())
texts = st.lists(token, max_size=14).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(token, max_size=4).map(" ".join),
    st.lists(st.fixed_dictionaries({"title": texts, "body": texts}), min_size=1, max_size=4),
)
def test_each_feature_is_what_a_loop_over_words_finds(query, documents):
    corpus = [{"id": i, **document} for i, document in enumerate(documents)]
    extractor = FeatureExtractor(FIELDS, features="definition").fit(corpus)
    dataset = extractor.transform({"q": query}, {"q": range(len(corpus))})
    expected = [naive(query, document) for document in corpus]
    assert set(expected[0]) == set(dataset.feature_names)
    table = [[float(row[name]) for name in dataset.feature_names] for row in expected]
    assert_array_equal(dataset.features, table)
    assert_array_equal(extractor.features_of(query, documents), table)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("...", 0), ("one", 1), ("It is 3.5. Is it?! Yes", 3), ("e.g. this", 2), ("a.b", 1)],
)
def test_sentences_end_with_a_mark_before_a_blank(text, expected):
    assert n_sentences(text) == sentences(text) == expected


def test_sentences_follow_the_columns_of_documents_and_survive_a_folder(tmp_path):
    corpus = [
        {"id": 1, "title": "Tea", "body": "Tea is a drink. He said so.", "clicks": 7},
        {"id": 2, "title": "Rice", "body": "", "clicks": None},
    ]
    extractor = FeatureExtractor(
        FIELDS, features=["whole.sentences", "bm25", "body.query_is"], columns=["clicks"]
    )
    extractor.fit(corpus, folder=tmp_path / "index")
    opened = load_extractor(tmp_path / "index")
    for each in (extractor, opened):
        dataset = each.transform({"q": "tea"}, {"q": [1, 2]})
        assert dataset.feature_names[0] == "whole.sentences"
        assert dataset.feature_names[-2:] == ("body.query_is", "clicks")
        assert_array_equal(dataset.features[:, [0, -2, -1]], [[3, 1, 7], [1, 0, np.nan]])


def test_a_stemmer_is_fine_and_stop_words_are_refused():
    corpus = [{"id": 1, "text": "Teas is the plural of a tea"}]
    stemming = FeatureExtractor(features=["query_is"], analyzer=Analyzer(stemmer="english"))
    assert stemming.fit(corpus).features_of("tea", corpus).tolist() == [[1.0]]
    without = FeatureExtractor(features="definition", analyzer=Analyzer(stopwords="english"))
    with pytest.raises(ValueError, match="keeps words such as 'is'. Leave out its stopwords"):
        without.fit(corpus)
    # What comes from the query and the marks alone needs none of these words.
    without.set_params(features=["sentences", "query_article"]).fit(corpus)
