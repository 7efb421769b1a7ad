import pickle
import re
import subprocess
import sys

import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from localrank._base.estimator import check_is_fitted, is_estimator
from localrank._base.estimator import clone as own_clone
from localrank.rankers import Ensemble, Quadratic, RankSVM
from localrank.recipes import adaptive_training, local_rank


def test_parameters_of_parts_are_set_after_the_parts():
    ranker = Quadratic(RankSVM()).set_params(ranker__C=0.5, ranker=RankSVM(loss="hinge"))
    assert ranker.get_params()["ranker__C"] == 0.5
    assert ranker.ranker.loss == "hinge"


def test_a_parameter_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"Invalid parameter 'c' .* RankSVM\(\).*'C'"):
        RankSVM().set_params(c=1)


def test_the_text_has_what_differs_from_the_defaults():
    assert (
        repr(Ensemble([RankSVM(C=2.0), RankSVM()]))
        == "Ensemble(rankers=[RankSVM(C=2.0), RankSVM()])"
    )


def test_a_class_is_no_estimator():
    assert is_estimator(RankSVM())
    assert is_estimator(StandardScaler())
    assert not is_estimator(RankSVM)
    assert not is_estimator(3)


def test_an_unfitted_part_is_refused_by_its_name():
    with pytest.raises(NotFittedError, match="This RankSVM instance is not fitted yet"):
        check_is_fitted(RankSVM(), "coef_")


def test_scikit_learn_reads_the_tags():
    assert get_tags(RankSVM()).estimator_type is None


def test_a_ranker_stands_at_the_end_of_a_pipeline(queries):
    qid = queries.query_index
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RankSVM())
        pipeline.fit(queries.features, queries.relevance, qid=qid)
        assert pipeline.predict(queries.features, qid=qid).shape == (queries.n_documents,)


def test_query_ids_are_asked_for_and_weights_on_request():
    assert RankSVM().get_metadata_routing().fit.requests["qid"] is True
    assert RankSVM().get_metadata_routing().fit.requests["query_weight"] is None
    with config_context(enable_metadata_routing=True):
        ranker = clone(RankSVM().set_fit_request(query_weight="weights"))
    assert ranker.get_metadata_routing().fit.requests["query_weight"] == "weights"
    assert ranker.get_metadata_routing().predict.requests == {"qid": True}


def test_a_request_of_what_a_method_does_not_take_is_refused():
    with pytest.raises(TypeError, match="RankSVM.predict takes no 'query_weight'"):
        RankSVM().set_predict_request(query_weight=True)


def boxes(ranker):
    """The headings of the boxes in a ranker's diagram."""
    shown = ranker._repr_html_()
    return re.findall(r"<label [^>]*><div><div>([^<]*)</div>", shown)


def test_a_notebook_shows_a_box_for_each_part_and_its_parts():
    ranker = local_rank(2, ranker=Ensemble([RankSVM(), Quadratic(RankSVM())]))
    parts = ["grouping: Agglomerative", "ranker: Ensemble", "rankers[0]: RankSVM"]
    parts += ["rankers[1]: Quadratic", "selector: NearestQuery"]
    shown = boxes(ranker)
    assert shown[0] == "LocalRanker"
    assert set(parts) <= set(shown)
    # The ranker inside of one in a list.
    assert "ranker: RankSVM" in shown


def test_a_notebook_shows_whether_a_ranker_is_fitted(queries):
    ranker = Quadratic(RankSVM(C=3.0))
    assert "<span>Not fitted</span>" in ranker._repr_html_()
    assert "<span>Fitted</span>" in ranker.fit(queries)._repr_html_()
    assert boxes(ranker) == boxes(clone(ranker))


def test_a_pickle_keeps_parameters_and_requests():
    with config_context(enable_metadata_routing=True):
        ranker = RankSVM(C=3.0).set_fit_request(query_weight=True)
    copy = pickle.loads(pickle.dumps(ranker))
    assert copy.C == 3.0
    assert copy.get_metadata_routing().fit.requests["query_weight"] is True


def same(one, other):
    """Whether two values are equal; parts by class and parameters."""
    if isinstance(one, list | tuple):
        return type(one) is type(other) and all(map(same, one, other))
    if hasattr(one, "get_params"):
        params, others = one.get_params(deep=False), other.get_params(deep=False)
        return (
            type(one) is type(other)
            and one is not other
            and params.keys() == others.keys()
            and all(same(params[name], others[name]) for name in params)
        )
    return bool(one == other)


@pytest.mark.parametrize(
    "part",
    [
        Quadratic(RankSVM(C=3.0)),
        Ensemble([RankSVM(), Quadratic(RankSVM())]),
        local_rank(2, ranker=Ensemble([RankSVM()])),
        adaptive_training(3),
        KMeans(3),
        [RankSVM(), KMeans(2)],
    ],
)
def test_a_clone_is_that_of_scikit_learn(part):
    assert same(clone(part), own_clone(part))
    assert same(part, own_clone(part))


def test_a_clone_is_not_fitted_and_keeps_requests(queries):
    with config_context(enable_metadata_routing=True):
        ranker = own_clone(RankSVM().fit(queries).set_fit_request(query_weight="weights"))
    assert not hasattr(ranker, "coef_")
    assert ranker.get_metadata_routing().fit.requests["query_weight"] == "weights"


def test_what_is_no_part_is_cloned_on_request_only():
    with pytest.raises(TypeError, match="Cannot clone object"):
        own_clone(3)
    values = {"a": [1]}
    copy = own_clone(values, safe=False)
    assert copy == values
    assert copy["a"] is not values["a"]


class ChangesWhatItGets(RankSVM):
    def __init__(self, C=1.0):
        self.C = float(C) + 1


def test_a_constructor_that_changes_a_parameter_is_refused():
    with pytest.raises(RuntimeError, match="ChangesWhatItGets must store 'C' as it is"):
        own_clone(ChangesWhatItGets())


def test_training_imports_scikit_learn_only_for_its_parts():
    code = (
        "import sys; from localrank.data import make_queries; from localrank.recipes import "
        "local_rank; local_rank(2).fit(make_queries(30)[0]); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
