from localrank.export.vespa.names import field_names


def test_fields_have_different_names():
    features = ["a b", "a.b", "field_a_b", "a_b"]
    names = field_names(features)
    assert names == ["field_a_b_2", "field_a_b_3", "field_a_b", "a_b"]


def test_words_of_the_schema_and_names_without_a_letter_first_are_changed():
    assert field_names(["index", "_x", "9lives", "é"]) == [
        "field_index",
        "field__x",
        "field_9lives",
        "field__",
    ]
