"""Write `reference/index.md`: every public name with the first line of its docstring.

Run it after adding, renaming or describing one: `python docs/public_names.py`. A test compares the
page with the packages.
"""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import localrank

SOURCE = Path(localrank.__file__).parent
PAGE = Path(__file__).parent / "reference" / "index.md"
# The modules beside the packages that others may import from.
MODULES = ("client", "explanation", "local_ranker", "registry", "warmup")
# Pages that do not have the name of their package or module.
PAGES = {"registry": "methods"}
START = (
    "# Every public name\n\n"
    "A name is public if a package exports it, or if it stands without an underscore in one of "
    "the modules {modules}. A module or package whose name begins with an underscore is private: "
    "it exports nothing and may change at any time. `python docs/public_names.py` writes this "
    "page.\n"
)


def page() -> str:
    """The text of the page."""
    modules = ", ".join(f"`localrank.{name}`" for name in MODULES)
    parts = [START.format(modules=modules)]
    for module in [*public_packages(), *(import_module(f"localrank.{name}") for name in MODULES)]:
        last = module.__name__.split(".")[-1]
        reference = PAGE.with_name(f"{PAGES.get(last, last)}.md")
        more = f" [In full]({reference.name})." if reference.exists() else ""
        parts += [f"## {module.__name__}\n", f"{first_line(module)}{more}\n"]
        parts.append("| name | what it is |\n|---|---|")
        for name, origin in sorted(public_names(module).items()):
            parts.append(f"| `{name}` | {summary(module, name, origin)} |")
        parts.append("")
    return "\n".join(parts)


def public_packages() -> list[ModuleType]:
    """The packages that export names. The command line exports none."""
    folders = sorted(path.parent.relative_to(SOURCE).parts for path in SOURCE.rglob("__init__.py"))
    packages = [
        import_module(".".join(["localrank", *parts]))
        for parts in folders
        if not any(part.startswith("_") for part in parts) and parts[:1] != ("cli",)
    ]
    return [package for package in packages if public_names(package)]


def public_names(module: ModuleType) -> dict[str, str]:
    """What a package exports or a module defines, with the name of the module that defines it."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    if not hasattr(module, "__path__"):
        return {
            name: module.__name__
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", "") == module.__name__
            and not type(value).__module__.startswith("typing")
        }
    listed = getattr(module, "__all__", ())
    return {
        alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name or alias.name in listed
    }


def summary(module: ModuleType, name: str, origin: str) -> str:
    """The first line of a name's docstring; for a value, the comment above it."""
    value = getattr(module, name)
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        return first_line(value).replace("|", "\\|")
    source = Path(str(import_module(origin).__file__)).read_text(encoding="utf-8")
    match = re.search(rf"^# ([^\n]+)\n{name}\b[^\n=]*=", source, re.M)
    return match[1] if match else ""


def first_line(value: object) -> str:
    """The first line of a docstring, without references."""
    line = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r" \[\d[\d, ]*\]_?", "", line)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
