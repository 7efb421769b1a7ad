"""The tables against models that are trained here, one by one."""

from types import SimpleNamespace

import numpy as np
import pytest

from localrank.data import RankingDataset, folds, make_queries, write_letor
from localrank.evaluation import paired_test, tune
from localrank.evaluation.significance import corrected
from localrank.experiments import Reproduction, Setting
from localrank.experiments import pca_queries as module
from localrank.experiments.pca_queries import CS, MAP, MEASURES, NAMES, reproduce
from localrank.experiments.pca_queries import share_at_the_maximum as share
from localrank.experiments.text_collections import raw_features, read_collection
from localrank.rankers import RankSVM
from localrank.recipes import pca_queries
from localrank.representations import Scaled, TopScores

SEEDS = (3, 8)
FEW_CS = [0.01, 10.0]
SCALINGS = {"none": None, "standard": "standard"}


def rows(reproduction, title):
    (table,) = (table for table in reproduction.tables if table.title.startswith(title))
    return [list(row) for row in table.rows]


def values(parts, models, measure=MAP):
    """One value for each test query of all folds, a model for each fold."""
    pairs = zip(parts, models, strict=True)
    return np.concatenate([measure(fold.test, model.predict(fold.test)) for fold, model in pairs])


def means(parts, models):
    return {name: values(parts, models, m).mean() for name, m in zip(NAMES, MEASURES, strict=True)}


def tuned(ranker, grid, parts):
    return [tune(ranker, grid, train, measure=MAP, valid=valid) for train, valid in parts]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """A small one without validation queries, on queries of three types and a noisy feature."""
    dataset, _ = make_queries(
        45, n_documents=(8, 12), n_features=6, n_types=3, separation=1, random_state=8
    )
    noise = 10 * np.random.default_rng(0).normal(size=(dataset.n_documents, 1))
    features = np.hstack([dataset.features, noise])
    dataset = RankingDataset.from_arrays(features, dataset.labels, dataset.query_index)
    folder = tmp_path_factory.mktemp("data") / "ClueWeb09"
    folder.mkdir()
    for part in range(3):
        write_letor(dataset.select(range(part, 45, 3)), folder / f"S{part + 1}.txt")
    tests = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, few in (("CS", FEW_CS), ("CLUSTERS", [1, 2, 3]), ("HEIGHTS", [5])):
            patch.setattr(module, name, few)
        patch.setattr(module, "DECADES", FEW_CS)
        numbers = {"letor": {(module.LETOR, "map"): 0.5}}
        patch.setattr(module, "published_cells", lambda paper, *_: numbers.get(paper, {}))
        claim = Reproduction.claim

        def noted(self, says, measured, *given):
            tests[says] = given
            claim(self, says, measured, *given)

        patch.setattr(Reproduction, "claim", noted)
        setting = Setting(folder, seeds=SEEDS, n_jobs=1, say=lambda line: None)
        reproduction = reproduce(setting)
    parts = list(folds(folder, validation=False))
    # Every third training query validates, and does not train.
    split = []
    for fold in parts:
        places = np.arange(fold.train.n_queries)
        split.append((fold.train.select(places % 3 != 2), fold.train.select(places[2::3])))
    assert {len(set(t.query_ids) & set(v.query_ids)) for t, v in split} == {0}
    grid = {
        "grouping__n_clusters": [2, 3],
        "ranker__C": FEW_CS,
        "representation__scaling": [None, "standard"],
    }
    return SimpleNamespace(
        reproduction=reproduction,
        tests=tests,
        parts=parts,
        split=split,
        grid=grid,
        together=tuned(RankSVM(), {"C": FEW_CS}, split),
        local=[tuned(pca_queries(random_state=seed), grid, split) for seed in SEEDS],
    )


def test_methods_have_the_means_of_their_own_models(experiment):
    parts, together, local = experiment.parts, experiment.together, experiment.local
    one = means(parts, [search.best_estimator for search in together])
    several = [means(parts, [search.best_estimator for search in run]) for run in local]
    chosen = [
        means(
            parts,
            [
                max(pair, key=lambda search: search.path[search.best_index].mean).best_estimator
                for pair in zip(together, run, strict=True)
            ],
        )
        for run in local
    ]
    for _, name, *cells in rows(experiment.reproduction, "Section 4.2"):
        both, any_ = ([run[name] for run in runs] for runs in (several, chosen))
        expected = [one[name], np.mean(any_), np.std(any_, ddof=1)]
        expected += [np.mean(both), np.std(both, ddof=1), np.mean(both) - one[name]]
        assert cells[:6] == pytest.approx(expected, abs=1e-12)
    # No column can stand for another.
    assert len({round(run["map"], 6) for run in (*several, *chosen, one)}) == 5


def test_validation_queries_from_the_test_part_would_choose_other_models(experiment):
    """So the means above are evidence of where the validation queries come from."""
    third = [
        (train, fold.test.select(range(2, fold.test.n_queries, 3)))
        for (train, _), fold in zip(experiment.split, experiment.parts, strict=True)
    ]
    for seed, run in zip(SEEDS, experiment.local, strict=True):
        wrong = tuned(pca_queries(random_state=seed), experiment.grid, third)
        ours, theirs = (
            values(experiment.parts, [search.best_estimator for search in searches]).mean()
            for searches in (run, wrong)
        )
        assert abs(ours - theirs) > 1e-3


def test_claims_have_tests_of_map_over_queries_and_seeds(experiment):
    parts = experiment.parts
    first, second = experiment.tests.values()
    one = values(parts, [search.best_estimator for search in experiment.together])
    both = [values(parts, [search.best_estimator for search in run]) for run in experiment.local]
    expected = paired_test(both, one)
    assert [(test.p, test.mean_difference, test.n_runs) for test in first] == [
        (pytest.approx(expected.p), pytest.approx(expected.mean_difference), 2)
    ]
    reduced = corrected(
        {
            word: paired_test(
                *(
                    [of_variant(experiment, seed, scaling, 4, n_components=n) for seed in SEEDS]
                    for n in (0.95, 1.0)
                )
            )
            for word, scaling in SCALINGS.items()
        }
    )
    assert [test.p for test in second] == pytest.approx([test.p for test in reduced.values()])
    for (_, word, kept, every, gap, p, _), test in zip(
        rows(experiment.reproduction, "Section 5"), reduced.values(), strict=True
    ):
        assert (gap, p) == pytest.approx((test.mean_difference, test.p))
        assert kept - every == pytest.approx(gap)
        means_of = [
            np.mean(
                [of_variant(experiment, seed, SCALINGS[word], 4, n_components=n) for seed in SEEDS]
            )
            for n in (0.95, 1.0)
        ]
        assert [kept, every] == pytest.approx(means_of)
    # The reduction matters here, and differently with each scaling.
    gaps = [test.mean_difference for test in reduced.values()]
    assert 0 not in gaps
    assert gaps[0] != pytest.approx(gaps[1])


def of_variant(experiment, seed, scaling, n_clusters, **parameters):
    """Values of the method with the C of RankSVM in each fold."""
    models = [
        pca_queries(
            n_clusters,
            ranker=RankSVM(**search.best_parameters),
            scaling=scaling,
            random_state=seed,
            **parameters,
        ).fit(train)
        for (train, _), search in zip(experiment.split, experiment.together, strict=True)
    ]
    return values(experiment.parts, models)


def test_tables_of_parameters_have_models_with_these(experiment):
    def expected(*arguments, **parameters):
        runs = [of_variant(experiment, s, *arguments, **parameters).mean() for s in SEEDS]
        return [np.mean(runs), np.std(runs, ddof=1)]

    table = rows(experiment.reproduction, "MAP against the number of c")
    assert [n for _, n, *_ in table] == [1, 2, 3]
    one, *several = (row[2:] for row in table)
    searches = experiment.together
    mean = values(experiment.parts, [search.best_estimator for search in searches]).mean()
    assert one == pytest.approx([mean, 0, mean, 0, mean, mean], abs=1e-9)
    for n, row in enumerate(several, 2):
        assert row[:4] == pytest.approx([*expected(None, n), *expected("standard", n)], abs=1e-9)
        # No choice of a model is better than the clairvoyant one.
        assert row[4] > row[2]
    ((_, h, *found),) = rows(experiment.reproduction, "MAP against the number of h")
    assert h == 5
    assert found == pytest.approx(
        [*expected(None, 4, h=5), *expected("standard", 4, h=5)], abs=1e-9
    )


def test_the_baseline_of_letor_has_unscaled_features_and_means_of_folds(experiment):
    searches = tuned(RankSVM(scaling=None), {"C": FEW_CS}, experiment.split)
    expected = [
        MAP(fold.test, search.best_estimator.predict(fold.test)).mean()
        for fold, search in zip(experiment.parts, searches, strict=True)
    ]
    ((_, _, ours, published, _),) = rows(experiment.reproduction, "The baseline as LETOR")
    assert (ours, published) == (pytest.approx(np.mean(expected)), 0.5)


def test_components_are_counted_with_each_scaling(experiment):
    ((_, _, _, _, *found),) = rows(experiment.reproduction, "What the highest values carry")
    tests = [fold.test for fold in experiment.parts]
    every = RankingDataset.from_arrays(
        np.concatenate([t.features for t in tests]),
        qid=np.concatenate([t.query_index + 100 * i for i, t in enumerate(tests)]),
    )
    scaled = TopScores(scaling="standard").fit(every)
    within = Scaled(TopScores()).fit(every).representation_
    plain = TopScores().fit(every)
    assert found == [len(model.components_) for model in (plain, scaled, within)]
    assert len(set(found)) > 1


def test_values_at_the_maximum_are_counted_among_features_that_vary():
    # The highest of the first feature are 1, 1 and 0.5; the second never varies.
    X = [[1.0, 3.0], [0.0, 3.0], [1.0, 3.0], [1.0, 3.0], [0.5, 3.0]]
    dataset = RankingDataset.from_arrays(X, qid=[1, 1, 2, 2, 3])
    assert share(dataset, 1) == pytest.approx(2 / 3)
    # With two: 1 and 0, 1 and 1, 0.5.
    assert share(dataset, 2) == pytest.approx(3 / 5)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two collections of random words; relevant documents have a word of the query, mostly."""
    root = tmp_path_factory.mktemp("texts") / "text"
    rng = np.random.default_rng(1)
    for name, file in (("med", "MED"), ("cisi", "CISI")):
        (root / name).mkdir(parents=True)
        words = np.array([f"w{i}" for i in range(40)])
        documents = [rng.choice(words, rng.integers(5, 12)) for _ in range(130)]
        queries = [rng.choice(words, 2, replace=False) for _ in range(15)]
        texts = [" ".join(words) for words in documents]
        judged = [
            (q + 1, d + 1)
            for q, query in enumerate(queries)
            for d, document in enumerate(documents)
            if (np.isin(query, document).any() and rng.random() < 0.4) or rng.random() < 0.05
        ]
        for end, records in (("ALL", texts), ("QRY", [" ".join(q) for q in queries])):
            text = "".join(f".I {i + 1}\n.W\n{record}\n" for i, record in enumerate(records))
            (root / name / f"{file}.{end}").write_text(text)
        lines = "".join(f"{q} {d}\n" for q, d in judged)
        (root / name / f"{file}.REL").write_text(lines)
    return root


@pytest.mark.slow
def test_text_collections_are_ranked_by_their_raw_features(texts):
    setting = Setting(texts, quick=True, seeds=(0,), n_jobs=1, say=lambda line: None)
    reproduction = reproduce(setting)
    ranked = {row[0]: row for row in rows(reproduction, "Text collections")}
    assert list(ranked) == ["cisi", "med"]
    methods = rows(reproduction, "Section 4.2")
    for name, row in ranked.items():
        collection = read_collection(texts / name)
        parts = list(folds(raw_features(collection)))[:2]
        asked = np.concatenate([fold.test.query_ids for fold in parts])
        kept = sum(int((fold.test.labels > 0).sum()) for fold in parts)
        judged = sum(query + 1 in asked for query, _, _ in collection.judgments)
        assert kept < judged
        assert row == [name, 130, len(asked), judged, kept, kept / judged]
        both = {"ranker__C": CS, "representation__scaling": [None, "standard"]}
        for column, ranker, grid in (
            (2, RankSVM(), {"C": CS}),
            (5, pca_queries(2), both),
            (3, pca_queries(), both | {"grouping__n_clusters": [1, 2]}),
        ):
            searches = tuned(ranker, grid, [(fold.train, fold.valid) for fold in parts])
            expected = means(parts, [search.best_estimator for search in searches])
            by_measure = {r[1]: r[column] for r in methods if r[0] == name}
            assert by_measure == pytest.approx(expected)
    # One model for all is better somewhere, and is chosen.
    assert any(row[3] != row[5] for row in methods)
    assert sum("on med" in claim.says for claim in reproduction.claims) == 2


@pytest.mark.slow
def test_one_text_collection_goes_by_its_own_folder(texts):
    setting = Setting(texts / "med", quick=True, seeds=(0,), n_jobs=1, say=lambda line: None)
    reproduction = reproduce(setting)
    assert [row[0] for row in rows(reproduction, "Text collections")] == ["med"]
