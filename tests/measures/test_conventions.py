"""One measure by every convention."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from localrank.measures import NDCG, by_convention, differences, parse_measure
from localrank.measures.parsing import TOOLS, measures_of

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"


def test_the_numbers_on_the_page_are_those_of_its_example(capsys):
    section = PAGE.read_text().split("## Why do the numbers differ?")[1]
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", section, re.S).groups()
    exec(code, {})
    printed = capsys.readouterr().out
    assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()
    values = {line.split()[1] for line in shown.splitlines()}
    assert len(values) == 8  # three tools agree here, all others differ


def test_each_convention_that_has_the_measure_is_there():
    measures = by_convention("p@5")
    assert set(measures) == {
        *("default", "letor3", "letor4", "trec_eval", "ranklib", "xgboost", "catboost")
    }
    for convention, measure in measures.items():
        assert measure == parse_measure("p@5", convention)


def test_all_tools_have_ndcg():
    assert list(by_convention("ndcg@10")) == list(TOOLS)


def test_a_tool_without_the_cutoff_is_left_out():
    assert "sklearn" in by_convention("map")
    assert "sklearn" not in by_convention("map@5")


def test_a_parameter_in_the_name_counts_for_all():
    measures = by_convention("ndcg(ties=averaged,empty=skip)@10").values()
    assert {(measure.ties, measure.empty) for measure in measures} == {("averaged", "skip")}


def test_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match="There is no measure 'ngcd'"):
        by_convention("ngcd@10")


@pytest.mark.parametrize("measure", measures_of("default"), ids=lambda measure: measure.name)
def test_every_difference_is_said_in_words(measure):
    plain = measure()
    for convention, other in by_convention(measure.name).items():
        said = differences(other, plain)
        different = [f for f in fields(measure) if getattr(other, f.name) != f.default]
        assert len(said) == len(different), convention
        assert all(text and "None" not in text for text in said)


def test_differences_are_what_the_measure_does():
    assert differences(NDCG(10, discount="letor", short="zero", ties="input"), NDCG(10)) == [
        "equal scores in input order",
        "no discount at rank 2, then log2(rank)",
        "a query with fewer documents than the cutoff counts 0",
    ]
    assert differences(NDCG(5), NDCG(5)) == []
