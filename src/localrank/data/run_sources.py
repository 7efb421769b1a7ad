"""Runs and judgments from any source: files, dicts, DataFrames, and the objects of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from localrank.data._run_forms import Pairs, Wanted, of_frame, of_mapping, of_records
from localrank.data.trec import QRELS, RUN, Qrels, Run, read_qrels, read_run

# Suffixes of compressed files.
PACKED = (".gz", ".bz2", ".xz")


def as_run(source: Any, name: str | None = None, *, columns: Sequence[str] | None = None) -> Run:
    """A run from a file, a dict, a DataFrame, or an object of another library.

    Parameters
    ----------
    source : path, Run, dict, ranx.Run, DataFrame, or iterable of ScoredDoc
        A file as for `read_run`; a dict `{query: {document: score}}`; a run of ranx; a DataFrame
        of any library with columns such as `query_id`, `doc_id` and `score`, or `qid`, `docno`
        and `score`; records of ir_measures, which have the attributes `query_id`, `doc_id` and
        `score`.
    name : str or None, default=None
        The tag of the run. None: its own, or "run".
    columns : sequence of str or None, default=None
        The columns of a table: query, document, score. None: go by their names.

    Examples
    --------
    >>> run = as_run({"q1": {"d3": 12.5, "d7": 9.75}}, "bm25")
    >>> run
    Run 'bm25': 1 queries, 2 documents
    >>> run.document_ids
    array(['d3', 'd7'], dtype='<U2')
    """
    if isinstance(source, str | PathLike):
        run = read_run(source, columns=columns)
    elif isinstance(source, Run):
        run = source
    else:
        own = getattr(source, "name", None)
        tag = name or (own if isinstance(own, str) and own else "run")
        run = Run(*_pairs(source, replace(RUN, columns=columns), f"The run {tag!r}: "), tag=tag)
    return run if name is None or run.tag == name else replace(run, tag=name)


def as_runs(sources: Mapping[str, Any] | Sequence[Any]) -> dict[str, Run]:
    """Several runs by name.

    Parameters
    ----------
    sources : mapping of str, or sequence
        What `as_run` takes. In a sequence, a file's run is called like the file, without the
        suffix of its format, others by their tags. Files with the same name are called by their
        folders, too. Where two names are the same, the later one is numbered.

    Examples
    --------
    >>> list(as_runs([Run(["q"], ["d"], [1.0], "bm25"), Run(["q"], ["d"], [2.0], "bm25")]))
    ['bm25', 'bm25-2']
    """
    if isinstance(sources, Mapping):
        return {str(name): as_run(source, str(name)) for name, source in sources.items()}
    if isinstance(sources, str | PathLike):
        raise ValueError(f"Give runs as a dict by name, or as a list. Got {sources!r} instead.")
    sources = list(sources)
    names = _file_names([source for source in sources if isinstance(source, str | PathLike)])
    runs: dict[str, Run] = {}
    for source in sources:
        run = as_run(source)
        is_file = isinstance(source, str | PathLike)
        name = numbered = names[Path(source).resolve()] if is_file else run.tag
        count = 1
        while numbered in runs:
            count += 1
            numbered = f"{name}-{count}"
        runs[numbered] = as_run(run, numbered)
    return runs


def _file_names(files: Sequence[str | PathLike[str]]) -> dict[Path, str]:
    """Names of files: without what says their format, and with the folders that tell them apart."""
    paths = [Path(file).resolve() for file in files]
    if twice := [path for number, path in enumerate(paths) if path in paths[:number]]:
        raise ValueError(f"{twice[0]} is given twice. Give each run once.")
    stems = [_without_format(path) for path in paths]
    names = [path.name for path in stems]
    for n_parts in range(2, max((len(path.parts) for path in paths), default=0)):
        if len(set(names)) == len(names):
            break
        names = ["/".join(path.parts[-n_parts:]) for path in stems]
    if len(set(names)) < len(names):
        # They differ by what says their format.
        names = [path.name for path in paths]
    return dict(zip(paths, names, strict=True))


def _without_format(path: Path) -> Path:
    while path.suffix in PACKED:
        path = path.with_suffix("")
    return path.with_suffix("")


def as_qrels(source: Any, *, columns: Sequence[str] | None = None) -> Qrels:
    """Judgments from a file, a dict, a DataFrame, or an object of another library.

    Parameters
    ----------
    source : path, Qrels, dict, ranx.Qrels, DataFrame, or iterable of Qrel
        A file as for `read_qrels`; a dict `{query: {document: relevance}}`; judgments of ranx; a
        DataFrame of any library with columns such as `query_id`, `doc_id` and `relevance`;
        records of ir_measures, which have the attributes `query_id`, `doc_id` and `relevance`.
        `localrank.text.read_judgments` takes all of these, and more files.
    columns : sequence of str or None, default=None
        The columns of a table: query, document, relevance. None: go by their names.

    Examples
    --------
    >>> as_qrels({"q1": {"d3": 0, "d7": 2}})
    Qrels: 1 queries, 2 judged documents, 1 relevant
    """
    if isinstance(source, str | PathLike):
        return read_qrels(source, columns=columns)
    if isinstance(source, Qrels):
        return source
    return Qrels(*_pairs(source, replace(QRELS, columns=columns), "The judgments: "))


def _pairs(source: Any, wanted: Wanted, where: str) -> Pairs:
    if isinstance(source, Mapping):
        return of_mapping(source, wanted, where)
    # ranx keeps them in an attribute that is called like their class.
    if any(hasattr(source, attribute) for attribute in ("run", "qrels")):
        return of_mapping(source.to_dict(), wanted, where)
    if hasattr(source, "columns") or hasattr(source, "__dataframe__"):
        return of_frame(source, wanted, where)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return of_records(source, wanted, where)
    raise TypeError(
        f"{where}it must be a path, a dict {{query: {{document: {wanted.form.name}}}}}, a "
        f"DataFrame, or an object of localrank, ranx or ir_measures. Got a "
        f"{type(source).__name__} instead."
    )
