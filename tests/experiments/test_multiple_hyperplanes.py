import numpy as np
import pytest

from localrank.aggregation import Borda, WeightedBorda
from localrank.data import RankingDataset, folds, make_queries
from localrank.evaluation.hyperplanes import hyperplane_cosines, order_error_rates
from localrank.experiments import Reproduction
from localrank.experiments._hyperplane_diagnostics import (
    BASELINE,
    CHOSEN,
    LARGE,
    OWN,
    Diagnostics,
    cosines,
    definition_search,
    level_directions,
    order_errors,
    principal_coordinates,
    training_times,
)
from localrank.experiments.multiple_hyperplanes import (
    BM25,
    BORDA,
    BY_HAND,
    BY_VALIDATION,
    SAMPLED,
    WEIGHTED,
    compare_methods,
    measures_of,
    methods,
    pair_times,
    reweighted,
)
from localrank.measures import NDCG
from localrank.rankers import MultipleHyperplaneRanker, RankSVM


def test_adjacent_pairs_are_tried_only_where_there_are_more():
    adjacent = "MHR, adjacent pairs, Borda"
    assert set(methods(4)) - set(methods(3)) == {adjacent}
    assert methods(4)[adjacent].pairs == "adjacent"


def test_every_method_is_made_of_rank_svm_and_differs_by_its_aggregator():
    made = [ranker for name, ranker in methods(3).items() if name not in (BASELINE, SAMPLED)]
    assert {type(ranker.ranker) for ranker in made} == {RankSVM}
    assert len({type(ranker.aggregator) for ranker in made}) == len(made) == 4


@pytest.fixture(scope="module")
def diagnosed():
    dataset, _ = make_queries(60, n_documents=(8, 14), n_features=6, n_types=2)
    parts = list(folds(dataset, 3))
    singles = [RankSVM().fit(fold.train) for fold in parts]
    several = [MultipleHyperplaneRanker().fit(fold.train) for fold in parts]
    test = type(dataset).from_arrays(
        *(
            np.concatenate([getattr(fold.test, name) for fold in parts])
            for name in ("features", "labels")
        ),
        np.concatenate([fold.test.query_ids[fold.test.query_index] for fold in parts]),
    )
    return Diagnostics.of(singles, several, parts, test), singles, several, parts


def test_diagnostics_are_those_of_each_fold(diagnosed):
    diagnostics, singles, several, parts = diagnosed
    for place, fold in enumerate(parts):
        cosines = hyperplane_cosines(several[place], {BASELINE: singles[place]})
        np.testing.assert_array_equal(diagnostics.cosines[place].cosines, cosines.cosines)
        rates = order_error_rates(fold.train, {BASELINE: singles[place].predict(fold.train)})
        np.testing.assert_array_equal(
            diagnostics.training[place].rates[BASELINE], rates.rates[BASELINE]
        )


def test_test_errors_pool_the_pairs_of_all_folds(diagnosed):
    diagnostics, _, several, parts = diagnosed
    for pair, rate in zip(diagnostics.test.label_pairs, diagnostics.test.rates[OWN], strict=True):
        wrong = total = 0.0
        for many, fold in zip(several, parts, strict=True):
            scores = many.pair_scores(fold.test)[tuple(pair)]
            for begin, end in zip(fold.test.offsets, fold.test.offsets[1:], strict=False):
                labels, query_scores = fold.test.labels[begin:end], scores[begin:end]
                high, low = query_scores[labels == pair[0]], query_scores[labels == pair[1]]
                wrong += np.sum(high[:, None] < low) + 0.5 * np.sum(high[:, None] == low)
                total += high.size * low.size
        assert rate == pytest.approx(wrong / total)


def test_half_the_documents_are_sampled_by_the_seed():
    assert (methods(3, 4)[SAMPLED].sampling_rate, methods(3, 4)[SAMPLED].random_state) == (0.5, 4)


@pytest.fixture(scope="module")
def graded():
    """Queries with labels 0, 1 and 2, and as many features as OHSUMED has."""
    dataset, _ = make_queries(40, n_documents=(6, 14), n_features=45, n_types=1, random_state=2)
    labels = np.minimum(dataset.labels, 2)
    return RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)


def average_precision(labels, scores, relevant):
    """By its definition, without ties."""
    order = np.argsort(-scores)
    hits = relevant(labels[order])
    places = np.flatnonzero(hits) + 1
    return np.mean(np.arange(1, len(places) + 1) / places) if len(places) else 0.0


def rows_of(reproduction, beginning):
    (table,) = (table for table in reproduction.tables if table.title.startswith(beginning))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.fixture(scope="module")
def compared(graded):
    rng = np.random.default_rng(0)
    names = [BASELINE, BORDA, WEIGHTED, SAMPLED, BY_VALIDATION, BY_HAND]
    scores = {
        name: graded.relevance + (1 + place / 3) * rng.normal(size=graded.n_documents)
        for place, name in enumerate(names)
    }
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    return reproduction, scores, compare_methods(reproduction, graded, scores, {})


def test_map_counts_the_highest_level_only(graded, compared):
    reproduction, scores, _ = compared
    rows = {row["method"]: row for row in rows_of(reproduction, "The values behind")}
    bounds = list(zip(graded.offsets, graded.offsets[1:], strict=False))
    for method, method_scores in scores.items():
        of_queries = [
            average_precision(graded.labels[a:b], method_scores[a:b], lambda labels: labels == 2)
            for a, b in bounds
        ]
        assert rows[method]["map"] == pytest.approx(np.mean(of_queries), rel=1e-12)
    both = [
        average_precision(graded.labels[a:b], scores[BORDA][a:b], lambda labels: labels > 0)
        for a, b in bounds
    ]
    assert rows[BORDA]["map"] != pytest.approx(np.mean(both), abs=0.01)
    four = graded.replaced(relevance=2 * graded.relevance)
    assert measures_of(four)["map"].relevance_level == 4  # type: ignore[attr-defined]


def test_improvements_are_per_cent_of_rank_svm_beside_the_published(graded, compared):
    reproduction, scores, summary = compared
    rows = {(row["method"], row["measure"]): row for row in rows_of(reproduction, "Table 3")}
    for method in (BORDA, WEIGHTED, SAMPLED, BY_HAND, BY_VALIDATION):
        for name, measure in (("ndcg@1", NDCG(1)), ("ndcg@10", NDCG(10))):
            means = [measure.mean(graded, scores[m]) for m in (method, BASELINE)]
            gain = 100 * (means[0] - means[1]) / means[1]
            assert rows[method, name]["ours"] == pytest.approx(gain)
            assert summary["improvement, per cent", f"{method}, {name}"] == pytest.approx(gain)
    assert rows[BORDA, "ndcg@1"]["published"] == 6.78
    assert rows[WEIGHTED, "map"]["published"] == 1.60
    assert rows[SAMPLED, "map"]["published"] is None
    assert (BM25, "map") not in rows


def test_bm25_is_the_feature_of_the_documentation(graded, compared):
    reproduction, _, _ = compared
    rows = {row["measure"]: row for row in rows_of(reproduction, "BM25")}
    for name, measure in measures_of(graded).items():
        assert rows[name]["ours"] == measure.mean(graded, graded.features[:, 41 - 1])
    assert [rows[n]["published"] for n in ("ndcg@1", "ndcg@10", "map")] == [0.538, 0.518, 0.243]
    (claim,) = (claim for claim in reproduction.claims if BM25 in claim.says)
    assert claim.holds in (True, False)


def test_without_a_documented_column_there_is_no_bm25(graded, compared):
    _, scores, _ = compared
    reproduction = Reproduction("multiple-hyperplanes", "ClueWeb09")
    compare_methods(reproduction, graded, scores, {})
    assert not any(table.title == BM25 for table in reproduction.tables)
    (values,) = (table for table in reproduction.tables if table.title.startswith("The values"))
    assert BM25 not in [row[0] for row in values.rows]
    assert "half. There is no row for BM25" in values.note
    assert not any(BM25 in claim.says for claim in reproduction.claims)


def test_claims_of_methods_have_their_direction(graded):
    good, bad, middle = graded.relevance, -graded.relevance, 0.0 * graded.relevance
    for borda, weighted, holds in (
        (good, bad, (True, False, False)),
        (bad, good, (False, True, True)),
    ):
        scores = {BASELINE: middle, BORDA: borda, WEIGHTED: weighted}
        reproduction = Reproduction("multiple-hyperplanes", "made-up")
        compare_methods(reproduction, graded, scores, {})
        assert tuple(claim.holds for claim in reproduction.claims) == holds


@pytest.mark.parametrize(
    ("rank_svm", "borda", "holds"),
    [
        ("good", "good", True),
        ("good", "same", None),
        ("bad", "good", False),
        ("same", "bad", False),
    ],
)
def test_both_must_be_better_than_bm25(graded, rank_svm, borda, holds):
    X = graded.features.copy()
    X[:, 40] = 0
    flat = graded.with_features(X)
    # The worst, apart from one query, so that improvements over it have a meaning.
    bad = np.where(graded.query_index == 0, graded.relevance, -graded.relevance)
    scores = {"good": graded.relevance, "bad": bad, "same": X[:, 40]}
    renamed = {BASELINE: scores[rank_svm], BORDA: scores[borda], WEIGHTED: scores["same"]}
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    compare_methods(reproduction, flat, renamed, {})
    (claim,) = (claim for claim in reproduction.claims if BM25 in claim.says)
    assert claim.holds is holds


def test_other_weights_leave_the_hyperplanes(graded):
    fold = next(iter(folds(graded, 3)))
    fold = type(fold)(fold.name, fold.train, fold.test, fold.test)
    model = MultipleHyperplaneRanker().fit(fold.train)
    other = reweighted(model, fold)
    lists = np.column_stack(list(model.pair_scores(fold.valid).values()))
    tuned = WeightedBorda().fit(fold.valid, lists).aggregate(fold.valid, lists)
    np.testing.assert_array_equal(other[BY_VALIDATION].predict(fold.valid), tuned)
    # Pairs (2,1), (2,0) and (1,0): 4 - 2, 4 - 1 and 2 - 1.
    below = [Borda().aggregate(fold.valid, one[:, None]) for one in lists.T]
    by_hand = (2 * below[0] + 3 * below[1] + below[2]) / 6
    np.testing.assert_array_equal(other[BY_HAND].predict(fold.valid), by_hand)


@pytest.fixture(scope="module")
def three_ranks(graded):
    parts = list(folds(graded, 3))
    test = graded.select(np.concatenate([fold.test.query_ids for fold in parts]))
    singles = [RankSVM().fit(fold.train) for fold in parts]
    several = [MultipleHyperplaneRanker().fit(fold.train) for fold in parts]
    chosen = Diagnostics.of(singles, several, parts, test)
    large = [RankSVM(1e4).fit(fold.train) for fold in parts]
    many = [MultipleHyperplaneRanker(RankSVM(1e4)).fit(fold.train) for fold in parts]
    return {CHOSEN: chosen, LARGE: Diagnostics.of(large, many, parts, test)}


def test_table_6_has_means_and_ranges_beside_the_published(three_ranks):
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    summary = order_errors(reproduction, three_ranks, np.array([2.0, 1, 0]))
    names = ("setting", "queries", "hyperplane", "rank pair")
    rows = {
        tuple(row[name] for name in names): row
        for row in rows_of(reproduction, "Table 6: order error")
    }
    ranges = {
        (row["hyperplane"], row["rank pair"]): row for row in rows_of(reproduction, "Table 6: low")
    }
    for way, diagnosis in three_ranks.items():
        for place, pair in enumerate(("(1,2)", "(1,3)", "(2,3)")):
            for plane in (BASELINE, OWN):
                rates = [
                    float(fold_result.rates[plane][place]) for fold_result in diagnosis.training
                ]
                row = rows[way, "training", plane, pair]
                assert row["ours"] == pytest.approx(np.mean(rates))
                assert rows[way, "test", plane, pair]["ours"] == diagnosis.test.rates[plane][place]
                assert rows[way, "test", plane, pair]["published"] is None
                if way == LARGE:
                    assert summary["order error rate", f"{plane}, {pair}"] == row["ours"]
                    shown = f"{min(rates):.4f} to {max(rates):.4f}"
                    assert ranges[plane, pair]["our folds"] == shown
    assert rows[LARGE, "training", OWN, "(1,2)"]["published"] == 0.3621
    assert ranges[BASELINE, "(2,3)"]["published trials"] == "0.3834 to 0.4096"
    (claim,) = reproduction.claims
    assert "on training queries" in claim.says
    assert "test" not in claim.says
    for way in three_ranks:
        n = sum(
            rows[way, "training", OWN, pair]["ours"] < rows[way, "training", BASELINE, pair]["ours"]
            for pair in ("(1,2)", "(1,3)", "(2,3)")
        )
        assert f"with {way} for {n} of 3 rank pairs" in claim.measured
        assert claim.holds is (n == 3) or way == CHOSEN


def test_table_5_has_the_mean_cosines_of_each_setting(three_ranks):
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    summary = cosines(reproduction, three_ranks)
    (table,) = reproduction.tables
    rows = {tuple(row[:2]): row[2:] for row in table.rows}
    for way, diagnosis in three_ranks.items():
        values = [fold_result.cosines[1, 3] for fold_result in diagnosis.cosines]
        ours, lowest, highest, printed, low, high, apart = rows[way, "(1,2), (2,3)"]
        assert (ours, lowest, highest) == pytest.approx((np.mean(values), min(values), max(values)))
        assert (printed, low, high) == pytest.approx((0.295, 0.08, 0.39))
        assert apart == pytest.approx(ours - printed)
    assert summary["cosine", "(1,2), (2,3)"] == rows[LARGE, "(1,2), (2,3)"][0]


def test_table_7_has_each_hyperplanes_share(graded):
    times = [
        {BASELINE: 10.0, "(1,2)": 1.0, "(1,3)": 2.0, "(2,3)": 3.0},
        {BASELINE: 30.0, "(1,2)": 3.0, "(1,3)": 2.0, "(2,3)": 5.0},
    ]
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    training_times(reproduction, times)
    rows = {row["hyperplanes"]: row for row in rows_of(reproduction, "Table 7")}
    assert [rows[name]["ours"] for name in ("(1,2)", "(1,3)", "(2,3)", "MHR")] == pytest.approx(
        [0.1, 0.1, 0.2, 0.4]
    )
    minutes = (823 + 841 + 663 + 887) / 4
    assert rows["(2,3)"]["published"] == pytest.approx((175 + 200 + 154 + 196) / 4 / minutes)
    assert rows["MHR"]["published"] == pytest.approx((282 + 292 + 248 + 310) / 4 / minutes)
    assert reproduction.claims[0].holds is True
    assert "0.61 ((2,3)), 0.66 (MHR)" in reproduction.tables[0].note
    levels = np.array([2.0, 1, 0])
    assert set(pair_times(graded, levels, 1)) == {BASELINE, "(1,2)", "(1,3)", "(2,3)"}
    without = graded.replaced(relevance=np.where(graded.relevance == 1, 0.0, graded.relevance))
    assert set(pair_times(without, levels, 1)) == {BASELINE, "(1,3)"}


def test_definition_search_stands_beside_ohsumed():
    ours = {("cosine", "RankSVM, (1,2)"): 0.77}
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    definition_search(reproduction, ours)
    rows = {tuple(row[:2]): row[2:] for row in reproduction.tables[0].rows}
    assert rows["improvement, per cent", "MHR, Borda, map"] == [12.38, 0.34, None]
    mean = (0.26 + 0.29 + 0.35 + 0.34) / 4
    assert rows["cosine", "RankSVM, (1,2)"] == pytest.approx([mean, 0.5325, 0.77])
    assert rows["order error rate", "own plane, (1,3)"] == [0.0168, 0.3052, None]
    elsewhere = Reproduction("multiple-hyperplanes", "MQ2008")
    definition_search(elsewhere, ours)
    assert not elsewhere.tables


def test_principal_coordinates_have_the_largest_variances(graded):
    X = graded.features[graded.offsets[3] : graded.offsets[4]]
    coordinates = principal_coordinates(graded, 3)
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    np.testing.assert_allclose(np.cov(coordinates.T), np.diag(values[:2]), atol=1e-9)


def test_directions_point_from_the_worse_rank_to_the_better():
    # Rank 1 lies right of rank 3, rank 2 above it.
    rng = np.random.default_rng(0)
    labels = np.repeat([2, 1, 0], 30)
    centres = np.array([[4.0, 0], [0, 3], [0, 0]])
    X = centres[2 - labels] + 0.2 * rng.normal(size=(90, 2))
    dataset = RankingDataset.from_arrays(X, labels, np.full(90, 5))
    reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
    level_directions(reproduction, dataset)
    normals = reproduction.figures[0].chart.options["directions"]
    points = reproduction.figures[0].chart.options["points"]
    means = [cloud.mean(axis=0) for cloud in points.values()]
    for name, (high, low) in {"(1,2)": (0, 1), "(1,3)": (0, 2), "(2,3)": (1, 2)}.items():
        apart = means[high] - means[low]
        assert normals[name] @ apart / np.linalg.norm(apart) > 0.9
        assert np.linalg.norm(normals[name]) == pytest.approx(1)
    rows = {row[0]: row[1:] for row in reproduction.tables[0].rows}
    assert rows["(1,2), (2,3)"][0] == pytest.approx(normals["(1,2)"] @ normals["(2,3)"])
    assert "query 5" in reproduction.figures[0].caption
    assert reproduction.claims[0].holds is True


def test_the_claim_of_directions_is_the_median_of_the_queries_lowest_cosines(graded):
    def made(dataset):
        reproduction = Reproduction("multiple-hyperplanes", "made-up")
        level_directions(reproduction, dataset)
        return reproduction

    lowest = []
    for query in range(graded.n_queries):
        alone = graded.select([query])
        if len(np.unique(alone.labels)) == 3:
            cells = {row[0]: row[1] for row in made(alone).tables[0].rows}
            lowest.append(min(value for name, value in cells.items() if BASELINE not in name))
    median = np.median(lowest)
    assert min(lowest) < median - 0.01 < median + 0.01 < max(lowest)
    (claim,) = made(graded).claims
    assert claim.measured.endswith(f"median of the queries' lowest {median:.2f}")
    assert claim.holds is bool(median < 0.5)
