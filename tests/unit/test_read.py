"""Files become documents: finding, reading, records, archives."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clew.errors import InputError, UnreadableError
from clew.indexing.inputs import document_from_text, file_digest, read_file
from clew.indexing.reading.common import (
    LONGEST_VALUE,
    RawFile,
    clean_text,
    decode,
    json_safe,
)
from clew.indexing.reading.files import find_files
from clew.indexing.reading.word import package_properties
from clew.plugins.constitution.reading import circles
from clew.settings import ReadSettings
from clew.types import Document, Skipped, file_source
from tests.unit.files import SETTINGS, read, read_one, write, zipped

# --- read


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


# --- what every file gets ------------------------------------------------------------------


def test_a_text_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "my_field-notes_2024-05-01.txt"
    path.write_bytes(b"  One.\r\nTwo.\rThree.\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (document,) = read_file(path, SETTINGS).documents
    assert document == Document(
        source=path.resolve().as_posix(),
        text="  One.\nTwo.\nThree.\n",
        title="my field notes 2024-05-01",
        media_type="text/plain",
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        created_at=datetime(2024, 5, 1, tzinfo=UTC),
        updated_at=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        date_source="path",
        date_precision="day",
        read_from="file",
    )
    assert (document.source, document.sha256) == (file_source(path), file_digest(path, SETTINGS))


def test_a_link_is_read_under_the_name_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, "real.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    (found,) = find_files([tmp_path / "link.txt"], settings=SETTINGS)
    (document,) = read_file(found, SETTINGS).documents
    assert document.source == (tmp_path / "real.txt").resolve().as_posix()


def test_a_name_that_is_no_text_still_gives_a_source(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    document = read_one(path, "text")
    assert document.source.endswith("/caf\\xe9.txt")
    document.source.encode("utf-8")


@pytest.mark.parametrize("action", [file_digest, read_file])
def test_what_is_no_file_says_so(
    tmp_path: Path, action: Callable[[Path, ReadSettings], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    for name, reason in (
        (".", "not a regular file"),
        ("pipe", "not a regular file"),
        ("gone", "no such file"),
        ("gone.md", "leads nowhere"),
        ("self.md", "leads nowhere"),
    ):
        with pytest.raises(UnreadableError, match=reason):
            action(tmp_path / name, SETTINGS)
    # Broken links are found so that they are reported.
    assert found(tmp_path) == ["gone.md", "self.md"]


# --- one file, one document ------------------------------------------------------------------

FRONT = (
    "---\ntitle: The Thread\ndate: 2024-05-01\nupdated_at: 2024-06-01T12:00:00+02:00\n"
    "author: Ann\ntags: [a, b]\nyear: 2020\n---\n\n# Heading\n\nText.\n"
)
POD = (
    "=encoding utf8\n\n=head1 NAME\n\nperltide - what rises in C<Tide>\n\n=head2 Links\n\n"
    "See L<IO::Tide> and L<the docs|perltide/sort>, B<not I<now>>, C<< a->b >>, E<lt>x.\n\n"
    "  my $x = 1; # C<as it is>\n\n=over 4\n\n=item *\n\nFirst\n\n"
    "=item C<open>\n\nOpens it.\n\n"
    "=back\n\n=begin html\n\n<b>no</b>\n\n=end html\n\n=cut\n\nprint 1;\n"
)
RST = "=========\nThe Title\n=========\n\n:Author: Ann\n:Date: 2024-05-01\n\nText.\n"
RST_TXT = "The Title\n=========\n\n:Author: Ann\n\n.. note:: See :ref:`more`.\n\nText.\n"
LLMS_TXT = "# Acme\n\n> All of it.\n\n- [Guide](guide.md)\n"
MAY = datetime(2024, 5, 1, tzinfo=UTC)
OF_RST = {"title": "The Title", "media_type": "text/x-rst", "metadata": {"author": "Ann"}}
OF_MARKDOWN = {"title": "Acme", "media_type": "text/markdown"}
PLAIN = {"media_type": "text/plain"}
NESTED = {"name": "x", "none": None, "tags": ["a", "b"], "items": [{"a": 1, "b": True}, [2, 3]]}
OPF = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>On Rivers</dc:title><dc:creator>Ann Hill</dc:creator><dc:creator>Bo</dc:creator>
<dc:date>2019-03</dc:date><dc:language>en</dc:language></metadata></package>"""
CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/a.opf"/></rootfiles></container>'
CORE = """<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t">
<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>
<dcterms:created>2013-01-27T09:14:16Z</dcterms:created></cp:coreProperties>"""


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        # front matter
        (
            "a.md",
            FRONT,
            {
                "text": "# Heading\n\nText.\n",
                "title": "The Thread",
                "media_type": "text/markdown",
                "created_at": MAY,
                "updated_at": datetime(2024, 6, 1, 10, tzinfo=UTC),
                "metadata": {
                    "date": "2024-05-01",
                    "author": "Ann",
                    "tags": ["a", "b"],
                    "year": 2020,
                },
            },
        ),
        (
            "a.md",
            "+++\ntitle = 'T'\ndate = 2024-05-01\n+++\nText\n",
            {"title": "T", "text": "Text\n", "created_at": MAY, "metadata": {"date": "2024-05-01"}},
        ),
        (
            "a.md",
            "---\ntitle: T\ncreated_at: 2024-02-31\n---\nText\n",
            {"title": "T", "created_at": None, "metadata": {"created_at": "2024-02-31"}},
        ),
        *(
            ("a.md", block, {"text": block, "metadata": {}})
            for block in (
                "---\ntitle: A: B: [\n---\n\nText.\n",
                "---\njust text between two rules\n---\n\nText.\n",
                "---\na: &a [x, x]\nb: [*a, *a]\n---\n\nText.\n",
                "---\na: &a [*a]\n---\n\nText.\n",
                "---\n{[1]: 2}: 3\n---\n\nText.\n",
                "---\n!!python/object:os.system {}\n---\n\nText.\n",
                "---\na: !!int b\n---\n\nText.\n",
            )
        ),
        # titles
        ("n.md", "# The *Big* [Thing](x.md) `code` #\n", {"title": "The *Big* Thing code"}),
        ("n.md", "Intro\n\nSetext Title\n============\n", {"title": "Setext Title"}),
        ("n.md", "```\n# comment\n```\n\n# Real\n", {"title": "Real"}),
        ("some_notes.md", "## Second level only\n", {"title": "some notes"}),
        ("some_notes.md", "#hashtag\n", {"title": "some notes"}),
        ("n.md", "# **Bold** {#anchor}\n", {"title": "Bold"}),
        *(
            (f"src/{name}", "# a comment\nx = 1\n", {"title": f"src/{name}", "media_type": kind})
            for name, kind in (
                ("a.py", "text/x-python"),
                ("a.RS", "text/x-rust"),
                ("a.ts", "text/x-typescript"),
                ("Makefile", "text/plain"),
                ("conf.yaml", "application/yaml"),
            )
        ),
        # reStructuredText, POD, and plain files that are marked up
        (
            "a.pod",
            POD,
            {
                "title": "perltide - what rises in Tide",
                "media_type": "text/markdown",
                "text": "# NAME\n\nperltide - what rises in `Tide`\n\n## Links\n\n"
                "See `IO::Tide` and the docs, **not *now***, `a->b`, <x.\n\n"
                "  my $x = 1; # C<as it is>\n\n- First\n\n`open`\n\nOpens it.\n",
            },
        ),
        (
            "a.rst",
            RST,
            {
                "title": "The Title",
                "text": RST,
                "created_at": MAY,
                "metadata": {"author": "Ann", "date": "2024-05-01"},
            },
        ),
        ("plain.rst", "A long first line\n----\n\nMore.\n", {"title": "plain"}),
        *((name, RST_TXT, OF_RST) for name in ("guide.rst.txt", "INSTALL", "notes.txt")),
        *((name, LLMS_TXT, OF_MARKDOWN) for name in ("llms.txt", "README")),
        ("a.txt", "# pinned on 3 May\nnumpy==2.0\n## tests\npytest\n", PLAIN),
        ("a.txt", "RELEASE\n=======\n\nTwo colons:: and `quotes` in a text.\n", PLAIN),
        ("a.txt", "a = b[1](c)\n", PLAIN),
        # damaged text
        ("a.txt", RUSSIAN.encode()[:-3] + b"\xff.", {"text": f"{RUSSIAN[:-3]}о\ufffd."}),
        ("a.txt", b"One.\n\x0cTwo.\n", {"text": "One.\n\nTwo.\n"}),
        (
            "a.jsonl",
            r'{"text": "a\u0000b\r\n\ud800 \ud83d\ude00", "k\ud800": NaN}',
            {"text": "ab\n\ufffd \U0001f600", "metadata": {"k\ufffd": "nan"}},
        ),
        # JSON
        (
            "a.json",
            '{"id": 1, "title": "T", "body": "Text", "date": "2020-01-02"}',
            {
                "origin": "",
                "title": "T",
                "text": "Text",
                "created_at": datetime(2020, 1, 2, tzinfo=UTC),
                "metadata": {"date": "2020-01-02"},
            },
        ),
        (
            "my-data.json",
            json.dumps(NESTED),
            {
                "title": "my data",
                "text": "name: x\ntags: a, b\nitems:\n  - a: 1\n    b: true\n  - - 2\n    - 3",
            },
        ),
        (
            "people.csv",
            "name,year of birth\n",
            {"text": "name, year of birth", "metadata": {"columns": ["name", "year of birth"]}},
        ),
        # what is packed is read as what it is
        (
            "notes.md.gz",
            gzip.compress(b"# Notes of 2 March 2019\n\nText.\n", mtime=0),
            {
                "title": "Notes of 2 March 2019",
                "media_type": "text/markdown",
                "date_source": "title",
            },
        ),
        (
            "openssl/changelog.gz",
            gzip.compress(b"one sentence.\n\ntwo.", mtime=0),
            {"title": "changelog (openssl)"},
        ),
    ],
)
def test_a_file_is_the_document_that_it_says(
    tmp_path: Path, name: str, content: str | bytes, expected: dict[str, Any]
) -> None:
    document = read_one(tmp_path / name, content)
    assert {field: getattr(document, field) for field in expected} == expected


SMALL = ReadSettings(max_megabytes=0.001)
BOMB = gzip.compress(b"a" * 3_000_000, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        *(
            (f"a{ending}", b"", ": empty")
            for ending in (".txt", ".docx", ".pdf", ".gz", ".json", ".eml")
        ),
        ("a.txt", b" \n\t\n", "empty"),
        ("a.txt", b"\xef\xbb\xbf", "empty"),
        ("a.md", b"---\ntitle: T\n---\n", "empty"),
        ("a.txt", b"text\x00more", "binary"),
        ("a.txt", b"\x7fELF\x02\x01\x01" + bytes(100), "binary"),
        ("a.txt", b"\x01\x02\x03\x04text", "binary"),
        ("a.txt", b'/* XPM */\nstatic char *rip[] = {"16 16 2 1"', "binary"),
        ("a.txt", b"\xff\xfea\xd8\x00", "undecodable"),
        ("a.txt", b"{\\rtf1 text}", "RTF"),
        ("small.txt", b"x" * 2000, r"too large \(0.002 MB, limit 0.001 MB\)"),
        ("small.gz", gzip.compress(b"a" * 3_000, mtime=0), "unpacks to more than 0.001 MB"),
        ("a.gz", BOMB[:50], "malformed"),
        ("a.gz", b"\x1f\x8bxx", "malformed"),
        ("a.gz", b"text", "malformed"),
        ("a.jsonl", b"one\ntwo\n", r"malformed JSON \(no line"),
        ("a.json", b'{"a": 1,\n "b" 2}', r"malformed JSON \(line 2, column 6\)"),
        ("a.json", b"[" * 200_000, "nested too deeply"),
        ("a.json", b"[" + b"9" * 5000 + b"]", "malformed JSON"),
        ("a.json", b"null", "empty"),
        ("a.json", b'{"text": " "}', "empty"),
        ("a.json", b"{}", "empty"),
    ],
)
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    with pytest.raises(UnreadableError, match=reason) as caught:
        read(tmp_path / name, content, SMALL if name.startswith("small") else SETTINGS)
    assert caught.value.source == file_source(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "parts", "expected"),
    [
        (
            "a.epub",
            {"META-INF/container.xml": CONTAINER, "OEBPS/a.opf": OPF},
            ("On Rivers", ["Ann Hill", "Bo"], "month", datetime(2019, 3, 1, tzinfo=UTC)),
        ),
        # The template of a library says nothing.
        (
            "a.pptx",
            {"docProps/core.xml": CORE.format(title="untitled", author="Steve Canny")},
            ("", None, "", None),
        ),
        (
            "a.pptx",
            {"docProps/core.xml": CORE.format(title="Microsoft Word - x.doc", author="Ann")},
            ("", "Ann", "time", datetime(2013, 1, 27, 9, 14, 16, tzinfo=UTC)),
        ),
        *(
            ("a.pptx", {"docProps/core.xml": damaged}, ("", None, "", None))
            for damaged in ("<a>", "", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>')
        ),
    ],
)
def test_properties_of_office_files_and_books(
    name: str, parts: dict[str, str], expected: tuple[object, ...]
) -> None:
    known = package_properties(RawFile(source=name, data=zipped(parts), settings=SETTINGS))
    author = known.metadata.get("author")
    assert (known.title, author, known.date_precision, known.created_at) == expected


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


SPOKEN = {
    "cp1252": (
        "Née à Orléans, Hélène préfère les pâtes à la crème brûlée. Où est passé l'été, où ça ? ",
        "Die Schlüssel hängen über der Tür, schöne Grüße. Für die Übernachtung zahlt Jürgen. ",
        "El año pasado la señora Ibáñez vivió en Logroño. Mañana jugará el niño en el jardín. ",
        "As crianças não têm lições amanhã. O irmão de João comprou pão e maçãs à tarde. ",
        "La città è più bella perché c'è il sole. Lunedì però Nicolò andrà giù al caffè. ",
        "De coördinator heeft drieëntwintig ideeën geïnventariseerd. België is één café rijk. ",
        "Færgen går ikke på søndag. Nøglen til kælderen ligger på bordet ved siden af brødet. ",
        "På lördag får vi gäster från Malmö. Nyckeln till källaren är på köksbordet här ute. ",
    ),
    "cp1250": (
        "Dziękuję, że możesz przyjść w piątek. Źródło rzeki leży w górach, a łódź już odpływa. ",
        "Příští čtvrtek přijdou hosté z Plzně. Klíč od sklepa leží na stole vedle čerstvé ryby. ",
        "A gyűlés hétfőn lesz, a főnök szerint fontos. Köszönöm szépen, őszintén örülök a hírnek. ",
    ),
    "cp1251": ("Ключ лежит на кухонном столе рядом с хлебом. Гости приедут в субботу из Твери. ",),
    "koi8-r": ("Ключ лежит на кухонном столе рядом с хлебом. Гости приедут в субботу из Твери. ",),
}


@pytest.mark.parametrize("encoding", SPOKEN)
@pytest.mark.parametrize("length", [30, 60, 120, 500])
def test_letters_of_one_language_tell_an_encoding(encoding: str, length: int) -> None:
    cut = [(text * 8)[n : n + length] for text in SPOKEN[encoding] for n in range(0, 60, 5)]
    files = (RawFile(source="a", data=text.encode(encoding), settings=SETTINGS) for text in cut)
    right = sum(map(str.__eq__, map(decode, files), cut)) / len(cut)
    # Of Cyrillic, the detector tells long texts alone; of short Slavic texts, few letters speak.
    assert right >= {"cp1252": 1.0, "cp1250": 0.8 + 0.2 * (length > 99)}.get(encoding, length > 99)


@given(st.text())
def test_clean_text_is_what_every_store_takes(text: str) -> None:
    clean = clean_text(text)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert "\r" not in clean
    assert clean_text(clean) == clean


# --- metadata ------------------------------------------------------------------------------

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


# --- strings -------------------------------------------------------------------------------


def test_a_string_becomes_a_document() -> None:
    document = document_from_text("Some\r\ntext")
    digest = hashlib.sha256(b"Some\r\ntext").hexdigest()
    assert document == Document(source=f"text:{digest[:12]}", text="Some\ntext", sha256=digest)


@pytest.mark.parametrize(
    ("text", "media_type", "expected"),
    [
        ("<title>T</title><p>A <b>b</b></p>", "text/html", "A b\n"),
        ("T\n=\n\nText\n", "text/x-rst", "T\n=\n\nText\n"),
    ],
)
def test_strings_with_markup_are_parsed(text: str, media_type: str, expected: str) -> None:
    document = document_from_text(text, media_type=media_type)
    assert (document.title, document.text, document.media_type) == ("T", expected, media_type)


def test_what_is_given_goes_before_what_the_text_states() -> None:
    text = "---\ntitle: Old\ndate: 2020\nyear: 1\n---\n# H\n"
    time = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    stated = document_from_text(text, source="s", media_type="text/markdown")
    given_all = document_from_text(
        text,
        source="s",
        title="New",
        media_type="text/markdown",
        metadata={"year": 2, "when": time},
        created_at=time,
    )
    assert (stated.title, stated.text, stated.metadata["year"]) == ("Old", "# H\n", 1)
    assert stated.sha256 != given_all.sha256
    assert given_all == replace(
        stated,
        title="New",
        sha256=given_all.sha256,
        metadata={"date": 2020, "year": 2, "when": "2024-01-01T00:00:00+00:00"},
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
        date_source=given_all.date_source,
        date_precision=given_all.date_precision,
    )


@pytest.mark.parametrize("text", ["", " \n", "\x00"])
def test_a_blank_string_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="cannot read 'notes': empty"):
        document_from_text(text, source="notes")


# --- read find


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
    twice = find_files([tmp_path / "b.md", tmp_path, tmp_path], settings=SETTINGS)
    assert [path.name for path in twice] == ["b.md", "Z.md", "c.md", "z.md", "a.md"]


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        (
            "a.md .hidden.md .folder/b.md .git/config .clew/clew.db",
            {"settings": ReadSettings(hidden=True)},
            ".folder/b.md .hidden.md a.md",
        ),
        ("a.md .hidden.md .folder/b.md .git/config .clew/clew.db", {}, "a.md"),
        *(
            ("a.md b.txt docs/c.md docs/d.txt old/docs/e.md", options, expected)
            for options, expected in (
                ({"include": ["*.md"]}, "a.md docs/c.md old/docs/e.md"),
                ({"include": ["/docs/**", "b.txt"]}, "b.txt docs/c.md docs/d.txt"),
                ({"exclude": ["docs/"]}, "a.md b.txt"),
                ({"include": ["*.md"], "exclude": ["/docs/*.md", "old"]}, "a.md"),
            )
        ),
    ],
)
def test_which_files_of_a_folder_are_found(
    tmp_path: Path, names: str, options: dict[str, Any], expected: str
) -> None:
    write(tmp_path, *names.split())
    os.mkfifo(tmp_path / "pipe")
    assert found(tmp_path, **options) == expected.split()


def test_a_path_or_a_glob_that_is_none_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file or folder '.*typo'.*check the spelling"):
        find_files([tmp_path, tmp_path / "typo"], settings=SETTINGS)
    with pytest.raises(InputError, match=r"cannot use the glob '!': expected one such as"):
        find_files([tmp_path], exclude=["!"], settings=SETTINGS)


def test_a_file_given_by_name_is_always_taken(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*.log\n")
    write(tmp_path, ".hidden.log")
    path = tmp_path / ".hidden.log"
    assert list(find_files([str(path)], exclude=["*"], settings=SETTINGS)) == [path.resolve()]


def test_ignored_files_are_read_where_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*.log\n!\n")
    write(tmp_path, "a.md", "a.log")
    assert found(tmp_path) == ["a.md"]
    assert found(tmp_path, settings=ReadSettings(git_ignored=True)) == ["a.log", "a.md"]


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
    for link, target in (("a/up", "."), ("a/to_b", "b"), ("b/to_a", "a"), ("again.md", "a/one.md")):
        (tmp_path / link).symlink_to(tmp_path / target)
    assert found(tmp_path) == ["a/one.md", "b/two.md"]


@pytest.mark.parametrize(
    ("given", "follow", "expected"),
    [
        ("inside", False, ["b.md"]),
        ("inside outside", False, ["b.md", "a.md", "gone.md"]),
        ("inside/c.md inside/link", False, ["a.md"]),
        ("inside", True, ["b.md", "a.md", "gone.md"]),
    ],
)
def test_links_that_lead_outside_are_followed_on_demand_alone(
    tmp_path: Path, given: str, follow: bool, expected: list[str]
) -> None:
    write(tmp_path, "outside/a.md", "inside/b.md")
    for link, target in (("link", "."), ("c.md", "a.md"), ("gone.md", "gone.md")):
        (tmp_path / "inside" / link).symlink_to(tmp_path / "outside" / target)
    roots = [tmp_path / name for name in given.split()]
    paths = find_files(roots, settings=SETTINGS, follow_links=follow)
    assert [path.name for path in paths] == expected


def test_a_folder_given_through_a_link_keeps_its_rules(tmp_path: Path) -> None:
    (tmp_path / "real" / ".git").mkdir(parents=True)
    write(tmp_path, "real/.gitignore", text="/docs/*.log\n")
    write(tmp_path, "real/docs/a.md", "real/docs/a.log")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths = find_files([tmp_path / "link" / "docs"], settings=SETTINGS)
    assert [path.name for path in paths] == ["a.md"]


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


# --- read records


# --- JSON Lines ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.json"])
def test_records_become_documents(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
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


# --- JSON ----------------------------------------------------------------------------------


WORDS = st.text(alphabet="abcж文", min_size=1, max_size=8)
JSON_VALUES = st.recursive(
    WORDS | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner),
    max_leaves=8,
)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(value=st.dictionaries(WORDS, JSON_VALUES))
def test_every_value_of_other_json_is_in_the_text(tmp_path: Path, value: dict[str, Any]) -> None:
    (document,) = read(tmp_path / "a.json", json.dumps({"last": "a", **value})).documents
    assert all(scalar in document.text for scalar in _scalars(value))


def _scalars(value: object) -> list[str]:
    if isinstance(value, dict):
        return [scalar for item in value.values() for scalar in _scalars(item)]
    return (
        [scalar for item in value for scalar in _scalars(item)]
        if isinstance(value, list)
        else [str(value)]
    )


# --- tables --------------------------------------------------------------------------------


def test_each_row_is_a_piece(tmp_path: Path) -> None:
    content = 'id,name,year\nq1,"Ann, B",2020\n,,\nq2,,007\nq3,"two\nlines",1.5,more\n'
    (document,) = read(tmp_path / "my_table.csv", content).documents
    assert (document.title, document.media_type) == ("my table", "text/csv")
    assert document.metadata == {"columns": ["id", "name", "year"]}
    found = [(p.key, document.text[p.start : p.end], p.metadata) for p in document.pieces]
    assert found == [
        (
            "q1",
            "id: q1\nname: Ann, B\nyear: 2020",
            {"id": "q1", "name": "Ann, B", "year": 2020},
        ),
        ("q2", "id: q2\nyear: 007", {"id": "q2", "year": "007"}),
        (
            "q3",
            "id: q3\nname: two\nlines\nyear: 1.5\ncolumn 4: more",
            {"id": "q3", "name": "two\nlines", "year": 1.5, "column 4": "more"},
        ),
    ]


@pytest.mark.parametrize(
    ("name", "content", "keys", "metadata"),
    [
        ("a.csv", "n;m\na,b;c\n", ["1"], {"n": "a,b", "m": "c"}),
        ("a.csv", "n\tm\na,b\tc\n", ["1"], {"n": "a,b", "m": "c"}),
        ("a.tsv", "n\tm\na,b\tc\n", ["1"], {"n": "a,b", "m": "c"}),
        ("a.csv", "id,x\n1,a\n1,b\n", ["1", "2"], {"id": 1, "x": "a"}),
        ("a.csv", "x,,x\n1,2,3\n", ["1"], {"x": 1, "column 2": 2, "x (3)": 3}),
    ],
)
def test_columns_and_keys_of_a_table(
    tmp_path: Path, name: str, content: str, keys: list[str], metadata: dict[str, Any]
) -> None:
    pieces = read(tmp_path / name, content).documents[0].pieces
    assert ([piece.key for piece in pieces], pieces[0].metadata) == (keys, metadata)


def test_an_array_of_records_is_read_as_records(tmp_path: Path) -> None:
    first, second = read(
        tmp_path / "a.json", '[{"text": "a"}, {"_id": "x", "text": "b"}]'
    ).documents
    assert (first.source, second.source) == (f"{first.origin}#1", f"{first.origin}#x")


CELLS = st.text(alphabet="ab ,;\"'\n|ж", max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_written_tables_come_back(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("one", "two"), *rows, ("x", "")])
    kept = [
        {name: cell.strip() for name, cell in zip(("one", "two"), row, strict=True) if cell.strip()}
        for row in rows
    ]
    document = read_one(tmp_path / "a.csv", written.getvalue())
    assert [piece.metadata for piece in document.pieces] == [*filter(None, kept), {"one": "x"}]
    ends = [0, *(piece.end for piece in document.pieces)]
    assert all(end <= piece.start for end, piece in zip(ends, document.pieces, strict=False))
    assert document.pieces[-1].end == len(document.text)


# --- Packed files, properties of office files and e-books, and values that are cut.


def test_long_values_are_cut_in_metadata_and_stay_whole_in_the_text(tmp_path: Path) -> None:
    cell = "word " * 20_000
    table = read_one(tmp_path / "a.csv", f"name,note\nAnn,{cell}\n")
    note = read_one(tmp_path / "b.md", f"---\nnote: {cell}\n---\nText.\n")
    assert cell.strip() in table.text
    assert len(table.pieces[0].metadata["note"]) == len(note.metadata["note"]) == LONGEST_VALUE


# --- Trees of elements: what leads back in them is found, and nothing else.


GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=6
)


@given(GRAPHS)
def test_what_closes_circles_is_found_and_nothing_else(graph: dict[str, list[str]]) -> None:
    closed = circles(graph)

    for (start, end), way in closed.items():
        assert (way[0], way[-1]) == (end, start)
        assert all(after in graph[one] for one, after in pairwise(way))
    # Each is on a circle; without them there is none, which would be a `CycleError`.
    TopologicalSorter(
        {at: [to for to in ends if (at, to) not in closed] for at, ends in graph.items()}
    ).prepare()


@pytest.mark.parametrize("backwards", [False, True])
def test_a_long_chain_is_followed_in_any_order(backwards: bool) -> None:
    chain = {str(n): [str(n + 1)] for n in range(50_000)}
    ordered = dict(reversed(chain.items())) if backwards else chain

    assert circles(ordered) == {}

    ((edge, way),) = circles({**ordered, "50000": ["0"]}).items()
    assert (len(way), way[0], way[-2], way[-1]) == (21, edge[1], "…", edge[0])
