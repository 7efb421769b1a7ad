"""A few made-up files on every run of the tests; `make campaign-…` reads more."""

import json
import subprocess
import sys
from pathlib import Path

import campaign
import pytest


def test_every_campaign_has_a_script_and_the_page_shows_its_result():
    for _, command in campaign.CAMPAIGNS.values():
        script = next(word for word in command.split() if word.endswith(".py"))
        assert (campaign.ROOT / script).is_file()
    results = json.loads(campaign.RESULTS.read_text(encoding="utf-8"))
    assert set(results) <= set(campaign.CAMPAIGNS)
    text = campaign.PAGE.read_text(encoding="utf-8")
    assert campaign.page(text, results) == text


def test_the_closing_row_of_a_table_is_told_with_its_headings():
    lines = ["first", "| minutes | p99, ms |", "|---|---|", "| 10.0 | 7 |"]
    assert campaign.closing(lines) == "minutes: 10.0; p99, ms: 7"


def test_a_campaign_ends_as_its_command_does_and_is_written_down(tmp_path, monkeypatch, capsys):
    (tmp_path / "page.md").write_text(f"before\n{campaign.BEGIN}{campaign.END}after\n")
    (tmp_path / "results.json").write_text("{}")
    monkeypatch.setattr(campaign, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(campaign, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(campaign, "commit", lambda: "abc123")
    monkeypatch.setitem(campaign.CAMPAIGNS, "letor", ("reads", "-c print('some');exit(print(7))"))
    monkeypatch.setattr(sys, "argv", ["campaign.py", "letor"])
    assert campaign.main() == 0
    assert capsys.readouterr().out == "some\n7\n"
    assert "| `make campaign-letor` | reads | 7 | 20" in (tmp_path / "page.md").read_text()
    monkeypatch.setitem(campaign.CAMPAIGNS, "letor", ("reads", "-c exit(1)"))
    assert campaign.main() == 1
    assert "| reads | nothing was printed |" in (tmp_path / "page.md").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_made_up_letor_files_are_read_as_a_slow_parser_reads_them():
    script = Path(__file__).with_name("fuzz_letor.py")
    result = subprocess.run(
        [sys.executable, script, "--count", "2000"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("2,000 files in ")
    assert ", 0 findings" in result.stdout


@pytest.mark.slow
def test_made_up_tables_are_read_as_by_slow_rules():
    script = Path(__file__).with_name("fuzz_tables.py")
    result = subprocess.run(
        [sys.executable, script, "--count", "1200"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("1,200 files in ")
    assert result.stdout.rstrip().endswith(", 0 findings")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_damaged_and_crafted_models_are_refused_or_serve(tmp_path):
    script = Path(__file__).with_name("fuzz_models.py")
    options = {"count": 4000, "seed": 13, "seconds": 120, "findings": tmp_path / "findings"}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    result = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, timeout=900
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4,000 files of " in result.stdout
    assert "; 0 findings" in result.stdout
