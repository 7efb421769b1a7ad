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
# Repeated here for the help, which must not import them. A test compares.
QRELS_FORMATS = ("trec", "json", "csv", "tsv", "smart", "npl")


def features(
    corpus: Path = typer.Argument(
        help="Documents: JSON lines, each with an id and texts; or CSV, TSV, TREC, SMART."
    ),
    queries: list[Path] = typer.Argument(
        help="Queries, one on each line: an id, a tab, the text; or JSON lines, CSV, TREC, SMART. "
        "Each file of queries becomes one file of features."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write into."),
    qrels: Path | None = typer.Option(
        None,
        help="Judgments (TREC qrels), which become the labels. By default, the features have no "
        "labels.",
    ),
    qrels_format: str = typer.Option(
        "",
        help=f"Format of the judgments: {', '.join(QRELS_FORMATS)}. By default, it is recognised, "
        "or refused if it may be trec or smart.",
    ),
    numbered: bool = typer.Option(
        False,
        "--numbered",
        help="Number the queries 1, 2, 3, … in the order of the file and ignore their ids, as the "
        "judgments of Cranfield do.",
    ),
    fields: str = typer.Option(
        "text", help="Keys of a document's texts, separated by commas, for example title,body."
    ),
    features: str = typer.Option(
        "letor",
        help="Features to compute: a set (letor, mhr, definition or all), or names separated by "
        "commas, for example bm25,covered.",
    ),
    columns: str = typer.Option(
        "", help="Keys of a document's numbers, which become features, for example clicks,price."
    ),
    stopwords: str = typer.Option(
        "",
        metavar="LANGUAGE",
        help="Leave out the most common words of a language: english. By default, keep all words.",
    ),
    stemmer: str = typer.Option(
        "",
        metavar="LANGUAGE",
        help="Reduce words to their stems, with Snowball's stemmer for a language such as "
        "english. By default, keep words as they are.",
    ),
    depth: int = typer.Option(
        100,
        min=1,
        help="Number of candidate documents for each query, found by BM25. The extractor keeps the "
        "number, and models rank this many.",
    ),
    vectors: Path | None = typer.Option(
        None,
        help="Vectors of the documents: .npy with ids beside it, .npz, Parquet or JSON lines. "
        "Candidates are then found by vectors, too, and the columns of both lists are features.",
    ),
    query_vectors: Path | None = typer.Option(
        None, help="Vectors of the queries, in the same formats. By default, --encoder makes them."
    ),
    encoder: Path | None = typer.Option(
        None,
        help="Folder of an encoder (tokenizer.json with model.onnx or model.safetensors), which "
        "makes the vectors that are not given.",
    ),
    with_judged: bool = typer.Option(
        False, "--with-judged", help="Add the judged documents that BM25 did not find."
    ),
    index: Path | None = typer.Option(
        None,
        help="A new folder for the index. It is built in parts and stays on disk: for texts larger "
        "than memory. By default, the index is in memory and is saved with the extractor.",
    ),
    private_key: Path | None = typer.Option(
        None,
        help="A file with an Ed25519 key of 32 bytes. It signs the index, or the extractor's file.",
    ),
    form: str = typer.Option(
        "parquet", "--format", help="Format of the features: parquet, or letor (text)."
    ),
) -> None:
    """Turn texts into features to train with, and save the extractor that makes them.

    Example: localrank features corpus.jsonl queries.tsv --qrels qrels.txt -o data
    """
    import time

    from localrank.cli._inputs import check_folder, column_names, read_key
    from localrank.cli._tables import cost, say, say_if_compiling
    from localrank.data import read_vectors
    from localrank.text import (
        Analyzer,
        FeatureExtractor,
        load_encoder,
        read_corpus,
        read_judgments,
        read_queries,
    )
    from localrank.text._queries import check_numbering

    paths = _outputs(queries, output, form, labelled=qrels is not None)
    check_folder(output)
    key = read_key(private_key)
    if numbered and len(queries) > 1:
        raise ValueError(
            "--numbered takes one file of queries: two files would both begin with query 1."
        )
    for option, given in {"--with-judged": with_judged, "--qrels-format": qrels_format}.items():
        if given and qrels is None:
            raise ValueError(f"{option} needs --qrels.")
    texts_by_output = {
        path: read_queries(file, numbered=numbered)
        for path, file in zip(paths, queries, strict=True)
    }
    by_vectors = vectors is not None or encoder is not None
    if query_vectors is not None and not by_vectors:
        raise ValueError("--query-vectors needs --vectors, those of the documents, or --encoder.")
    if by_vectors and encoder is None and query_vectors is None:
        raise ValueError("--vectors needs vectors of the queries: --query-vectors or --encoder.")
    # Before the index is built, which takes long.
    of_documents, of_queries = (
        None if path is None else read_vectors(path) for path in (vectors, query_vectors)
    )
    encodes = None if encoder is None else load_encoder(encoder)
    judged = None if qrels is None else read_judgments(qrels, qrels_format or None)
    if judged is not None:
        # Before the index is built, which takes long.
        names = dict.fromkeys(map(str, judged.query_ids.tolist()))
        for file, texts in zip(queries, texts_by_output.values(), strict=True):
            if names.keys().isdisjoint(texts):
                raise ValueError(
                    f"{qrels} judges no query of {file}. The first query is "
                    f"{next(iter(texts))!r}; the first judgment is of query "
                    f"{str(judged.query_ids[0])!r}."
                )
            check_numbering(list(texts), names)
    documents = read_corpus(corpus)
    sets = column_names(features)
    extractor = FeatureExtractor(
        column_names(fields),
        features=sets[0] if len(sets) == 1 else sets,
        columns=column_names(columns),
        analyzer=Analyzer(stopwords=stopwords or None, stemmer=stemmer or None),
        depth=depth,
        with_vectors=by_vectors,
    )
    say_if_compiling()
    start = time.perf_counter()
    extractor.fit(
        documents,
        vectors=of_documents,
        encoder=encodes,
        folder=index,
        private_key=None if index is None else key,
    )
    say(f"Indexed {extractor.n_documents:,} documents in {cost(time.perf_counter() - start)}")
    output.mkdir(parents=True, exist_ok=True)
    for path, texts in texts_by_output.items():
        dataset = extractor.dataset(
            texts, judged, with_judged=with_judged, query_vectors=of_queries
        )
        _write(dataset, path)
        say(
            f"Wrote {dataset.n_features:,} features of {dataset.n_queries:,} queries, "
            f"{dataset.n_documents:,} documents to {path}" + _labels(dataset)
        )
    if index is None:
        extractor.save(output / EXTRACTOR, key)
        say(f"Saved the extractor with its index to {output / EXTRACTOR}")
    else:
        say(f"The extractor and its index are in {index}")


def made_by(extractor: FeatureExtractor, dataset: RankingDataset, path: Path) -> RankingDataset:
    """The dataset with the extractor's feature names. Refuses data that it did not make."""
    names = extractor.feature_names
    if dataset.feature_names is None and dataset.n_features == len(names):
        dataset = dataset.replaced(feature_names=names)
    if dataset.feature_names != names:
        raise ValueError(
            f"{path}: this extractor makes other features than the data has. {_REMEDY}"
        )
    _check_lengths(extractor, dataset, path)
    return _with_vectors(extractor, dataset)


def _with_vectors(extractor: FeatureExtractor, dataset: RankingDataset) -> RankingDataset:
    """The dataset with the vectors of its documents, which files of features do not have."""
    from localrank.data import RankingDataset, Vectors

    index = extractor.index_
    if index.vectors is None or type(dataset) is not RankingDataset or dataset.has_vectors:
        return dataset
    return dataset.with_vectors(Vectors(index.document_ids, index.vectors))


def _check_lengths(extractor: FeatureExtractor, dataset: RankingDataset, path: Path) -> None:
    """Refuse data whose documents are unknown or have other lengths: it has other texts."""
    import numpy as np

    from localrank.data import RankingDataset
    from localrank.text.naming import stream_names

    if not isinstance(dataset, RankingDataset) or dataset.document_ids is None:
        return
    index = extractor.index_
    ids, rows = np.unique(dataset.document_ids, return_index=True)
    known = {str(name): row for name, row in zip(ids, rows, strict=True) if str(name) in index}
    if not known:
        raise ValueError(f"{path}: the index holds no document of the data. {_REMEDY}")
    places = index.places(known, "")
    for stream, name in zip(index.streams, stream_names(extractor.field_names), strict=True):
        if f"{name}.length" not in extractor.feature_names:
            continue
        column = extractor.feature_names.index(f"{name}.length")
        given, made = dataset.features[[*known.values()], column], stream.lengths[places]
        if (wrong := np.flatnonzero(given != made)).size:
            raise ValueError(
                f"{path}: here {name!r} of document {[*known][wrong[0]]!r} has "
                f"{made[wrong[0]]:,} words; in the data it has {given[wrong[0]]:,.6g}. {_REMEDY}"
            )


def _outputs(queries: list[Path], output: Path, form: str, *, labelled: bool) -> list[Path]:
    """The file to write for each file of queries."""
    if form not in SUFFIXES:
        raise ValueError(f"--format must be parquet or letor. Got {form!r} instead.")
    if form == "letor" and not labelled:
        raise ValueError("LETOR text needs labels: give --qrels, or write --format parquet.")
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
