"""The rules of folders and files whose content is executed, one by one."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from localrank._kernels.trusted_folders import UntrustedError, open_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such modes")
is_root = hasattr(os, "geteuid") and os.geteuid() == 0
as_root = pytest.mark.skipif(not is_root, reason="only root can give files to another user")
OTHER = 65534


@pytest.fixture
def folder(tmp_path):
    """A folder of this user with a file, below one that a test may open."""
    path = tmp_path / "parent" / "folder"
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"content")
    return path


def read(path, name="file"):
    with open_folder(path) as opened:
        return opened.read(name)


def refuse(path, reason, name="file"):
    with pytest.raises(UntrustedError, match=reason):
        read(path, name)


def test_a_file_of_this_user_is_read(folder):
    assert read(folder) == b"content"


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(folder, mode):
    folder.chmod(mode)
    refuse(folder, rf"^{folder} may be written to by (every user|group \d+) \(close it with chmod")


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_above_it_that_others_may_write_to_is_refused(folder, mode):
    folder.parent.chmod(mode)
    refuse(folder, f"^{folder.parent} may be written to")


def test_a_sticky_folder_may_be_above_it_and_not_it(folder):
    folder.parent.chmod(0o1777)
    assert read(folder) == b"content"
    folder.chmod(0o1777)
    refuse(folder, "may be written to by every user")


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_may_write_to_is_refused(folder, mode):
    (folder / "file").chmod(mode)
    refuse(folder, "file may be written to")


@as_root
@pytest.mark.parametrize("given", ["", "..", "file"])
def test_what_belongs_to_another_user_is_refused(folder, given):
    os.chown(folder / given, OTHER, -1)
    refuse(folder, "belongs to another user .number 65534")


def test_a_link_of_this_user_is_followed(folder, tmp_path):
    (tmp_path / "absolute").symlink_to(folder.parent)
    (tmp_path / "relative").symlink_to("parent/../absolute/./folder")
    assert read(tmp_path / "relative") == b"content"
    assert read(tmp_path / "absolute" / "folder" / ".." / "folder") == b"content"


def test_where_a_link_leads_is_checked_whole(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    folder.parent.chmod(0o777)
    refuse(tmp_path / "link", f"^{folder.parent} may be written to")


@as_root
def test_a_link_of_another_user_is_refused(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    os.lchown(tmp_path / "link", OTHER, -1)
    refuse(tmp_path / "link", "link belongs to another user")


def test_a_link_in_a_sticky_folder_is_refused(folder, tmp_path):
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    (sticky / "link").symlink_to(folder)
    refuse(sticky / "link", "is a link in a folder that other users may write to")


def test_links_that_lead_in_a_circle_are_refused(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    refuse(tmp_path / "one", "more than 40 links")


def test_a_file_that_is_a_link_is_not_read(folder):
    (folder / "link").symlink_to("file")
    with pytest.raises(OSError, match="link"):
        read(folder, "link")


def test_a_pipe_is_refused_at_once(folder):
    os.mkfifo(folder / "pipe", 0o600)
    refuse(folder, "pipe is not a regular file", name="pipe")


def test_a_folder_that_is_replaced_after_it_was_opened_is_not_read(folder):
    with open_folder(folder) as opened:
        folder.parent.rename(folder.parent.with_name("old"))
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"planted")
        assert opened.read("file") == b"content"


@pytest.fixture(params=[0o000, 0o002, 0o777], ids="umask-{:03o}".format)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_folders_are_made_for_this_user_alone(tmp_path, umask):
    made = tmp_path / "one" / "other"
    with open_folder(made, make=True) as opened:
        opened.write("file", b"content")
    for path in (made, made.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert not (made / "file").stat().st_mode & 0o022


def test_a_file_is_replaced_whole_and_nothing_is_left(folder):
    with open_folder(folder) as opened:
        opened.write("file", b"new")
        opened.try_to_write()
        with pytest.raises(OSError, match="too long"):
            opened.write("x" * 300, b"")
    assert [path.name for path in folder.iterdir()] == ["file"]
    assert read(folder) == b"new"


def test_no_descriptor_stays_open(folder, tmp_path):
    folder.chmod(0o777)
    before = len(os.listdir("/dev/fd"))
    for path in (folder, folder.parent, tmp_path / "absent", folder / "file"):
        with pytest.raises((OSError, UntrustedError)):
            read(path)
    assert len(os.listdir("/dev/fd")) == before


def test_a_relative_path_is_one_of_the_working_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert read(Path()) == b"content"
    assert read(Path("../folder")) == b"content"


@as_root
def test_a_folder_of_root_is_read_by_another_user_who_cannot_list_it(folder, tmp_path):
    # An image's kernels. pytest closes its folders to others, so the path begins below them.
    script = """
import os, sys
from pathlib import Path
from localrank._kernels import trusted_folders
os.chroot(sys.argv[1])
os.chdir("/")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
with trusted_folders.open_folder(Path("/folder")) as opened:
    print(opened.read("file"))
    try:
        opened.try_to_write()
    except PermissionError:
        print("closed")
"""
    folder.chmod(0o711)
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["b'content'", "closed"], done.stderr


def test_without_owners_and_modes_nothing_is_checked(folder, monkeypatch):
    monkeypatch.delattr(os, "geteuid")
    folder.chmod(0o777)
    with open_folder(folder / "new" / "one", make=True) as opened:
        opened.write("file", b"content")
        opened.try_to_write()
    assert read(folder / "new" / "one") == b"content"
