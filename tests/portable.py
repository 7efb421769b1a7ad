"""Run the tests that tell whether localrank works on a system: `make portable`.

They need no other programs and no network, and what `pip install -e '.[test]'` installs. Tests
that need more than the system has, such as pipes with a name, skip themselves.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATHS = [
    "src/localrank",
    "tests/_base/test_estimator.py",
    "tests/_base/test_memory.py",
    "tests/_base/test_parallel.py",
    "tests/_base/test_rules.py",
    "tests/_kernels",
    "tests/aggregation",
    "tests/cli/test_cli.py",
    "tests/cli/test_inputs.py",
    "tests/data/formats",
    "tests/data/test_atomic.py",
    "tests/data/test_conversion.py",
    "tests/data/test_dataset.py",
    "tests/data/test_letor.py",
    "tests/data/test_letor_limits.py",
    "tests/data/test_table_files.py",
    "tests/data/test_tables.py",
    "tests/data/test_trec.py",
    "tests/export/test_target_contracts.py",
    "tests/formulas",
    "tests/fusion",
    "tests/grouping",
    "tests/measures/test_measure_contracts.py",
    "tests/measures/test_ties.py",
    "tests/persistence",
    "tests/representations",
    "tests/selection",
    "tests/serving/test_application.py",
    "tests/test_contracts.py",
    "tests/test_golden.py",
    "tests/test_persistence.py",
    "tests/test_public_api.py",
    "tests/text/test_index_folder.py",
    "tests/text/test_text_ranker.py",
    "tests/trees",
]


if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *PATHS]
    sys.exit(subprocess.run([*command, *sys.argv[1:]], cwd=ROOT).returncode)
