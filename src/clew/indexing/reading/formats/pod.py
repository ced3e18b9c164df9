"""Perl's documentation (POD), which becomes Markdown: headings, items and formatting codes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from clew.indexing.markdown import MEDIA_TYPE
from clew.indexing.reading.formats.common import RawFile, ReadResult, properties
from clew.indexing.reading.formats.encoding import decode
from clew.text import one_line

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n(?=[^\n]|\Z)")
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
    for block in _BLANK.split(text.strip("\n")):
        command = _COMMAND.match(block)
        name = command["name"] if command else ""
        if name in ("begin", "cut"):
            skipped = True
        elif command:
            skipped = False
            shown = _shown(name, command["level"], _formatted(command["rest"]))
            mark = shown if shown == _ITEM else ""
            if shown != mark:
                yield shown
        elif not skipped:
            yield mark + (block if block[:1] in " \t" else _formatted(block))
            mark = ""


def _shown(name: str, level: str, text: str) -> str:
    if name == "head":
        return f"{'#' * int(level or 1)} {one_line(text)}"
    if name == "item":
        bullet = _BULLET.match(text)
        return f"{_ITEM}{text[bullet.end() :].strip()}" if bullet else text.strip()
    return ""


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
        return _link(said)
    if kind in "XZ":
        return ""
    mark = _MARKS.get(kind, "")
    return f"{mark}{said}{mark}" if said.strip() else said


def _link(said: str) -> str:
    """What a link shows: its text, else the page that it leads to, else the section."""
    shown, bar, _ = said.partition("|")
    if bar or "://" in said:
        return shown
    page, _, section = said.partition("/")
    return f"`{page}`" if _IDENTIFIER.fullmatch(page) else page or section.strip('"')
