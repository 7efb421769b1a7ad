from dataclasses import replace
from types import SimpleNamespace

import pytest

from localrank.evaluation import paired_test
from localrank.evaluation._comparison_overview import cost_notes, verdict
from localrank.measures import NDCG, AveragePrecision

FIRST, SECOND = NDCG(10), AveragePrecision()
CHANCE, SURE, WORSE, DOUBTFUL = (0.9, 0.01), (0.04, 0.02), (0.04, -0.02), (0.06, 0.03)
TEST = paired_test([0.5, 0.7], [0.4, 0.7])


def both_measures(given):
    """Corrected p and gain by the first measure; by the second nothing differs."""
    p, gain = given
    return {
        FIRST: replace(TEST, p_value=p / 9, corrected_p_value=p, mean_difference=gain),
        SECOND: replace(TEST, p_value=1.0, mean_difference=0.0),
    }


def judged(*, leader="a", **methods):
    """The verdict by (p, gain) against the baseline, the opponent, and against the opponent."""
    roles = {"base": "baseline", "mix": "opponent", "twin": "reseeded"}
    names = [leader, "base", *methods]
    mean = {FIRST: 0.50694, SECOND: 0.3}
    sentences = verdict(
        SimpleNamespace(
            measures=[FIRST, SECOND],
            baseline="base",
            test=SimpleNamespace(n_queries=1234),
            entries={name: SimpleNamespace(role=roles.get(name, "method")) for name in names},
            finished={name: SimpleNamespace(mean=mean.get) for name in names},
            against_baseline={name: both_measures(given[0]) for name, given in methods.items()},
            opponents={name: given[1] for name, given in methods.items() if given[1]},
            at_equal_cost={
                name: both_measures(given[2]) for name, given in methods.items() if given[1]
            },
        )
    )
    return "\n".join(sentences)


def test_the_verdict_is_by_corrected_p_values_and_names_the_opponent():
    assert judged(a=(SURE, "mix", SURE), b=(DOUBTFUL, "mix", DOUBTFUL), mix=(SURE, None, None)) == (
        "By ndcg@10 on 1,234 test queries, a leads with 0.5069 (+0.0200 against base, p = 0.040).\n"
        "Significantly better than base: a (+0.0200).\n"
        "Significantly better than its opponent of equal cost: a (+0.0200 against mix)."
    )


def test_the_verdict_names_a_leader_where_nothing_is_significant():
    assert judged(leader="b", a=(WORSE, "mix", WORSE), b=(CHANCE, "mix", CHANCE)) == (
        "By ndcg@10 on 1,234 test queries, b leads with 0.5069 (+0.0100 against base, p = 0.900); "
        "no method is significantly better than base.\n"
        "Significantly worse than base: a (-0.0200).\n"
        "At equal cost, no method is significantly better than its opponent; significantly worse: "
        "a (-0.0200 against mix)."
    )


@pytest.mark.parametrize(
    ("leader", "words"),
    [
        ("base", "base, the baseline, leads with 0.5069"),
        ("twin", "twin, the baseline with another seed, leads with 0.5069"),
        ("mix", "mix, an opponent, leads with 0.5069"),
    ],
)
def test_the_verdict_names_the_best_method_where_another_ranker_leads(leader, words):
    best = "; the best method is a with 0.5069 (+0.0100 against base, p = 0.900); no method is"
    assert words + best in judged(leader=leader, a=(CHANCE, "mix", CHANCE))


def test_without_methods_the_verdict_names_the_leader_alone():
    text = judged(leader="base", twin=(CHANCE, None, None))
    assert "base, the baseline, leads with 0.5069; no method is significantly better" in text


def test_methods_of_one_model_have_the_baseline_as_opponent():
    text = judged(a=(SURE, "base", SURE), b=(WORSE, "base", WORSE), c=(CHANCE, "mix", CHANCE))
    assert text.endswith("its opponent of equal cost: a (+0.0200 against base).")
    worse = judged(leader="c", b=(WORSE, "base", WORSE), c=(CHANCE, "mix", CHANCE))
    assert worse.endswith("At equal cost, no method is significantly better than its opponent.")


@pytest.mark.parametrize("opponent", ["base", None])
def test_without_other_opponents_nothing_is_said_of_equal_cost(opponent):
    assert "equal cost" not in judged(a=(SURE, opponent, SURE))


def test_opponents_alone_are_nothing_to_compare():
    assert judged(mix=(SURE, None, None)) == "There is nothing to compare with base."


def costs(n_models, cpu, milliseconds):
    return SimpleNamespace(
        n_models=n_models, train_cpu_seconds=cpu, milliseconds_per_query=milliseconds
    )


def noted(a, opponent="mix", role="method", mix=None):
    roles = {"a": role, "mix": "opponent", "base": "baseline"}
    results = {"base": costs(1, 1.0, 0.1), "mix": mix or costs(4, 10.0, 0.4), "a": a}
    return cost_notes(
        SimpleNamespace(
            finished=results,
            results=results,
            entries={name: SimpleNamespace(role=role) for name, role in roles.items()},
            opponents={"a": opponent} if opponent else {},
        )
    )


def test_a_method_that_costs_much_more_than_as_many_models_is_noted():
    assert noted(costs(4, 12.6, 0.5)) == [
        "a has 4 models like mix, but takes 13 s of CPU time to train, not 10 s."
    ]
    assert noted(costs(4, 1.0, 0.51)) == [
        "a has 4 models like mix, but ranks a list in 0.51 ms, not 0.4."
    ]
    assert noted(costs(1, 2.0, 0.3), "base") == [
        "a has one model like base, but takes 2 s of CPU time to train, not 1 s, and ranks a "
        "list in 0.3 ms, not 0.1."
    ]


def test_a_few_milliseconds_of_training_are_not_noted():
    assert noted(costs(4, 0.09, 0.4), mix=costs(4, 0.01, 0.4)) == []
    assert noted(costs(4, 0.11, 0.4), mix=costs(4, 0.01, 0.4)) == [
        "a has 4 models like mix, but takes 0.11 s of CPU time to train, not 0.01 s."
    ]


@pytest.mark.parametrize("method", [costs(4, 12.5, 0.5), costs(4, 1.0, 0.1), costs(3, 99.0, 9.0)])
def test_about_equal_cheaper_and_other_numbers_of_models_are_not_noted(method):
    assert noted(method) == []


@pytest.mark.parametrize("role", ["reseeded", "opponent"])
def test_what_is_no_method_is_not_noted(role):
    assert noted(costs(4, 99.0, 9.0), role=role) == []


def test_too_many_models_for_an_opponent_are_noted():
    assert noted(costs(1940, 1.0, 0.1), None) == [
        "a has 1,940 models. No opponent of that many models is trained."
    ]
    assert noted(costs(20, 1.0, 0.1), None) == []
