import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from recorder import Recorder
from sklearn.base import clone

from localrank.data import Fold, RankingDataset, folds, make_queries
from localrank.evaluation import clairvoyant_bound, compare, comparison, paired_tests, tune
from localrank.evaluation.comparison import count_models, fingerprint, verdict
from localrank.evaluation.runs import Run, Store
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import BestFeature, Ensemble, LambdaMART, Quadratic, RankSVM
from localrank.recipes import local_rank, query_neighbours

MEASURES = ["ndcg@10", "map"]


@pytest.fixture(scope="module")
def parts():
    dataset, _ = make_queries(90, n_documents=(6, 15), n_features=8, separation=1, random_state=2)
    return list(folds(dataset, 3))


@pytest.fixture
def methods():
    return {
        "rank-svm": RankSVM(),
        "best-feature": BestFeature(),
        "local-rank": local_rank(3, ranker=RankSVM()),
        "ensemble": Ensemble([RankSVM(0.1), RankSVM(1.0)]),
    }


@pytest.fixture
def found(parts, methods):
    return compare(methods, parts, MEASURES, baseline="rank-svm", ensemble="ensemble", n_controls=2)


def test_every_method_is_trained_and_scored_on_the_same_queries(parts, methods, found):
    for name, ranker in methods.items():
        expected = [
            clone(ranker).fit(fold.train, valid=fold.valid).predict(fold.test) for fold in parts
        ]
        assert_array_equal(found.methods[name].scores, np.concatenate(expected))
        values = np.concatenate(
            [NDCG(10)(fold.test, scores) for fold, scores in zip(parts, expected, strict=True)]
        )
        assert_array_equal(found.methods[name].values[NDCG(10)], values)
    assert found.test.n_queries == 90
    assert found.fold_names == ["Fold1"] * 30 + ["Fold2"] * 30 + ["Fold3"] * 30


def test_differences_are_paired_tests_corrected_for_all_methods(found):
    values = {
        name: result.values[AveragePrecision()]
        for name, result in found.methods.items()
        if name != "rank-svm"
    }
    expected = paired_tests(values, found.methods["rank-svm"].values[AveragePrecision()])
    for name, test in expected.items():
        assert found.methods[name].against_baseline[AveragePrecision()] == test
    assert found.methods["rank-svm"].against_baseline == {}
    assert found.methods["ensemble"].against_ensemble == {}
    assert set(found.methods["rank-svm"].against_ensemble) == {NDCG(10), AveragePrecision()}


def test_costs_are_told(found):
    facts = found.methods["local-rank"].runs[0].facts
    assert facts["n_models"] == 3
    assert facts["train_seconds"] > 0
    assert facts["predict_seconds"] > 0
    assert facts["model_bytes"] > 1000
    assert found.methods["ensemble"].runs[0].facts["n_models"] == 2


def test_training_and_scoring_are_timed_apart(parts, monkeypatch):
    ticks = iter([100.0, 110.0, 113.0])
    monkeypatch.setattr(comparison, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    found = compare({"a": RankSVM()}, parts[:1], MEASURES, baseline="a")
    facts = found.methods["a"].runs[0].facts
    assert (facts["train_seconds"], facts["predict_seconds"]) == (10.0, 3.0)


def test_a_query_belongs_to_the_group_that_weighs_most(parts, found):
    fold = parts[1]
    local = local_rank(3, ranker=RankSVM()).fit(fold.train)
    weights = local.selector_.weights(fold.test, local.models_)
    groups = found.methods["local-rank"].runs[1].groups
    assert_array_equal(groups, weights.argmax(axis=1))
    assert found.methods["rank-svm"].runs[1].groups.size == 0


def test_only_a_few_groups_and_more_than_one_have_a_bound(parts):
    methods = {str(n): local_rank(n, ranker=RankSVM()) for n in (1, 2, 20, 21)}
    found = compare(methods, parts[:1], MEASURES, baseline="1")
    facts = {int(name): result.runs[0].facts for name, result in found.methods.items()}
    assert [facts[n]["n_models"] for n in facts] == [1, 2, 20, 21]
    assert [n for n in facts if "bound" in facts[n]] == [2, 20]
    assert [n for n in facts if "map" in facts[n]] == [1, 2, 20]
    assert len(facts[2]["bound"]["control"]) == 3


def test_every_method_gets_the_jobs_and_validation_queries(parts, monkeypatch):
    given = []

    def spy(*arguments, **options):
        given.append(options["n_jobs"])
        return tune(*arguments, **options)

    monkeypatch.setattr(comparison, "tune", spy)
    Recorder.seen = []
    methods = {"rank-svm": RankSVM(), "recorder": Recorder(n_jobs=7)}
    grids = {"rank-svm": {"C": [0.1, 1.0]}}
    compare(methods, parts[:1], MEASURES, baseline="rank-svm", grids=grids, n_jobs=2)
    assert given == [2]
    assert methods["recorder"].n_jobs == 7
    assert not hasattr(methods["rank-svm"], "coef_")
    ((_, _, valid, n_jobs),) = Recorder.seen
    assert (valid, n_jobs) == (parts[0].valid, 2)


def test_bounds_of_groups_come_with_their_control(parts, found):
    bound = clairvoyant_bound(
        local_rank(3, ranker=RankSVM()), parts[1].train, parts[1].test, "ndcg@10", n_controls=2
    )
    facts = found.methods["local-rank"].runs[1].facts["bound"]
    assert_array_equal(facts["clairvoyant"], bound.values)
    assert_array_equal(facts["control"], bound.control)
    assert "bound" not in found.methods["rank-svm"].runs[0].facts


def test_tuning_chooses_in_each_fold_by_its_validation_queries(parts):
    grid = {"C": [1e-4, 1.0]}
    found = compare(
        {"rank-svm": RankSVM()}, parts, ["map"], baseline="rank-svm", grids={"rank-svm": grid}
    )
    for fold, run in zip(parts, found.methods["rank-svm"].runs, strict=True):
        tuning = tune(RankSVM(), grid, fold.train, measure="map", valid=fold.valid)
        assert run.facts["chosen"] == {"C": repr(tuning.best_parameters["C"])}
        assert run.facts["path"] == tuning.table()
        fitted = RankSVM(**tuning.best_parameters).fit(fold.train)
        assert_array_equal(run.scores, fitted.predict(fold.test))


def test_a_method_that_fails_is_named_and_the_rest_goes_on(parts):
    methods = {"rank-svm": RankSVM(), "broken": RankSVM(-1.0), "best-feature": BestFeature()}
    found = compare(methods, parts, MEASURES, baseline="rank-svm")
    assert "'C' parameter of RankSVM" in found.methods["broken"].failed
    assert set(found.finished) == {"rank-svm", "best-feature"}
    assert found.methods["best-feature"].against_baseline
    assert found.verdict().startswith("By ndcg@10 on 90 test queries, ")


def test_a_baseline_that_fails_is_an_error(parts):
    lines = []
    methods = {"broken": RankSVM(-1.0), "rank-svm": RankSVM()}
    with pytest.raises(ValueError, match="The baseline broken failed: ValueError: The 'C'"):
        compare(methods, parts, MEASURES, baseline="broken", say=lines.append)
    # At once, before others are trained for nothing.
    assert len(lines) == 1


def test_opponents_must_be_among_the_methods(parts):
    with pytest.raises(ValueError, match="'gbrt' is not among the methods: rank-svm"):
        compare({"rank-svm": RankSVM()}, parts, MEASURES, baseline="gbrt")
    with pytest.raises(ValueError, match="'mix' is not among the methods: rank-svm"):
        compare({"rank-svm": RankSVM()}, parts, MEASURES, baseline="rank-svm", ensemble="mix")


def test_an_ensemble_that_fails_is_no_opponent(parts):
    methods = {"rank-svm": RankSVM(), "broken": RankSVM(-1.0), "best-feature": BestFeature()}
    found = compare(methods, parts[:1], MEASURES, baseline="rank-svm", ensemble="broken")
    assert all(result.against_ensemble == {} for result in found.methods.values())
    assert "At equal cost" not in found.verdict()


def test_finished_work_is_not_done_again(parts, methods, tmp_path):
    lines = []
    options = {"baseline": "rank-svm", "n_controls": 1, "store": tmp_path, "say": lines.append}
    first = compare(methods, parts, MEASURES, **options)
    assert len(lines) == 12
    second = compare(methods, parts, MEASURES, **options)
    assert len(lines) == 12
    for name in methods:
        assert_array_equal(second.methods[name].scores, first.methods[name].scores)
        assert second.methods[name].runs[0].facts == json.loads(
            json.dumps(first.methods[name].runs[0].facts)
        )


def test_interrupted_work_goes_on_to_the_same_numbers(parts, methods, tmp_path):
    class StopError(Exception):
        pass

    def stop(text):
        if text.startswith("Fold2: best-feature"):
            raise StopError

    options = {"baseline": "rank-svm", "n_controls": 0}
    with pytest.raises(StopError):
        compare(methods, parts, MEASURES, store=tmp_path, say=stop, **options)
    lines = []
    resumed = compare(methods, parts, MEASURES, store=tmp_path, say=lines.append, **options)
    assert len(lines) == 6
    whole = compare(methods, parts, MEASURES, **options)
    for name in methods:
        assert_array_equal(resumed.methods[name].scores, whole.methods[name].scores)


@pytest.mark.parametrize(
    "change",
    [
        {"n_controls": 2},
        {"measures": ["map", "ndcg@10"]},
        {"grids": {"local": {"grouping__n_clusters": [2]}}},
    ],
)
def test_other_options_decide_whether_work_is_done_again(parts, tmp_path, change):
    lines = []
    options = {"baseline": "local", "n_controls": 1, "store": tmp_path, "say": lines.append}
    for changed in ({}, {}, change):
        given = {"measures": MEASURES, **options, **changed}
        compare({"local": local_rank(2, ranker=RankSVM())}, parts[:1], **given)
    assert len(lines) == 2


@pytest.mark.parametrize("change", ["parameter", "data", "damage"])
def test_what_changed_is_done_again(parts, tmp_path, change):
    lines = []
    options = {"baseline": "rank-svm", "store": tmp_path, "say": lines.append}
    compare({"rank-svm": RankSVM()}, parts[:1], MEASURES, **options)
    ranker, again = RankSVM(), parts[:1]
    if change == "parameter":
        ranker = RankSVM(0.5)
    elif change == "data":
        again = parts[1:2]
        (tmp_path / "Fold1").rename(tmp_path / "Fold2")
    else:
        file = tmp_path / "Fold1" / "rank-svm.npz"
        file.write_bytes(file.read_bytes()[:-100])
    found = compare({"rank-svm": ranker}, again, MEASURES, **options)
    assert len(lines) == 2
    expected = ranker.fit(again[0].train).predict(again[0].test)
    assert_array_equal(found.methods["rank-svm"].scores, expected)


def test_members_of_an_ensemble_decide_whether_work_is_done_again(parts, tmp_path):
    lines = []
    options = {"baseline": "ensemble", "store": tmp_path, "say": lines.append}

    def trained(seed: int, n_jobs: int = 1) -> int:
        members = [LambdaMART(3, random_state=i, n_jobs=n_jobs) for i in range(30)]
        members[15].set_params(random_state=seed)
        compare({"ensemble": Ensemble([Ensemble(members)])}, parts[:1], MEASURES, **options)
        return len(lines)

    assert [trained(15), trained(15), trained(99), trained(99, n_jobs=2)] == [1, 1, 2, 2]


def test_a_failure_is_tried_again(parts, tmp_path):
    lines = []
    methods = {"rank-svm": RankSVM(), "broken": RankSVM(-1.0)}
    for _ in range(2):
        compare(methods, parts[:1], MEASURES, baseline="rank-svm", store=tmp_path, say=lines.append)
    assert [line.split(":")[1].split()[0] for line in lines] == ["rank-svm", "broken", "broken"]


def test_the_number_of_jobs_changes_nothing(parts):
    methods = {"trees": LambdaMART(10, min_leaf_documents=5), "local": local_rank(2)}
    one, two = (
        compare(methods, parts[:1], MEASURES, baseline="trees", n_jobs=jobs) for jobs in (1, 2)
    )
    for name in methods:
        assert_array_equal(one.methods[name].scores, two.methods[name].scores)
        assert one.methods[name].against_baseline == two.methods[name].against_baseline


def test_scattered_rows_are_scored_query_by_query(parts):
    fold = parts[0]
    order = np.random.default_rng(0).permutation(fold.test.n_documents)
    mixed = RankingDataset.from_arrays(
        fold.test.features[order],
        fold.test.labels[order],
        fold.test.query_ids[fold.test.query_index[order]],
        feature_names=fold.test.feature_names,
    )
    scattered = [type(fold)(fold.name, fold.train, fold.valid, mixed)]
    plain = compare({"a": RankSVM()}, [fold], MEASURES, baseline="a")
    found = compare({"a": RankSVM()}, scattered, MEASURES, baseline="a")
    assert found.methods["a"].means()[NDCG(10)] == pytest.approx(
        plain.methods["a"].means()[NDCG(10)]
    )


def test_the_verdict_names_what_is_better_and_against_what(parts, found):
    assert found.verdict().startswith("By ndcg@10 on 90 test queries, ")
    assert "better than rank-svm" in found.verdict()
    assert "At equal cost, no method is significantly better than the ensemble" in found.verdict()
    alone = compare({"a": RankSVM()}, parts[:1], MEASURES, baseline="a")
    assert alone.verdict() == "There is nothing to compare with a."


def judged(**methods):
    """The verdict by (p, corrected p, gain) against baseline and ensemble."""
    first, second = NDCG(10), AveragePrecision()

    def against(facts):
        if facts is None:
            return {}
        p, corrected, gain = facts
        other = SimpleNamespace(p_value=1.0, corrected_p_value=1.0, mean_difference=0.0)
        test = SimpleNamespace(p_value=p, corrected_p_value=corrected, mean_difference=gain)
        return {first: test, second: other}

    results = {
        name: SimpleNamespace(against_baseline=against(one), against_ensemble=against(two))
        for name, (one, two) in methods.items()
    }
    test = SimpleNamespace(n_queries=1234)
    return verdict(
        SimpleNamespace(
            measures=[first, second], finished=results, baseline="base", ensemble="mix", test=test
        )
    )


def test_the_verdict_is_by_corrected_p_values_and_the_sign_of_the_gain():
    chance, sure, doubtful = (0.6, 0.9, 0.01), (0.001, 0.04, 0.02), (0.03, 0.06, 0.03)
    base, mix = (None, chance), (sure, None)
    assert judged(base=base, mix=mix, a=(sure, doubtful), b=(doubtful, chance)) == (
        "By ndcg@10 on 1,234 test queries, significantly better than base: a (+0.0200). "
        "At equal cost, no method is significantly better than the mix."
    )
    worse = (0.001, 0.04, -0.02)
    assert judged(base=base, mix=mix, a=(worse, sure), b=(worse, worse)) == (
        "By ndcg@10 on 1,234 test queries, no method is significantly better than base; "
        "significantly worse: a (-0.0200), b (-0.0200). At equal cost, significantly better than "
        "the mix: a (+0.0200)."
    )


def test_models_are_counted_through_wrappers(parts):
    train = parts[0].train
    assert count_models(RankSVM().fit(train)) == 1
    assert count_models(Quadratic(Ensemble([RankSVM(), RankSVM()])).fit(train)) == 2
    assert count_models(local_rank(3, ranker=Ensemble([RankSVM()] * 2)).fit(train)) == 6
    neighbours = query_neighbours(3).fit(train)
    assert count_models(neighbours) == neighbours.n_groups_ > 20


def test_a_fingerprint_changes_with_anything_in_any_part():
    def part(features=(0.0, 1.0, 2.0), labels=(0, 1, 0), qid=(1, 1, 2)):
        return RankingDataset.from_arrays(np.array(features)[:, None], labels, qid)

    others = [
        part(features=(0.0, 1.0, 3.0)),
        part(labels=(0, 1, 1)),
        part(qid=(1, 2, 2)),
        part(qid=(1, 1, 3)),
    ]
    marks = [
        fingerprint(Fold("a", *parts))
        for other in [*others, part()]
        for parts in ((other, part(), part()), (part(), other, part()), (part(), part(), other))
    ]
    assert len(set(marks)) == 3 * len(others) + 1
    assert fingerprint(Fold("b", part(), part(), part())) not in marks
    assert fingerprint(Fold("a", part(), None, part())) not in marks


def test_a_run_is_kept_by_its_key(tmp_path):
    store = Store(tmp_path / "a" / "b")
    run = Run(np.array([0.5, 1.5]), np.array([1, 0]), {"failed": None, "odd": {1 + 2j}})
    store.put("Fold1", "svm", "key", run)
    found = store.get("Fold1", "svm", "key")
    assert_array_equal(found.scores, run.scores)
    assert_array_equal(found.groups, run.groups)
    assert found.facts == {"failed": None, "odd": "{(1+2j)}"}
    for other in (("Fold1", "svm", "other"), ("Fold2", "svm", "key"), ("Fold1", "map", "key")):
        assert store.get(*other) is None


def test_a_run_that_is_damaged_anywhere_is_as_it_was_or_not_there(tmp_path):
    store = Store(tmp_path)
    run = Run(np.sqrt(np.arange(20.0)), np.arange(5), {"failed": None})
    store.put("Fold1", "svm", "key", run)
    path = tmp_path / "Fold1" / "svm.npz"
    whole = path.read_bytes()
    for place in range(0, len(whole), 11):
        path.write_bytes(whole[:place])
        assert store.get("Fold1", "svm", "key") is None
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        found = store.get("Fold1", "svm", "key")
        assert found is None or np.array_equal(found.scores, run.scores)


def test_a_file_without_all_of_a_run_is_none(tmp_path):
    path = tmp_path / "Fold1" / "svm.npz"
    path.parent.mkdir()
    for facts in ("{}", "x", '{"key": "key"}'):
        np.savez(path, facts=np.array(facts))
        assert Store(tmp_path).get("Fold1", "svm", "key") is None
