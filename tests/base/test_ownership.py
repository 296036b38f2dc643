"""Folders that others can change are told from those that only this user can, whatever lies on the way to them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from headwater.base import ownership
from headwater.base.ownership import examine

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only here files have an owner and a mode")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "a" / "b"
    made.mkdir(mode=0o755, parents=True)
    return made


def test_own_folder_is_good(folder: Path) -> None:
    assert examine(str(folder)) == (str(folder), True, "")


def test_missing_folder_in_a_good_one_can_be_made(folder: Path) -> None:
    assert examine(str(folder / "c" / "d")) == (str(folder / "c" / "d"), False, "")


@pytest.mark.parametrize(("mode", "who"), [(0o775, "its group"), (0o757, "everybody"), (0o1777, "everybody")])
def test_folder_that_others_write_is_named(folder: Path, mode: int, who: str) -> None:
    folder.chmod(mode)
    assert examine(str(folder)).fault == f"{folder} can be written by {who}"


def test_folder_above_that_others_write_is_named_unless_it_is_sticky(folder: Path) -> None:
    folder.parent.chmod(0o777)
    assert examine(str(folder)).fault == f"{folder.parent} can be written by everybody"
    assert examine(str(folder / "missing")).fault == f"{folder.parent} can be written by everybody"
    folder.parent.chmod(0o1777)
    assert examine(str(folder)).fault == ""


def test_folder_that_shall_be_shared_may_be_sticky(folder: Path) -> None:
    folder.chmod(0o1777)
    assert examine(str(folder), shared=True).fault == ""
    folder.chmod(0o777)
    assert examine(str(folder), shared=True).fault == f"{folder} can be written by everybody"


@pytest.mark.parametrize("members", [[], ["me"], ["me", "you"]])
def test_group_of_one_user_may_write_the_folders_above(
    folder: Path, monkeypatch: pytest.MonkeyPatch, members: list[str]
) -> None:
    folder.parent.chmod(0o775)
    group = folder.parent.stat().st_gid
    monkeypatch.setattr("pwd.getpwuid", lambda number: SimpleNamespace(pw_name="me", pw_gid=group))
    monkeypatch.setattr("grp.getgrgid", lambda number: SimpleNamespace(gr_name="me", gr_mem=members))
    assert bool(examine(str(folder)).fault) == ("you" in members)


def test_link_is_followed_and_what_it_leads_to_is_looked_at(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(Path("a") / ".." / "a" / "b")
    assert examine(str(link)) == (str(folder), True, "")
    folder.parent.chmod(0o777)
    assert examine(str(link)).fault == f"{folder.parent} can be written by everybody"


def test_links_in_a_ring_are_no_folder(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    assert not examine(str(tmp_path / "one")).exists


def test_link_of_another_user_is_not_followed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path.resolve() / "link"
    link.symlink_to(folder)
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        fields = list(real(path))
        if path == str(link):
            fields[stat.ST_UID] = 4321
        return os.stat_result(fields)

    monkeypatch.setattr(os, "lstat", lstat)
    assert examine(str(link)).fault == f"the link {link} belongs to user 4321"


def test_what_is_no_folder_is_left_to_who_uses_it(folder: Path) -> None:
    (folder / "file").write_text("")
    assert not examine(str(folder / "file")).exists
    assert not examine(str(folder / "file" / "below")).exists


def test_relative_path_begins_at_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert examine("b") == (str(folder), True, "")
    assert examine("../a/./b/") == (str(folder), True, "")


def test_elsewhere_nothing_is_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)
    monkeypatch.setattr(ownership.os, "name", "nt")
    assert examine(str(folder)) == (str(folder), True, "")
    assert ownership.is_ours(folder.stat())
