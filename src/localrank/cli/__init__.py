"""The `localrank` command."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from localrank.cli.compare import compare
from localrank.cli.convert import convert
from localrank.cli.demo import demo
from localrank.cli.distil import distil
from localrank.cli.evaluate import evaluate
from localrank.cli.explain import explain
from localrank.cli.export import export
from localrank.cli.features import features
from localrank.cli.fuse import fuse
from localrank.cli.info import info
from localrank.cli.interleave import interleave
from localrank.cli.methods import methods
from localrank.cli.rank import rank
from localrank.cli.reproduce import reproduce
from localrank.cli.serve import serve
from localrank.cli.train import train
from localrank.cli.tune import tune
from localrank.cli.warmup import warmup

SUMMARY = (
    "Query-adaptive learning to rank: compare methods, train, rank, evaluate, serve. "
    "New here? Run `localrank demo`."
)
# The panels of `localrank --help`, in the order they are shown.
PANELS = {
    "First steps": (demo, compare, methods, info),
    "Train and rank": (train, tune, rank, fuse, evaluate, explain),
    "Put a model to use": (distil, export, serve, interleave),
    "Prepare data": (features, convert),
    "More": (reproduce, warmup),
}
# Commands that keep finished work: the same command continues after an interruption.
CONTINUING = ("compare", "demo", "reproduce")


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    """The same parameters. Help shows no type beside a flag, which takes no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        return _without_types_of_flags(super().get_params(ctx))


class _Commands(TyperGroup):
    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        return _without_types_of_flags(super().get_params(ctx))

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            more = "; the same command continues" if ctx.invoked_subcommand in CONTINUING else ""
            # A terminal shows ^C: the message begins on the next line.
            start = "\n" if sys.stderr.isatty() else ""
            print(f"{start}interrupted{more}", file=sys.stderr, flush=True)
            sys.stdout.flush()
            # End at once: a regular exit would wait for running threads, which then complain.
            os._exit(130)


app = typer.Typer(
    name="localrank",
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for panel, commands in PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel, cls=_Command)(command)


@app.callback(help=SUMMARY, invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", "-V", help="Print the version and stop."),
    debug: bool = typer.Option(
        False, "--debug", help="Show the traceback of an error instead of one line."
    ),
) -> None:
    """Read the options that stand before a command."""
    if version:
        import localrank

        typer.echo(f"localrank {localrank.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line. An error prints one line, and the exit code is 1."""
    # LightGBM's threads spin while they wait: on a busy machine that costs tenfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # On Windows, files and pipes may lack letters, such as a minus that is not a hyphen.
        sys.stdout.reconfigure(errors="replace")
    # --debug may stand anywhere, also after the command.
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    warnings.showwarning = _say_warning
    try:
        app(arguments)
    except Exception as error:  # every error ends here, as one line without a traceback
        if debug:
            raise
        typer.echo(f"error: {_in_one_line(error)}", err=True)
        sys.exit(1)


def _in_one_line(error: Exception) -> str:
    # Some errors carry advice for the command line, such as the name of an option.
    text = " ".join(getattr(error, "on_command_line", str(error)).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError | OSError | ImportError):
        return text
    return f"{type(error).__name__}: {text} (run with --debug to see where)"


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"warning: {getattr(message, 'on_command_line', message)}", err=True)
