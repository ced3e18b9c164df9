"""PDF, with the offset at which each page starts."""

from __future__ import annotations

import logging
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any

from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError, PyPdfError

from clew.indexing.reading.formats.common import (
    Properties,
    RawFile,
    ReadResult,
    clean_text,
    json_safe,
    stated_property_title,
)
from clew.indexing.reading.formats.pdf.layout import joined_lines, without_running_lines
from clew.indexing.reading.formats.pdf.spaces import SPACE_WIDTH, forget_false_spaces
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
    with _pdf_errors(raw):
        reader = _open(raw)
        texts, skipped = _page_texts(raw, reader)
        known = _information(reader)
    texts = [joined_lines(page) for page in without_running_lines(texts)]
    if not any(texts):
        raise raw.unreadable("malformed PDF" if skipped else "no text (scanned?)")
    text, page_starts = _join_pages(texts)
    document = known.document(raw.source, text, "application/pdf", page_starts=page_starts)
    return ReadResult(documents=(document,), skipped=tuple(skipped))


@contextmanager
def _pdf_errors(raw: RawFile) -> Iterator[None]:
    try:
        yield
    except FileNotDecryptedError as error:
        raise raw.unreadable("encrypted") from error
    except _FAULTS as error:
        raise raw.unreadable("malformed PDF") from error


def _open(raw: RawFile) -> PdfReader:
    # pypdf logs every oddity of a file as a warning; who wants them sets a level of their own.
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)
    reader = PdfReader(BytesIO(raw.data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise raw.unreadable("encrypted")
    return reader


def _page_texts(raw: RawFile, reader: PdfReader) -> tuple[list[str], list[Skipped]]:
    texts: list[str] = []
    skipped: list[Skipped] = []
    seen: set[int] = set()
    for number, page in enumerate(reader.pages, 1):
        with suppress(*_FAULTS):
            forget_false_spaces(page, seen)
        try:
            texts.append(_tidy(page.extract_text(space_width=SPACE_WIDTH)))
        except _FAULTS:
            texts.append("")
            skipped.append(Skipped(source=f"{raw.source}#page={number}", reason="malformed page"))
    return texts, skipped


def _tidy(text: str) -> str:
    """Words that a soft hyphen or a ligature took apart made whole again."""
    return _SOFT_HYPHEN.sub("", clean_text(text).translate(_LIGATURES)).strip()


def _join_pages(texts: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """One text, and where each page starts in it; an empty page starts where the last one ends."""
    joined = ""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for text in texts:
        if text and parts:
            parts.append(_PAGE_BREAK)
            length += len(_PAGE_BREAK)
        starts.append(length)
        if text:
            parts.append(text)
            length += len(text)
    joined = "".join(parts)
    return joined, tuple(starts)


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
