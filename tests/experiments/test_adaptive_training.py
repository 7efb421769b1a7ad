import numpy as np

from localrank.data import RankingDataset
from localrank.experiments.adaptive_training import CONTROL, MRR, faulty, methods


def test_the_papers_reciprocal_rank_loses_single_relevant_documents_at_rank_1():
    labels = [1, 0, 0, 1, 1, 0, 0, 1, 0]
    dataset = RankingDataset.from_arrays(np.zeros((9, 1)), labels, np.repeat([1, 2, 3], 3))
    scores = np.array([3.0, 2, 1, 3, 2, 1, 3, 2, 1])
    assert MRR(dataset, scores).tolist() == [1, 1, 0.5]
    assert faulty(dataset, scores).tolist() == [0, 1, 0.5]


def test_it_differs_from_the_right_one_nowhere_else(queries):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=queries.n_documents)
    right, wrong = MRR(queries, scores), faulty(queries, scores)
    for query in range(queries.n_queries):
        labels = queries.labels[queries.offsets[query] : queries.offsets[query + 1]]
        lost = np.sum(labels > 0) == 1 and right[query] == 1
        assert wrong[query] == (0 if lost else right[query])


def test_the_model_is_the_papers():
    model = methods(7, random_state=5)["selective, ward"]
    assert (model.grouping.grouping.n_clusters, model.grouping.grouping.linkage) == (5, "ward")
    assert (model.ranker.n_trees, model.ranker.random_state) == (7, 5)
    assert model.grouping.rounds == 3


def test_the_control_differs_from_the_baseline_by_its_seed_alone():
    made = methods(7, random_state=5)
    baseline, control = made["baseline"].get_params(), made[CONTROL].get_params()
    assert {k for k in baseline if baseline[k] != control[k]} == {"random_state"}
