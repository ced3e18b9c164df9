from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.files import find_files
from clew.indexing.reading.reader import read_file
from clew.settings import ReadSettings

SETTINGS = ReadSettings()


def write(root: Path, *names: str, text: str = "text") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(
    root: Path,
    *,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    settings: ReadSettings = SETTINGS,
) -> list[str]:
    files = find_files([root], include=include or [], exclude=exclude or [], settings=settings)
    return [path.relative_to(root.resolve()).as_posix() for path in files]


def test_files_come_sorted_by_their_path_and_once(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a/b/c.md", "a.md", "Z.md")
    assert found(tmp_path) == ["Z.md", "a/b/c.md", "a/z.md", "a.md", "b.md"]
    twice = list(find_files([tmp_path / "b.md", tmp_path, tmp_path], settings=SETTINGS))
    assert [path.name for path in twice] == ["b.md", "Z.md", "c.md", "z.md", "a.md"]


def test_hidden_files_are_left_out_unless_wanted(tmp_path: Path) -> None:
    write(tmp_path, "a.md", ".hidden.md", ".folder/b.md", ".git/config", ".clew/clew.db")
    assert found(tmp_path) == ["a.md"]
    wanted = ReadSettings(hidden=True)
    assert found(tmp_path, settings=wanted) == [".folder/b.md", ".hidden.md", "a.md"]


def test_a_file_given_by_name_is_always_taken(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*.log\n")
    write(tmp_path, ".hidden.log")
    path = tmp_path / ".hidden.log"
    assert list(find_files([str(path)], exclude=["*"], settings=SETTINGS)) == [path.resolve()]


def test_include_and_exclude_are_globs_below_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.txt", "docs/c.md", "docs/d.txt", "old/docs/e.md")
    assert found(tmp_path, include=["*.md"]) == ["a.md", "docs/c.md", "old/docs/e.md"]
    assert found(tmp_path, include=["/docs/**", "b.txt"]) == ["b.txt", "docs/c.md", "docs/d.txt"]
    assert found(tmp_path, exclude=["docs/"]) == ["a.md", "b.txt"]
    assert found(tmp_path, include=["*.md"], exclude=["/docs/*.md", "old"]) == ["a.md"]


def test_nested_gitignore_files_are_honoured(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*.log\n/build/\n!\n")
    write(tmp_path, "sub/.gitignore", text="!keep.log\nlocal.md\n")
    write(tmp_path, "a.md", "a.log", "build/x.md", "sub/build/y.md")
    write(tmp_path, "sub/keep.log", "sub/other.log", "sub/local.md", "local.md")
    assert found(tmp_path) == ["a.md", "local.md", "sub/build/y.md", "sub/keep.log"]
    assert len(found(tmp_path, settings=ReadSettings(git_ignored=True))) == 8


def test_the_rules_of_the_repository_above_hold_below(tmp_path: Path) -> None:
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("secret.md\n")
    write(tmp_path, ".gitignore", text="*.log\nbuild/\n")
    write(tmp_path, "docs/a.md", "docs/a.log", "docs/secret.md", "build/b.md", "build/b.log")
    assert found(tmp_path / "docs") == ["a.md"]
    # Who names an ignored folder wants what it holds.
    assert found(tmp_path / "build") == ["b.log", "b.md"]


RULES = st.sampled_from(
    [
        "*.log",
        "/a",
        "a/",
        "!a/",
        "!*.log",
        "b/*.md",
        "**/c",
        "a/**",
        "!b",
        "*",
        "!*/",
        "/b/",
        "c.md",
    ]
)
NAMES = [
    f"{folder}{name}"
    for folder in ("", "a/", "b/", "a/b/", "b/c/")
    for name in ("x.log", "c.md", "y")
]


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(outer=["*", "!*/", "!*.log"], inner=[])
@example(outer=["*", "!b"], inner=["!*.log"])
@example(outer=["a/**", "!a/c.md"], inner=["c/*", "!c/y"])
@given(outer=st.lists(RULES, max_size=4), inner=st.lists(RULES, max_size=3))
def test_git_agrees_on_what_is_ignored(
    tmp_path_factory: pytest.TempPathFactory, outer: list[str], inner: list[str]
) -> None:
    root = tmp_path_factory.mktemp("repository")
    write(root, *NAMES)
    write(root, ".gitignore", text="\n".join(outer))
    write(root, "b/.gitignore", text="\n".join(inner))
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, env=environment)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout.split()
    assert sorted(found(root)) == sorted(set(listed) & set(NAMES))


def test_links_in_a_circle_are_survived(tmp_path: Path) -> None:
    write(tmp_path, "a/one.md", "b/two.md")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "to_b").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "to_a").symlink_to(tmp_path / "a")
    (tmp_path / "again.md").symlink_to(tmp_path / "a" / "one.md")
    assert found(tmp_path) == ["a/one.md", "b/two.md"]


def test_links_that_lead_outside_are_followed_on_demand_alone(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.md", "inside/b.md")
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "inside" / "c.md").symlink_to(tmp_path / "outside" / "a.md")
    (tmp_path / "inside" / "gone.md").symlink_to(tmp_path / "outside" / "gone.md")

    def names(*given: str, follow: bool = False) -> list[str]:
        roots = [tmp_path / name for name in given]
        found = find_files(roots, settings=SETTINGS, follow_links=follow)
        return [path.name for path in found]

    assert names("inside") == ["b.md"]
    assert names("inside", "outside") == ["b.md", "a.md", "gone.md"]
    assert names("inside/c.md", "inside/link") == ["a.md"]
    assert names("inside", follow=True) == ["b.md", "a.md", "gone.md"]


def test_a_folder_given_through_a_link_keeps_its_rules(tmp_path: Path) -> None:
    (tmp_path / "real" / ".git").mkdir(parents=True)
    write(tmp_path, "real/.gitignore", text="/docs/*.log\n")
    write(tmp_path, "real/docs/a.md", "real/docs/a.log")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths = find_files([tmp_path / "link" / "docs"], settings=SETTINGS)
    assert [path.name for path in paths] == ["a.md"]


def test_a_broken_link_is_found_so_that_it_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    paths = list(find_files([tmp_path], settings=SETTINGS))
    assert len(paths) == 2
    for path in paths:
        with pytest.raises(UnreadableError, match=r"no such file|symbolic links"):
            read_file(path, SETTINGS)


def test_pipes_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe")
    assert found(tmp_path) == ["a.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "locked/b.md")
    locked = tmp_path / "locked"
    locked.chmod(0)
    try:
        assert found(tmp_path) == ["a.md", "locked"]
        with pytest.raises(UnreadableError, match="permission denied"):
            read_file(locked, SETTINGS)
    finally:
        locked.chmod(0o700)


def test_a_path_that_does_not_exist_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file or folder '.*typo'.*check the spelling"):
        find_files([tmp_path, tmp_path / "typo"], settings=SETTINGS)


def test_a_malformed_glob_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot use the glob '!': expected one such as"):
        find_files([tmp_path], exclude=["!"], settings=SETTINGS)
