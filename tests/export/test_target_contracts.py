"""What every export target promises, checked for every one that declares itself."""

import os
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import localrank
from localrank.aggregation import FixedScale
from localrank.data import make_queries
from localrank.export import NotExportable, Target, export, targets, verify
from localrank.export.writing import exported_model, read_files
from localrank.formulas import Formula, Linear, Net, TreeSum
from localrank.rankers import (
    GBRT,
    Ensemble,
    LambdaMART,
    Quadratic,
    QueryCoordinates,
    RankNet,
    RankSVM,
    SymmetricTrees,
)
from localrank.recipes import local_rank, pca_queries

# Names that mean something in JSON, XML, SQL, Lucene, Vespa and format strings.
ODD_NAMES = ["bm25 of title", "if", 'a"b', "<&>", "é", "score"]
# Names that end a line, a text, a comment or a statement, that lead out of a folder, or are long.
HOSTILE_NAMES = ["a\nb\r\tc", "../../etc", "it's `{{a}}` \\", "*/ ]]>", "x; DROP --", "y" * 5000]
# Models of one step, which every target that takes the step must take, and models of several.
RANKERS = {
    "trees": LambdaMART(6, min_leaf_documents=5),
    "symmetric": SymmetricTrees(n_trees=6, depth=3),
    "linear": RankSVM(),
    "net": RankNet(random_state=0),
    "sum": Ensemble([LambdaMART(3), RankSVM()], aggregator=FixedScale()),
    "products": Quadratic(RankSVM()),
    "coordinates": QueryCoordinates(LambdaMART(3)),
    "engine-coordinates": QueryCoordinates(LambdaMART(3), parts="md"),
    "standardised": Ensemble([LambdaMART(3), GBRT(3)]),
    "groups": pca_queries(2),
    "groups-of-trees": pca_queries(2, ranker=LambdaMART(3, min_leaf_documents=5)),
    "service": local_rank(2),
}
ONE_STEP = {"trees": TreeSum, "symmetric": TreeSum, "linear": Linear, "net": Net}

each = pytest.mark.parametrize("to", sorted(targets()))
each_model = pytest.mark.parametrize("kind", RANKERS)


def queries(seed=0, **options):
    """Lists of float32 values, which every engine keeps."""
    dataset, _ = make_queries(
        30, n_documents=(5, 12), n_features=6, n_types=2, random_state=seed, **options
    )
    return dataset.replaced(features=dataset.features.astype(np.float32))


@pytest.fixture(scope="module")
def lists():
    return queries()


@pytest.fixture(scope="module")
def rankers(lists):
    return {kind: clone(ranker).fit(lists) for kind, ranker in RANKERS.items()}


def kind_for(to):
    """A kind of model that a target takes."""
    return next(kind for kind, step in ONE_STEP.items() if issubclass(step, targets()[to].takes))


def refusal_of(ranker, to, folder):
    """The refusal of an export, or None if it was written."""
    try:
        export(ranker, to, folder)
    except NotExportable as refusal:
        return refusal
    return None


@each
def test_it_says_what_it_is_and_what_it_takes(to):
    target = targets()[to]
    assert issubclass(target, Target)
    assert target.declaration.name == to
    assert re.fullmatch("[a-z0-9-]+", to)
    assert target.declaration.summary
    assert "\n" not in target.declaration.summary
    assert target.takes
    assert all(issubclass(step, Formula) for step in target.takes)
    assert any(issubclass(step, target.takes) for step in ONE_STEP.values())


@each
@each_model
def test_what_is_written_ranks_as_the_model_and_the_rest_is_refused(to, kind, rankers, tmp_path):
    ranker, lists, folder = rankers[kind], queries(seed=1), tmp_path / "folder"
    refusal = refusal_of(ranker, to, folder)
    if refusal is not None:
        assert refusal.reason
        assert not refusal.reason.endswith(".")
        # A sentence that names something to do instead.
        assert re.match("(Use|Train|Combine) ", refusal.instead)
        assert refusal.instead.endswith(".")
        assert not folder.exists()
        return
    assert (folder / "README.md").is_file()
    result = verify(ranker, to, folder, lists)
    assert result.same_order, result
    assert result.largest_difference <= 2e-6 * result.largest_score


@each
@pytest.mark.parametrize("kind", ONE_STEP)
def test_it_takes_the_steps_that_it_declares_and_no_others(to, kind, rankers):
    model, target = exported_model(rankers[kind]), targets()[to]()
    if issubclass(ONE_STEP[kind], target.takes):
        assert target.files(model)
        return
    with pytest.raises(NotExportable, match="cannot be exported") as refusal:
        target.files(model)
    # What it says to use is there, and takes the model.
    instead = [name for name in targets() if re.search(rf"\b{name}\b", refusal.value.instead)]
    assert instead
    assert all(targets()[name]().files(model) for name in instead)


@each
def test_the_readme_names_the_model_and_has_no_gaps(to, rankers, tmp_path):
    export(rankers[kind_for(to)], to, tmp_path, name="some_model")
    readme = (tmp_path / "README.md").read_text()
    assert "some_model" in readme
    # Two braces are part of a query's template.
    assert not re.search(r"(?<!\{)\{[a-z_]+\}(?!\})", readme)


@each
def test_a_model_is_written_the_same_each_time_also_after_loading(to, rankers, tmp_path):
    ranker = rankers[kind_for(to)]
    export(ranker, to, tmp_path / "out")
    files = read_files(tmp_path / "out")
    ranker.save(tmp_path / "model.localrank")
    export(localrank.load(tmp_path / "model.localrank"), to, tmp_path / "out")
    assert read_files(tmp_path / "out") == files


@each
def test_scores_come_from_the_files_alone(to, rankers, lists):
    files = targets()[to]().files(exported_model(rankers[kind_for(to)]))
    kept = {
        name: content if isinstance(content, bytes) else content.encode()
        for name, content in files.items()
    }
    features = lists.features.copy()
    first, again = (targets()[to]().scores(content, lists) for content in (files, kept))
    assert first.dtype == np.float64
    assert first.shape == (lists.n_documents,)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(lists.features, features)


@each
@pytest.mark.parametrize("names", [ODD_NAMES, HOSTILE_NAMES], ids=["odd", "hostile"])
def test_features_may_have_odd_names(to, names, tmp_path):
    named = queries().replaced(feature_names=tuple(names))
    ranker = clone(RANKERS[kind_for(to)]).fit(named)
    paths = export(ranker, to, tmp_path / "folder")
    assert all(path.resolve().is_relative_to(tmp_path / "folder") for path in paths)
    result = verify(ranker, to, tmp_path / "folder", named)
    assert result.same_order, result


@each
@pytest.mark.parametrize("name", ["nul\0", "half \udc80", " ", ""])
def test_a_name_that_no_engine_takes_is_refused(to, name, rankers):
    model = exported_model(rankers[kind_for(to)])
    named = replace(model, feature_names=(*model.feature_names[:-1], name))
    with pytest.raises(ValueError, match="must be a text of whole .* That of feature 6 is "):
        targets()[to]().files(named)


@each
def test_missing_values_are_kept_as_in_the_model_or_refused(to, tmp_path):
    lists = queries()
    holes = np.random.default_rng(0).random(lists.features.shape) < 0.1
    lists = lists.replaced(features=np.where(holes, np.nan, lists.features))
    ranker = clone(RANKERS[kind_for(to)]).fit(lists)
    refusal = refusal_of(ranker, to, tmp_path)
    if refusal is not None:
        assert "missing values" in refusal.reason
        return
    result = verify(ranker, to, tmp_path, lists)
    assert result.same_order, result


@each
def test_one_file_of_another_model_is_found_out(to, rankers, lists, tmp_path):
    ranker = rankers[kind_for(to)]
    turned = lists.replaced(relevance=lists.labels.max() - lists.labels)
    other = clone(RANKERS[kind_for(to)]).fit(turned)
    export(ranker, to, tmp_path / "one")
    export(other, to, tmp_path / "other")
    assert verify(ranker, to, tmp_path / "one", lists).same_order
    files, others = (read_files(tmp_path / name) for name in ("one", "other"))
    changed = [name for name in files if files[name] != others.get(name) and name != "README.md"]
    assert changed
    for name in changed:
        if name in others:
            (tmp_path / "one" / name).write_bytes(others[name])
            # If the files do not fit together, the error says so.
            with suppress(ValueError):
                assert not verify(ranker, to, tmp_path / "one", lists).same_order
            (tmp_path / "one" / name).write_bytes(files[name])


@each
@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_a_damaged_file_is_named(to, damage, rankers, lists, tmp_path):
    ranker = rankers[kind_for(to)]
    for path in export(ranker, to, tmp_path):
        if path.name == "README.md":
            continue
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 3 if damage == "cut" else 0])
        if damage == "missing":
            path.unlink()
        named = re.escape(path.suffix) + r"( is not as it was exported|\. It has none)"
        with pytest.raises(ValueError, match=f"{named}.*Export the model again"):
            verify(ranker, to, tmp_path, lists)
        path.write_bytes(content)


@each
def test_a_folder_of_other_things_is_no_export(to, rankers, lists, tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(ValueError, match="must have one file that ends in .*. It has none"):
        verify(rankers[kind_for(to)], to, tmp_path, lists)


@each
def test_a_folder_with_other_files_is_refused_and_left_as_it_was(to, rankers, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files, such as notes.txt"):
        export(rankers[kind_for(to)], to, tmp_path)
    assert read_files(tmp_path) == {"notes.txt": b"mine"}


@each
def test_every_file_is_written_whole_or_not_at_all(to, rankers, lists, tmp_path, monkeypatch):
    old = clone(RANKERS[kind_for(to)]).fit(lists.select(np.arange(10)))
    export(old, to, tmp_path)
    before = read_files(tmp_path)
    replaced = []

    def fails_at_the_last(source, goal):
        if len(replaced) == len(before) - 1:
            raise OSError("no space left")
        replaced.append(goal)
        moved(source, goal)

    moved = os.replace
    monkeypatch.setattr(os, "replace", fails_at_the_last)
    with pytest.raises(OSError, match="no space left"):
        export(rankers[kind_for(to)], to, tmp_path)
    monkeypatch.undo()
    after = read_files(tmp_path)
    assert after.keys() == before.keys()
    whole = targets()[to]().files(exported_model(rankers[kind_for(to)]))
    for name, content in after.items():
        new = whole[name]
        assert content in (before[name], new if isinstance(new, bytes) else new.encode())
    # The old model or the new one may be written again.
    export(rankers[kind_for(to)], to, tmp_path)
    assert verify(rankers[kind_for(to)], to, tmp_path, lists).same_order
