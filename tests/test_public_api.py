"""The public interface is written down: a change of it is a change of `tests/public_api.txt`."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "tests" / "public_api.txt"
SCRIPT = runpy.run_path(str(ROOT / "docs" / "public_names.py"))


def changes(before, now):
    """What went away and what came between two interfaces, and what to do. Empty: no change."""
    old, new = before.splitlines(), now.splitlines()
    gone = [f"- {line}" for line in old if line not in new]
    come = [f"+ {line}" for line in new if line not in old]
    if not gone and not come:
        return ""
    advice = ["If you mean it, write it down: python docs/public_names.py"]
    if gone:
        advice.insert(0, 'Something changed or went away: "Deprecation" in CONTRIBUTING.md.')
    return "\n".join(["The public interface changed.", *gone, *come, *advice])


def test_the_public_interface_is_the_one_that_is_written_down():
    told = changes(WRITTEN.read_text(encoding="utf-8"), SCRIPT["interface"]())
    assert not told, told


def test_what_is_new_is_to_be_written_down():
    told = changes("a()\n", "a()\nb()\n")
    assert "+ b()" in told
    assert "python docs/public_names.py" in told
    assert "Deprecation" not in told


def test_what_is_gone_is_to_be_deprecated_first():
    assert "- b(x)\n+ b(y)\nSomething changed or went away" in changes("a()\nb(x)\n", "a()\nb(y)\n")


class Base:
    __module__ = "localrank.made_up"

    def __init__(self, size=1): ...

    def shared(self, rows): ...

    @property
    def state(self): ...


class Part(Base):
    __module__ = "localrank.made_up"

    def own(self, x: int = 3, *, y: str = "a") -> None: ...

    def _private(self): ...


@pytest.mark.parametrize(
    ("public", "lines"),
    [
        ({Base}, ["p.Part(size=1) is a Base", "p.Part.own(x=3, *, y='a')"]),
        (
            set(),
            ["p.Part(size=1)", "p.Part.own(x=3, *, y='a')", "p.Part.shared(rows)", "p.Part.state"],
        ),
    ],
)
def test_methods_of_a_public_base_stand_with_the_base(public, lines):
    assert list(SCRIPT["_class_lines"]("p.Part", Part, public)) == lines


def test_commands_have_their_options():
    text = WRITTEN.read_text(encoding="utf-8").splitlines()
    assert {"$ localrank rank MODEL", "$ localrank train --output -o", "ranker best"} <= {*text}
