"""From the text of a source file to its definitions, references, imports and comments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from clew.indexing.syntax.grammars import grammar, language_of
from clew.indexing.syntax.parts import Definition, Reference, Syntax

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from clew.types import Document

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

    None where there is no grammar, where the text is too long or takes the parser too many steps,
    and where it is broken so that no definition is seen.
    """
    language = language_of(document)
    return _read(document.text, language) if language else None


# Splitting, names and relations ask in turn for the same document.
@lru_cache(maxsize=1)
def _read(text: str, language: str) -> Syntax | None:
    data = text.encode("utf-8", "replace")
    tree = _parse(data, language) if len(data) <= LONGEST else None
    if tree is None:
        return None
    matches = _matches(tree, language)
    if matches is None:
        return None
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


def _matches(tree: Tree, language: str) -> Sequence[Mapping[str, list[Node]]] | None:
    from tree_sitter import QueryCursor

    if _is_hopeless(tree.root_node):
        return None
    cursor = QueryCursor(grammar(language).query, match_limit=256)
    return [captures for _, captures in cursor.matches(tree.root_node)]


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
        self._matches = sorted(matches, key=_first_byte)
        self._characters = None if data.isascii() else _character_offsets(data)

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
        path = [*owner, *_plain(self._text(name)).split("::")]
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
        around = _Around(definitions)
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
                        within=around.at(start),
                    )


class _Around:
    """Which definition lies innermost around a place; definitions nest and are in order."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._starts = [0]
        self._innermost = [-1]
        open_ones: list[int] = []
        for place, one in enumerate(definitions):
            while open_ones and definitions[open_ones[-1]].end <= one.start:
                self._close(definitions, open_ones)
            open_ones.append(place)
            self._add(one.start, place)
        while open_ones:
            self._close(definitions, open_ones)

    def _close(self, definitions: Sequence[Definition], open_ones: list[int]) -> None:
        end = definitions[open_ones.pop()].end
        self._add(end, open_ones[-1] if open_ones else -1)

    def _add(self, start: int, place: int) -> None:
        self._starts.append(start)
        self._innermost.append(place)

    def at(self, offset: int) -> int:
        """The place of that definition; -1 for none."""
        return self._innermost[bisect_right(self._starts, offset) - 1]


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


def _first_byte(captures: Mapping[str, list[Node]]) -> int:
    return min(node.start_byte for nodes in captures.values() for node in nodes)


def _plain(name: str) -> str:
    """A name without white space and type parameters."""
    return "".join(name.partition("<")[0].split())[:200]


def _character_offsets(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """(len(data) + 1,) the characters before each byte."""
    firsts = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
    return np.concatenate([[0], np.cumsum(firsts)])
