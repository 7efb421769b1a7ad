"""Variants of the recipes against ensembles that are trained here."""

import numpy as np
import pytest

from localrank.data import make_queries, write_letor
from localrank.evaluation import paired_test
from localrank.experiments import Reproduction, Setting, engine_variants, recipe_members, wins
from localrank.experiments.repeated_runs import MEASURES
from localrank.rankers import RankSVM
from localrank.recipes import engine_coordinates, global_mixed

SEEDS = (0, 1000)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "MQ2008"
    folder.mkdir()
    dataset, _ = make_queries(36, n_documents=(20, 25), n_features=5, random_state=1)
    for part in range(3):
        write_letor(dataset.select(range(part, 36, 3)), folder / f"S{part + 1}.txt")
    return folder


@pytest.fixture(scope="module")
def claims(data):
    """The tests of each claim, of a run with few trees and linear models for nets."""
    tests = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe_members, "FEW_TREES", 3)
        patch.setattr(recipe_members, "ListwiseNet", lambda **_: RankSVM(0.1))

        def noted(self, says, measured, *given):
            tests[says] = given

        patch.setattr(Reproduction, "claim", noted)
        engine_variants.reproduce(Setting(data, True, SEEDS, n_jobs=1, say=lambda line: None))
    return tests


def values(data, make):
    return [
        np.concatenate(
            [
                MEASURES[0](fold.test, make(seed).fit(fold.train).predict(fold.test))
                for fold in list(wins.shuffled_folds(data, seed))[:2]
            ]
        )
        for seed in SEEDS
    ]


def test_fixed_scales_and_engine_coordinates_are_those_of_the_recipes(claims, data):
    def mixed(combine):
        return values(
            data, lambda seed: global_mixed(6, n_trees=3, combine=combine, random_state=seed)
        )

    standardised, fixed = mixed("standardised"), mixed("fixed")
    expected = paired_test(fixed, standardised)
    (worse,) = claims["6 mixed, fixed ranks worse than 6 mixed by ndcg@10"]
    assert worse.test.mean_difference == pytest.approx(expected.mean_difference, abs=1e-9)
    assert worse.test.p_value == pytest.approx(expected.p_value)
    engine = values(data, lambda seed: engine_coordinates(3, random_state=seed))
    expected = paired_test(engine, standardised)
    (test,) = claims["engine_coordinates ranks better than 6 mixed by ndcg@10"]
    assert test.mean_difference == pytest.approx(expected.mean_difference, abs=1e-9)
    # Other features, other differences.
    (factors,) = claims[
        "engine_coordinates ranks better than 6 mixed by ndcg@10 where features are multiplied"
    ]
    assert factors.mean_difference != pytest.approx(test.mean_difference)
