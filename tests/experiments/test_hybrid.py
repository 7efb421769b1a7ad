"""Ways to fuse two lists, against values by loops, on made-up texts and lists."""

import json
from itertools import chain

import numpy as np
import pytest
from experiments.small_runs import small_run
from experiments.small_texts import made_up_encoder, write_hybrid
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from localrank import recipes
from localrank.data import RankingDataset, folds
from localrank.experiments import Reproduction, Setting, hybrid
from localrank.experiments._list_collections import list_collections
from localrank.experiments.hybrid import drawn, pooled_values
from localrank.fusion import (
    Fusion,
    NeighbourColumns,
    ReciprocalRankFusion,
    SmoothedFusion,
    lists_dataset,
)

SPLADE, TAS_B = "dl, splade", "dl, tas-b"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_hybrid(tmp_path_factory.mktemp("data") / "collections")


@pytest.fixture(scope="module")
def collections(folder):
    setting = Setting(folder, quick=True, seeds=(0,), n_jobs=1, say=lambda line: None)
    return {one.name: one for one in list_collections(setting, made_up_encoder)}


@pytest.fixture(scope="module")
def result(folder):
    return small_run("hybrid", folder)[0]


def rows_of(result, title):
    (table,) = (table for table in result.tables if table.title.startswith(title))
    return table.rows


def read(folder, names, one):
    """A list and the judgments, by splitting lines."""
    scores, grades = {}, {}
    for name in names:
        for line in (folder / "hybrid" / name / f"{one}.trec").read_text().splitlines():
            query, _, document, _, score, _ = line.split()
            scores.setdefault(query, {})[document] = float(score)
        for line in (folder / "hybrid" / name / "qrels.txt").read_text().splitlines():
            query, _, document, grade = line.split()
            grades.setdefault(query, {})[document] = int(grade)
    return scores, grades


def ndcg(grades, ranked):
    def dcg(values):
        return sum((2**grade - 1) / np.log2(i + 2) for i, grade in enumerate(values[:10]))

    ideal = dcg(sorted(grades.values(), reverse=True))
    return dcg([grades.get(document, 0) for document in ranked]) / ideal if ideal else 0.0


def average_precision(relevant, ranked):
    hits = [document in relevant for document in ranked]
    precisions = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    return sum(precisions) / len(relevant) if relevant else 0.0


def test_values_are_those_of_the_whole_search(folder, collections):
    """What neither list has is missed, grade 1 is not relevant for MAP, unjudged ones count."""
    one = collections[SPLADE]
    scores, grades = read(folder, ("dl19", "dl20"), "splade")
    ranked = {q: sorted(found, key=lambda d: -found[d]) for q, found in scores.items()}
    ours = {
        key: one.values(one.of_list("dense"), measure) for key, measure in one.measures().items()
    }
    unjudged = one.unjudged(one.of_list("dense"))
    for place, name in enumerate(one.query_ids):
        query = name.removeprefix("dl-")
        judged, found = grades[query], ranked[query]
        relevant = {document for document, grade in judged.items() if grade > 1}
        assert ours["ndcg@10"][place] == pytest.approx(ndcg(judged, found))
        assert ours["map"][place] == pytest.approx(average_precision(relevant, found))
        share = np.mean([document not in judged for document in found[:10]])
        assert unjudged[place] == pytest.approx(share)
    assert any(d not in ranked[q] for q, judged in grades.items() for d in judged if judged[d] > 1)


def test_a_fusion_is_measured_on_all_that_either_list_has(folder, collections):
    one = collections[TAS_B]
    lists = {name: read(folder, ("dl19", "dl20"), name)[0] for name in ("bm25", "tas-b")}
    _, grades = read(folder, ("dl19", "dl20"), "bm25")
    data = lists_dataset(lists, grades)
    scores = Fusion([0.25, 0.75]).fit(data).predict(data)
    ours = one.values(Fusion([0.25, 0.75]).fit(one.dataset).predict(one.dataset), hybrid.NDCG_10)
    for place, name in enumerate(one.query_ids):
        query = name.removeprefix("dl-")
        rows = np.flatnonzero(data.query_ids[data.query_index] == query)
        order = rows[np.argsort(-scores[rows], kind="stable")]
        expected = ndcg(grades[query], data.document_ids[order].tolist())
        assert ours[place] == pytest.approx(expected)


def test_texts_are_searched_by_words_and_by_vectors(collections):
    one = collections["med"]
    data = one.dataset
    assert data.has_vectors
    assert data.feature_names[0] == "words.score"
    # All texts have vectors, and there are fewer than a hundred: the union is everything.
    assert set(np.diff(data.offsets)) == {40}
    assert (one.of_list("dense") > -np.inf).all()
    assert not (one.of_list("words") > -np.inf).all()
    assert not collections["covid"].dataset.has_vectors


def test_a_missing_collection_is_left_out_and_none_at_all_is_told(folder, tmp_path):
    (tmp_path / "hybrid").mkdir()
    (tmp_path / "hybrid" / "covid").symlink_to(folder / "hybrid" / "covid")
    found = list_collections(Setting(tmp_path, say=lambda line: None), made_up_encoder)
    assert [one.name for one in found] == ["covid"]
    with pytest.raises(ValueError, match="has no collections"):
        list_collections(Setting(tmp_path / "hybrid"), made_up_encoder)


def test_claims_of_texts_are_read_from_a_corpus(tmp_path):
    path = tmp_path / "hybrid" / "scifact"
    path.mkdir(parents=True)
    records = [{"id": f"d{i}", "title": "a title", "text": f"words of {i}"} for i in range(6)]
    (path / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (path / "queries.tsv").write_text("".join(f"{i}\twords of {i}\n" for i in range(5)))
    (path / "qrels.txt").write_text("".join(f"{i} 0 d{i} 1\n" for i in range(5)))
    (one,) = list_collections(Setting(tmp_path, say=lambda line: None), made_up_encoder)
    assert one.name == "scifact"
    assert one.query_ids == [f"scifact-{i}" for i in range(5)]
    assert_allclose(one.values(one.of_list("words"), hybrid.MAP), 1)


def test_a_query_of_two_pairs_of_lists_counts_once_with_its_mean(collections):
    several = [collections[name] for name in (SPLADE, TAS_B, "covid")]
    values = [
        np.full(one.dataset.n_queries, value) for one, value in zip(several, (1, 3, 7), strict=True)
    ]
    pooled = pooled_values(several, values)
    assert sorted(pooled.tolist()) == [2.0] * 30 + [7.0] * 15
    assert pooled_values(several, [np.array([one] * 2) for one in values]).shape == (2, 45)


def test_what_was_not_tested_stays_so(collections):
    several = [collections[name] for name in (SPLADE, TAS_B)]
    values = [np.where(np.arange(30) < 12, 1.0, np.nan)] * 2
    assert np.isnan(pooled_values(several, values)).sum() == 18


def test_draws_are_of_the_training_queries_of_their_fold(collections):
    parts = collections[SPLADE].folds(None)
    first, again, other = (drawn(parts, 10, draw) for draw in (0, 0, 1))
    for fold, one, same, another in zip(parts, first, again, other, strict=True):
        ids = set(one.train.query_ids.tolist())
        assert len(ids) == 10
        assert ids <= set(fold.train.query_ids.tolist())
        assert ids.isdisjoint(one.test.query_ids.tolist())
        assert ids == set(same.train.query_ids.tolist())
        assert ids != set(another.train.query_ids.tolist())


def test_every_query_is_tested_once_by_models_of_other_queries(collections):
    one = collections[SPLADE]
    parts = one.folds(None)
    assert sorted(chain(*(fold.test.query_ids.tolist() for fold in parts))) == sorted(one.query_ids)
    for fold in parts:
        assert set(fold.train.query_ids.tolist()).isdisjoint(fold.test.query_ids.tolist())


TREES = {"n_trees": 10, "min_leaf_documents": 5, "random_state": 0}


@pytest.mark.parametrize(
    ("name", "ranker"),
    [
        ("reciprocal rank fusion (60)", ReciprocalRankFusion(60)),
        ("average of z", Fusion("equal")),
        ("tuned weight", Fusion()),
        ("smoothed fusion", SmoothedFusion()),
        ("best on the lists' columns", recipes.best(**TREES)),
        ("best with neighbour columns", NeighbourColumns(recipes.best(**TREES))),
        ("hybrid", recipes.hybrid(**TREES, n_folds=2)),
        ("words alone", None),
        ("vectors alone", None),
    ],
)
def test_methods_have_the_values_of_models_trained_here(result, collections, name, ranker):
    one = collections[SPLADE]
    values = {"ndcg@10": [], "map": []}
    for fold in list(folds(one.dataset, validation=False))[:2]:
        scores = np.full(one.dataset.n_documents, np.nan)
        tested = np.isin(one.dataset.query_ids, fold.test.query_ids)
        rows = tested[one.dataset.query_index]
        if ranker is None:
            scores[rows] = one.of_list("words" if name == "words alone" else "dense")[rows]
        else:
            model = ranker.fit(fold.train)
            scores[rows] = model.predict(one.dataset.select(np.flatnonzero(tested)))
        for key, measure in one.measures().items():
            values[key].append(one.values(scores, measure))
    (row,) = (row for row in rows_of(result, "Every method") if row[:2] == [SPLADE, name])
    expected = [np.nanmean(np.concatenate(values[key])) for key in ("ndcg@10", "map")]
    assert_allclose(row[2:4], expected, rtol=1e-6)


def test_without_vectors_smoothing_is_the_tuned_weight(result):
    rows = {row[1]: row[2:] for row in rows_of(result, "Every method") if row[0] == "covid"}
    assert rows["smoothed fusion"] == rows["tuned weight"]
    assert rows["best with neighbour columns"] == rows["best on the lists' columns"]


def test_every_figure_has_its_share_of_unjudged_documents(result):
    for title in ("Every method", "Few judged queries", "Trained on other collections"):
        for row in rows_of(result, title):
            assert 0 <= row[-1] <= 1
            assert all(0 < value < 1 for value in row[-3:-1])


def test_hindsight_stands_beside_its_control(result):
    rows = rows_of(result, "A weight for each query")
    assert [row[1] for row in rows[:3]] == ["one weight", "best weight of each query", "control"]
    for one, best, control in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        for place in (2, 3):
            assert min(best[place], control[place]) >= one[place]


def test_a_model_from_elsewhere_has_not_seen_the_queries(collections, monkeypatch):
    """DL's other pair of lists has the same judged queries: it does not teach."""
    seen = []

    def run(self, methods, parts, **options):
        seen.extend((fold.train.query_ids.tolist(), fold.test.query_ids.tolist()) for fold in parts)
        raise KeyboardInterrupt

    monkeypatch.setattr(Setting, "run", run)
    several = [collections[name] for name in (SPLADE, "med", TAS_B)]
    nothing = [dict.fromkeys([("ndcg@10", hybrid.RRF)], np.zeros(30))] * 3
    setting = Setting(collections, quick=True, seeds=(0,), say=lambda line: None)
    with pytest.raises(KeyboardInterrupt):
        hybrid._transfer(None, setting, several, nothing)
    ((train, test),) = seen
    assert {query.partition("-")[0] for query in train} == {"med"}
    assert {query.partition("-")[0] for query in test} == {"dl"}


def test_documents_keep_their_rows(collections):
    one = collections["npl"]
    assert isinstance(one.dataset, RankingDataset)
    rows = one._rows
    assert (one.together.dataset.document_ids[rows] == one.dataset.document_ids).all()


def test_finished_work_of_several_collections_is_not_done_again(collections, tmp_path):
    lines = []
    setting = Setting(tmp_path, quick=True, seeds=(0,), n_jobs=1, store=tmp_path, say=lines.append)

    def values():
        return [
            hybrid._trained(
                setting, one, {hybrid.TUNED: Fusion()}, drawn(one.folds(2), 5, draw), kind
            )
            for one in collections.values()
            for draw, kind in ((0, "draw 0"), (1, "draw 1"))
        ]

    first = values()
    assert len(lines) == 2 * 2 * len(collections)
    for one, again in zip(first, values(), strict=True):
        for key in one:
            assert_allclose(again[key], one[key])
    assert len(lines) == 2 * 2 * len(collections)


def test_with_few_judged_queries_the_opponent_is_the_better_one(result):
    places = {"ndcg@10": 3, "map": 4}
    rows = rows_of(result, "Few judged queries")
    values = {(row[1], row[2], key): row[at] for row in rows for key, at in places.items()}
    against = rows_of(result, "hybrid with few judged queries")
    assert len(against) == 2 * (len({row[1] for row in rows}) - 1)
    for _, group, key, other, gain, *_ in against:
        both = [values[group, name, key] for name in ("average of z", "tuned weight")]
        assert values[group, other, key] == max(both)
        assert gain == pytest.approx(values[group, "hybrid", key] - max(both))


def test_the_mean_of_the_collections_counts_each_once(result):
    rows = rows_of(result, "Every method")
    groups = {row[0] for row in rows} - {"all queries", "mean of the collections"}
    for name in ("tuned weight", "hybrid"):
        of_groups = [row[2:] for row in rows if row[0] in groups and row[1] == name]
        (mean,) = (row[2:] for row in rows if row[:2] == ["mean of the collections", name])
        assert len(of_groups) == len(groups)
        assert_allclose(mean, np.mean(of_groups, axis=0))


def test_passages_that_no_list_has_are_not_encoded(tmp_path):
    folder = write_hybrid(tmp_path / "collections")
    path = folder / "hybrid" / "dl19" / "passages.jsonl"
    with path.open("a") as file:
        file.write(json.dumps({"id": "nobody", "text": "of no list"}) + "\n")
    lines = (
        path.read_text().splitlines()
        + (folder / "hybrid" / "dl20" / "passages.jsonl").read_text().splitlines()
    )
    told = []
    (folder / "text").rename(tmp_path / "away")
    list_collections(Setting(folder, say=told.append), made_up_encoder)
    (line,) = (line for line in told if "encoded" in line)
    assert int(line.split()[0]) < len(lines)
    listed = {
        row.split()[2]
        for name in ("dl19", "dl20")
        for one in ("bm25", "splade", "tas-b")
        for row in (folder / "hybrid" / name / f"{one}.trec").read_text().splitlines()
    }
    assert int(line.split()[0]) == len(listed)


NAMES = [
    "words alone",
    "vectors alone",
    "reciprocal rank fusion (60)",
    "average of z",
    "tuned weight",
    "smoothed fusion",
    "hybrid",
    "best on the lists' columns",
    "best with neighbour columns",
]


@pytest.fixture
def made_up(collections):
    """Collections, and values of each method that differ by chance."""
    several = [collections[name] for name in (SPLADE, TAS_B, "med")]
    rng = np.random.default_rng(0)
    values = []
    for one in several:
        ease = rng.random(one.dataset.n_queries)
        values.append(
            {
                (key, name): 0.5 * ease + 0.02 * place + 0.2 * rng.random(len(ease))
                for key in ("ndcg@10", "map", "unjudged")
                for place, name in enumerate(NAMES)
            }
        )
    return several, values


def over_all(several, values, key):
    """By query: the mean over the collections that have it."""
    found = {}
    for one, of_one in zip(several, values, strict=True):
        for query, value in zip(one.query_ids, of_one[key], strict=True):
            found.setdefault(query, []).append(value)
    return np.array([np.mean(found[query]) for query in sorted(found)])


def by_holm(ps):
    """Each p times the number of those that are not smaller, never below a smaller one."""
    result, last = [None] * len(ps), 0.0
    for place, number in enumerate(np.argsort(ps, kind="stable")):
        last = max(last, min(1.0, ps[number] * (len(ps) - place)))
        result[number] = last
    return result


def told(differences):
    ps = by_holm([ttest_1samp(one, 0).pvalue for one in differences])
    return [
        f"{one.mean():+.4f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}"
        for one, p in zip(differences, ps, strict=True)
    ]


def check_claim(reproduction, says, differences):
    """A claim on all queries: one family of two measures."""
    (claim,) = (claim for claim in reproduction.claims if claim.says == says)
    ndcg, mean = told(differences)
    assert claim.measured == f"ndcg@10 {ndcg}; map {mean}"


def test_claims_are_paired_tests_of_the_methods_they_name(made_up):
    several, values = made_up
    reproduction = Reproduction("hybrid", "made up", claimant="the expectation")
    hybrid._fusions(reproduction, several, values)
    for first, second in [
        ("hybrid", "tuned weight"),
        ("hybrid", "reciprocal rank fusion (60)"),
        ("hybrid", "best with neighbour columns"),
        ("smoothed fusion", "tuned weight"),
        ("best with neighbour columns", "tuned weight"),
        ("best with neighbour columns", "best on the lists' columns"),
    ]:
        differences = [
            over_all(several, values, (key, first)) - over_all(several, values, (key, second))
            for key in ("ndcg@10", "map")
        ]
        check_claim(reproduction, f"{first} ranks better than {second}", differences)
    (rows,) = (each.rows for each in reproduction.tables if each.title.startswith("hybrid against"))
    differences = [
        of_one[key, "hybrid"] - of_one[key, "tuned weight"]
        for of_one in values
        for key in ("ndcg@10", "map")
    ]
    assert [row[0] for row in rows[::2]] == [one.name for one in several]
    assert_allclose([row[2] for row in rows], [one.mean() for one in differences])
    ps = by_holm([ttest_1samp(one, 0).pvalue for one in differences])
    assert_allclose([row[3] for row in rows], ps)
    won = [f"{(one > 0).sum()}/0/{(one < 0).sum()}" for one in differences]
    assert [row[4] for row in rows] == won


def test_tables_have_the_means_of_the_methods_they_name(made_up):
    several, values = made_up
    reproduction = Reproduction("hybrid", "made up", claimant="the expectation")
    hybrid._fusions(reproduction, several, values)
    (rows,) = (each.rows for each in reproduction.tables if each.title == "Every method")
    shown = {tuple(row[:2]): row[2:] for row in rows}
    assert len(shown) == len(NAMES) * 5
    for name in NAMES:
        keys = [(key, name) for key in ("ndcg@10", "map", "unjudged")]
        for one, of_one in zip(several, values, strict=True):
            assert_allclose(shown[one.name, name], [of_one[key].mean() for key in keys])
        pooled = [over_all(several, values, key).mean() for key in keys]
        assert_allclose(shown["all queries", name], pooled)


def test_claims_of_few_judged_queries_are_tests_of_the_methods_they_name(made_up, monkeypatch):
    # The third has no more than ten queries to train on.
    several, values = (of_each[:2] for of_each in made_up)
    names = {"average of z", "tuned weight", "smoothed fusion", "hybrid"}
    asked = []

    def trained(setting, collection, rankers, parts, kind):
        assert set(rankers) == names
        asked.append([fold.train.n_queries for fold in parts])
        of_one = values[several.index(collection)]
        return {key: value for key, value in of_one.items() if key[1] in names}

    monkeypatch.setattr(hybrid, "_trained", trained)
    reproduction = Reproduction("hybrid", "made up", claimant="the expectation")
    setting = Setting(several[0], quick=True, seeds=(0,), say=lambda line: None)
    hybrid._few_judged(reproduction, setting, made_up[0])
    assert asked == [[10] * len(several[0].folds(setting.n_folds))] * len(several)
    for other in ("average of z", "tuned weight"):
        differences = [
            over_all(several, values, (key, "hybrid")) - over_all(several, values, (key, other))
            for key in ("ndcg@10", "map")
        ]
        says = f"hybrid ranks better than {other} with 10 judged queries"
        check_claim(reproduction, says, differences)
    rows = reproduction.tables[-1].rows
    differences = []
    for of_one in values:
        for key in ("ndcg@10", "map"):
            average, tuned = of_one[key, "average of z"], of_one[key, "tuned weight"]
            better = average if average.mean() > tuned.mean() else tuned
            differences.append(of_one[key, "hybrid"] - better)
    assert_allclose([row[4] for row in rows], [one.mean() for one in differences])
    ps = by_holm([ttest_1samp(one, 0).pvalue for one in differences])
    assert_allclose([row[5] for row in rows], ps)


def test_claims_of_models_from_elsewhere_are_tests_of_the_methods_they_name(made_up, monkeypatch):
    several, values = made_up
    ours = ("best on the lists' columns", "best with neighbour columns")

    def trained(setting, collection, rankers, parts, kind):
        of_one = values[several.index(collection)]
        return {key: value + 0.3 for key, value in of_one.items() if key[1] in ours}

    monkeypatch.setattr(hybrid, "_trained", trained)
    reproduction = Reproduction("hybrid", "made up", claimant="the expectation")
    setting = Setting(several[0], quick=True, seeds=(0,), say=lambda line: None)
    hybrid._transfer(reproduction, setting, several, values)
    for other in ("reciprocal rank fusion (60)", "average of z"):
        differences = [
            over_all(several, values, (key, ours[1]))
            + 0.3
            - over_all(several, values, (key, other))
            for key in ("ndcg@10", "map")
        ]
        says = (
            f"best with neighbour columns, trained on other collections, ranks better than {other}"
        )
        check_claim(reproduction, says, differences)
