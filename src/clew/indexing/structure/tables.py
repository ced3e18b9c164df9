"""What tables state: a row is about its first cell, and a column says what the others are to it.

Read from tables in Markdown, which is what HTML, Word and spreadsheets become when they are read.
A table of two columns that are called field and value is about the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clew.indexing.structure.fields import FIELDS, Field, is_name, snake_case
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

_MOST = 2_000
"""Statements of a document."""
_LINE = re.compile(r"^[ \t]*\|[^\n]+", re.MULTILINE)
_SEPARATOR = re.compile(r"[\s|:]*-[\s|:-]*")
_CELL = re.compile(r"(?<!\\)\|")
_MARKS = re.compile(r"[*`]+|\[(?P<text>[^\[\]]{0,200})\](?:\([^()\s]{0,500}\)|\[[^\[\]]{0,200}\])")
_FIELD_NAMES = frozenset("field key property attribute name item".split())
_VALUE_NAMES = frozenset("value".split())
_NO_RELATION = frozenset(
    "description descriptions note notes comment comments remark remarks example examples meaning"
    " explanation details usage default date time year size number no id link url value"
    " next prev previous home up back".split()
)
"""Columns that do not hold names."""
_NAME = re.compile(r"[^\W\d_]")


class _Row(NamedTuple):
    cells: list[str]
    start: int
    end: int


def tables(document: Document) -> Structure:
    """What the cells of the document's tables are to the first cells of their rows."""
    if "|" not in document.text:
        return Structure()
    found: list[Statement] = []
    for table in _tables(document.text):
        found += _read(document.title, table)
        if len(found) > _MOST:
            break
    return Structure(statements=tuple(found[:_MOST]))


def _tables(text: str) -> Iterator[list[_Row]]:
    """The rows of each table, its header first and without the line below that."""
    rows: list[_Row] = []
    is_table = False
    for line in _LINE.finditer(text):
        if rows and line.start() != rows[-1].end + 1:
            if is_table:
                yield rows
            rows, is_table = [], False
        if _SEPARATOR.fullmatch(line.group()):
            is_table = len(rows) == 1
            if rows:
                rows[-1] = rows[-1]._replace(end=line.end())
            continue
        rows.append(_Row(_cells(line.group()), line.start(), line.end()))
    if is_table:
        yield rows


def _cells(line: str) -> list[str]:
    cells = _CELL.split(line.strip().strip("|"))
    return [_MARKS.sub(lambda m: m["text"] or "", c).replace("\\|", "|").strip() for c in cells]


def _read(title: str, table: Sequence[_Row]) -> Iterator[Statement]:
    header, *rows = table
    names = [snake_case(cell) for cell in header.cells]
    about_document = (
        len(names) == 2 and names[0] in _FIELD_NAMES and names[1] in _VALUE_NAMES
    ) and bool(entity_key(title))
    for row in rows:
        if len(row.cells) != len(names) or len(names) < 2:
            continue
        if about_document:
            field = FIELDS.get(snake_case(row.cells[0]))
            if field and is_name(row.cells[1]):
                yield _statement(title, field, row.cells[1], row)
        elif names_something(row.cells[0]):
            for name, cell in zip(names[1:], row.cells[1:], strict=True):
                field = _column(name)
                if field and names_something(cell) and entity_key(cell) != entity_key(row.cells[0]):
                    yield _statement(row.cells[0], field, cell, row)


def _column(name: str) -> Field | None:
    words = name.split("_")
    if not name or len(words) > 3 or name[0].isdigit() or not _NO_RELATION.isdisjoint(words):
        return None
    return FIELDS.get(name, Field(f"has_{name}"))


def names_something(cell: str) -> bool:
    """Whether a cell names something: a few words that begin with a capital."""
    first = _NAME.search(cell)
    return bool(first and first.group().isupper()) and len(cell.split()) <= 6 and is_name(cell)


def _statement(head: str, field: Field, tail: str, row: _Row) -> Statement:
    return Statement(
        head=head,
        relation_type=field.relation_type,
        tail=tail,
        tail_type=field.tail_type,
        start=row.start,
        end=row.end,
        confidence=0.85,
    )
