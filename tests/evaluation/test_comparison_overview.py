from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from localrank._base.printing import as_latex, as_markdown, as_text
from localrank.evaluation import paired_test
from localrank.evaluation._comparison_overview import Overview, Words, cost_notes, verdict
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


def judged(*, leader="a", n_alike=0, **methods):
    """The verdict by (p, gain) against the baseline, the opponent, and against the opponent."""
    roles = {"base": "baseline", "mix": "opponent", "twin": "reseeded"}
    names = [leader, "base", *methods]
    mean = {FIRST: 0.50694, SECOND: 0.3}
    low, high = np.zeros(1234), np.arange(1234) >= n_alike
    sentences = verdict(
        SimpleNamespace(
            measures=[FIRST, SECOND],
            baseline="base",
            test=SimpleNamespace(n_queries=1234, label_bounds=(low, high)),
            entries={name: SimpleNamespace(role=roles.get(name, "method")) for name in names},
            finished={name: SimpleNamespace(mean=mean.get) for name in names},
            against_baseline={name: both_measures(given[0]) for name, given in methods.items()},
            opponents={name: given[1] for name, given in methods.items() if given[1]},
            at_equal_cost={
                name: both_measures(given[2]) for name, given in methods.items() if given[1]
            },
            words=Words(),
            cautions=[],
        )
    )
    return "\n".join(sentences)


def test_the_verdict_is_by_corrected_p_values_and_names_the_opponent():
    assert judged(a=(SURE, "mix", SURE), b=(DOUBTFUL, "mix", DOUBTFUL), mix=(SURE, None, None)) == (
        "By ndcg@10 on 1,234 test queries, a leads with 0.5069 (+0.0200 against base, p = 0.040).\n"
        "Significantly better than base: a (+0.0200).\n"
        "Significantly better than its opponent of equal cost: a (+0.0200 against mix)."
    )


def test_the_verdict_says_on_how_many_queries_methods_can_differ():
    assert (
        "\nMethods can differ on 1,034 of the 1,234 queries: the others have one label.\n"
        in judged(n_alike=200, a=(SURE, "mix", SURE), mix=(SURE, None, None))
    )
    assert "can differ" not in judged(a=(SURE, "mix", SURE), mix=(SURE, None, None))


def test_the_verdict_names_a_leader_where_nothing_is_significant():
    assert judged(leader="b", a=(WORSE, "mix", WORSE), b=(CHANCE, "mix", CHANCE)) == (
        "By ndcg@10 on 1,234 test queries, b leads with 0.5069 (+0.0100 against base, p = 0.900); "
        "no method is significantly better than base.\n"
        "Significantly worse than base: a (-0.0200).\n"
        "At equal cost, no method is significantly better than its opponent; significantly worse: "
        "a (-0.0200 against mix)."
    )


def test_only_what_is_significant_is_called_worse():
    assert "Significantly worse than base: a (-0.0200)." in judged(a=(WORSE, None, None))
    assert "ignificantly worse" not in judged(a=(CHANCE, "mix", CHANCE))


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


def outcome(difference, p):
    """A test in which every number differs from every other."""
    return {
        "ndcg@10": {
            "difference": difference,
            "low": difference - 0.02,
            "high": difference + 0.03,
            "p": p,
            "wins": 61,
            "ties": 7,
            "losses": 22,
        }
    }


def numbers(role, mean, n_models, against=None, opponent=None, equal=None):
    return {
        "role": role,
        "summary": f"models of the role {role}",
        "train_seconds": 99.0,
        "n_models": n_models,
        "train_cpu_seconds": 1.26,
        "milliseconds_per_query": 0.034,
        "model_bytes": 5000 * 1024,
        "means": {"ndcg@10": mean, "oer": 1 - mean},
        "against_baseline": against,
        "opponent": opponent,
        "at_equal_cost": equal,
    }


@pytest.fixture
def overview():
    return Overview(
        title="Made up",
        baseline="base_1",
        n_queries=1234,
        measures=["ndcg@10", "oer"],
        methods={
            "a": numbers("method", 0.56, 4, outcome(0.06, 1e-5), "mix", outcome(0.01, 0.3)),
            "mix": numbers("opponent", 0.55, 4, outcome(0.05, 0.04)),
            "base_1": numbers("baseline", 0.5, 1),
            "b": numbers("best feature", 0.4, 1, outcome(-0.1, 0.2), "base_1", outcome(-0.1, 0.2)),
        },
        tested=["a", "b", "mix"],
        bounds=[{"name": "a", "clairvoyant": 0.7, "control": 0.65}],
        rand_indices={"a": 0.25},
        words=Words(),
        sections=[],
        verdict=["a leads."],
        cost_notes=["a costs more."],
        failures=["c failed: no luck"],
    )


def test_in_full_it_is_tables_of_means_and_tests_then_bounds_verdict_notes_and_failures(
    overview, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "100")
    assert as_text(overview.in_full()).splitlines() == [
        "1,234 test queries; training time of all folds, milliseconds per query",
        "",
        " method             ndcg@10     oer  models  CPU s    ms    KiB",
        " ──────────────────────────────────────────────────────────────",
        " a                   0.5600  0.4400       4    1.3  0.03  5,000",
        " mix                 0.5500  0.4500       4    1.3  0.03  5,000",
        " base_1 (baseline)   0.5000  0.5000       1    1.3  0.03  5,000",
        " b                   0.4000  0.6000       1    1.3  0.03  5,000",
        "",
        "ndcg@10 against base_1",
        "",
        " method     gain     95 % interval        p  won/tied/lost",
        " ─────────────────────────────────────────────────────────",
        " a       +0.0600  +0.040 to +0.090  < 0.001        61/7/22",
        " b       -0.1000  -0.120 to -0.070    0.200        61/7/22",
        " mix     +0.0500  +0.030 to +0.080    0.040        61/7/22",
        "",
        "ndcg@10 at equal cost, against the stronger global opponent",
        "",
        " method  opponent     gain     95 % interval      p",
        " ──────────────────────────────────────────────────",
        " a            mix  +0.0100  -0.010 to +0.040  0.300",
        "",
        "mix: models of the role opponent.",
        "a, best group in hindsight (an upper bound that uses the labels): 0.7000; with random "
        "groups 0.6500",
        "a, groups and known categories: adjusted Rand index 0.250 (1 is the same partition, 0 is "
        "chance)",
        "a leads.",
        "a costs more.",
        "c failed: no luck",
    ]


def test_in_brief_it_is_one_table_the_verdict_notes_and_failures(overview, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert as_text(overview.in_brief()).splitlines() == [
        "Made up: 1,234 test queries",
        "",
        " method             ndcg@10     oer     gain        p  models    ms",
        " ──────────────────────────────────────────────────────────────────",
        " a                   0.5600  0.4400  +0.0600  < 0.001       4  0.03",
        " mix                 0.5500  0.4500  +0.0500    0.040       4  0.03",
        " base_1 (baseline)   0.5000  0.5000                         1  0.03",
        " b                   0.4000  0.6000  -0.1000    0.200       1  0.03",
        "",
        "a leads.",
        "a costs more.",
        "c failed: no luck",
    ]


def test_on_paper_each_method_has_its_tests_and_its_opponent(overview):
    lines = as_markdown(overview.on_paper()).splitlines()
    head = ["method", "ndcg@10", "oer", "models", "CPU s", "ms", "gain", "p"]
    equal = ["opponent", "gain at equal cost", "p at equal cost"]
    assert lines[0] == f"| {' | '.join([*head, *equal])} |"
    assert lines[1] == f"| --- |{' ---: |' * 7} --- |{' ---: |' * 2}"
    costs = "4 | 1.3 | 0.03"
    assert lines[2] == (
        f"| a | 0.5600 | 0.4400 | {costs} | +0.0600 | < 0.001 | mix | +0.0100 | 0.300 |"
    )
    assert lines[3] == f"| mix | 0.5500 | 0.4500 | {costs} | +0.0500 | 0.040 |  |  |  |"
    latex = as_latex(overview.on_paper()).splitlines()
    assert latex[0] == r"\begin{tabular}{lrrrrrrrlrr}"
    assert latex[6] == r"base\_1 (baseline) & 0.5000 & 0.5000 & 1 & 1.3 & 0.03 &  &  &  &  &  \\"


def test_a_frame_has_the_numbers_of_the_first_measure(overview):
    row = overview.rows()[0]
    assert (row["method"], row["role"], row["oer"]) == ("a", "method", pytest.approx(0.44))
    assert (row["gain"], row["p"], row["opponent"]) == (0.06, 1e-5, "mix")
    assert (row["gain_at_equal_cost"], row["p_at_equal_cost"]) == (0.01, 0.3)
    assert overview.rows()[2]["gain"] is overview.rows()[2]["opponent"] is None


def test_without_opponents_and_tests_there_is_one_table_in_full(overview):
    alone = replace(overview, methods={"base_1": numbers("baseline", 0.5, 1)}, tested=[], bounds=[])
    assert [type(part).__name__ for part in alone.in_full()] == ["Table", *["str"] * 4]
