"""`localrank features`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.text import FeatureExtractor

EXTRACTOR = "extractor.localrank"
_REMEDY = "Give the extractor that `localrank features` wrote beside the data."
SUFFIXES = {"parquet": ".parquet", "letor": ".txt"}


def features(
    corpus: Path = typer.Argument(
        help="Documents: JSON lines, each with an id and texts; or CSV, TSV, TREC, SMART."
    ),
    queries: list[Path] = typer.Argument(
        help="Queries, a line each: an id, a tab, the text. Each file becomes one of features."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="The folder to write into."),
    qrels: Path | None = typer.Option(
        None, help="Judgments, as TREC has them; else features have no labels."
    ),
    fields: str = typer.Option("text", help="Keys of a document's texts, with commas between."),
    features: str = typer.Option(
        "letor", help="letor, mhr, all, or names of features, with commas between."
    ),
    columns: str = typer.Option("", help="Keys of a document's numbers, with commas between."),
    stopwords: str = typer.Option("", help="english: leave out its most common words."),
    stemmer: str = typer.Option("", help="A language of Snowball's stemmers, such as english."),
    depth: int = typer.Option(100, min=1, help="Candidates of each query, by BM25."),
    with_judged: bool = typer.Option(
        False, "--with-judged", help="Add judged documents that are no candidates."
    ),
    index: Path | None = typer.Option(
        None,
        help="A new folder for the index, which is built in parts and used where it is: for texts "
        "larger than memory.",
    ),
    form: str = typer.Option("parquet", "--format", help="parquet, with names, or letor: text."),
) -> None:
    """Make features of texts, to train with, and the extractor that made them."""
    import time

    from localrank.cli.inputs import check_folder, column_names
    from localrank.cli.tables import cost, say, say_if_compiling
    from localrank.text import (
        Analyzer,
        FeatureExtractor,
        read_corpus,
        read_judgments,
        read_queries,
    )

    paths = _outputs(queries, output, form, labelled=qrels is not None)
    check_folder(output)
    asked = {path: read_queries(file) for path, file in zip(paths, queries, strict=True)}
    if with_judged and qrels is None:
        raise ValueError("--with-judged needs --qrels.")
    judged = None if qrels is None else read_judgments(qrels)
    if judged is not None:
        # Before the index is built, which takes long.
        names = set(map(str, judged.query_ids.tolist()))
        for file, texts in zip(queries, asked.values(), strict=True):
            if names.isdisjoint(texts):
                raise ValueError(
                    f"{qrels}: judges no query of {file}, where the first id is "
                    f"{next(iter(texts))!r}. The first here is {judged.query_ids[0]!s}."
                )
    documents = read_corpus(corpus)
    sets = column_names(features)
    extractor = FeatureExtractor(
        column_names(fields),
        features=sets[0] if len(sets) == 1 else sets,
        columns=column_names(columns),
        analyzer=Analyzer(stopwords=stopwords or None, stemmer=stemmer or None),
    )
    say_if_compiling()
    start = time.perf_counter()
    extractor.fit(documents, folder=index)
    say(f"Indexed {extractor.n_documents:,} documents in {cost(time.perf_counter() - start)}")
    output.mkdir(parents=True, exist_ok=True)
    for path, texts in asked.items():
        dataset = extractor.dataset(texts, judged, depth, with_judged=with_judged)
        _write(dataset, path)
        say(
            f"Wrote {dataset.n_features:,} features of {dataset.n_queries:,} queries, "
            f"{dataset.n_documents:,} documents to {path}" + _labels(dataset)
        )
    if index is None:
        extractor.save(output / EXTRACTOR)
        say(f"Saved the extractor with its index to {output / EXTRACTOR}")
    else:
        say(f"The extractor and its index are in {index}")


def made_by(extractor: FeatureExtractor, dataset: RankingDataset, path: Path) -> RankingDataset:
    """Data that an extractor made, with the names of its features; an error where it did not."""
    names = extractor.feature_names
    if dataset.feature_names is None and dataset.n_features == len(names):
        dataset = dataset.replaced(feature_names=names)
    if dataset.feature_names != names:
        raise ValueError(f"{path}: makes other features than those of the data. {_REMEDY}")
    _check_lengths(extractor, dataset, path)
    return dataset


def _check_lengths(extractor: FeatureExtractor, dataset: RankingDataset, path: Path) -> None:
    """Refuse data whose documents are others, or have other lengths: of other words or texts."""
    import numpy as np

    from localrank.data import RankingDataset
    from localrank.text.naming import stream_names

    if not isinstance(dataset, RankingDataset) or dataset.document_ids is None:
        return
    index = extractor.index_
    ids, rows = np.unique(dataset.document_ids, return_index=True)
    known = {str(name): row for name, row in zip(ids, rows, strict=True) if str(name) in index}
    if not known:
        raise ValueError(f"{path}: has no document of the data in its index. {_REMEDY}")
    places = index.places(known, "")
    for stream, name in zip(index.streams, stream_names(extractor.field_names), strict=True):
        if f"{name}.length" not in extractor.feature_names:
            continue
        column = extractor.feature_names.index(f"{name}.length")
        given, made = dataset.features[[*known.values()], column], stream.lengths[places]
        if (wrong := np.flatnonzero(given != made)).size:
            raise ValueError(
                f"{path}: by it, {name!r} of document {[*known][wrong[0]]!r} has "
                f"{made[wrong[0]]:,} words, and {given[wrong[0]]:,.6g} by the data. {_REMEDY}"
            )


def _outputs(queries: list[Path], output: Path, form: str, *, labelled: bool) -> list[Path]:
    """The file that each file of queries becomes."""
    if form not in SUFFIXES:
        raise ValueError(f"--format must be parquet or letor. Got {form!r} instead.")
    if form == "letor" and not labelled:
        raise ValueError("LETOR text has labels: give --qrels, or write --format parquet.")
    names = [path.name.partition(".")[0] + SUFFIXES[form] for path in queries]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"Two files of queries would both become {twice[0]}: rename one.")
    return [output / name for name in names]


def _write(dataset: RankingDataset, path: Path) -> None:
    from localrank.data import write_letor, write_table

    (write_table if path.suffix == SUFFIXES["parquet"] else write_letor)(dataset, path)


def _labels(dataset: RankingDataset) -> str:
    if dataset.relevance is None:
        return ""
    return f"; {int((dataset.relevance > 0).sum()):,} of them relevant"
