"""Source code, cut where functions, classes and blocks begin, by blank lines and indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from clew.indexing.splitting.outline import Outline, Trail
from clew.indexing.splitting.units import Break, Unit, Weigh, divide

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
            units = [unit for line in block for unit in _line_units(text, line, weigh, limit)]
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
            open_definitions.append((indent, _signature(head.text)))
        trail = tuple(signature for _, signature in open_definitions)
        if trail != trails[-1]:
            starts.append(block[0].start)
            trails.append(trail)
    return Outline(tuple(starts), tuple(trails))


def _blocks(text: str) -> Iterator[list[_Line]]:
    """Runs of lines; one begins after a blank line, and at a definition with what leads it in."""
    block: list[_Line] = []
    for line in _lines(text):
        lead = 0 if line.after_blank else _lead_in(block) if line.defines else len(block)
        if lead < len(block):
            yield block[: len(block) - lead]
            block = block[len(block) - lead :]
        block.append(line)
    if block:
        yield block


def _lead_in(block: list[_Line]) -> int:
    """How many of the block's last lines are decorators or comments of a definition to come."""
    if block and block[0].text.startswith("@") and not any(line.defines for line in block):
        return len(block)
    return sum(1 for _ in takewhile(lambda line: _LEAD_IN.match(line.text), reversed(block)))


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


def _line_units(text: str, line: _Line, weigh: Weigh, limit: int) -> Iterator[Unit]:
    return divide(text, line.start, line.end, weigh, limit, Break.LINE)


def _border(block: list[_Line]) -> Break:
    """How good a place to split the start of a block is: the less nested, the better."""
    first = block[0]
    if first.closes:
        return Break.GLUE
    if first.indent == 0:
        return Break.HEADING
    return Break.MEMBER if any(line.defines for line in block) else Break.PARAGRAPH


def _signature(line: str) -> str:
    return line[:_SIGNATURE_CHARACTERS].rstrip(" \t{:(,=")
