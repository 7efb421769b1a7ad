"""A minute of `benchmarks/fuzz_models.py` with a fixed seed, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_models.py"


@pytest.mark.skipif(sys.platform != "linux", reason="children are limited as Linux does it")
def test_damaged_and_crafted_models_are_refused_or_serve(tmp_path):
    options = {"count": 4000, "seed": 13, "minutes": 1, "seconds": 120}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments, "--findings", str(tmp_path / "findings")],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0  findings" in done.stdout
