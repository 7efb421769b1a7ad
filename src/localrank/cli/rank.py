"""`localrank rank`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli._inputs import DataOptions, on_cluster, reads_data

if TYPE_CHECKING:
    from localrank.data import Partition, RankingDataset
    from localrank.data._score_files import ScoreFormat
    from localrank.text import FeatureExtractor


@on_cluster
@reads_data
def rank(
    model: Path = typer.Argument(help="A model file that `localrank train` wrote."),
    data: list[Path] = typer.Argument(
        None,
        help="Documents to rank: LETOR files, tables, partitions or feature logs. -: read LETOR "
        "text from standard input.",
    ),
    query: str | None = typer.Option(
        None,
        metavar="WORDS",
        help="Rank by the words of a query instead, for example 'green tea'. The model must be "
        "trained with --extractor.",
    ),
    corpus: Path | None = typer.Option(
        None,
        help="With --query: documents to rank, as JSON lines, or the folder of another index that "
        "`localrank features --index` wrote. By default, the documents of the model's index.",
    ),
    depth: int | None = typer.Option(
        None,
        min=1,
        help="With --query: number of candidates to take from the index. By default, as many as "
        "the model was trained on; another number changes the ranking. For a shorter list, use "
        "--top.",
    ),
    top: int | None = typer.Option(
        None, min=1, help="With --query: write only this many documents, the best ones."
    ),
    encoder: Path | None = typer.Option(
        None,
        help="With --query: folder of the encoder that `localrank features` was given, if the "
        "model ranks by vectors, too.",
    ),
    public_key: Path | None = typer.Option(
        None,
        help="With --corpus FOLDER: a file with an Ed25519 key of 32 bytes. An index that was not "
        "signed with its private key is refused.",
    ),
    output: Path = typer.Option(
        Path("-"),
        "--output",
        "-o",
        help="TREC run to write. -: print it. A folder: one file of scores for each partition.",
    ),
    tag: str = typer.Option("localrank", help="Name of the run, the last column of its lines."),
    form: str = typer.Option(
        "parquet", "--format", help="Format of the files of scores in a folder: parquet or run."
    ),
    *,
    options: DataOptions,
) -> None:
    """Rank documents with a saved model and write a TREC run.

    Example: localrank rank model.localrank test.txt -o run.txt
    """
    import time

    from localrank.cli._inputs import check_output, is_partitioned, read_data
    from localrank.cli._tables import cost, say
    from localrank.data import write_run
    from localrank.data.trec import run_lines
    from localrank.persistence import load_ranker

    if query is not None:
        _rank_by_words(model, query, corpus, depth, top, encoder, public_key, output, tag, data)
        return
    if corpus is not None:
        raise ValueError("--corpus needs --query, the words to rank its documents by.")
    words_alone = {
        "--depth": depth, "--top": top, "--encoder": encoder, "--public-key": public_key
    }  # fmt: skip
    for option, given in words_alone.items():
        if given is not None:
            raise ValueError(f"{option} needs --query.")
    if not data:
        raise ValueError("Nothing to rank: give files of documents, or words with --query.")
    into_folder = str(output) != "-" and (output.is_dir() or not output.suffix)
    into_folder = into_folder and is_partitioned(data)
    if into_folder:
        _check_format(form, output)
    elif str(output) != "-" and not output.exists():
        check_output(output)
    start = time.perf_counter()
    ranker = load_ranker(model)
    dataset = read_data(data, options, labels="ignored", like=ranker)
    if into_folder and dataset.partitions:
        _rank_partitions(model, ranker, dataset, output, form, tag, start)
        return
    scores = ranker.predict(dataset)
    dataset = dataset.without_features()
    if str(output) == "-":
        sys.stdout.writelines(run_lines(dataset, scores, tag))
        return
    write_run(dataset, scores, output, tag=tag)
    say(
        f"Ranked {dataset.n_queries:,} queries, {dataset.n_documents:,} documents into {output} "
        f"in {cost(time.perf_counter() - start)}"
    )


def _rank_by_words(
    path: Path,
    query: str,
    corpus: Path | None,
    depth: int | None,
    top: int | None,
    encoder: Path | None,
    public_key: Path | None,
    output: Path,
    tag: str,
    data: list[Path] | None,
) -> None:
    """Write the run of one query, whose id is 1."""
    from itertools import islice

    from localrank.cli._inputs import check_output, read_key
    from localrank.cli._tables import say
    from localrank.data._atomic import atomic_write
    from localrank.data.trec import run_lines
    from localrank.persistence import load
    from localrank.text import TextRanker, load_extractor, read_corpus

    if data:
        raise ValueError("Give files of features or --query, not both.")
    if str(output) != "-":
        check_output(output)
    model = load(path)
    if corpus is not None and corpus.is_dir():
        # The folder is another index, for example of a corpus larger than memory.
        extractor = load_extractor(corpus, public_key=read_key(public_key))
        ranker = model
        if isinstance(model, TextRanker):
            _check_settings(model.extractor_, extractor, corpus)
            ranker, extractor.depth = model.ranker_, model.extractor_.depth
        model, corpus = TextRanker.of(extractor, ranker), None
    elif public_key is not None:
        raise ValueError("--public-key is for the folder of an index: give it with --corpus.")
    if not isinstance(model, TextRanker):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which ranks by features. To rank by the "
            f"words of --query, train a model with --extractor."
        )
    if encoder is not None:
        model.extractor_.use_encoder(encoder)
    documents = None if corpus is None else list(read_corpus(corpus))
    if depth is not None and documents is not None:
        raise ValueError("--depth is for documents of an index. Leave it out, or --corpus.")
    if depth is not None and depth != model.extractor_.depth:
        say(
            f"The model was trained on {model.extractor_.depth:,} candidates of each query, and "
            f"ranks {depth:,}. For a shorter list, use --top."
        )
    dataset, _ = model.list_of(query, documents, depth=depth)
    if dataset is None:
        raise ValueError(f"No document in the index contains a word of the query {query!r}.")
    # The lines of one query: the best documents come first.
    lines = islice(run_lines(dataset, model.ranker_.predict(dataset), tag), top)
    if str(output) == "-":
        sys.stdout.writelines(lines)
        return
    with atomic_write(output) as file:
        file.writelines(line.encode() for line in lines)


def _check_settings(ours: FeatureExtractor, theirs: FeatureExtractor, folder: Path) -> None:
    """Refuse an index with other settings: its features have the same names but other values."""
    from localrank.text import Analyzer

    for name in ("with_vectors", "analyzer", "variant", "k1", "b", "prior", "share", "discount"):
        value, known = getattr(theirs, name), getattr(ours, name)
        if name == "analyzer":
            value, known = repr(value or Analyzer()), repr(known or Analyzer())
        if value != known:
            raise ValueError(
                f"{folder} was indexed with {name}={value}, and the model was trained with "
                f"{known}. Index it with the model's settings."
            )


def _check_format(form: str, output: Path) -> None:
    from localrank.cli._inputs import check_folder

    if form not in ("parquet", "run"):
        raise ValueError(f"--format must be parquet or run. Got {form!r} instead.")
    check_folder(output)


def _rank_partitions(
    model: Path,
    ranker: Any,
    dataset: RankingDataset,
    folder: Path,
    form: Any,
    tag: str,
    start: float,
) -> None:
    """Write the scores of each partition, unless the same model has written them before."""
    import time

    import localrank
    from localrank._base.parallel import in_parallel
    from localrank.cli._tables import cost, say
    from localrank.data._score_files import content_of, refuse_data, refuse_others

    folder.mkdir(parents=True, exist_ok=True)
    refuse_others(folder, dataset)
    refuse_data(folder, dataset)
    facts = {"model": content_of(model), "tag": tag, "version": localrank.__version__}
    made = in_parallel(
        _rank_partition,
        dataset.partitions,
        shared=(ranker, folder.absolute(), form, tag, facts),
        n_jobs=1,
        description="Ranking",
    )
    kept = len(made) - sum(made)
    say(
        f"Ranked {dataset.n_queries:,} queries, {dataset.n_documents:,} documents into {folder} "
        f"in {cost(time.perf_counter() - start)}"
        + (f"; {kept:,} of {len(made):,} partitions were done before" if kept else "")
    )


def _rank_partition(
    partition: Partition,
    ranker: Any,
    folder: Path,
    form: ScoreFormat,
    tag: str,
    facts: dict[str, str],
) -> bool:
    """Write the scores of a partition. False if they were written before."""
    from localrank.data._score_files import is_finished, origin, score_path, write_scores

    path, known = score_path(folder, partition, form), origin(partition, **facts)
    if is_finished(path, known):
        return False
    part = partition.read()
    write_scores(part, ranker.predict(part), path, tag, known)
    for other in ("parquet", "run"):
        if other != form:
            score_path(folder, partition, other).unlink(missing_ok=True)
    return True
