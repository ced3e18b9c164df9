from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import UnreadableError
from clew.indexing.reading.files import find_files
from clew.indexing.reading.formats.common import clean_text, json_safe
from clew.indexing.reading.reader import document_from_text, file_digest, read_file
from clew.settings import ReadSettings
from clew.times import to_time
from clew.types import Document
from clew.types.values import file_source

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
