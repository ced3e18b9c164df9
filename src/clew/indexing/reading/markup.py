"""Plain text, Markdown, reStructuredText and source code."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from clew.indexing.outline import MEDIA_TYPE, headings, with_tags
from clew.indexing.reading.common import (
    UNKNOWN,
    RawFile,
    ReadResult,
    decode,
    fields_at,
    media_type_of,
    properties,
    split_front_matter,
)
from clew.indexing.reading.pdf import mended
from clew.text import one_line
from clew.types import Document

# Blank lines, comments and indented lines may stand before the title.
_RST_TITLE = re.compile(
    r"\A(?:(?:[^\S\n]|\.\. )[^\n]*+\n|\n)*+"
    r"(?:(?P<over>([!-/:-@\[-`{-~])\2*+)[ \t]*+\n)?[ \t]*+(?P<title>\S[^\n]*+)\n"
    r"(?P<under>([!-/:-@\[-`{-~])\5*+)[ \t]*+(?:\n|\Z)"
)
_RST_MARKUP = re.compile(r"(?m)^\.\. [a-z][a-z0-9-]{1,40}::(?: |$)|:[a-z]{1,20}:`[^`\n]{1,200}`")
_MARKDOWN_HEADING = re.compile(r"\s{0,9}#{1,2} \S")
_MARKDOWN_MARKUP = re.compile(r"(?m)^```|\]\((?:https?:|[\w./#-]{1,200}\))")
_BEGINNING = 4000
"""Characters in which a text's first heading stands, below which its fields may."""


def read_text(raw: RawFile) -> ReadResult:
    """A file of plain text as its words, one of any other kind as it is."""
    media_type = media_type_of(raw.suffix)
    text = decode(raw)
    if text.startswith("{\\rtf"):
        raise raw.unreadable("unsupported format (RTF)")
    values: dict[str, Any] = {}
    if media_type == UNKNOWN:
        # Some are marked up all the same: Sphinx publishes its sources as `.rst.txt`, sites publish
        # `llms.txt`, and a README may have no ending. A heading alone does not tell: a comment
        # looks like one.
        if _RST_MARKUP.search(text) and headings(text[:_BEGINNING], "text/x-rst"):
            return ReadResult(documents=(rst_document(text, raw.source),))
        if _MARKDOWN_HEADING.match(text) and _MARKDOWN_MARKUP.search(text):
            return ReadResult(documents=(markdown_document(text, raw.source),))
        text = mended(text)
        values = fields_at(text, 0, "bare")
    document = properties(values).document(raw.source, text, media_type)
    return ReadResult(documents=(document,))


def read_markdown(raw: RawFile) -> ReadResult:
    """Markdown as it is, without its front matter."""
    return ReadResult(documents=(markdown_document(decode(raw), raw.source),))


def read_rst(raw: RawFile) -> ReadResult:
    """ReStructuredText as it is; title and fields (`:Author:`) are read from its beginning."""
    return ReadResult(documents=(rst_document(decode(raw), raw.source),))


def markdown_document(text: str, source: str) -> Document:
    """The text without its front matter, which becomes title, times and metadata."""
    values, body = split_front_matter(text)
    found = headings(body[:_BEGINNING], MEDIA_TYPE)
    top = found[0].end if found else 0
    fields = fields_at(body, top, "bold") or fields_at(body, top, "bare")
    # The first heading of the first level outside code, without its markup.
    levels = (one_line(h.title) for h in headings(body, MEDIA_TYPE) if h.level == 1)
    title = next(levels, "")
    known = properties(with_tags({**fields, **values}, body))
    return known.document(source, body, MEDIA_TYPE, title=title)


def rst_document(text: str, source: str) -> Document:
    """The text with its title and the fields below it as metadata."""
    heading = _RST_TITLE.match(text)
    values = fields_at(text, 0, "bare") or fields_at(text, 0, "marked")
    if not values and heading:
        values = fields_at(text, heading.end(), "marked")
    # A rule of four signs below a longer line is a transition, not an underline.
    title = heading["title"].rstrip(" \t") if heading else ""
    if heading is None or len(heading["under"]) < len(title):
        title = ""
    title = one_line(title.replace("`", "").replace("*", ""))
    return properties(values).document(source, text, "text/x-rst", title=title)


# Perl's documentation (POD), which becomes Markdown: headings, items and formatting codes.


_BLANK_POD = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n(?=[^\n]|\Z)")
_COMMAND = re.compile(r"=(?P<name>[a-z]{2,12})(?P<level>\d?)[ \t]*+(?P<rest>.*)", re.DOTALL)
_BULLET = re.compile(r"(?:\*|\d{1,4}\.?)(?=\s|\Z)")
_CODE = re.compile(r"(?P<kind>[A-Z])(?:<(?P<one>[^<>]{0,300})>|<<[ ](?P<two>[^\n]{1,200}?)[ ]>>)")
_DEEPEST = 4
"""Formatting codes within each other that are read."""
_ITEM = "- "
_MARKS = {"B": "**", "I": "*", "C": "`", "F": "`"}
_IDENTIFIER = re.compile(r"[\w:]{1,100}")


def read_pod(raw: RawFile) -> ReadResult:
    """The text as Markdown; the section NAME tells the title."""
    body = "\n\n".join(_blocks(decode(raw).replace("\r\n", "\n"))) + "\n"
    name = re.match(r"# NAME\n\n([^\n#]{1,300})", body)
    title = one_line(re.sub(r"[`*]", "", name[1])) if name else ""
    return ReadResult(
        documents=(properties({}).document(raw.source, body, MEDIA_TYPE, title=title),)
    )


def _blocks(text: str) -> Iterator[str]:
    """The paragraphs, without what is meant for other formats, and without Perl between them."""
    skipped, mark = True, ""
    for block in _BLANK_POD.split(text.strip("\n")):
        command = _COMMAND.match(block)
        if command is None:
            if not skipped:
                yield mark + (block if block[:1] in " \t" else _formatted(block))
                mark = ""
            continue
        name, words = command["name"], _formatted(command["rest"]).strip()
        skipped = name in ("begin", "cut")
        mark = ""
        if name == "head":
            yield f"{'#' * int(command['level'] or 1)} {one_line(words)}"
        elif name == "item":
            bullet = _BULLET.match(words)
            words = words[bullet.end() :].strip() if bullet else words
            # What is to stand behind a bullet may be the next paragraph.
            mark = _ITEM if bullet and not words else ""
            if not mark:
                yield f"{_ITEM}{words}" if bullet else words


def _formatted(text: str) -> str:
    for _ in range(_DEEPEST):
        text, count = _CODE.subn(_marked, text)
        if not count:
            break
    return text


def _marked(code: re.Match[str]) -> str:
    kind, said = code["kind"], (code["one"] if code["one"] is not None else code["two"])
    if kind == "E":
        return html.unescape(f"&{said};")
    if kind == "L":
        # What a link shows: its text, else the page that it leads to, else the section.
        shown, bar, _ = said.partition("|")
        if bar or "://" in said:
            return shown
        page, _, section = said.partition("/")
        return f"`{page}`" if _IDENTIFIER.fullmatch(page) else page or section.strip('"')
    if kind in "XZ":
        return ""
    mark = _MARKS.get(kind, "")
    return f"{mark}{said}{mark}" if said.strip() else said
