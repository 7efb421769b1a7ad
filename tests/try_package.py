"""Install the built wheel into an empty environment, and use it as a newcomer would.

Run by `make package`: first without extras, then the demo and the README's blocks with those that
they need.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from test_installed import python_blocks, write_file

WITHOUT_EXTRAS = """
import sys
from localrank import load
from localrank.data import make_queries
from localrank.measures import NDCG
from localrank.rankers import RankSVM
from localrank.recipes import pca_queries

queries, _ = make_queries(60, separation=1)
for ranker in (RankSVM(), pca_queries()):
    ranker.fit(queries).save("model.localrank")
    scores = load("model.localrank").predict(queries)
    assert NDCG(10).mean(queries, scores) > 0.5
assert "site-packages" in sys.modules["localrank"].__file__
assert not {"lightgbm", "pandas", "pyarrow", "matplotlib"} & set(sys.modules)
"""


def main(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "clean", with_pip=True)
        python = folder / "clean" / "bin" / "python"
        command = python.with_name("localrank")

        def run(*arguments: str | Path) -> None:
            subprocess.run(arguments, cwd=folder, check=True)

        print("Without extras: install, train, save, load, rank.", flush=True)
        run(python, "-m", "pip", "install", "--quiet", wheel.resolve())
        run(python, "-c", WITHOUT_EXTRAS)
        run(command, "--version")
        run(command, "methods")
        print("The demo, with the extra `train`.", flush=True)
        run(python, "-m", "pip", "install", "--quiet", f"{wheel.resolve()}[train]")
        run(command, "demo")
        assert (folder / "localrank-demo" / "index.html").stat().st_size > 100_000
        print("The blocks of the README, with the same.", flush=True)
        write_file(folder)
        run(python, "-c", python_blocks(Path("README.md")))
    print("The wheel installs, and its demo runs.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
