import io
import sys
import threading
from types import SimpleNamespace

import pytest

from localrank.evaluation import compare, tune
from localrank.progress import progress
from localrank.rankers import BestFeature, RankSVM


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def show(monkeypatch):
    """Make the error stream that of a terminal or a notebook; when called, not before."""

    def terminal():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", Screen())
        return sys.stderr

    def notebook():
        shell = SimpleNamespace(kernel=object())
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        return sys.stderr

    return SimpleNamespace(terminal=terminal, notebook=notebook)


def count(outer=2, inner=3):
    with progress("Outer", outer) as advance:
        for _ in range(outer):
            with progress("Inner", inner) as step:
                for _ in range(inner):
                    step()
            advance()


def test_bars_inside_others_are_shown_in_a_terminal(show):
    terminal = show.terminal()
    count()
    assert "Outer" in terminal.getvalue()
    assert "Inner" in terminal.getvalue()
    # Cleared, and ready for the next one.
    assert terminal.getvalue().rstrip().endswith("\x1b[2K\x1b[?25h")
    shown = len(terminal.getvalue())
    count()
    assert len(terminal.getvalue()) > shown


def test_a_notebook_shows_one_line_that_is_cleared_at_the_end(show):
    notebook = show.notebook()
    count()
    lines = notebook.getvalue().split("\r")
    assert [line for line in lines if line.strip()] == [f"Outer: {n} of 2" for n in range(3)]
    assert "\n" not in notebook.getvalue()
    assert lines[-2].strip() == lines[-1] == ""


def test_an_error_takes_the_bar_away(show):
    terminal = show.terminal()
    with pytest.raises(ValueError, match="no luck"), progress("Outer", None):
        raise ValueError("no luck")
    count()
    assert terminal.getvalue().count("Outer") >= 2


def test_threads_and_plain_streams_are_silent(show, monkeypatch):
    terminal = show.terminal()
    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    count()
    assert sys.stderr.getvalue() == ""


def test_compare_and_tune_show_progress_in_a_notebook(show, queries):
    notebook = show.notebook()
    tune(RankSVM(), {"C": [0.1, 1.0]}, queries, folds=2)
    assert "Tuning: 2 of 2" in notebook.getvalue()
    compare({"a": BestFeature(), "b": RankSVM()}, queries, ["map"], baseline="a", n_folds=3)
    assert "Training: 3 of 3" in notebook.getvalue()


def test_compare_and_tune_are_quiet_elsewhere(queries, capsys):
    tune(RankSVM(), {"C": [0.1, 1.0]}, queries, folds=2)
    compare({"a": BestFeature(), "b": RankSVM()}, queries, ["map"], baseline="a", n_folds=3)
    assert capsys.readouterr() == ("", "")
