from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.evaluation import paired_test
from localrank.evaluation._comparison_overview import chart
from localrank.measures import NDCG

TEST = paired_test([0.5, 0.7], [0.4, 0.7])


def gain(mean, p):
    test = replace(TEST, mean_difference=mean, interval=(mean - 0.1, mean + 0.1), p_value=p)
    return {NDCG(10): test}


def comparison(opponents, at_equal_cost):
    roles = {"a": "method", "base": "baseline", "b": "best feature", "mix": "opponent"}
    return SimpleNamespace(
        measures=[NDCG(10)],
        baseline="base",
        entries={name: SimpleNamespace(role=role) for name, role in roles.items()},
        finished=dict.fromkeys(roles),
        opponents=opponents,
        against_baseline={"a": gain(0.2, 0.01), "b": gain(-0.3, 0.6), "mix": gain(0.1, 0.01)},
        at_equal_cost=at_equal_cost,
    )


def test_each_method_has_its_gain_and_interval_in_its_row():
    figure = chart(comparison({"a": "mix", "b": "base"}, {"a": gain(0.1, 0.3)})).draw()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    marks = [line for line in axes.lines if line.get_marker() != "None"]
    drawn = {line.get_xdata()[0]: line.get_markerfacecolor() != "white" for line in marks[:3]}
    assert drawn == {0.2: True, -0.3: False, 0.1: False}
    assert np.isnan(marks[3].get_xdata()[0])  # b has no test at equal cost
    ends = [line.get_xdata() for line in axes.lines if line.get_marker() == "None"]
    assert_array_equal(ends[1], [0.1, 0.30000000000000004])
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["to base", "at equal cost, to the stronger opponent"]


def test_the_baseline_as_the_only_opponent_is_drawn_once():
    figure = chart(comparison({"a": "base", "b": "base"}, {"a": gain(0.2, 0.01)})).draw()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["to base"]


def test_more_methods_make_a_taller_figure():
    few = comparison({}, {})
    many = SimpleNamespace(**vars(few))
    many.finished = {f"m{i}": None for i in range(15)}
    many.entries = {name: SimpleNamespace(role="method") for name in many.finished}
    assert chart(many).draw().get_figheight() > 2 * chart(few).draw().get_figheight()


def test_without_a_method_there_is_nothing_to_plot():
    alone = comparison({}, {})
    alone.finished = {"base": None}
    with pytest.raises(ValueError, match="no method to plot"):
        chart(alone)
