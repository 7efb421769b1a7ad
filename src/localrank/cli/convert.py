"""`localrank convert`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli.inputs import Reading, reads_data


@reads_data
def convert(
    files: list[Path] = typer.Argument(help="LETOR files, or tables: Parquet, CSV, Arrow."),
    output: Path = typer.Option(..., "--output", "-o", help="The folder to write partitions into."),
    partition_size: str = typer.Option(
        "128MB", help="Documents in a partition, or bytes of features: 100000, 64MB, 1GB."
    ),
    float64: bool = typer.Option(False, "--float64", help="Features in double precision."),
    n_features: int = typer.Option(
        0, min=0, help="LETOR text: number of features; 0: as many as seen."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace partitions that are there."),
    *,
    reading: Reading,
) -> None:
    """Write data of any size as partitions of whole queries."""
    from localrank.cli.inputs import (
        are_logs,
        column_names,
        refuse_log_options,
        refuse_other_options,
    )
    from localrank.cli.tables import say, say_if_compiling
    from localrank.data import convert as convert_files
    from localrank.data.tables import is_table

    if float64 and reading.float32:
        raise ValueError("--float32 and --float64 exclude each other: give one.")
    if reading.categories:
        raise ValueError("--categories is not for convert: write the categories as numbers.")
    if are_logs(files, reading):
        raise ValueError(
            f"{files[0]}: is a feature log, which other commands read as it is and `convert` does "
            f"not."
        )
    tables = bool(reading.column_description) or is_table(files[0])
    if not tables:
        refuse_other_options(files[0], reading)
        say_if_compiling()
    elif reading.zero_based or n_features:
        option = "--zero-based" if reading.zero_based else "--n-features"
        raise ValueError(f"{files[0]}: is a table. {option} is for LETOR text.")
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
