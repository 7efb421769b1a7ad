"""The `localrank` command."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from localrank.cli.compare import compare
from localrank.cli.convert import convert
from localrank.cli.demo import demo
from localrank.cli.distil import distil
from localrank.cli.evaluate import evaluate
from localrank.cli.explain import explain
from localrank.cli.export import export
from localrank.cli.features import features
from localrank.cli.info import info
from localrank.cli.methods import methods
from localrank.cli.rank import rank
from localrank.cli.reproduce import reproduce
from localrank.cli.serve import serve
from localrank.cli.train import train
from localrank.cli.tune import tune
from localrank.cli.warmup import warmup

# What keeps finished work, and goes on from there.
GO_ON = ("compare", "demo", "reproduce")


class _Commands(TyperGroup):
    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            more = "; the same command continues" if ctx.invoked_subcommand in GO_ON else ""
            # Behind the ^C that a terminal shows.
            start = "\n" if sys.stderr.isatty() else ""
            print(f"{start}interrupted{more}", file=sys.stderr, flush=True)
            sys.stdout.flush()
            # At once: threads at work would hold up a regular end, and complain about it.
            os._exit(130)


app = typer.Typer(
    name="localrank",
    cls=_Commands,
    help="Query-adaptive learning to rank: train, rank, evaluate.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (demo, compare, train, tune, rank, evaluate, explain, distil, export, serve):
    app.command()(command)
for command in (features, convert, reproduce, info, methods, warmup):
    app.command()(command)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", "-V", help="Print the version and stop."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
) -> None:
    """Query-adaptive learning to rank: train, rank, evaluate."""
    if version:
        import localrank

        typer.echo(f"localrank {localrank.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command; an error in the data or the request is one line and exit code 1."""
    # LightGBM's threads spin while they wait, which on a busy machine costs tenfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # --debug may stand anywhere, also behind the command it is meant for.
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    warnings.showwarning = _say_warning
    try:
        app(arguments)
    except Exception as error:  # the last door: whatever went wrong, one line and no traceback
        if debug:
            raise
        typer.echo(f"error: {_in_one_line(error)}", err=True)
        sys.exit(1)


def _in_one_line(error: Exception) -> str:
    # Advice in the words of the command line, where an error has some.
    text = " ".join(getattr(error, "on_command_line", str(error)).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError | OSError | ImportError):
        return text
    return f"{type(error).__name__}: {text} (run with --debug to see where)"


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"warning: {message}", err=True)
