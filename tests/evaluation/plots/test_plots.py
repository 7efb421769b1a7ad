import re
import sys

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.evaluation.plots import (
    draw_bars,
    draw_curves,
    draw_directions,
    draw_intervals,
    save_figure,
)
from localrank.evaluation.plots.style import look


@pytest.fixture
def figure():
    return draw_bars({"left": {"a": [1, 2]}, "right": {"a": [3, 4]}}, ["x", "y"], "mean")


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("PNG", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_a_figure_is_written_in_the_format_of_its_name(figure, tmp_path, ending, start):
    save_figure(figure, str(tmp_path / f"plot.{ending}"))
    assert (tmp_path / f"plot.{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize("ending", [".html", ".gif", ""])
def test_other_endings_are_refused(figure, tmp_path, ending):
    path = tmp_path / f"plot{ending}"
    with pytest.raises(ValueError, match=f"plot{ending}: a plot must end in .svg, .png or .pdf"):
        save_figure(figure, path)
    assert not path.exists()


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_plot_is_the_same_file_without_a_date(tmp_path, monkeypatch, ending):
    written = []
    for year in (2020, 2021):
        # What the libraries would take for the date of the file.
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str((year - 1970) * 31_557_600))
        save_figure(draw_curves({"": {"a": ([1, 2], [3, 4])}}, "x", "y"), tmp_path / f"f.{ending}")
        written.append((tmp_path / f"f.{ending}").read_bytes())
    assert written[0] == written[1]
    assert not re.search(rb"20\d\d-\d\d|D:20\d\d|Date|tIME", written[0])


def test_a_notebook_shows_a_figure_as_it_would_be_written(figure, tmp_path):
    save_figure(figure, tmp_path / "plot.svg")
    assert figure._repr_svg_() == (tmp_path / "plot.svg").read_text()


def test_missing_matplotlib_is_said(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"matplotlib. .*pip install 'localrank\[plots\]'"):
        draw_bars({}, [], "")


def test_the_users_own_style_is_neither_used_nor_changed():
    with mpl.rc_context({"axes.facecolor": "black", "axes.grid": False}):
        (axes,) = draw_curves({"": {"a": ([1], [2])}}, "x", "y").axes
        assert axes.get_facecolor() == (1, 1, 1, 1)
        assert mpl.rcParams["axes.facecolor"] == "black"


def test_lines_differ_in_colour_or_marker():
    assert len({tuple(look(place).values()) for place in range(42)}) == 42


def test_panels_have_titles_and_one_legend(figure):
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["left", "right"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == ["a"]


def test_curves_are_those_given():
    curves = {"a": ([1, 2, 4], [0.1, 0.2, 0.3]), "b": ([1, 2, 4], [0.3, 0.2, 0.1])}
    (axes,) = draw_curves({"": curves}, "clusters", "MAP", log_x=True, log_y=True).axes
    for line, (name, values) in zip(axes.lines, curves.items(), strict=True):
        assert line.get_label() == name
        assert_allclose(line.get_data(), values)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("clusters", "MAP")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_groups_of_bars_stand_at_their_ticks():
    (axes,) = draw_bars({"": {"a": [1, 2], "b": [3, 4], "c": [5, 6]}}, ["x", "y"], "").axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    assert heights == [[1, 2], [3, 4], [5, 6]]
    centres = [[bar.get_x() + bar.get_width() / 2 for bar in bars] for bars in axes.containers]
    assert_allclose(np.mean(centres, axis=0), [0, 1], atol=1e-12)
    assert not axes.texts


def test_intervals_have_a_row_each_and_filled_marks_where_asked():
    marks = {"map": [(0.1, (0.0, 0.2), False), (0.3, (0.2, 0.4), True)]}
    (axes,) = draw_intervals({"": marks}, ["first", "second"]).axes
    zero, first, first_mark, second, second_mark = axes.lines
    assert_allclose(zero.get_xdata(), 0)
    assert_allclose([*first.get_xdata(), *second.get_xdata()], [0.0, 0.2, 0.2, 0.4])
    assert_allclose([*first_mark.get_data(), *second_mark.get_data()], [[0.1], [0], [0.3], [1]])
    assert first_mark.get_markerfacecolor() == "white"
    assert second_mark.get_markerfacecolor() == second_mark.get_color()
    assert axes.yaxis_inverted()


def test_intervals_without_marks_are_lines_in_the_legend_and_rows_have_room():
    marks = {"mark": [(0.1, (0.0, 0.2), True)], "range": [(np.nan, (0.2, 0.4), False)]}
    figure = draw_intervals({"": marks}, ["a-name-of-a-run-that-is-longer-than-a-line-can-be"])
    (axes,) = figure.axes
    assert axes.get_ylim() == (0.5, -0.5)
    (label,) = axes.get_yticklabels()
    assert max(map(len, label.get_text().split("\n"))) <= 28
    styles = {
        text.get_text(): (line.get_linestyle(), line.get_marker())
        for text, line in zip(
            figure.legends[0].get_texts(), figure.legends[0].get_lines(), strict=True
        )
    }
    assert styles == {"mark": ("None", look(0)["marker"]), "range": ("-", "None")}


def test_many_queries_are_written_in_full():
    (axes,) = draw_curves({"": {"a": ([2, 2**21], [0, 1])}}, "queries", "y", log_x=True).axes
    assert axes.xaxis.get_major_formatter()(2**20) == "1048576"


def test_directions_are_arrows_from_the_centre_of_the_points():
    points = {"good": np.array([[3.0, 0], [5, 0]]), "bad": np.array([[0.0, 4], [0, 0]])}
    directions = {"up": np.array([0.0, 1]), "right": np.array([1.0, 0])}
    (axes,) = draw_directions(points, directions, "a query").axes
    for drawn, cloud in zip(axes.collections, points.values(), strict=True):
        assert_allclose(drawn.get_offsets(), cloud)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["good", "bad"]
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    for arrow, direction in zip(arrows, directions.values(), strict=True):
        assert_allclose(arrow.xyann, [2, 1])
        assert_allclose((arrow.xy - np.array([2, 1])) / (0.45 * 5), direction)
    assert [text.get_text() for text in axes.texts if text.arrow_patch is None] == ["up", "right"]
    assert axes.get_aspect() == 1


def test_panels_stand_two_in_a_row_and_each_row_names_its_values():
    panels = {name: {"a": [0.1, 0.2]} for name in "vwxyz"}
    figure = draw_bars(panels, ["first", "second"], "mean")
    assert [panel.get_title(loc="left") for panel in figure.axes] == [*"vwxyz"]
    places = [panel.get_subplotspec() for panel in figure.axes]
    rows = [(place.rowspan.start, place.colspan.start) for place in places]
    assert rows == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    assert [panel.get_ylabel() for panel in figure.axes] == ["mean", "", "mean", "", "mean"]
    width, height = figure.get_size_inches()
    assert width < height
