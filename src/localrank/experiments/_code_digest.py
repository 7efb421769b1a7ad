"""What a page was made by: the digest of an experiment's code, and the commit."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from localrank.persistence import library_versions

FOLDER = Path(__file__).parent
# These decide which experiments run and how a page tells it, not what one of them finds.
LEFT_OUT = {"__init__", "by_name", "_page_text"}


def code_digest(experiment: str, folder: Path = FOLDER) -> str:
    """A digest of an experiment: its modules in a folder, and the published numbers they name.

    The modules are the experiment's own and those that it imports. Comments, docstrings and the
    layout do not count.

    Examples
    --------
    >>> len(code_digest("lgmml")), code_digest("lgmml") == code_digest("local-rank")
    (16, False)
    """
    trees = dict(_modules(experiment.replace("-", "_"), folder))
    words = {
        node.value
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    published = tomllib.loads((folder / "published.toml").read_text(encoding="utf-8"))
    parts = {
        "modules": {name: _plain(tree) for name, tree in sorted(trees.items())},
        "published": {paper: published[paper] for paper in sorted(words & published.keys())},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _modules(name: str, folder: Path) -> Iterator[tuple[str, ast.Module]]:
    """A module and those of the folder that it imports, and so on: names and syntax trees."""
    seen, waiting = set(LEFT_OUT), [name]
    while waiting:
        name = waiting.pop()
        if name in seen or not (folder / f"{name}.py").is_file():
            continue
        seen.add(name)
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        yield name, tree
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(__package__):
                module = (node.module or "").removeprefix(__package__).strip(".")
                waiting += [module] if module else [alias.name for alias in node.names]


def _plain(node: Any) -> Any:
    """A syntax tree as JSON, without docstrings and places, the same in all versions of Python.

    Fields that are empty are left out: newer versions have more of them.
    """
    if isinstance(node, list):
        return [_plain(member) for member in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = node.body[ast.get_docstring(node, clean=False) is not None :]
    kept = {name: _plain(value) for name, value in fields.items() if value not in (None, [])}
    return {"": type(node).__name__, **kept}


def source_digest() -> str:
    """A digest of all of localrank's code, to the byte: the key of work that is to be continued."""
    code = hashlib.sha256()
    for path in sorted(FOLDER.parent.rglob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()[:16]


def commit() -> str:
    """The last commit that changed the code, as words. Without git: the version.

    Examples
    --------
    >>> commit().split()[0] in ("at", "after", "from")
    True
    """
    try:
        # A package in somebody else's repository, such as in an environment there, has none.
        _git("ls-files", "--error-unmatch", "__init__.py")
        short = _git("log", "-1", "--format=%h", "--abbrev=10", "--", ".")
        changed = _git("status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return f"from version {library_versions()['localrank']}"
    return f"after commit {short}, with changes" if changed else f"at commit {short}"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(FOLDER.parent), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
