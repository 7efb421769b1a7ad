"""`localrank convert`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli._inputs import Reading, reads_data


@reads_data
def convert(
    files: list[Path] = typer.Argument(help="LETOR files, or tables: Parquet, CSV, Arrow."),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write the partitions into."),
    partition_size: str = typer.Option(
        "128MB",
        help="Size of a partition: a number of documents, such as 100000, or bytes of features, "
        "such as 64MB or 1GB.",
    ),
    float64: bool = typer.Option(
        False, "--float64", help="Store features in double precision. By default, in single."
    ),
    n_features: int = typer.Option(
        0, min=0, help="LETOR text: number of features. 0: the largest feature id in the files."
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace partitions that the folder already holds."
    ),
    *,
    reading: Reading,
) -> None:
    """Cut data into partitions of whole queries, to work on data larger than memory.

    Example: localrank convert train.txt -o partitions
    """
    from localrank.cli._inputs import (
        are_logs,
        column_names,
        refuse_log_options,
        refuse_other_options,
    )
    from localrank.cli._tables import say, say_if_compiling
    from localrank.data import convert as convert_files
    from localrank.data.tables import is_table

    if float64 and reading.float32:
        raise ValueError("--float32 and --float64 exclude each other: give one of them.")
    if reading.categories:
        raise ValueError(
            "`convert` does not take --categories: write the categories as numbers first."
        )
    if are_logs(files, reading):
        raise ValueError(
            f"{files[0]}: is a feature log. `convert` takes LETOR text and tables; other commands "
            f"read feature logs directly."
        )
    tables = bool(reading.column_description) or is_table(files[0])
    if not tables:
        refuse_other_options(files[0], reading)
        say_if_compiling()
    elif reading.zero_based or n_features:
        option = "--zero-based" if reading.zero_based else "--n-features"
        raise ValueError(f"{files[0]}: is a table, and {option} is for LETOR text.")
    else:
        refuse_log_options(files[0], reading, "is a table")
    n_partitions = convert_files(
        files,
        output,
        partition_size=partition_size,
        dtype="float64" if float64 else "float32",
        overwrite=overwrite,
        n_features=n_features or None,
        zero_based=reading.zero_based,
        qid=reading.qid,
        label=reading.label or None,
        document_id=reading.document_id or None,
        features=column_names(reading.features) or None,
        ignore=column_names(reading.ignore),
        column_description=reading.column_description or None,
    )
    noun = "partition" if n_partitions == 1 else "partitions"
    say(f"Wrote {n_partitions:,} {noun} into {output}")
