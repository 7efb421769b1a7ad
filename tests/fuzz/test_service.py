"""Some hundred requests of `benchmarks/fuzz_service.py`, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_service.py"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_changed_requests_get_a_ranking_or_a_refusal():
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--count", "400", "--seed", "7"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "400 requests" in ran.stdout
    assert "no fault." in ran.stdout
