import pytest

from localrank.text import feature_names
from localrank.text.naming import QUERY_FEATURES, SETS, STREAM_FEATURES


def test_letor_has_the_columns_of_microsofts_sets_for_each_stream():
    names = feature_names("letor", ["body", "anchor", "title", "url"])
    assert len(names) == 125
    # Numbers of the first and last, and of some between, counted from 1.
    assert [names[number - 1] for number in (1, 5, 6, 11, 16, 21, 46, 71, 96, 101, 106, 125)] == [
        "body.covered",
        "whole.covered",
        "body.covered_ratio",
        "body.length",
        "body.idf_sum",
        "body.tf_sum",
        "body.ntf_sum",
        "body.tfidf_sum",
        "body.boolean",
        "body.cosine",
        "body.bm25",
        "whole.lm_jm",
    ]


def test_mhr_has_the_seven_of_table_1():
    assert feature_names("mhr", ["text"]) == tuple(
        f"text.{name}"
        for name in (
            "log_tf",
            "log_icf",
            "log_ntf_idf",
            "log_ntf",
            "log_ntf_icf",
            "log_idf",
            "log_bm25",
        )
    )


def test_one_field_has_no_whole_and_names_come_once():
    assert feature_names(["bm25", "mhr", "text.bm25", "log_tf"], ["text"]) == (
        "text.bm25",
        *(f"text.{name}" for name in SETS["mhr"]),
    )


def test_all_holds_every_feature_but_those_of_definition_search():
    everything = set(feature_names("all", ["a", "b"]))
    assert everything > {*feature_names("letor", ["a", "b"]), *feature_names("mhr", ["a", "b"])}
    definition = set(feature_names("definition", ["a", "b"]))
    assert everything & definition == {"a.length", "b.length", "whole.length"}
    assert len(everything | definition) == 3 * len(STREAM_FEATURES) + len(QUERY_FEATURES)


def test_definition_has_what_text_shows_of_table_2():
    # Numbers 11 (adjectives) and 12 (words that often follow the query) are not among them.
    assert [name.partition(".")[2] or name for name in feature_names("definition", ["text"])] == [
        *("query_first", "negative_words", "query_again", "query_is", "sentences", "length"),
        *("query_article", "query_capitals", "query_pronoun", "query_joined"),
    ]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("bm52", "There is no feature 'bm52'. Did you mean 'bm25'"),
        (["titel.bm25"], "There is no field 'titel'. Did you mean 'title'"),
        (["title.bm52"], "There is no feature 'title.bm52'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(features, message):
    with pytest.raises(ValueError, match=message):
        feature_names(features, ["title", "body"])
