"""Packed files, properties of office files and e-books, and values that are cut."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from clew.errors import UnreadableError
from clew.indexing.reading.formats.common import LONGEST_VALUE, RawFile
from clew.indexing.reading.formats.office import package_properties
from clew.indexing.reading.reader import read_file
from clew.settings import ReadSettings
from clew.types import Document

SETTINGS = ReadSettings()


def read(path: Path, data: bytes) -> Document:
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
    document = read(tmp_path / "notes.md.gz", gzip.compress(b"# Notes of 2 March 2019\n\nText.\n"))
    assert (document.title, document.media_type) == ("Notes of 2 March 2019", "text/markdown")
    assert document.date_source == "title"
    assert document.source.endswith("/notes.md.gz")
    named = read(tmp_path / "openssl" / "changelog.gz", gzip.compress(b"one sentence.\n\ntwo."))
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
    document = read(tmp_path / "a.csv", f"name,note\nAnn,{cell}\n".encode())
    assert len(document.pieces[0].metadata["note"]) == LONGEST_VALUE
    assert cell.strip() in document.text
    document = read(tmp_path / "b.md", f"---\nnote: {cell}\n---\nText.\n".encode())
    assert len(document.metadata["note"]) == LONGEST_VALUE


def test_form_feeds_are_line_breaks(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", b"One.\n\x0cTwo.\n").text == "One.\n\nTwo.\n"
