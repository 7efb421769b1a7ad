"""Compiling kernels ahead of time, for container images and fast first answers."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from localrank._base.progress import progress
from localrank._kernels.compilation import compiled_kernels
from localrank.data import RankingDataset, make_queries, read_letor, write_letor
from localrank.measures import evaluate, parse_measure
from localrank.persistence import load_ranker_and_texts
from localrank.rankers import Ranker
from localrank.rankers._categories import named_for
from localrank.registry import METHODS, check_method, make_part

if TYPE_CHECKING:
    from localrank.text import TextRanker

_MEASURES = (
    *("ndcg@10", "map", "mrr", "p@10", "err@10", "oer"),
    *("success@10", "rbp", "inst", "bpref", "judged@10"),
)
# Some kernels are used only for more columns than this, as QueryCoordinates makes them.
_MANY_FEATURES = 140


def warm_up(
    models: Sequence[str | PathLike[str]] = (), methods: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Compile what models need to rank and methods need to train, for later processes.

    With methods, it also compiles the reading of data and the measures.

    Parameters
    ----------
    models : sequence of paths
        Saved models. They are loaded, and rank made-up documents.
    methods : sequence of str or None
        Names from `localrank methods`. They are trained on made-up queries. None: no methods if
        models are given, otherwise all that can be trained here.

    Returns
    -------
    compiled : dict
        The kernels that were compiled for each model, for each method, for "reading" and for
        "measures".

    Examples
    --------
    >>> warm_up(methods=["best-feature"])["best-feature"]
    []
    """
    names = list(() if models else METHODS) if methods is None else list(map(check_method, methods))
    steps: dict[str, Callable[[], None]] = {}
    if names:
        steps |= {"reading": _read, "measures": _measure}
    steps |= {name: _training(name, missing_ok=methods is None) for name in names}
    steps |= {str(path): _ranking(path) for path in models}
    compiled = {}
    with progress("Compiling", len(steps)) as advance, warnings.catch_warnings():
        # Some methods warn that the made-up queries are too few.
        warnings.filterwarnings("ignore", category=UserWarning)
        for name, step in steps.items():
            known = len(compiled_kernels)
            step()
            compiled[name] = compiled_kernels[known:]
            advance()
    return compiled


def _read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "queries.txt")
        write_letor(next(_datasets()), path)
        read_letor(path)


def _measure() -> None:
    dataset = next(_datasets())
    evaluate(dataset, dataset.features[:, 0], [parse_measure(name) for name in _MEASURES])


def _training(name: str, *, missing_ok: bool) -> Callable[[], None]:
    def train() -> None:
        for dataset in _datasets():
            sample = dict(METHODS[name].declaration.sample)
            ranker = make_part("ranker", name, sample, n_jobs=1, random_state=0)
            try:
                ranker.fit(dataset).predict(dataset)
            except ImportError:  # LightGBM or CatBoost, which only some methods need
                if not missing_ok:
                    raise

    return train


def _ranking(path: str | PathLike[str]) -> Callable[[], None]:
    def rank() -> None:
        ranker, texts = load_ranker_and_texts(path)
        for dataset in made_up_lists_for(ranker):
            # A model may refuse documents that are far from its training data.
            with suppress(ValueError):
                ranker.predict(named_for(ranker, dataset))
        if texts is not None:
            rank_by_made_up_words(texts)

    return rank


def rank_by_made_up_words(texts: TextRanker) -> None:
    """Rank by made-up words, to compile the kernels and to warm the index."""
    index, vector, vectors = texts.extractor_.index_, None, None
    if index.vectors is not None:
        vector = np.ones(index.vectors.shape[1], np.float32)
        vectors = {"1": vector}
    else:
        texts.rank("a", [dict.fromkeys(texts.extractor_.document_keys, "")])
    texts.rank("a", query_vector=vector)
    # The words may match no document, so ask for one.
    candidates = {"1": index.document_ids[:1].tolist()}
    texts.extractor_.transform(["a"], candidates, query_vectors=vectors)


def made_up_lists_for(ranker: Ranker) -> Iterator[RankingDataset]:
    """Made-up lists with the features and vectors that a fitted ranker takes."""
    door = ranker._door
    return made_up_lists(ranker.n_features_in_, door.feature_names, door.n_dimensions)


def made_up_lists(
    n_features: int, names: Sequence[str] | None = None, n_dimensions: int | None = None
) -> Iterator[RankingDataset]:
    """Lists that need different kernels: one document, many, several lists, missing values.

    Examples
    --------
    >>> [dataset.query_sizes.tolist() for dataset in made_up_lists(3)][::2]
    [[1], [20], [3, 4], [20]]
    """
    for (sizes, step), dtype in product(
        (([1], 0), ([20], 0), ([3, 4], 0), ([20], 3)), (np.float64, np.float32)
    ):
        rows = np.random.default_rng(0).random((sum(sizes), n_features)).astype(dtype)
        if step:
            rows[::step, 0] = np.nan
        queries = np.repeat(np.arange(len(sizes)), sizes)
        vectors = np.random.default_rng(1).random((len(rows), n_dimensions or n_features))
        yield RankingDataset.from_arrays(rows, qid=queries, feature_names=names, vectors=vectors)


def _datasets() -> Iterator[RankingDataset]:
    """A few queries in both precisions, with few features and with many."""
    for n_features, dtype in product((8, _MANY_FEATURES), (np.float64, np.float32)):
        dataset, _ = make_queries(
            30, n_documents=(3, 20), n_features=n_features, n_types=2, random_state=0
        )
        yield dataset.with_features(dataset.features.astype(dtype))
