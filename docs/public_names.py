"""Write every public name into `reference/index.md`, and its signature into `public_api.txt`.

Run it after adding, renaming or describing one: `python docs/public_names.py`. Tests compare both
files with the packages. What is promised of `public_api.txt` is in CONTRIBUTING.md, "Deprecation".
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from typer.main import get_command

import localrank
from localrank import registry
from localrank.cli import app

SOURCE = Path(localrank.__file__).parent
PAGE = Path(__file__).parent / "reference" / "index.md"
INTERFACE = Path(__file__).parents[1] / "tests" / "public_api.txt"
# The modules beside the packages that others may import from.
MODULES = ("client", "explanation", "local_ranker", "registry", "warmup")
# Nothing is promised of these: an experiment follows its paper.
FREE = ("localrank.experiments",)
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
    for module in public_modules():
        last = module.__name__.split(".")[-1]
        reference = PAGE.with_name(f"{PAGES.get(last, last)}.md")
        more = f" [In full]({reference.name})." if reference.exists() else ""
        parts += [f"## {module.__name__}\n", f"{first_line(module)}{more}\n"]
        parts.append("| name | what it is |\n|---|---|")
        for name, origin in sorted(public_names(module).items()):
            parts.append(f"| `{name}` | {summary(module, name, origin)} |")
        parts.append("")
    return "\n".join(parts)


def public_modules() -> list[ModuleType]:
    """The packages that export names, and the modules that others may import from."""
    return [*public_packages(), *(import_module(f"localrank.{name}") for name in MODULES)]


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


def interface() -> str:
    """What others may write: names with parameters and defaults, one line each. No types."""
    return "\n".join([*sorted({*_python_lines(), *_command_lines(), *_part_lines()}), ""])


def _python_lines() -> Iterator[str]:
    """Functions, classes and their methods, by the module that exports them."""
    exports = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in public_modules()
        if module.__name__ not in FREE
        for name in public_names(module)
    }
    classes = {value for value in exports.values() if inspect.isclass(value)}
    for path, value in exports.items():
        if inspect.isclass(value):
            yield from _class_lines(path, value, classes - {value})
        else:
            yield f"{path}{_signature(value)}" if inspect.isroutine(value) else path


def _class_lines(path: str, cls: type, others: set[type]) -> Iterator[str]:
    """A class, and its methods but for those that a public class above it has the same."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("localrank")]
    above = [base for base in ours if base in others]
    made_here = any({"__init__", "__new__"} & vars(base).keys() for base in ours)
    kind = f" is a {', '.join(base.__name__ for base in above)}" if above else ""
    yield f"{path}{_signature(cls) if made_here else ''}{kind}"
    for name in sorted({name for base in ours for name in vars(base)}):
        method = _method(cls, name)
        if method and method not in [_method(base, name) for base in above]:
            yield f"{path}.{method}"


def _method(cls: type, name: str) -> str | None:
    """A public method with its parameters, or the name of a property. None: neither."""
    member = inspect.getattr_static(cls, name, None)
    if name.startswith("_") and name != "__call__":
        return None
    if isinstance(member, property | cached_property):
        return name
    if inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
        return f"{name}{_signature(getattr(cls, name))}"
    return None


def _signature(value: Any) -> str:
    """Names, kinds and defaults of the parameters."""
    signature = inspect.signature(value)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return re.sub(r"<function .*? at 0x\w+>", "<function>", str(inspect.Signature(parameters)))


def _command_lines() -> Iterator[str]:
    """The arguments and options of each command."""
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        yield f"$ localrank {name}"
        for parameter in command.params:
            names = [*parameter.opts, *parameter.secondary_opts]
            is_option = names[0].startswith("-")
            yield f"$ localrank {name} {' '.join(names) if is_option else names[0].upper()}"


def _part_lines() -> Iterator[str]:
    """The names by which the command line and `localrank.registry` know parts."""
    for kind in registry.PACKAGES:
        yield from (f"{kind} {name}" for name in registry.parts(kind))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    INTERFACE.write_text(interface(), encoding="utf-8")
