import numpy as np
import pytest

from localrank.export import ExportedModel, Vespa
from localrank.export.vespa._rank_profile import check_model_name, field_names
from localrank.formulas import Linear


def test_fields_have_different_names():
    features = ["a b", "a.b", "field_a_b", "a_b"]
    names = field_names(features)
    assert names == ["field_a_b_2", "field_a_b_3", "field_a_b", "a_b"]


def test_words_of_the_schema_and_names_without_a_letter_first_are_changed():
    assert field_names(["index", "_x", "9lives", "é", "position", "reciprocal_rank"]) == [
        "field_index",
        "field__x",
        "field_9lives",
        "field__",
        "field_position",
        "field_reciprocal_rank",
    ]


def test_upper_and_lower_case_are_the_same_for_vespa():
    names = field_names(["a_b", "A_B", "A b", "a.B", "field_a_b"])
    assert names == ["a_b", "field_a_b_2", "field_a_b_3", "field_a_b_4", "field_a_b"]
    assert len({name.lower() for name in names}) == 5


def test_the_type_that_all_documents_inherit_is_no_name_of_a_model():
    check_model_name("documents")
    with pytest.raises(ValueError, match="cannot have the name 'document'"):
        check_model_name("document")


def test_the_readme_says_which_feature_a_field_is():
    names = ("bm25", "title length", "BM25")
    readme = Vespa().files(ExportedModel("web", Linear(np.ones(3)), names))["README.md"]
    assert "- `field_title_length`: title length\n- `field_bm25`: BM25\n" in readme
    assert "`bm25`" not in readme
    plain = Vespa().files(ExportedModel("web", Linear(np.ones(1)), ("bm25",)))["README.md"]
    assert "other names" not in plain
