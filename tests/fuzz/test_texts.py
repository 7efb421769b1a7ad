"""Some hundred files of `fuzz_texts.py` with a fixed seed, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "fuzz_texts.py"


@pytest.mark.skipif(sys.platform != "linux", reason="children are limited as Linux does it")
def test_damaged_and_crafted_indexes_are_refused_or_work():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--count", "1500", "--seed", "13"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("1,500 extractors, text models and indexes (seed 13)")
    assert " 0 findings" in done.stdout
