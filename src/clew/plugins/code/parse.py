"""From the text of a source file to its definitions, references, imports and comments."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from itertools import pairwise, takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clew.errors import has_extra
from clew.indexing.outline import (
    CHARACTERS_A_TOKEN,
    Break,
    Cut,
    Outline,
    Trail,
    Unit,
    Weigh,
    divide,
    stripped,
)
from clew.types import Document

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree

LONGEST = 1_000_000
"""Bytes of a file that is parsed, at most."""
_STEPS_A_BYTE = 0.02
"""Hundreds of a parser's steps a byte, at most; files that people write take a third of it."""
_MORE_STEPS = 1000
_MOST_BROKEN = 1000
"""Parts that one error of the parser spans, at most."""
_DEEPEST = 12
"""Definitions within each other, at most; deeper ones are part of those around them."""
_DEFINITIONS = ("class", "function", "scope")
_REFERENCES = ("extends", "implements", "call", "returns", "type", "decorator")


def syntax_of(document: Document) -> Syntax | None:
    """What a document's grammar sees.

    None where there is no grammar or none is installed, where the text is too long or takes the
    parser too many steps, and where it is broken so that no definition is seen.
    """
    language = language_of(document)
    return _read(document.text, language) if language and has_extra("code") else None


# Splitting, names and relations ask in turn for the same document.
@lru_cache(maxsize=1)
def _read(text: str, language: str) -> Syntax | None:
    from tree_sitter import QueryCursor

    data = text.encode("utf-8", "replace")
    tree = _parse(data, language) if len(data) <= LONGEST else None
    if tree is None or _is_hopeless(tree.root_node):
        return None
    cursor = QueryCursor(grammar(language).query, match_limit=256)
    matches = [captures for _, captures in cursor.matches(tree.root_node)]
    found = _Reader(data, language, matches).syntax()
    return None if tree.root_node.has_error and not found.definitions else found


def _parse(data: bytes, language: str) -> Tree | None:
    from tree_sitter import Parser

    left = int(len(data) * _STEPS_A_BYTE) + _MORE_STEPS

    def is_over(_offset: int, _has_error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def read(offset: int, _point: object) -> bytes:
        return data[offset : offset + 65536]

    try:
        # Only a text that is read in pieces is parsed step by step.
        return Parser(grammar(language).language).parse(read, progress_callback=is_over)
    except ValueError:  # ended before its end
        return None


def _is_hopeless(root: Node) -> bool:
    """Whether an error spans more parts than a query gets through in linear time."""
    broken = [root] if root.has_error else []
    while broken:
        node = broken.pop()
        if node.is_error and node.child_count > _MOST_BROKEN:
            return True
        broken += [child for child in node.children if child.has_error]
    return False


class _Reader:
    """One file on its way."""

    def __init__(
        self, data: bytes, language: str, matches: Iterable[Mapping[str, list[Node]]]
    ) -> None:
        self._data = data
        self._language = language
        # In order of the text, each by the first byte of what it captures.
        self._matches = sorted(
            matches, key=lambda found: min(n.start_byte for nodes in found.values() for n in nodes)
        )
        firsts = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
        # (len(data) + 1,) the characters before each byte.
        self._characters = None if data.isascii() else np.concatenate([[0], np.cumsum(firsts)])

    def syntax(self) -> Syntax:
        """All that the matches say."""
        definitions = _qualified(self._definitions(self._lead_in()))
        return Syntax(
            language=self._language,
            definitions=tuple(definitions),
            references=tuple(self._references(definitions)),
            imports=tuple(self._ranges("import")),
            comments=tuple(self._ranges("comment")),
            package="".join(self._text(n) for n in self._nodes("package"))[:300],
        )

    def _nodes(self, capture: str) -> Iterator[Node]:
        for captures in self._matches:
            yield from captures.get(capture, ())

    def _ranges(self, capture: str) -> Iterator[tuple[int, int]]:
        yield from dict.fromkeys(self._range(node) for node in self._nodes(capture))

    def _range(self, node: Node) -> tuple[int, int]:
        if self._characters is None:
            return node.start_byte, node.end_byte
        return int(self._characters[node.start_byte]), int(self._characters[node.end_byte])

    def _text(self, node: Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _lead_in(self) -> dict[int, int]:
        """Where what leads up to a node begins, by where the node's line does."""
        begins: dict[int, int] = {}
        # A docstring stands in what it tells of: it leads nothing in.
        comments = (n for n in self._nodes("comment") if n.type != "string")
        leads = [*comments, *self._nodes("lead")]
        for node in sorted(leads, key=lambda n: n.start_byte):
            first, last = node.start_point.row, node.end_point.row + (node.end_point.column > 0)
            line = node.start_byte - node.start_point.column
            if not self._data[line : node.start_byte].strip():
                begins[last] = begins.get(first, line)
        return begins

    def _definitions(self, begins: Mapping[int, int]) -> Iterator[Definition]:
        wraps: dict[int, Node] = {}
        for node in self._nodes("wrap"):
            wraps.setdefault(node.end_byte, node)
        for captures in self._matches:
            for kind in _DEFINITIONS:
                for node in captures.get(kind, ()):
                    name = captures["name"][0]
                    outer = wraps.get(node.end_byte) or wraps.get(node.end_byte + 1) or node
                    outer = outer if outer.start_byte <= node.start_byte else node
                    yield self._definition(kind, node, outer, name, captures, begins)

    def _definition(
        self,
        kind: str,
        node: Node,
        outer: Node,
        name: Node,
        captures: Mapping[str, list[Node]],
        begins: Mapping[int, int],
    ) -> Definition:
        lead = begins.get(outer.start_point.row, outer.start_byte)
        start = lead if lead < outer.start_byte else outer.start_byte
        if self._characters is not None:
            start = int(self._characters[start])
        owner = [self._text(n) for n in captures.get("owner", ())[:1]]
        if "prototype" in captures and self._text(captures["prototype"][0]) != "prototype":
            owner = []
        # Without white space and type parameters.
        plain = "".join(self._text(name).partition("<")[0].split())[:200]
        path = [*owner, *plain.split("::")]
        name_start, name_end = self._range(name)
        return Definition(
            kind=kind,  # type: ignore[arg-type]
            path=tuple(part for part in path if part),
            start=start,
            end=self._range(node)[1],
            name_start=name_start,
            name_end=name_end,
            self_name="".join(self._text(n) for n in captures.get("self", ())[:1]),
        )

    def _references(self, definitions: Sequence[Definition]) -> Iterator[Reference]:
        starts = [one.start for one in definitions]
        outer: list[int] = []
        for place, start in enumerate(starts):
            outer.append(_innermost(definitions, outer, place - 1, start))
        seen: set[tuple[int, str]] = set()
        for captures in self._matches:
            for kind in _REFERENCES:
                for node in captures.get(kind, ()):
                    start, end = self._range(node)
                    if (start, kind) in seen or node.end_byte - node.start_byte > 200:
                        continue
                    seen.add((start, kind))
                    name = self._text(node)
                    if "object" in captures:
                        name = f"{self._text(captures['object'][0])}.{name}"
                    yield Reference(
                        kind=kind,  # type: ignore[arg-type]
                        name=name,
                        start=start,
                        end=end,
                        within=_innermost(
                            definitions, outer, bisect_right(starts, start) - 1, start
                        ),
                    )


def _innermost(
    definitions: Sequence[Definition], outer: Sequence[int], last: int, offset: int
) -> int:
    """The place of the innermost definition around an offset, of the last that begins before it.

    Definitions nest and are in order; `outer` has for each the place of the one around it, or -1.
    """
    while last >= 0 and definitions[last].end <= offset:
        last = outer[last]
    return last


def _qualified(found: Iterable[Definition]) -> list[Definition]:
    """In order of the text, their names after those around them; of one range only the first."""
    qualified: list[Definition] = []
    open_ones: list[Definition] = []
    for one in sorted(found, key=lambda d: (d.start, -d.end, d.name_start)):
        while open_ones and open_ones[-1].end <= one.start:
            open_ones.pop()
        outer = open_ones[-1] if open_ones else None
        if not one.path or len(open_ones) == _DEEPEST:
            continue
        if outer and (one.end > outer.end or one.name_start == outer.name_start):
            continue
        if outer:
            local = outer.is_local or outer.kind == "function"
            one = replace(one, path=(*outer.path, *one.path), is_local=local)
        open_ones.append(one)
        qualified.append(one)
    return qualified


# What a source file is made of.


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A class, a function, or a scope that only qualifies names."""

    kind: Literal["class", "function", "scope"]
    path: tuple[str, ...]
    """Its name, after those of the definitions around it."""
    start: int
    """With decorators and comments that lead it in."""
    end: int
    name_start: int
    name_end: int
    self_name: str = ""
    """How it names its own object, where its language leaves that open."""
    is_local: bool = False
    """Whether it is defined within a function."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A name that the code uses: a base of a class, what is called, a type or a decorator."""

    kind: Literal["extends", "implements", "call", "returns", "type", "decorator"]
    name: str
    """As it is written, with the object before it."""
    start: int
    end: int
    within: int
    """Place of the innermost definition around it; -1 for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Syntax:
    """What a source file holds, in order; ranges are characters of the text."""

    language: str
    definitions: tuple[Definition, ...]
    references: tuple[Reference, ...]
    imports: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]
    """Docstrings among them."""
    package: str
    """As the file states it; empty where it states none."""


# Which languages have a grammar, and that grammar with its queries, loaded when first asked for.
#
# The files in `queries` say what counts in a language, by capture:
#
# | capture | what |
# | --- | --- |
# | `class`, `function` with `name` | a definition; `owner` where it stands outside of its class |
# | `scope` with `name` | a namespace, or an `impl`: qualifies what stands in it |
# | `self` | how a method names its own object |
# | `extends`, `implements` | a base of the class around it |
# | `call` (`object`) | what is called |
# | `import`, `package` | statements that are read by language (`clew.plugins.code.structure`) |
# | `wrap`, `lead` | what belongs to the definition within it, or after it |
# | `comment` | comments and docstrings |


_BY_MEDIA_TYPE = {
    "text/x-python": "python",
    "text/javascript": "javascript",
    "application/javascript": "javascript",
    "text/x-typescript": "typescript",
    "text/x-java": "java",
    "text/x-go": "go",
    "text/x-rust": "rust",
    "text/x-c": "c",
    "text/x-c++": "cpp",
}
_BY_SUFFIX = {".h": "cpp", ".tsx": "tsx"}
"""Endings that say more than the media type: a header may be of either language."""
_SHARED = {"javascript": "ecmascript", "typescript": "ecmascript", "cpp": "c"}
"""Queries that a language has with another one, beside its own."""
_VARIANTS = {"typescript": "language_typescript", "tsx": "language_tsx"}


class Grammar(NamedTuple):
    """A language and what is asked of its trees."""

    language: Language
    query: Query


def language_of(document: Document) -> str | None:
    """The name of the grammar that reads a document; None where there is none."""
    name = _BY_MEDIA_TYPE.get(document.media_type.partition(";")[0].strip())
    return name and _BY_SUFFIX.get(PurePosixPath(document.source).suffix.lower(), name)


@lru_cache(maxsize=16)
def grammar(name: str) -> Grammar:
    """The grammar of that name."""
    from tree_sitter import Language, Query

    family = "typescript" if name == "tsx" else name
    module = import_module(f"tree_sitter_{family}")
    language = Language(getattr(module, _VARIANTS.get(name, "language"))())
    queries = files("clew.plugins.code").joinpath("queries")
    names = [_SHARED[family], family] if family in _SHARED else [family]
    text = "".join(queries.joinpath(f"{name}.scm").read_text("utf-8") for name in names)
    return Grammar(language, Query(language, text))


# What a source file is called where others import it, from its path and what it states.


_ROOTS = frozenset({"src", "lib", "source", "python", "site-packages", "dist-packages"})
"""Folders that hold packages and are none."""
_DEEPEST_PACKAGE = 6
_SCRIPT_FOLDERS = 3
"""Parts of the path that name a script's module: there is no root that all scripts share."""
_VERSION = re.compile(r"-v?\d[\w.+]*+$")
_SCRIPT = re.compile(r"\.(?:d\.)?[cm]?[jt]sx?$")
_NAMED = {"python", "javascript", "typescript", "tsx", "go", "java"}


def separator_of(language: str) -> str:
    """What stands between the parts of a qualified name."""
    return "." if language in _NAMED else "::"


def module_of(source: str, syntax: Syntax) -> str:
    """The name of a source file as a module; of C and C++, the file's name."""
    path = PurePosixPath(source.replace("\\", "/"))
    if syntax.language == "python":
        return ".".join(python_package(path.with_suffix("")))
    if syntax.language == "rust":
        return "::".join(rust_path(path.with_suffix("")))
    if syntax.language == "java":
        return syntax.package
    if syntax.language == "go":
        return syntax.package if syntax.package != "main" else path.parent.name or "main"
    if syntax.language in {"c", "cpp"}:
        return path.name
    return script_module(str(path))


def python_package(path: PurePosixPath) -> list[str]:
    """The parts of an import name: up to the folder that is no package, as its name says.

    Where none says so, the last two parts.
    """
    parts = [part for part in path.parts if part not in {"__init__", path.anchor}]
    name = parts[-1:]
    for part in reversed(parts[:-1]):
        if not part.isidentifier() or part in _ROOTS or part == name[0]:
            return name
        if len(name) == _DEEPEST_PACKAGE:
            break
        name.insert(0, part)
    return name[-2:] if len(name) > 2 else name


def rust_path(path: PurePosixPath) -> list[str]:
    """Crate and modules: the crate is called as the folder that holds `src`."""
    parts = list(path.parts)
    at = max((i for i, part in enumerate(parts) if part == "src" and i), default=0)
    if not at or not all(part.isidentifier() for part in parts[at + 1 :]):
        return parts[-1:]
    crate = _VERSION.sub("", parts[at - 1]).replace("-", "_")
    inner = parts[at + 1 :]
    if inner and inner[-1] in {"lib", "main", "mod"}:
        inner.pop()
    return [crate, *inner]


def script_module(path: str) -> str:
    """The last parts of the path of a script, without ending and `index`."""
    parts = [part for part in _SCRIPT.sub("", path).split("/") if part not in {"", "/", "."}]
    if len(parts) > 1 and parts[-1] == "index":
        parts.pop()
    return "/".join(_VERSION.sub("", part) for part in parts[-_SCRIPT_FOLDERS:])


def imported_script(source: str, written: str) -> str:
    """The module that a script means by `./path`; packages are called as they are written."""
    if not written.startswith("."):
        return written
    folder = posixpath.dirname(source.replace("\\", "/"))
    return script_module(posixpath.normpath(posixpath.join(folder, written)))


# Source code, cut where functions, classes and blocks begin, by blank lines and indentation.


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


def cut(document: Document, weigh: Weigh, limit: int) -> Cut:
    """Functions and classes, each a passage of its own, as far as the grammar sees them.

    Where there is none, lines that look like definitions begin passages.
    """
    text = document.text
    syntax = None if document.pieces else syntax_of(document)
    if syntax is None:
        return Cut(code_outline(text), code_units(text, weigh, limit))
    found, units = source_outline(syntax), _Cutter(text, syntax, weigh, limit).units(0, len(text))
    return Cut(found, units, always=Break.HEADING if len(found.starts) > 1 else None)


def code_units(text: str, weigh: Weigh, limit: int) -> Iterator[Unit]:
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
    yield from _kept_whole(found, limit, (Break.HEADING, Break.MEMBER))


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


def source_outline(syntax: Syntax) -> Outline:
    """The qualified name of the definition that each part of the code lies in."""
    borders: dict[int, Trail] = {0: ()}
    open_ones: list[Definition] = []
    for one in (*_outer(syntax), None):
        while open_ones and (one is None or open_ones[-1].end <= one.start):
            end = open_ones.pop().end
            borders[end] = open_ones[-1].path if open_ones else ()
        if one:
            borders[one.start] = one.path
            open_ones.append(one)
    return Outline(tuple(borders), tuple(borders.values()))


def _outer(syntax: Syntax) -> list[Definition]:
    return [one for one in syntax.definitions if not one.is_local]


class _Cutter:
    """One file on its way: functions and classes, each whole where it fits, else its parts.

    Each begins with `Break.HEADING`, and so does what stands between two of them, unless that is
    too short to say anything.
    """

    def __init__(self, text: str, syntax: Syntax, weigh: Weigh, limit: int) -> None:
        self._text = text
        self._weigh = weigh
        self._limit = limit
        self._left = deque(_outer(syntax))

    def units(self, start: int, end: int) -> Iterator[Unit]:
        """What stands before, between and after the definitions of a range, and these."""
        at = start
        while self._left and self._left[0].start < end:
            one = self._left.popleft()
            yield from self._between(at, one.start, at == start)
            yield from self._definition(one)
            at = one.end
        yield from self._between(at, end, at == start)

    def _definition(self, one: Definition) -> Iterator[Unit]:
        start, end = stripped(self._text, one.start, one.end)
        is_short = end - start <= self._limit * CHARACTERS_A_TOKEN
        if is_short and (weight := self._weigh(self._text[start:end])) <= self._limit:
            yield Unit(start, end, weight, Break.HEADING)
            while self._left and self._left[0].start < one.end:
                self._left.popleft()
        else:
            yield from self.units(one.start, one.end)

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
