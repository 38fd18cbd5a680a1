"""Files that give rights or hold secrets are trusted only if nobody else can change or replace them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.config.file_trust import owner_problem, write_problem
from penstock.config.secret_file import SecretFileError, read_secret_file

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    directory = tmp_path / "of the broker"
    directory.mkdir(mode=0o755)
    path = directory / "policy.json"
    path.write_text("{}")
    path.chmod(0o644)
    return path


def problem(path: Path) -> str:
    return write_problem(path, path.stat()) or ""


def test_an_own_file_is_trusted(file: Path) -> None:
    assert problem(file) == ""
    link = file.parent / "link.json"
    link.symlink_to(file)
    assert problem(link) == ""


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_can_write_is_not(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert f"(its mode is {mode:04o}); run: chmod go-w '{file}'" in problem(file)


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_nor_one_in_a_directory_that_others_can_write(file: Path, tmp_path: Path, mode: int) -> None:
    file.parent.chmod(mode)
    assert f"can replace it in {file.parent}" in problem(file)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    assert f"can replace it in {file.parent}" in problem(link)
    file.parent.chmod(mode | 0o1000)  # where only the owner of a file can remove it
    assert problem(file) == ""


def test_the_place_of_a_link_counts_as_well(file: Path, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    link = open_to_all / "policy.json"
    link.symlink_to(file)
    assert f"can replace it in {open_to_all}" in problem(link)


@as_root
def test_files_and_directories_of_another_user_are_not_trusted(file: Path) -> None:
    os.chown(file, NOBODY, NOBODY)
    assert "belongs to another user of this machine (65534); run: chown 0" in problem(file)
    assert owner_problem(file, file.stat())
    os.chown(file, 0, 0)
    os.chown(file.parent, NOBODY, NOBODY)
    assert "its directory" in problem(file)


@as_root
def test_a_secret_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("word")
    path.chmod(0o600)
    assert read_secret_file(path) == "word"
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(SecretFileError, match="belongs to another user") as refused:
        read_secret_file(path)
    assert "word" not in str(refused.value)
