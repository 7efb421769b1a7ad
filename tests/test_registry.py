import pytest

from localrank import aggregation, grouping, rankers
from localrank.grouping import Agglomerative
from localrank.rankers import RankBoost
from localrank.registry import METHODS, PACKAGES, declare, make_ranker, make_sample, parts


def test_jobs_and_seed_reach_a_method_that_has_them():
    trees = make_ranker("LambdaMART", ["n_trees=9"], 3, 7)
    assert (trees.n_trees, trees.n_jobs, trees.random_state) == (9, 3, 7)
    assert repr(make_ranker("rank-svm", ["C=0.5"], 3, 7)) == "RankSVM(C=0.5)"


def test_a_ranker_by_name_has_the_seed_and_leaves_the_jobs_to_its_groups():
    local = make_ranker("local-rank", ["ranker=lambdamart", "ranker__n_trees=9"], 3, 7)
    inner = local.ranker
    assert (inner.n_trees, inner.random_state, inner.n_jobs, local.n_jobs) == (9, 7, None, 3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("borda", aggregation.Borda),
        ("Markov-Chain", aggregation.MarkovChain),
        ("median-rank", aggregation.MedianRank),
        ("weighted-borda", aggregation.WeightedBorda),
    ],
)
def test_aggregators_go_by_their_names(name, kind):
    ranker = make_ranker("multiple-hyperplanes", [f"aggregator={name}"], None, 0)
    assert type(ranker.aggregator) is kind


def test_an_unknown_aggregator_is_refused():
    with pytest.raises(ValueError, match="no aggregator 'bordo'. Did you mean 'borda'"):
        make_ranker("multiple-hyperplanes", ["aggregator=bordo"], None, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("none", None),
        ("null", None),
        ("True", True),
        ("0.5", 0.5),
        ("[1, 2]", [1, 2]),
        ("zpab", "zpab"),
        ("'3'", "3"),
    ],
)
def test_settings_read_as_python_or_json_writes_them(text, value):
    local = make_ranker("local-rank", [f"n_components={text}", f"ranker__C={text}"], None, 0)
    for setting in (local.representation.n_components, local.ranker.C):
        assert (setting, type(setting)) == (value, type(value))


def test_an_unknown_parameter_lists_the_methods_own_and_its_parts():
    listed = (
        "grouping, index, min_queries, n_clusters, n_components, n_jobs, ranker, "
        "representation, scaling, selector"
    )
    hint = (
        f"local-rank has no parameter 'ranker__D'. Did you mean 'ranker__C'. There are: {listed}."
    )
    with pytest.raises(ValueError, match=hint):
        make_ranker("local-rank", ["ranker__D=1"], None, 0)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in PACKAGES if kind != "ranker" for name in parts(kind)],
)
def test_every_part_goes_by_its_name(kind, name):
    part = parts(kind)[name]
    inside = [f"{kind}__{key}={value}" for key, value in part.declaration.sample.items()]
    method = "multiple-hyperplanes" if kind == "aggregator" else "local-rank"
    made = getattr(make_ranker(method, [f"{kind}={name}", *inside], None, 0), kind)
    assert type(made) is type(make_sample(part))


def test_the_order_of_the_settings_does_not_matter():
    settings = ["representation__n=3", "representation=top-documents", "n_clusters=7"]
    settings += ["grouping__linkage=single", "selector=nearest-centroid"]
    one = make_ranker("local-rank", settings, None, 0)
    other = make_ranker("local-rank", settings[::-1], None, 0)
    assert repr(one) == repr(other)
    assert (one.representation.n, one.grouping.linkage) == (3, "single")


def test_parts_of_parts_go_by_name_too():
    settings = ["selector__representation=scaled", "selector__representation__representation=mean"]
    part = make_ranker("local-rank", settings, None, 0).selector.representation
    assert repr(part) == "Scaled(representation=Mean())"
    none = make_ranker("adaptive-training", ["selector__representation=none"], None, 0)
    assert none.selector.representation is None


def test_a_grouping_by_name_makes_as_many_groups_as_the_method_has():
    kmeans = make_ranker("local-rank", ["grouping=kmeans", "n_clusters=7"], None, 3).grouping
    assert (kmeans.n_clusters, kmeans.random_state) == (7, 3)
    assert make_ranker("local-rank", ["grouping=ward"], None, 0).grouping.n_clusters == 4
    ward = make_ranker("adaptive-training", ["grouping=ward", "n_clusters=3"], None, 0).grouping
    assert repr(ward) == "Refined(grouping=Agglomerative(linkage='ward', n_clusters=3))"
    refined = ["grouping=refined", "grouping__grouping=kmeans", "n_clusters=3"]
    assert make_ranker("local-rank", refined, None, 0).grouping.grouping.n_clusters == 3
    nine = ["grouping=agglomerative", "grouping__n_clusters=9"]
    assert make_ranker("local-rank", nine, None, 0).grouping.n_clusters == 9


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("grouping=wrad", "There is no grouping 'wrad'. Did you mean 'ward'"),
        ("representation=maen", "There is no representation 'maen'. Did you mean 'mean'"),
        ("selector=nearest", "There is no selector 'nearest'. Did you mean 'nearest-"),
        ("ranker=ranksvm", "There is no ranker 'ranksvm'. Did you mean 'rank-svm'"),
        ("grouping=4", "There is no grouping '4'. There are: agglomerative, "),
        ("grouping__n_cluster=4", "no parameter 'grouping__n_cluster'. Did you mean 'grouping__n_"),
        ("representation=scaled", "scaled needs its parameter 'representation'"),
        ("aggregator=borda", "local-rank has no parameter 'aggregator'"),
        ("grouping", "A setting must read name=value. Got 'grouping' instead"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_there_is(setting, message):
    with pytest.raises(ValueError, match=message):
        make_ranker("local-rank", [setting], None, 0)


def test_a_ranker_that_declares_itself_is_a_method(monkeypatch):
    @declare("dummy", "a part added while the program runs", grid={"n_rounds": [1, 2]})
    class Dummy(RankBoost): ...

    assert "dummy" not in METHODS
    monkeypatch.setattr(rankers, "Dummy", Dummy, raising=False)
    assert METHODS["dummy"] is Dummy
    assert METHODS["dummy"].declaration.grid == {"n_rounds": [1, 2]}
    assert (
        make_ranker("local-rank", ["ranker=dummy", "ranker__n_rounds=2"], 1, 0).ranker.n_rounds == 2
    )


def test_a_subclass_does_not_take_the_name_of_its_base(monkeypatch):
    class Other(Agglomerative): ...

    monkeypatch.setattr(grouping, "Other", Other, raising=False)
    assert parts("grouping")["agglomerative"] is Agglomerative


def test_two_parts_of_one_name_are_refused(monkeypatch):
    @declare("ward", "another")
    class Ward(Agglomerative): ...

    monkeypatch.setattr(grouping, "Ward", Ward, raising=False)
    with pytest.raises(ValueError, match="localrank.grouping has two parts named 'ward'"):
        parts("grouping")


def test_wrappers_that_need_a_ranker_are_methods_only_by_their_recipes():
    assert "ensemble" not in METHODS
    assert not isinstance(METHODS["query-coordinates"], type)
    assert all(METHODS[name]() is not None for name in METHODS)
