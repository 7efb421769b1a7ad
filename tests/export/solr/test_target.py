import json

import numpy as np
import pytest
from naive_solr import goes_left, naive_scores, normalized
from sklearn.base import clone
from trees.random_trees import N_FEATURES, random_documents, random_trees

from localrank.data import RankingDataset, make_queries, read_letor
from localrank.export import ExportedModel, NotExportable, Solr, Verification
from localrank.export.writing import exported_model
from localrank.formulas import Linear, Net, Routed, Standardised, TreeSum, WeightedSum
from localrank.rankers import GBRT, LambdaMART, ListNet, RankBoost, RankSVM
from localrank.trees import Trees


def dataset_of(features):
    return RankingDataset.from_arrays(features, qid=np.zeros(len(features), int))


def files_of(formula, n_features=N_FEATURES, names=None):
    names = tuple(names or (f"f{number}" for number in range(1, n_features + 1)))
    return Solr().files(ExportedModel("model", formula, names))


def parsed(files) -> tuple[list, dict]:
    return json.loads(files["features.json"]), json.loads(files["model.json"])


def without_zero_as_missing(trees):
    """The same trees, in which only NaN is missing."""
    state = trees.__getstate__()
    kept = state["decisions"] & np.uint8(2 | 8)
    return Trees(**(state | {"decisions": kept}))


def stumps(thresholds, decisions=0):
    """Trees of one split, each on a feature of its own: 1 to the left, 2 to the right."""
    n = len(thresholds)
    return Trees(
        n_features=n,
        leaf_offsets=2 * np.arange(n + 1),
        split_features=np.arange(n, dtype=np.int32),
        thresholds=np.asarray(thresholds, np.float64),
        decisions=np.full(n, decisions, np.uint8),
        left_children=np.full(n, ~0, np.int32),
        right_children=np.full(n, ~1, np.int32),
        gains=np.ones(n, np.float32),
        leaf_values=np.tile([1.0, 2.0], n),
        leaf_counts=np.ones(2 * n, np.int64),
    )


def on_one_feature(trees):
    state = trees.__getstate__()
    zeros = np.zeros_like(trees.split_features)
    return Trees(**(state | {"n_features": 1, "split_features": zeros}))


def numbers_of_all_sizes(rng, n):
    """Floats of any sign and magnitude, and those at which the slack is rounded oddly."""
    powers = 2.0 ** np.union1d(np.arange(-30, 8), np.arange(-126, 128, 12))
    near = np.float32(powers)[:, None].view(np.int32) + np.arange(-3, 4, dtype=np.int32)
    wide = 10.0 ** rng.uniform(-38, 38, n)
    usual = 10.0 ** rng.uniform(-8, 2, n)
    special = [0.0, 1e-35, 1.0000000180025095e-35, 1e-36, 5e-324, 1e-6, 2e-6, 1e300, 3.5e38]
    positive = np.concatenate([near.view(np.float32).ravel(), wide, usual, np.float32(usual)])
    return np.concatenate([positive, -positive, special, np.negative(special)])


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    trees = without_zero_as_missing(random_trees(rng, 12, 20))
    rows = random_documents(rng, 60, np.float32, trees.thresholds)
    rows[~np.isfinite(rows) & ~np.isnan(rows)] = 7
    files = files_of(TreeSum(trees))
    expected = naive_scores(*parsed(files), rows)
    assert np.array_equal(Solr().scores(files, dataset_of(rows)), expected)


@pytest.mark.parametrize("seed", range(4))
def test_trees_send_documents_where_the_ranker_does(seed):
    rng = np.random.default_rng(seed)
    trees = without_zero_as_missing(random_trees(rng, 40, 30))
    rows = random_documents(rng, 400, np.float32, trees.thresholds)
    rows[~np.isfinite(rows) & ~np.isnan(rows)] = 7
    scores = Solr().scores(files_of(TreeSum(trees)), dataset_of(rows))
    # A document in another leaf would differ by more.
    np.testing.assert_allclose(scores, trees.score(rows), atol=2e-5)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("decision", [0, 8, 10])
def test_thresholds_of_every_size_decide_as_the_ranker_for_every_float32(decision, shared, rng):
    thresholds = numbers_of_all_sizes(rng, 150)
    trees = stumps(thresholds, decision)
    if shared:
        trees = on_one_feature(trees)
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
        values = np.stack(
            [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
            + [np.full_like(near, value) for value in (0.0, 1e-36, -1e-36, 1.0, 3e38, -3e38)]
            + [near * np.float32(1 + 2.0**-20), near * np.float32(1 - 2.0**-20)]
        )
    values[~np.isfinite(values)] = 5
    expected = values <= thresholds
    # What is nearer to zero than 1e-35 is zero to LightGBM.
    small = np.abs(values) <= 1.0000000180025095e-35
    expected[small] = np.broadcast_to(thresholds >= 0, values.shape)[small]
    _, model = parsed(files_of(TreeSum(trees), trees.n_features))
    entries = {entry["name"]: entry for entry in model["features"]}
    for tree, column, goes in zip(model["params"]["trees"], values.T, expected.T, strict=True):
        node = tree["root"]
        seen = [normalized(entries[node["feature"]], value) for value in column]
        leaves = [node["left" if goes_left(node, value) else "right"]["value"] for value in seen]
        assert leaves == ["1.0" if left else "2.0" for left in goes]


def test_a_feature_of_ordinary_size_is_read_as_it_is():
    _, model = parsed(files_of(TreeSum(on_one_feature(stumps([0.5, 3.0, 1000.0]))), 1))
    assert model["features"] == [{"name": "f1"}]


def test_a_feature_with_small_and_large_thresholds_is_read_twice():
    trees = on_one_feature(stumps([1e-35, 1000.0]))
    store, model = parsed(files_of(TreeSum(trees), 1))
    assert [feature["params"]["field"] for feature in store] == ["f1", "f1"]
    assert len({feature["name"] for feature in store}) == len(model["features"]) == 2


def test_a_feature_that_is_divided_in_two_ways_does_not_take_the_name_of_a_feature():
    trees = on_one_feature(stumps([1e-35, 1000.0]))
    both = Trees(**(trees.__getstate__() | {"n_features": 2}))
    store, model = parsed(files_of(TreeSum(both), names=["f", "f_again"]))
    names = [feature["name"] for feature in store]
    assert len(set(names)) == 3
    assert {tree["root"]["feature"] for tree in model["params"]["trees"]} <= set(names) - {
        "f_again"
    }


def test_missing_values_go_where_they_went_in_training(rng):
    made, _ = make_queries(60)
    features = np.array(made.features)
    features[rng.random(features.shape) < 0.3] = np.nan
    dataset = made.with_features(features, None)
    ranker = LambdaMART(40).fit(dataset)
    decisions = ranker.trees_.decisions
    assert {8, 10} <= set(decisions.tolist())
    files = Solr().files(exported_model(ranker))
    scores = dataset.in_query_order(ranker.predict(dataset))
    result = Verification.of(dataset, scores, Solr().scores(files, dataset))
    assert result.largest_difference < 1e-6 * result.largest_score


def test_a_document_without_a_value_counts_as_zero_where_training_missed_none():
    files = files_of(TreeSum(stumps([-1.0, 1.0])), 2)
    store, _ = parsed(files)
    assert not any("defaultValue" in feature["params"] for feature in store)
    rows = np.array([[np.nan, np.nan], [0.0, 0.0]])
    scores = Solr().scores(files, dataset_of(rows))
    assert scores.tolist() == [3.0, 3.0]


def test_a_linear_model_adds_up_in_float32_with_its_constant():
    weights = np.array([0.1, 0.0, -2.5])
    files = files_of(Linear(weights, 0.75), 3)
    store, model = parsed(files)
    assert [entry["name"] for entry in model["features"]] == ["f1", "f3", "constant"]
    rows = np.array([[1.0, 9.0, 3.0], [1 / 3, 1.0, 1e-3]])
    scores = Solr().scores(files, dataset_of(rows))
    assert np.array_equal(scores, naive_scores(store, model, rows))
    np.testing.assert_allclose(scores, rows @ weights + 0.75, rtol=1e-6)
    assert not np.array_equal(scores, rows @ weights + 0.75)


def test_many_weights_are_rounded_before_they_are_multiplied(rng):
    files = files_of(Linear(rng.normal(size=30)), 30)
    rows = rng.normal(size=(60, 30))
    expected = naive_scores(*parsed(files), rows)
    assert np.array_equal(Solr().scores(files, dataset_of(rows)), expected)


@pytest.mark.parametrize("most", [4.0, np.inf])
@pytest.mark.parametrize("n_units", [0, 3])
def test_a_net_is_cut_and_adds_up_in_float32(n_units, most, rng):
    net = Net(
        hidden=rng.normal(size=(n_units, 4)),
        bias=rng.normal(size=n_units),
        output=rng.normal(size=n_units),
        skip=rng.normal(size=4),
        mean=rng.normal(size=4),
        scale=10.0 ** np.arange(-1, 3),
        most=most,
    )
    rows = net.mean + net.scale * rng.normal(scale=4, size=(50, 4))
    # Far beyond where values are cut.
    rows[:4] *= 1e6
    files = files_of(net, 4)
    scores = Solr().scores(files, dataset_of(rows))
    assert np.array_equal(scores, naive_scores(*parsed(files), rows))
    np.testing.assert_allclose(scores, net.score(dataset_of(rows)), rtol=1e-4, atol=2e-5)


def test_a_model_without_weights_still_has_a_feature():
    files = files_of(Linear(np.zeros(2)), 2)
    assert Solr().scores(files, dataset_of(np.ones((3, 2)))).tolist() == [0.0] * 3


def test_a_model_of_leaves_only_still_has_a_feature():
    state = stumps([0.5]).__getstate__()
    leaf = {name: values[:0] for name, values in state.items() if np.ndim(values) == 1}
    leaf |= {"leaf_offsets": np.array([0, 1]), "leaf_values": np.array([2.5])}
    leaf |= {"leaf_counts": np.ones(1, np.int64), "n_features": 1}
    leaf["set_offsets"] = state["set_offsets"]
    files = files_of(TreeSum(Trees(**leaf)), 1)
    assert parsed(files)[1]["features"] == [{"name": "f1"}]
    assert Solr().scores(files, dataset_of(np.zeros((2, 1)))).tolist() == [2.5, 2.5]


def test_fields_store_and_model_agree_on_names():
    names = ["bm25 of title", "bm25.of.title", "2gram", "score", "id"]
    files = files_of(Linear(np.arange(1.0, 6.0)), names=names)
    store, model = parsed(files)
    fields = [field["name"] for field in json.loads(files["schema.json"])["add-field"]]
    assert [feature["params"]["field"] for feature in store] == fields
    assert [entry["name"] for entry in model["features"]] == fields
    assert all(field.isidentifier() for field in fields)
    assert len({*fields, "id", "score"}) == 7
    assert all(feature["store"] == model["store"] == "model_fields" for feature in store)
    assert f"`{fields[0]}`: bm25 of title" in files["README.md"]


def test_numbers_of_trees_are_texts_and_weights_are_not():
    _, trees = parsed(files_of(TreeSum(stumps([0.5])), 1))
    tree = trees["params"]["trees"][0]
    numbers = [tree["weight"], tree["root"]["threshold"], tree["root"]["left"]["value"]]
    assert all(isinstance(number, str) for number in numbers)
    _, linear = parsed(files_of(Linear(np.ones(1)), 1))
    assert linear["params"]["weights"] == {"f1": 1.0}


RANKERS = [LambdaMART(50), GBRT(50), RankBoost(30), RankSVM(), ListNet()]


@pytest.mark.parametrize("ranker", RANKERS)
def test_exported_rankers_rank_as_they_do(ranker, queries):
    # As Solr has them: thresholds of RankBoost are values of the training data.
    singles = queries.with_features(queries.features.astype(np.float32))
    check_order(clone(ranker).fit(singles), singles)


@pytest.mark.parametrize("ranker", RANKERS)
def test_exported_rankers_rank_a_benchmark_as_they_do(ranker, benchmark_data):
    train, test = (
        read_letor(benchmark_data / "MQ2008" / name, dtype=np.float32)
        for name in ("S1.txt.gz", "S5.txt.gz")
    )
    check_order(clone(ranker).fit(train), test)


def check_order(ranker, dataset):
    """Scores differ by rounding, and only documents with all but equal scores change places."""
    files = Solr().files(exported_model(ranker))
    scores = dataset.in_query_order(ranker.predict(dataset))
    result = Verification.of(dataset, scores, Solr().scores(files, dataset))
    assert result.largest_difference < 1e-5 * result.largest_score
    assert result.n_equal_lists > 0.9 * result.n_lists
    if result.first_move is not None:
        assert result.first_move.gap <= 2 * result.largest_difference


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (Standardised(Linear(np.ones(1))), 'standardises scores within the query.*combine="fixed"'),
        (Routed(None, (Linear(np.ones(1)),)), "chooses between models by the query"),
        (
            WeightedSum((Linear(np.ones(1)), TreeSum(stumps([0.5]))), np.ones(2)),
            "no sums of several models",
        ),
        (TreeSum(stumps([0.5], 4)), "treat zero as missing, which Solr's model"),
        (Linear(np.array([1e39])), "exceed the range of float32"),
    ],
)
def test_what_solr_cannot_compute_is_refused(formula, reason):
    with pytest.raises(NotExportable, match=reason):
        files_of(formula, 1)
