import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrank.measures import (
    F1,
    INST,
    NDCG,
    AveragePrecision,
    Bpref,
    ExpectedReciprocalRank,
    Judged,
    OrderErrorRate,
    PFound,
    Precision,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
    RPrecision,
    Success,
    parse_measure,
)
from localrank.measures.parsing import TOOLS, measures_of

CUTOFFS = st.none() | st.integers(1, 10**6)
POSITIVE = st.floats(0.001, 900, allow_nan=False) | st.integers(1, 5)
SHARE = st.floats(0.001, 0.999, allow_nan=False)
SHARED = {
    "ties": st.sampled_from(["averaged", "input", "pessimistic", "document_id"]),
    "empty": st.sampled_from([0, 1, 0.0, 1.0, "skip"]),
}
BINARY = SHARED | {"relevance_level": st.none() | POSITIVE}
MEASURES = st.one_of(
    st.builds(
        NDCG,
        CUTOFFS,
        gain=st.sampled_from(["exponential", "linear"]),
        discount=st.sampled_from(["log2", "letor"]),
        short=st.sampled_from(["evaluate", "zero"]),
        **SHARED,
    ),
    st.builds(
        AveragePrecision, CUTOFFS, denominator=st.sampled_from(["relevant", "reachable"]), **BINARY
    ),
    st.builds(AveragePrecision, **(BINARY | {"ties": st.just("threshold")})),
    st.builds(ReciprocalRank, CUTOFFS, target=st.sampled_from(["relevant", "highest"]), **BINARY),
    st.builds(Precision, CUTOFFS, short=st.sampled_from(["pad", "shrink"]), **BINARY),
    st.builds(
        ExpectedReciprocalRank,
        CUTOFFS,
        max_relevance=POSITIVE,
        gain=st.sampled_from(["exponential", "linear"]),
        **SHARED,
    ),
    st.builds(PFound, CUTOFFS, max_relevance=POSITIVE, decay=SHARE, **SHARED),
    st.builds(Recall, CUTOFFS, **BINARY),
    st.builds(F1, CUTOFFS, short=st.sampled_from(["pad", "shrink"]), **BINARY),
    st.builds(Success, CUTOFFS, **BINARY),
    st.builds(RankBiasedPrecision, CUTOFFS, p=SHARE, **BINARY),
    st.builds(RPrecision, **BINARY),
    st.builds(Bpref, **BINARY),
    st.builds(Judged, CUTOFFS, **SHARED),
    st.builds(
        INST,
        target=st.floats(0.5, 50) | st.integers(1, 5),
        **(BINARY | {"ties": st.sampled_from(["input", "pessimistic", "document_id"])}),
    ),
    st.builds(OrderErrorRate, **SHARED),
    st.builds(OrderErrorRate, high=st.floats(5, 9), low=st.floats(0, 4), **SHARED),
)


@given(MEASURES)
def test_the_text_of_a_measure_is_read_back(measure):
    assert parse_measure(str(measure)) == measure
    assert hash(parse_measure(repr(measure).upper())) == hash(measure)


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("ndcg@10", NDCG(10)),
        ("nDCG@10", NDCG(10)),
        (" NDCG @ 10 ", NDCG(10)),
        ("ndcg_cut_10", NDCG(10)),
        ("ndcg_cut.10", NDCG(10)),
        ("ndcg", NDCG()),
        ("nDCG(gain='linear', ties=input)@10", NDCG(10, gain="linear", ties="input")),
        ("map", AveragePrecision()),
        ("ap", AveragePrecision()),
        ("map_cut_100", AveragePrecision(100)),
        ("AP(rel=2)@100", AveragePrecision(100, relevance_level=2)),
        ("map(rel=none)", AveragePrecision()),
        ("average precision", AveragePrecision()),
        ("recip_rank", ReciprocalRank()),
        ("mrr", ReciprocalRank()),
        ("rr@10", ReciprocalRank(10)),
        ("P_5", Precision(5)),
        ("p@5", Precision(5)),
        ("precision@5", Precision(5)),
        ("pre@5", Precision(5)),
        ("err@20", ExpectedReciprocalRank(20)),
        ("recall_5", Recall(5)),
        ("R@5", Recall(5)),
        ("R(rel=2)@5", Recall(5, relevance_level=2)),
        ("set_recall", Recall()),
        ("Rprec", RPrecision()),
        ("r-precision", RPrecision()),
        ("f1", F1()),
        ("F1@5", F1(5)),
        ("f1_5", F1(5)),
        ("F1(rel=2)", F1(relevance_level=2)),
        ("set_F", F1()),
        ("set_P", Precision()),
        ("success_5", Success(5)),
        ("hit_rate@3", Success(3)),
        ("RBP", RankBiasedPrecision()),
        ("rbp(p=0.95)@10", RankBiasedPrecision(10, p=0.95)),
        ("RBP(rel=1,p=0.5)", RankBiasedPrecision(p=0.5, relevance_level=1)),
        ("rbp.95", RankBiasedPrecision(p=0.95)),
        ("rbp.95@10", RankBiasedPrecision(10, p=0.95)),
        ("bpref", Bpref()),
        ("INST(T=2)", INST(target=2)),
        ("Judged@10", Judged(10)),
        ("oer", OrderErrorRate()),
        ("OER(high=2,low=1)", OrderErrorRate(high=2, low=1)),
    ],
)
def test_common_spellings_are_understood(text, measure):
    assert parse_measure(text) == measure


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (NDCG(10), "ndcg@10"),
        (NDCG(10, gain="linear", ties="input"), "ndcg(gain=linear,ties=input)@10"),
        (AveragePrecision(100, relevance_level=2), "map(rel=2)@100"),
        (ReciprocalRank(empty=1), "mrr(empty=1)"),
        (RankBiasedPrecision(10, p=0.95), "rbp(p=0.95)@10"),
        (INST(target=2), "inst(t=2)"),
        (OrderErrorRate(), "oer"),
    ],
)
def test_a_measure_prints_as_its_shortest_name(measure, text):
    assert str(measure) == repr(measure) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ngcd@10",
            r"There is no measure 'ngcd'. Did you mean 'ndcg'\? There are: bpref, err, f1,",
        ),
        ("recal@5", "There is no measure 'recal'"),
        ("", "There is no measure ''"),
        ("ndcg@0", "must be a positive integer. Got 'ndcg@0'"),
        ("ndcg@-3", "must be a positive integer"),
        ("ndcg@", "must be a positive integer"),
        ("ndcg@ten", "must be a positive integer"),
        ("ndcg@2.5", "must be a positive integer"),
        ("ndcg@5-", "must be a positive integer"),
        ("oer@10", "OrderErrorRate has no cutoff"),
        (
            "ndcg(gian=linear)",
            r"no parameter 'gian'. Did you mean 'gain'\? There are: discount, empty,",
        ),
        ("ndcg(rel=2)", "NDCG has no parameter 'rel'"),
        ("ndcg(cutoff=5)", "NDCG has no parameter 'cutoff'"),
        ("ndcg(linear)", "A parameter is written like gain=linear. Got 'linear'"),
        ("ndcg(gain=linear", "A measure is written like"),
        ("ndcg(gain=exp)", "must be 'exponential' or 'linear'. Got 'exp' instead"),
    ],
)
def test_a_wrong_name_is_refused_with_what_there_is(text, message):
    with pytest.raises(ValueError, match=message):
        parse_measure(text)


def test_a_wrong_convention_is_refused_with_what_there_is():
    with pytest.raises(
        ValueError, match=r"no convention 'trec'. .*There are: allrank, catboost, default, letor3"
    ):
        parse_measure("map", convention="trec")


@pytest.mark.parametrize(
    ("text", "convention", "message"),
    [
        ("p@5", "sklearn", "scikit-learn has no measure 'p'. It has map, ndcg."),
        ("err@5", "trec_eval", "trec_eval has no measure 'err'"),
        ("oer", "lightgbm", "LightGBM has no measure 'oer'"),
        ("map@5", "ranklib", "RankLib has 'map' only without a cutoff"),
        ("map@5", "sklearn", "scikit-learn has 'map' only without a cutoff"),
        ("f1@5", "trec_eval", "trec_eval has 'f1' only without a cutoff"),
        ("map", "allrank", "allRank has no measure 'map'. It has mrr, ndcg."),
        ("rbp", "catboost", "CatBoost has no measure 'rbp'"),
    ],
)
def test_a_measure_that_the_tool_does_not_have_is_refused(text, convention, message):
    with pytest.raises(ValueError, match=message):
        parse_measure(text, convention=convention)


def test_a_parameter_in_the_name_overrides_the_convention():
    measure = parse_measure("ndcg(ties=averaged)@10", convention="trec_eval")
    assert measure == NDCG(10, gain="linear")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: NDCG(10, gain="exp"),
            "The 'gain' parameter of NDCG must be 'exponential' or 'linear'. Got 'exp' instead.",
        ),
        (
            lambda: NDCG(0),
            "The 'cutoff' parameter of NDCG must be a positive integer or None. Got 0",
        ),
        (lambda: NDCG(2.5), "must be a positive integer or None. Got 2.5 instead"),
        (lambda: NDCG(True), "must be a positive integer or None. Got True instead"),
        (lambda: NDCG("10"), "must be a positive integer or None. Got '10' instead"),
        (lambda: NDCG(ties="random"), "must be 'averaged', 'input', .* Got 'random'"),
        (lambda: NDCG(ties="threshold"), "'document_id'. Got 'threshold'"),
        (lambda: NDCG(empty=0.5), "must be 0.0, 1.0 or 'skip'. Got 0.5"),
        (lambda: NDCG(empty=True), "must be 0.0, 1.0 or 'skip'. Got True"),
        (lambda: NDCG(ties=["input"]), r"Got \['input'\] instead"),
        (lambda: Precision(5, relevance_level=0), "must be a number above 0 or None. Got 0"),
        (lambda: Precision(5, relevance_level="2"), "must be a number above 0 or None. Got '2'"),
        (lambda: ExpectedReciprocalRank(max_relevance=0), "must be a finite number above 0"),
        (lambda: RankBiasedPrecision(p=1), "must be a finite number above 0 and below 1. Got 1"),
        (lambda: INST(target=0.2), "must be a finite number, 0.5 or larger. Got 0.2"),
        (lambda: INST(ties="averaged"), "must be 'input', 'pessimistic' or 'document_id'"),
        (lambda: PFound(decay=0), "must be a finite number above 0, at most 1. Got 0"),
        (lambda: OrderErrorRate(high=1), "The 'low' parameter .* Got None instead"),
        (lambda: OrderErrorRate(high=1, low=2), "must be larger than 'low', 2.0. Got 1.0"),
    ],
)
def test_wrong_parameters_are_refused_with_the_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_measures_are_equal_by_content():
    assert NDCG(10) == NDCG(np.int64(10)) != NDCG(5)
    assert len({NDCG(10), NDCG(10), NDCG(10, empty=1), AveragePrecision(10)}) == 3


def test_a_measure_cannot_be_changed():
    with pytest.raises(AttributeError):
        NDCG(10).cutoff = 5


@given(MEASURES)
def test_every_measure_explains_itself(measure):
    text = measure.explain()
    assert text.startswith(f"{measure}: ")
    assert "None" not in text


def test_an_explanation_names_every_choice():
    text = NDCG(5, discount="letor", ties="input", empty="skip", short="zero").explain()
    assert text.split("\n") == [
        "ndcg(discount=letor,empty=skip,short=zero,ties=input)@5: sum of (2^label - 1) / "
        "max(1, log2(rank)) over the documents among the first 5, divided by the same sum for "
        "the documents in descending order of their labels.",
        "A query with fewer than 5 documents counts 0.",
        "Documents with equal scores keep the order of the input.",
        "A query without a relevant document is left out of the mean.",
    ]


def test_every_convention_builds_every_measure_it_lists():
    for convention in TOOLS:
        for measure in measures_of(convention):
            assert isinstance(parse_measure(measure.name, convention=convention), measure)
