"""Compile the kernels that tests use, once: two workers would do it at the same time.

python tests/compile_kernels.py
"""

import warnings

import numpy as np
from samples import RANKERS

from localrank.data import make_queries
from localrank.rankers import RankSVM
from localrank.registry import make_sample
from localrank.text import Analyzer, FeatureExtractor, TextRanker, load_example
from localrank.warmup import rank_by_made_up_words, warm_up


def main() -> None:
    warm_up()
    queries = make_queries(30, n_documents=(3, 20), n_features=8, n_types=2, random_state=0)[0]
    features = queries.features.copy()
    features[::3, 1] = np.nan
    holed = queries.with_features(features)
    with warnings.catch_warnings(action="ignore"):
        for part in RANKERS.values():
            make_sample(part).fit(holed).predict(holed)
    example = load_example()
    extractor = FeatureExtractor(["title", "body"], analyzer=Analyzer(stopwords="english"))
    texts = TextRanker(extractor, RankSVM())
    rank_by_made_up_words(texts.fit(example.queries, example.qrels, example.corpus))


if __name__ == "__main__":
    main()
