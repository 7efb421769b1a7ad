"""Every cell against models that are trained here."""

import numpy as np
import pytest

from localrank import LocalRanker
from localrank.data import folds, make_queries, write_letor
from localrank.evaluation import paired_test
from localrank.experiments import Setting, all_methods
from localrank.experiments.repeated_runs import MEASURES, short_p
from localrank.grouping import Neighbourhoods
from localrank.rankers import SharedRankSVM
from localrank.recipes import global_ensemble, global_mixed
from localrank.registry import make_ranker
from localrank.representations import TopDocuments
from localrank.selection import NearestQueries

SEEDS = (0, 1)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "MQ2008"
    folder.mkdir()
    dataset, _ = make_queries(66, n_documents=(6, 9), n_features=5, random_state=2)
    for part in range(3):
        write_letor(dataset.select(range(part, 66, 3)), folder / f"S{part + 1}.txt")
    return folder


@pytest.fixture(scope="module")
def reproduction(data):
    return all_methods.reproduce(Setting(data, True, SEEDS, n_jobs=1, say=lambda line: None))


def values(data, make, measure=MEASURES[0]):
    """Of the test queries of two folds, a run for each seed; validation queries stop trees."""
    return np.array(
        [
            np.concatenate(
                [
                    measure(f.test, make(seed).fit(f.train, valid=f.valid).predict(f.test))
                    for f in list(folds(data))[:2]
                ]
            )
            for seed in SEEDS
        ]
    )


@pytest.fixture(scope="module")
def expected(data):
    names = ("rank-svm", "pca-queries", "best-feature", "lambdamart")
    models = {
        name: values(data, lambda seed, name=name: make_ranker(name, (), 1, seed)) for name in names
    }

    def per_query(seed):
        parts = TopDocuments(10), Neighbourhoods(0), SharedRankSVM(), NearestQueries(10)
        return LocalRanker(*parts)

    return models | {"shared-specific, per query": values(data, per_query)}


def test_methods_are_compared_with_lambdamart_over_queries_and_seeds(reproduction, expected):
    by_ndcg, by_map, _ = reproduction.tables
    assert [table.title for table in (by_ndcg, by_map)] == [
        "Every method by ndcg@10",
        "Every method by map",
    ]
    cells = {row[0].strip("`"): row[1] for row in by_ndcg.rows}
    assert cells["lambdamart"] == f"{expected['lambdamart'].mean():.4f}"
    for name in ("rank-svm", "pca-queries", "best-feature", "shared-specific, per query"):
        mean, gap, p = cells[name].split(" ", 2)
        test = paired_test(expected[name], expected["lambdamart"])
        assert mean == f"{expected[name].mean():.4f}"
        assert gap.strip("*") == f"{test.mean_difference:+.4f}"
        assert float(p.strip("(<) ")) >= float(short_p(test.p_value).strip("< "))
    gaps = [float(c.split(" ")[1].strip("*")) if " " in c else 0.0 for c in cells.values()]
    assert gaps == sorted(gaps, reverse=True)


def test_p_is_corrected_for_the_methods_of_the_collection(reproduction, expected):
    lowest = min(
        (paired_test(expected[name], expected["lambdamart"]).p_value, name)
        for name in expected
        if name != "lambdamart"
    )
    cells = {row[0].strip("`"): row[1] for row in reproduction.tables[0].rows}
    # The smallest p of five methods, one of which is the baseline with other seeds.
    assert "for the 5 methods" in reproduction.tables[0].note
    assert cells[lowest[1]].endswith(f"({short_p(min(1.0, 5 * lowest[0]))})")


def test_methods_of_several_models_meet_as_many_global_ones(reproduction, expected, data):
    (row,) = reproduction.tables[2].rows
    assert row[0] == "`pca-queries`"
    opponent = {"global-ensemble-4": global_ensemble, "global-mixed-4": global_mixed}
    (name,) = (name for name in opponent if name in row[1])
    theirs = values(data, lambda seed: opponent[name](4, random_state=seed))
    gap = expected["pca-queries"].mean() - theirs.mean()
    assert row[1].split(" ")[0].strip("*") == f"{gap:+.4f}"


def test_counts_are_of_significant_differences(reproduction):
    rows = [row[1] for row in reproduction.tables[0].rows]
    better, worse = (sum(f"**{sign}" in cell for cell in rows) for sign in "+-")
    counted = f"Of 5 methods: MQ2008 {better} significantly better and {worse} significantly worse."
    assert counted in reproduction.tables[0].note
    assert "Of 2 methods with models for groups of queries" in reproduction.tables[0].note


def test_what_learns_from_features_takes_part_and_what_fuses_lists_does_not(data):
    names = set(all_methods.rankers(Setting(data, n_jobs=1), seed=0))
    assert {"lambdamart", "best", "local-rank", "shared-specific, per query"} <= names
    assert not names & {"fusion", "hybrid", "reciprocal-rank-fusion", "smoothed-fusion"}
    assert "duh-kirchhoff" not in names
