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


def test_made_up_tables_are_read_as_by_slow_rules():
    script = Path(__file__).with_name("fuzz_tables.py")
    result = subprocess.run(
        [sys.executable, script, "--count", "1200"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("1,200 files in ")
    assert result.stdout.rstrip().endswith(", 0 findings")
