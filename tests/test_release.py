"""Releases: the steps that a program does, the hosted workflow, the recipe of conda, the image."""

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from datetime import date, timedelta
from pathlib import Path

import portable
import pytest
import release
import yaml
from test_documentation import blocks
from typer.main import get_command

from localrank.cli import app

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
DOCKERFILE = ROOT / "packaging" / "Dockerfile"
TODAY = date.today()


@pytest.fixture
def copy(tmp_path):
    """The files that name the version."""
    for name in (
        "src/localrank/__init__.py",
        "CITATION.cff",
        "CHANGELOG.md",
        "packaging/conda/recipe.yaml",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    # As before the first release, whatever was released since.
    changelog = tmp_path / "CHANGELOG.md"
    first, *_ = re.split(r"^## .+$", changelog.read_text(), flags=re.MULTILINE)
    changelog.write_text(f"{first}## 0.1.0 (not yet released)\n\nThe first.\n")
    release.write_version(tmp_path, "0.1.0.dev0", TODAY)
    return tmp_path


def heads(folder):
    """The headings of the changelog."""
    return re.findall(r"^## (.+)$", (folder / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_a_version_in_the_making_is_not_released(copy):
    told = release.problems(copy)
    assert "make version VERSION=0.1.0" in told[0]
    assert "CHANGELOG.md does not begin with ## 0.1.0.dev0" in told[1]
    assert heads(copy)[0] == "0.1.0 (not yet released)"


def test_a_version_that_was_written_can_be_released(copy):
    release.write_version(copy, "0.1.0", TODAY)
    assert release.problems(copy) == []
    assert heads(copy) == [f"0.1.0 ({TODAY})"]
    citation = yaml.safe_load((copy / "CITATION.cff").read_text())
    assert (citation["version"], citation["date-released"]) == ("0.1.0", TODAY)
    recipe = yaml.safe_load((copy / "packaging/conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == "0.1.0"


def test_the_next_version_gets_a_heading_of_its_own(copy):
    release.write_version(copy, "0.1.0", TODAY)
    release.write_version(copy, "0.2.0.dev0", TODAY)
    assert heads(copy) == ["0.2.0 (not yet released)", f"0.1.0 ({TODAY})"]
    assert "date-released" not in (copy / "CITATION.cff").read_text()
    release.write_version(copy, "0.2.0", TODAY)
    assert heads(copy) == [f"0.2.0 ({TODAY})", f"0.1.0 ({TODAY})"]


def test_a_changelog_of_tomorrow_is_not_released(copy):
    release.write_version(copy, "0.1.0", TODAY + timedelta(days=7))
    assert len(release.problems(copy)) == 2


@pytest.mark.parametrize("version", ["", "v0.1.0", "0.1", "0.1.0.dev3"])
def test_what_is_no_version_is_refused(copy, version):
    with pytest.raises(SystemExit, match=re.escape(f"Got {version!r}")):
        release.write_version(copy, version, TODAY)


def test_a_repository_must_be_clean_on_main_and_not_tagged_elsewhere(copy):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=copy, check=True, capture_output=True)

    git("init", "-b", "other")
    release.write_version(copy, "0.1.0", TODAY)
    told = " ".join(release.problems_of_commit(copy))
    assert "not committed" in told
    assert "the branch other, not main" in told
    git("checkout", "-b", "main")
    git("add", ".")
    git("commit", "-m", "Release")
    git("tag", "v0.1.0")
    assert release.problems_of_commit(copy) == []
    git("commit", "--allow-empty", "-m", "More")
    assert release.problems_of_commit(copy) == ["The tag v0.1.0 is on another commit."]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")
def test_a_dry_run_has_the_last_commit_as_it_would_be_released(tmp_path):
    release.copy(ROOT, tmp_path)
    assert release.problems(tmp_path) == []
    assert (tmp_path / "Makefile").exists()


def test_a_candidate_is_followed_by_the_next_minor_version():
    assert release.commands("0.1.0rc1")[-1] == "make version VERSION=0.2.0.dev0"


def test_the_last_commands_are_of_the_version():
    assert release.commands("0.1.0")[-2:] == [
        ".venv/bin/twine upload dist/localrank-0.1.0*",
        "make version VERSION=0.2.0.dev0",
    ]


def steps():
    """What the hosted workflow runs."""
    return [
        line
        for job in WORKFLOW["jobs"].values()
        for step in job["steps"]
        for line in step.get("run", "").splitlines()
    ]


@pytest.mark.parametrize("step", sorted({*steps()}))
def test_what_the_workflow_runs_is_there(step):
    program, *arguments = shlex.split(step)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {*arguments} <= {*targets}
    elif program == "python" and arguments[:3] == ["-m", "pip", "install"]:
        extras = re.fullmatch(r"\.\[(.+)\]", arguments[-1])[1].split(",")
        assert {*extras} <= {*PROJECT["optional-dependencies"]}
    elif program == "python":
        assert (ROOT / arguments[0]).is_file()
    elif program.startswith(".venv/bin/"):
        assert "make coverage" in steps()  # which installs it
    elif program.startswith("."):
        assert (ROOT / program).is_file()
    else:
        assert (program, *arguments) == ("brew", "install", "libomp")


def test_the_workflow_tries_every_python_that_the_package_names():
    said = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    for job in ("test", "systems"):
        assert WORKFLOW["jobs"][job]["strategy"]["matrix"]["python"] == said
    assert WORKFLOW["jobs"]["systems"]["strategy"]["matrix"]["os"] == [
        "macos-latest",
        "windows-latest",
    ]


def test_the_tests_for_other_systems_are_there():
    assert [path for path in portable.PATHS if not (ROOT / path).exists()] == []


def test_the_recipe_of_conda_needs_what_the_package_needs():
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    python, *run = recipe["requirements"]["run"]
    assert [name.replace(" ", "") for name in run] == PROJECT["dependencies"]
    assert python == "python >=${{ python_min }}"
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {name.replace(" ", "") for name in recipe["requirements"]["host"]} >= {*system}
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["scripts"].items()
    ]
    assert recipe["about"]["license"] == PROJECT["license"]


def instructions():
    """The instructions of the Dockerfile: name and arguments."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    return [
        tuple(line.split(maxsplit=1)) for line in text.splitlines() if line[:1] not in ("", "#")
    ]


def test_the_image_is_made_of_instructions_that_docker_knows():
    names = [name for name, _ in instructions()]
    assert names[0] == "FROM"
    assert {*names} <= {"FROM", "RUN", "COPY", "ENV", "USER", "CMD", "WORKDIR", "EXPOSE", "ARG"}
    assert names[-2:] == ["USER", "CMD"]  # what serves is not root


def test_the_image_runs_commands_that_there_are():
    commands = [json.loads(arguments) for name, arguments in instructions() if name == "CMD"]
    for name, arguments in instructions():
        if name == "RUN":
            commands += [shlex.split(command) for command in arguments.split("&&")]
    ours = [command[1:] for command in commands if command[0] == "localrank"]
    assert [name for name, *_ in ours] == ["serve", "warmup"]
    for name, *arguments in ours:
        command = get_command(app).commands[name]  # type: ignore[attr-defined]
        command.make_context(name, arguments, resilient_parsing=False)
    (installed,) = [command[-1] for command in commands if command[:2] == ["pip", "install"]]
    extras = re.fullmatch(r"localrank\[(.+)\]", installed)[1].split(",")
    assert {*extras} <= {*PROJECT["optional-dependencies"]}


def test_the_page_about_containers_shows_the_image():
    shown = [
        text for language, text, _ in blocks(ROOT / "docs/install.md") if language == "dockerfile"
    ]
    assert shown == [DOCKERFILE.read_text()]
