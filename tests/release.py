"""The steps of a release that a program can do. `make release` and its neighbours call them.

python tests/release.py version 0.1.0    # write a version where it stands
python tests/release.py check            # may this commit be released?
python tests/release.py copy FOLDER      # the last commit with its version, for a dry run
python tests/release.py upload           # print the last commands, which are yours
"""

import re
import subprocess
import sys
import tarfile
from datetime import date
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)
CITED = re.compile(r"^version: (.+)\n(?:date-released: (.+)\n)?", re.MULTILINE)
RECIPE = re.compile(r'^  version: "(.+)"$', re.MULTILINE)
NUMBER = re.compile(r"\d+\.\d+\.\d+(\.dev0|rc\d+)?")


def version_of(root: Path) -> str:
    """The version of the package in a folder."""
    match = VERSION.search((root / "src/localrank/__init__.py").read_text(encoding="utf-8"))
    assert match
    return match[1]


def write_version(root: Path, version: str, day: date) -> None:
    """Write a version into the package, the citation, the changelog and the recipe of conda.

    A version that ends in `.dev0` opens the next one, with a heading of its own.
    """
    if not NUMBER.fullmatch(version):
        raise SystemExit(f"A version is like 0.1.0, 0.1.0rc1 or 0.2.0.dev0. Got {version!r}.")
    number, _, is_open = version.partition(".dev")
    _replace(root / "src/localrank/__init__.py", VERSION, f'__version__ = "{version}"')
    released = "" if is_open else f"date-released: {day}\n"
    _replace(root / "CITATION.cff", CITED, f"version: {number}\n{released}")
    _replace(root / "packaging/conda/recipe.yaml", RECIPE, f'  version: "{number}"')
    changelog = root / "CHANGELOG.md"
    first = HEADING.search(changelog.read_text(encoding="utf-8"))
    assert first
    heading = f"## {number} ({'not yet released' if is_open else day})"
    # What was released stays below the heading of what follows it.
    below = f"\n\n{first[0]}" if is_open and first[2] != "not yet released" else ""
    _replace(changelog, HEADING, heading + below)


def _replace(path: Path, pattern: re.Pattern[str], new: str) -> None:
    text, n_found = pattern.subn(lambda _: new, path.read_text(encoding="utf-8"), count=1)
    assert n_found == 1, path
    path.write_text(text, encoding="utf-8")


def problems(root: Path) -> list[str]:
    """Why the files of a folder cannot be released. Empty: they can."""
    version = version_of(root)
    found = []
    if ".dev" in version:
        number = version.partition(".dev")[0]
        found.append(f"The version is {version}. Write it: make version VERSION={number}")
    heading = HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not heading or heading[1] != version or not _is_day(heading[2]):
        found.append(f"CHANGELOG.md does not begin with ## {version} (YYYY-MM-DD).")
    cited = CITED.search((root / "CITATION.cff").read_text(encoding="utf-8"))
    if not cited or cited[1] != version or not _is_day(cited[2] or ""):
        found.append(f"CITATION.cff lacks version: {version}, or date-released below it.")
    return found


def problems_of_commit(root: Path) -> list[str]:
    """Why the state of the repository cannot be released. Empty: it can."""
    tag = f"v{version_of(root)}"
    found = []
    if _git(root, "status", "--porcelain"):
        found.append("There are changes that are not committed: git status")
    if (branch := _git(root, "branch", "--show-current")) != "main":
        found.append(f"This is the branch {branch or '(none)'}, not main.")
    tagged = _git(root, "tag", "--list", tag)
    if tagged and _git(root, "rev-list", "-n1", tag) != _git(root, "rev-parse", "HEAD"):
        found.append(f"The tag {tag} is on another commit.")
    return found


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text) <= date.today()
    except ValueError:
        return False


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
    return done.stdout.decode().strip()


def copy(root: Path, folder: Path) -> None:
    """Write the last commit into a folder, with the version that it would be released with."""
    archive = ["git", "archive", "--format=tar", "HEAD"]
    content = subprocess.run(archive, cwd=root, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(content)) as file:
        file.extractall(folder, filter="data")
    write_version(folder, version_of(folder).partition(".dev")[0], date.today())


def commands(version: str) -> list[str]:
    """What is left after `make release`."""
    return [
        f'git tag -a v{version} -m "localrank {version}"',
        f"git push origin main v{version}",
        f".venv/bin/twine upload dist/localrank-{version}*",
        f"make version VERSION={_next(version)}.dev0",
    ]


def _next(version: str) -> str:
    major, minor = version.split(".")[:2]
    return f"{major}.{int(minor) + 1}.0"


def main(step: str, *rest: str) -> None:
    """Do one step."""
    if step == "version":
        write_version(ROOT, rest[0] if rest else "", date.today())
        print(f"The version is {version_of(ROOT)}. Read the changelog as a user would.")
    elif step == "check":
        if found := [*problems(ROOT), *problems_of_commit(ROOT)]:
            raise SystemExit("\n".join(["This cannot be released:", *found]))
    elif step == "copy":
        copy(ROOT, Path(rest[0]))
    elif step == "upload":
        print("All is ready. What cannot be taken back is yours to do:")
        print("\n".join(f"  {command}" for command in commands(version_of(ROOT))))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
