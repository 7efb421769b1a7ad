"""The stored pages, and the command that makes them."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from localrank.experiments import EXPERIMENTS, Making, Reproduction
from localrank.experiments import _pages as module
from localrank.experiments._code_digest import FOLDER, code_digest, commit
from localrank.experiments._page_text import page_text
from localrank.experiments._pages import Page, make_pages, pages, verdicts, write_again
from localrank.experiments.by_name import own_seeds
from localrank.experiments.reproduction import Claim, Verdict

STORED = Path(__file__).parents[2] / "docs" / "reproduction"
COMMAND = "Run: localrank reproduce all --data DIR -o docs/reproduction"
digest_of = cache(code_digest)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_stored_page_comes_from_todays_code(page):
    record = page.record(STORED)
    assert record, f"{page.name} is not stored. {COMMAND}"
    assert (STORED / f"{page.name}.md").read_text() == page_text(record), (
        f"{page.name} is not what its record tells. {COMMAND}"
    )
    assert not record["quick"], f"{page.name} is of a quick run. {COMMAND}"
    assert record["digest"] == digest_of(page.experiment), (
        f"{page.name} comes from other code than today's. {COMMAND}"
    )
    assert record["seeds"] == list(own_seeds(page.experiment)), f"{page.name}: other seeds."


def test_stored_verdicts_are_those_of_the_stored_pages():
    assert (STORED / "verdicts.md").read_text() == verdicts(STORED), COMMAND


def test_every_stored_page_is_made_by_the_command():
    names = {page.name for page in pages()} | {"index", "verdicts"}
    assert {path.stem for path in STORED.glob("*.md")} == names
    records = {path.stem for path in STORED.glob("*.json")}
    assert records == names - {"index", "verdicts"}
    assert {path.stem for path in (STORED / "figures").glob("*.json")} <= names


def test_pages_have_names_of_their_own():
    names = [page.name for page in pages()]
    assert len(set(names)) == len(names)
    assert {"pca-queries-text", "adaptive-training-mq2007-85", "metric-retrieval-cran"} <= {*names}


def test_pages_are_chosen_by_name_or_experiment():
    assert [page.name for page in pages(["metric-retrieval-cran"])] == ["metric-retrieval-cran"]
    assert {page.experiment for page in pages(["lgmml"])} == {"lgmml"}
    with pytest.raises(ValueError, match="no page 'lgml'. Did you mean 'lgmml'?"):
        pages(["lgml"])


@pytest.fixture
def code(tmp_path):
    """A copy of the code of the experiments, to be changed."""
    copied = tmp_path / "code"
    copied.mkdir()
    for path in [*FOLDER.glob("*.py"), FOLDER / "published.toml"]:
        shutil.copy(path, copied)
    return copied


def changed(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_change_of_code_or_of_published_numbers_changes_the_digest(code):
    before = code_digest("lgmml")
    assert code_digest("lgmml", code) == before
    # A module that it imports, and one that this one imports.
    changed(code / "setting.py", "% 3 == 2", "% 3 == 1")
    second = code_digest("lgmml", code)
    changed(code / "published_numbers.py", ".get(whole(data), {})", ".get(data, {})")
    third = code_digest("lgmml", code)
    changed(code / "published.toml", "0.539", "0.538")
    assert len({before, second, third, code_digest("lgmml", code)}) == 4


def test_words_layout_and_other_experiments_do_not_change_the_digest(code):
    before = code_digest("lgmml")
    text = (code / "lgmml.py").read_text()
    ends = text.index('"""', 3)
    (code / "lgmml.py").write_text(f'"""Other words.\n{text[ends:]}\n\n\n# A comment.\n')
    for other in (code / "local_rank.py", code / "by_name.py"):
        other.write_text(other.read_text() + "\nMORE = 1\n")
    numbers = (code / "published.toml").read_text()
    (code / "published.toml").write_text(f"{numbers}\n[another-paper]\nsource = 'x'\n")
    assert code_digest("lgmml", code) == before
    assert code_digest("local-rank", code) != code_digest("local-rank")


def test_code_in_a_repository_has_its_commit(tmp_path, monkeypatch):
    package = tmp_path / "localrank"
    (package / "experiments").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr("localrank.experiments._code_digest.FOLDER", package / "experiments")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    # Without a repository, and in somebody else's, it is a version.
    assert commit().startswith("from version ")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]

    def git(*arguments):
        command = ["git", "-C", tmp_path, *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    git("commit", "--allow-empty", "-m", "begin")
    assert commit().startswith("from version ")
    git("add", ".")
    git("commit", "-m", "add")
    head = git("rev-parse", "--short=10", "HEAD")
    assert commit() == f"at commit {head}"
    # Another file's commit is none of the code's.
    git("commit", "--allow-empty", "-m", "more")
    assert commit() == f"at commit {head}"
    # A page that was just written is no change of the code.
    (tmp_path / "page.md").touch()
    assert commit() == f"at commit {head}"
    (package / "__init__.py").write_text("changed = True\n")
    assert commit() == f"after commit {head}, with changes"


def written(folder, page, *, claims=(), seconds=60.0, quick=False, **options):
    seeds, digest = own_seeds(page.experiment), digest_of(page.experiment)
    facts = {"seeds": seeds, "digest": digest, "date": "2026-11-18", "commit": "at commit 1a2b"}
    facts |= options
    making = Making("the command", seconds=1, cpu_seconds=seconds, versions={}, **facts)
    data = page.data.rpartition("/")[2]
    Reproduction(page.experiment, data, claims=list(claims), quick=quick).write(folder, making)


OHSUMED, MQ2008 = Page("lgmml", "OHSUMED"), Page("lgmml", "MQ2008")


def test_a_page_is_fresh_with_the_same_code_and_seeds(tmp_path):
    assert not OHSUMED.is_fresh(tmp_path)
    written(tmp_path, OHSUMED)
    assert OHSUMED.is_fresh(tmp_path)
    assert not OHSUMED.is_fresh(tmp_path, seeds=(99,))
    assert OHSUMED.is_fresh(tmp_path, commit="at commit 1a2b")
    assert not OHSUMED.is_fresh(tmp_path, commit="at commit 3c4d")
    assert not MQ2008.is_fresh(tmp_path)
    for other in ({"digest": "0"}, {"seeds": (99,)}, {"quick": True}):
        written(tmp_path, OHSUMED, **other)
        assert not OHSUMED.is_fresh(tmp_path)


def test_a_page_that_was_edited_by_hand_is_written_again_from_its_record(tmp_path):
    written(tmp_path, OHSUMED)
    page = tmp_path / "lgmml-ohsumed.md"
    before = page.read_text()
    page.write_text("By hand.")
    write_again(tmp_path)
    assert page.read_text() == before


def test_verdicts_stand_in_one_table_for_each_experiment(tmp_path):
    better = Claim("a is better", Verdict.YES, "+0.1")
    written(tmp_path, OHSUMED, claims=[better, Claim("b is fast", Verdict.NOT_TESTED, "3 s")])
    written(tmp_path, MQ2008, claims=[Claim("a is better", Verdict.NO, "-0.1")], seconds=90.0)
    written(tmp_path, Page("wins", "."), claims=[better])
    write_again(tmp_path)
    text = (tmp_path / "verdicts.md").read_text()
    table = text.partition("### lgmml")[2].partition("###")[0]
    assert "| claim | [MQ2008](lgmml-mq2008.md) | [OHSUMED](lgmml-ohsumed.md) |" in table
    assert "| a is better | no | yes |" in table
    assert "| b is fast |  | not tested |" in table
    assert "Su, King, Lyu" in table
    assert "| claim | [all](wins.md) |" in text
    assert "| [lgmml-mq2008](lgmml-mq2008.md) | 2026-11-18 | at commit 1a2b | 1.5 |" in text
    assert "### local-rank" not in text


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Which pages were started: a process that writes its page, or fails, instead of a run."""
    order = []

    def command(page, collections, output, options):
        order.append(page.name)
        if page.data == "OHSUMED":
            code = "import sys; sys.exit('it broke')"
        else:
            code = f"import pathlib; pathlib.Path({str(output)!r}, {page.name!r} + '.md').touch()"
        return [sys.executable, "-c", code]

    monkeypatch.setattr(module, "_command", command)
    return order


def test_a_page_that_fails_is_told_and_the_others_are_made(started, tmp_path):
    collections, output, lines = tmp_path / "data", tmp_path / "out", []
    for name in ("MQ2008", "OHSUMED", "MSLR-sample"):
        (collections / name).mkdir(parents=True)
    written(output, OHSUMED, seconds=30.0)
    written(output, MQ2008, seconds=90.0)
    failed = make_pages(pages(["lgmml"]), collections, output, n_jobs=1, say=lines.append)
    assert failed == ["lgmml-ohsumed"]
    # The longest first, which the one without a time may be; ClueWeb09 is not there.
    assert started == ["lgmml-mslr-sample", "lgmml-mq2008", "lgmml-ohsumed"]
    assert [line.split(",")[-1] for line in lines] == [" 2 left", " 1 left", " 0 left"]
    assert "lgmml-ohsumed failed after 0.0 minutes: it broke" in lines[-1]
    assert (output / "lgmml-mslr-sample.md").exists()
    assert (output / "verdicts.md").exists()


def test_every_experiment_has_pages():
    assert {page.experiment for page in pages()} == set(EXPERIMENTS)
