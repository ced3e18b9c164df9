"""Office files are ZIP archives: what they unfold to is counted before anything unfolds them."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

import docx
from docx.document import Document as Word
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import OpcError
from docx.oxml.xmlchemy import BaseOxmlElement as Element

from clew.indexing.reading.formats.common import (
    TEMPLATE_AUTHORS,
    Properties,
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    stated_property_title,
    table_lines,
)
from clew.indexing.reading.formats.media_types import media_type_of
from clew.text import one_line
from clew.times import in_utc

if TYPE_CHECKING:
    pass


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
            self._column = _column(cell[1]) if cell else self._column + 1
            self._rows = max(self._rows, self._row)
            self._columns = max(self._columns, self._column)
            check_limit(raw.limits, "cells", self._rows * self._columns, raw.source)


def _column(letters: str) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


# DOCX: headings, lists, paragraphs and tables in order, as Markdown.
#
# Not by mammoth (1.13.0): its Markdown has no tables and escapes plain text, and it fails on 100
# nested tables.


# What python-docx lets through; lxml's errors of syntax are kinds of Python's.
_FAULTS_WORD: tuple[type[Exception], ...] = (
    OpcError,
    SyntaxError,
    AttributeError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
_HEADING = re.compile(r"heading ([1-9])", re.I)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# A content control or a tracked insertion stands around what it holds.
_WRAPPERS = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"})
_NOT_TEXT = frozenset({"pPr", "txbxContent", "Fallback", "del", "moveFrom"})


def read_word(raw: RawFile) -> ReadResult:
    """The document's body; title, author and times from its core properties."""
    check_archive(raw)
    try:
        word = docx.Document(BytesIO(raw.data))
        blocks = [block for block in _Body(word).blocks(word.element.body) if block[1].strip()]
    except _FAULTS_WORD as error:
        raise raw.unreadable("malformed DOCX") from error
    related = word.part.package.rels.values()
    if all(relation.reltype != RELATIONSHIP_TYPE.CORE_PROPERTIES for relation in related):
        known = Properties()
    else:
        core = word.core_properties
        given = {"author": core.author, "subject": core.subject, "keywords": core.keywords}
        metadata: dict[str, Any] = {
            name: one_line(clean_text(value))
            for name, value in given.items()
            if value and value not in TEMPLATE_AUTHORS
        }
        known = Properties(
            title=stated_property_title(clean_text(core.title or "")),
            created_at=None if given["author"] in TEMPLATE_AUTHORS else _time(core.created),
            date_source="properties",
            updated_at=_time(core.modified),
            metadata=metadata,
        )
    text, media_type = clean_text(_join(blocks)), media_type_of(raw.suffix)
    heading = next((one_line(text) for mark, text in blocks if mark == "# "), "")
    document = known.document(raw.source, text, media_type, title=heading)
    return ReadResult(documents=(document,))


class _Body:
    """Walks the XML itself: python-docx leaves out content controls and tracked insertions."""

    def __init__(self, word: Word) -> None:
        self._styles = {
            style.style_id: style.name or "" for style in word.styles if style.style_id is not None
        }

    def blocks(self, parent: Element) -> Iterator[tuple[str, str]]:
        """(mark, text) of each paragraph and table; the mark is `# `, `- ` or empty."""
        for child in parent.iterchildren("*"):
            name = _local(child)
            if name == "p":
                yield self._mark(child), _run_text(child).strip()
                for box in _text_boxes(child):
                    yield from self.blocks(box)
            elif name == "tbl":
                rows = [
                    [self._cell(cell) for cell in _inside(row, "tc")]
                    for row in _inside(child, "tr")
                ]
                yield "", "\n".join(table_lines([row for row in rows if any(row)]))
            elif name in _WRAPPERS:
                yield from self.blocks(child)

    def _mark(self, paragraph: Element) -> str:
        held = {_local(one): next(map(str, one.values()), "") for one in _properties_of(paragraph)}
        name = self._styles.get(held.get("pStyle", ""), "")
        if name.lower() == "title":
            return "# "
        if heading := _HEADING.fullmatch(name):
            return "#" * min(int(heading[1]), 6) + " "
        return "- " if name.lower().startswith("list ") or "numPr" in held else ""

    def _cell(self, cell: Element) -> str:
        return one_line(" ".join(text for _, text in self.blocks(cell)))


def _local(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _inside(parent: Element, name: str) -> Iterator[Element]:
    """Children of that name, those in wrappers among them."""
    for child in parent.iterchildren("*"):
        if _local(child) == name:
            yield child
        elif _local(child) in _WRAPPERS:
            yield from _inside(child, name)


def _run_text(element: Element) -> str:
    """The text of a paragraph, without that of its text boxes and what was deleted."""
    parts: list[str] = []
    for child in element.iterchildren("*"):
        name = _local(child)
        if name == "t":
            parts.append(child.text or "")
        elif name in _SIGNS:
            parts.append(_SIGNS[name])
        elif name not in _NOT_TEXT:
            parts.append(_run_text(child))
    return "".join(parts)


def _text_boxes(element: Element) -> Iterator[Element]:
    """Text boxes anchored in a paragraph; the copies kept for old versions of Word apart."""
    for child in element.iterchildren("*"):
        if _local(child) == "txbxContent":
            yield child
        elif _local(child) != "Fallback":
            yield from _text_boxes(child)


def _properties_of(paragraph: Element) -> Iterator[Element]:
    for child in paragraph.iterchildren("*"):
        if _local(child) == "pPr":
            yield from child.iterchildren("*")


def _join(blocks: list[tuple[str, str]]) -> str:
    """Blocks apart by a blank line, items of a list by a line break."""
    parts: list[str] = []
    before = ""
    for mark, text in blocks:
        if parts:
            parts.append("\n" if mark == before == "- " else "\n\n")
        parts.append(mark + (one_line(text) if mark.startswith("#") else text))
        before = mark
    return "".join(parts)


def _time(value: datetime | None) -> datetime | None:
    return None if value is None else in_utc(value)
