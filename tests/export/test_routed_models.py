import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank import LocalRanker
from localrank.data import make_queries
from localrank.export import NotExportable, Target, export, verify
from localrank.export._routed_models import files_of, group_models, scores_of
from localrank.export.base import GroupTarget
from localrank.export.writing import exported_model, read_files, target
from localrank.formulas import Formula, Routed
from localrank.grouping import Agglomerative
from localrank.rankers import LambdaMART, RankSVM
from localrank.recipes import adaptive_training
from localrank.representations import Mean, PrincipalComponents
from localrank.selection import Classifier, NearestCentroid, NearestQueries, NearestQuery

TREES = LambdaMART(8, min_leaf_documents=3)


@pytest.fixture(scope="module")
def lists():
    return make_queries(60, n_documents=(5, 15), n_features=6, n_types=2, random_state=3)[0]


def local(selector, dataset, ranker=TREES):
    return LocalRanker(PrincipalComponents(), Agglomerative(2), ranker, selector).fit(dataset)


SELECTORS = [
    NearestCentroid(representation=Mean()),
    Classifier(representation=Mean()),
    Classifier(hard=False, representation=Mean()),
    NearestQuery(),
    NearestQueries(5),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_the_groups_of_an_export_rank_together_as_the_ranker_does(selector, lists, tmp_path):
    ranker = local(selector, lists)
    paths = export(ranker, "lightgbm", tmp_path, name="shop")
    names = {path.relative_to(tmp_path).as_posix() for path in paths}
    assert {"router.json", "README.md", "shop_group1/shop_group1.txt"} <= names
    assert {"shop_group2/shop_group2.txt", "shop_group2/README.md"} <= names
    router = ranker.formula().router
    scores = scores_of(target("lightgbm"), read_files(tmp_path), lists, router)
    assert_allclose(scores, ranker.predict(lists), rtol=1e-9, atol=1e-12)
    assert verify(ranker, "lightgbm", tmp_path, lists).same_order


TO = ["solr", "elasticsearch-ltr", "opensearch-ltr", "elastic", "vespa", "sql", "xgboost-json"]


@pytest.mark.parametrize("to", [*TO, "ranklib", "onnx", "treelite"])
def test_every_engine_takes_local_models(to, lists, tmp_path):
    for package in {"onnx": ["onnx"], "treelite": ["treelite"]}.get(to, []):
        pytest.importorskip(package)
    dataset = lists.with_features(lists.features.astype(np.float32), lists.feature_names)
    ranker = local(SELECTORS[2], dataset)
    export(ranker, to, tmp_path)
    verification = verify(ranker, to, tmp_path, dataset)
    assert verification.largest_difference <= 1e-6 * verification.largest_score
    assert verification.same_order


def test_both_groups_have_lists_to_rank(lists):
    ranker = local(SELECTORS[0], lists)
    assert (ranker.selector_.weights(lists, []).sum(axis=0) > 5).all()


def test_the_files_tell_a_wrong_choice(lists, tmp_path):
    ranker = local(SELECTORS[0], lists)
    export(ranker, "lightgbm", tmp_path)
    path = tmp_path / "router.json"
    content = json.loads(path.read_text())
    content["centres"].reverse()
    path.write_text(json.dumps(content))
    assert not verify(ranker, "lightgbm", tmp_path, lists).same_order


def test_without_the_service_a_choice_that_takes_it_is_an_error(lists):
    ranker = local(NearestQuery(), lists)
    files = files_of(target("lightgbm"), exported_model(ranker))
    with pytest.raises(ValueError, match="leaves the choice of a group for query"):
        scores_of(target("lightgbm"), files, lists)


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (SELECTORS[0], ["holds the numbers for the choice"]),
        (SELECTORS[2], ["holds the numbers for the choice", "weight times score in the client"]),
        (SELECTORS[3], ["localrank serve", "explain=true"]),
        (SELECTORS[4], ["localrank serve", "standardised score"]),
    ],
    ids=str,
)
def test_the_readme_says_how_a_client_chooses(selector, words, lists):
    readme = files_of(target("lightgbm"), exported_model(local(selector, lists)))["README.md"]
    assert all(word in readme for word in words)
    assert ("Several groups" in readme) == (selector in (SELECTORS[2], SELECTORS[4]))


def test_models_of_groups_are_named_and_numbered(lists):
    model = exported_model(local(SELECTORS[0], lists), "shop")
    models = group_models(model)
    assert list(models) == ["shop_group1", "shop_group2"]
    for number, (name, group) in enumerate(models.items()):
        assert group.name == name
        assert group.formula is model.formula.groups[number]
        assert group.feature_names == model.feature_names
    single = models["shop_group1"]
    assert group_models(single) == {"shop_group1": single}


def test_a_group_that_the_engine_does_not_take_is_named(lists):
    with pytest.raises(NotExportable, match="The model of group 1 of 2 cannot be exported"):
        files_of(target("lightgbm"), exported_model(local(SELECTORS[0], lists, RankSVM())))


class OneForAll(GroupTarget):
    """An engine whose model holds all groups, and a query says which."""

    takes = (Formula,)

    def _files(self, model):
        weights = [group.weights.tolist() for group in model.formula.groups]
        return {"model.json": json.dumps(weights), "README.md": "Say the group.\n"}

    def scores(self, files, dataset):
        raise AssertionError("the group is not said")

    def group_scores(self, files, dataset, group):
        return dataset.features @ json.loads(files["model.json"])[group]


@pytest.mark.parametrize("selector", SELECTORS[:3], ids=repr)
def test_an_engine_may_hold_all_groups_in_one_model(selector, lists):
    ranker = local(selector, lists, RankSVM())
    files = files_of(OneForAll(), exported_model(ranker))
    assert sorted(files) == ["README.md", "model.json", "router.json"]
    assert files["README.md"].startswith("Say the group.\n\n## Which group ranks a list")
    scores = scores_of(OneForAll(), files, lists)
    assert_allclose(scores, ranker.predict(lists), rtol=1e-9, atol=1e-12)


class Chooser(Target):
    """An engine that chooses by itself, where a file says how."""

    takes = (Formula,)
    chooses_groups = True

    def _files(self, model):
        if isinstance(model.formula, Routed) and model.formula.router.needs_service:
            raise NotExportable("It", "it cannot choose", "Let others choose.")
        return {"whole.json": model.name, "README.md": ""}

    def scores(self, files, dataset):
        return np.arange(dataset.n_documents, dtype=float)


def test_an_engine_that_chooses_takes_the_model_whole_where_it_can(lists):
    whole = files_of(Chooser(), exported_model(local(SELECTORS[0], lists)))
    assert sorted(whole) == ["README.md", "whole.json"]
    assert_array_equal(scores_of(Chooser(), whole, lists), np.arange(lists.n_documents))
    apart = files_of(Chooser(), exported_model(local(NearestQuery(), lists)))
    assert {"router.json", "localrank_group2/whole.json"} <= set(apart)


def test_a_loaded_model_is_exported_alike(lists, tmp_path):
    ranker = adaptive_training(2, ranker=TREES).fit(lists)
    ranker.save(tmp_path / "model.localrank")
    again = localrank.load(tmp_path / "model.localrank")
    files = [files_of(target("lightgbm"), exported_model(model)) for model in (ranker, again)]
    assert files[0] == files[1]
    scores = [scores_of(target("lightgbm"), written, lists) for written in files]
    assert_array_equal(scores[0], scores[1])
    assert np.isfinite(scores[0]).all()
