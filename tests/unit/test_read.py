"""Files become documents: finding, reading, records, archives."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.files import find_files
from clew.indexing.reading.formats.common import (
    LONGEST_VALUE,
    RawFile,
    ReadResult,
    clean_text,
    json_safe,
)
from clew.indexing.reading.formats.office import package_properties
from clew.indexing.reading.formats.records import circles
from clew.indexing.reading.reader import document_from_text, file_digest, read_file
from clew.settings import ReadSettings
from clew.times import to_time
from clew.types import Document, Skipped, file_source

# --- read


SETTINGS = ReadSettings()
RUSSIAN = (
    "Мастер и Маргарита — роман Михаила Афанасьевича Булгакова, работа над которым началась "
    "в конце двадцатых годов."
)
JAPANESE = (
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    "何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。"
)
CHINESE = "红楼梦是中国古典四大名著之首，清代作家曹雪芹创作的章回体长篇小说，又名石头记。"
KOREAN = "훈민정음은 세종대왕이 창제한 문자로, 한글의 옛 이름이다."
GREEK = "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη της χώρας."
ARABIC = "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها وأهمها على الإطلاق."
GERMAN = "Käthe Kollwitz war eine der bekanntesten Künstlerinnen. Größere Werke hängen in Köln."


def read_one(path: Path, content: str | bytes, settings: ReadSettings = SETTINGS) -> Document:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    result = read_file(path, settings)
    assert result.skipped == ()
    (document,) = result.documents
    return document


# --- what every file gets ------------------------------------------------------------------


def test_a_text_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "my_field-notes_2024-05-01.txt"
    document = read_one(path, "  One.\r\nTwo.\rThree.\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    document = read_file(path, SETTINGS).documents[0]
    assert document.text == "  One.\nTwo.\nThree.\n"
    assert document.source == path.resolve().as_posix() == file_source(path)
    assert document.origin == ""
    assert document.title == "my field notes 2024-05-01"
    assert document.media_type == "text/plain"
    assert (
        document.sha256
        == hashlib.sha256(path.read_bytes()).hexdigest()
        == file_digest(path, SETTINGS)
    )
    assert document.updated_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert document.created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert (document.date_source, document.date_precision) == ("path", "day")


def test_a_digest_that_the_caller_knows_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    assert read_file(path, SETTINGS, digest="known").documents[0].sha256 == "known"


def test_a_link_is_read_under_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("text")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    (found,) = find_files([tmp_path / "link.txt"], settings=SETTINGS)
    document = read_file(found, SETTINGS).documents[0]
    assert document.source == (tmp_path / "real.txt").resolve().as_posix()


def test_a_name_that_is_no_text_still_gives_a_source(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    document = read_one(path, "text")
    assert document.source.endswith("/caf\\xe9.txt")
    document.source.encode("utf-8")


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.py", "text/x-python"),
        ("a.RS", "text/x-rust"),
        ("a.ts", "text/x-typescript"),
        ("Makefile", "text/plain"),
        ("conf.yaml", "application/yaml"),
    ],
)
def test_source_code_has_its_file_name_and_folder_as_title(
    tmp_path: Path, name: str, media_type: str
) -> None:
    document = read_one(tmp_path / name, "# a comment, no heading\nx = 1\n")
    assert (document.title, document.media_type) == (f"{tmp_path.name}/{name}", media_type)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"text\x00more", "binary"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "binary"),
        (b"\x01\x02\x03\x04text", "binary"),
        (b'/* XPM */\nstatic char *rip[] = {"16 16 2 1"', "binary"),
        (b"\xff\xfea\xd8\x00", "undecodable"),
        (b"{\\rtf1 text}", "RTF"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=reason) as caught:
        read_file(path, SETTINGS)
    assert caught.value.source == file_source(path)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 2000)
    with pytest.raises(UnreadableError, match=r"too large \(0.002 MB, limit 0.001 MB\)"):
        read_file(path, ReadSettings(max_megabytes=0.001))


@pytest.mark.parametrize(
    "action",
    [lambda path: file_digest(path, SETTINGS), lambda path: read_file(path, SETTINGS)],
    ids=["digest", "read"],
)
def test_what_is_no_file_says_so(tmp_path: Path, action: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UnreadableError, match="not a regular file"):
            action(path)
    with pytest.raises(UnreadableError, match="no such file"):
        action(tmp_path / "gone")


# --- encodings -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "utf-8"),
        (RUSSIAN, "utf-8-sig"),
        (RUSSIAN, "utf-16"),
        (RUSSIAN, "utf-32"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (CHINESE, "gb18030"),
        (KOREAN, "euc-kr"),
        (GREEK, "iso8859-7"),
        (ARABIC, "cp1256"),
        (GERMAN, "cp1252"),
        ("café au lait", "latin-1"),
    ],
)
def test_encodings_are_detected(tmp_path: Path, text: str, encoding: str) -> None:
    assert read_one(tmp_path / "a.txt", text.encode(encoding)).text == text


def test_a_damaged_byte_does_not_make_utf_8_another_encoding(tmp_path: Path) -> None:
    damaged = RUSSIAN.encode()[:-3] + b"\xff."
    assert read_one(tmp_path / "a.txt", damaged).text.startswith(RUSSIAN[:-3])


@given(st.text())
def test_clean_text_is_what_every_store_takes(text: str) -> None:
    clean = clean_text(text)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert "\r" not in clean
    assert clean_text(clean) == clean


def test_clean_text_joins_halves_of_a_character() -> None:
    assert clean_text("\ud83d\ude00 \ud83d!") == "\U0001f600 \ufffd!"


# --- metadata and times --------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.datetimes()
    | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_metadata_survives_json(value: object) -> None:
    safe = json_safe(value)
    assert json.loads(json.dumps(safe, allow_nan=False)) == safe
    json.dumps(safe, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2021-05-01", datetime(2021, 5, 1, tzinfo=UTC)),
        ("2021-05-01T10:00:00+02:00", datetime(2021, 5, 1, 8, tzinfo=UTC)),
        ("2021-05-01T10:00:00Z", datetime(2021, 5, 1, 10, tzinfo=UTC)),
        ("5 May 2021", datetime(2021, 5, 5, tzinfo=UTC)),
        ("May 2021", datetime(2021, 5, 1, tzinfo=UTC)),
        ("Mon, 3 Jan 2022 10:00:00 -0500", datetime(2022, 1, 3, 15, tzinfo=UTC)),
        ("Mon, 3 Jan 2022 10:00:00 XYZ", datetime(2022, 1, 3, 10, tzinfo=UTC)),
        ("2021", datetime(2021, 1, 1, tzinfo=UTC)),
        (2021, datetime(2021, 1, 1, tzinfo=UTC)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("0001-01-01T00:00:00+02:00", datetime(1, 1, 1, tzinfo=UTC)),
        ("Tuesday", None),
        ("12:30", None),
        ("2021-02-31", None),
        ("soon", None),
        ("", None),
        ("x" * 200, None),
        (True, None),
        (3.5, None),
        (float("nan"), None),
        (["2021"], None),
        (None, None),
    ],
)
def test_times_are_understood(value: object, expected: datetime | None) -> None:
    assert to_time(value) == expected


OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9000, 1, 1), timezones=OFFSETS)


@given(TIMES)
def test_iso_times_come_back(time: datetime) -> None:
    assert to_time(time.isoformat()) == time


@given(st.text() | st.floats() | st.integers())
def test_no_value_breaks_the_reading_of_times(value: object) -> None:
    time = to_time(value)
    assert time is None or time.utcoffset() == timedelta(0)


# --- Markdown and reStructuredText ---------------------------------------------------------


def test_front_matter_becomes_properties(tmp_path: Path) -> None:
    document = read_one(
        tmp_path / "a.md",
        "---\ntitle: The Thread\ndate: 2024-05-01\nupdated_at: 2024-06-01T12:00:00+02:00\n"
        "author: Ann\ntags: [a, b]\nyear: 2020\n---\n\n# Heading\n\nText.\n",
    )
    assert document.text == "# Heading\n\nText.\n"
    assert document.title == "The Thread"
    assert document.media_type == "text/markdown"
    assert document.created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert document.updated_at == datetime(2024, 6, 1, 10, tzinfo=UTC)
    assert document.metadata == {
        "date": "2024-05-01",
        "author": "Ann",
        "tags": ["a", "b"],
        "year": 2020,
    }


def test_toml_front_matter(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.md", "+++\ntitle = 'T'\ndate = 2024-05-01\n+++\nText\n")
    assert (document.title, document.text) == ("T", "Text\n")
    assert document.created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert document.metadata == {"date": "2024-05-01"}


@pytest.mark.parametrize(
    "block",
    [
        "title: A: B: [",
        "just text between two rules",
        "a: &a [x, x]\nb: [*a, *a]",
        "a: &a [*a]",
        "{[1]: 2}: 3",
        "!!python/object:os.system {}",
        "a: !!int b",
    ],
)
def test_a_block_that_is_no_front_matter_stays_text(tmp_path: Path, block: str) -> None:
    text = f"---\n{block}\n---\n\nText.\n"
    document = read_one(tmp_path / "a.md", text)
    assert document.text == text
    assert document.metadata == {}


def test_an_impossible_date_costs_nothing_but_itself(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.md", "---\ntitle: T\ncreated_at: 2024-02-31\n---\nText\n")
    assert (document.title, document.created_at) == ("T", None)
    assert document.metadata == {"created_at": "2024-02-31"}


def test_a_file_of_front_matter_alone_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: T\n---\n")
    with pytest.raises(UnreadableError, match="empty"):
        read_file(path, SETTINGS)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *Big* [Thing](x.md) `code` #\n", "The *Big* Thing code"),
        ("Intro\n\nSetext Title\n============\n", "Setext Title"),
        ("```\n# comment\n```\n\n# Real\n", "Real"),
        ("## Second level only\n", "some notes"),
        ("#hashtag\n", "some notes"),
        ("# **Bold** {#anchor}\n", "Bold"),
    ],
)
def test_the_first_top_heading_is_the_title(tmp_path: Path, text: str, title: str) -> None:
    assert read_one(tmp_path / "some_notes.md", text).title == title


def test_perl_documentation(tmp_path: Path) -> None:
    text = (
        "=encoding utf8\n\n=head1 NAME\n\nperltide - what rises in C<Tide>\n\n=head2 Links\n\n"
        "See L<IO::Tide> and L<the docs|perltide/sort>, B<not I<now>>, C<< a->b >>, E<lt>x.\n\n"
        "  my $x = 1; # C<as it is>\n\n=over 4\n\n=item *\n\nFirst\n\n"
        "=item C<open>\n\nOpens it.\n\n"
        "=back\n\n=begin html\n\n<b>no</b>\n\n=end html\n\n=cut\n\nprint 1;\n"
    )
    document = read_one(tmp_path / "a.pod", text)
    assert (document.title, document.media_type) == (
        "perltide - what rises in Tide",
        "text/markdown",
    )
    assert document.text == (
        "# NAME\n\nperltide - what rises in `Tide`\n\n## Links\n\n"
        "See `IO::Tide` and the docs, **not *now***, `a->b`, <x.\n\n"
        "  my $x = 1; # C<as it is>\n\n- First\n\n`open`\n\nOpens it.\n"
    )


def test_restructured_text(tmp_path: Path) -> None:
    text = "=========\nThe Title\n=========\n\n:Author: Ann\n:Date: 2024-05-01\n\nText.\n"
    document = read_one(tmp_path / "a.rst", text)
    assert (document.text, document.title) == (text, "The Title")
    assert document.metadata == {"author": "Ann", "date": "2024-05-01"}
    assert document.created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert read_one(tmp_path / "plain.rst", "A long first line\n----\n\nMore.\n").title == "plain"


@pytest.mark.parametrize("name", ["guide.rst.txt", "INSTALL", "notes.txt"])
def test_plain_files_that_are_marked_up_are_read_as_such(tmp_path: Path, name: str) -> None:
    rst = "The Title\n=========\n\n:Author: Ann\n\n.. note:: See :ref:`more`.\n\nText.\n"
    document = read_one(tmp_path / name, rst)
    assert (document.title, document.media_type) == ("The Title", "text/x-rst")
    assert document.metadata == {"author": "Ann"}

    markdown = read_one(tmp_path / f"md-{name}", "# Acme\n\n> All of it.\n\n- [Guide](guide.md)\n")
    assert (markdown.title, markdown.media_type) == ("Acme", "text/markdown")


@pytest.mark.parametrize(
    "text",
    [
        "# pinned on 3 May\nnumpy==2.0\n## tests\npytest\n",
        "RELEASE\n=======\n\nTwo colons:: and `quotes` in a text.\n",
        "a = b[1](c)\n",
    ],
)
def test_plain_text_stays_plain(tmp_path: Path, text: str) -> None:
    assert read_one(tmp_path / "a.txt", text).media_type == "text/plain"


# --- strings -------------------------------------------------------------------------------


def test_a_string_becomes_a_document() -> None:
    document = document_from_text("Some\r\ntext")
    digest = hashlib.sha256(b"Some\r\ntext").hexdigest()
    assert document == Document(source=f"text:{digest[:12]}", text="Some\ntext", sha256=digest)


def test_what_is_given_goes_before_what_the_text_states() -> None:
    text = "---\ntitle: Old\ndate: 2020\nyear: 1\n---\n# H\n"
    time = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    given_all = document_from_text(
        text,
        source="s",
        title="New",
        media_type="text/markdown",
        metadata={"year": 2, "when": time},
        created_at=time,
    )
    assert (given_all.source, given_all.title, given_all.text) == ("s", "New", "# H\n")
    assert given_all.created_at == datetime(2024, 1, 1, tzinfo=UTC)
    assert given_all.metadata == {"date": 2020, "year": 2, "when": "2024-01-01T00:00:00+00:00"}
    stated = document_from_text(text, source="s", media_type="text/markdown")
    assert (stated.title, stated.metadata["year"]) == ("Old", 1)
    assert stated.sha256 != given_all.sha256


def test_strings_of_html_and_restructured_text_are_parsed() -> None:
    html = document_from_text("<title>T</title><p>A <b>b</b></p>", media_type="text/html")
    assert (html.title, html.text, html.media_type) == ("T", "A b\n", "text/html")
    rst = document_from_text("T\n=\n\nText\n", media_type="text/x-rst")
    assert (rst.title, rst.media_type) == ("T", "text/x-rst")


@pytest.mark.parametrize("text", ["", " \n", "\x00"])
def test_a_blank_string_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="cannot read 'notes': empty"):
        document_from_text(text, source="notes")


# --- read find


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


# --- read records


def read(path: Path, content: str) -> ReadResult:
    path.write_text(content, encoding="utf-8")
    return read_file(path, SETTINGS)


# --- JSON Lines ----------------------------------------------------------------------------


def test_records_become_documents(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    line = {
        "_id": "p0",
        "title": "Session 1",
        "text": "Hello.",
        "metadata": {"created_at": "2023-05-08T13:56:00+00:00", "part_of": "s", "position": 1},
    }
    other = {"id": 7, "content": "Text", "author": "Ann"}
    first, second = read(path, json.dumps(line) + "\r\n\n" + json.dumps(other)).documents
    source = path.resolve().as_posix()
    assert (first.source, first.origin) == (f"{source}#p0", source)
    assert (first.title, first.text) == ("Session 1", "Hello.")
    assert first.created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert first.metadata == {"part_of": "s", "position": 1}
    assert (second.source, second.title, second.text) == (f"{source}#7", "", "Text")
    assert second.metadata == {"author": "Ann"}
    assert first.sha256 != second.sha256


def test_a_record_keeps_its_digest_where_others_change(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    before = read(path, '{"_id": 1, "text": "a", "k": 1}\n{"_id": 2, "text": "b"}').documents
    after = read(path, '{"_id": 2, "text": "c"}\n{"k": 1, "_id": 1,  "text": "a"}').documents
    assert before[0].sha256 == after[1].sha256
    assert before[1].sha256 != after[0].sha256


def test_bad_lines_are_reported_and_lose_nothing_else(tmp_path: Path) -> None:
    lines = [
        '{"_id": "a", "text": "one"}',
        '{"_id": "b", "text": ',
        '{"_id": "a", "text": "other"}',
        '{"_id": "c", "text": " "}',
        "[" * 5000,
        "9" * 5000,
        '"a string"',
        '{"question": "Who?", "answer": {"name": "Ann"}}',
    ]
    path = tmp_path / "a.jsonl"
    result = read(path, "\n".join(lines))
    source = path.resolve().as_posix()
    assert [(d.source, d.text) for d in result.documents] == [
        (f"{source}#a", "one"),
        (f"{source}#7", "a string"),
        (f"{source}#8", "question: Who?\nanswer:\n  name: Ann"),
    ]
    assert sorted(result.skipped, key=lambda skipped: skipped.source) == [
        Skipped(source=f"{source}#2", reason="malformed JSON"),
        Skipped(source=f"{source}#5", reason="malformed JSON"),
        Skipped(source=f"{source}#6", reason="malformed JSON"),
        Skipped(source=f"{source}#a", reason="same id again (record 3)"),
        Skipped(source=f"{source}#c", reason="empty"),
    ]


def test_a_file_without_a_good_line_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"malformed JSON \(no line"):
        read(tmp_path / "a.jsonl", "one\ntwo\n")


def test_escapes_that_no_store_takes_are_cleaned(tmp_path: Path) -> None:
    document = read(
        tmp_path / "a.jsonl", r'{"text": "a\u0000b\r\n\ud800", "k\ud800": NaN}'
    ).documents[0]
    assert document.text == "ab\n\ufffd"
    assert document.metadata == {"k\ufffd": "nan"}


# --- JSON ----------------------------------------------------------------------------------


def test_an_object_with_a_text_is_one_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    document = read(
        path, '{"id": 1, "title": "T", "body": "Text", "date": "2020-01-02"}'
    ).documents[0]
    assert document.source == path.resolve().as_posix()
    assert (document.title, document.text) == ("T", "Text")
    assert document.created_at == datetime(2020, 1, 2, tzinfo=UTC)
    assert document.metadata == {"date": "2020-01-02"}


def test_a_list_of_objects_with_text_is_a_document_each(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    first, second = read(path, '[{"text": "a"}, {"_id": "x", "text": "b"}]').documents
    source = path.resolve().as_posix()
    assert (first.source, second.source) == (f"{source}#1", f"{source}#x")
    assert first.origin == second.origin == source


def test_other_json_is_readable_lines(tmp_path: Path) -> None:
    value = {"name": "x", "none": None, "tags": ["a", "b"], "items": [{"a": 1, "b": True}, [2, 3]]}
    document = read(tmp_path / "my-data.json", json.dumps(value)).documents[0]
    assert document.title == "my data"
    assert document.text == ("name: x\ntags: a, b\nitems:\n  - a: 1\n    b: true\n  - - 2\n    - 3")


def test_json_lines_under_the_name_of_json(tmp_path: Path) -> None:
    assert len(read(tmp_path / "a.json", '{"text": "a"}\n{"text": "b"}\n').documents) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": 1,\n "b" 2}', r"malformed JSON \(line 2, column 6\)"),
        ("[" * 20_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "malformed JSON"),
        ("null", "empty"),
        ('{"text": " "}', "empty"),
        ("{}", "empty"),
    ],
)
def test_json_that_cannot_be_read(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(tmp_path / "a.json", content)


WORDS = st.text(alphabet="abcж文", min_size=1, max_size=8)
JSON_VALUES = st.recursive(
    WORDS | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner),
    max_leaves=8,
)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(value=st.dictionaries(WORDS, JSON_VALUES, min_size=1))
def test_every_value_of_other_json_is_in_the_text(tmp_path: Path, value: dict[str, Any]) -> None:
    scalars = list(_scalars(value))
    if not scalars:
        return
    text = read(tmp_path / "a.json", json.dumps(value)).documents[0].text
    assert all(scalar in text for scalar in scalars)


def _scalars(value: object) -> list[str]:
    if isinstance(value, dict):
        return [scalar for item in value.values() for scalar in _scalars(item)]
    if isinstance(value, list):
        return [scalar for item in value for scalar in _scalars(item)]
    return [str(value)]


# --- tables --------------------------------------------------------------------------------


def test_each_row_is_a_piece(tmp_path: Path) -> None:
    content = 'id,name,year\nq1,"Ann, B",2020\n,,\nq2,,007\nq3,"two\nlines",1.5,more\n'
    document = read(tmp_path / "my_table.csv", content).documents[0]
    assert (document.title, document.media_type) == ("my table", "text/csv")
    assert document.metadata == {"columns": ["id", "name", "year"]}
    texts = [document.text[piece.start : piece.end] for piece in document.pieces]
    assert texts == [
        "id: q1\nname: Ann, B\nyear: 2020",
        "id: q2\nyear: 007",
        "id: q3\nname: two\nlines\nyear: 1.5\ncolumn 4: more",
    ]
    assert [piece.key for piece in document.pieces] == ["q1", "q2", "q3"]
    assert document.pieces[0].metadata == {"id": "q1", "name": "Ann, B", "year": 2020}
    assert document.pieces[1].metadata == {"id": "q2", "year": "007"}
    assert document.pieces[2].metadata["year"] == 1.5


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", "n;m\na,b;c\n"), ("a.csv", "n\tm\na,b\tc\n"), ("a.tsv", "n\tm\na,b\tc\n")],
)
def test_the_delimiter_is_found(tmp_path: Path, name: str, content: str) -> None:
    piece = read(tmp_path / name, content).documents[0].pieces[0]
    assert piece.metadata == {"n": "a,b", "m": "c"}


def test_keys_are_row_numbers_where_ids_repeat(tmp_path: Path) -> None:
    pieces = read(tmp_path / "a.csv", "id,x\n1,a\n1,b\n").documents[0].pieces
    assert [piece.key for piece in pieces] == ["1", "2"]


def test_columns_without_a_name_or_with_the_same_get_one(tmp_path: Path) -> None:
    pieces = read(tmp_path / "a.csv", "x,,x\n1,2,3\n").documents[0].pieces
    assert pieces[0].metadata == {"x": 1, "column 2": 2, "x (3)": 3}


def test_a_cell_may_hold_a_long_text(tmp_path: Path) -> None:
    long = "word " * 40_000
    assert len(read(tmp_path / "a.csv", f"id,text\n1,{long}\n").documents[0].text) > 190_000


CELLS = st.text(alphabet="ab ,;\"'\n|ж", max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_written_tables_come_back(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    import csv

    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("one", "two"), *rows])
    kept = [
        {name: cell.strip() for name, cell in zip(("one", "two"), row, strict=True) if cell.strip()}
        for row in rows
    ]
    kept = [row for row in kept if row]
    if not kept:
        return
    document = read_file(path, SETTINGS).documents[0]
    assert [piece.metadata for piece in document.pieces] == kept
    ends = [0, *(piece.end for piece in document.pieces)]
    assert all(end <= piece.start for end, piece in zip(ends, document.pieces, strict=False))
    assert document.pieces[-1].end == len(document.text)


# --- Packed files, properties of office files and e-books, and values that are cut.


def packed_read(path: Path, data: bytes) -> Document:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    (document,) = read_file(path, SETTINGS).documents
    return document


def zipped(**parts: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return data.getvalue()


def test_what_is_packed_with_gzip_is_read_as_what_it_is(tmp_path: Path) -> None:
    document = packed_read(
        tmp_path / "notes.md.gz", gzip.compress(b"# Notes of 2 March 2019\n\nText.\n")
    )
    assert (document.title, document.media_type) == ("Notes of 2 March 2019", "text/markdown")
    assert document.date_source == "title"
    assert document.source.endswith("/notes.md.gz")
    named = packed_read(
        tmp_path / "openssl" / "changelog.gz", gzip.compress(b"one sentence.\n\ntwo.")
    )
    assert named.title == "changelog (openssl)"


def test_a_bomb_and_a_damaged_archive_are_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(b"a" * 3_000_000)
    (tmp_path / "a.txt.gz").write_bytes(bomb)
    with pytest.raises(UnreadableError, match="unpacks to more than 1 MB"):
        read_file(tmp_path / "a.txt.gz", ReadSettings(max_megabytes=1))
    for data in (bomb[:50], b"\x1f\x8bxx", b"text"):
        (tmp_path / "a.txt.gz").write_bytes(data)
        with pytest.raises(UnreadableError, match="malformed"):
            read_file(tmp_path / "a.txt.gz", SETTINGS)


OPF = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>On Rivers</dc:title><dc:creator>Ann Hill</dc:creator><dc:creator>Bo</dc:creator>
<dc:date>2019-03</dc:date><dc:language>en</dc:language></metadata></package>"""
CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/a.opf"/></rootfiles></container>'
CORE = """<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t">
<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>
<dcterms:created>2013-01-27T09:14:16Z</dcterms:created></cp:coreProperties>"""


def raw(name: str, **parts: str) -> RawFile:
    return RawFile(source=name, data=zipped(**parts), settings=SETTINGS)


def test_an_ebook_says_its_title_authors_and_date() -> None:
    known = package_properties(
        raw("a.epub", **{"META-INF__container_dot_xml": CONTAINER, "OEBPS__a_dot_opf": OPF})
    )
    assert known.title == "On Rivers"
    assert known.metadata["author"] == ["Ann Hill", "Bo"]
    assert (known.date_precision, known.created_at and known.created_at.year) == ("month", 2019)


def test_the_template_of_a_library_says_nothing() -> None:
    core = {"docProps__core_dot_xml": CORE.format(title="untitled", author="Steve Canny")}
    known = package_properties(raw("a.pptx", **core))
    assert (known.title, known.created_at, dict(known.metadata)) == ("", None, {})
    core = {"docProps__core_dot_xml": CORE.format(title="Microsoft Word - x.doc", author="Ann")}
    known = package_properties(raw("a.pptx", **core))
    assert (known.title, known.metadata["author"]) == ("", "Ann")
    assert known.created_at is not None


@pytest.mark.parametrize("part", ["<a>", "", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'])
def test_damaged_properties_are_none(part: str) -> None:
    known = package_properties(raw("a.pptx", docProps__core_dot_xml=part))
    assert (known.title, dict(known.metadata)) == ("", {})


def test_long_values_are_cut_in_metadata_and_stay_whole_in_the_text(tmp_path: Path) -> None:
    cell = "word " * 20_000
    document = packed_read(tmp_path / "a.csv", f"name,note\nAnn,{cell}\n".encode())
    assert len(document.pieces[0].metadata["note"]) == LONGEST_VALUE
    assert cell.strip() in document.text
    document = packed_read(tmp_path / "b.md", f"---\nnote: {cell}\n---\nText.\n".encode())
    assert len(document.metadata["note"]) == LONGEST_VALUE


def test_form_feeds_are_line_breaks(tmp_path: Path) -> None:
    assert packed_read(tmp_path / "a.txt", b"One.\n\x0cTwo.\n").text == "One.\n\nTwo.\n"


# --- Trees of elements: what leads back in them is found, and nothing else.


GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=6
)


def sorted_out(graph: dict[str, list[str]]) -> list[str]:
    return list(TopologicalSorter(graph).static_order())


@given(GRAPHS)
def test_without_what_closes_circles_none_is_left(graph: dict[str, list[str]]) -> None:
    closed = circles(graph)

    for (start, end), way in closed.items():
        assert (way[0], way[-1]) == (end, start)
        assert all(after in graph[one] for one, after in pairwise(way))
    sorted_out({at: [to for to in ends if (at, to) not in closed] for at, ends in graph.items()})


@given(GRAPHS)
def test_a_graph_without_a_circle_loses_nothing(graph: dict[str, list[str]]) -> None:
    try:
        sorted_out(graph)
    except CycleError:
        assert circles(graph)
    else:
        assert circles(graph) == {}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_long_chain_is_followed_in_any_order(backwards: bool) -> None:
    chain = {str(n): [str(n + 1)] for n in range(50_000)}
    ordered = dict(reversed(chain.items())) if backwards else chain

    assert circles(ordered) == {}

    ((edge, way),) = circles({**ordered, "50000": ["0"]}).items()
    assert len(way) == 21
    assert (way[0], way[-2], way[-1]) == (edge[1], "…", edge[0])
