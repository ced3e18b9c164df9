"""Plain text, Markdown, reStructuredText and source code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from clew.indexing.markdown import MEDIA_TYPE, with_tags
from clew.indexing.reading.formats.chats.conversation import read_result
from clew.indexing.reading.formats.chats.git_log import git_log, is_git_log
from clew.indexing.reading.formats.chats.whatsapp import is_whatsapp, whatsapp
from clew.indexing.reading.formats.common import RawFile, ReadResult, properties
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.fields import bare_fields, bold_fields, marked_fields
from clew.indexing.reading.formats.media_types import is_source_code, media_type_of
from clew.indexing.reading.formats.pdf.typeset import mended
from clew.indexing.splitting.outline import headings
from clew.text import one_line
from clew.types import Document

if TYPE_CHECKING:
    from collections.abc import Callable

# Blank lines, comments and indented lines may stand before the title.
_RST_TITLE = re.compile(
    r"\A(?:(?:[^\S\n]|\.\. )[^\n]*+\n|\n)*+"
    r"(?:(?P<over>([!-/:-@\[-`{-~])\2*+)[ \t]*+\n)?[ \t]*+(?P<title>\S[^\n]*+)\n"
    r"(?P<under>([!-/:-@\[-`{-~])\5*+)[ \t]*+(?:\n|\Z)"
)
_RST_MARKUP = re.compile(r"(?m)^\.\. [a-z][a-z0-9-]{1,40}::(?: |$)|:[a-z]{1,20}:`[^`\n]{1,200}`")
_MARKDOWN_HEADING = re.compile(r"\s{0,9}#{1,2} \S")
_MARKDOWN_MARKUP = re.compile(r"(?m)^```|\]\((?:https?:|[\w./#-]{1,200}\))")
_BLANK = re.compile(r"\s*+")
_BEGINNING = 4000
"""Characters in which a text's first heading stands, below which its fields may."""


def read_text(raw: RawFile) -> ReadResult:
    """A file of source code as it is, one of plain text as its words; a chat or a log by turns."""
    media_type = media_type_of(raw.suffix)
    title = _code_title(raw.source) if is_source_code(raw.source) else ""
    text = decode(raw)
    if text.startswith("{\\rtf"):
        raise raw.unreadable("unsupported format (RTF)")
    for is_one, conversation in ((is_whatsapp, whatsapp), (is_git_log, git_log)):
        if media_type == "text/plain" and is_one(text):
            return read_result(raw, conversation(text, raw.source))
    if media_type == "text/plain" and (of_markup := _marked_up(text)):
        return ReadResult(documents=(of_markup(text, raw.source),))
    text = mended(text) if media_type == "text/plain" else text
    values = bare_fields(text, _after_blanks(text, 0)) if media_type == "text/plain" else {}
    return ReadResult(
        documents=(properties(values).document(raw.source, text, media_type, title=title),)
    )


def _marked_up(text: str) -> Callable[[str, str], Document] | None:
    """What reads a plain file that is marked up all the same.

    Sphinx publishes its sources as `.rst.txt`, sites publish `llms.txt`, and a README may have no
    ending. A heading alone does not tell: a comment looks like one.
    """
    if _RST_MARKUP.search(text) and next(iter(headings(text[:_BEGINNING], "text/x-rst")), None):
        return rst_document
    if _MARKDOWN_HEADING.match(text) and _MARKDOWN_MARKUP.search(text):
        return markdown_document
    return None


def _code_title(source: str) -> str:
    """A file's name with its folder's: `httpx/_client.py`, since many files share a name."""
    return "/".join(part for part in PurePosixPath(source).parts[-2:] if part != "/")


def read_markdown(raw: RawFile) -> ReadResult:
    """Markdown as it is, without its front matter."""
    return ReadResult(documents=(markdown_document(decode(raw), raw.source),))


def read_rst(raw: RawFile) -> ReadResult:
    """ReStructuredText as it is; title and fields (`:Author:`) are read from its beginning."""
    return ReadResult(documents=(rst_document(decode(raw), raw.source),))


def markdown_document(text: str, source: str) -> Document:
    """The text without its front matter, which becomes title, times and metadata."""
    values, body = _split_front_matter(text)
    found = headings(body[:_BEGINNING], MEDIA_TYPE)
    top = _after_blanks(body, found[0].end if found else 0)
    fields = bold_fields(body, top) or bare_fields(body, top)
    values = with_tags({**fields, **values}, body)
    return properties(values).document(source, body, MEDIA_TYPE, title=_markdown_title(body))


def _split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith(("---", "+++", "\ufeff")):
        return {}, text
    from clew.indexing.reading.formats.front_matter import split_front_matter  # loads PyYAML

    return split_front_matter(text)


def rst_document(text: str, source: str) -> Document:
    """The text with its title and the fields below it as metadata."""
    heading = _RST_TITLE.match(text)
    top = _after_blanks(text, 0)
    values = bare_fields(text, top) or marked_fields(text, top)
    if not values and heading:
        values = marked_fields(text, _after_blanks(text, heading.end()))
    return properties(values).document(source, text, "text/x-rst", title=_rst_title(heading))


def _after_blanks(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return blank.end() if blank else position


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
