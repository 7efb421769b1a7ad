"""`localrank convert`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli._inputs import DataOptions, reads_data


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
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace partitions that the folder already holds."
    ),
    *,
    options: DataOptions,
) -> None:
    """Cut data into partitions of whole queries, to work on data larger than memory.

    Example: localrank convert train.txt -o partitions
    """
    from localrank.cli._tables import say, say_if_compiling
    from localrank.data import convert as convert_files

    # Single precision is the default.
    if options.pop("dtype", None) and float64:
        raise ValueError("--float32 and --float64 exclude each other: give one of them.")
    say_if_compiling()
    n_partitions = convert_files(
        files,
        output,
        partition_size=partition_size,
        dtype="float64" if float64 else "float32",
        overwrite=overwrite,
        **options,
    )
    noun = "partition" if n_partitions == 1 else "partitions"
    say(f"Wrote {n_partitions:,} {noun} into {output}")
