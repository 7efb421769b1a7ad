from dataclasses import replace

import numpy as np
import pytest

from localrank.aggregation import Borda, MarkovChain, MedianRank, WeightedBorda
from localrank.data import (
    Fold,
    RankingDataset,
    concatenate,
    folds,
    make_queries,
    read_letor,
    write_letor,
)
from localrank.evaluation import paired_test
from localrank.evaluation.hyperplanes import hyperplane_cosines, order_error_rates
from localrank.evaluation.runner import judged_queries
from localrank.evaluation.significance import corrected
from localrank.experiments import Reproduction, Setting, multiple_hyperplanes
from localrank.experiments._hyperplane_diagnostics import (
    BASELINE,
    CHOSEN,
    LARGE,
    OWN,
    Diagnostics,
    definition_search,
    level_directions,
    order_errors,
    principal_coordinates,
    training_times,
)
from localrank.experiments._one_direction import (
    DrawTest,
    Planes,
    compare_with_one_direction,
    drawn_labels,
    noise_scale,
)
from localrank.experiments.multiple_hyperplanes import (
    ADJACENT,
    BM25,
    BORDA,
    BY_HAND,
    BY_VALIDATION,
    NESTED,
    OVERLAPPING,
    RSVM_IR,
    SAMPLED,
    SEEDS,
    WEIGHTED,
    Most,
    bm25_scores,
    compare_methods,
    measures_of,
    methods,
    pair_times,
    scores_of,
)
from localrank.experiments.reproduction import Verdict, difference
from localrank.measures import NDCG, AveragePrecision, OrderErrorRate
from localrank.rankers import MultipleHyperplaneRanker, NestedRanker, RankSVM

CS = [0.001, 0.3, 100.0]
RUN_SEEDS = (5, 9)
MEDIAN, MARKOV = "MHR, median rank", "MHR, Markov chain"


def rows_of(reproduction, beginning):
    (table,) = (table for table in reproduction.tables if table.title.startswith(beginning))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def claim_of(reproduction, words):
    (claim,) = (claim for claim in reproduction.claims if words in claim.says)
    return claim


# One small run, with the name and as many features as OHSUMED, beside models trained here.


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Three parts of made-up queries. Lines of a query's documents are not together."""
    rng = np.random.default_rng(7)
    dataset, _ = make_queries(33, n_documents=(9, 14), n_features=45, n_types=2, random_state=2)
    labels = np.minimum(dataset.labels, 2)
    for level in range(3):
        labels[dataset.offsets[:-1] + level] = level
    X = dataset.features.round(3)
    X[:, 40] = (labels + 2 * rng.normal(size=len(labels))).round(3)
    folder = tmp_path_factory.mktemp("data") / "OHSUMED"
    folder.mkdir()
    for part in range(3):
        rows = rng.permutation(np.flatnonzero(dataset.query_index % 3 == part))
        ids = 1 + dataset.query_index[rows]
        write_letor(RankingDataset.from_arrays(X[rows], labels[rows], ids), folder / "some.txt")
        lines = (folder / "some.txt").read_text().splitlines()
        (folder / f"S{part + 1}.txt").write_text("\n".join(rng.permutation(lines)) + "\n")
    (folder / "some.txt").unlink()
    return folder


@pytest.fixture(scope="module")
def parts(collection):
    """The folds as LETOR rotates three parts, by hand: training, validation and test queries."""
    read = [read_letor(collection / f"S{part}.txt") for part in (1, 2, 3)]
    assert {5, 7} <= {int(query) for part in read for query in part.query_ids}
    return [
        Fold(f"Fold{i + 1}", train=read[i], valid=read[(i + 1) % 3], test=read[(i + 2) % 3])
        for i in range(3)
    ]


@pytest.fixture(scope="module")
def result(collection):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiple_hyperplanes, "CS", CS)
        patch.setattr(multiple_hyperplanes, "N_DRAWS", 4)
        setting = Setting(collection, seeds=RUN_SEEDS, n_jobs=1, say=lambda line: None)
        return multiple_hyperplanes.reproduce(setting)


def chosen_by_validation(make, fold):
    """The model with the C whose ranking of the validation queries has the best NDCG@10."""
    models = [(C, make(C).fit(fold.train)) for C in CS]
    values = [NDCG(10).mean(fold.valid, model.predict(fold.valid)) for _, model in models]
    return models[int(np.argmax(values))]


def with_lists(model, dataset):
    return np.column_stack(list(model.pair_scores(dataset).values()))


@pytest.fixture(scope="module")
def trained(parts):
    """Test scores of each row of the tables, fold by fold, and the chosen C."""
    several = MultipleHyperplaneRanker
    makers = {
        BASELINE: RankSVM,
        RSVM_IR: lambda C: RankSVM(C, pair_weight="ir"),
        NESTED: lambda C: NestedRanker(RankSVM(C), n_stages=3, share=0.5),
        BORDA: lambda C: several(RankSVM(C), aggregator=Borda()),
        WEIGHTED: lambda C: several(RankSVM(C), aggregator=WeightedBorda()),
        MEDIAN: lambda C: several(RankSVM(C), aggregator=MedianRank()),
        MARKOV: lambda C: several(RankSVM(C), aggregator=MarkovChain()),
        OVERLAPPING: lambda C: several(RankSVM(C), pairs="overlapping"),
    }
    for seed in RUN_SEEDS:
        makers[SAMPLED, seed] = lambda C, seed=seed: several(
            RankSVM(C), sampling_rate=0.5, random_state=seed
        )
    scores = {BM25: [fold.test.in_input_order(fold.test.features[:, 40]) for fold in parts]}
    cs, models = {}, {}
    for name, make in makers.items():
        fitted = [chosen_by_validation(make, fold) for fold in parts]
        cs[name] = [C for C, _ in fitted]
        models[name] = [model for _, model in fitted]
        scores[name] = [m.predict(f.test) for m, f in zip(models[name], parts, strict=True)]
    cs[BY_VALIDATION] = cs[BY_HAND] = cs[BORDA]
    scores[BY_VALIDATION], scores[BY_HAND] = [], []
    for model, fold in zip(models[BORDA], parts, strict=True):
        tuned = WeightedBorda().fit(fold.valid, with_lists(model, fold.valid))
        lists = with_lists(model, fold.test)
        scores[BY_VALIDATION].append(tuned.aggregate(fold.test, lists))
        # Pairs (2,1), (2,0) and (1,0): 4 - 2, 4 - 1 and 2 - 1.
        below = [Borda().aggregate(fold.test, one[:, None]) for one in lists.T]
        scores[BY_HAND].append(2 * below[0] + 3 * below[1] + below[2])
    return scores, cs, models


MEASURES = {"ndcg@1": NDCG(1), "ndcg@10": NDCG(10), "map": AveragePrecision(relevance_level=2)}


@pytest.fixture(scope="module")
def values(parts, trained):
    """The values of each test query; of the sampled method, with a row for each seed."""
    found = {
        (name, measure): np.concatenate(
            [MEASURES[measure](fold.test, s) for fold, s in zip(parts, of_folds, strict=True)]
        )
        for name, of_folds in trained[0].items()
        for measure in MEASURES
    }
    for measure in MEASURES:
        runs = [found.pop(((SAMPLED, seed), measure)) for seed in RUN_SEEDS]
        found[SAMPLED, measure] = np.array(runs)
    return found


def test_each_row_is_its_method_trained_tuned_and_tested_on_the_folds_own_queries(
    result, trained, values
):
    rows = {row["method"]: row for row in rows_of(result, "The values behind")}
    assert list(rows)[:4] == [BM25, BASELINE, RSVM_IR, NESTED]
    assert rows.keys() == {name for name, _ in values}
    for measure in MEASURES:
        means = {method: values[method, measure].mean() for method in rows}
        assert {method: row[measure] for method, row in rows.items()} == pytest.approx(means)
    # No two rows are alike, so that none can stand for another.
    means = [values[method, "ndcg@10"].mean() for method in rows]
    assert len(np.unique(np.round(means, 9))) == len(rows)
    cs = trained[1]
    for method in rows.keys() - {BM25, SAMPLED}:
        assert rows[method]["C in each fold"] == ", ".join(f"{C:g}" for C in cs[method])
    of_seeds = [", ".join(f"{C:g}" for C in cs[SAMPLED, seed]) for seed in RUN_SEEDS]
    assert rows[SAMPLED]["C in each fold"] == "; ".join(of_seeds)


def test_the_values_of_each_seed_are_shown(result, values):
    rows = rows_of(result, "Half the documents")
    assert [row["seed"] for row in rows] == [str(seed) for seed in RUN_SEEDS]
    for run, row in enumerate(rows):
        for measure in MEASURES:
            assert row[measure] == pytest.approx(values[SAMPLED, measure][run].mean())
    assert len(SEEDS) == 4


def test_one_test_of_each_comparison_stands_in_the_table_and_in_the_claims(result, values):
    compared = [(name, BASELINE) for name, m in values if m == "map" and name != BASELINE]
    compared.remove((BM25, BASELINE))
    compared += [(BASELINE, BM25), (BORDA, BM25), (WEIGHTED, BM25), (WEIGHTED, BORDA)]
    rows = rows_of(result, "The values behind")
    (table,) = (table for table in result.tables if table.title.startswith("The values behind"))
    for place, measure in enumerate(MEASURES):
        family = corrected(
            {
                pair: paired_test(values[pair[0], measure], values[pair[1], measure])
                for pair in compared
            }
        )
        shown = {row[0]: row[2 + 2 * place] for row in table.rows}
        assert shown.pop(BM25) == pytest.approx(family[BASELINE, BM25].p)
        assert shown.pop(BASELINE) is None
        assert shown == pytest.approx({method: family[method, BASELINE].p for method in shown})
        if measure == "ndcg@10":
            for words, pair in {
                "MHR with Borda counts can": (BORDA, BASELINE),
                "MHR with weighted Borda": (WEIGHTED, BASELINE),
                "weighted Borda counts are": (WEIGHTED, BORDA),
            }.items():
                assert claim_of(result, words).measured == f"NDCG@10 {difference(family[pair])}"
            above = [f"{m} {difference(family[m, BM25])}" for m in (BASELINE, BORDA, WEIGHTED)]
            assert claim_of(result, BM25).measured == f"NDCG@10 {'; '.join(above)}"
    assert family[SAMPLED, BASELINE].n_runs == len(RUN_SEEDS)
    assert rows


def test_improvements_are_per_cent_of_rank_svm_beside_the_published(result, values):
    rows = {(row["method"], row["measure"]): row for row in rows_of(result, "Table 3")}
    means = {key: by_query.mean() for key, by_query in values.items()}
    assert {method for method, _ in rows} == {name for name, _ in values} - {BASELINE, BM25}
    for (method, measure), row in rows.items():
        gain = 100 * (means[method, measure] - means[BASELINE, measure])
        assert row["ours"] == pytest.approx(gain / means[BASELINE, measure])
    assert rows[BORDA, "ndcg@1"]["published"] == 6.78
    assert rows[WEIGHTED, "map"]["published"] == 1.60
    assert rows[SAMPLED, "map"]["published"] is None


def test_bm25_stands_beside_the_published(result, values):
    rows = {row["measure"]: row for row in rows_of(result, "BM25")}
    for measure in MEASURES:
        assert rows[measure]["ours"] == pytest.approx(values[BM25, measure].mean())
    assert [rows[n]["published"] for n in MEASURES] == [0.538, 0.518, 0.243]


def test_figure_2_has_every_cut_against_two_per_cent_more(result, parts, trained):
    def cut_values(method, k):
        both = zip(parts, trained[0][method], strict=True)
        return np.concatenate([NDCG(k)(fold.test, scores) for fold, scores in both])

    family = corrected(
        {k: paired_test(cut_values(BORDA, k), 1.02 * cut_values(BASELINE, k)) for k in range(1, 11)}
    )
    for row in rows_of(result, "Figure 2"):
        for method in (BASELINE, BORDA, WEIGHTED):
            assert row[method] == pytest.approx(cut_values(method, row["cut"]).mean())
        assert row["Borda's improvement, per cent"] == pytest.approx(
            100 * (row[BORDA] / row[BASELINE] - 1)
        )
        assert row["p"] == pytest.approx(family[row["cut"]].p)
    n_more = sum(row["Borda's improvement, per cent"] > 2 for row in rows_of(result, "Figure 2"))
    assert claim_of(result, "most NDCG").measured.startswith(f"{n_more} of 10 cuts")
    assert len(rows_of(result, "Figure 2")) == 10


@pytest.fixture(scope="module")
def large(parts):
    """RankSVM and its planes with C = 10^4, fold by fold."""
    singles = [RankSVM(1e4).fit(fold.train) for fold in parts]
    several = [MultipleHyperplaneRanker(RankSVM(1e4)).fit(fold.train) for fold in parts]
    return singles, several


def test_table_5_has_the_cosines_of_both_settings(result, trained, large):
    (table,) = (t for t in result.tables if t.title.startswith("Table 5"))
    rows = {tuple(row[:2]): row[2:] for row in table.rows}
    for way, (singles, several) in {
        CHOSEN: (trained[2][BASELINE], trained[2][BORDA]),
        LARGE: large,
    }.items():
        of_folds = [
            hyperplane_cosines(many, {BASELINE: single}).cosines
            for single, many in zip(singles, several, strict=True)
        ]
        for (i, j), name in {(0, 1): "RankSVM, (1,2)", (1, 3): "(1,2), (2,3)"}.items():
            found = [of_fold[i, j] for of_fold in of_folds]
            assert rows[way, name][:3] == pytest.approx((np.mean(found), min(found), max(found)))
    assert rows[LARGE, "(1,2), (2,3)"][3:6] == pytest.approx((0.295, 0.08, 0.39))
    claim = claim_of(result, "do not change largely")
    widest = {
        way: max(row[2] - row[1] for key, row in rows.items() if key[0] == way)
        for way in (CHOSEN, LARGE)
    }
    assert f"{CHOSEN} by up to {widest[CHOSEN]:.2f}" in claim.measured
    assert f"{LARGE} by up to {widest[LARGE]:.2f}" in claim.measured
    assert "own trials by up to 0.42 ((1,3), (2,3))" in claim.measured
    assert claim.verdict == Verdict.NOT_TESTED


def test_table_6_has_the_errors_on_training_and_test_queries(result, parts, large):
    rows = {
        tuple(list(row.values())[:4]): row for row in rows_of(result, "Table 6: order error rates")
    }
    rates = [
        order_error_rates(
            fold.train, {BASELINE: single.predict(fold.train), OWN: many.pair_scores(fold.train)}
        ).rates
        for fold, single, many in zip(parts, *large, strict=True)
    ]
    for place, pair in enumerate(("(1,2)", "(1,3)", "(2,3)")):
        for plane in (BASELINE, OWN):
            ours = rows[LARGE, "training", plane, pair]["ours"]
            assert ours == pytest.approx(np.mean([of_fold[plane][place] for of_fold in rates]))
    # On test queries, all pairs of documents together.
    wrong = total = 0
    for fold, single in zip(parts, large[0], strict=True):
        n = fold.test.count(fold.test.labels == 2) * fold.test.count(fold.test.labels == 0)
        wrong += np.sum(n * OrderErrorRate(high=2, low=0)(fold.test, single.predict(fold.test)))
        total += n.sum()
    assert rows[LARGE, "test", BASELINE, "(1,3)"]["ours"] == pytest.approx(wrong / total)
    assert rows[LARGE, "training", OWN, "(1,2)"]["published"] == 0.3621


def test_order_errors_are_tested_over_the_queries_with_their_pairs(result, parts, large):
    names = {(2, 1): "(1,2)", (2, 0): "(1,3)", (1, 0): "(2,3)"}
    shown = {
        tuple(list(row.values())[:3]): row
        for row in rows_of(result, "Table 6: order error rate of RankSVM, less")
    }
    for kind in ("training", "test"):
        tests = {}
        for pair in names:
            errors = OrderErrorRate(high=pair[0], low=pair[1])
            numbers = []
            for fold, single, many in zip(parts, *large, strict=True):
                queries = fold.train if kind == "training" else fold.test
                n = queries.count(queries.labels == pair[0]) * queries.count(
                    queries.labels == pair[1]
                )
                one = errors(queries, single.predict(queries))
                own = errors(queries, many.pair_scores(queries)[pair])
                numbers.append(np.column_stack([n * one, n * own, n]))
            # With three parts a query trains in one fold.
            one, own, n = np.concatenate(numbers).T
            tests[pair] = paired_test(one / n.mean(), own / n.mean())
            pooled = (one.sum() - own.sum()) / n.sum()
            assert tests[pair].mean_difference == pytest.approx(pooled)
        tests = corrected(tests)
        for pair, name in names.items():
            row = shown[LARGE, kind, name]
            assert row["less"] == pytest.approx(tests[pair].mean_difference)
            assert row["p"] == pytest.approx(tests[pair].p)
        if kind == "training":
            claim = claim_of(result, "makes more errors")
            texts = [f"{name} {difference(tests[pair])}" for pair, name in names.items()]
            assert claim.measured == f"order error rate, {LARGE}: {'; '.join(texts)}"
            every = all(test.sign == 1 for test in tests.values())
            assert (claim.verdict == Verdict.YES) == every


def test_every_rank_pair_must_have_fewer_errors_with_its_own_plane(parts, large):
    test = concatenate([judged_queries(fold.test) for fold in parts])
    singles, several = large
    diagnosis = Diagnostics.of(singles, several, parts, test)
    fewer = paired_test([0.5, 0.6, 0.7], [0.1, 0.21, 0.3])
    same = paired_test([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])
    more = paired_test([0.1, 0.21, 0.3], [0.5, 0.6, 0.7])
    for tests, verdict in (
        ((fewer, fewer, fewer), Verdict.YES),
        ((fewer, same, fewer), Verdict.UNDECIDED),
        ((fewer, fewer, more), Verdict.NO),
    ):
        of_pairs = dict(zip(((2.0, 1.0), (2.0, 0.0), (1.0, 0.0)), tests, strict=True))
        given = replace(diagnosis, fewer={"training": of_pairs, "test": {}})
        reproduction = Reproduction("multiple-hyperplanes", "OHSUMED")
        order_errors(reproduction, {CHOSEN: diagnosis, LARGE: given}, np.array([2.0, 1, 0]))
        assert reproduction.claims[0].verdict == verdict


def test_figure_1_shows_query_5(result, parts):
    assert any("query 5 in" in figure.caption for figure in result.figures)
    assert "query 5: cosines" in claim_of(result, "two principal coordinates").measured
    assert claim_of(result, "two principal coordinates").verdict == Verdict.NOT_TESTED
    rows = rows_of(result, "Figure 1")
    assert "query 5" in rows[0]
    dataset = next(fold.test for fold in parts if 5 in fold.test.query_ids)
    query = int(np.flatnonzero(dataset.query_ids == 5)[0])
    plane = RankingDataset.from_arrays(
        principal_coordinates(dataset, query),
        dataset.labels[dataset.offsets[query] : dataset.offsets[query + 1]],
        np.zeros(dataset.query_sizes[query]),
    )
    first, second = (
        RankSVM(1e4, scaling=None, label_pairs=[pair]).fit(plane).coef_ for pair in ((2, 1), (1, 0))
    )
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    (row,) = (row for row in rows if row["directions"] == "(1,2), (2,3)")
    assert row["query 5"] == pytest.approx(cosine, abs=1e-6)


def test_the_control_has_hyperplanes_of_all_queries_with_the_large_c(result, parts):
    rows = {row["quantity"]: row for row in rows_of(result, "Control")}
    X, y, qid = (
        np.concatenate([get(fold.test) for fold in parts])
        for get in (
            lambda test: test.features,
            lambda test: test.labels,
            lambda test: test.query_ids[test.query_index],
        )
    )
    real = Planes.of(RankingDataset.from_arrays(X, y, qid), RankSVM(1e4))
    assert rows["mean of all cosines"]["real labels"] == pytest.approx(real.mean_cosine, abs=1e-6)
    assert rows["order errors fewer by own planes"]["real labels"] == pytest.approx(
        real.fewer_errors, abs=1e-6
    )
    (table,) = (t for t in result.tables if t.title.startswith("Control"))
    assert "In 4 draws" in table.note


def test_missing_values_are_refused_before_anything_is_trained(tmp_path):
    folder = tmp_path / "OHSUMED"
    folder.mkdir()
    for part in (1, 2, 3):
        lines = [f"{i % 2} qid:{part}{i // 4} 1:{'nan' if i == 7 else i} 2:1" for i in range(12)]
        (folder / f"S{part}.txt").write_text("\n".join(lines) + "\n")
    said = []
    with pytest.raises(ValueError, match="without missing values"):
        multiple_hyperplanes.reproduce(Setting(folder, seeds=(0,), say=said.append))
    assert not said


# Its parts, with made-up scores and labels.


@pytest.mark.parametrize(
    ("data", "column"),
    [("OHSUMED", 41), ("MQ2008", 25), ("MQ2007", 25), ("MQ2007-85", 25), ("MSLR-sample", 110)],
)
def test_bm25_is_the_feature_of_the_documentation(data, column):
    numbers = np.tile(np.arange(1.0, 137), (6, 1))
    dataset = RankingDataset.from_arrays(numbers, [1, 0] * 3, np.repeat([1, 2, 3], 2))
    scores, reason = bm25_scores(data, list(folds(dataset, 3)))
    np.testing.assert_array_equal(scores, np.full(6, column))
    assert not reason
    few = dataset.with_features(numbers[:, :24])
    scores, reason = bm25_scores(data, list(folds(few, 3)))
    assert scores is None
    assert reason.endswith(f": it is feature {column}, and the data has 24 features.")


def test_without_a_documented_column_there_is_no_bm25(graded):
    parts = list(folds(graded, 3))
    scores, reason = bm25_scores("ClueWeb09", parts)
    assert scores is None
    assert reason.endswith("BM25: its documentation lists the features without their columns.")
    assert bm25_scores("mine", parts)[1].endswith("which column it is is not known.")
    reproduction = compared_by(graded, {}, "made-up", reason)
    (table,) = (t for t in reproduction.tables if t.title.startswith("The values"))
    assert table.note.endswith(reason)
    assert not any(BM25 in claim.says for claim in reproduction.claims)
    assert not any(table.title == BM25 for table in reproduction.tables)


def test_scores_are_put_query_by_query_as_results_are(graded):
    order = np.random.default_rng(0).permutation(graded.n_documents)
    mixed = RankingDataset.from_arrays(
        graded.features[order], graded.labels[order], graded.query_index[order]
    )
    model, fold = RankSVM().fit(mixed), Fold("Fold1", train=mixed, valid=None, test=mixed)
    scores = scores_of([model], [fold])
    np.testing.assert_array_equal(
        NDCG(10)(judged_queries(mixed), scores), NDCG(10)(mixed, model.predict(mixed))
    )
    with_bm25, _ = bm25_scores("OHSUMED", [fold])
    np.testing.assert_array_equal(
        NDCG(10)(judged_queries(mixed), with_bm25), NDCG(10)(mixed, graded.features[order, 40])
    )


def test_adjacent_pairs_are_tried_only_where_there_are_more():
    assert set(methods(4)) - set(methods(3)) == {ADJACENT}
    assert methods(4)[ADJACENT].pairs == "adjacent"


@pytest.fixture(scope="module")
def graded():
    """Queries with labels 0, 1 and 2, and as many features as OHSUMED has."""
    dataset, _ = make_queries(40, n_documents=(6, 14), n_features=45, n_types=1, random_state=2)
    labels = np.minimum(dataset.labels, 2)
    return RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)


def compared_by(dataset, scores, data="OHSUMED", reason=""):
    """A comparison of given scores; what is not given ranks at random."""
    rng = np.random.default_rng(0)
    names = [BASELINE, BORDA, WEIGHTED, SAMPLED]
    made = {name: rng.normal(size=dataset.n_documents) for name in names}
    made[SAMPLED] = rng.normal(size=(2, dataset.n_documents))
    reproduction = Reproduction("multiple-hyperplanes", data)
    compare_methods(reproduction, dataset, {**made, **scores}, {}, reason, (0, 1))
    return reproduction


def test_map_counts_the_highest_level_only(graded):
    four = graded.replaced(relevance=2 * graded.relevance)
    for dataset in (graded, four):
        measure = measures_of(dataset)["map"]
        top = dataset.replaced(relevance=(dataset.labels == dataset.labels.max()).astype(float))
        scores = np.random.default_rng(0).normal(size=dataset.n_documents)
        np.testing.assert_array_equal(measure(dataset, scores), AveragePrecision()(top, scores))


def test_claims_of_methods_have_their_direction(graded):
    good, bad, middle = graded.relevance, -graded.relevance, 0.0 * graded.relevance
    words = ("with Borda counts can", "with weighted Borda", "weighted Borda counts are")
    yes, no = Verdict.YES, Verdict.NO
    for borda, weighted, holds in ((good, bad, (yes, no, no)), (bad, good, (no, yes, yes))):
        scores = {BASELINE: middle, BORDA: borda, WEIGHTED: weighted}
        reproduction = compared_by(graded, scores)
        assert tuple(claim_of(reproduction, said).verdict for said in words) == holds
    assert claim_of(reproduction, "most NDCG").verdict == no
    scores = {BASELINE: middle, BORDA: good, WEIGHTED: good}
    assert claim_of(compared_by(graded, scores), "most NDCG").verdict == yes


@pytest.mark.parametrize(
    ("better", "verdict"),
    [
        ((BASELINE, BORDA, WEIGHTED), Verdict.YES),
        ((BASELINE, BORDA), Verdict.UNDECIDED),
        ((BASELINE, WEIGHTED), Verdict.UNDECIDED),
        ((BORDA, WEIGHTED), Verdict.UNDECIDED),
        ((), Verdict.UNDECIDED),
    ],
)
def test_all_must_be_better_than_bm25(graded, better, verdict):
    scores = dict.fromkeys((BM25, BASELINE, BORDA, WEIGHTED), 0.0 * graded.relevance)
    scores |= dict.fromkeys(better, graded.relevance)
    assert claim_of(compared_by(graded, scores), BM25).verdict == verdict
    scores[BORDA] = np.where(graded.query_index == 0, 1, -1) * graded.relevance
    assert claim_of(compared_by(graded, scores), BM25).verdict == Verdict.NO


class Signed:
    def __init__(self, sign):
        self.sign = sign


@pytest.mark.parametrize(
    ("counts", "sign"),
    [((6, 4, 0), 1), ((5, 5, 0), 0), ((5, 0, 5), -1), ((5, 1, 4), 0), ((0, 5, 5), -1)],
)
def test_most_is_more_than_half(counts, sign):
    signs = np.repeat([1, 0, -1], counts)
    assert Most([Signed(one) for one in signs]).sign == sign


# The control: labels that one direction makes.


def test_drawn_labels_follow_score_plus_noise_and_keep_each_querys_labels(graded):
    rng = np.random.default_rng(0)
    scores, noise = rng.normal(size=(2, graded.n_documents))
    drawn = drawn_labels(graded, scores, noise)
    for begin, end in zip(graded.offsets[:-1], graded.offsets[1:], strict=True):
        order = np.argsort(-(scores + noise)[begin:end])
        expected = -np.sort(-graded.labels[begin:end])
        np.testing.assert_array_equal(drawn.labels[begin:end][order], expected)
    np.testing.assert_array_equal(drawn.features, graded.features)


def test_the_noise_gives_the_order_error_rate_that_is_asked_for(graded):
    scores = RankSVM().fit(graded).predict_rows(graded)
    scale = noise_scale(graded, scores, RankSVM(), 0.2, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    rates = []
    for _ in range(5):
        drawn = drawn_labels(graded, scores, scale * rng.normal(size=graded.n_documents))
        rates.append(OrderErrorRate().mean(drawn, RankSVM().fit(drawn).predict(drawn)))
    assert np.mean(rates) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("lower", [True, False])
def test_a_draw_test_is_two_sided_and_counts_the_value_itself(lower):
    drawn = np.arange(41.0)
    assert DrawTest(-1, drawn, lower).p == pytest.approx(2 / 42)
    assert DrawTest(0, drawn, lower).p == pytest.approx(4 / 42)
    assert DrawTest(20.5, drawn, lower).p == pytest.approx(1)
    signs = [DrawTest(value, drawn, lower).sign for value in (-1, 0, 20, 40, 41)]
    assert signs == ([1, 0, 0, 0, -1] if lower else [-1, 0, 0, 0, 1])


def planted(two_directions):
    """Three ranks. The feature that separates ranks 1 and 2 separates 2 and 3 as well, or not."""
    rng = np.random.default_rng(3)
    qid, X = np.repeat(np.arange(40), 12), rng.normal(size=(480, 4))
    labels = np.tile(np.repeat([0, 1, 2], 4), 40)
    X[:, 0] += labels >= 1
    X[:, 1 if two_directions else 0] += 2.0 * (labels == 2)
    return RankingDataset.from_arrays(X, labels, qid)


def test_hyperplanes_that_point_away_are_told_from_those_of_one_direction():
    verdicts = {}
    for two_directions in (True, False):
        reproduction = Reproduction("multiple-hyperplanes", "made-up")
        compare_with_one_direction(reproduction, planted(two_directions), 1.0, 41, [])
        verdicts[two_directions] = [claim.verdict for claim in reproduction.claims]
        for claim in reproduction.claims:
            words = "mean of all" if "directions" in claim.says else "order errors fewer"
            (row,) = (
                r for r in rows_of(reproduction, "Control") if r["quantity"].startswith(words)
            )
            assert f", p = {row['p']:.3f}" in claim.measured
    assert verdicts == {True: [Verdict.YES] * 2, False: [Verdict.UNDECIDED] * 2}


def test_planes_have_all_cosines_and_the_errors_that_own_planes_save(graded):
    single = RankSVM(10.0).fit(graded)
    several = MultipleHyperplaneRanker(RankSVM(10.0)).fit(graded)
    found = Planes.of(graded, RankSVM(10.0))
    expected = hyperplane_cosines(several, {"RankSVM": single}).cosines
    assert found.mean_cosine == pytest.approx(expected[np.triu_indices(4, 1)].mean())
    rates = order_error_rates(
        graded, {"one": single.predict(graded), "own": several.pair_scores(graded)}
    ).rates
    assert found.fewer_errors == pytest.approx(np.mean(rates["one"] - rates["own"]))


# Tables of diagnostics.


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.5, 0.52, 0.48, 0.5, 0.51], Verdict.YES),
        ([2.0, 2.1, 1.9, 2.0, 2.05], Verdict.NO),
        ([0.5, 2.0, 0.9, 1.1, 0.8], Verdict.UNDECIDED),
    ],
)
def test_times_are_tested_by_their_ratios_in_each_repeat(ratios, verdict):
    times = [
        {
            BASELINE: [10.0 * s] * 5,
            "(1,2)": [4 * s * r for r in ratios],
            "(1,3)": [6 * s * r for r in ratios],
        }
        for s in (1, 3)
    ]
    reproduction = Reproduction("multiple-hyperplanes", "MQ2008")
    training_times(reproduction, times)
    (claim,) = reproduction.claims
    assert claim.verdict == verdict
    logs = np.log(ratios)
    half = 2.776445 * logs.std(ddof=1) / np.sqrt(5)
    low, middle, high = np.exp([logs.mean() - half, logs.mean(), logs.mean() + half])
    assert claim.measured.startswith(f"ratio {middle:.2f} ({low:.2f} to {high:.2f}), p ")


def test_table_7_has_each_hyperplanes_share(graded):
    times = [
        {BASELINE: [9.0, 11], "(1,2)": [1.0, 1], "(1,3)": [2.0, 2], "(2,3)": [3.0, 3]},
        {BASELINE: [30.0, 30], "(1,2)": [3.0, 3], "(1,3)": [2.0, 2], "(2,3)": [4.0, 6]},
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
    assert "0.61 ((2,3)), 0.66 (MHR)" in reproduction.tables[0].note
    levels = np.array([2.0, 1, 0])
    found = pair_times(graded, levels, 3)
    assert found.keys() == {BASELINE, "(1,2)", "(1,3)", "(2,3)"}
    assert {len(repeats) for repeats in found.values()} == {3}
    without = graded.replaced(relevance=np.where(graded.relevance == 1, 0.0, graded.relevance))
    assert set(pair_times(without, levels, 1)) == {BASELINE, "(1,3)"}


def test_times_are_taken_in_turn(graded, monkeypatch):
    timed = []
    monkeypatch.setattr(
        multiple_hyperplanes, "cpu_seconds", lambda run: timed.append(run.func.__self__) or 1.0
    )
    pair_times(graded, np.array([2.0, 1, 0]), 2)
    pairs = [None, [(2, 1)], [(2, 0)], [(1, 0)]]
    assert [ranker.label_pairs for ranker in timed] == pairs * 2


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
