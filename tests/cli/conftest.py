import sys

import pytest

from localrank.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: exit code, output, error output."""

    def call(*arguments) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["localrank", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as stop:
            main()
        output = capsys.readouterr()
        return stop.value.code, output.out, output.err

    return call
