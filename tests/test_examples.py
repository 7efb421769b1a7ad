import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "examples"
# test_spark.py runs the one that needs Java.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "spark_scoring.py"})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
