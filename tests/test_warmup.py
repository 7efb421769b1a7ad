import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from localrank.data import make_queries
from localrank.fusion import SmoothedFusion
from localrank.rankers import RankSVM
from localrank.text import Analyzer, FeatureExtractor, TextRanker, load_example
from localrank.warmup import made_up_lists_for, rank_by_made_up_words, warm_up

MODEL = Path(__file__).parent / "golden" / "rank-svm.localrank"

# Prints how many kernels were compiled.
FIT = """
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
from localrank.data import make_queries
from localrank.recipes import best
queries = make_queries(40, n_documents=(2, 30), n_features=11, n_types=3, random_state=5)[0]
best(n_trees=3, n_jobs=1).fit(queries).predict(queries)
print(len(compiled.buffer) // 2)
"""

BY_WORDS = """
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
import localrank
model = localrank.load("{path}")
assert len(model.rank("bicycle chain", top=5)) == 5
assert len(model.rank("bicycle chain", [{{"title": "Chains"}}])) == 1
print(len(compiled.buffer) // 2)
"""


def run(*arguments, folder):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={"PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
def test_after_warming_up_best_is_trained_and_ranks_without_compiling(tmp_path):
    said = run("-m", "localrank", "warmup", "--methods", "best", folder=tmp_path)
    assert "best" in said.stdout
    assert str(tmp_path) in said.stderr
    assert run("-c", FIT, folder=tmp_path).stdout == "0\n"


@pytest.mark.slow
def test_models_are_warmed_up_alone(tmp_path):
    first, second = (run("-m", "localrank", "warmup", MODEL, folder=tmp_path) for _ in range(2))
    assert "0 kernels" not in first.stderr
    assert "0 kernels in" in second.stderr
    assert "measures" not in first.stdout


@pytest.mark.slow
def test_a_model_that_takes_words_is_warmed_up_to_rank_by_them(tmp_path):
    example = load_example()
    # Words that are made up need not be in the index.
    analyzer = Analyzer(stopwords="english")
    extractor = FeatureExtractor(["title", "body"], features=["bm25"], analyzer=analyzer)
    model = TextRanker(extractor, RankSVM())
    model.fit(example.queries, example.qrels, example.corpus, with_judged=True)
    model.save(tmp_path / "model.localrank")
    run("-m", "localrank", "warmup", tmp_path / "model.localrank", folder=tmp_path)
    code = BY_WORDS.format(path=tmp_path / "model.localrank")
    assert run("-c", code, folder=tmp_path).stdout == "0\n"


def test_what_requests_need_of_the_index_is_computed_ahead():
    example = load_example()
    extractor = FeatureExtractor(["title", "body"], analyzer=Analyzer(stopwords="english"))
    extractor.fit(example.corpus)
    judged = extractor.dataset(example.queries, example.qrels, with_judged=True)
    ranker = RankSVM().fit(judged)
    # As it is when it was read: of a dataset, all would be known already.
    texts = TextRanker.of(extractor.fit(example.corpus), ranker)
    stream = texts.extractor_.index_.streams[0]
    assert "norms" not in vars(stream)
    rank_by_made_up_words(texts)
    assert "norms" in vars(stream)


def test_a_method_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="There is no method 'bset'"):
        warm_up(methods=["bset"])


def test_made_up_lists_have_the_vectors_that_a_model_takes():
    dataset, _ = make_queries(20, n_features=3, n_types=1)
    dataset = dataset.with_vectors(np.ones((dataset.n_documents, 7)))
    ranker = SmoothedFusion("equal", share=0.5).fit(dataset)
    for made_up in made_up_lists_for(ranker):
        assert made_up.vectors.shape[1] == 7
        assert np.isfinite(ranker.predict(made_up)).all()
