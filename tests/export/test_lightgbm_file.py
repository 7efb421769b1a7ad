from engines.file_engines import lightgbm_booster, rank_in_lightgbm
from tree_exports import documents_at, tree_model

from localrank.export import LightGBM


def test_lightgbm_scores_as_the_model_to_the_last_bit(rng):
    model = tree_model(rng, (0, 2, 4, 6, 8, 10))
    dataset = documents_at(rng, model.formula.trees.thresholds)
    files = LightGBM().files(model)
    expected = model.formula.score(dataset)
    assert (rank_in_lightgbm(files, dataset) == expected).all()
    assert (LightGBM().scores(files, dataset) == expected).all()


def test_features_keep_their_names_with_underscores_for_spaces(rng):
    names = lightgbm_booster(LightGBM().files(tree_model(rng))).feature_name()
    assert names == [f"field_{number}" for number in range(1, 6)]
