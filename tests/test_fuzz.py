"""A few made-up files on every run of the tests; `make fuzz` reads more."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_made_up_letor_files_are_read_as_a_slow_parser_reads_them():
    script = Path(__file__).with_name("fuzz_letor.py")
    result = subprocess.run(
        [sys.executable, script, "--count", "2000"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("2,000 files in ")
    assert ", 0 findings" in result.stdout


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
