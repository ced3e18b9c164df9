"""Plain text, Markdown, reStructuredText and source code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from clew.indexing.reading.formats.chats.conversation import read_result
from clew.indexing.reading.formats.chats.whatsapp import is_whatsapp, whatsapp
from clew.indexing.reading.formats.common import (
    Properties,
    RawFile,
    ReadResult,
    one_line,
    properties,
)
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.media_types import is_source_code, media_type_of
from clew.indexing.splitting.outline import headings
from clew.types import Document

# Blank lines, comments and indented lines may stand before the title.
_RST_TITLE = re.compile(
    r"\A(?:(?:[^\S\n]|\.\. )[^\n]*+\n|\n)*+"
    r"(?:(?P<over>([!-/:-@\[-`{-~])\2*+)[ \t]*+\n)?[ \t]*+(?P<title>\S[^\n]*+)\n"
    r"(?P<under>([!-/:-@\[-`{-~])\5*+)[ \t]*+(?:\n|\Z)"
)
_RST_FIELD = re.compile(
    r"^:(?P<name>[\w -]++):[ \t]++(?P<value>[^\n]++(?:\n[ \t]++\S[^\n]*+)*+)\s*+", re.M
)
_BLANK = re.compile(r"\s*+")


def read_text(raw: RawFile) -> ReadResult:
    """A file of plain text, or of source code, as it is; a chat of WhatsApp turn by turn."""
    media_type = media_type_of(raw.suffix)
    title = PurePosixPath(raw.source).name if is_source_code(raw.source) else ""
    text = decode(raw)
    if text.startswith("{\\rtf"):
        raise raw.unreadable("unsupported format (RTF)")
    if media_type == "text/plain" and is_whatsapp(text):
        return read_result(raw, whatsapp(text, raw.source))
    return ReadResult(
        documents=(Document(source=raw.source, text=text, title=title, media_type=media_type),)
    )


def read_markdown(raw: RawFile) -> ReadResult:
    """Markdown as it is, without its front matter."""
    return ReadResult(documents=(markdown_document(decode(raw), raw.source),))


def read_rst(raw: RawFile) -> ReadResult:
    """ReStructuredText as it is; title and fields (`:Author:`) are read from its beginning."""
    return ReadResult(documents=(rst_document(decode(raw), raw.source),))


def markdown_document(text: str, source: str) -> Document:
    """The text without its front matter, which becomes title, times and metadata."""
    values, body = _split_front_matter(text)
    return _document(body, source, "text/markdown", values, _markdown_title(body))


def _split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith(("---", "+++", "\ufeff")):
        return {}, text
    from clew.indexing.reading.formats.front_matter import split_front_matter  # loads PyYAML

    return split_front_matter(text)


def rst_document(text: str, source: str) -> Document:
    """The text with its title and the fields below it as metadata."""
    heading = _RST_TITLE.match(text)
    values: dict[str, Any] = {}
    position = _BLANK.match(text, heading.end() if heading else 0).end()  # type: ignore[union-attr]
    while field := _RST_FIELD.match(text, position):
        values[field["name"].strip().lower()] = one_line(field["value"])
        position = field.end()
    return _document(text, source, "text/x-rst", values, _rst_title(heading))


def _document(
    text: str, source: str, media_type: str, values: dict[str, Any], heading: str
) -> Document:
    known: Properties = properties(values)
    return Document(
        source=source,
        text=text,
        title=known.title or heading,
        media_type=media_type,
        created_at=known.created_at,
        updated_at=known.updated_at,
        metadata=known.metadata,
    )


def _markdown_title(text: str) -> str:
    """The first heading of the first level outside code, without its markup."""
    top = (one_line(h.title) for h in headings(text, "text/markdown") if h.level == 1)
    return next(top, "")


def _rst_title(heading: re.Match[str] | None) -> str:
    # A rule of four signs below a longer line is a transition, not an underline.
    title = heading["title"].rstrip(" \t") if heading else ""
    if heading is None or len(heading["under"]) < len(title):
        return ""
    return one_line(title.replace("`", "").replace("*", ""))
