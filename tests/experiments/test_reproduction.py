import json
import math

import numpy as np
import pytest

from localrank.evaluation import paired_test
from localrank.evaluation.plots import Chart, draw_charts
from localrank.experiments import reproduction as base
from localrank.experiments._page_text import page_text, table_text
from localrank.experiments.reproduction import (
    Claim,
    Making,
    Reproduction,
    ResultTable,
    Verdict,
    decided,
    difference,
    text,
)

VERSIONS = {"python": "3.12", "numpy": "2.1"}
MAKING = Making("the command", (0, 7), "2026-11-18", "at commit 1a2b", "9f8e", 77, 120, VERSIONS)
BARS = Chart("bars", panels={"OHSUMED": {"KNN": [0.5]}}, ticks=["map"], y_label="mean")


@pytest.fixture
def reproduction():
    reproduction = Reproduction("local-rank", "OHSUMED")
    reproduction.tables.append(
        ResultTable.compared(
            "Figure 11",
            ["method", "measure"],
            {("KNN", "map"): 0.5, ("KNN", "p@5"): math.nan},
            {("KNN", "map"): 0.75, ("D&K", "map"): 1.0},
            "A note.",
        )
    )
    reproduction.claims += [
        Claim("a is better", Verdict.YES, "+0.1"),
        Claim("b is worse", Verdict.NO, "-0.1"),
        Claim("c is better", Verdict.UNDECIDED, "p = 0.5"),
        Claim("d is better", Verdict.YES, "+0.2"),
        Claim("e is fast", Verdict.NOT_TESTED, "3 s"),
    ]
    reproduction.figure("figure-4", "Bars.", BARS)
    return reproduction


def test_our_values_stand_beside_the_published_ones_of_the_same_key(reproduction):
    (table,) = reproduction.tables
    assert table.columns == ["method", "measure", "ours", "published", "difference"]
    assert table.rows[0] == ["KNN", "map", 0.5, 0.75, -0.25]
    assert table.rows[1][3:] == [None, None]
    assert table.cells() == [
        ["KNN", "map", "0.5000", "0.7500", "-0.2500"],
        ["KNN", "p@5", "", "", ""],
    ]


def test_without_published_numbers_there_are_no_columns_for_them():
    table = ResultTable.compared("t", ["method"], {("KNN",): 0.5}, {("D&K",): 0.5})
    assert table.columns == ["method", "ours"]
    assert table.rows == [["KNN", 0.5]]


def test_only_differences_have_a_sign():
    table = ResultTable("t", ["ours", "difference"], [[0.5, 0.5], [-0.5, -0.5], [0.5, None]])
    assert table.cells() == [["0.5000", "+0.5000"], ["-0.5000", "-0.5000"], ["0.5000", ""]]


def test_tables_in_markdown_align_numbers_to_the_right(reproduction):
    lines = table_text(**reproduction.tables[0].as_text()).splitlines()
    assert lines[0] == "### Figure 11"
    assert lines[3] == "| --- | --- | ---: | ---: | ---: |"
    assert lines[-1] == "A note."


@pytest.mark.parametrize("value", [np.float64(0.25), 0.25])
def test_numbers_of_numpy_print_like_pythons(value):
    assert text(value) == "0.2500"
    assert text(np.int64(1234)) == "1,234"


def test_the_summary_sorts_what_holds_from_what_does_not(reproduction):
    assert reproduction.summary == [
        "Of 4 claims of the paper that are tested on OHSUMED, 2 hold, 1 does not, and 1 is "
        "undecided.",
        "**Holds**: a is better (+0.1).",
        "**Holds**: d is better (+0.2).",
        "**Does not hold**: b is worse (-0.1).",
        "**Undecided**: c is better (p = 0.5).",
    ]
    assert "can be tested" in Reproduction("lgmml", "OHSUMED").summary[0]


def test_a_summary_has_ten_lines_at_most():
    claims = [Claim(f"a beats {v}, {i}", v, "0") for v in Verdict for i in range(20)]
    summary = Reproduction("lgmml", "OHSUMED", claims=claims).summary
    assert "20 hold, 20 do not, and 20 are undecided" in summary[0]
    assert len(summary) == 10


def test_a_page_leads_with_what_holds_and_a_figure(reproduction):
    reproduction.figure("figure-5", "More bars.", BARS)
    page = page_text(reproduction.record(MAKING))
    parts = [
        *(line for line in reproduction.summary),
        "![Bars.](figures/local-rank-ohsumed-figure-4.svg)",
        "### What the paper says",
        "### Figure 11",
        "![More bars.](figures/local-rank-ohsumed-figure-5.svg)",
        "### How this page was made",
        "Made on 2026-11-18",
    ]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_the_page_has_the_command_the_source_and_everything_found(reproduction):
    page = page_text(reproduction.record(MAKING))
    for part in (
        "```\nthe command\n```",
        "Made on 2026-11-18 at commit 1a2b (digest of the experiment's code: 9f8e), seeds 0, 7, in "
        "2 minutes of processor time with Python 3.12, numpy 2.1.",
        "Banerjee",
        reproduction.summary[0],
        "| b is worse | no | -0.1 |",
        "| c is better | undecided | p = 0.5 |",
        "| e is fast | not tested | 3 s |",
        "[their numbers](figures/local-rank-ohsumed.json)",
        "![Bars.](figures/local-rank-ohsumed-figure-4.svg)",
    ):
        assert part in page


def test_a_part_of_a_published_collection_says_so():
    page = page_text(Reproduction("adaptive-training", "MQ2007-85").record(MAKING))
    assert "for MQ2007; MQ2007-85 is a part of it" in page
    assert "is a part" not in page_text(Reproduction("adaptive-training", "MQ2007").record(MAKING))
    # A paper that never used the whole.
    assert "is a part" not in page_text(Reproduction("local-rank", "MQ2007-85").record(MAKING))


def test_what_is_written_can_be_read_again(reproduction, tmp_path):
    folder = tmp_path / "new" / "folder"
    assert reproduction.write(folder, MAKING)
    drawn = (folder / "figures" / "local-rank-ohsumed-figure-4.svg").read_text()
    assert all(f">{text}</text>" in drawn for text in ("OHSUMED", "KNN", "map", "mean"))
    page = (folder / "local-rank-ohsumed.md").read_text()
    record = json.loads((folder / "local-rank-ohsumed.json").read_text())
    assert page == page_text(record) == page_text(reproduction.record(MAKING))
    assert [claim["verdict"] for claim in record.pop("claims")] == [
        "yes",
        "no",
        "undecided",
        "yes",
        "not tested",
    ]
    assert record == {
        "experiment": "local-rank",
        "data": "OHSUMED",
        "name": "local-rank-ohsumed",
        "claimant": "the paper",
        "quick": False,
        **vars(MAKING),
        "seeds": [0, 7],
        "made": str(MAKING),
        "figures": [{"name": "local-rank-ohsumed-figure-4", "caption": "Bars."}],
        "tables": [
            {
                "title": "Figure 11",
                "columns": ["method", "measure", "ours", "published", "difference"],
                "rows": [
                    ["KNN", "map", "0.5000", "0.7500", "-0.2500"],
                    ["KNN", "p@5", "", "", ""],
                ],
                "numeric": [False, False, True, True, True],
                "note": "A note.",
            }
        ],
    }


def test_json_has_the_rows_of_the_tables_without_nan(reproduction):
    assert reproduction.as_json()["tables"][0]["rows"] == [
        ["KNN", "map", 0.5, 0.75, -0.25],
        ["KNN", "p@5", None, None, None],
    ]


def test_the_numbers_of_the_figures_draw_them_again(reproduction, tmp_path):
    reproduction.write(tmp_path, MAKING)
    drawing = tmp_path / "figures" / "local-rank-ohsumed-figure-4.svg"
    before = drawing.read_bytes()
    drawing.unlink()
    assert draw_charts(tmp_path / "figures" / "local-rank-ohsumed.json") == [drawing]
    assert drawing.read_bytes() == before


def test_without_matplotlib_figures_are_numbers_alone(reproduction, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    assert not reproduction.write(tmp_path, MAKING)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["local-rank-ohsumed.json"]
    assert "figures/" not in (tmp_path / "local-rank-ohsumed.md").read_text()


AHEAD = paired_test([0.1, 0.11, 0.12, 0.13], np.zeros(4))
BEHIND = paired_test(np.zeros(4), [0.1, 0.11, 0.12, 0.13])
EQUAL = paired_test([0.1, -0.1, 0.1, -0.1], np.zeros(4))


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ([AHEAD], Verdict.YES),
        ([BEHIND], Verdict.NO),
        ([EQUAL], Verdict.UNDECIDED),
        ([AHEAD, AHEAD], Verdict.YES),
        ([AHEAD, EQUAL], Verdict.UNDECIDED),
        ([AHEAD, BEHIND], Verdict.NO),
    ],
)
def test_a_claim_holds_if_all_tests_say_so_and_falls_with_one(tests, verdict):
    reproduction = Reproduction("lgmml", "OHSUMED")
    reproduction.claim("a is better", "+0.1", *tests)
    assert reproduction.claims == [Claim("a is better", verdict, "+0.1")]
    assert decided(*tests) is verdict


def test_without_a_test_a_claim_is_a_number():
    reproduction = Reproduction("lgmml", "OHSUMED")
    reproduction.claim("a is faster", "3 s")
    assert reproduction.claims[0].verdict is Verdict.NOT_TESTED
    assert "a is faster" not in " ".join(reproduction.summary)
    assert "| a is faster | not tested | 3 s |" in page_text(reproduction.record(MAKING))


def test_a_quick_run_has_no_verdicts():
    reproduction = Reproduction("lgmml", "OHSUMED", quick=True)
    reproduction.claim("a is better", "+0.1", AHEAD)
    reproduction.claim_better("b is better", "MAP", AHEAD)
    assert {claim.verdict for claim in reproduction.claims} == {Verdict.NOT_TESTED}
    assert reproduction.summary == ["A quick run of OHSUMED tries the command. It judges nothing."]


def test_a_claim_of_a_test_has_its_difference_and_verdict():
    reproduction = Reproduction("lgmml", "OHSUMED")
    reproduction.claim_better("a is better", "MAP", AHEAD, " on few queries")
    (claim,) = reproduction.claims
    assert claim.verdict is Verdict.YES
    assert difference(AHEAD).startswith("+0.1150, p")
    assert claim.measured == f"MAP {difference(AHEAD)} on few queries"


def test_claims_can_be_of_others_than_a_paper():
    reproduction = Reproduction(
        "wins", "A, B", claims=[Claim("a wins", Verdict.YES, "+0.1")], claimant="localrank"
    )
    assert reproduction.summary == [
        "Of 1 claim of localrank that is tested on A, B, 1 holds, 0 do not, and 0 are undecided.",
        "**Holds**: a wins (+0.1).",
    ]
    assert "| localrank says that | holds | measured |" in page_text(reproduction.record(MAKING))
