"""What works without LightGBM, which only training of boosted trees needs, and what is said."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import localrank
from localrank.data import make_queries, write_letor

GOLDEN = Path(__file__).parent / "golden"
NEEDED = "Training boosted trees needs LightGBM. Install it with pip install 'localrank[train]'."


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python where LightGBM cannot be imported."""
    blocked = f"import sys; sys.modules['lightgbm'] = None\n{code}"
    return subprocess.run(
        [sys.executable, "-c", blocked, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run("from localrank.cli import main; main()", *arguments)


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    path = tmp_path_factory.mktemp("letor") / "queries.txt"
    dataset, _ = make_queries(30, n_documents=(4, 8), n_features=5, n_types=1)
    write_letor(dataset.with_features(dataset.features), path)
    return path


MODELS = ["best", "lambdamart", "global-mixed", "adaptive-training"]
MADE = [
    "rankers.LambdaMART(3)",
    "rankers.GBRT(3)",
    "rankers.CrossEntropyMART(3)",
    "recipes.best(3, n_jobs=2)",
    "recipes.adaptive_training(2)",
]


@pytest.fixture(scope="module")
def said():
    """What one process says for all models that it loads and all rankers that it trains."""
    done = run(
        "import json, numpy, localrank\n"
        "from localrank import rankers, recipes\n"
        "from localrank.data import make_queries\n"
        "said = {}\n"
        "for path in sys.argv[1:]:\n"
        "    scores = localrank.load(path).predict(numpy.eye(5), qid=[1] * 5)\n"
        "    said[path] = scores.tolist()\n"
        f"for made in {MADE}:\n"
        "    try:\n"
        "        said[made] = str(eval(made).fit(make_queries(30)[0]))\n"
        "    except ImportError as error:\n"
        "        said[made] = str(error)\n"
        "print(json.dumps(said))",
        *(GOLDEN / f"{name}.localrank" for name in MODELS),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_loaded_and_score(name, said):
    path = GOLDEN / f"{name}.localrank"
    scores = localrank.load(path).predict(np.eye(5), qid=[1] * 5)
    assert said[str(path)] == scores.tolist()


@pytest.mark.parametrize("made", MADE)
def test_training_boosted_trees_says_what_to_install(made, said):
    assert said[made] == NEEDED


def test_making_a_booster_says_what_to_install():
    done = run(
        "import localrank\n"
        "try:\n"
        "    localrank.load(sys.argv[1]).booster\n"
        "except ImportError as error:\n"
        "    print(error)",
        GOLDEN / "lambdamart.localrank",
    )
    assert done.stdout.strip() == NEEDED, done.stderr


def test_other_rankers_are_trained():
    done = run(
        "from localrank.data import make_queries\n"
        "from localrank.recipes import local_rank\n"
        "from localrank.rankers import RankSVM\n"
        "dataset, _ = make_queries(30)\n"
        "print(local_rank(2, ranker=RankSVM()).fit(dataset).score(dataset) > 0.5)"
    )
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.slow
def test_the_commands_say_it_in_one_line(letor, tmp_path):
    for arguments in (
        ("demo", "-o", tmp_path / "demo"),
        ("compare", letor, "--methods", "lambdamart,rank-svm", "-o", tmp_path / "comparison"),
        ("train", letor, "--method", "best", "-o", tmp_path / "model"),
    ):
        done = command(*arguments)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith("error: ")
        assert last.endswith(NEEDED)


def test_the_commands_that_serve_work(letor, tmp_path):
    done = command("rank", GOLDEN / "best.localrank", letor, "-o", tmp_path / "run.trec")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.trec").exists()
