"""DOCX: headings, lists, paragraphs and tables in order, as Markdown.

Not by mammoth (1.13.0): its Markdown has no tables and escapes plain text, and it fails on 100
nested tables.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from typing import Any

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
    clean_text,
    stated_property_title,
)
from clew.indexing.reading.formats.markdown_table import table_lines
from clew.indexing.reading.formats.media_types import media_type_of
from clew.indexing.reading.formats.office.archive import check_archive
from clew.text import one_line
from clew.times import in_utc

# What python-docx lets through; lxml's errors of syntax are kinds of Python's.
_FAULTS: tuple[type[Exception], ...] = (
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
    word = _open(raw)
    try:
        blocks = [block for block in _Body(word).blocks(word.element.body) if block[1].strip()]
    except _FAULTS as error:
        raise raw.unreadable("malformed DOCX") from error
    known = _core_properties(word)
    text, media_type = clean_text(_join(blocks)), media_type_of(raw.suffix)
    document = known.document(raw.source, text, media_type, title=_first_heading(blocks))
    return ReadResult(documents=(document,))


def _open(raw: RawFile) -> Word:
    try:
        return docx.Document(BytesIO(raw.data))
    except _FAULTS as error:
        raise raw.unreadable("malformed DOCX") from error


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
                yield "", self._table(child)
            elif name in _WRAPPERS:
                yield from self.blocks(child)

    def _mark(self, paragraph: Element) -> str:
        name = self._styles.get(_property(paragraph, "pStyle"), "")
        if name.lower() == "title":
            return "# "
        if heading := _HEADING.fullmatch(name):
            return "#" * min(int(heading[1]), 6) + " "
        listed = name.lower().startswith("list ") or _has_property(paragraph, "numPr")
        return "- " if listed else ""

    def _table(self, table: Element) -> str:
        rows = [[self._cell(cell) for cell in _inside(row, "tc")] for row in _inside(table, "tr")]
        return "\n".join(table_lines([row for row in rows if any(row)]))

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


def _property(paragraph: Element, name: str) -> str:
    for item in _properties_of(paragraph):
        if _local(item) == name:
            return next((str(value) for value in item.values()), "")
    return ""


def _has_property(paragraph: Element, name: str) -> bool:
    return any(_local(item) == name for item in _properties_of(paragraph))


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


def _first_heading(blocks: list[tuple[str, str]]) -> str:
    return next((one_line(text) for mark, text in blocks if mark == "# "), "")


def _core_properties(word: Word) -> Properties:
    related = word.part.package.rels.values()
    if all(relation.reltype != RELATIONSHIP_TYPE.CORE_PROPERTIES for relation in related):
        return Properties()  # python-docx would make some up: a title, and this moment
    core = word.core_properties
    given = {"author": core.author, "subject": core.subject, "keywords": core.keywords}
    metadata: dict[str, Any] = {
        name: one_line(clean_text(value))
        for name, value in given.items()
        if value and value not in TEMPLATE_AUTHORS
    }
    return Properties(
        title=stated_property_title(clean_text(core.title or "")),
        created_at=None if given["author"] in TEMPLATE_AUTHORS else _time(core.created),
        date_source="properties",
        updated_at=_time(core.modified),
        metadata=metadata,
    )


def _time(value: datetime | None) -> datetime | None:
    return None if value is None else in_utc(value)
