import io
import sys
import threading
from types import SimpleNamespace

import pytest

from localrank._base.progress import progress
from localrank.evaluation import compare, tune
from localrank.rankers import BestFeature, RankSVM


class Screen(io.StringIO):
    def isatty(self):
        return True


class Notebook:
    """Outputs of a cell, as `IPython.display.display` writes and updates them."""

    def __init__(self):
        self.sent = []
        self.outputs = []

    def display(self, content, *, raw, display_id):
        assert raw
        assert display_id
        self.outputs.append(None)
        place = len(self.outputs) - 1

        def update(content, *, raw):
            self.sent.append(content)
            self.outputs[place] = content

        update(content, raw=raw)
        return SimpleNamespace(update=update)

    @property
    def texts(self):
        return [content["text/plain"] for content in self.sent]


@pytest.fixture
def show(monkeypatch):
    """Make the error stream that of a terminal or a notebook; when called, not before."""

    def terminal():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", Screen())
        return sys.stderr

    def notebook(has_reader=True):
        cell = Notebook()
        shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=has_reader))
        display = SimpleNamespace(display=cell.display)
        ipython = SimpleNamespace(get_ipython=lambda: shell, display=display)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        monkeypatch.setattr("localrank._base.progress.INTERVAL", 0.0)
        return cell

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


def test_a_notebook_shows_bars_inside_others_in_one_output_that_is_empty_at_the_end(show):
    notebook = show.notebook()
    count()
    inner = [f"Outer: {n} of 2\nInner: {m} of 3" for n in range(2) for m in range(4)]
    outer = [f"Outer: {n} of 2" for n in range(3)]
    assert notebook.texts == [outer[0], *inner[:4], outer[1], *inner[4:], outer[2], ""]
    assert '<progress value="1" max="3"></progress> Inner: 1 of 3' in notebook.sent[2]["text/html"]
    assert notebook.outputs == [{"text/plain": "", "text/html": ""}]
    assert sys.stderr.getvalue() == ""


def test_a_notebook_is_sent_few_updates_of_many_steps(show, monkeypatch):
    notebook = show.notebook()
    monkeypatch.setattr("localrank._base.progress.INTERVAL", 3600.0)
    count(1, 1000)
    assert notebook.texts == ["Outer: 0 of 1", ""]


def test_an_unknown_number_of_steps_has_a_bar_without_an_end(show):
    notebook = show.notebook()
    with progress("<Reading>", None) as advance:
        advance()
    assert notebook.sent[1]["text/plain"] == "<Reading>: 1"
    assert notebook.sent[1]["text/html"].startswith("<div><progress></progress> &lt;Reading&gt;")


def test_a_notebook_that_is_executed_without_a_reader_is_silent(show):
    notebook = show.notebook(has_reader=False)
    count()
    assert notebook.outputs == []
    assert sys.stderr.getvalue() == ""


def test_an_error_takes_the_bars_of_a_notebook_away(show):
    notebook = show.notebook()
    with pytest.raises(ValueError, match="no luck"), progress("Outer", None):
        raise ValueError("no luck")
    assert notebook.texts[-1] == ""
    count()
    assert len(notebook.outputs) == 2


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
    assert "Tuning: 2 of 2" in notebook.texts
    compare({"a": BestFeature(), "b": RankSVM()}, queries, ["map"], baseline="a", n_folds=3)
    assert "Training: 3 of 3" in notebook.texts


def test_compare_and_tune_are_quiet_elsewhere(queries, capsys):
    tune(RankSVM(), {"C": [0.1, 1.0]}, queries, folds=2)
    compare({"a": BestFeature(), "b": RankSVM()}, queries, ["map"], baseline="a", n_folds=3)
    assert capsys.readouterr() == ("", "")
