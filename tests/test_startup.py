"""What a fresh process imports: facts that a clock would only show as a sum."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
SLOW = pytest.mark.slow
HEAVY = (
    "catboost",
    "joblib",
    "lightgbm",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.spatial",
    "scipy.stats",
    "sklearn",
    "typer",
)
# These hold classifiers of scikit-learn that users gave them, or train for each list.
TRAINING = {"boosting", "forest", "neighbours", "duh-kirchhoff"}
TRAINING |= {"extra-trees", "naive-bayes", "pipeline"}
# These rank other things than rows of five numbers.
OTHER_INPUT = {"columns", "text-ranker"}
OTHERS = sorted(
    path.stem
    for path in GOLDEN.glob("*.localrank")
    if path.stem not in {"best", *TRAINING, *OTHER_INPUT}
)
SERVE = """
import json, sys
import numpy as np
import localrank
loaded = localrank.load(sys.argv[1])
after_load = sorted(sys.modules)
loaded.predict(np.eye(5), qid=[1] * 5)
print(json.dumps([after_load, sorted(sys.modules)]))
"""


@cache
def modules_of(name: str) -> tuple[set[str], set[str]]:
    """Modules of a fresh process after it loaded a model, and after it scored with it."""
    path = GOLDEN / f"{name}.localrank"
    done = subprocess.run(
        [sys.executable, "-c", SERVE, str(path)], capture_output=True, text=True, check=True
    )
    after_load, after_scores = json.loads(done.stdout)
    return set(after_load), set(after_scores)


@pytest.mark.parametrize("name", ["rank-svm", "best", "lambdamart"])
def test_linear_and_tree_models_are_loaded_and_score_without_heavy_modules(name):
    modules_of(name)  # the first process may compile, for which numba imports more
    _, after_scores = modules_of.__wrapped__(name)
    assert not after_scores & {*HEAVY, "scipy.linalg"}


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("local-rank", "adaptive-training") else pytest.param(name, marks=SLOW)
        for name in OTHERS
    ],
)
def test_every_model_is_loaded_and_scores_without_what_training_needs(name):
    assert not modules_of(name)[1] & set(HEAVY)


@pytest.mark.parametrize("name", ["best", "local-rank"])
def test_kernels_are_read_from_files_without_what_compiling_needs(name):
    modules_of(name)  # the first process may compile
    _, after_scores = modules_of.__wrapped__(name)
    assert not after_scores & {"numba.np.arrayobj", "numba.np.linalg", "numba.cpython.unicode"}


def test_scikit_learn_is_imported_for_a_model_that_holds_its_classifier():
    assert "sklearn" in modules_of("forest")[0]


def test_a_model_imports_the_classes_it_is_made_of_and_no_others():
    after_load, _ = modules_of("rank-svm")
    assert "localrank.rankers.rank_svm.rank_svm" in after_load
    for other in ("rankers.lgmml.lgmml", "rankers.boosted_trees.boosted_trees", "local_ranker"):
        assert f"localrank.{other}" not in after_load


def test_a_package_exports_what_it_lists():
    code = (
        "import localrank, localrank.rankers as rankers\n"
        "print('numpy' in sys.modules, sorted(rankers.__all__) == rankers.__all__)\n"
        "from localrank.rankers import *\n"
        "print(RankSVM().C, 'RankSVM' in dir(rankers), localrank.LocalRanker.__name__)\n"
        "rankers.Absent"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "True", "1.0", "True", "LocalRanker"]
    assert "module 'localrank.rankers' has no attribute 'Absent'" in done.stderr
