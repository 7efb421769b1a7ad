"""Scripts of `benchmarks/` run in their small form."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import localrank

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = [path for path in sorted(FOLDER.glob("*.py")) if "\ndef main()" in path.read_text()]
# A script that takes longer hangs.
SECONDS = 300


def run(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    settings = {
        "LOCALRANK_DATA": str(folder),
        "LOCALRANK_ROWS": str(folder / "rows.jsonl"),
        "PYTHONPATH": str(Path(localrank.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, str(script), "--small"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=os.environ | settings,
        cwd=folder,
    )


def test_there_are_scripts():
    assert len(SCRIPTS) > 20


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_without_collections(script, tmp_path):
    done = run(script, tmp_path)
    if absent := re.search(r"ModuleNotFoundError: No module named '(\w+)'", done.stderr):
        assert absent[1] not in sys.stdlib_module_names
        assert absent[1] != "localrank"
        pytest.skip(f"{absent[1]} is not installed")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr
