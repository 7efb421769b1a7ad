"""Published numbers against a transcription by someone who had not seen `published.toml`.

A file in `transcription` holds one paper's tables as printed. Names stand in the first lines
(`head` of them, one by default) and at the left, parted by two spaces or more; `a/b` is two names,
`.` is none, `x` an empty cell, `a ± b` a value and its "deviation". `[names]` has our words for the
paper's.
"""

import copy
import re
import tomllib
from importlib.resources import files
from itertools import product
from math import isclose, nan
from pathlib import Path

import numpy as np
import pytest

from localrank import experiments
from localrank.experiments import EXPERIMENTS
from localrank.experiments.local_rank import COLLECTIONS, shares_won
from localrank.experiments.published_numbers import published, published_cells, source

NUMBERS = tomllib.loads((files(experiments) / "published.toml").read_text(encoding="utf-8"))
PAPERS = {path.stem: path for path in Path(__file__).parent.glob("transcription/*.toml")}


def printed_cells(table):
    """The numbers of a transcribed table, each with the set of its names."""
    lines = [re.split(r"\s{2,}", line) for line in table["cells"].strip("\n").split("\n")]
    n_head = table.get("head", 1)
    columns = list(zip(*(line[1:] for line in lines[:n_head]), strict=True))
    for row, *values in lines[n_head:]:
        for column, text in zip(columns, values, strict=True):
            names = {*table["place"], *row.split("/"), *column} - {"."}
            value, *deviation = text.split(" ± ")
            if value != "x":
                yield names, printed_number(value) * table.get("unit", 1)
            for one in deviation:
                yield {*names, "deviation"}, printed_number(one)


def printed_number(text):
    return float(text.replace(",", "").replace("k", "000"))


def transcribed(paper):
    """By their names in any order; a name can stand at the left there and on top here."""
    text = tomllib.loads(PAPERS[paper].read_text(encoding="utf-8"))
    numbers = {}
    for table in text["table"]:
        for names, value in printed_cells(table):
            key = frozenset(text["names"].get(name, name) for name in names)
            # A number that is printed twice is the same in both places.
            assert numbers.setdefault(key, value) == value, sorted(key)
    return numbers


def leaves(tree, path=()):
    """Places of the numbers in nested tables and lists."""
    if isinstance(tree, dict):
        return [leaf for key, branch in tree.items() for leaf in leaves(branch, (*path, key))]
    if isinstance(tree, list):
        return [leaf for i, branch in enumerate(tree) for leaf in leaves(branch, (*path, i))]
    return [] if isinstance(tree, str) else [path]


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def differences(ours, printed):
    """Names whose number is missing on one side or another one: none where all is well."""
    stored = {}
    for path in leaves(ours):
        key = frozenset(f"trial {k + 1}" if isinstance(k, int) else k for k in path)
        assert key not in stored, path
        stored[key] = at(ours, path)
    return [
        (sorted(key), stored.get(key), printed.get(key))
        for key in {**stored, **printed}
        if not isclose(stored.get(key, nan), printed.get(key, nan), rel_tol=1e-12)
    ]


def test_every_paper_is_transcribed():
    # LETOR's baselines are not of these papers.
    assert set(PAPERS) == {name for name, tree in NUMBERS.items() if leaves(tree)} - {"letor"}


@pytest.mark.parametrize("paper", PAPERS)
def test_published_numbers_are_those_of_the_paper(paper):
    assert differences(NUMBERS[paper], transcribed(paper)) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_a_changed_a_missing_and_an_added_number_are_noticed(paper):
    printed = transcribed(paper)
    for path in leaves(NUMBERS[paper]):
        changed = copy.deepcopy(NUMBERS[paper])
        parent, key = at(changed, path[:-1]), path[-1]
        parent[key] = parent[key] + 0.001
        assert len(differences(changed, printed)) == 1, path
        if isinstance(parent, dict):
            parent["another"] = parent.pop(key)
            assert len(differences(changed, printed)) == 2, path


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_has_a_source(experiment):
    assert len(source(experiment)) > 40


def test_a_collection_without_published_numbers_has_none():
    assert published("local-rank", "figure-11", "MQ2008") == {}


def test_parts_have_the_numbers_of_the_whole():
    part = published("adaptive-training", "table-2", "MQ2007-85")
    assert part == published("adaptive-training", "table-2", "MQ2007") != {}


def test_cells_are_the_numbers_by_all_their_names():
    cells = published_cells("local-rank", "figure-11", "OHSUMED")
    nested = published("local-rank", "figure-11", "OHSUMED")
    assert cells["KNN", "map"] == nested["KNN"]["map"]
    assert len(cells) == sum(len(row) for row in nested.values())
    assert published_cells("local-rank", "figure-5", "LETOR") == {("at rank 1",): 0.11}
    assert published_cells("local-rank", "figure-11", "MQ2008") == {}


def test_figure_11_is_complete():
    cells = {name: published("local-rank", "figure-11", name) for name in COLLECTIONS}
    assert (
        sum(len(by_measure) for by_method in cells.values() for by_measure in by_method.values())
        == 7 * 5 * 4 + 4 * 3
    )
    # "Overall LOCALRANK is the best 42 % of the times": the one share that its table bears out.
    assert shares_won(cells)["best"] == pytest.approx(0.42, abs=0.005)


def test_localrank_has_the_same_map_in_figures_9_and_10_or_a_better_one_in_hindsight():
    for name in ("TD2003", "HP2003", "HP2004"):
        tuned = published("local-rank", "figure-11", name)["LocalRank"]
        hindsight = published("local-rank", "figures-9-10", name)["principal components"]
        assert all(hindsight[measure] >= tuned[measure] for measure in hindsight)


@pytest.mark.parametrize("data", ["OHSUMED", "definition search"])
def test_table_6_averages_its_four_trials(data):
    table = published("multiple-hyperplanes", "table-6", data)
    for method, pair in product(("RankSVM", "MHR"), ("(1,2)", "(1,3)", "(2,3)")):
        average = table["average"][method][pair]
        assert np.mean(table[method][pair]) == pytest.approx(average, abs=1e-4)


@pytest.mark.parametrize("data", ["OHSUMED", "definition search"])
def test_table_7_adds_up(data):
    times = published("multiple-hyperplanes", "table-7", data)
    planes = [times[f"MHR, {pair}"] for pair in ("(1,2)", "(1,3)", "(2,3)")]
    assert times["MHR"] == pytest.approx(np.sum(planes, axis=0))
