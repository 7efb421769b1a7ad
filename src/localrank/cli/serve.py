"""`localrank serve`."""

from __future__ import annotations

import os
from pathlib import Path

import typer


def serve(
    models: list[Path] = typer.Argument(
        help="Model files. Each is served under its file name without the ending, or as "
        "NAME=FILE. The first one answers requests that name no model."
    ),
    host: str = typer.Option(
        "127.0.0.1",
        help="Address to listen on. The default answers this machine only; 0.0.0.0: all networks.",
    ),
    port: int = typer.Option(8080, min=0, max=65535, help="Port to listen on. 0: a free one."),
    workers: int = typer.Option(1, min=1, max=256, help="Number of processes that answer."),
    share: list[str] = typer.Option(
        [],
        metavar="NAME=SHARE",
        help="Let a model answer a share of the requests to the first model, for example new=0.05.",
    ),
    shadow: str = typer.Option(
        None,
        metavar="NAME",
        help="Rank with this model too, and record how it differs. Its rankings are not sent.",
    ),
    interleave: str = typer.Option(
        None,
        metavar="NAME:NAME",
        help="Compare two models in a live test: each answer to a request that names no model is "
        "a list of both, and says who picked which document.",
    ),
    clicks_log: Path = typer.Option(
        None,
        help="Accept clicks on these lists at /v1/clicks, and keep them in this folder for "
        "`localrank interleave`.",
    ),
    clicks_within: float = typer.Option(
        3600, min=1, help="Accept clicks for this many seconds after the answer."
    ),
    clicks_log_size: int = typer.Option(
        1 << 30, min=1 << 20, help="At most this many bytes of clicks. Then the oldest are deleted."
    ),
    token_file: Path = typer.Option(
        None,
        help="Ask for the token in this file. By default, for the token in LOCALRANK_TOKEN, if "
        "that is set.",
    ),
    timeout: float = typer.Option(2.0, min=0.001, help="At most this many seconds for a request."),
    max_body: int = typer.Option(8 << 20, min=1, help="At most this many bytes in a request."),
    max_documents: int = typer.Option(
        10_000, min=1, help="At most this many documents in a request."
    ),
    max_lists: int = typer.Option(1_000, min=1, help="At most this many lists in a request."),
    max_query_words: int = typer.Option(
        1_000, min=1, help="At most this many words in a query, for models that rank by words."
    ),
    encoder: Path = typer.Option(
        None,
        help="Folder of the encoder that `localrank features` was given, for models that rank by "
        "vectors, too. By default, requests bring the vector of their query.",
    ),
    max_queue: int = typer.Option(
        64, min=1, help="At most this many requests may wait, in each process."
    ),
    reload_interval: float = typer.Option(
        1.0, min=0.05, help="Seconds between checks for new model files."
    ),
    access_log: bool = typer.Option(False, help="Log a line for each request."),
) -> None:
    """Serve saved models over HTTP, with a page to try them in the browser.

    Example: localrank serve model.localrank
    """
    # A worker ranks one list at a time: threads inside it would only slow each other down.
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        from localrank import serving
    except ImportError as error:
        raise ImportError(
            f"The service needs {error.name}. Install it with pip install 'localrank[serve]'."
        ) from None
    settings = serving.Settings(
        _named(models),
        _shares(share),
        shadow,
        _token(token_file),
        max_body=max_body,
        max_documents=max_documents,
        max_lists=max_lists,
        max_query_words=max_query_words,
        encoder=encoder,
        max_queue=max_queue,
        timeout=timeout,
        reload_interval=reload_interval,
        interleave=_two(interleave),
        clicks_log=clicks_log,
        clicks_within=clicks_within,
        clicks_log_size=clicks_log_size,
    )
    serving.serve(settings, host=host, port=port, workers=workers, access_log=access_log)


def _named(models: list[Path]) -> dict[str, Path]:
    """Model files by name."""
    from localrank.persistence import read_manifest

    result: dict[str, Path] = {}
    for model in models:
        name, equals, file = str(model).partition("=")
        path = model
        if equals and not model.exists():
            path = Path(file)
        else:
            name = model.name.removesuffix(".localrank")
        if name in result:
            raise ValueError(
                f"Two models have the name {name!r}: give one as NAME=FILE, "
                f"for example {name}-2={path}."
            )
        read_manifest(path)  # raises if it is not a model file
        result[name] = path
    return result


def _shares(given: list[str]) -> dict[str, float]:
    result = {}
    for text in given:
        name, _, share = text.partition("=")
        try:
            result[name] = float(share)
        except ValueError:
            raise ValueError(
                f"--share must be NAME=SHARE, such as new=0.05. Got {text!r} instead."
            ) from None
    return result


def _two(given: str | None) -> tuple[str, str] | None:
    """The names of the models of a live test."""
    if given is None:
        return None
    first, colon, second = given.partition(":")
    if not (first and colon and second):
        raise ValueError(f"--interleave must be NAME:NAME, such as old:new. Got {given!r} instead.")
    return first, second


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get("LOCALRANK_TOKEN")
    token = file.read_text(encoding="utf-8").strip()
    if not token:
        raise ValueError(f"{file} holds no token. Write the token into it.")
    return token
