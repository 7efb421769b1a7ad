"""`localrank evaluate --measures alpha_ndcg@20`."""

import json

import numpy as np
import pyndeval
import pytest

from localrank.cli._diversity import AlphaNDCG, alpha_ndcg_named

QUERIES = ("q1", "q2", "q3")


@pytest.fixture
def files(tmp_path):
    """A run without ties, and judgments of subtopics, as pairs of lines and files."""
    rng = np.random.default_rng(0)
    judgments = [
        (query, str(topic), f"d{number}", int(rng.integers(0, 2)))
        for query in QUERIES
        for number in range(12)
        for topic in range(3)
    ]
    ranked = [
        (query, f"d{number}", float(place))
        for query in QUERIES
        for place, number in enumerate(rng.permutation(15))
    ]
    (tmp_path / "run.trec").write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for q, d, s in ranked))
    (tmp_path / "diversity.qrels").write_text(
        "".join(" ".join(map(str, line)) + "\n" for line in judgments)
    )
    return judgments, ranked, (tmp_path / "run.trec", tmp_path / "diversity.qrels")


@pytest.mark.parametrize("alpha", [0.5, 0.3])
def test_values_are_those_of_ndeval(run, files, alpha):
    judgments, ranked, paths = files
    names = f"alpha_ndcg(alpha={alpha})@5,alpha-nDCG@20" if alpha != 0.5 else "alpha_ndcg@5"
    code, out, err = run("evaluate", *paths, "--measures", names, "--per-query", "--json")
    assert code == 0, err
    answers = pyndeval.ndeval(judgments, ranked, ["alpha-nDCG@5"], alpha=alpha)
    result = json.loads(out)
    first = next(iter(result["mean"]))
    for query in QUERIES:
        assert result["queries"][query][first] == pytest.approx(answers[query]["alpha-nDCG@5"])


def test_other_measures_take_the_highest_grade_for_a_subtopic(run, files):
    judgments, ranked, paths = files
    names = "p@5,alpha_ndcg@5,ndcg@5"
    _, out, err = run("evaluate", *paths, "--measures", names, "--json", "--explain")
    result = json.loads(out)
    assert list(result["mean"]) == names.split(",")
    relevant = {(q, d) for q, _, d, grade in judgments if grade}
    top = [(q, d) for q, d, score in ranked if score >= 10]
    assert result["mean"]["p@5"] == pytest.approx(sum(pair in relevant for pair in top) / 15)
    assert "A document gains 0.5^n" in result["explanations"]["alpha_ndcg@5"]
    assert "mean over all their orders" in result["explanations"]["alpha_ndcg@5"], err


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("alpha_ndcg", AlphaNDCG()),
        ("alpha_nDCG@20", AlphaNDCG(20)),
        ("alpha-nDCG@10", AlphaNDCG(10)),
        ("αnDCG(alpha=0.3, ties=input)@5", AlphaNDCG(5, 0.3, "input")),
        ("alpha_ndcg@5(empty=1)", AlphaNDCG(5, empty=1.0)),
        ("ndcg@10", None),
    ],
)
def test_names_have_the_settings(name, settings):
    found = alpha_ndcg_named(name)
    assert found == settings
    assert found is None or alpha_ndcg_named(str(found)) == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measures", "alpha_ndcg(beta=1)@5"], "the parameters alpha, ties and empty"),
        (["--measures", "alpha_ndcg(alpha=high)@5"], "alpha of alpha_ndcg must be a number"),
        (["--measures", "alpha_ndcg(alpha=2)@5"], "The 'alpha' argument of alpha_ndcg must"),
        (["--measures", "alpha_ndcg(ties=worst)"], "The 'ties' argument of alpha_ndcg must"),
        (["--measures", "alpha_ndcg@0"], "The 'cutoff' argument of alpha_ndcg must"),
        (["--measures", "alpha_ndcg", "--convention", "trec_eval"], "leave out --convention"),
        (["--measures", "alpha_ndcg", "--conventions", "all"], "needs judgments of subtopics"),
    ],
)
def test_wrong_settings_are_refused(run, files, options, message):
    code, _, err = run("evaluate", *files[2], *options)
    assert code != 0
    assert message in " ".join(err.split())


def test_judgments_without_subtopics_are_refused(run, files, tmp_path):
    trec, diversity = files[2]
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    code, _, err = run("evaluate", trec, tmp_path / "qrels.txt", "--measures", "alpha_ndcg@5")
    assert (code, "has one subtopic alone" in err) == (1, True)
    code, _, err = run("evaluate", trec, diversity, diversity, "--measures", "alpha_ndcg@5")
    assert (code, "needs one file" in err) == (1, True)


def test_queries_that_the_run_lacks_are_counted(run, files):
    trec, diversity = files[2]
    with diversity.open("a") as file:
        file.write("q9 1 d1 1\n")
    code, out, err = run("evaluate", trec, diversity, "--measures", "alpha_ndcg@5", "--json")
    assert (code, json.loads(out)["n_queries"]) == (0, 4)
    assert "1 of 4 queries are not in the run" in err


def test_runs_are_not_compared_by_subtopics(run, files, tmp_path):
    trec, diversity = files[2]
    code, _, err = run(
        "compare", "--runs", trec, trec, "--qrels", diversity, "--measures", "alpha_ndcg@5",
        "-o", tmp_path / "report",
    )  # fmt: skip
    assert (code, "needs judgments of subtopics" in " ".join(err.split())) == (1, True)
