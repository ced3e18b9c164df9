"""PDF, with the offset at which each page starts."""

from __future__ import annotations

import logging
import re
import struct
import zlib
from contextlib import suppress
from io import BytesIO
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.errors import FileNotDecryptedError, PyPdfError
from pypdf.generic import ArrayObject, NumberObject

from clew.indexing.reading.common import (
    Properties,
    RawFile,
    ReadResult,
    clean_text,
    json_safe,
    stated_property_title,
)
from clew.indexing.reading.pages import joined_lines, without_running_lines
from clew.text import one_line
from clew.times import in_utc
from clew.types import Skipped

_PAGE_BREAK = "\n\n"
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_SOFT_HYPHEN = re.compile("\u00ad\n?")

# What pypdf lets through from a damaged or hostile file, besides errors of its own.
_FAULTS: tuple[type[Exception], ...] = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,  # RecursionError and NotImplementedError among them
    TypeError,
    ValueError,  # UnicodeError among them
    MemoryError,
    struct.error,
    zlib.error,
)


def read_pdf(raw: RawFile) -> ReadResult:
    """The text of all pages; a page that cannot be read is reported and left empty."""
    try:
        logger = logging.getLogger("pypdf")
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
        reader = PdfReader(BytesIO(raw.data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise raw.unreadable("encrypted")
        texts, skipped = _page_texts(raw, reader)
        known = _information(reader)
    except FileNotDecryptedError as error:
        raise raw.unreadable("encrypted") from error
    except _FAULTS as error:
        raise raw.unreadable("malformed PDF") from error
    texts = [joined_lines(page) for page in without_running_lines(texts)]
    if not any(texts):
        raise raw.unreadable("malformed PDF" if skipped else "no text (scanned?)")
    # Where each page starts; an empty page starts where the last one ends.
    starts: list[int] = []
    length = 0
    for page in texts:
        starts.append(length + len(_PAGE_BREAK) if page and length else length)
        length = starts[-1] + len(page)
    text = _PAGE_BREAK.join(filter(None, texts))
    document = known.document(raw.source, text, "application/pdf", page_starts=tuple(starts))
    return ReadResult(documents=(document,), skipped=tuple(skipped))


def _page_texts(raw: RawFile, reader: PdfReader) -> tuple[list[str], list[Skipped]]:
    texts: list[str] = []
    skipped: list[Skipped] = []
    seen: set[int] = set()
    for number, page in enumerate(reader.pages, 1):
        with suppress(*_FAULTS):
            _narrow_other_glyphs(page, seen)
        try:
            text = clean_text(page.extract_text(space_width=SPACE_WIDTH)).translate(_LIGATURES)
            # Words that a soft hyphen took apart made whole again.
            texts.append(_SOFT_HYPHEN.sub("", text).strip())
        except _FAULTS:
            texts.append("")
            skipped.append(Skipped(source=f"{raw.source}#page={number}", reason="malformed page"))
    return texts, skipped


def _information(reader: PdfReader) -> Properties:
    """Title, author and times as the file states them; what is damaged is left out."""
    values: dict[str, Any] = {}
    for name in ("title", "author", "subject", "keywords", "creation_date", "modification_date"):
        try:
            values[name] = getattr(reader.metadata, name, None)
        except _FAULTS:
            continue
    created_at, updated_at = values.get("creation_date"), values.get("modification_date")
    return Properties(
        title=stated_property_title(_text_of(values.get("title"))),
        created_at=in_utc(created_at) if created_at else None,
        date_source="properties",
        updated_at=in_utc(updated_at) if updated_at else None,
        metadata={
            name: text
            for name in ("author", "subject", "keywords")
            if (text := _text_of(values.get(name)))
        },
    )


def _text_of(value: object) -> str:
    text = one_line(json_safe(str(value))) if value is not None else ""
    return "" if text.lower() in {"anonymous", "(anonymous)", "unknown"} else text


# Fonts whose glyph 32 is no space: where words end is told by the gaps between them.
#
# Subsets that XeTeX and dvipdfmx embed number their glyphs as they come, and have none for the
# space. pypdf takes glyph 32 for it, so that a wide glyph there makes it run words together.


SPACE_WIDTH = 250.0
"""Thousandths of an em that a space has in a font that does not say."""
_SPACE = 0x20
_HEX = re.compile(rb"<([0-9A-Fa-f]{1,16})>")


def _narrow_other_glyphs(page: PageObject, seen: set[int]) -> None:
    """Take the width from glyphs 32 that are no space; fonts that were `seen` are left."""
    resources = page.get("/Resources")
    fonts = resources.get_object().get("/Font") if resources else None
    for held in (fonts.get_object() if fonts else {}).values():
        font = held.get_object()
        if font.get("/Encoding") != "/Identity-H" or "/ToUnicode" not in font or id(font) in seen:
            continue
        seen.add(id(font))
        if _is_other(font["/ToUnicode"].get_object().get_data()):
            for one in font["/DescendantFonts"].get_object():
                if (widths := one.get_object().get("/W")) is not None:
                    none = (NumberObject(_SPACE), ArrayObject([NumberObject(0)]))
                    widths.get_object().extend(none)


def _is_other(unicode_map: bytes) -> bool:
    """Whether glyph 32 means a character other than the space, and no glyph means the space."""
    is_other = False
    for part in unicode_map.split(b"beginbf")[1:]:
        step = 3 if part.startswith(b"range") else 2
        numbers = [int(digits, 16) for digits in _HEX.findall(part.partition(b"endbf")[0])]
        for entry in zip(*(numbers[i::step] for i in range(step)), strict=False):
            first, last, meaning = entry[0], entry[-2], entry[-1]
            if meaning <= _SPACE <= meaning + last - first:
                return False
            is_other |= first <= _SPACE <= last
    return is_other
