"""Source code, cut where functions, classes and blocks begin, by blank lines and indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise, takewhile

from clew.indexing.markdown import MEDIA_TYPE, masked
from clew.indexing.splitting.outline import (
    CHARACTERS_A_TOKEN,
    Break,
    Outline,
    Trail,
    Unit,
    Weigh,
    divide,
    fences,
    headings,
    stripped,
)
from clew.indexing.syntax.parse import Definition, Syntax
from clew.types import Chunk, Document

# Of media types other than text/x-…, without the x-.
_LANGUAGES = frozenset({
    "css", "ecmascript", "httpd-php", "javascript", "perl", "php", "powershell", "python-code",
    "ruby", "sh", "shellscript", "sql", "toml", "typescript", "xml", "yaml",
})  # fmt: skip
_NOT_CODE = frozenset({"x-log", "x-markdown", "x-rst", "x-tex", "x-web-markdown"})

_DEFINITION = re.compile(
    r"""(?:(?:export|default|declare|pub(?:\([^)]*\))?|public|private|protected|internal|abstract
          |final|static|sealed|partial|open|override|inline|async|unsafe|extern|data|local)\s+)*
    (?:def|class|function\*?|func|fun|fn|struct|enum|interface|trait|impl|module|namespace|object
      |protocol|extension|record|sub|proc|macro_rules!|type)[ \t]+[\w<*&("'$]
    |(?:async\s+)?function\*?\s*\(|impl<""",
    re.VERBOSE,
)
_LEAD_IN = re.compile(r"@\w|#\[|//|/\*|\*|#(?!include|define|if|endif|else|pragma)|--\s|\"\"\"")
_CLOSER = re.compile(
    r"[)\]}]|(?:end|fi|done|esac|else|elif|elsif|except|finally|catch|ensure|rescue)\b"
)
_TAB_WIDTH = 4
_SIGNATURE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    """Without blank edges."""
    indent: int
    text: str
    after_blank: bool

    @property
    def defines(self) -> bool:
        return _DEFINITION.match(self.text) is not None

    @property
    def closes(self) -> bool:
        return _CLOSER.match(self.text) is not None


def is_code(media_type: str) -> bool:
    """Whether a media type names source code: `text/x-python`, `application/javascript`, …."""
    kind, _, name = media_type.partition(";")[0].strip().partition("/")
    if kind == "text" and name.startswith("x-"):
        return name not in _NOT_CODE
    return kind in {"text", "application"} and name.removeprefix("x-") in _LANGUAGES


def code_units(text: str, weigh: Weigh, limit: int) -> list[Unit]:
    """Definitions, each whole where it has at most `limit` tokens; else its parts, else lines."""
    found: list[Unit] = []
    for block in _blocks(text):
        first, last = block[0], block[-1]
        units = list(divide(text, first.start, last.end, weigh, limit, _border(block)))
        if len(units) > 1:
            units = [
                unit
                for line in block
                for unit in divide(text, line.start, line.end, weigh, limit, Break.LINE)
            ]
            units[0] = replace(units[0], strength=_border(block))
        found.extend(units)
    return list(_kept_whole(found, limit, (Break.HEADING, Break.MEMBER)))


def _kept_whole(units: Sequence[Unit], limit: int, levels: Sequence[Break]) -> Iterator[Unit]:
    """What lies between two borders of a level, as one unit where it fits, outer levels first."""
    if not levels:
        yield from units
        return
    firsts = [i for i, unit in enumerate(units) if i == 0 or unit.strength >= levels[0]]
    for a, b in pairwise([*firsts, len(units)]):
        weight = sum(unit.weight for unit in units[a:b])
        # A border may shift a token or so.
        if weight + (b - a) - 1 <= limit:
            yield replace(units[a], end=units[b - 1].end, weight=weight)
        else:
            yield from _kept_whole(units[a:b], limit, levels[1:])


def code_outline(text: str) -> Outline:
    """The definitions that enclose each part of the code, by their first line."""
    starts: list[int] = [0]
    trails: list[Trail] = [()]
    open_definitions: list[tuple[int, str]] = []
    for block in _blocks(text):
        head = next((line for line in block if line.defines), None)
        indent = (head or block[0]).indent
        if head is None and block[0].closes:
            continue
        open_definitions = [entry for entry in open_definitions if entry[0] < indent]
        if head is not None:
            open_definitions.append((indent, head.text[:_SIGNATURE_CHARACTERS].rstrip(" \t{:(,=")))
        trail = tuple(signature for _, signature in open_definitions)
        if trail != trails[-1]:
            starts.append(block[0].start)
            trails.append(trail)
    return Outline(tuple(starts), tuple(trails))


def _blocks(text: str) -> Iterator[list[_Line]]:
    """Runs of lines; one begins after a blank line, and at a definition with what leads it in."""
    block: list[_Line] = []
    for line in _lines(text):
        lead = 0 if line.after_blank else len(block)
        if line.defines and not line.after_blank:
            # Decorators or comments of the definition to come are its own.
            decorated = block and block[0].text.startswith("@")
            if not decorated or any(one.defines for one in block):
                above = takewhile(lambda one: _LEAD_IN.match(one.text), reversed(block))
                lead = sum(1 for _ in above)
        if lead < len(block):
            yield block[: len(block) - lead]
            block = block[len(block) - lead :]
        block.append(line)
    if block:
        yield block


def _lines(text: str) -> Iterator[_Line]:
    after_blank = True
    start = 0
    for raw in text.split("\n"):
        stripped = raw.strip()
        if stripped:
            left = start + len(raw) - len(raw.lstrip())
            indent = len(raw[: left - start].expandtabs(_TAB_WIDTH))
            yield _Line(left, left + len(stripped), indent, stripped, after_blank)
        after_blank = not stripped
        start += len(raw) + 1


def _border(block: list[_Line]) -> Break:
    """How good a place to split the start of a block is: the less nested, the better."""
    first = block[0]
    if first.closes:
        return Break.GLUE
    if first.indent == 0:
        return Break.HEADING
    return Break.MEMBER if any(line.defines for line in block) else Break.PARAGRAPH


# Source code whose syntax is known, cut where its functions and classes begin and end.


_TELLING = 16
"""Tokens from which on what stands between two definitions is a chunk of its own."""


@dataclass(slots=True)
class _Part:
    """A definition, or the whole file, with those within it."""

    start: int
    end: int
    parts: list[_Part] = field(default_factory=list)


def source_outline(text: str, syntax: Syntax | None) -> Outline:
    """The qualified name of the definition that each part of the code lies in.

    Where the syntax is not known, by the lines that look like definitions.
    """
    if syntax is None:
        return code_outline(text)
    starts: list[int] = [0]
    trails: list[Trail] = [()]

    def enter(start: int, trail: Trail) -> None:
        if start == starts[-1]:
            trails[-1] = trail
        elif trail != trails[-1]:
            starts.append(start)
            trails.append(trail)

    open_ones: list[Definition] = []

    def close(until: int) -> None:
        while open_ones and open_ones[-1].end <= until:
            enter(open_ones.pop().end, open_ones[-1].path if open_ones else ())

    for one in _outer(syntax):
        close(one.start)
        open_ones.append(one)
        enter(one.start, one.path)
    close(max((one.end for one in open_ones), default=0))
    return Outline(tuple(starts), tuple(trails))


def source_units(text: str, syntax: Syntax | None, weigh: Weigh, limit: int) -> list[Unit]:
    """Functions and classes, each whole where it has at most `limit` tokens, else its parts.

    Each begins with `Break.HEADING`, and so does what stands between two of them, unless that is
    too short to say anything. Where the syntax is not known, see `code_units`.
    """
    if syntax is None:
        return code_units(text, weigh, limit)
    whole = _Part(0, len(text))
    open_ones = [whole]
    for one in _outer(syntax):
        while open_ones[-1].end <= one.start:
            open_ones.pop()
        part = _Part(one.start, one.end)
        open_ones[-1].parts.append(part)
        open_ones.append(part)
    return list(_Cutter(text, weigh, limit).units(whole))


def _outer(syntax: Syntax) -> list[Definition]:
    return [one for one in syntax.definitions if not one.is_local]


class _Cutter:
    """One file on its way."""

    def __init__(self, text: str, weigh: Weigh, limit: int) -> None:
        self._text = text
        self._weigh = weigh
        self._limit = limit

    def units(self, part: _Part) -> Iterator[Unit]:
        """What stands before, between and after the parts, and the parts."""
        at = part.start
        for inner in part.parts:
            yield from self._between(at, inner.start, at == part.start)
            yield from self._definition(inner)
            at = inner.end
        yield from self._between(at, part.end, at == part.start)

    def _definition(self, part: _Part) -> Iterator[Unit]:
        start, end = stripped(self._text, part.start, part.end)
        if end - start <= self._limit * CHARACTERS_A_TOKEN:
            weight = self._weigh(self._text[start:end])
            if weight <= self._limit:
                yield Unit(start, end, weight, Break.HEADING)
                return
        yield from self.units(part)

    def _between(self, start: int, end: int, opens: bool) -> Iterator[Unit]:
        """Lines and blocks; the first begins a chunk where it opens a definition or says enough."""
        # None is as strong as the border of a definition.
        units = [
            Unit(u.start + start, u.end + start, u.weight, min(u.strength, Break.MEMBER))
            for u in code_units(self._text[start:end], self._weigh, self._limit)
        ]
        if units:
            telling = opens or sum(unit.weight for unit in units) >= _TELLING
            yield replace(units[0], strength=Break.HEADING if telling else Break.GLUE)
            yield from units[1:]


# What of a document is prose: names and relations are read from nothing else.
#
# Code blocks, drawings of characters and leader lines keep their place in chunks and can be
# found;
# for extraction a sign that is part of no word stands for each of their characters, so that every
# offset stays.


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


def as_prose(document: Document, chunks: Sequence[Chunk]) -> tuple[Document, Sequence[Chunk]]:
    """The document and its chunks as readers see them, with signs in place of what is no prose.

    Source code keeps its own: its extractor reads its names.
    """
    text = masked(document.text) if document.media_type == MEDIA_TYPE else document.text
    if not is_code(document.media_type):
        shown, at = [], 0
        for start, end in code_ranges(text, document.media_type):
            shown += [text[at:start], _VISIBLE.sub(_SIGN, text[max(at, start) : end])]
            at = max(at, end)
        text = "".join([*shown, text[at:]])
    if text == document.text:
        return document, chunks
    parts = [replace(chunk, text=text[chunk.start : chunk.end]) for chunk in chunks]
    return replace(document, text=text), parts


def code_ranges(text: str, media_type: str) -> list[tuple[int, int]]:
    """Ranges of code blocks, sessions and drawings, in order; some may overlap.

    Tables drawn with bars are none, nor are headings with their underlines.
    """
    lines = [match.span() for match in _LINE.finditer(text)]
    found = [*_literal_blocks(text, lines)] if media_type == _RST else fences(text)
    kept = {heading.start for heading in headings(text, media_type)}
    # Lines that follow each other without a blank one between them.
    for is_blank, block in groupby(lines, key=lambda line: text[line[0] : line[1]].isspace()):
        (start, end), *rest = block
        end = rest[-1][1] if rest else end
        if not is_blank and start not in kept and _is_no_prose(text[start:end]):
            found.append((start, end))
    return sorted(found)


def _is_no_prose(block: str) -> bool:
    lines = block.strip().split("\n")
    if lines[0].startswith(_SESSION):
        return True
    if all(line.lstrip().startswith(("|", "+")) for line in lines) and not any(
        sign in line for line in lines for sign in ("->", "<-", "+ ")
    ):
        return False
    drawn = 0
    for line in lines:
        visible = "".join(line.split())
        if len(visible) >= _SHORTEST and _DRAWN.search(line):
            drawn += sum(not c.isalnum() for c in visible) >= _DRAWN_SHARE * len(visible)
    return drawn >= 2 and 2 * drawn >= len(lines)


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
