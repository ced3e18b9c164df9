"""Links, tags and marks of Markdown as people write notes in it (CommonMark, GitHub, Obsidian)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from clew.indexing.splitting.outline import fences
from clew.text import one_line

MEDIA_TYPE = "text/markdown"
# What stands in a span of code is none of the others, and so comes first.
_MARK = re.compile(
    r"""(?P<code>`{1,9}+[^`\n]{1,500}+`{1,9}+)
    |(?P<comment>%%[^%]{1,2000}+%%)
    |(?P<wiki>!?\[\[(?P<note>[^\[\]|\#\n]{0,200}+)(?P<part>\#[^\[\]|\n]{0,200}+)?
        (?:\|(?P<alias>[^\[\]\n]{0,200}+))?\]\])
    |(?P<callout>^[ ]{0,3}(?:>[ ]?){1,9}+\[![A-Za-z-]{1,30}+\][+-]?)
    |(?P<link>!?\[(?P<label>[^\[\]]{0,300}+)\]
        \((?:<(?P<quoted>[^<>\n]{0,500}+)>|(?P<address>[^()<>\s]{0,500}+))
        (?:[ ]{1,9}"[^"\n]{0,300}+")?\))
    |(?P<block>[ ]\^[A-Za-z0-9-]{1,50}+$)
    |(?:(?<=\s)|^)\#(?P<tag>[^\W\d][\w/-]{0,99}+|\d[\w/-]{0,20}?[^\W\d][\w/-]{0,79}+)""",
    re.VERBOSE | re.MULTILINE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}+:|//")
_NO_TEXT = frozenset(
    ".apng .avif .bmp .css .gif .ico .jpeg .jpg .js .mov .mp3 .mp4 .ogg .png .svg .wav .webm .webp"
    " .zip".split()
)
_MOST_TAGS = 200
"""Tags of a document: filters read all of them, and every hit shows them."""
_SEPARATOR = re.compile(r"[,\s]+")


class Marked(NamedTuple):
    """A link to another document, or an inline tag."""

    start: int
    """Character range in the text: of the whole link, or of the tag with its `#`."""
    end: int
    name: str
    """The tag's; of a link the other document's: the title that a file of that name has."""


def links(text: str) -> Iterator[Marked]:
    """Links to other documents, embedded ones among them; not to addresses, images or itself."""
    for match in _marks(text):
        if match["wiki"]:
            target = _document_name(match["note"])
        elif match["link"]:
            address = match["quoted"] or match["address"] or ""
            path = unquote(address.partition("#")[0].partition("?")[0]).rstrip("/")
            target = "" if _SCHEME.match(address) else _document_name(path)
        else:
            continue
        if target:
            yield Marked(*match.span(), target)


def inline_tags(text: str) -> Iterator[Marked]:
    """`#tags` outside of code; a number alone is none."""
    for match in _marks(text):
        if match["tag"]:
            yield Marked(*match.span(), match["tag"].rstrip("/-"))


def masked(text: str) -> str:
    """The text with blanks for what no reader is shown: the same length, the words in place.

    Of a link the label stays, of an embedded note its name, of a callout its title. Comments and
    block ids go; code stays as it is.
    """
    pieces, at = [], 0
    for match in _marks(text):
        # The range of a mark that is shown; None where all of it is.
        if match["tag"]:
            shown = None
        elif match["wiki"]:
            name = next(
                (n for n in ("alias", "note", "part") if (match[n] or "").strip("# ")), "note"
            )
            shown = match.span(name)
        elif match["link"]:
            shown = match.span("label")
        elif match["callout"]:
            shown = match.end(), match.end()
        else:
            shown = match.start(), match.start()
        if shown is not None:
            start, end = shown
            pieces += [text[at : match.start()], _blank(text[match.start() : start])]
            pieces += [text[start:end], _blank(text[end : match.end()])]
            at = match.end()
    return "".join([*pieces, text[at:]]) if pieces else text


def listed(value: object) -> list[str]:
    """Tags or aliases of front matter: a list, or a text with commas; each once, without `#`."""
    values = value if isinstance(value, list) else str(value or "").split(",")
    names = (one_line(str(one)).lstrip("#") for one in values if one is not None)
    return list(dict.fromkeys(name for name in names if name))


def with_tags(metadata: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The metadata with all tags of a note in `tags`, those of its text among them."""
    stated = metadata.get("tags", metadata.get("tag"))
    if isinstance(stated, str) and "," not in stated:
        stated = _SEPARATOR.split(stated)
    tags = dict.fromkeys([*listed(stated), *(tag.name for tag in inline_tags(text))])
    return {**metadata, "tags": list(tags)[:_MOST_TAGS]} if tags else dict(metadata)


def title_from_name(name: str) -> str:
    """A file's name as a title: no ending, no underscores, hyphens kept between digits only."""
    stem = PurePosixPath(name).stem
    return one_line(re.sub(r"(?<!\d)-|-(?!\d)|_", " ", stem)) or stem


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Marks outside of code."""
    fenced = fences(text)
    starts = [start for start, _ in fenced]
    for match in _MARK.finditer(text):
        within = bisect_right(starts, match.start()) - 1
        is_code = within >= 0 and match.start() < fenced[within][1]
        if not is_code and not match["code"]:
            yield match


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)


def _document_name(path: str) -> str:
    name = path.strip().rsplit("/", 1)[-1]
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _NO_TEXT or name.isdigit() or not name[:1].isalnum():
        return ""
    # "Version 1.5" has no ending.
    return title_from_name(name if suffix[1:].isalpha() and len(suffix) < 10 else f"{name}.md")
