import re

import pytest

from localrank._base.printing import UNBROKEN, Printed, Table, as_html, as_text

NUMBER = re.compile(r"[+-]?\d[\d,]*\.?\d*")
WIDE = Table(
    "Means of methods",
    ["method", "ndcg@10", "ndcg@5", "95 % interval", "KiB"],
    [
        ["multiple-hyperplanes", "0.4595", "0.4265", "-0.120 to -0.013", "1,650"],
        ["one model for every group", "0.5069", "", "+0.012 to +0.150", "12"],
    ],
)


@pytest.fixture
def columns(monkeypatch):
    return lambda width: monkeypatch.setenv("COLUMNS", str(width))


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_split(columns, width):
    columns(width)
    text = as_text([WIDE, "By ndcg@10 on 1,234 test queries, fast leads with 0.5069."])
    assert max(map(len, text.splitlines())) <= width
    cells = [cell for row in WIDE.rows for cell in row[1:]]
    shown = NUMBER.findall(text)
    for number in NUMBER.findall(" ".join([*cells, "1,234 0.5069"])):
        assert number in shown


def test_a_table_that_fits_has_one_line_for_each_row(columns):
    columns(80)
    lines = as_text([WIDE]).splitlines()
    assert lines[2].split() == " ".join(WIDE.columns).split()
    assert lines[4].split() == " ".join(WIDE.rows[0]).split()
    assert len(lines) == 6
    assert len({len(line) for line in lines[2:]}) == 1


def test_a_table_that_does_not_fit_goes_on_below_with_its_first_column(columns):
    columns(40)
    text = as_text([WIDE])
    assert text.count("multiple-hyperplanes") == text.count("\n method") > 1


def test_wide_characters_stay_in_their_columns(columns):
    columns(80)
    lines = as_text([Table("", ["q", "n"], [["東京", "1"], ["ab", "2"]])]).splitlines()
    assert lines[-2:] == [" 東京  1", " ab    2"]


def test_what_would_steer_the_terminal_is_replaced():
    assert as_text(["a\x1b[31mb\u202ec"]) == "a\ufffd[31mb\ufffdc"


def test_unbroken_blanks_hold_words_together(columns):
    columns(20)
    assert as_text([f"{'x' * 16} 6.9{UNBROKEN}%"]).splitlines() == ["x" * 16, "6.9 %"]


def test_names_are_escaped_in_html():
    class Shown(Printed):
        def _shown(self):
            return [Table("<t>", ["<c>"], [["<i>"]]), "<p>"]

    shown = Shown()._repr_html_()
    assert shown == as_html(Shown()._shown())
    assert re.findall("&lt;(.)&gt;", shown) == ["t", "c", "i", "p"]
    assert not re.search("<[tcip]>(?!&)", shown)


def test_columns_of_numbers_are_to_the_right_in_html():
    shown = as_html([WIDE])
    rows = re.findall("<tr>(.*?)</tr>", shown)
    assert len(rows) == 3
    for row in rows:
        sides = re.findall('text-align:(left|right)(;font-variant-numeric:tabular-nums)?"', row)
        assert [side for side, _ in sides] == ["left", "right", "right", "right", "right"]
        assert all(digits for side, digits in sides if side == "right")


def test_a_column_with_words_is_to_the_left_in_html():
    shown = as_html([Table("", ["n", "helps", "note"], [["3", "yes", ""], ["-4.5", "2 of 3", ""]])])
    sides = re.findall('<td style="text-align:(left|right)', shown)
    assert sides == ["right", "left", "left"] * 2


def test_a_table_without_rows_has_its_headings_in_html():
    assert "<th" in as_html([Table("None", ["a", "b"], [])])


def test_a_table_sets_no_colour_so_that_it_fits_a_dark_theme():
    assert not re.search("color:(?!inherit)|background", as_html([WIDE]))
