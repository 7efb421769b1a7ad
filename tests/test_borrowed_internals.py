"""Each private part of another library stands behind one module, and can be missing.

A test of the first kind calls the foreign part itself: its message says in words what a new version
changed, and what localrank loses by it. A test of the second kind takes the part away, and shows
that the results stay the same. `make newest` runs them with the newest releases.
"""

import ast
import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import lightgbm
import numba
import numpy as np
import pytest
import sklearn
import threadpoolctl
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import localrank
from localrank._base import parallel, scikit_learn_internals
from localrank._kernels import numba_internals
from localrank._kernels.instructions import intrinsic
from localrank.persistence import _scikit_learn as stored
from localrank.rankers import LambdaMART, Quadratic, RankSVM
from localrank.trees import _contributions, _scoring, trees

SOURCE = Path(localrank.__file__).parent

# What is private, and the one module that may know it.
DOORS = {
    "numba.core": "_kernels/numba_internals.py",
    "numba.misc": "_kernels/numba_internals.py",
    "numba.extending.register_model": "_kernels/instructions.py",
    "intrinsic": "_kernels/instructions.py",
    "define_pipelines": "_kernels/numba_internals.py",
    "llvmlite.ir": "_kernels/instructions.py",
    "_cache": "_kernels/numba_internals.py",
    "_rebuild": "_kernels/numba_internals.py",
    "_reduce": "_kernels/numba_internals.py",
    "magic_tuple": "_kernels/numba_internals.py",
    "sklearn.tree._tree": "_base/scikit_learn_internals.py",
    "_metadata_request": "_base/scikit_learn_internals.py",
    "_sk_visual_block_": "_base/scikit_learn_internals.py",
    "_get_loss": "_base/scikit_learn_internals.py",
    "_create_sample_indices": "rankers/boosted_trees/_binned.py",
    "_init_from_sample": "rankers/boosted_trees/_binned.py",
    "_init_from_ref_dataset": "rankers/boosted_trees/_binned.py",
    "_push_rows": "rankers/boosted_trees/_binned.py",
    "lightgbm.basic": "rankers/boosted_trees/_binned.py",
    "clear_controlling_thread": "_base/parallel.py",
    "OpenBLASController": "_base/parallel.py",
    "uvicorn.protocols": "serving/_uvicorn.py",
    "uvicorn.supervisors": "serving/_uvicorn.py",
}


def names_in(path):
    """Modules that a file imports from, names that it imports, and attributes that it asks for."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Attribute):
            yield node.attr


@pytest.mark.parametrize("private", DOORS)
def test_one_module_knows_a_private_part(private):
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(name == private or name.startswith(f"{private}.") for name in names_in(path))
    }
    assert users <= {DOORS[private]}


def test_nothing_else_is_imported_from_private_modules():
    private = {
        f"{path.relative_to(SOURCE).as_posix()}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in names_in(path)
        if name.split(".")[0] in ("numba", "sklearn", "lightgbm", "threadpoolctl", "scipy", "numpy")
        and any(part.startswith("_") for part in name.split("."))
    }
    assert private == {
        f"_base/scikit_learn_internals.py: sklearn.tree._tree{name}"
        for name in ("", ".NODE_DTYPE", ".Tree")
    }


# numba: compiled functions are kept


def test_numba_asks_a_cache_before_it_compiles_and_tells_it_after():
    told = "kernels are compiled in every process (localrank._kernels.numba_internals)"
    compiled = numba.njit(lambda x: x + 1)
    assert hasattr(compiled, "_cache"), f"a compiled function has no `_cache`: {told}"

    class Store(dict):
        cache_path = None
        n_compiled = 0

        def read(self, key):
            return self.get(key)

        def write(self, key, content):
            self[key] = content

        def was_compiled(self, seconds):
            self.n_compiled += 1

    store = Store()
    numba_internals.keep_compiled(compiled, store)
    assert compiled(1) == 2
    assert store.n_compiled == 1, f"numba did not tell its `_cache` what it compiled: {told}"
    assert len(store) == 1, f"what numba compiled did not become bytes: {told}"
    again = numba.njit(lambda x: x + 1)
    numba_internals.keep_compiled(again, store)
    assert again(1) == 2
    assert store.n_compiled == 1, f"numba did not take what its `_cache` gave it: {told}"


KERNEL = """
import sys
import warnings
import numba
import numpy as np
from numba.core import codegen, compiler
{lose}
with warnings.catch_warnings(record=True) as issued:
    warnings.simplefilter("always")
    from localrank._kernels.sorting import argsort_descending
    print(argsort_descending(np.array([1.0, 3.0, 2.0]), np.array([0, 3])).tolist())
    print([str(warning.message) for warning in issued])
"""


READ, KEPT = "what was kept cannot be read", "what was compiled cannot be kept"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        ("del compiler.CompileResult._rebuild", READ),
        ("del codegen.CPUCodegen.magic_tuple", READ),
        ("del compiler.CompileResult._reduce", KEPT),
        ("sys.modules['numba.core.event'] = None", None),
        # A library that is made ready in another way.
        (
            "done = codegen.JITCodeLibrary.finalize\n"
            "codegen.JITCodeLibrary.finalize = lambda self: done(self)",
            None,
        ),
    ],
)
def test_without_a_part_of_numba_kernels_are_compiled_and_one_warning_says_so(
    lose, reason, tmp_path
):
    script = KERNEL.format(lose=lose)
    if lose.endswith("_rebuild"):
        # Something must be there to be rebuilt.
        run_python(KERNEL.format(lose=""), tmp_path)
    order, issued = run_python(script, tmp_path).splitlines()
    assert order == "[1, 2, 0]"
    assert len(ast.literal_eval(issued)) == (reason is not None)
    if reason is not None:
        assert reason in issued
        assert "Scores do not change" in issued


def run_python(script, folder):
    return subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(SOURCE.parent), "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_compiled_function_without_a_cache_is_compiled_in_memory(monkeypatch):
    monkeypatch.setattr(numba_internals, "_warned", False)

    class Compiled:
        pass

    with pytest.warns(RuntimeWarning, match="have no cache that can be replaced"):
        numba_internals.keep_compiled(Compiled(), store=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        numba_internals.keep_compiled(Compiled(), store=None)


# numba: instructions by hand


@intrinsic
def broken(_, *__):
    """An instruction that this version of LLVM does not know."""
    raise NotImplementedError


@pytest.fixture(scope="module")
def model(queries):
    return LambdaMART(20, n_leaves=15, min_leaf_documents=5).fit(queries)


def test_without_instructions_by_hand_trees_score_the_same(model, queries, monkeypatch):
    features = queries.features.copy()
    features[::7, 1], features[::5, 2] = np.nan, 0.0
    scores = {kind: model.trees_.score(features.astype(kind)) for kind in (np.float32, np.float64)}

    def fails(*_):
        raise numba.NumbaError("no such instruction")

    monkeypatch.setattr(trees, "rank_values", fails)
    for kind, expected in scores.items():
        scorer = trees.Scorer(model.trees_, kind)
        with pytest.warns(RuntimeWarning, match="Loops score them, several times slower"):
            assert_array_equal(scorer.score(features.astype(kind)), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(scorer.score(features.astype(kind)), expected)


def test_without_instructions_by_hand_contributions_are_the_same(model, queries, monkeypatch):
    values, base = model.trees_.contributions(queries.features)

    def fails(*_):
        raise numba.NumbaError("no such instruction")

    monkeypatch.setattr(_contributions, "rank_values", fails)
    contributor = _contributions.TreeContributions(model.trees_, queries.features.dtype)
    with pytest.warns(RuntimeWarning, match="Loops score them"):
        assert_array_equal(contributor.of(queries.features), values)
    assert contributor.base == base


def test_an_error_that_the_instructions_do_not_cause_is_raised(model, queries, monkeypatch):
    def fails(*_):
        raise numba.NumbaError("nothing can be compiled")

    scorer = trees.Scorer(model.trees_, np.float64)
    scorer._rank_values = fails
    monkeypatch.setattr(trees, "rank_values_in_loops", lambda *_: fails())
    with (
        pytest.warns(RuntimeWarning, match="Loops score them"),
        pytest.raises(numba.NumbaError, match="nothing can be compiled"),
    ):
        scorer.score(queries.features.astype(np.float64))


def test_a_wrong_instruction_is_an_error_that_is_caught():
    @numba.njit
    def kernel(x):
        return broken(x)

    with pytest.raises(numba_internals.COMPILER_ERRORS):
        kernel(1)


def test_numba_compiles_the_instructions_by_hand():
    features, ranks = np.array([[0.5], [2.0]]), np.zeros(16, np.uint8)
    columns, starts = np.zeros(1, np.int64), np.array([0, 2])
    arguments = (columns, np.array([0.0, 1.0]), starts, np.zeros(1), np.zeros(1))
    try:
        _scoring.rank_values(features, *arguments, ranks)
    except numba_internals.COMPILER_ERRORS as error:
        pytest.fail(f"numba {numba.__version__} cannot compile them; trees score in loops: {error}")
    assert ranks[:2].tolist() == [1, 2], "an instruction of localrank._kernels.instructions differs"


# LightGBM: rows in blocks


@pytest.mark.parametrize(
    "name", ["_create_sample_indices", "_init_from_sample", "_init_from_ref_dataset", "_push_rows"]
)
def test_lightgbm_takes_blocks_of_rows(name):
    method = getattr(lightgbm.Dataset, name, None)
    assert method is not None, (
        f"LightGBM {lightgbm.__version__} has no Dataset.{name}: training needs memory for the "
        f"whole array (localrank.rankers.boosted_trees._binned)"
    )
    assert len(inspect.signature(method).parameters) == {"_init_from_sample": 5}.get(
        name, 3 if name == "_init_from_ref_dataset" else 2
    ), f"LightGBM {lightgbm.__version__} asks for other arguments in Dataset.{name}"


@pytest.mark.parametrize(
    "name", ["_create_sample_indices", "_init_from_sample", "_init_from_ref_dataset", "_push_rows"]
)
def test_a_lightgbm_that_takes_no_blocks_trains_the_same_model(name, queries, monkeypatch):
    train, valid = queries.select(range(45)), queries.select(range(45, 60))
    scores = LambdaMART(9, min_leaf_documents=5).fit(train, valid=valid).predict(queries)
    monkeypatch.delattr(lightgbm.Dataset, name)
    with pytest.warns(RuntimeWarning, match="takes no blocks of rows .* The trees are the same"):
        model = LambdaMART(9, min_leaf_documents=5).fit(train, valid=valid)
    assert_array_equal(model.predict(queries), scores)


def test_lightgbm_is_not_set_up_again_for_a_gradient(queries):
    """Without it, trees draw other features than LightGBM's own objective does."""
    rows = lightgbm.Dataset(queries.features, queries.labels, group=queries.query_sizes)
    booster = lightgbm.Booster({"objective": "none", "verbosity": -1}, rows)
    assert hasattr(booster, "_Booster__set_objective_to_none"), (
        f"LightGBM {lightgbm.__version__} has another name for it: trees of LambdaMART draw other "
        f"features, and fail without a split (localrank.rankers.boosted_trees._binned)"
    )


# scikit-learn: trees, boosting, requests, diagrams


@pytest.fixture
def labelled(rng):
    features = rng.normal(size=(200, 4)).astype(np.float32)
    features[::9, 2] = np.nan
    return features, rng.integers(0, 3, len(features))


def stored_and_read(part):
    state = stored.state_of(part)
    return stored.built(type(part).__name__, state["parameters"], state["fitted"])


def test_scikit_learn_takes_the_nodes_of_a_tree(labelled):
    tree = DecisionTreeClassifier(random_state=0).fit(*labelled)
    read = stored_and_read(tree)
    assert not isinstance(read.tree_, scikit_learn_internals.WalkedTree), (
        f"scikit-learn {sklearn.__version__} stores trees in another way: numpy walks those of a "
        f"model file (localrank._base.scikit_learn_internals)"
    )
    assert_array_equal(read.predict_proba(labelled[0]), tree.predict_proba(labelled[0]))


def test_without_the_nodes_of_scikit_learn_a_tree_gives_the_same(labelled, monkeypatch):
    tree = DecisionTreeClassifier(random_state=0).fit(*labelled)
    monkeypatch.setitem(sys.modules, "sklearn.tree._tree", None)
    with pytest.warns(RuntimeWarning, match="numpy walks those of the file"):
        read = stored_and_read(tree)
    assert_array_equal(read.predict_proba(labelled[0]), tree.predict_proba(labelled[0]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scikit_learn_takes_the_stages_of_boosting(n_classes, rng):
    features = rng.normal(size=(60, 3))
    boosted = GradientBoostingClassifier(n_estimators=3).fit(features, np.arange(60) % n_classes)
    assert hasattr(boosted, "_get_loss"), (
        f"GradientBoostingClassifier of scikit-learn {sklearn.__version__} has no `_get_loss`: "
        f"model files that hold one are refused (localrank._base.scikit_learn_internals)"
    )
    read = stored_and_read(boosted)
    assert_array_equal(read.predict_proba(features), boosted.predict_proba(features))


def test_boosting_that_scikit_learn_stores_in_another_way_is_refused(rng, monkeypatch):
    features = rng.normal(size=(60, 3))
    boosted = GradientBoostingClassifier(n_estimators=3).fit(features, np.arange(60) % 2)
    monkeypatch.setattr(GradientBoostingClassifier, "_get_loss", lambda self, sample_weight: None)
    with pytest.raises(ValueError, match="gradient boosting, which this version of scikit-learn"):
        stored_and_read(boosted)


def test_an_attribute_that_scikit_learn_stores_elsewhere_is_refused_not_forgotten(labelled):
    tree = DecisionTreeClassifier().fit(*labelled)
    del tree.tree_
    with pytest.raises(ValueError, match="this version of scikit-learn stores tree_ in another"):
        stored.state_of(tree)


def test_requests_of_a_scikit_learn_that_stores_them_in_another_way_are_refused(monkeypatch):
    routing = RankSVM().get_metadata_routing()
    assert hasattr(routing.fit, "add_request"), (
        f"scikit-learn {sklearn.__version__} stores requests in another way: set_fit_request of "
        f"rankers is refused (localrank._base.scikit_learn_internals)"
    )
    monkeypatch.delattr(type(routing.fit), "add_request")
    with pytest.raises(NotImplementedError, match="set_fit_request does not work"):
        RankSVM().set_fit_request(query_weight=True)


def test_without_the_boxes_of_scikit_learn_a_notebook_shows_the_text(monkeypatch):
    assert "<label" in Quadratic(RankSVM())._repr_html_(), (
        f"scikit-learn {sklearn.__version__} draws no box for a ranker"
    )
    monkeypatch.delattr(scikit_learn_internals._Block, "_sk_visual_block_")
    monkeypatch.setattr(scikit_learn_internals._Block, "__init__", lambda self, *_: None)
    shown = Quadratic(RankSVM(loss="hinge"))._repr_html_()
    assert shown == "<pre>Quadratic(ranker=RankSVM(loss=&#x27;hinge&#x27;))</pre>"


# threadpoolctl: who sets the number of threads


def test_one_thread_of_linear_algebra_with_and_without_control(monkeypatch):
    def n_threads():
        pools = threadpoolctl.threadpool_info()
        return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}

    for control in (threadpoolctl, None):
        monkeypatch.setattr(parallel, "threadpoolctl", control)
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            with parallel.one_blas_thread():
                assert n_threads() == {1}, "threadpoolctl obeys another thread"
            assert n_threads() == {2}
