import pytest

from localrank._base.rules import check_parameters
from localrank.text import Analyzer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n\t", []),
        ("Don't stop_me-now!", ["don", "t", "stop", "me", "now"]),
        ("a\0b", ["a", "b"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café CAFÉ", ["café", "café", "café"]),
        ("ﬁne ＡＢＣ", ["fine", "abc"]),
        ("I ❤️ 😀 you 👩‍👩‍👧", ["i", "you"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("كتابٌ", ["كتابٌ"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("東京タワーへ", ["東", "京", "タワー", "へ"]),
        ("co\u00adop zero\u200bwidth", ["coop", "zero", "width"]),
        ("half \ud83d pair", ["half", "pair"]),
        ("\u0301 alone", ["alone"]),
        ("x² ٣٤", ["x2", "٣٤"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_words_of_many_scripts(text, words):
    assert Analyzer()(text) == words


def test_cases_stay_apart_where_asked():
    assert Analyzer(lowercase=False)("Ab ab ÄB äb") == ["Ab", "ab", "ÄB", "äb"]


def test_stopwords_are_left_out_in_any_case_and_form():
    analyzer = Analyzer(stopwords=["The", "café"])
    assert analyzer("THE cafe\u0301 the cat") == ["cat"]
    assert Analyzer(stopwords="english")("What is the theory of this?") == ["theory"]


def test_stopwords_are_left_out_before_stemming():
    analyzer = Analyzer(stopwords=["running"], stemmer="english")
    assert analyzer("running runs run") == ["run", "run"]


def test_stemming_speaks_languages():
    assert Analyzer(stemmer="german")("Häuser Haus") == ["haus", "haus"]


def test_analysis_of_its_own_terms_changes_nothing():
    analyzer = Analyzer(stopwords="english")
    terms = analyzer("The ﬁfth Ångström of a ½ cup, Σίσυφος")
    assert analyzer(" ".join(terms)) == terms


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stopwords": "klingon"}, "None, 'english' or a list of words. Got 'klingon'"),
        ({"stopwords": [3]}, "None, 'english' or a list of words"),
        ({"stemmer": "klingon"}, "None or a language of Snowball's stemmers. Got 'klingon'"),
        ({"lowercase": "yes"}, "True or False"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        check_parameters(Analyzer(**parameters))
