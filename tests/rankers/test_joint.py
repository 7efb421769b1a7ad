from localrank.grouping import Neighbourhoods
from localrank.local_ranker import LocalRanker
from localrank.rankers import BestFeature
from localrank.representations import Mean
from localrank.selection import NearestQuery


class JointBestFeature(BestFeature):
    """Ranks every group by the best feature of all groups together."""

    def fit_groups(self, dataset, groups, query_weights=None):
        model = BestFeature(self.measure).fit_rows(dataset, query_weights)
        return [model for _ in groups]


def models_of(ranker, dataset):
    return LocalRanker(Mean(), Neighbourhoods(10), ranker, NearestQuery()).fit(dataset).models_


def test_a_local_ranker_gives_a_joint_ranker_all_groups_at_once(queries):
    models = models_of(JointBestFeature(), queries)
    assert len(models) > 1
    assert len(set(map(id, models))) == 1


def test_a_local_ranker_fits_any_other_ranker_to_each_group(queries):
    models = models_of(BestFeature(), queries)
    assert len(set(map(id, models))) == len(models) > 1
