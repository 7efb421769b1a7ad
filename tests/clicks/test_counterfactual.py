"""What a new ranking would do: the defining sums, unbiasedness, coverage, and refusals."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from localrank.clicks import (
    ClickLog,
    PositionBehaviour,
    UnseenRankingError,
    compare_rankings,
    policy_value,
    ranking_value,
    simulate_clicks,
)
from localrank.data import RankingDataset, Run, make_queries
from localrank.rankers import RankSVM

SEEN = PositionBehaviour(eta=1).examination(10)


@pytest.fixture(scope="module")
def dataset():
    """Queries with ten candidates each: every list shows all of them."""
    everything, _ = make_queries(30, random_state=3)
    rows = np.concatenate([np.arange(begin, begin + 10) for begin in everything.offsets[:-1]])
    return RankingDataset.from_arrays(
        everything.features[rows],
        everything.relevance[rows],
        qid=np.repeat(everything.query_ids, 10),
        document_ids=[f"d{row}" for row in rows],
    )


@pytest.fixture(scope="module")
def rankings(dataset):
    """The scores of the logged ranking and of a new one."""
    old = dataset.features[:, -1]
    return {"old": old, "new": old + dataset.features[:, 0]}


def simulated(dataset, rankings, n_sessions=1000, seed=0, **options):
    return simulate_clicks(
        dataset, rankings["old"], PositionBehaviour(eta=1), n_sessions=n_sessions,
        random_state=seed, **({"shuffle": 2} | options),
    )  # fmt: skip


def truth(dataset, scores, queries=slice(None)):
    """Expected clicks per list, by the behaviour's own probabilities."""
    relevance = (2.0**dataset.relevance - 1) / (2 ** dataset.relevance.max() - 1)
    totals = np.zeros(dataset.n_queries)
    for query, (begin, end) in enumerate(pairwise(dataset.offsets)):
        order = begin + np.argsort(-scores[begin:end], kind="stable")[:10]
        totals[query] = PositionBehaviour(eta=1).click_probabilities(relevance[order][None]).sum()
    return totals[queries].mean()


def naive_value(log, ranking, seen, weights, method):
    """The value of a run {query: {document: score}}, one impression after another."""
    total = 0.0
    for session in range(log.n_sessions):
        query = log.query_ids[log.session_queries[session]]
        scores = ranking[query]
        for place, document in enumerate(sorted(scores, key=scores.get, reverse=True)):
            if place >= len(weights):
                break
            counted, divided = 0.0, 0.0
            for row in range(log.n_impressions):
                at = log.session_index[row]
                same = log.query_ids[log.session_queries[at]] == query
                if same and log.document_ids[log.pairs[row]] == document:
                    examined = seen[log.positions[row]]
                    counted += log.clicks[row] / (examined if method == "ips" else 1)
                    divided += 1 if method == "ips" else examined
            total += weights[place] * counted / divided
    return total / log.n_sessions


SMALL = ClickLog.from_sessions(
    ["tea", "tea", "milk", "tea", "milk"],
    [["a", "b", "c"], ["b", "a"], ["a", "d"], ["c", "b", "a"], ["d", "a"]],
    [[0], [0, 1], [1], [0, 2], [0]],
)
RUN = {"tea": {"a": 1.0, "b": 3.0, "c": 2.0}, "milk": {"a": 2.0, "d": 1.0}}


@pytest.mark.parametrize("method", ["ips", "snips"])
@pytest.mark.parametrize("gain", ["clicks", "dcg"])
@pytest.mark.parametrize("cutoff", [None, 2])
def test_the_value_is_its_defining_sum(method, gain, cutoff):
    seen = [0.9, 0.5, 0.2]
    weights = seen if gain == "clicks" else [1, 1 / np.log2(3), 0.5]
    told = ranking_value(SMALL, RUN, seen, method=method, gain=gain, cutoff=cutoff)
    assert_allclose(told.value, naive_value(SMALL, RUN, seen, weights[:cutoff], method))


def test_the_logged_ranking_itself_has_the_logged_clicks(dataset, rankings):
    log = simulated(dataset, rankings, shuffle=0)
    for method in ("ips", "snips", "dr"):
        told = ranking_value(log, rankings["old"], SEEN, features=dataset, method=method)
        # "dr" lets its model speak for what was hardly examined.
        tolerance = 0.1 if method == "dr" else 1e-9
        assert_allclose(told.value, log.n_clicks / log.n_sessions, rtol=tolerance)
        assert_allclose(told.effective_sessions, log.n_sessions, rtol=tolerance)
        # As the mean of the sessions' clicks says.
        per_session = np.bincount(log.session_index, log.clicks)
        assert_allclose(told.standard_error, per_session.std() / np.sqrt(log.n_sessions), rtol=0.1)


def test_runs_scores_and_rankers_are_ranked_alike(dataset, rankings):
    log = simulated(dataset, rankings)
    ranker = RankSVM().fit(dataset)
    scores = ranker.predict(dataset)
    run = {
        str(query): dict(zip(dataset.document_ids[begin:end], scores[begin:end], strict=True))
        for query, begin, end in zip(
            dataset.query_ids, dataset.offsets[:-1], dataset.offsets[1:], strict=True
        )
    }
    by_run = ranking_value(log, run, SEEN)
    assert ranking_value(log, ranker, SEEN, features=dataset) == by_run
    assert ranking_value(log, scores, SEEN, features=dataset) == by_run


def test_examination_comes_from_a_model_or_from_numbers(dataset, rankings):
    class Known:
        def examination_of(self, log):
            return SEEN[log.positions]

    log = simulated(dataset, rankings)
    by_numbers = ranking_value(log, rankings["new"], SEEN, features=dataset)
    by_model = ranking_value(log, rankings["new"], Known(), features=dataset)
    assert_allclose(by_model.value, by_numbers.value)
    assert_allclose(by_model.interval, by_numbers.interval)


def test_the_doubly_robust_value_is_right_if_the_model_is(dataset, rankings):
    """Where documents are hardly examined, only the model decides."""
    log = simulated(dataset, rankings, n_sessions=60)
    labels = dict(zip(dataset.document_ids, dataset.relevance, strict=True))
    gain = 2.0 ** np.array([labels[name] for name in log.document_ids]) - 1
    relevance = 0.1 + 0.9 * gain / (2 ** dataset.relevance.max() - 1)
    right = truth(dataset, rankings["new"], dataset_queries(log, dataset))
    told = ranking_value(
        log, rankings["new"], SEEN, features=dataset, method="dr", relevance=relevance,
    )  # fmt: skip
    by_clicks = ranking_value(log, rankings["new"], SEEN, features=dataset)
    assert abs(told.value - right) < 0.08 < by_clicks.standard_error
    # Much examined, the clicks decide: a wrong model does no harm.
    log = simulated(dataset, rankings, n_sessions=20_000)
    wrong = ranking_value(
        log, rankings["new"], SEEN, features=dataset, method="dr",
        relevance=np.ones(log.n_pairs),
    )  # fmt: skip
    by_clicks = ranking_value(log, rankings["new"], SEEN, features=dataset)
    assert_allclose(wrong.value, by_clicks.value)


def dataset_queries(log, dataset):
    place = {query: number for number, query in enumerate(dataset.query_ids)}
    return [place[query] for query in log.query_ids[log.session_queries]]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_intervals_cover_as_often_as_they_say(dataset, rankings, method):
    right = {name: truth(dataset, scores) for name, scores in rankings.items()}
    covered = []
    for seed in range(500):
        log = simulated(dataset, rankings, seed=seed)
        values, (difference,) = compare_rankings(
            log, rankings, SEEN, features=dataset, method=method
        )
        low, high = difference.interval
        covered.append(
            [
                values["new"].interval[0] <= right["new"] <= values["new"].interval[1],
                values["old"].interval[0] <= right["old"] <= values["old"].interval[1],
                low <= right["old"] - right["new"] <= high,
            ]
        )
    rates = np.mean(covered, axis=0)
    assert (rates >= 0.93).all(), rates
    assert (rates <= 0.97).all(), rates


@pytest.mark.slow
def test_intervals_over_queries_cover_what_other_queries_bring():
    """Each log has queries of its own, drawn from many; the truth is that of all of them."""
    many, _ = make_queries(3000, random_state=0)
    scores = many.features[:, -1]
    right = truth(many, scores)
    rng = np.random.default_rng(0)
    covered = {"query": [], "session": []}
    for seed in range(300):
        some = many.select(rng.choice(many.n_queries, 60, replace=False))
        log = simulate_clicks(
            some, some.features[:, -1], PositionBehaviour(eta=1), n_sessions=3000, shuffle=1,
            random_state=seed,
        )  # fmt: skip
        for unit, hits in covered.items():
            told = ranking_value(log, some.features[:, -1], SEEN, features=some, unit=unit)
            hits.append(told.interval[0] <= right <= told.interval[1])
    assert 0.92 <= np.mean(covered["query"]) <= 0.975
    assert np.mean(covered["session"]) < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_errors_of_sparse_logs_are_as_large_as_they_say(method):
    """Four sessions per query, and forty candidates: most documents were shown once or twice."""
    many, _ = make_queries(300, random_state=0)
    old = many.features[:, -1]
    run = {"old": old, "new": old + 0.2 * many.features[:, 0]}
    values, errors, gaps, gap_errors = [], [], [], []
    for seed in range(150):
        log = simulate_clicks(
            many, old, PositionBehaviour(eta=1), n_sessions=1200, shuffle=2, random_state=seed
        )
        told, (difference,) = compare_rankings(log, run, SEEN, features=many, method=method)
        values.append(told["new"].value)
        errors.append(told["new"].standard_error)
        gaps.append(difference.difference)
        gap_errors.append(np.diff(difference.interval)[0] / (2 * 1.96))
    assert_allclose(np.mean(errors), np.std(values), rtol=0.1)
    # Documents without a click are not certain. Differences rest on few: their errors are larger.
    assert 0.9 < np.mean(gap_errors) / np.std(gaps) < 1.35


@pytest.mark.slow
def test_intervals_allow_for_a_model_that_is_wrong():
    many, _ = make_queries(40, random_state=0)
    old = many.features[:, -1]
    new = old + 0.5 * many.features[:, 0]
    right = truth(many, new)
    covered = []
    for seed in range(100):
        log = simulate_clicks(
            many, old, PositionBehaviour(eta=1), n_sessions=4000, shuffle=2, random_state=seed
        )
        # The model tells no document from another.
        told = ranking_value(
            log, new, SEEN, features=many, method="dr", relevance=np.full(log.n_pairs, 0.2),
            max_unseen=0.2,
        )  # fmt: skip
        covered.append(told.interval[0] <= right <= told.interval[1])
    assert np.mean(covered) >= 0.9


def test_equal_rankings_do_not_differ(dataset, rankings):
    log = simulated(dataset, rankings)
    same = {"a": rankings["new"], "b": rankings["new"] * 2}
    _, (difference,) = compare_rankings(log, same, SEEN, features=dataset)
    assert (difference.difference, difference.p_value) == (0, 1)


def test_differences_are_those_of_the_values_and_more_certain(dataset, rankings):
    log = simulated(dataset, rankings)
    values, (difference,) = compare_rankings(log, rankings, SEEN, features=dataset)
    assert_allclose(difference.difference, values["old"].value - values["new"].value)
    low, high = difference.interval
    error = (high - low) / (2 * 1.959964)
    assert error < values["new"].standard_error + values["old"].standard_error
    z = abs(difference.difference) / error
    assert_allclose(difference.p_value, 2 * norm.sf(z), rtol=1e-5)


def test_a_ranking_of_documents_that_were_never_shown_is_refused():
    new = {"tea": {"x": 3.0, "a": 2.0, "y": 1.0}, "milk": {"a": 2.0, "d": 1.0}}
    with pytest.raises(UnseenRankingError, match=r"too little about this ranking: 45% of what it"):
        ranking_value(SMALL, new, [1.0, 0.5, 0.25])
    told = ranking_value(SMALL, new, [1.0, 0.5, 0.25], max_unseen=0.5)
    # By hand: "tea" has 3 of 5 sessions; positions 1 and 3 of its list were never shown.
    assert_allclose(told.unseen, 3 * 1.25 / (3 * 1.75 + 2 * 1.5))
    assert "45.5% was never shown and counts like the rest of its query" in repr(told)
    with pytest.raises(UnseenRankingError, match="about the ranking 'new'"):
        compare_rankings(SMALL, {"old": RUN, "new": new}, [1.0, 0.5, 0.25])


def test_unseen_documents_count_as_the_mean_of_their_query():
    log = ClickLog.from_sessions(["q"] * 4, [["a", "b"]] * 4, [[0], [0, 1], [], [1]])
    new = {"q": {"a": 2.0, "z": 1.0}}
    seen = [1.0, 0.5]
    told = ranking_value(log, new, seen, max_unseen=1)
    assert_allclose(told.value, 1.0 * 2 / 4 + 0.5 * (4 / (4 * 1.5)))


def test_pairs_without_an_impression_were_never_shown():
    log = SMALL.select([1, 2, 4])
    with pytest.raises(UnseenRankingError):
        ranking_value(log, {"tea": {"c": 1.0}, "milk": {"a": 1.0}}, [1.0, 0.5, 0.25])


def test_queries_that_the_ranking_lacks_are_left_out_and_counted():
    told = ranking_value(SMALL, {"milk": RUN["milk"]}, [1.0, 0.5, 0.25])
    assert (told.n_sessions, told.n_left_out) == (2, 3)
    assert_allclose(told.value, ranking_value(SMALL.select([2, 4]), RUN, [1.0, 0.5]).value)


@pytest.fixture(scope="module")
def shuffled():
    """One query, its four documents in any order with equal chance, and true click rates."""
    rates = np.array([[0.6, 0.2, 0.1], [0.3, 0.4, 0.1], [0.1, 0.1, 0.3], [0.5, 0.5, 0.0]])

    def draw(seed, n=600):
        rng = np.random.default_rng(seed)
        lists = np.array([rng.permutation(4)[:3] for _ in range(n)])
        clicked = rng.random((n, 3)) < rates[lists, np.arange(3)]
        return ClickLog.from_sessions(
            ["q"] * n, lists, [np.flatnonzero(row) for row in clicked],
            propensities=np.full((n, 3), 1 / 4),
        )  # fmt: skip

    return draw, rates


def test_known_propensities_need_no_model_of_examination(shuffled):
    draw, rates = shuffled
    log = draw(0, 20_000)
    ranking = {"q": {"3": 4.0, "1": 3.0, "2": 2.0, "0": 1.0}}
    right = rates[3, 0] + rates[1, 1] + rates[2, 2]
    for method in ("ips", "snips"):
        told = ranking_value(log, ranking, method=method)
        assert abs(told.value - right) < 0.05
        assert_allclose(told.effective_sessions, log.n_sessions / 4, rtol=0.05)
    # By hand: the clicks where a document stands at its new position, each counting 4.
    hits = [(3, 0), (1, 1), (2, 2)]
    by_hand = sum(
        4 * log.clicks[(log.document_ids[log.pairs] == document) & (log.positions == place)].sum()
        for document, place in hits
    )
    assert_allclose(ranking_value(log, ranking, method="ips").value, by_hand / log.n_sessions)
    assert_allclose(
        policy_value(log, np.full(log.n_impressions, 0.25), method="ips").value,
        log.n_clicks / log.n_sessions,
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ips", "snips"])
def test_intervals_from_propensities_cover_as_often_as_they_say(shuffled, method):
    draw, rates = shuffled
    rankings = {
        "a": {"q": {"3": 4.0, "1": 3.0, "2": 2.0, "0": 1.0}},
        "b": {"q": {"0": 4.0, "1": 3.0, "3": 2.0, "2": 1.0}},
    }
    right = {"a": 0.5 + 0.4 + 0.3, "b": 0.6 + 0.4 + 0.0}
    covered = []
    for seed in range(500):
        values, (difference,) = compare_rankings(draw(seed), rankings, method=method)
        covered.append(
            [
                *(
                    one.interval[0] <= right[name] <= one.interval[1]
                    for name, one in values.items()
                ),
                difference.interval[0] <= right["a"] - right["b"] <= difference.interval[1],
            ]
        )
    rates = np.mean(covered, axis=0)
    assert (rates >= 0.93).all(), rates
    assert (rates <= 0.97).all(), rates


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ips", "snips"])
def test_intervals_of_rare_clicks_that_weigh_a_lot_cover_the_truth(method):
    """As in advertisements: the old policy shows some items seldom, and few are clicked."""
    chances = np.arange(1, 31) ** -1.5
    chances /= chances.sum()
    rates = np.random.default_rng(0).uniform(0.005, 0.02, 30)
    covered = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        items = rng.choice(30, size=4000, p=chances)
        log = ClickLog.from_impressions(
            np.full(4000, "q"), np.arange(4001), items, rng.random(4000) < rates[items],
            propensities=chances[items],
        )  # fmt: skip
        told = policy_value(log, np.full(4000, 1 / 30), method=method)
        assert told.interval[0] >= 0
        covered.append(told.interval[0] <= rates.mean() <= told.interval[1])
    assert 0.92 <= np.mean(covered) <= 0.985


def test_a_log_that_is_worth_next_to_nothing_is_refused():
    n = 200
    rare = [0.0001] + [0.99] * (n - 1)
    log = ClickLog.from_sessions(
        ["q"] * n, [["a"]] + [["b"]] * (n - 1), [[0]] * n, propensities=np.array(rare)[:, None]
    )
    with pytest.raises(UnseenRankingError, match="200 sessions are worth 0.0016 of its own"):
        policy_value(log, np.full(n, 0.5))
    assert policy_value(log, np.full(n, 0.5), max_unseen=1).value > 0


def test_a_log_that_always_shows_one_order_says_nothing_of_another(shuffled):
    n = 200
    log = ClickLog.from_sessions(
        ["q"] * n, [["a", "b"]] * n, [[0]] * n, propensities=[[1.0, 1.0]] * n
    )
    with pytest.raises(UnseenRankingError, match="100% of what it would show"):
        ranking_value(log, {"q": {"b": 2.0, "a": 1.0}})
    with pytest.raises(UnseenRankingError, match="about this policy: 50%"):
        policy_value(log, np.full(2 * n, 0.5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "'method' argument must be one of 'ips', 'snips', 'dr'. Got 'best'"),
        ({"gain": "ndcg"}, "'gain' argument must be one of 'clicks', 'dcg'"),
        ({"unit": "user"}, "'unit' argument must be one of 'session', 'query'"),
        ({"confidence": 95}, r"'confidence' argument must lie in \(0, 1\). Got 95"),
        ({"cutoff": 0}, "'cutoff' argument must be at least 1. Got 0"),
        ({"bias": None}, "no probabilities of documents at positions"),
        ({"bias": None, "gain": "dcg"}, "The gain dcg needs to know how much is seen"),
        ({"bias": None, "method": "dr"}, "The method dr needs to know how much is seen"),
        ({"bias": [1.0, 0.5]}, r"examination of each of 3 positions. Got shape \(2,\)"),
        ({"bias": [1.0, 0.5, 0.0]}, r"must lie in \(0, 1\]"),
        ({"bias": [1.0, 0.5, np.nan]}, r"must lie in \(0, 1\]"),
        ({"method": "dr", "relevance": [1.0]}, "one number per pair of the log: 5"),
        ({"ranking": {"soup": {"a": 1.0}}}, "no query in common. The ranking has .* 'soup'"),
        ({"ranking": RankSVM()}, "needs the features of the documents"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    arguments = {"ranking": RUN, "bias": [1.0, 0.5, 0.2]} | options
    ranking, bias = arguments.pop("ranking"), arguments.pop("bias")
    with pytest.raises(ValueError, match=message):
        ranking_value(SMALL, ranking, bias, **arguments)


def test_probabilities_of_a_policy_are_checked(shuffled):
    log = shuffled[0](0, 10)
    for wrong, message in (
        ([0.5], r"one number per impression: 30. Got shape \(1,\)"),
        (np.full(30, 1.5), r"must lie in \[0, 1\]"),
        (np.full(30, np.nan), r"must lie in \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            policy_value(log, wrong)
    with pytest.raises(ValueError, match="one of 'ips', 'snips'"):
        policy_value(log, np.full(30, 0.25), method="dr")


def test_a_comparison_needs_two_rankings():
    with pytest.raises(ValueError, match="at least two rankings. Got 1"):
        compare_rankings(SMALL, {"a": RUN}, [1.0, 0.5, 0.2])


def test_a_document_named_twice_is_refused():
    run = Run(np.array(["tea"] * 2), np.array(["a", "a"]), np.array([2.0, 1.0]))
    with pytest.raises(ValueError, match="'a' twice for query 'tea'"):
        ranking_value(SMALL, run, [1.0, 0.5, 0.2])


def test_a_log_without_clicks_tells_no_value_instead_of_a_certain_zero():
    log = ClickLog.from_sessions(
        ["tea", "tea", "mate"], [["a", "b"], ["b", "a"], ["c"]], [[], [], [0]],
        propensities=[[0.5, 0.5], [0.5, 0.5], [1]],
    )  # fmt: skip
    tea = {"tea": {"a": 1, "b": 0}}
    with pytest.raises(ValueError, match="The 2 sessions whose queries are ranked have no click"):
        ranking_value(log, tea, [1, 0.5])
    with pytest.raises(ValueError, match="2 sessions .*have no click"):
        policy_value(log.select([0, 1]), [0.5, 0.5, 0.5, 0.5])
    assert ranking_value(log, tea | {"mate": {"c": 1}}, [1, 0.5]).value > 0


def test_a_click_moves_its_document_and_the_mean_that_stands_for_unseen_ones():
    """The value is a sum of clicks, each times what it adds; so is the error, beside squares."""
    log = ClickLog.from_sessions(
        ["q"] * 40, [["a", "b"], ["b", "a"]] * 20, [[0], [1], [0, 1], []] * 10
    )
    curve = np.array([1.0, 0.5])
    told = ranking_value(log, {"q": {"a": 2, "z": 1}}, curve, max_unseen=1)
    seen = curve[log.positions]
    clicks = np.bincount(log.pairs, log.clicks)
    examined = np.bincount(log.pairs, seen)
    mean = clicks.sum() / examined.sum()
    rates = seen * ((clicks + mean) / (examined + 1))[log.pairs]
    variances = np.bincount(log.pairs, rates * (1 - rates))
    added = np.array([1.0, 0]) / examined + 0.5 / examined.sum()
    assert_allclose(told.value, added @ clicks)
    assert_allclose(told.standard_error, np.sqrt(added**2 @ variances))
