import numpy as np
import pytest

from localrank import LocalRanker
from localrank._base.rules import (
    check_parameters,
    flag,
    number,
    one_of,
    optional,
    rules,
    whole,
)
from localrank.grouping import Agglomerative
from localrank.rankers import MLR, Ensemble, RankSVM, SVMMap
from localrank.representations import Mean, Scaled, TopDocuments
from localrank.selection import NearestQuery


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        (whole(1), [1, np.int64(7), 2**63 - 1], [0, 1.0, True, "1", None, np.nan, 2**63, 10**400]),
        (whole(1, 3), [1, 3], [0, 4]),
        (number(above=0), [1, 0.5, np.float32(2)], [0, -1, np.inf, np.nan, True, "1", None]),
        (number(least=0), [0, 0.0, 3, 1e300], [-1e-9, np.inf, np.nan, 2**63, 10**400]),
        (number(above=0, most=1), [1, 0.1], [0, 1.1]),
        (number(above=0, below=1), [0.5], [0, 1]),
        (number(least=0, most=1), [0, 1, 0.5], [-0.1, 1.1]),
        (one_of("a", "b"), ["a", np.str_("b")], ["c", None, 0, np.zeros(2)]),
        (one_of("a", None), ["a", None], ["none"]),
        (optional(whole(2)), [None, 2], [1, "None"]),
        (flag, [True, np.False_], [0, 1, "true", None]),
    ],
)
def test_rules_tell_what_keeps_them_from_what_does_not(rule, kept, broken):
    assert [value for value in kept if not rule.holds(value, {})] == []
    assert [value for value in broken if rule.holds(value, {})] == []


def test_a_number_may_have_to_stay_below_a_size():
    position = whole(0, below="n_features")
    assert position.holds(3, {"n_features": 4})
    assert not position.holds(4, {"n_features": 4})
    assert not position.holds(0, {})


@pytest.mark.parametrize("component", [RankSVM(C=10**5000), MLR(max_iter=2**63)])
def test_a_whole_number_of_more_than_64_bits_is_refused_in_words(component):
    with pytest.raises(ValueError, match=r", within 64 bits\. Got a number of \d+ bits instead\."):
        check_parameters(component)


def test_a_class_has_the_rules_of_its_bases():
    assert {"C", "scaling"} <= set(rules(SVMMap))


def test_the_first_broken_rule_is_the_one_refused():
    message = "The 'C' parameter of RankSVM must be a finite number above 0. Got -1 instead."
    with pytest.raises(ValueError, match=message):
        check_parameters(RankSVM(C=-1, loss="log"))


@pytest.mark.parametrize(
    "component",
    [
        Ensemble([RankSVM(), Ensemble([RankSVM(C=0)])]),
        LocalRanker(Mean(), Agglomerative(), RankSVM(C=0), NearestQuery()),
    ],
)
def test_parameters_of_parts_are_checked_before_anything_is_learned(component):
    with pytest.raises(ValueError, match="'C' parameter of RankSVM"):
        check_parameters(component)


def test_parts_of_parts_are_checked():
    local = LocalRanker(
        Mean(), Agglomerative(), RankSVM(), NearestQuery(representation=Scaled(TopDocuments(0)))
    )
    with pytest.raises(ValueError, match="'n' parameter of TopDocuments"):
        check_parameters(local)


def test_a_long_value_is_not_printed_whole():
    ranker = MLR(query_vectors={f"query {i}": [float(i)] * 100 for i in range(1000)})
    ranker.query_vectors["query 7"] = [np.nan]
    with pytest.raises(ValueError, match=r"of MLR must be .*… instead\.$") as told:
        check_parameters(ranker)
    assert "Got {'query 0': [0.0, " in str(told.value)
    assert len(str(told.value)) < 500
