"""What of a document is prose: names and relations are read from nothing else.

Code blocks, drawings of characters and leader lines keep their place in chunks and can be found;
for extraction a sign that is part of no word stands for each of their characters, so that every
offset stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from clew.indexing.splitting.code_blocks import is_code
from clew.indexing.splitting.outline import fences, headings
from clew.types import Chunk, Document

_SIGN = "\u2591"
_VISIBLE = re.compile(r"\S")
_RST = "text/x-rst"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_DIRECTIVES = (".. code::", ".. code-block::", ".. sourcecode::", ".. parsed-literal::")
_SESSION = (">>> ", "$ ")
_DRAWN = re.compile(r"[\u2500-\u259f]|[-=]{2}>|<[-=]{2}|[+|][-=]{3}|[-=]{3}[+|]|\.{4}|\. \. \. \. ")
_DRAWN_SHARE = 0.4
"""Of the visible characters of a drawn line neither letters nor digits, at least."""
_SHORTEST = 5
"""Visible characters of a line that is drawn, at least."""


def without_code(document: Document, chunks: Sequence[Chunk]) -> tuple[Document, list[Chunk]]:
    """The document and its chunks with signs in place of all that is no prose.

    Source code comes back as it is: its extractor reads its names.
    """
    ranges = [] if is_code(document.media_type) else code_ranges(document.text, document.media_type)
    if not ranges:
        return document, list(chunks)
    text = "".join(_masked(document.text, ranges))
    return (
        replace(document, text=text),
        [replace(chunk, text=text[chunk.start : chunk.end]) for chunk in chunks],
    )


def _masked(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[str]:
    at = 0
    for start, end in ranges:
        yield text[at:start]
        yield _VISIBLE.sub(_SIGN, text[max(at, start) : end])
        at = max(at, end)
    yield text[at:]


def code_ranges(text: str, media_type: str) -> list[tuple[int, int]]:
    """Ranges of code blocks, sessions and drawings, in order; some may overlap.

    Tables drawn with bars are none, nor are headings with their underlines.
    """
    lines = [match.span() for match in _LINE.finditer(text)]
    found = [*_literal_blocks(text, lines)] if media_type == _RST else fences(text)
    kept = {heading.start for heading in headings(text, media_type)}
    for start, end in _blocks(text, lines):
        if start not in kept and _is_no_prose(text[start:end]):
            found.append((start, end))
    return sorted(found)


def _blocks(text: str, lines: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges of lines that follow each other without a blank one between them."""
    by_blank = groupby(lines, key=lambda line: text[line[0] : line[1]].isspace())
    for blank, group in by_blank:
        if blank:
            continue
        (start, end), *rest = group
        yield start, rest[-1][1] if rest else end


def _is_no_prose(block: str) -> bool:
    lines = block.strip().split("\n")
    if lines[0].startswith(_SESSION):
        return True
    if _is_table(lines):
        return False
    drawn = sum(map(_is_drawn, lines))
    return drawn >= 2 and 2 * drawn >= len(lines)


def _is_table(lines: Sequence[str]) -> bool:
    """Whether all lines begin with the bars of a table; boxes have arrows or gaps between them."""
    return all(line.lstrip().startswith(("|", "+")) for line in lines) and not any(
        sign in line for line in lines for sign in ("->", "<-", "+ ")
    )


def _is_drawn(line: str) -> bool:
    visible = "".join(line.split())
    if len(visible) < _SHORTEST or not _DRAWN.search(line):
        return False
    return sum(not c.isalnum() for c in visible) >= _DRAWN_SHARE * len(visible)


def _literal_blocks(text: str, lines: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What is indented below a paragraph that ends with `::`, or below a directive of code."""
    above: int | None = None
    for start, end in lines:
        line = text[start:end].rstrip()
        indent = len(line) - len(line.lstrip())
        if above is not None and line:
            if indent > above:
                yield start, end
                continue
            above = None
        if line.endswith("::") or line.lstrip().startswith(_DIRECTIVES):
            above = indent
