from dataclasses import replace

import numpy as np
import pytest
from tree_exports import NAMES, ZERO_FOR_MISSING, documents_at, exported, spread, tree_model

from localrank.aggregation import FixedScale
from localrank.data import RankingDataset, make_queries
from localrank.export import NotExportable, export, targets
from localrank.formulas import (
    Column,
    Linear,
    Net,
    OnColumns,
    Routed,
    Router,
    Standardised,
    TreeSum,
    WeightedSum,
)
from localrank.rankers import GBRT, Ensemble, LambdaMART, RankSVM
from localrank.trees import Trees

# Those that hold one sum, of trees or of weighted features.
TARGETS = [name for name, target in targets().items() if {TreeSum, Linear}.issuperset(target.takes)]
EXACT = ("lightgbm", "treelite")


@pytest.mark.parametrize("to", TARGETS)
def test_any_trees_score_as_they_are(to, rng):
    target = targets()[to]()
    for _ in range(5):
        model = tree_model(rng, ZERO_FOR_MISSING if to == "ranklib" else (0, 2, 8, 10))
        dataset = documents_at(rng, model.formula.trees.thresholds)
        scores = target.scores(target.files(model), dataset)
        expected = model.formula.score(dataset)
        # Leaves are about 1, sums about 10: single precision has 7 digits of them.
        assert spread(scores, expected) < (1e-12 if to in EXACT else 2e-5)


class Even(Router):
    def weights(self, dataset):
        return np.full((dataset.n_queries, 2), 0.5)

    def data(self, names):
        return {}


def refused():
    """Formulas that hold more than one sum, with the reason and what to do instead."""
    linear = Linear(np.ones(5))
    one, row = np.ones(1), np.ones(5)
    net = Net(np.ones((1, 5)), one, one, row, mean=row, scale=row, most=3.0)
    columns, products = (
        OnColumns((column,), linear, lambda dataset: dataset)
        for column in (Column("deviation", 0), Column("product", 0, 1))
    )
    filled = OnColumns((Column("filled", 0),), linear, lambda dataset: dataset)
    routed = Routed(Even(lambda dataset: None), (linear, linear))
    return {
        "standardised": (
            Standardised(linear),
            "within the query",
            "trees alone with fixed scales (combine=",
        ),
        "filled": (filled, "with the median of their list", "lambdamart, use onnx"),
        "columns": (columns, "computed from the whole list", "features alone"),
        "products": (products, "computed from several features", "features alone"),
        "routed": (WeightedSum((routed, linear), np.ones(2)), "by the query", "localrank serve"),
        "net": (net, "more than that", "onnx"),
        "mixed": (WeightedSum((linear, net), np.ones(2)), "more than that", "onnx"),
    }


@pytest.mark.parametrize("kind", refused())
@pytest.mark.parametrize("to", TARGETS)
def test_other_models_are_refused_with_the_reason_and_the_nearest_thing(to, kind):
    formula, reason, instead = refused()[kind]
    with pytest.raises(NotExportable, match="SomeRanker cannot be exported") as refusal:
        targets()[to]().files(exported(formula))
    assert reason in refusal.value.reason
    assert instead in refusal.value.instead


@pytest.mark.parametrize("to", ["elastic", "lightgbm", "treelite", "xgboost-json"])
def test_linear_models_are_refused_where_files_hold_trees(to):
    with pytest.raises(NotExportable, match="holds trees.*elasticsearch-ltr"):
        targets()[to]().files(exported(Linear(np.ones(5))))


@pytest.mark.parametrize("to", sorted(set(TARGETS) - {"lightgbm"}))
def test_zero_for_missing_is_refused_where_a_file_cannot_say_it(to, rng):
    with pytest.raises(NotExportable, match="treat zero as missing.*Use lightgbm"):
        targets()[to]().files(tree_model(rng, (4, 6)))


def test_lightgbm_keeps_zero_for_missing(rng):
    model, target = tree_model(rng, (4, 6)), targets()["lightgbm"]()
    dataset = documents_at(rng, model.formula.trees.thresholds)
    assert (target.scores(target.files(model), dataset) == model.formula.score(dataset)).all()


@pytest.mark.parametrize("to", TARGETS)
def test_a_model_of_one_leaf_scores_all_alike(to, rng):
    # What is left of trees whose splits gained nothing.
    none = np.empty(0, np.int32)
    trees = Trees(
        n_features=len(NAMES),
        leaf_offsets=np.array([0, 1]),
        split_features=none,
        thresholds=np.empty(0),
        decisions=np.empty(0, np.uint8),
        left_children=none,
        right_children=none,
        gains=np.empty(0, np.float32),
        leaf_values=np.array([0.5]),
        leaf_counts=np.zeros(1, np.int64),
    )
    target, dataset = targets()[to](), documents_at(rng, np.zeros(1))
    assert (target.scores(target.files(exported(TreeSum(trees))), dataset) == 0.5).all()


SINGLE = ["elastic", "elasticsearch-ltr", "opensearch-ltr", "ranklib", "solr", "xgboost-json"]


@pytest.mark.parametrize("to", SINGLE)
def test_scores_beyond_single_precision_are_refused(to, rng):
    model = tree_model(rng, ZERO_FOR_MISSING)
    trees = model.formula.trees
    for factor in (1e36, 1e300):
        large = exported(TreeSum(replace(trees, leaf_values=trees.leaf_values * factor)))
        if factor == 1e36:
            assert targets()[to]().files(large)
            continue
        with pytest.raises(NotExportable, match="exceed the range of float32.*onnx"):
            targets()[to]().files(large)


@pytest.mark.parametrize("to", ["elasticsearch-ltr", "solr"])
def test_weights_beyond_single_precision_are_refused(to):
    with pytest.raises(NotExportable, match="exceed the range of float32.*onnx"):
        targets()[to]().files(exported(Linear(np.array([1e39, 0, 0, 0, 0]))))


@pytest.mark.parametrize("to", [*TARGETS, "solr"])
def test_values_beyond_single_precision_go_where_infinity_goes(to, rng):
    target, model = targets()[to](), tree_model(rng, ZERO_FOR_MISSING)
    trees = model.formula.trees
    # None is larger than all of single precision.
    trees = replace(trees, thresholds=rng.normal(size=len(trees.thresholds)))
    model = exported(TreeSum(trees))
    rows = rng.choice([-1e60, 1e60], (20, 5))
    dataset = RankingDataset.from_arrays(rows, qid=[1] * 20, feature_names=NAMES)
    scores = target.scores(target.files(model), dataset)
    # Elasticsearch takes infinities for missing.
    if to == "elastic":
        rows = np.zeros((20, 5))
    expected = model.formula.score(dataset.replaced(features=rows))
    assert spread(scores, expected) < 2e-5


@pytest.mark.parametrize("members", ["trees", "mixed"])
def test_the_ensemble_that_a_refusal_advises_is_exported(members, tmp_path):
    dataset, _ = make_queries(40)
    rankers = [LambdaMART(3), GBRT(3), *([RankSVM()] if members == "mixed" else [])]
    advice = f"{'trees alone' if members == 'mixed' else 'trees'} with fixed scales .*FixedScale()"
    with pytest.raises(NotExportable, match=advice):
        export(Ensemble(rankers).fit(dataset), "solr", tmp_path)
    advised = Ensemble(rankers[:2], aggregator=FixedScale())
    assert export(advised.fit(dataset), "solr", tmp_path)
