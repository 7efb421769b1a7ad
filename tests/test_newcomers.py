"""A new part is one file and one line: dummies of each kind, in a copy of the package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import localrank
from localrank.data import make_queries, write_letor
from localrank.registry import METHODS

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
# By package: the line in its `__init__`, and the file.
NEWCOMERS = {
    "rankers": (
        "from localrank.rankers.dummy import DummyRanker as DummyRanker",
        """
import numpy as np

from localrank.registry import declare
from localrank.rankers._linear import LinearRanker


@declare("dummy", "weights features by how they go with labels")
class DummyRanker(LinearRanker):
    def __init__(self, scaling="standard"):
        self.scaling = scaling

    def _fit(self, dataset, query_weights, valid):
        features = self._scaled_training_features(dataset)
        sizes = dataset.query_sizes
        means = np.add.reduceat(dataset.labels, dataset.offsets[:-1]) / sizes
        above = dataset.labels - np.repeat(means, sizes)
        if query_weights is not None:
            above *= np.repeat(query_weights, sizes)
        self.coef_ = above @ features / len(above)
""",
    ),
    "recipes": (
        "from localrank.recipes.dummy import dummy_recipe as dummy_recipe",
        """
from localrank.registry import declare
from localrank.grouping import Agglomerative
from localrank.local_ranker import LocalRanker
from localrank.rankers import RankSVM
from localrank.representations import Mean
from localrank.selection import NearestCentroid


@declare("dummy-recipe", "groups by means", kind="local", grid={"grouping__n_clusters": [1, 3]})
def dummy_recipe(n_clusters=2, *, n_jobs=None):
    grouping = Agglomerative(n_clusters)
    return LocalRanker(Mean(), grouping, RankSVM(), NearestCentroid(), n_jobs=n_jobs)
""",
    ),
    "representations": (
        "from localrank.representations.dummy import DummyRepresentation as DummyRepresentation",
        """
import numpy as np

from localrank.registry import declare
from localrank._base.rules import one_of
from localrank.representations.base import Points


@declare("dummy", "the largest value of each feature")
class DummyRepresentation(Points):
    _parameters = {"of": one_of("largest", "smallest")}

    def __init__(self, of="largest"):
        self.of = of

    def _transform(self, dataset):
        extreme = np.maximum if self.of == "largest" else np.minimum
        return extreme.reduceat(dataset.features, dataset.offsets[:-1]).astype(np.float64)
""",
    ),
    "grouping": (
        "from localrank.grouping.dummy import DummyGrouping as DummyGrouping",
        """
from localrank.registry import declare
from localrank.grouping.base import Grouping, Groups
from localrank._base.rules import whole


@declare("dummy", "two groups, cut at the mean of one coordinate")
class DummyGrouping(Grouping):
    _parameters = {"coordinate": whole(0)}

    def __init__(self, coordinate=1):
        self.coordinate = coordinate

    def _group(self, representation, descriptions):
        values = descriptions.reshape(len(descriptions), -1)[:, self.coordinate]
        return Groups.from_labels(values > values.mean())
""",
    ),
    "selection": (
        "from localrank.selection.dummy import DummySelector as DummySelector",
        '''
import numpy as np

from localrank.registry import declare
from localrank.selection.base import Selector


@declare("dummy", "all groups alike")
class DummySelector(Selector):
    def __init__(self, *, representation=None):
        self.representation = representation

    def _fit(self, groups):
        """Nothing to learn."""

    def weights(self, dataset, models):
        return np.full((dataset.n_queries, self.n_groups_), 1 / self.n_groups_)
''',
    ),
    "aggregation": (
        "from localrank.aggregation.dummy import DummyAggregator as DummyAggregator",
        """
import numpy as np

from localrank.aggregation.base import Aggregator
from localrank.registry import declare


@declare("dummy", "the best place in any list")
class DummyAggregator(Aggregator):
    def _aggregate(self, counts, offsets):
        return np.nan_to_num(counts).max(axis=0)
""",
    ),
    "export": (
        "from localrank.export.dummy import DummyTarget as DummyTarget",
        """
import json

import numpy as np

from localrank.export.base import Target, columns_by_name, one_file
from localrank.formulas import Linear
from localrank.registry import declare


@declare("dummy", "weights by feature, as JSON")
class DummyTarget(Target):
    takes = (Linear,)
    holder = "a file of weights"

    def _files(self, model):
        weights = dict(zip(model.feature_names, model.formula.weights.tolist()))
        return {"weights.json": json.dumps(weights), "README.md": f"# {model.name}\\n"}

    def scores(self, files, dataset):
        columns = columns_by_name(dataset)
        with one_file(files, "weights.json") as text:
            weights = {columns[name]: weight for name, weight in json.loads(text).items()}
        return dataset.features[:, list(weights)].astype(np.float64) @ list(weights.values())
""",
    ),
    "measures": (
        "from localrank.measures.dummy import DummyMeasure as DummyMeasure",
        """
from dataclasses import dataclass

from localrank.measures.base import CutMeasure, RelevanceMeasure
from localrank.measures.precision import Precision


@dataclass(frozen=True, repr=False)
class DummyMeasure(CutMeasure, RelevanceMeasure):
    name = "dummy"
    aliases = ("stand_in",)
    conventions = {"ranklib": {"cutoff": 10}}

    def of_ranked(self, lists):
        return Precision(self.cutoff, relevance_level=self.relevance_level).of_ranked(lists)

    def definition(self):
        return "as precision."
""",
    ),
    "data/formats": (
        "from localrank.data.formats.dummy import DummyFormat as DummyFormat",
        """
from localrank.data import RankingDataset
from localrank.data.formats.base import Format
from localrank.registry import declare


@declare("dummy", "lines of query;label;value;value")
class DummyFormat(Format):
    said, files = "is a dummy", "dummies"
    suffixes, first_bytes = (".dummy",), (b"query;label;",)
    options = ("scale",)

    def read(self, paths, wanted, *, scale=1.0):
        rows = []
        for path in paths:
            lines = path.read_text(encoding="ascii", errors="replace").splitlines()[1:]
            for number, line in enumerate(lines or [""], start=2):
                cells = line.split(";")
                if len(cells) != 4:
                    raise ValueError(f"{path}:{number}: a line must have four cells.")
                rows.append(list(map(float, cells)))
        queries, labels, *features = map(list, zip(*rows))
        X = [[scale * value for value in row] for row in zip(*features)]
        return RankingDataset.from_arrays(X, labels, list(map(int, queries)))

    def sample(self):
        return "sample.dummy", b"query;label;a;b\\n7;1;0.5;3\\n7;0;2;0\\n8;2;0;1\\n"
""",
    ),
}
SUITES = {
    "rankers": "test_contracts.py",
    "recipes": "test_contracts.py",
    "representations": "representations/test_representation_contracts.py",
    "grouping": "grouping/test_grouping_contracts.py",
    "selection": "selection/test_selector_contracts.py",
    "aggregation": "aggregation/test_aggregators.py",
    "measures": "measures/test_measure_contracts.py",
    "export": "export/test_target_contracts.py",
    "data/formats": "data/formats/test_format_contracts.py",
}


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """Runs Python where the package is a copy with the newcomers."""
    folder = tmp_path_factory.mktemp("newcomers")
    # With what is compiled already.
    shutil.copytree(Path(localrank.__file__).parent, folder / "localrank")
    for package, (line, text) in NEWCOMERS.items():
        (folder / "localrank" / package / "dummy.py").write_text(text)
        exports = folder / "localrank" / package / "__init__.py"
        head, lines = exports.read_text().split("if TYPE_CHECKING:\n")
        exports.write_text(f"{head}if TYPE_CHECKING:\n    {line}\n{lines}")
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=TESTS.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr
        return done.stdout

    return run


def test_every_newcomer_passes_the_contract_of_its_kind(call):
    suites = sorted({str(TESTS / suite) for suite in SUITES.values()})
    out = call("-m", "pytest", "-p", "no:cacheprovider", "-v", "-k", "dummy", *suites)
    passed = [line for line in out.splitlines() if "PASSED" in line]
    names = {"rankers": "[DummyRanker]", "recipes": "[dummy_recipe]"}
    for package, suite in SUITES.items():
        lines = [line for line in passed if suite in line and names.get(package, "ummy") in line]
        assert len(lines) >= 8, (package, out)


def test_newcomers_are_listed(call):
    listed = json.loads(call("-m", "localrank", "methods", "--json"))
    assert {"dummy", "dummy-recipe"} <= set(listed["methods"])
    assert all("dummy" in known for known in listed["parts"].values())
    assert "dummy" in listed["targets"]


def test_newcomers_are_chosen_by_name(call, tmp_path):
    dataset, _ = make_queries(40, n_features=5, random_state=0)
    write_letor(dataset, tmp_path / "train.txt")
    kinds = ("representation", "grouping", "ranker", "selector")
    chosen = [word for kind in kinds for word in ("--set", f"{kind}=dummy")]
    chosen += ["--set", "representation__of=smallest", "--measures", "dummy@3"]
    train = ("-m", "localrank", "train", tmp_path / "train.txt", "--json", "--n-jobs", "1")
    out = call(*train, "--method", "local-rank", *chosen, "-o", tmp_path / "model.localrank")
    assert 0.4 < json.loads(out)["training"]["dummy@3"] < 1
    out = call("-m", "localrank", "info", tmp_path / "model.localrank")
    for part in ("DummyRepresentation(of='smallest')", "DummyGrouping()", "DummySelector()"):
        assert part in out
    lists = ("--method", "multiple-hyperplanes", "--set", "aggregator=dummy")
    call(*train, *lists, "-o", tmp_path / "lists.localrank")


def test_a_new_target_is_written_and_verified_by_name(call, tmp_path):
    dataset, _ = make_queries(40, n_features=5, random_state=0)
    write_letor(dataset, tmp_path / "train.txt")
    train = ("-m", "localrank", "train", tmp_path / "train.txt", "--method", "rank-svm")
    call(*train, "-o", tmp_path / "model.localrank")
    options = ("--to", "dummy", "-o", tmp_path / "out", "--verify", tmp_path / "train.txt")
    out = call("-m", "localrank", "export", tmp_path / "model.localrank", *options, "--json")
    assert json.loads(out)["n_equal_lists"] == 40
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.md",
        "weights.json",
    ]


def test_a_new_format_is_read_by_commands_and_from_python(call, tmp_path):
    path = tmp_path / "train.dummy"
    path.write_text("query;label;a;b\n7;1;0.5;3\n7;0;2;0\n8;2;0;1\n")
    facts = json.loads(call("-m", "localrank", "info", path, "--json"))
    assert (facts["n_queries"], facts["n_documents"], facts["n_features"]) == (2, 3, 2)
    script = f"from localrank.data import read; print(read({str(path)!r}, scale=2).features.max())"
    assert call("-c", script).strip() == "6.0"


def test_the_package_itself_has_no_newcomers():
    assert not [name for name in METHODS if "dummy" in name]
    assert not list(Path(localrank.__file__).parent.rglob("dummy.py"))
