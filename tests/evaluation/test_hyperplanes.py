import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from sklearn.exceptions import NotFittedError

from localrank.data import RankingDataset
from localrank.evaluation.hyperplanes import hyperplane_cosines, order_error_rates
from localrank.measures import OrderErrorRate
from localrank.rankers import MultipleHyperplaneRanker, RankBoost, RankSVM, SVMMap


@pytest.fixture(scope="module")
def model(queries):
    return MultipleHyperplaneRanker(pairs="adjacent").fit(queries)


@pytest.fixture(scope="module")
def cosines(queries, model):
    return hyperplane_cosines(model, {"RankSVM": RankSVM().fit(queries)})


@pytest.fixture(scope="module")
def rates(queries, model):
    return order_error_rates(
        queries, {"one": queries.features[:, 0], "own": model.pair_scores(queries)}
    )


def test_cosines_are_those_of_the_weights(queries, model, cosines):
    assert cosines.names == ("RankSVM", "4 > 3", "3 > 2", "2 > 1", "1 > 0")
    weights = [RankSVM().fit(queries).coef_, *(ranker.coef_ for ranker in model.rankers_)]
    for i, u in enumerate(weights):
        for j, v in enumerate(weights):
            expected = u @ v / np.sqrt((u @ u) * (v @ v))
            assert cosines.cosines[i, j] == pytest.approx(expected, rel=1e-12)
    assert (np.abs(cosines.cosines) <= 1).all()


def test_rankers_that_scale_differently_are_brought_to_one_scale(queries):
    # SVMMap scales by the documents it sees, which differ from pair to pair.
    model = MultipleHyperplaneRanker(SVMMap(), pairs="adjacent").fit(queries)
    first, second = model.rankers_[:2]
    assert (first.scale_ != second.scale_).any()
    u, v = first.coef_, second.coef_ / second.scale_ * first.scale_
    expected = u @ v / np.sqrt((u @ u) * (v @ v))
    assert hyperplane_cosines(model).cosines[0, 1] == pytest.approx(expected)


def test_a_hyperplane_without_direction_has_no_cosines(queries):
    model = MultipleHyperplaneRanker(pairs="adjacent").fit(queries)
    model.rankers_[1].coef_ = np.zeros(8)
    cosines = hyperplane_cosines(model).cosines
    assert_array_equal(np.isnan(cosines), [[i == 1 or j == 1 for i in range(4)] for j in range(4)])


def test_what_has_no_hyperplane_is_refused(queries, model):
    with pytest.raises(ValueError, match="It must be a linear ranker. Got RankBoost"):
        hyperplane_cosines(model, {"boost": RankBoost(3).fit(queries)})
    with pytest.raises(ValueError, match="raw has None, MultipleHyperplaneRanker 'standard'"):
        hyperplane_cosines(model, {"raw": RankSVM(scaling=None).fit(queries)})
    with pytest.raises(NotFittedError):
        hyperplane_cosines(MultipleHyperplaneRanker())
    with pytest.raises(NotFittedError):
        hyperplane_cosines(model, {"unfitted": RankSVM()})


def test_rates_equal_a_count_of_all_pairs(queries, model, rates):
    y, query = queries.relevance, queries.query_index
    pair_scores = model.pair_scores(queries)
    for row, (high, low) in enumerate(rates.label_pairs):
        pairs = [
            (i, j)
            for i in np.flatnonzero(y == high)
            for j in np.flatnonzero(y == low)
            if query[i] == query[j]
        ]
        assert rates.n_pairs[row] == len(pairs)
        for name, scores in {
            "one": queries.features[:, 0],
            "own": pair_scores.get((high, low)),
        }.items():
            if scores is None:
                assert np.isnan(rates.rates[name][row])
                continue
            wrong = sum((scores[i] < scores[j]) + (scores[i] == scores[j]) / 2 for i, j in pairs)
            assert rates.rates[name][row] == pytest.approx(wrong / len(pairs), rel=1e-12)
    assert np.isnan(rates.rates["own"]).sum() == 6


def test_all_pairs_together_are_the_measures_when_every_query_is_alike():
    rng = np.random.default_rng(0)
    dataset = RankingDataset.from_arrays(
        rng.normal(size=(60, 1)), np.tile([2, 1, 1, 0, 0, 0], 10), np.repeat(np.arange(10), 6)
    )
    scores = dataset.features[:, 0]
    rates = order_error_rates(dataset, {"one": scores})
    total = rates.rates["one"] @ rates.n_pairs / rates.n_pairs.sum()
    assert_allclose(total, OrderErrorRate().mean(dataset, scores))


def test_scores_are_in_the_order_of_the_input(queries, rates):
    order = np.random.default_rng(0).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    again = order_error_rates(mixed, {"one": queries.features[order, 0]})
    assert_allclose(again.rates["one"], rates.rates["one"], rtol=1e-12)


def test_labels_without_order_or_too_many_are_refused(queries):
    flat = RankingDataset.from_arrays(np.eye(4), [1, 1, 0, 0], ["a", "a", "b", "b"])
    with pytest.raises(ValueError, match="need a query with two different labels"):
        order_error_rates(flat, {"one": np.zeros(4)})
    graded = RankingDataset.from_arrays(
        queries.features, np.arange(queries.n_documents) % 21, queries.query_index
    )
    with pytest.raises(ValueError, match="at most 20 different labels. The dataset has 21"):
        order_error_rates(graded, {})


def test_texts_are_tables(cosines, rates):
    lines = repr(cosines).splitlines()
    assert lines[2].split("  ")[-1] == "1 > 0"
    assert re.fullmatch(r" 1 > 0 +1\.00", lines[-1])
    lines = repr(rates).splitlines()
    assert lines[2].split() == ["labels", "pairs", "one", "own"]
    assert lines[4].split()[-1] == f"{rates.rates['own'][0]:.4f}"


def test_frames_hold_the_numbers(cosines, rates):
    frame = cosines.to_frame("pandas").set_index(["hyperplane", "other"])
    assert frame.loc[("2 > 1", "1 > 0"), "cosine"] == cosines.cosines[-2, -1]
    frame = rates.to_frame("pandas")
    assert frame.columns.tolist() == ["high", "low", "n_pairs", "one", "own"]
    assert_array_equal(frame["one"], rates.rates["one"])
    assert frame.loc[0, ["high", "low"]].tolist() == [4, 3]


def test_the_plot_of_cosines_is_a_heat_map(cosines):
    axes = cosines.plot().axes[0]
    (image,) = axes.images
    assert_array_equal(image.get_array(), cosines.cosines)
    assert image.get_clim() == (-1, 1)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [label.get_text() for label in labels] == list(cosines.names)
    assert [text.get_text() for text in axes.texts] == [f"{x:.2f}" for x in cosines.cosines.flat]


def test_the_plot_of_rates_has_a_group_of_bars_for_each_pair_of_labels(rates):
    axes = rates.plot().axes[0]
    assert [bars.get_label() for bars in axes.containers] == ["one", "own"]
    for bars, values in zip(axes.containers, rates.rates.values(), strict=True):
        assert_array_equal([bar.get_height() for bar in bars], values)
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks[0] == f"4 > 3\n{rates.n_pairs[0]:,} pairs"
    numbers = {text.get_text() for text in axes.texts}
    assert {f"{rate:.3f}" for rate in rates.rates["one"]} <= numbers


@pytest.mark.parametrize("kind", ["cosines", "rates"])
def test_plots_are_written(kind, tmp_path, request):
    request.getfixturevalue(kind).save_plot(str(tmp_path / "plot.svg"))
    assert ">4 &gt; 3</text>" in (tmp_path / "plot.svg").read_text()
