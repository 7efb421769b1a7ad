"""Exports ranked by Vespa's own code, compared with the formula and with the emulation."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from engines.vespa_ranking import Case, rankings_in_vespa
from tree_exports import documents_at, tree_model
from vespa_columns import columns_of, with_columns

from localrank.data import RankingDataset, read_letor
from localrank.export import ExportedModel, Vespa
from localrank.formulas import (
    Formula,
    Linear,
    Net,
    OnColumns,
    Routed,
    ServiceRouter,
    TreeSum,
    WeightedSum,
)
from localrank.rankers import LambdaMART, RankSVM

pytestmark = pytest.mark.slow

N_FEATURES = 46
NAMES = tuple(f"f{number}" for number in range(1, N_FEATURES + 1))
# Names that mean something to Vespa, or are none.
ODD_NAMES = (
    "title length",
    "bm25",
    "BM25",
    'quote"d',
    "f(x)",
    "ünï",
    "9lives",
    "_x",
    "id",
    "if",
    "position",
    "normalize_linear",
    "reciprocal_rank",
    "documentid",
    "attribute",
    "query",
    "nan",
    "x" * 200,
)


@dataclass(frozen=True)
class Formulas:
    """What is exported."""

    trees: TreeSum
    linear: Linear
    total: WeightedSum
    coordinates: OnColumns


@pytest.fixture(scope="module")
def lists(benchmark_data) -> RankingDataset:
    """Twelve queries of MQ2008, in which documents have many equal values."""
    return read_letor(benchmark_data / "MQ2008" / "S1.txt.gz").select(range(12))


@pytest.fixture(scope="module")
def gapped(lists) -> RankingDataset:
    features = lists.features.copy()
    features[np.random.default_rng(3).random(features.shape) < 0.1] = np.nan
    return lists.with_features(features)


@pytest.fixture(scope="module")
def formulas(lists, gapped) -> Formulas:
    rng = np.random.default_rng(4)
    net = Net(
        rng.normal(size=(6, N_FEATURES)),
        rng.normal(size=6),
        rng.normal(size=6),
        rng.normal(size=N_FEATURES),
        rng.normal(size=N_FEATURES),
        rng.uniform(0.1, 0.5, size=N_FEATURES),
        2.0,
    )
    trees, linear = (ranker.fit(lists).formula() for ranker in (LambdaMART(60), RankSVM()))
    # Missing values in training teach the trees a way for them.
    term = LambdaMART(60).fit(with_columns(gapped)).formula()
    return Formulas(
        trees,
        linear,
        WeightedSum((trees, linear, net), np.array([1.0, -0.5, 0.1]), 0.25),
        OnColumns(columns_of(N_FEATURES), term, with_columns),
    )


@pytest.fixture(scope="module")
def thresholds() -> tuple[ExportedModel, RankingDataset]:
    """Random trees with thresholds of all magnitudes, and documents on them and beside them."""
    rng = np.random.default_rng(5)
    model = tree_model(rng)
    return model, documents_at(rng, model.formula.trees.thresholds, 100)


@pytest.fixture(scope="module")
def answers(formulas, thresholds, lists, gapped):
    """Scores by case, and the first result as Vespa says it: all from one JVM."""
    model, documents = thresholds
    moved = Vespa().files(model)
    cases = {
        "coordinates": Case(files_of(formulas.coordinates), lists),
        "missing": Case(files_of(formulas.coordinates), gapped),
        "trees": Case(files_of(formulas.trees), lists),
        "linear": Case(files_of(formulas.linear), lists),
        "total": Case(files_of(formulas.total), lists),
        "routed": Case(files_of(routed(formulas)), lists, groups_of(lists)),
        "names": Case(files_of(formulas.total, ODD_NAMES + NAMES[len(ODD_NAMES) :]), lists),
        "moved": Case(moved, documents),
        "unmoved": Case(with_thresholds_as_they_were(moved), documents),
    }
    scores, result = rankings_in_vespa(list(cases.values()))
    return dict(zip(cases, scores, strict=True)), result


def files_of(formula: Formula, names=NAMES) -> dict[str, str | bytes]:
    return Vespa().files(ExportedModel("web", formula, names, {"ranker": "SomeRanker"}))


def routed(formulas: Formulas) -> Routed:
    router = ServiceRouter(lambda _: np.empty((0, 3)), "the test chooses", blends=False)
    return Routed(router, (formulas.trees, formulas.linear, formulas.coordinates))


def groups_of(dataset: RankingDataset) -> np.ndarray:
    return np.arange(dataset.n_queries) % 3


def with_thresholds_as_they_were(files):
    """The trees as LightGBM itself would write them."""
    (name,) = (name for name in files if name.startswith("models/"))

    def unmoved(node):
        if abs(node.get("threshold", np.inf)) < 1e38:
            lower = np.nextafter(np.float32(node["threshold"]), np.float32(-np.inf))
            node["threshold"] = float(lower)
        return node

    return {**files, name: json.dumps(json.loads(files[name], object_hook=unmoved))}


@pytest.mark.parametrize("name", ["trees", "linear", "total", "coordinates"])
def test_vespa_computes_the_formula(answers, formulas, lists, name):
    formula, (scores, _) = getattr(formulas, name), answers
    np.testing.assert_array_equal(scores[name], Vespa().scores(files_of(formula), lists))
    np.testing.assert_allclose(scores[name], formula.score(lists), rtol=0, atol=1e-12)


def test_vespa_takes_features_of_any_name(answers):
    scores, _ = answers
    np.testing.assert_array_equal(scores["names"], scores["total"])


def test_vespa_sends_missing_values_where_the_trees_send_them(answers, formulas, gapped):
    scores, _ = answers
    np.testing.assert_array_equal(scores["missing"], formulas.coordinates.score(gapped))
    emulated = Vespa().scores(files_of(formulas.coordinates), gapped)
    np.testing.assert_array_equal(scores["missing"], emulated)


def test_vespa_ranks_by_the_group_that_the_query_names(answers, formulas, lists):
    scores, _ = answers
    groups = groups_of(lists)[lists.query_index]
    expected = [group.score(lists) for group in routed(formulas).groups]
    np.testing.assert_allclose(scores["routed"], np.choose(groups, expected), rtol=0, atol=1e-12)
    files = files_of(routed(formulas))
    emulated = [Vespa().group_scores(files, lists, number) for number in range(3)]
    np.testing.assert_array_equal(scores["routed"], np.choose(groups, emulated))


def test_documents_on_a_threshold_go_left_in_vespa(answers, thresholds):
    (scores, _), (model, documents) = answers, thresholds
    np.testing.assert_array_equal(scores["moved"], Vespa().scores(Vespa().files(model), documents))
    np.testing.assert_allclose(scores["moved"], model.formula.score(documents), rtol=0, atol=1e-13)
    # Which they would not by the thresholds of LightGBM.
    assert (np.abs(scores["unmoved"] - scores["moved"]) > 0.01).mean() > 0.05


def test_match_features_of_a_hit_are_its_features(answers, lists):
    _, result = answers
    hits = result["root"]["children"]
    assert len(hits) == lists.query_sizes[0]
    for hit in hits:
        logged = hit["fields"]["matchfeatures"]
        row = lists.features[int(hit["id"])]
        assert logged == {name: row[NAMES.index(name.removeprefix("feature_"))] for name in logged}
        assert "feature_f1" in logged
