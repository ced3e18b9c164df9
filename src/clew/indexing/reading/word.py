"""Office files are ZIP archives: what they unfold to is counted before anything unfolds them."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from typing import IO
from xml.parsers import expat

import docx
from docx.opc.exceptions import OpcError
from docx.oxml.xmlchemy import BaseOxmlElement as Element
from lxml import etree  # type: ignore[import-untyped]

from clew.indexing.reading.common import (
    TEMPLATE_AUTHORS,
    Properties,
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    media_type_of,
    properties,
    stated_property_title,
    table_lines,
)
from clew.text import one_line

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of the container that Office used before ZIP."""

_UNPACKED_FACTOR = 10
_XML_SUFFIXES = (".xml", ".rels", ".xhtml", ".html", ".opf", ".ncx")
_BLOCK = 1 << 16
_ROW = re.compile(r"[0-9]{1,7}", re.ASCII)
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})", re.ASCII)
_FAULTS = (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, OSError)


def check_archive(raw: RawFile) -> None:
    """Raise `UnreadableError` unless the file is a ZIP archive that unfolds to a bearable size.

    Bytes, parts, XML elements, and the cells between the first and the last of a sheet are
    counted; what has more than its limit raises `LimitError`.
    """
    if raw.data.startswith(
        OLE_MAGIC
    ):  # Office wraps a file with a password into its older container
        raise raw.unreadable("encrypted")
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            members = archive.infolist()
            check_limit(raw.limits, "members", len(members), raw.source)
            unpacked = sum(member.file_size for member in members)
            limit = raw.settings.max_megabytes * _UNPACKED_FACTOR
            if unpacked > limit * 1_000_000:
                raise raw.unreadable(f"unpacks to more than {limit:g} MB")
            count = _Count(raw)
            for member in members:
                if member.filename.lower().endswith(_XML_SUFFIXES):
                    with archive.open(member) as part:
                        count.read(part)
    except _FAULTS as error:
        raise raw.unreadable("malformed (not a ZIP archive)") from error


class _Count:
    """Counts the XML elements of a file's parts, and the cells that each spans, as they stream."""

    def __init__(self, raw: RawFile) -> None:
        self._raw = raw
        self._elements = 0

    def read(self, part: IO[bytes]) -> None:
        """Count one part; what is no XML is left to its reader."""
        self._rows = self._columns = self._row = self._column = 0
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._element
        try:
            while block := part.read(_BLOCK):
                parser.Parse(block, False)
        except expat.ExpatError:
            return

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        raw = self._raw
        self._elements += 1
        check_limit(raw.limits, "elements", self._elements, raw.source)
        kind = name.rpartition(":")[2]
        if kind == "row":
            row = attributes.get("r", "")
            self._row = int(row) if _ROW.fullmatch(row) else self._row + 1
            self._column = 0
        elif kind == "c":
            cell = _CELL.fullmatch(attributes.get("r", ""))
            self._row = int(cell[2]) if cell else self._row
            # The letters of a column count in 26s: A is 1, AA is 27.
            letters = cell[1] if cell else ""
            number = sum((ord(x) - 64) * 26**i for i, x in enumerate(reversed(letters)))
            self._column = number or self._column + 1
            self._rows = max(self._rows, self._row)
            self._columns = max(self._columns, self._column)
            check_limit(raw.limits, "cells", self._rows * self._columns, raw.source)


# What DOCX, EPUB, PPTX and XLSX say of themselves: the properties in their archives.


_CONTAINER = "META-INF/container.xml"
_LARGEST = 1_000_000
"""Bytes of the part that holds the properties, at most."""
_LISTS = frozenset({"author", "subject"})
_NAMES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "description": "description",
    "keywords": "keywords",
    "publisher": "publisher",
    "language": "language",
    "date": "date",
    "created": "created_at",
    "modified": "updated_at",
}


def package_properties(raw: RawFile) -> Properties:
    """Title, authors, subjects, language and dates; nothing where they are missing or damaged.

    `raw` has passed `check_archive`.
    """
    values: dict[str, list[str]] = {}
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            part = "docProps/core.xml"
            if _CONTAINER in archive.namelist():
                paths = (one.get("full-path") for one in _parsed(archive, _CONTAINER).iter())
                part = next(filter(None, paths), part)
            for element in _parsed(archive, part).iter():
                name = _NAMES.get(str(element.tag).rpartition("}")[2])
                text = one_line(clean_text(element.text or ""))
                if name and text:
                    values.setdefault(name, []).append(text)
    except (SyntaxError, KeyError, *_FAULTS):
        return Properties()
    if TEMPLATE_AUTHORS.intersection(values.get("author", ())):
        for name in ("author", "created_at", "description"):  # those of the library's template
            values.pop(name, None)
    known = {
        name: found if name in _LISTS and len(found) > 1 else found[0]
        for name, found in values.items()
    }
    title = stated_property_title(str(known.pop("title", "")))
    found = properties({**known, "title": title} if title else known)
    # The date of a book is the publisher's, that of an office document its program's.
    return found if "date" in values else replace(found, date_source="properties")


def _parsed(archive: zipfile.ZipFile, name: str) -> etree._Element:
    """A part, no entity of which is resolved."""
    with archive.open(name) as part:
        data = part.read(_LARGEST)
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


# DOCX: headings, lists, paragraphs and tables in order, as Markdown.
#
# Not by mammoth (1.13.0): its Markdown has no tables and escapes plain text, and it fails on 100
# nested tables. The XML itself is walked: python-docx leaves out content controls and tracked
# insertions.


_HEADING = re.compile(r"heading ([1-9])", re.I)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# A content control or a tracked insertion stands around what it holds.
_WRAPPERS = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"})
_NOT_TEXT = frozenset({"pPr", "txbxContent", "Fallback", "del", "moveFrom"})
_Block = tuple[str, str]
"""Mark and text of a paragraph or a table; the mark is `# `, `- ` or empty."""


def read_word(raw: RawFile) -> ReadResult:
    """The document's body; title, author and times from its core properties."""
    check_archive(raw)
    try:
        word = docx.Document(BytesIO(raw.data))
        styles = {style.style_id: style.name or "" for style in word.styles}
        blocks = [block for block in _blocks(word.element.body, styles) if block[1].strip()]
    # What python-docx lets through; lxml's errors of syntax are kinds of Python's.
    except (OpcError, SyntaxError, AttributeError, LookupError, TypeError, *_FAULTS) as error:
        raise raw.unreadable("malformed DOCX") from error
    parts: list[str] = []
    before = ""
    for mark, text in blocks:
        if parts:
            parts.append("\n" if mark == before == "- " else "\n\n")
        parts.append(mark + (one_line(text) if mark.startswith("#") else text))
        before = mark
    document = package_properties(raw).document(
        raw.source,
        clean_text("".join(parts)),
        media_type_of(raw.suffix),
        title=next((one_line(text) for mark, text in blocks if mark == "# "), ""),
    )
    return ReadResult(documents=(document,))


def _blocks(parent: Element, styles: Mapping[str | None, str]) -> Iterator[_Block]:
    for child in parent.iterchildren("*"):
        name = _local(child)
        if name == "p":
            signs = (
                child.text if _local(child) == "t" else _SIGNS[_local(child)]
                for child in _within(child, {"t", *_SIGNS}, _NOT_TEXT)
            )
            yield _mark(child, styles), "".join(sign or "" for sign in signs).strip()
            # The copies of its text boxes that are kept for old versions of Word apart.
            for box in _within(child, {"txbxContent"}, {"Fallback"}):
                yield from _blocks(box, styles)
        elif name == "tbl":
            rows = [
                [
                    one_line(" ".join(text for _, text in _blocks(cell, styles)))
                    for cell in _within(row, {"tc"}, {"tbl"})
                ]
                for row in _within(child, {"tr"}, {"tbl"})
            ]
            yield "", "\n".join(table_lines([row for row in rows if any(row)]))
        elif name in _WRAPPERS:
            yield from _blocks(child, styles)


def _mark(paragraph: Element, styles: Mapping[str | None, str]) -> str:
    style = styles.get(paragraph.style, "").lower()
    if style == "title":
        return "# "
    if heading := _HEADING.fullmatch(style):
        return "#" * min(int(heading[1]), 6) + " "
    is_item = paragraph.pPr is not None and paragraph.pPr.numPr is not None
    return "- " if is_item or style.startswith("list ") else ""


def _local(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _within(parent: Element, names: Collection[str], apart: Collection[str]) -> Iterator[Element]:
    """The elements of those names, the outermost ones, and none within those that are apart."""
    for child in parent.iterchildren("*"):
        if _local(child) in names:
            yield child
        elif _local(child) not in apart:
            yield from _within(child, names, apart)
