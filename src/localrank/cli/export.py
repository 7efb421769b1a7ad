"""`localrank export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from localrank.cli._inputs import DataOptions, reads_data

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.export import Verification

# The exit code if the exported model ranks a list in another order.
OTHER_ORDER = 3


@reads_data
def export(
    model: Path = typer.Argument(help="A model file that `localrank train` wrote."),
    to: str = typer.Option(
        ...,
        "--to",
        metavar="TARGET",
        help="Engine or library, such as solr. `localrank methods` lists them.",
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write the files into."),
    verify: list[Path] = typer.Option(
        [],
        "--verify",
        metavar="DATA",
        help="Check the written files: rank these documents (a LETOR file or a table) as the "
        "engine would, and compare with the model. For a fusion of lists: the lists, one option "
        "for each, called like those of training. The exit code is "
        f"{OTHER_ORDER} if a list comes out in another order.",
    ),
    window: int | None = typer.Option(
        None,
        min=1,
        help="For a fusion of lists: the engine fuses this many documents of each list. "
        "By default, 100.",
    ),
    name: str = typer.Option("localrank", help="Name of the model in the engine."),
    as_json: bool = typer.Option(False, "--json", help="Print the comparison as JSON."),
    *,
    options: DataOptions,
) -> None:
    """Write a saved model as files for a search engine or another library.

    Example: localrank export model.localrank --to solr -o solr --verify test.txt
    """
    from localrank.cli._inputs import read_data
    from localrank.cli._tables import say
    from localrank.export import export as write
    from localrank.export import list_targets
    from localrank.export import verify as compare
    from localrank.persistence import load_ranker

    ranker = load_ranker(model)
    dataset = None
    fuses_lists = to in list_targets()
    if verify and fuses_lists:
        dataset = _read_lists(verify, getattr(ranker, "list_names_", None))
    elif verify:
        # First, so that a mistake in the data is reported before anything is written.
        dataset = read_data(
            verify,
            options,
            labels="ignored",
            like=ranker,
        )
    paths = write(ranker, to, output, name=name, window=window)
    say(f"Wrote {', '.join(str(path.relative_to(output)) for path in paths)} into {output}")
    if dataset is not None:
        result = compare(ranker, to, output, dataset)
        rounded = None
        if not result.same_order and not fuses_lists:
            single = _in_single_precision(dataset)
            rounded = None if single is None else compare(ranker, to, output, single)
        _print(result, rounded, to, as_json)
        if not result.same_order:
            raise typer.Exit(OTHER_ORDER)


def _read_lists(paths: Sequence[Path], names: Sequence[str] | None) -> RankingDataset | None:
    """The lists of a fusion. None: the model is no fusion of lists, and the export is refused."""
    from localrank.data import as_runs
    from localrank.fusion import lists_dataset

    if names is None:
        return None
    runs = as_runs(paths)
    if set(runs) != set(names):
        raise ValueError(
            f"The model fuses the lists {', '.join(names)}. Got {', '.join(runs)} to verify with. "
            "A list is called like its file: give one file for each, named so."
        )
    return lists_dataset(runs)


def _in_single_precision(dataset: RankingDataset) -> RankingDataset | None:
    """The documents in single precision. None: no value changes, or one overflows."""
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        features = dataset.features.astype(np.float32)
    if np.array_equal(features, dataset.features, equal_nan=True):
        return None
    if not np.isfinite(features[np.isfinite(dataset.features)]).all():
        return None
    return dataset.replaced(features=features)


def _print(result: Verification, rounded: Verification | None, to: str, as_json: bool) -> None:
    from dataclasses import asdict

    from localrank.cli._tables import print_facts, print_json

    if as_json:
        in_single = None if rounded is None else asdict(rounded)
        print_json({"to": to, **asdict(result), "in_single_precision": in_single})
        return
    rows = [
        ("lists, documents", f"{result.n_lists:,}, {result.n_documents:,}"),
        ("largest difference", f"{result.largest_difference:.3g}"),
        ("largest score", f"{result.largest_score:.3g} from the mean of its list"),
        ("lists in the same order", f"{result.n_equal_lists:,} of {result.n_lists:,}"),
    ]
    move = result.first_move
    if move is not None:
        rows.append(
            (
                "first that moves",
                f"document {move.document} of query {move.query}, from rank {move.rank} to "
                f"{move.exported_rank}; the model scores it {move.gap:.3g} above the document "
                f"that takes its place",
            )
        )
    if rounded is not None:
        rows.append(
            (
                "features in float32",
                f"{rounded.n_equal_lists:,} of {rounded.n_lists:,} lists in the same order, "
                f"largest difference {rounded.largest_difference:.3g}. Engines keep features in "
                f"single precision: train and verify on such features (LETOR text: --float32)",
            )
        )
    print_facts(f"Ranked as {to} would", rows)
